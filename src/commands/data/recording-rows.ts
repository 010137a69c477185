/** The rows of a recording in order, read and prepared for the writer: by this thread, or by threads that share the work. */
import { hash } from 'bun';
import { discard } from '../../base/garbage.ts';
import { PayloadError } from '../../chain/payload-reader.ts';
import type { Prepare } from '../../chain/prepared.ts';
import type { RecordedEvent, RecordingFormat } from '../../chain/recording.ts';
import type { Preparation } from '../../store/ingest/event.ts';
import { packed } from '../../store/log/entry.ts';
import { type Input, openInput, rowReader } from './input.ts';

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
