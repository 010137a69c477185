import { BytesReader, type Decoded, DecodeError, decoded } from './bytes-reader.ts';
import { readAddress, skipAddress, walkClarity } from './clarity.ts';
import { clarityRepr } from './clarity-text.ts';
import { toHex } from './hex.ts';

/**
 * The rule for assets that no condition names. `originator` denies transfers by the sender and allows all others
 * (SIP-040).
 */
type PostConditionMode = 'allow' | 'deny' | 'originator' | 'unknown';

export type AmountCondition =
  | 'sent_equal_to'
  | 'sent_greater_than'
  | 'sent_greater_than_or_equal_to'
  | 'sent_less_than'
  | 'sent_less_than_or_equal_to';
type NonFungibleCondition = 'sent' | 'not_sent' | 'maybe_sent';
type PoxCondition = 'not_performed' | 'maybe_performed' | 'performed';

export type PostConditionPrincipal =
  | { type_id: 'principal_origin' }
  | { type_id: 'principal_standard'; address: string }
  | { type_id: 'principal_contract'; contract_name: string; address: string };

interface PostConditionAsset {
  contract_name: string;
  asset_name: string;
  contract_address: string;
}

/** A post-condition in the form of the API. `amount` is micro-STX or token units, in decimal. */
export type PostCondition =
  | { type: 'stx' | 'staking'; condition_code: AmountCondition; amount: string; principal: PostConditionPrincipal }
  | {
      type: 'fungible';
      condition_code: AmountCondition;
      amount: string;
      principal: PostConditionPrincipal;
      asset: PostConditionAsset;
    }
  | {
      type: 'non_fungible';
      condition_code: NonFungibleCondition;
      principal: PostConditionPrincipal;
      asset: PostConditionAsset;
      asset_value: { hex: string; repr: string };
    }
  | { type: 'pox'; condition_code: PoxCondition; principal: PostConditionPrincipal }
  /** A kind that this program doesn't support, in hex, with all later bytes of the transaction. */
  | { type: 'unknown'; hex: string };

/** Asset kinds: SIP-005, and SIP-044 for staking and pox. */
const KIND = { stx: 0x00, fungible: 0x01, nonFungible: 0x02, staking: 0x03, pox: 0x04 } as const;

/** Principal kinds. They differ from the prefixes of Clarity principals. */
const PRINCIPAL = { origin: 0x01, standard: 0x02, contract: 0x03 } as const;

const MODES: Record<number, PostConditionMode> = { 1: 'allow', 2: 'deny', 3: 'originator' };

const AMOUNT_CONDITIONS: Record<number, AmountCondition> = {
  1: 'sent_equal_to',
  2: 'sent_greater_than',
  3: 'sent_greater_than_or_equal_to',
  4: 'sent_less_than',
  5: 'sent_less_than_or_equal_to',
};
const NON_FUNGIBLE_CONDITIONS: Record<number, NonFungibleCondition> = { 16: 'sent', 17: 'not_sent', 18: 'maybe_sent' };
const POX_CONDITIONS: Record<number, PoxCondition> = { 48: 'not_performed', 49: 'maybe_performed', 50: 'performed' };

/** Mode byte and u32 count. */
const MIN_BUFFER = 5;

export interface DecodedConditions {
  mode: PostConditionMode;
  postConditions: PostCondition[];
}

/**
 * Decodes a stored post-conditions buffer: mode, u32 count, that many conditions. Later bytes are ignored.
 *
 * A buffer shorter than mode and count has a mode and no conditions. An empty buffer means `deny`, the stricter mode.
 * From the first condition of an unknown kind on, all bytes become one condition of type `unknown`, because the
 * condition's length is unknown. The same happens to the bytes after an unknown mode if they can't be read as
 * conditions.
 */
export function decodePostConditions(buffer: Uint8Array): Decoded<DecodedConditions> {
  return decoded(() => {
    if (buffer.length === 0) return { mode: 'deny', postConditions: [] };
    const reader = new BytesReader(buffer);
    const mode = MODES[reader.u8('a post-condition mode')] ?? 'unknown';
    const postConditions: PostCondition[] = [];
    if (buffer.length < MIN_BUFFER) return { mode, postConditions };
    let start = reader.offset;
    try {
      for (let left = reader.count('post-conditions'); left > 0; left--) {
        start = reader.offset;
        postConditions.push(readPostCondition(reader));
      }
    } catch (error) {
      if (!(error instanceof DecodeError && (error.isUnknownKind || mode === 'unknown'))) throw error;
      postConditions.push({ type: 'unknown', hex: toHex(buffer.subarray(start)) });
    }
    return { mode, postConditions };
  });
}

/** Skips mode, count and conditions of a transaction with the checks of decoding. */
export function walkPostConditions(reader: BytesReader): void {
  readKnown(reader, MODES, 'a post-condition mode');
  for (let left = reader.count('post-conditions'); left > 0; left--) walkPostCondition(reader);
}

function walkPostCondition(reader: BytesReader): void {
  const kind = reader.u8('a post-condition kind');
  walkPrincipal(reader);
  switch (kind) {
    case KIND.stx:
    case KIND.staking:
      readKnown(reader, AMOUNT_CONDITIONS, 'an amount condition');
      reader.skip(8, 'an amount');
      return;
    case KIND.fungible:
      walkAsset(reader);
      readKnown(reader, AMOUNT_CONDITIONS, 'an amount condition');
      reader.skip(8, 'an amount');
      return;
    case KIND.nonFungible:
      walkAsset(reader);
      walkClarity(reader);
      readKnown(reader, NON_FUNGIBLE_CONDITIONS, 'a non-fungible condition');
      return;
    case KIND.pox:
      readKnown(reader, POX_CONDITIONS, 'a pox condition');
      return;
    default:
      throw reader.unknown('a post-condition kind (0x00 to 0x04)', kind);
  }
}

function readPostCondition(reader: BytesReader): PostCondition {
  const kind = reader.u8('a post-condition kind');
  const principal = readPostConditionPrincipal(reader);
  switch (kind) {
    case KIND.stx:
    case KIND.staking: {
      const condition_code = readCondition(reader, AMOUNT_CONDITIONS, 'an amount condition');
      const amount = reader.u64('an amount').toString();
      return { type: kind === KIND.stx ? 'stx' : 'staking', condition_code, amount, principal };
    }
    case KIND.fungible: {
      const asset = readAsset(reader);
      const condition_code = readCondition(reader, AMOUNT_CONDITIONS, 'an amount condition');
      return { type: 'fungible', condition_code, amount: reader.u64('an amount').toString(), principal, asset };
    }
    case KIND.nonFungible: {
      const asset = readAsset(reader);
      const start = reader.offset;
      walkClarity(reader);
      const value = reader.spanFrom(start);
      // Unlike the other kinds, the code comes after the value.
      const condition_code = readCondition(reader, NON_FUNGIBLE_CONDITIONS, 'a non-fungible condition');
      const asset_value = { hex: toHex(value), repr: clarityRepr(value) };
      return { type: 'non_fungible', condition_code, principal, asset, asset_value };
    }
    case KIND.pox:
      return { type: 'pox', condition_code: readCondition(reader, POX_CONDITIONS, 'a pox condition'), principal };
    default:
      throw reader.unknown('a post-condition kind (0x00 to 0x04)', kind);
  }
}

function walkPrincipal(reader: BytesReader): void {
  const kind = reader.u8('a post-condition principal');
  if (kind === PRINCIPAL.origin) return;
  if (kind !== PRINCIPAL.standard && kind !== PRINCIPAL.contract) throw unknownPrincipal(reader, kind);
  skipAddress(reader, 'a post-condition principal');
  if (kind === PRINCIPAL.contract) reader.skipName('a contract name');
}

function readPostConditionPrincipal(reader: BytesReader): PostConditionPrincipal {
  const kind = reader.u8('a post-condition principal');
  if (kind === PRINCIPAL.origin) return { type_id: 'principal_origin' };
  if (kind !== PRINCIPAL.standard && kind !== PRINCIPAL.contract) throw unknownPrincipal(reader, kind);
  const address = readAddress(reader, 'a post-condition principal');
  if (kind === PRINCIPAL.standard) return { type_id: 'principal_standard', address };
  return { type_id: 'principal_contract', contract_name: reader.name('a contract name'), address };
}

function unknownPrincipal(reader: BytesReader, kind: number) {
  return reader.unknown('a post-condition principal (0x01 to 0x03)', kind);
}

function walkAsset(reader: BytesReader): void {
  skipAddress(reader, 'the contract of an asset');
  reader.skipName('a contract name');
  reader.skipName('an asset name');
}

function readAsset(reader: BytesReader): PostConditionAsset {
  const contract_address = readAddress(reader, 'the contract of an asset');
  const contract_name = reader.name('a contract name');
  return { contract_name, asset_name: reader.name('an asset name'), contract_address };
}

function readCondition<Condition extends string>(
  reader: BytesReader,
  kinds: Record<number, Condition>,
  expected: string,
): Condition {
  return kinds[readKnown(reader, kinds, expected)]!;
}

/** Reads a byte that must be a key of `kinds`. */
function readKnown(reader: BytesReader, kinds: Record<number, string>, expected: string): number {
  const byte = reader.u8(expected);
  if (kinds[byte] === undefined) throw reader.unknown(expected, byte);
  return byte;
}
