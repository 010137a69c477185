/**
 * Amounts as SQLite keeps them. Where a list is ordered by an amount, its column holds the decimal text behind one
 * character that gives the number of digits: `A0` … `A9`, `B10` …. Byte order of such texts is the order of the numbers,
 * up to amounts far beyond u128, in a fraction of a fixed-width form's bytes, and no conversion is needed to show one.
 */
const LENGTH_BASE = 64;
/** A negative one is `-`, a character that falls with the number of digits, and what each digit lacks of 9. */
const NEGATIVE_BASE = 126;

const complement = (digits: string): string => digits.replace(/[0-9]/g, (digit) => String(9 - Number(digit)));

/** @param decimal digits without leading zeros, behind a minus where it is negative */
export const sortable = (decimal: string): string => {
  if (!decimal.startsWith('-')) return String.fromCharCode(LENGTH_BASE + decimal.length) + decimal;
  const digits = decimal.slice(1);
  return `-${String.fromCharCode(NEGATIVE_BASE - digits.length)}${complement(digits)}`;
};

/** An integer that was read as text, since numbers are exact below 2^53 alone. */
export const exactInteger = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

/** Zero, as {@link sortable} has it; negative amounts sort before it. */
const ZERO = sortable('0');

/** The decimal text of a {@link sortable} one. */
export const decimalOf = (text: string): string =>
  text.startsWith('-') ? `-${complement(text.slice(2))}` : text.slice(1);

/** Whether a {@link sortable} amount is above zero. */
export const isPositive = (text: string): boolean => text > ZERO;
