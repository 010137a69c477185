/** The thread that runs a query: SQLite gives no turn before it has a row, so that only another thread can give up on it. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { OperatorError } from '../../base/errors.ts';
import { openForQueries, resultOf, type SqlValue } from '../../store/sql/result.ts';
import { encoderOf, inLargeParts } from './formats.ts';
import type { FromQuery, QueryEnd, QueryStart } from './messages.ts';

/** The first rows of a result, counted. */
function* firstRows(rows: Iterable<SqlValue[]>, most: number, end: QueryEnd): Generator<SqlValue[]> {
  for (const row of rows) {
    if (end.rows === most) {
      end.cut = true;
      return;
    }
    end.rows += 1;
    yield row;
  }
}

/** The output of a query in parts. @returns what became of it @throws OperatorError */
function* output({ directory, sql, format, printable, maxRows }: QueryStart): Generator<Uint8Array, QueryEnd> {
  using db = openForQueries(directory);
  const result = resultOf(db, sql);
  const end: QueryEnd = { rows: 0, cut: false };
  yield* inLargeParts(encoderOf(format, printable)(result.columns, firstRows(result.rows(), maxRows, end)));
  return end;
}

async function handOn(start: QueryStart, port: MessagePort): Promise<QueryEnd> {
  const say = (message: FromQuery) => port.postMessage(message);
  const parts = output(start);
  for (;;) {
    const { done, value } = parts.next();
    if (done === true) return value;
    const taken = new Promise((resolve) => port.once('message', resolve));
    say({ kind: 'part', bytes: value });
    await taken;
  }
}

/** Runs the query that the thread was started for. */
export async function runQueryThread(): Promise<void> {
  if (parentPort === null) throw new Error('a query needs a main thread');
  const port = parentPort;
  const say = (message: FromQuery) => port.postMessage(message);
  try {
    say({ kind: 'end', end: await handOn(workerData as QueryStart, port) });
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    say({ kind: 'refused', problem: error.message, remedy: error.remedy, exitCode: error.exitCode });
  }
  port.close();
}
