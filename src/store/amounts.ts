/**
 * Amounts as SQLite keeps them. Where a list is ordered by an amount, its column holds the decimal text behind one
 * character that gives the number of digits: `A0` … `A9`, `B10` …. Byte order of such texts is the order of the numbers,
 * up to amounts far beyond u128, in a fraction of a fixed-width form's bytes, and no conversion is needed to show one.
 */
const LENGTH_BASE = 64;

/** @param decimal digits without leading zeros, or a negative number (which sorts below all others) */
export const sortable = (decimal: string): string =>
  decimal.startsWith('-') ? decimal : String.fromCharCode(LENGTH_BASE + decimal.length) + decimal;

/** Zero, as {@link sortable} has it; negative amounts sort before it. */
const ZERO = sortable('0');

/** The decimal text of a {@link sortable} one. */
export const decimalOf = (text: string): string => (text.startsWith('-') ? text : text.slice(1));

/** Whether a {@link sortable} amount is above zero. */
export const isPositive = (text: string): boolean => text > ZERO;
