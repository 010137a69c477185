/** Numbers, sizes and spans of time in a readable form. */

/** Separates the thousands of digits: `1,234,567`. */
export const groupDigits = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ',');

/** Returns a whole number with thousands separated: `1,234,567`. */
export function count(value: number | bigint | string): string {
  const text = String(value);
  return text.startsWith('-') ? `−${groupDigits(text.slice(1))}` : groupDigits(text);
}

const UNITS = [
  ['kB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
  ['TB', 1e12],
] as const;

/** Formats bytes with at most three significant digits: `1.25 MB`. */
export function bytes(value: number): string {
  const rounded = Number(value.toPrecision(3));
  const unit = UNITS.findLast(([, size]) => rounded >= size);
  return unit === undefined ? `${value} B` : `${Number((rounded / unit[1]).toPrecision(3))} ${unit[0]}`;
}

/** Formats a share in per cent with at most two decimals. A share that would round to zero is `<0.01 %`. */
export function percent(part: number, total: number): string {
  if (total === 0) return '–';
  const value = (100 * part) / total;
  if (value > 0 && value < 0.01) return '<0.01 %';
  return `${Number(value.toFixed(value >= 10 ? 1 : 2))} %`;
}

/** Seconds of a minute, an hour and a day. */
export const MINUTE = 60;
export const HOUR = 3_600;
export const DAY = 86_400;

/** Returns a word with its number: `1 block`, `2 blocks`, `2 entries`. */
export const plural = (amount: number, word: string): string =>
  `${count(amount)} ${amount === 1 ? word : `${word.replace(/(?<![aeiou])y$/, 'ie')}s`}`;

const TIME_UNITS = [
  { seconds: DAY, word: 'day', symbol: 'd' },
  { seconds: HOUR, word: 'hour', symbol: 'h' },
  { seconds: MINUTE, word: 'minute', symbol: 'min' },
  { seconds: 1, word: 'second', symbol: 's' },
];

/** Returns a duration in its two largest units. @param text returns an amount with its unit */
function twoUnits(seconds: number, text: (amount: number, unit: (typeof TIME_UNITS)[number]) => string): string {
  // Without a unit that fits, the index is -1: that is the last unit, seconds.
  const [large, small] = TIME_UNITS.slice(TIME_UNITS.findIndex((unit) => seconds >= unit.seconds));
  const whole = text(Math.floor(Math.max(0, seconds) / large!.seconds), large!);
  const rest = small === undefined ? 0 : Math.floor((seconds % large!.seconds) / small.seconds);
  return rest === 0 ? whole : `${whole} ${text(rest, small!)}`;
}

/** Returns a duration with symbols of units, for a figure: `45 s`, `3 min 20 s`, `2 h 5 min`. It is in days from 10 days on. */
export function duration(seconds: number): string {
  const rounded = Math.round(seconds);
  if (rounded >= 10 * DAY) return `${count(Math.floor(rounded / DAY))} d`;
  return twoUnits(rounded, (amount, { symbol }) => `${amount} ${symbol}`);
}

/** Returns a duration in words, for a sentence: `3 days 4 hours`, `59 seconds`. */
export const durationInWords = (seconds: number): string =>
  twoUnits(seconds, (amount, { word }) => plural(amount, word));

/** Ends a text with a full stop, unless it ends like a sentence. Its start, such as a URL, stays. */
export const withFullStop = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** A text that may end with the message of an error, as a sentence. A name at its start, such as a path, stays. */
export const sentence = (text: string): string => {
  const trimmed = text.trim();
  const isWord = /^[a-z][a-z'’-]*[,:;.!?]?(?:\s|$)/.test(trimmed);
  return withFullStop(isWord ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed);
};
