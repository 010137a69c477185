/**
 * Reads a recording or a journal ahead of the writer, in threads. Each thread reads every n-th batch, so the threads don't
 * depend on each other. The writer takes the batches in order. The number of waiting batches is bounded.
 */
import { availableParallelism } from 'node:os';
import { PassingError } from '../../base/errors.ts';
import { startStream } from '../../base/thread-stream.ts';
import type { PreparedEntry } from '../../store/ingest/event.ts';
import { readingThreadUrl } from '../../thread-urls.ts';
import type { JournalSource } from './journal-entries.ts';
import type { RecordingSource, RowBatch } from './recording-rows.ts';

/** The source to read, and the chain id to prepare its events with. */
export interface ReadAheadInput<Source extends RecordingSource | JournalSource = RecordingSource | JournalSource> {
  source: Source;
  /** The chain id; null before the first block. */
  chainId: number | null;
}

/** A thread's data at its start. */
export interface ReaderStart extends ReadAheadInput {
  share: { index: number; of: number };
}

/** More threads would wait for the writer. */
const MAX_THREADS = 8;

/** Returns how many threads read ahead on this machine: the writer keeps one core. With 0, the writer reads by itself. */
export const threadsOfCores = (): number => Math.min(MAX_THREADS, availableParallelism() - 1);

const lost = (cause: unknown): PassingError =>
  new PassingError('A reading thread stopped before the end of its input.', 'Repeat the command.', { cause });

/**
 * Reads with several threads.
 * @param threads 1 or more
 * @param module the module that the threads run; tests replace it
 * @throws OperatorError of a reading thread; PassingError if a thread ends
 */
export function readAhead(
  reading: ReadAheadInput<RecordingSource>,
  threads: number,
  module?: URL,
): AsyncGenerator<RowBatch>;
export function readAhead(reading: ReadAheadInput<JournalSource>, threads: number): AsyncGenerator<PreparedEntry[]>;
export async function* readAhead(
  reading: ReadAheadInput,
  threads: number,
  module = readingThreadUrl,
): AsyncGenerator<unknown> {
  const readers = Array.from({ length: threads }, (_, index) => {
    const start: ReaderStart = { ...reading, share: { index, of: threads } };
    return startStream<RowBatch | PreparedEntry[]>({ module, start, lost });
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
