/** Runs a query on a thread of its own, within limits of time and memory, and the messages between both. */
import { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../../base/clock.ts';
import { EXIT, OperatorError, PassingError } from '../../base/errors.ts';
import type { AskedHeights, ExportedBlocks } from '../../store/sql/view-rows.ts';
import { queryThreadUrl } from '../../thread-urls.ts';
import type { Format } from './options.ts';

/** The rows that are wanted: those of a query, or those of a view and some blocks. */
export type QuerySource = { sql: string } | { view: string; heights: AskedHeights };

/** The data that the thread starts with. */
export interface QueryStart {
  directory: string;
  source: QuerySource;
  format: Format;
  /** Whether a terminal shows the output. */
  printable: boolean;
  /** Rows after which the result is cut; null for any number. */
  maxRows: number | null;
}

/** What became of a query. */
export interface QueryEnd {
  rows: number;
  /** Whether the result has more rows than were asked for. */
  cut: boolean;
  /** The blocks that the rows are of; null where they belong to none. */
  blocks: ExportedBlocks | null;
}

/** A message from the thread. It waits for an answer to each part. */
export type FromQuery =
  | { kind: 'part'; bytes: Uint8Array }
  | { kind: 'end'; end: QueryEnd }
  /** An OperatorError of the thread. */
  | { kind: 'refused'; problem: string; remedy: string; exitCode: number };

export interface QueryLimits {
  /** Seconds after which the query is given up; null for any number. */
  seconds: number | null;
  /** Bytes of memory of this process; null for any number. */
  bytes: number | null;
}

export interface Watched {
  clock: Clock;
  /** Bytes of memory of this process. */
  memory(): number;
}

const thisProcess: Watched = { clock: systemClock, memory: () => process.memoryUsage.rss() };

/** Milliseconds between two looks at the memory, in which a query can take some tens of megabytes. */
const LOOK_MS = 20;
const MEGABYTE = 1_000_000;

const tooLong = (seconds: number): OperatorError =>
  new OperatorError(
    `The query took longer than ${seconds} seconds and was given up.`,
    'Use a column that an index finds (docs/sql.md), or raise --timeout.',
  );

const tooLarge = (bytes: number): OperatorError =>
  new OperatorError(
    `The query needs more than ${bytes / MEGABYTE} MB of memory and was given up.`,
    'Sort or group fewer rows, or raise --max-memory.',
  );

/** The error of the thread. */
const refused = ({ problem, remedy, exitCode }: Extract<FromQuery, { kind: 'refused' }>): OperatorError =>
  exitCode === EXIT.again ? new PassingError(problem, remedy) : new OperatorError(problem, remedy);

/** Calls back where a limit is reached. @returns what ends the watch */
function watched({ seconds, bytes }: QueryLimits, { clock, memory }: Watched, reached: (error: OperatorError) => void) {
  const ends = [
    seconds === null ? () => {} : clock.after(seconds * 1000, () => reached(tooLong(seconds))),
    bytes === null
      ? () => {}
      : clock.every(LOOK_MS, () => {
          if (memory() > bytes) reached(tooLarge(bytes));
        }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/**
 * Runs a query, and hands on its output part by part: the next one is made once a part was written.
 *
 * A thread ends once SQLite has done its work. Where a limit is reached, it goes on until then, or until the caller ends the
 * process.
 * @throws OperatorError where the query fails, or reaches a limit
 */
export async function runQuery(
  start: QueryStart,
  limits: QueryLimits,
  write: (bytes: Uint8Array) => Promise<void>,
  machine: Watched = thisProcess,
): Promise<QueryEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<QueryEnd>();
  const worker = new Worker(queryThreadUrl, { workerData: start });
  const endWatch = watched(limits, machine, reject);
  worker.on('error', reject);
  worker.on('exit', () => reject(new Error('the thread of the query ended before the query')));
  worker.on('message', (message: FromQuery) => {
    if (message.kind === 'end') {
      resolve(message.end);
    } else if (message.kind === 'refused') {
      reject(refused(message));
    } else {
      write(message.bytes).then(() => worker.postMessage('written'), reject);
    }
  });
  try {
    return await promise;
  } finally {
    endWatch();
    void worker.terminate();
  }
}
