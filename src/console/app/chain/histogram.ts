/** Values counted by range. */

/** Bounds of the bars in micro-STX, each about three times the one before; the last bar has no upper bound. */
const BOUNDS = [0, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];

export interface Bar {
  from: number;
  /** Null for the last bar. */
  to: number | null;
  count: number;
}

/** Counts values by bar, without empty bars at either end. */
export function bars(values: readonly number[]): Bar[] {
  const all = BOUNDS.map((from, index) => {
    const to = BOUNDS[index + 1] ?? null;
    return { from, to, count: values.filter((value) => value >= from && (to === null || value < to)).length };
  });
  const isFull = (bar: Bar) => bar.count > 0;
  return all.slice(Math.max(0, all.findIndex(isFull)), all.findLastIndex(isFull) + 1);
}
