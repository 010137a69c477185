/** Values of charts, and descriptions of charts for screen readers. */
import { DAY, exactTime, localTime } from './format.ts';

export interface ChartSeries {
  name: string;
  /** One value per time; null if there is none. */
  values: readonly (number | null)[];
}

/** Returns the newest value of a series; null if it has none. */
export const newestOf = ({ values }: ChartSeries): number | null => values.findLast((value) => value !== null) ?? null;

function describeSeries(series: ChartSeries, format: (value: number) => string): string {
  const values = series.values.filter((value) => value !== null);
  const newest = newestOf(series);
  if (newest === null) return `${series.name}: nothing`;
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return `${series.name}: newest ${format(newest)}, between ${format(min)} and ${format(max)}`;
}

/** Describes a chart in words. */
export const describeChart = (
  label: string,
  series: readonly ChartSeries[],
  format: (value: number) => string,
): string => `${label}. ${series.map((item) => describeSeries(item, format)).join('. ')}.`;

/** Scale of the horizontal axis: times of a day, days, or months of years. */
export type TimeScale = 'hour' | 'days' | 'years';

/** Returns the label of a time below a chart: the local time, or the day or the month in UTC. */
export function timeLabel(seconds: number, scale: TimeScale): string {
  if (scale === 'hour') return localTime(seconds).slice(11, 16);
  const text = exactTime(seconds);
  return scale === 'days' ? text.slice(5, 10) : text.slice(0, 7);
}

/** Returns the scale for a span of time. @param times Unix seconds, ascending */
export function scaleOf(times: readonly number[]): TimeScale {
  const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
  return span < DAY ? 'hour' : span < 300 * DAY ? 'days' : 'years';
}

const SPANS: readonly (readonly [title: string, seconds: number])[] = [
  ['24 hours', DAY],
  ['7 days', 7 * DAY],
  ['30 days', 30 * DAY],
];

/** Returns the spans shorter than the values with at least two of them. @param times Unix seconds, ascending */
export function spansOf(times: readonly number[]): readonly (readonly [title: string, seconds: number])[] {
  const [first, previous, last] = [times[0] ?? 0, times.at(-2) ?? Number.NEGATIVE_INFINITY, times.at(-1) ?? 0];
  return SPANS.filter(([, seconds]) => last - first > seconds && last - previous < seconds);
}

/** Returns the index of the first value to show in a span before the newest time. */
export const firstIndexIn = (times: readonly number[], seconds: number): number =>
  Math.max(
    0,
    times.findIndex((time) => time >= (times.at(-1) ?? 0) - seconds),
  );

/** Returns every n-th index, so that a table stays readable. The newest is the first. */
export function sampleIndexes(length: number, limit: number): number[] {
  const step = Math.max(1, Math.ceil(length / limit));
  const indexes: number[] = [];
  for (let index = length - 1; index >= 0; index -= step) indexes.push(index);
  return indexes;
}

/** Inserts an empty time into each gap, so that no line crosses it. @param step seconds between two values */
export function withGaps<Series extends ChartSeries>(
  times: readonly number[],
  series: readonly Series[],
  step: number,
): { times: number[]; series: Series[] } {
  const isLast = (index: number): boolean => (times[index + 1] ?? 0) - (times[index] ?? 0) > 2 * step;
  const insertGaps = <T>(values: readonly T[], gap: (value: T) => T | null): (T | null)[] =>
    values.flatMap((value, index) => (isLast(index) ? [value, gap(value)] : [value]));
  return {
    times: insertGaps(times, (time) => time + step).map(Number),
    series: series.map((item) => ({ ...item, values: insertGaps(item.values, () => null) })),
  };
}

const DIVISORS = [1, 2, 5, 10, 15, 20, 30];
/** Steps in seconds up to a day: parts of a minute, of an hour, and of a day. */
const SECONDS = [
  ...DIVISORS,
  ...DIVISORS.map((minutes) => 60 * minutes),
  ...[1, 2, 3, 4, 6, 12, 24].map((hours) => 3_600 * hours),
];

/** Returns the smallest round step (1, 2 or 5 times a power of ten) that is at least `min`. */
function roundStep(min: number): number {
  const power = 10 ** Math.floor(Math.log10(min));
  return ([1, 2, 5].find((digit) => digit * power >= min) ?? 10) * power;
}

const secondsStep = (min: number): number => SECONDS.find((step) => step >= min) ?? DAY * roundStep(min / DAY);

function multiples([min, max]: Range, step: number): number[] {
  const ticks: number[] = [];
  // Multiplying keeps the error of fractions small.
  for (let nth = Math.ceil(min / step); nth * step <= max; nth += 1) ticks.push(nth * step);
  return ticks;
}

export type Range = readonly [min: number, max: number];

/** Returns the values with a label on the value axis. @param limit maximum number of labels @param areWhole without fractions */
export function valueTicks(range: Range, limit: number, areWhole: boolean): number[] {
  const step = roundStep((range[1] - range[0]) / Math.max(1, limit));
  return multiples(range, areWhole ? Math.max(1, step) : step);
}

/** Returns the times with a label below a chart, in Unix seconds. @param limit maximum number of labels */
export function timeTicks(range: Range, limit: number, scale: TimeScale): number[] {
  const minStep = (range[1] - range[0]) / Math.max(1, limit);
  if (scale !== 'years')
    return multiples(range, scale === 'days' ? Math.ceil(minStep / DAY) * DAY : secondsStep(minStep));
  const months = [1, 2, 3, 6, 12].find((step) => step * 31 * DAY >= minStep) ?? 12 * Math.ceil(minStep / (365 * DAY));
  const first = new Date(range[0] * 1000).getUTCFullYear() * 12;
  return multiples([first, first + (12 * (range[1] - range[0])) / (365 * DAY) + 13], months)
    .map((month) => Date.UTC(Math.floor(month / 12), month % 12) / 1000)
    .filter((time) => time >= range[0] && time <= range[1]);
}

/** Minimum number of values for which a chart may clip outliers. */
const MIN_CLIPPED = 12;
/** Factor between the values of a chart and an outlier. */
const OUTLIER = 3;

/** Returns the highest value of the axis. A few outliers may be above it: they would flatten all other values. */
export function axisTop(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const max = sorted.at(-1) ?? 0;
  const percentile = sorted[Math.ceil(0.95 * sorted.length) - 1] ?? max;
  return sorted.length < MIN_CLIPPED || percentile <= 0 || max < OUTLIER * percentile ? max : 1.2 * percentile;
}

/** Share of its greatest value that a balance must keep for an axis that doesn't start at zero. */
const FAR_FROM_ZERO = 0.4;

/** Returns the range of the value axis: from zero, or around values far from zero if `fromZero` is false. */
export function valueRange(values: readonly number[], fromZero: boolean): Range {
  const top = axisTop(values);
  const min = values.reduce((low, value) => Math.min(low, value), top);
  if (!fromZero && min > FAR_FROM_ZERO * top) {
    const room = Math.max(0.12 * (top - min), 0.001 * top);
    return [min - room, top + room];
  }
  return [Math.min(0, 1.1 * min), top > 0 ? 1.08 * top : min < 0 ? 0 : 1];
}

export interface Bar {
  from: number;
  /** Null for the last bar. */
  to: number | null;
  count: number;
}

/** A range of the API. All types of transactions have the same ranges. */
type CountedRange = Pick<Bar, 'from' | 'to'> & { transactions: number };

/** Returns the sums of several counts with the same ranges, without empty bars at either end. */
export function mergeRanges(counts: readonly (readonly CountedRange[])[]): Bar[] {
  const all = (counts[0] ?? []).map(({ from, to }, index) => ({
    from,
    to,
    count: counts.reduce((sum, ranges) => sum + (ranges[index]?.transactions ?? 0), 0),
  }));
  const isFull = (bar: Bar) => bar.count > 0;
  return all.slice(Math.max(0, all.findIndex(isFull)), all.findLastIndex(isFull) + 1);
}
