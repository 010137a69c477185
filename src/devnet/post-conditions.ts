import { principalBytes } from '../codec/address.ts';
import { concat, shortText, u8, u32, u64 } from './bytes.ts';

/** Mode byte, count and items: the two fields of SIP-005 in a row, as they stand in a transaction. */
export type PostConditions = Uint8Array;

/** Codes for the comparison of the amount sent with the amount stated (SIP-005). */
export const amountCodes = {
  equal: 0x01,
  greater: 0x02,
  greaterOrEqual: 0x03,
  less: 0x04,
  lessOrEqual: 0x05,
} as const;
type AmountCode = (typeof amountCodes)[keyof typeof amountCodes];

const modes = { allow: 0x01, deny: 0x02 } as const;
const nftCodes = { sent: 0x10, notSent: 0x11 } as const;

/** Mode `allow` without conditions: the transaction may move anything. */
export const noPostConditions: PostConditions = concat(u8(modes.allow), u32(0));

/** What the items say, and whether assets they don't name may move. */
export function postConditions(mode: keyof typeof modes, items: readonly Uint8Array[]): PostConditions {
  return concat(u8(modes[mode]), u32(items.length), ...items);
}

/** `principal` sends so many micro-STX. */
export function stxCondition(principal: string, code: AmountCode, amount: bigint): Uint8Array {
  return concat(u8(0x00), conditionPrincipal(principal), u8(code), u64(amount));
}

/** `principal` sends so many of the smallest unit of `asset` (`ADDRESS.contract::token`). */
export function fungibleCondition(principal: string, asset: string, code: AmountCode, amount: bigint): Uint8Array {
  return concat(u8(0x01), conditionPrincipal(principal), assetInfo(asset), u8(code), u64(amount));
}

/** `principal` sends, or keeps, the token `id` (a serialized Clarity value) of `asset`. */
export function nonFungibleCondition(
  principal: string,
  asset: string,
  id: Uint8Array,
  code: keyof typeof nftCodes,
): Uint8Array {
  return concat(u8(0x02), conditionPrincipal(principal), assetInfo(asset), id, u8(nftCodes[code]));
}

function conditionPrincipal(principal: string): Uint8Array {
  return concat(u8(principal.includes('.') ? 0x03 : 0x02), principalBytes(principal)!);
}

function assetInfo(asset: string): Uint8Array {
  const [contract = '', token = ''] = asset.split('::');
  return concat(principalBytes(contract)!, shortText(token));
}
