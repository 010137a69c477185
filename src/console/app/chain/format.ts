/** Amounts, times and identifiers in a readable form. */
import { count, DAY, duration, groupDigits, HOUR, MINUTE } from '../../../base/format.ts';
import { fromHex } from '../../../codec/hex.ts';
import { strictText } from '../../../codec/utf8.ts';

export { bytes, count, DAY, duration, percent, plural } from '../../../base/format.ts';

/** The tone of a state, which decides its colour. */
export type Tone = 'ok' | 'bad' | 'wait' | 'plain';

/** Returns an amount in whole units and its decimals: `1234567` with 6 decimals gives `1` and `234567`. */
export function amountParts(
  smallest: string | bigint,
  decimals: number,
): { sign: string; whole: string; fraction: string } {
  const text = String(smallest);
  const sign = text.startsWith('-') ? '−' : '';
  const digits = text.replace('-', '').padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  return { sign, whole: groupDigits(digits.slice(0, point)), fraction: digits.slice(point) };
}

/** Formats micro-STX in STX, without trailing zeros: `10 STX`, `0.003 STX`. For sentences; tables show all decimals. */
export function stxText(micro: string | bigint): string {
  return `${decimalText(micro, 6)} STX`;
}

/** Formats an amount in whole units, without trailing zeros: `1,234.5`. */
export function decimalText(smallest: string | bigint, decimals: number): string {
  const { sign, whole, fraction } = amountParts(smallest, decimals);
  const rest = fraction.replace(/0+$/, '');
  return rest === '' ? `${sign}${whole}` : `${sign}${whole}.${rest}`;
}

/** Pattern of a typed amount of STX: digits before and after a point. */
const TYPED_STX = /^(?=\.?\d)(\d*)(?:\.(\d{0,6}?)0*)?$/;
/** Pattern of thousands separators as the console writes them. */
const THOUSANDS = /^\d{1,3}(?:,\d{3})+(?=\.|$)/;

/** Converts a typed amount of STX to micro-STX; returns null if it is invalid. */
export function toMicroStx(typed: string): string | null {
  const match = TYPED_STX.exec(typed.trim().replace(THOUSANDS, (digits) => digits.replaceAll(',', '')));
  return match === null ? null : BigInt(`${match[1]}${(match[2] ?? '').padEnd(6, '0')}`).toString();
}

/** Formats the time since an event, in one unit: `just now`, `45 s ago`, `3 min ago`, `12 d ago`. */
export function ago(seconds: number): string {
  if (seconds < 2) return 'just now';
  if (seconds < MINUTE) return `${Math.floor(seconds)} s ago`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ago`;
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)} h ago`;
  return `${count(Math.floor(seconds / DAY))} d ago`;
}

/** Formats the time until an event: `in 4 min 20 s`, `now`. */
export const until = (seconds: number): string => (seconds < 1 ? 'now' : `in ${duration(seconds)}`);

/** Formats a Unix time as UTC: `2026-11-22 04:13:03 UTC`. */
export const exactTime = (seconds: number): string =>
  `${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** Formats a Unix time in the time zone of the browser: `2026-11-22 05:13:03`. */
export function localTime(seconds: number): string {
  const zone = new Date(seconds * 1000).getTimezoneOffset() * MINUTE;
  return exactTime(seconds - zone).slice(0, -4);
}

/** Shortens a hash to its two ends: `0x8d5acc…804307`. */
export const shortHash = (hash: string): string => (hash.length <= 18 ? hash : `${hash.slice(0, 8)}…${hash.slice(-6)}`);

/** A number without a sign: digits, or the serialized value with its type and 16 bytes. */
const TOKEN_NUMBER = /^(?:0x01(?<hex>[\da-f]{32})|(?<digits>\d+))$/i;

/** Returns the number of a non-fungible token, or the ends of its value. @param value as the API accepts it in a path */
export function tokenLabel(value: string): string {
  const { hex, digits } = TOKEN_NUMBER.exec(value)?.groups ?? {};
  if (hex !== undefined) return `#${count(BigInt(`0x${hex}`))}`;
  return digits === undefined ? shortHash(value) : `#${count(BigInt(digits))}`;
}

/** Shortens the address of a principal to its two ends. The name of a contract stays: `ST2T7…PXZAJ.token-0`. */
export function shortPrincipal(principal: string): string {
  const [address = '', name] = principal.split('.');
  const short = address.length <= 14 ? address : `${address.slice(0, 5)}…${address.slice(-5)}`;
  return name === undefined ? short : `${short}.${name}`;
}

/** Unit of a fungible token's amounts, from its contract; null if it is unknown. */
export interface TokenUnit {
  symbol: string | null;
  decimals: number | null;
}

/** Maximum decimals. Amounts with more would be illegible, and no real token has as many. */
const MAX_DECIMALS = 38;

/** Returns the unit of a token by its contract's metadata, which describes only one token; null for other tokens. */
export function tokenUnit(
  asset: string,
  { asset_identifier, symbol = '', decimals = -1 }: { asset_identifier?: string; symbol?: string; decimals?: number },
): TokenUnit | null {
  if (asset_identifier !== asset) return null;
  return {
    symbol: symbol.trim() === '' ? null : symbol,
    decimals: decimals < 0 || decimals > MAX_DECIMALS ? null : decimals,
  };
}

/** Control and format characters except line ends and tabs. They are invisible, or change the direction of text. */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Spells out the invisible characters in a text of the chain, such as `\u{202e}`, so that it can't mislead. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

/** Returns the text of bytes in hex, without trailing zeros; null if they aren't UTF-8 text. */
export const hexToText = (hex: string): string | null => strictText(fromHex(hex.replace(/(00)+$/, '')));

/** Formats milliseconds with three digits: `12.5 ms`. */
export const milliseconds = (value: number): string => `${Number(value.toPrecision(3))} ms`;

/** Converts an identifier of the API to words: `abort_by_response` becomes `abort by response`. */
export const words = (identifier: string): string => identifier.replaceAll('_', ' ');

/** Reports whether a text contains each word of a search, in any case. */
export const hasWords = (text: string, search: string): boolean =>
  search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.toLowerCase().includes(word));

/** Adds days to a day; a negative number subtracts. @param day as `2026-11-24`, in UTC */
export const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY * 1000).toISOString().slice(0, 10);

/** An invisible character other than the space. */
const UNSEEN = /(?! )[\p{C}\p{Z}]/u;

/** Returns the text of bytes if they are printable text; null otherwise, and for no bytes. */
export function printableText(bytes: Uint8Array): string | null {
  const text = strictText(bytes);
  return text === null || text === '' || text.trim() === '' || UNSEEN.test(text) ? null : text;
}

/** Minimum and maximum bytes of a buffer to show as text after its hex. Fewer bytes may be text by chance. */
const [MIN_TEXT, MAX_TEXT] = [2, 128];

/** Returns the text of a buffer such as `0x627463`; null if it isn't a buffer, or its bytes aren't text. */
export function bufferText(literal: string): string | null {
  const bytes = /^0x((?:[0-9a-f]{2})+)$/.test(literal) ? literal.length / 2 - 1 : 0;
  return bytes < MIN_TEXT || bytes > MAX_TEXT ? null : printableText(fromHex(literal));
}
