/** Times in UTC, independent of the machine's time zone, and days as the number of days since 1970. */
import { DAY } from './format.ts';

const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):?(\d{2})?)?)?$/;
/** A text with a zone, such as `Sun, 06 Nov 1994 08:49:37 GMT`. */
const ZONED = /[a-z].*(\b(GMT|UTC)|[+-]\d{2}:?\d{2})$/i;
/** `Sun Nov  6 08:49:37 1994`, which is in GMT in HTTP (RFC 9110, section 5.6.7). */
const ASCTIME = /^[a-z]{3} [a-z]{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/i;

const MICROSECONDS_PER_MINUTE = 60_000_000;

/**
 * Parses a time: ISO 8601, also with a blank instead of `T` as databases write it, or an HTTP date. A day without a
 * time means its first moment. A time without a zone is UTC.
 * @returns Unix microseconds; null if the text isn't a valid date or time
 */
export function utcMicroseconds(text: string): number | null {
  const match = ISO.exec(text);
  if (match === null) {
    const time = ZONED.test(text) ? Date.parse(text) : ASCTIME.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
    return Number.isNaN(time) ? null : time * 1_000;
  }
  const [, day, minute = '00:00', second = ':00', fraction = '', sign, hours = '0', minutes = '0'] = match;
  const clock = `${day}T${minute}${second}`;
  const time = Date.parse(`${clock}Z`);
  // JavaScript parses February 30 as a day in March.
  if (Number.isNaN(time) || !new Date(time).toISOString().startsWith(clock)) return null;
  const offset = (Number(hours) * 60 + Number(minutes)) * MICROSECONDS_PER_MINUTE;
  return time * 1_000 + Number(fraction.slice(0, 6).padEnd(6, '0')) - (sign === '-' ? -offset : offset);
}

/** Returns the day of a time. @param time Unix seconds */
export const dayOf = (time: number): number => Math.floor(time / DAY);

/** The last day with a year of four digits. */
const LAST_DAY = 2_932_896;

/** Reports whether a number is a valid day. */
export const isDay = (day: number): boolean => Number.isInteger(day) && day >= 0 && day <= LAST_DAY;

/** Returns a day as `2026-11-24`. */
export const dayText = (day: number): string => new Date(day * DAY * 1000).toISOString().slice(0, 10);

/** Parses a day in the form of {@link dayText}; returns null for any other text. */
export function dayIn(text: string): number | null {
  const time = Date.parse(`${text}T00:00:00Z`);
  if (Number.isNaN(time)) return null;
  const day = dayOf(time / 1000);
  return dayText(day) === text ? day : null;
}
