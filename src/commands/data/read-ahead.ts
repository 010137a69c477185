/**
 * Reads a recording or a journal ahead of the writer, in threads. Each thread reads every n-th batch, so the threads don't
 * depend on each other. The writer takes the batches in order. The number of waiting batches is bounded.
 */
import { availableParallelism } from 'node:os';
import { type ErrorMessage, errorOfMessage, PassingError } from '../../base/errors.ts';
import { startThread, type Thread } from '../../base/thread.ts';
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

/** A message from a thread. It waits for answers before it hands over more than some batches. */
export type FromReader =
  | { kind: 'batch'; batch: RowBatch | PreparedEntry[] }
  | { kind: 'end' }
  /** An OperatorError of the thread. */
  | ({ kind: 'refused' } & ErrorMessage);

/** More threads would wait for the writer. */
const MAX_THREADS = 8;

/** Returns how many threads read ahead on this machine: the writer keeps one core. With 0, the writer reads by itself. */
export const threadsOfCores = (): number => Math.min(MAX_THREADS, availableParallelism() - 1);

class Reader {
  readonly #thread: Thread<null>;
  readonly #messages: FromReader[] = [];
  #failure: Error | null = null;
  #wake = (): void => undefined;

  constructor(start: ReaderStart, module: URL) {
    this.#thread = startThread<FromReader, null>({
      module,
      start,
      heard: (message) => {
        this.#messages.push(message);
        this.#wake();
      },
      ended: (cause) => {
        this.#failure = new PassingError(
          'A reading thread stopped before the end of its input.',
          'Repeat the command.',
          { cause },
        );
        this.#wake();
      },
    });
  }

  /** The next message of the thread. @throws PassingError if it ended without one */
  async next(): Promise<FromReader> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined) return message;
      if (this.#failure !== null) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Lets the thread hand over one more batch. */
  allowNext(): void {
    this.#thread.say(null);
  }

  stop(): Promise<void> {
    return this.#thread.stop();
  }
}

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
  const readers = Array.from(
    { length: threads },
    (_, index) => new Reader({ ...reading, share: { index, of: threads } }, module),
  );
  try {
    for (let batch = 0; ; batch++) {
      const reader = readers[batch % threads]!;
      const message = await reader.next();
      if (message.kind === 'end') return;
      if (message.kind === 'refused') throw errorOfMessage(message);
      reader.allowNext();
      yield message.batch;
    }
  } finally {
    await Promise.all(readers.map((reader) => reader.stop()));
  }
}
