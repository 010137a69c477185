/** Parses times, independent of the machine's time zone. */

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
