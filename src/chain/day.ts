/** UTC days, as the number of days since 1970. */
import { DAY } from '../base/format.ts';

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
