/** Units of fungible tokens, as their contracts name them. */
import { Type } from '@sinclair/typebox';
import type { Reader } from '../../store/read/index-reader.ts';
import { exactNumber } from './values.ts';

export const TokenSymbol = Type.String({
  $id: 'TokenSymbol',
  description: "Symbol from the token's contract; any contract may use any symbol",
});
export const Decimals = Type.Integer({
  $id: 'TokenDecimals',
  minimum: 0,
  description: 'Number of decimal places of the amount',
});

/** The unit of an amount. Unknown members are null. */
export interface Unit {
  symbol: string | null;
  /** A number that is written with all its digits, even if a double can't hold them. */
  decimals: number | null;
}

/** Reads decimals as a JSON number with all digits. */
export const exactDecimals = (decimals: string | null): number | null =>
  decimals === null ? null : (exactNumber(BigInt(decimals)) as number);

/** Reads the unit of a fungible token. @param asset its identifier */
export function loadUnit(read: Reader, asset: string): Unit {
  const facts = read.tokenMetadata.ofAsset(asset);
  return { symbol: facts?.symbol ?? null, decimals: exactDecimals(facts?.decimals ?? null) };
}
