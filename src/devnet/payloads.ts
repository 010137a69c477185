import { principalBytes } from '../codec/address.ts';
import { clarity, encodeArguments } from '../codec/clarity-encode.ts';
import { utf8Bytes } from '../codec/utf8.ts';
import { concat, longText, shortText, u8, u32, u64 } from './bytes.ts';

/** Transaction payloads (SIP-005; tenure change and its coinbase: SIP-021), each with its type byte in front. */

/** Micro-STX for `recipient`, an address or a contract; the memo is at most 34 bytes and padded with zeros. */
export function tokenTransfer(recipient: string, amount: bigint, memo: string): Uint8Array {
  return concat(u8(0x00), clarity.principal(recipient), u64(amount), memoBytes(memo));
}

/** The 34 bytes of a memo. */
export function memoBytes(memo: string): Uint8Array {
  const bytes = new Uint8Array(34);
  bytes.set(utf8Bytes(memo).subarray(0, 34));
  return bytes;
}

/** A deployment without a Clarity version: the one of the epoch is taken. */
export function smartContract(name: string, source: string): Uint8Array {
  return concat(u8(0x01), shortText(name), longText(source));
}

export function versionedSmartContract(clarityVersion: number, name: string, source: string): Uint8Array {
  return concat(u8(0x06), u8(clarityVersion), shortText(name), longText(source));
}

/** A call of a public function; the arguments are serialized Clarity values. */
export function contractCall(contract: string, functionName: string, args: readonly Uint8Array[]): Uint8Array {
  return concat(u8(0x02), principalBytes(contract)!, shortText(functionName), encodeArguments([...args]));
}

/** The coinbase of a Nakamoto tenure: 32 bytes of the miner's, where to pay it, and the 80-byte VRF proof. */
export function nakamotoCoinbase(data: Uint8Array, recipient: string | undefined, vrfProof: Uint8Array): Uint8Array {
  const to = recipient === undefined ? clarity.none() : clarity.some(clarity.principal(recipient));
  return concat(u8(0x08), data, to, vrfProof);
}

/** Why a tenure changes or goes on; 2 to 6 extend one dimension of the budget each (SIP-034). */
export const tenureChangeCauses = {
  blockFound: 0,
  extended: 1,
  extendedRuntime: 2,
  extendedReadCount: 3,
  extendedReadLength: 4,
  extendedWriteCount: 5,
  extendedWriteLength: 6,
} as const;

export interface TenureChange {
  /** Consensus hashes, 20 bytes each: of this tenure, the one before, and the burn block the miner sees. */
  readonly tenure: Uint8Array;
  readonly previousTenure: Uint8Array;
  readonly burnView: Uint8Array;
  /** Index block hash of the block this one builds on. */
  readonly previousTenureEnd: Uint8Array;
  /** Blocks of the tenure that ends, or, in an extension, of this tenure so far. */
  readonly previousTenureBlocks: number;
  readonly cause: (typeof tenureChangeCauses)[keyof typeof tenureChangeCauses];
  /** Hash160 of the miner's key. */
  readonly minerHash: Uint8Array;
}

export function tenureChange(change: TenureChange): Uint8Array {
  return concat(
    u8(0x07),
    change.tenure,
    change.previousTenure,
    change.burnView,
    change.previousTenureEnd,
    u32(change.previousTenureBlocks),
    u8(change.cause),
    change.minerHash,
  );
}
