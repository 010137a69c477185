/** What names and namespaces cost, as the contract computes it. */
import type { PriceFunction } from '../../chain/name-system.ts';

/** micro-STX by the number of bytes, from 1 on; longer ones cost as the last says. */
const NAMESPACE_PRICES = [
  640_000_000_000n,
  64_000_000_000n,
  64_000_000_000n,
  6_400_000_000n,
  6_400_000_000n,
  6_400_000_000n,
  6_400_000_000n,
  640_000_000n,
] as const;
const LONGEST_NAMESPACE = 20;
const LONGEST_NAME = 48;
/** A name costs this many micro-STX for each unit of its price function. */
const PER_UNIT = 10n;

const bytesOf = (text: string): number => Buffer.byteLength(text);

/** @returns micro-STX; undefined where no namespace can have that name */
export function namespacePrice(namespace: string): bigint | undefined {
  const length = bytesOf(namespace);
  if (length === 0 || length > LONGEST_NAMESPACE) return undefined;
  return NAMESPACE_PRICES[Math.min(length, NAMESPACE_PRICES.length) - 1];
}

/** Largest number of the contract's arithmetic: beyond it a call fails. */
const MAX_UINT = 2n ** 128n - 1n;

/** @param label the name without its namespace. @returns micro-STX; undefined where the contract gives no price */
export function namePrice(label: string, price: PriceFunction): bigint | undefined {
  const length = bytesOf(label);
  if (length === 0 || length > LONGEST_NAME) return undefined;
  const exponent = price.exponents[Math.min(length, price.exponents.length) - 1];
  // An exponent beyond 128 overflows with any base but 0 and 1, for which all exponents above 0 are one.
  if (exponent === undefined || (exponent > 128n && price.base > 1n)) return undefined;
  const power = price.base ** (exponent > 128n ? 1n : exponent);
  const noVowel = /[aeiouy]/.test(label) ? 1n : price.noVowelDiscount;
  const nonalpha = /[0-9_-]/.test(label) ? price.nonalphaDiscount : 1n;
  const discount = noVowel > nonalpha ? noVowel : nonalpha;
  if (discount === 0n || power > MAX_UINT || power * price.coefficient > MAX_UINT) return undefined;
  return ((price.coefficient * power) / discount) * PER_UNIT;
}
