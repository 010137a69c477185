/** The order of a recording's rows by their ids: whether a file has it, and how a file without it is read in that order. */
import { closeSync, openSync, readSync } from 'node:fs';
import { OperatorError } from '../../base/errors.ts';
import { discard } from '../../base/garbage.ts';
import { onFile } from '../../base/system-errors.ts';
import { rowId } from '../../chain/recording.ts';
import { fileCompression, type Input, openInput } from './input.ts';

/**
 * A set of row ids. Recordings repeat some rows. Ids ascend almost without gaps, so a few ranges are enough for a recording of
 * any length.
 */
export class SeenIds {
  /** Ascending, disjoint ranges of ids, both ends included. */
  readonly #ranges: { first: number; last: number }[] = [];

  /** Number of stored ranges. */
  get ranges(): number {
    return this.#ranges.length;
  }

  /** The greatest id; -1 without ids. */
  get highest(): number {
    return this.#ranges.at(-1)?.last ?? -1;
  }

  /** Whether the set lacks an id from 1 to the greatest one. */
  get hasGaps(): boolean {
    return this.#ranges.length > 1 || (this.#ranges[0]?.first ?? 0) > 1;
  }

  /** A copy, which later additions don't change. */
  copy(): SeenIds {
    const copy = new SeenIds();
    copy.#ranges.push(...this.#ranges.map((range) => ({ ...range })));
    return copy;
  }

  /** Returns the position of the last range that begins at the id or below; -1 if there is none. */
  #rangeBelow(id: number): number {
    let at = this.#ranges.length - 1;
    while (at >= 0 && (this.#ranges[at]?.first ?? 0) > id) at--;
    return at;
  }

  has(id: number): boolean {
    const below = this.#ranges[this.#rangeBelow(id)];
    return below !== undefined && id <= below.last;
  }

  /** Adds an id. @returns false if it was added before */
  add(id: number): boolean {
    const ranges = this.#ranges;
    const at = this.#rangeBelow(id);
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

/** A row with a lower id than a row before it. */
export interface Disorder {
  /** Number of the row in the file. */
  row: number;
  id: number;
  /** The greatest id of the rows before it. */
  after: number;
}

/**
 * Finds the first row whose id is new and lower than an id before it. Rows may repeat earlier ids.
 * @returns null if the rows are in the order of their ids
 * @throws OperatorError if the file can't be read
 */
export async function disorderIn(file: string): Promise<Disorder | null> {
  const seen = new SeenIds();
  let row = 0;
  for await (const line of openInput(file).lines()) {
    row += 1;
    const [id, after] = [rowId(line), seen.highest];
    discard(line);
    if (id !== null && seen.add(id) && id < after) return { row, id, after };
  }
  return null;
}

/** The error of a recording whose rows must be sorted by the operator. @param unpack the command that writes the rows to stdout */
const unsorted = (file: string, { row, id, after }: Disorder, unpack: string): OperatorError =>
  new OperatorError(
    `The rows of ${file} are not in the order of their ids: row ${row} has id ${id}, after id ${after}.`,
    `Sort the rows, and import the sorted file: ${unpack} ${file} | LC_ALL=C sort -n > sorted.tsv`,
  );

/**
 * Prepares to read a file in the order of its ids. A row without an id stays behind the row before it. The places of the rows are
 * in memory, and the rows are read one by one.
 * @throws OperatorError if the file is compressed, since such a file can only be read from its beginning
 */
export async function inputInOrder(file: string, disorder: Disorder): Promise<() => Input> {
  const compression = onFile(file, () => fileCompression(file));
  if (compression !== null) throw unsorted(file, disorder, `${compression} -dc`);
  const ids: number[] = [];
  const starts: number[] = [];
  let end = 0;
  for await (const line of openInput(file).lines()) {
    ids.push(rowId(line) ?? ids.at(-1) ?? 0);
    starts.push(end);
    end += line.length + 1;
    discard(line);
  }
  starts.push(end);
  const order = Uint32Array.from(ids.keys()).sort((a, b) => ids[a]! - ids[b]! || a - b);

  return () => {
    let read = 0;
    return {
      async *lines() {
        const fd = openSync(file, 'r');
        try {
          for (const at of order) {
            const start = starts[at]!;
            const line = Buffer.alloc(starts[at + 1]! - start - 1);
            onFile(file, () => readSync(fd, line, 0, line.length, start));
            read += line.length + 1;
            yield line;
          }
        } finally {
          closeSync(fd);
        }
      },
      size: end,
      bytesRead: () => read,
      rowNumber: (nth) => (order[nth - 1] ?? nth - 1) + 1,
    };
  };
}
