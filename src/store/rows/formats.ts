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
