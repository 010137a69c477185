/** What names of a namespace cost, as the tables of namespaces keep it. */
import type { PriceFunction } from '../../chain/name-system.ts';

/** The columns of a price: decimal u128 numbers, and the exponents between spaces. */
export const priceColumns = ({ base, coefficient, exponents, nonalphaDiscount, noVowelDiscount }: PriceFunction) => ({
  base: String(base),
  coefficient: String(coefficient),
  exponents: exponents.join(' '),
  nonalpha_discount: String(nonalphaDiscount),
  no_vowel_discount: String(noVowelDiscount),
});
