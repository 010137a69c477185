/** Runs a query on a separate thread, with limits of time and memory, or as a stream. */
import { Readable } from 'node:stream';
import { type Clock, systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { startStream } from '../../base/thread.ts';
import type { HeightSpan } from '../../store/model/block.ts';
import type { SqlParameter } from '../../store/sql/result.ts';
import type { ExportedBlocks } from '../../store/sql/view-rows.ts';
import { queryThreadUrl } from '../../thread-urls.ts';
import type { Encoding } from './formats.ts';
import { BYTES_PER_MEGABYTE } from './options.ts';

/** The rows to read: rows of a query, or rows of a view in a range of blocks. */
export type QuerySource =
  | {
      sql: string;
      parameters?: readonly SqlParameter[];
      /** Whether a query that reads anything but the views is refused. */
      onlyViews?: boolean;
    }
  | { view: string; heights: HeightSpan };

/** The thread's data at its start. */
export interface QueryStart {
  directory: string;
  source: QuerySource;
  format: Encoding;
  /** Whether the output goes to a terminal. */
  printable: boolean;
  /** Maximum rows of the result; null for no limit. */
  maxRows: number | null;
}

export interface QueryEnd {
  rows: number;
  /** Whether rows were omitted because of the limit. */
  cut: boolean;
  /** The blocks of the rows; null if the rows belong to no blocks. */
  blocks: ExportedBlocks | null;
  /** Height of the first block of a partial history; null for a whole history. */
  historyFrom: number | null;
}

/** Describes a partial history on stderr, since its rows and sums would look complete. */
export function printHistory({ historyFrom }: Pick<QueryEnd, 'historyFrom'>): void {
  if (historyFrom === null) return;
  process.stderr.write(
    `The index starts at block ${historyFrom}: older rows and all balances are missing, and sums that need them are null.\n`,
  );
}

/** A query reached a limit. */
export class QueryLimitError extends OperatorError {
  override readonly name = 'QueryLimitError';
}

export interface QueryLimits {
  /** Seconds after which the query is cancelled; null for no limit. */
  seconds: number | null;
  /** Maximum bytes of memory of this process; null for no limit. */
  bytes: number | null;
}

export interface WatchedProcess {
  clock: Clock;
  memory(): number;
}

const thisProcess: WatchedProcess = { clock: systemClock, memory: () => process.memoryUsage.rss() };

/** Milliseconds between two memory checks. A query can allocate some tens of megabytes in this time. */
const LOOK_MS = 20;

const tooLongError = (seconds: number): QueryLimitError =>
  new QueryLimitError(
    `The query took longer than ${plural(seconds, 'second')} and was cancelled.`,
    'Use a column that an index finds (docs/sql.md), or raise --timeout.',
  );

const tooLargeError = (bytes: number): QueryLimitError =>
  new QueryLimitError(
    `The query needs more than ${bytes / BYTES_PER_MEGABYTE} MB of memory and was cancelled.`,
    'Sort or group fewer rows, or raise --max-memory.',
  );

/** Calls back when a limit is reached. @returns a function that ends the watch */
function watchLimits(
  { seconds, bytes }: QueryLimits,
  { clock, memory }: WatchedProcess,
  reached: (error: OperatorError) => void,
) {
  const ends = [
    seconds === null ? () => {} : clock.after(seconds * 1000, () => reached(tooLongError(seconds))),
    bytes === null
      ? () => {}
      : clock.every(LOOK_MS, () => {
          if (memory() > bytes) reached(tooLargeError(bytes));
        }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

const lostThreadError = (cause: unknown): Error =>
  new Error('the query thread stopped before the query ended', { cause });

/** Starts the thread of a query. */
const startQuery = (start: QueryStart) =>
  startStream<Uint8Array, QueryEnd>({ module: queryThreadUrl, start, lost: lostThreadError });

/**
 * Runs a query as a stream, at its reader's pace. If the reader fails, the thread ends.
 * @returns the stream, which fails with an OperatorError if the query does, and the query's result, null before its end
 */
export function queryStream(start: QueryStart): { stream: Readable; result(): QueryEnd | null } {
  const query = startQuery(start);
  let result: QueryEnd | null = null;
  const stream = new Readable({
    read() {
      query.next().then(
        ({ done, value }) => {
          if (done === true) result = value;
          stream.push(done === true ? null : value);
        },
        (error: Error) => stream.destroy(error),
      );
    },
    destroy(error, ended) {
      void query.stop();
      ended(error);
    },
  });
  return { stream, result: () => result };
}

/**
 * Runs a query, and passes its output on part by part. The thread makes few parts ahead.
 *
 * A thread can't end while SQLite works. So after a limit is reached, it continues until SQLite returns, or the caller ends the
 * process.
 * @throws OperatorError if the query fails, or reaches a limit
 */
export async function runQuery(
  start: QueryStart,
  limits: QueryLimits,
  write: (bytes: Uint8Array) => Promise<void>,
  machine: WatchedProcess = thisProcess,
): Promise<QueryEnd> {
  const query = startQuery(start);
  const limit = Promise.withResolvers<never>();
  const endWatch = watchLimits(limits, machine, limit.reject);

  async function passOn(): Promise<QueryEnd> {
    for (;;) {
      const { done, value } = await query.next();
      if (done === true) return value;
      await write(value);
    }
  }

  try {
    return await Promise.race([passOn(), limit.promise]);
  } finally {
    endWatch();
    void query.stop();
  }
}
