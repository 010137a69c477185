/**
 * Which row ids were met. Recordings repeat some rows; ids are given in order, so what was seen is a few ranges
 * whatever the length of the recording.
 */
export class SeenIds {
  /** Ranges of ids, both ends included, ascending, with a gap between each two. */
  readonly #ranges: { first: number; last: number }[] = [];

  /** The number of ranges that are stored. */
  get ranges(): number {
    return this.#ranges.length;
  }

  /** Adds an id. @returns false if it was added before */
  add(id: number): boolean {
    const ranges = this.#ranges;
    let at = ranges.length - 1;
    while (at >= 0 && (ranges[at]?.first ?? 0) > id) at--;
    const below = ranges[at];
    if (below !== undefined && id <= below.last) return false;
    const above = ranges[at + 1];
    if (below !== undefined && below.last === id - 1) {
      below.last = id;
      if (above !== undefined && above.first === id + 1) {
        below.last = above.last;
        ranges.splice(at + 1, 1);
      }
    } else if (above !== undefined && above.first === id + 1) {
      above.first = id;
    } else {
      ranges.splice(at + 1, 0, { first: id, last: id });
    }
    return true;
  }
}
