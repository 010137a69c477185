/** Comma-separated values (RFC 4180), as spreadsheets and other programs read them. */

export type CsvValue = string | number | bigint | null;

/** What makes a spreadsheet take a text as a formula, or skip to what may be one. */
const FORMULA = /^[=+\-@\t\r\n]/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * One field. A text that a spreadsheet would run as a formula gets an apostrophe before it, which spreadsheets don't show;
 * numbers stay as they are, whatever their sign.
 */
function field(value: CsvValue): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One record with the end of its line. Texts are hostile; what is null is left empty. */
export const csvLine = (values: readonly CsvValue[]): string => `${values.map(field).join(',')}\r\n`;
