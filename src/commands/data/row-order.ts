/** The order of a recording's rows by their ids. */
import { OperatorError } from '../../base/errors.ts';
import { discard } from '../../base/garbage.ts';
import { onFile } from '../../base/system-errors.ts';
import { rowId } from '../../chain/recording.ts';
import { fileCompression, openInput } from './input.ts';

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

  /** Returns the position of the last range that begins at the id or below; -1 if there is none. */
  #rangeBelow(id: number): number {
    let index = this.#ranges.length - 1;
    while (index >= 0 && (this.#ranges[index]?.first ?? 0) > id) index--;
    return index;
  }

  /** Adds an id. @returns false if it was added before */
  add(id: number): boolean {
    const ranges = this.#ranges;
    const index = this.#rangeBelow(id);
    const below = ranges[index];
    if (below !== undefined && id <= below.last) return false;
    const above = ranges[index + 1];
    if (below !== undefined && below.last === id - 1) {
      below.last = id;
      if (above !== undefined && above.first === id + 1) {
        below.last = above.last;
        ranges.splice(index + 1, 1);
      }
    } else if (above !== undefined && above.first === id + 1) {
      above.first = id;
    } else {
      ranges.splice(index + 1, 0, { first: id, last: id });
    }
    return true;
  }
}

/** A row with a lower id than a row before it. */
interface Disorder {
  /** Number of the row in the file. */
  row: number;
  id: number;
  /** The greatest id of the rows before it. */
  highest: number;
}

/**
 * Finds the first row whose id is new and lower than an id before it. Rows may repeat earlier ids.
 * @returns null if the rows are in the order of their ids
 * @throws OperatorError if the file can't be read
 */
export async function findDisorder(file: string): Promise<Disorder | null> {
  const seen = new SeenIds();
  let row = 0;
  for await (const line of openInput(file).lines()) {
    row += 1;
    const [id, highest] = [rowId(line), seen.highest];
    discard(line);
    if (id !== null && seen.add(id) && id < highest) return { row, id, highest };
  }
  return null;
}

/** Makes the error of a recording whose rows the operator must sort. */
export function unsortedError(file: string, { row, id, highest }: Disorder): OperatorError {
  const compression = onFile(file, () => fileCompression(file));
  const unpack = compression === null ? 'cat' : `${compression} -dc`;
  return new OperatorError(
    `The rows of ${file} are not in the order of their ids: row ${row} has id ${id}, after id ${highest}.`,
    `Sort the rows, and import the sorted file: ${unpack} ${file} | LC_ALL=C sort -n > sorted.tsv`,
  );
}
