/**
 * Reads a recording or a journal ahead of the writer, in threads. Each thread reads every n-th batch, so the threads don't
 * depend on each other. The writer takes the batches in order. The number of waiting batches is bounded.
 */
import { availableParallelism } from 'node:os';
import { TemporaryError } from '../../base/errors.ts';
import { startStream } from '../../base/thread.ts';
import type { Prepare } from '../../chain/prepared.ts';
import { openJournalReader } from '../../store/files/journal.ts';
import type { PreparedEntry } from '../../store/ingest/event.ts';
import { readingThreadUrl } from '../../thread-urls.ts';
import type { RecordingSource, RowBatch } from './recording-rows.ts';

/** The journal of a data directory, up to an entry. */
export interface JournalSource {
  directory: string;
  upTo: number;
}

/** Entries of a batch: few, since blocks of two megabytes may follow each other. */
const BATCH_ENTRIES = 16;

/**
 * Reads the entries of the batches of a share, and prepares them.
 * @throws OperatorError if an entry is damaged, DamagedFileError if the file is
 */
export function* preparedEntries(
  { directory, upTo }: JournalSource,
  prepare: Prepare,
  isOwn: (batch: number) => boolean,
): Generator<PreparedEntry[]> {
  const journal = openJournalReader(directory);
  try {
    for (let batch = 0; batch * BATCH_ENTRIES < upTo; batch++) {
      if (!isOwn(batch)) continue;
      const start = batch * BATCH_ENTRIES;
      const last = Math.min(start + BATCH_ENTRIES, upTo);
      const entries: PreparedEntry[] = [];
      for (const { text, ...entry } of journal.after(start)) {
        const payload = prepare(entry.path, text);
        entries.push({ ...entry, length: text.length, content: payload === null ? { text } : { payload } });
        if (entry.id === last) break;
      }
      yield entries;
    }
  } finally {
    journal.close();
  }
}

/** The source to read, and the chain id to prepare its events with. */
export interface ReadAheadInput<Source extends RecordingSource | JournalSource = RecordingSource | JournalSource> {
  source: Source;
  /** The chain id; null before the first block. */
  chainId: number | null;
}

/** A thread's data at its start. */
export interface ReaderStart extends ReadAheadInput {
  share: { index: number; threads: number };
}

/** More threads would wait for the writer. */
const MAX_THREADS = 8;

/** Returns how many threads read ahead on this machine: the writer keeps one core. With 0, the writer reads by itself. */
export const threadsOfCores = (): number => Math.min(MAX_THREADS, availableParallelism() - 1);

const lostThreadError = (cause: unknown): TemporaryError =>
  new TemporaryError('A reading thread stopped before the end of its input.', 'Repeat the command.', { cause });

/**
 * Reads with several threads.
 * @param threads 1 or more
 * @param module the module that the threads run; tests replace it
 * @throws OperatorError of a reading thread; TemporaryError if a thread ends
 */
export function readAhead(
  input: ReadAheadInput<RecordingSource>,
  threads: number,
  module?: URL,
): AsyncGenerator<RowBatch>;
export function readAhead(input: ReadAheadInput<JournalSource>, threads: number): AsyncGenerator<PreparedEntry[]>;
export async function* readAhead(
  input: ReadAheadInput,
  threads: number,
  module = readingThreadUrl,
): AsyncGenerator<unknown> {
  const readers = Array.from({ length: threads }, (_, index) => {
    const start: ReaderStart = { ...input, share: { index, threads } };
    return startStream<RowBatch | PreparedEntry[]>({ module, start, lost: lostThreadError });
  });
  try {
    for (let batch = 0; ; batch++) {
      const { done, value } = await readers[batch % threads]!.next();
      if (done === true) return;
      yield value;
    }
  } finally {
    await Promise.all(readers.map((reader) => reader.stop()));
  }
}
