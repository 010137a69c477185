/** Values of charts, and descriptions of charts for screen readers. */
import { count, exactTime } from './format.ts';

export interface ChartSeries {
  name: string;
  /** One value per time; null if there is none. */
  values: readonly (number | null)[];
}

/** Returns the newest value of a series; null if it has none. */
export const newestOf = ({ values }: ChartSeries): number | null => values.findLast((value) => value !== null) ?? null;

/** Describes a series: its newest value, and its minimum and maximum. */
function wordsOf(series: ChartSeries, format: (value: number) => string): string {
  const known = series.values.filter((value) => value !== null);
  const newest = newestOf(series);
  if (newest === null) return `${series.name}: nothing`;
  const [least, most] = [Math.min(...known), Math.max(...known)];
  return `${series.name}: newest ${format(newest)}, between ${format(least)} and ${format(most)}`;
}

/** Describes a chart in words. */
export const chartInWords = (
  label: string,
  series: readonly ChartSeries[],
  format: (value: number) => string,
): string => `${label}. ${series.map((one) => wordsOf(one, format)).join('. ')}.`;

/** Scale of the horizontal axis: times of a day, days, months of years, or plain numbers. */
export type TimeScale = 'hour' | 'days' | 'years' | 'numbers';

/** Returns the label of a time below a chart: the time of day, the day, or the month, all in UTC; or a number. */
export function timeLabel(seconds: number, scale: TimeScale): string {
  if (scale === 'numbers') return count(seconds);
  const text = exactTime(seconds);
  return scale === 'hour' ? text.slice(11, 16) : scale === 'days' ? text.slice(5, 10) : text.slice(0, 7);
}

const DAY = 86_400;

/** Returns the scale for a span of time. @param times Unix seconds, ascending */
export function scaleOf(times: readonly number[]): TimeScale {
  const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
  return span < DAY ? 'hour' : span < 300 * DAY ? 'days' : 'years';
}

/** Returns every n-th index, so that a table stays readable. The newest is the first. */
export function sampledIndexes(length: number, most: number): number[] {
  const step = Math.max(1, Math.ceil(length / most));
  const places: number[] = [];
  for (let place = length - 1; place >= 0; place -= step) places.push(place);
  return places;
}

/**
 * Inserts an empty time after each value that no other follows soon, so that the chart draws no line over a gap. @param
 * step seconds between two values
 */
export function withGaps<Series extends ChartSeries>(
  times: readonly number[],
  series: readonly Series[],
  step: number,
): { times: number[]; series: Series[] } {
  const isLast = (index: number): boolean => (times[index + 1] ?? 0) - (times[index] ?? 0) > 2 * step;
  const parted = <T>(values: readonly T[], gap: (value: T) => T | null): (T | null)[] =>
    values.flatMap((value, index) => (isLast(index) ? [value, gap(value)] : [value]));
  return {
    times: parted(times, (time) => time + step).map(Number),
    series: series.map((one) => ({ ...one, values: parted(one.values, () => null) })),
  };
}

/** Returns the seconds from each block to the previous one; null for the first block. */
export const secondsBetween = (times: readonly number[]): (number | null)[] =>
  times.map((time, index) => (index === 0 ? null : Math.max(0, time - (times[index - 1] ?? time))));

/**
 * Returns values for drawing steps. A step reaches back to the previous time, so the first one starts at the first
 * time.
 */
export const stepsOf = (values: readonly (number | null)[]): readonly (number | null)[] =>
  values[0] === null ? [values[1] ?? null, ...values.slice(1)] : values;

/** Values counted by range. */

export interface Bar {
  from: number;
  /** Null for the last bar. */
  to: number | null;
  count: number;
}

/** A range of the API. All types of transactions have the same ranges. */
interface Range {
  from: number;
  to: number | null;
  transactions: number;
}

/** Returns the sums of several counts with the same ranges, without empty bars at either end. */
export function mergedRanges(counts: readonly (readonly Range[])[]): Bar[] {
  const all = (counts[0] ?? []).map(({ from, to }, index) => ({
    from,
    to,
    count: counts.reduce((sum, ranges) => sum + (ranges[index]?.transactions ?? 0), 0),
  }));
  const isFull = (bar: Bar) => bar.count > 0;
  return all.slice(Math.max(0, all.findIndex(isFull)), all.findLastIndex(isFull) + 1);
}
