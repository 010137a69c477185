/** Formats of columns that writers and queries share: amounts, token ids, outputs, schedules of bonds, and checkpoints. */
import type { CycleTimes } from '../../chain/network.ts';
import type { BitcoinOutput } from '../../chain/pox/staking.ts';
import { FT_TOKEN } from '../../chain/token-contracts.ts';
import type { Stored } from './statement.ts';

/**
 * Amounts in columns that order a list: decimal text after one character for the number of digits, `A0` … `A9`, `B10` ….
 * The byte order of these texts is the order of the numbers, up to amounts far beyond u128. They are shorter than a form of
 * fixed width, and the decimal text is a part of them.
 */
const LENGTH_BASE = 64;
/** A negative amount is `-`, a character that descends with the number of digits, and the nines' complement of the digits. */
const NEGATIVE_BASE = 126;

const complement = (digits: string): string => digits.replace(/[0-9]/g, (digit) => String(9 - Number(digit)));

/** @param decimal digits without leading zeros, after a minus if negative */
export const sortable = (decimal: string): string => {
  if (!decimal.startsWith('-')) return String.fromCharCode(LENGTH_BASE + decimal.length) + decimal;
  const digits = decimal.slice(1);
  return `-${String.fromCharCode(NEGATIVE_BASE - digits.length)}${complement(digits)}`;
};

/** An integer that was read as text, since numbers are exact only below 2^53. */
export const exactInteger = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

/** Zero in sortable form; negative amounts sort before it. */
const ZERO = sortable('0');

/** The decimal text of a sortable amount. */
export const decimalOf = (text: string): string =>
  text.startsWith('-') ? `-${complement(text.slice(2))}` : text.slice(1);

/** Whether a sortable amount is above zero. */
export const isPositive = (text: string): boolean => text > ZERO;

/** Rates of rewards are sats for one unit, and earnings of shares are sats, both times this. */
export const PRECISION = 10n ** 18n;

/** A token id as it is stored. */
export const storedTokenId = (token: bigint): string => sortable(token.toString());

/** The stored id of the only token of a fungible token's contract. */
export const FT_TOKEN_ID = storedTokenId(FT_TOKEN);

/** The token id in rows about a whole contract: its own lookups, and notifications about all its tokens. */
export const ALL_TOKENS = '';

/** Bytes of a transaction id, and of an output: its transaction's id and its index (4 bytes, big-endian). */
const TX_ID_BYTES = 32;
const OUTPUT_BYTES = TX_ID_BYTES + 4;

/** Encodes the outputs of a lock on Bitcoin for bond_registrations.outputs. */
export const encodeOutputs = (outputs: readonly BitcoinOutput[]): Uint8Array =>
  Buffer.concat(
    outputs.flatMap(({ txId, index }) => {
      const number = new Uint8Array(4);
      new DataView(number.buffer).setUint32(0, index);
      return [txId, number];
    }),
  );

/** The reverse of `encodeOutputs`. */
export function decodeOutputs(bytes: Uint8Array): BitcoinOutput[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / OUTPUT_BYTES }, (_, i) => ({
    txId: bytes.subarray(i * OUTPUT_BYTES, i * OUTPUT_BYTES + TX_ID_BYTES),
    index: view.getUint32(i * OUTPUT_BYTES + TX_ID_BYTES),
  }));
}

/** Start and unlocking of a bond, each as a cycle and the Bitcoin height at which the cycle starts. */
export type BondSchedule = Stored<'bonds', 'first_cycle' | 'start_height' | 'unlock_cycle' | 'unlock_height'>;

/** Computes the network's cycles from a bond. Returns null if a contract printed impossible numbers. */
export function cyclesOfBond({ first_cycle, start_height, unlock_cycle, unlock_height }: BondSchedule) {
  const length = (unlock_height - start_height) / (unlock_cycle - first_cycle);
  if (!Number.isInteger(length) || length <= 0) return null;
  return { length, first: start_height - first_cycle * length, prepare: null } satisfies CycleTimes;
}

/** A block writes a checkpoint of an account if its number of transactions and rewards reaches a multiple of this. */
export const CHECKPOINT_EVERY = 64;
