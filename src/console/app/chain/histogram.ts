/** Values counted by range. */

export interface Bar {
  from: number;
  /** Null for the last bar. */
  to: number | null;
  count: number;
}

/** A range of the API, which has the same ranges for each type of transaction. */
interface Range {
  from: number;
  to: number | null;
  transactions: number;
}

/** The sums of several counts of the same ranges, without empty bars at either end. */
export function mergedRanges(counts: readonly (readonly Range[])[]): Bar[] {
  const all = (counts[0] ?? []).map(({ from, to }, index) => ({
    from,
    to,
    count: counts.reduce((sum, ranges) => sum + (ranges[index]?.transactions ?? 0), 0),
  }));
  const isFull = (bar: Bar) => bar.count > 0;
  return all.slice(Math.max(0, all.findIndex(isFull)), all.findLastIndex(isFull) + 1);
}
