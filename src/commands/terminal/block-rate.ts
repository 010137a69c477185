/** Milliseconds that a rate looks back: long enough to be steady, short enough to show what is going on. */
const WINDOW_MS = 10_000;

/** How fast a chain grows. Times are of a monotonic clock, in milliseconds. */
export class BlockRate {
  readonly #seen: { time: number; height: number }[] = [];

  /** Notes the height at a time. @returns blocks a second over the last ten seconds; null before there are two heights */
  at(time: number, height: number): number | null {
    this.#seen.push({ time, height });
    while (this.#seen.length > 2 && this.#seen[1]!.time <= time - WINDOW_MS) this.#seen.shift();
    const [first] = this.#seen;
    return first === undefined || first.time === time ? null : ((height - first.height) * 1_000) / (time - first.time);
  }
}
