/** Comma-separated values (RFC 4180), as spreadsheets and other programs read them. */

export type CsvValue = string | number | bigint | null;

/** First characters that make a spreadsheet read a text as a formula, or skip to a character that does. */
const FORMULA = /^[=+\-@\t\r\n]/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * One field. A text that a spreadsheet would run as a formula gets a leading apostrophe, which spreadsheets don't show;
 * numbers are unchanged, also negative ones.
 */
function field(value: CsvValue): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One record with its line break. Texts may be hostile; null becomes an empty field. */
export const csvLine = (values: readonly CsvValue[]): string => `${values.map(field).join(',')}\r\n`;
