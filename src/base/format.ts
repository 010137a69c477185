/** Numbers, sizes and spans of time in a readable form. */

/** Separates the thousands of digits: `1,234,567`. */
export const grouped = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ',');

/** Returns a whole number with thousands separated: `1,234,567`. */
export function count(value: number | bigint | string): string {
  const text = String(value);
  return text.startsWith('-') ? `−${grouped(text.slice(1))}` : grouped(text);
}

const UNITS = [
  ['kB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
  ['TB', 1e12],
] as const;

/** Formats bytes with three significant digits: `1.25 MB`. */
export function bytes(value: number): string {
  const unit = UNITS.findLast(([, size]) => value >= size);
  return unit === undefined ? `${value} B` : `${Number((value / unit[1]).toPrecision(3))} ${unit[0]}`;
}

/** Formats a share in per cent with at most two decimals. A share that would round to zero is `<0.01 %`. */
export function percent(part: number, total: number): string {
  if (total === 0) return '–';
  const value = (100 * part) / total;
  if (value > 0 && value < 0.01) return '<0.01 %';
  return `${Number(value.toFixed(value >= 10 ? 1 : 2))} %`;
}

export const MINUTE = 60;
export const HOUR = 3_600;
export const DAY = 86_400;

/**
 * Formats a span of time in its largest unit, or in its two largest units above a minute: `45 s`, `3 min 20 s`,
 * `2 h 5 min`, `12 d`.
 */
export function duration(seconds: number): string {
  const rounded = Math.max(0, Math.round(seconds));
  if (rounded < MINUTE) return `${rounded} s`;
  if (rounded < HOUR) return two(rounded, MINUTE, 'min', 1, 's');
  if (rounded < DAY) return two(rounded, HOUR, 'h', MINUTE, 'min');
  if (rounded < 10 * DAY) return two(rounded, DAY, 'd', HOUR, 'h');
  return `${count(Math.floor(rounded / DAY))} d`;
}

function two(seconds: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((seconds % large) / small);
  const first = `${Math.floor(seconds / large)} ${largeUnit}`;
  return rest === 0 ? first : `${first} ${rest} ${smallUnit}`;
}

/** Returns a word with its number: `1 block`, `2 blocks`, `2 entries`. */
export const plural = (amount: number, word: string): string =>
  `${count(amount)} ${amount === 1 ? word : `${word.replace(/(?<![aeiou])y$/, 'ie')}s`}`;

/** Returns a span of time in words, in its two largest units: `3 days 4 hours`, `59 seconds`. */
export function spanText(seconds: number): string {
  const units = [
    { name: 'day', of: 86_400 },
    { name: 'hour', of: 3_600 },
    { name: 'minute', of: 60 },
    { name: 'second', of: 1 },
  ];
  const first = units.findIndex(({ of }) => seconds >= of);
  if (first < 0) return '0 seconds';
  let remaining = seconds;
  const words = units.slice(first, first + 2).flatMap(({ name, of }) => {
    const amount = Math.floor(remaining / of);
    remaining -= amount * of;
    return amount === 0 ? [] : [plural(amount, name)];
  });
  return words.join(' ');
}
