/**
 * The rows of a recording: whether their ids are in order, and the rows read and prepared for the writer by this thread, or
 * by threads that share the work.
 */
import { hash } from 'bun';
import { OperatorError } from '../../base/errors.ts';
import { discard } from '../../base/garbage.ts';
import { onFile } from '../../base/system-errors.ts';
import { PayloadError } from '../../chain/payload-reader.ts';
import type { Prepare } from '../../chain/prepared.ts';
import { type RecordedEvent, type RecordingFormat, rowId } from '../../chain/recording.ts';
import type { Preparation } from '../../store/ingest/event.ts';
import { packed } from '../../store/log/entry.ts';
import { fileCompression, type Input, openInput, rowReader } from './input.ts';

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

export interface RecordingRow {
  /** Bytes of its line. */
  bytes: number;
  /** Digest of all rows up to it. */
  digest: bigint;
  /** The row's event; null if the row has no event or can't be read. */
  event: RowEvent | null;
  /** Reason why the row can't be read; null if it can. */
  problem: string | null;
}

/** An event of a row: as it was read, or prepared for the writer. */
export type RowEvent = RecordedEvent | (Omit<RecordedEvent, 'text'> & { prepared: Preparation });

/** A recording, and how it is read. */
export interface RecordingSource {
  file: string;
  /** The format that the operator named. */
  format: RecordingFormat | null;
  /** Rows before this one are in the log already, and aren't prepared. */
  prepareFrom: number;
}

/** The digest of a row and of those before it. @param previous the digest of these; 0 for none */
export const rowDigest = (row: Uint8Array, previous: bigint): bigint => hash.xxHash64(row, previous);

/** Reads rows of a recording one by one. @throws OperatorError if it can't be read to its end, or its format is unclear */
export async function* rowsOf(
  input: Input,
  file: string,
  format: RecordingFormat | null,
): AsyncGenerator<RecordingRow> {
  const readRow = rowReader(file, input.size !== null, format);
  let [row, digest] = [0, 0n];
  for await (const line of input.lines()) {
    row += 1;
    digest = rowDigest(line, digest);
    const bytes = line.length;
    try {
      const event = await readRow(line, row);
      discard(line);
      yield { bytes, digest, event, problem: null };
    } catch (error) {
      if (!(error instanceof PayloadError)) throw error;
      yield { bytes, digest, event: null, problem: error.message };
    }
  }
}

/** Bytes and rows of a batch that a thread hands over at a time. */
const BATCH_BYTES = 250_000;
const BATCH_ROWS = 500;

export interface RowBatch {
  rows: RecordingRow[];
  /** Bytes of the file that were read, before decompression. */
  read: number;
}

/** Reads a recording, and prepares the events of the batches of a share. */
export async function* preparedRows(
  { file, format, prepareFrom }: RecordingSource,
  prepare: Prepare,
  isOwn: (batch: number) => boolean,
): AsyncGenerator<RowBatch> {
  const input = openInput(file);
  let [row, batch, bytes, count] = [0, 0, 0, 0];
  let rows: RecordingRow[] = [];
  for await (const read of rowsOf(input, file, format)) {
    row += 1;
    count += 1;
    bytes += read.bytes;
    if (isOwn(batch)) rows.push(row < prepareFrom ? read : preparedRow(read, prepare));
    if (bytes < BATCH_BYTES && count < BATCH_ROWS) continue;
    if (rows.length > 0) yield { rows, read: input.bytesRead() };
    [rows, bytes, count] = [[], 0, 0];
    batch += 1;
  }
  if (rows.length > 0) yield { rows, read: input.bytesRead() };
}

function preparedRow(row: RecordingRow, prepare: Prepare): RecordingRow {
  if (row.event === null || !('text' in row.event)) return row;
  const { id, receivedAt, path, text } = row.event;
  const prepared: Preparation = { payload: prepare(path, text), text: packed(text), length: text.length };
  return { ...row, event: { id, receivedAt, path, prepared } };
}
