/** The thread that runs a query. While SQLite looks for a row it blocks its thread, so only another thread can cancel. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { messageOfError, OperatorError } from '../../base/errors.ts';
import type { Connection } from '../../store/files/connection.ts';
import {
  beginSnapshot,
  openForQueries,
  type Result,
  requireOnlyViews,
  resultOf,
  type SqlValue,
  withForms,
} from '../../store/sql/result.ts';
import { blocksOf, type ExportedBlocks, viewNamed, viewResult } from '../../store/sql/view-rows.ts';
import { encoderOf, inLargeParts } from './formats.ts';
import type { FromQuery, QueryEnd, QueryStart } from './run.ts';

/** The first rows of a result, counted. */
function* firstRows(rows: Iterable<SqlValue[]>, most: number | null, end: QueryEnd): Generator<SqlValue[]> {
  for (const row of rows) {
    if (end.rows === most) {
      end.cut = true;
      return;
    }
    end.rows += 1;
    yield row;
  }
}

/** The requested rows, and their blocks. */
function found(
  db: Connection,
  { source, format, maxRows }: Pick<QueryStart, 'source' | 'format' | 'maxRows'>,
): { result: Result; blocks: ExportedBlocks | null } {
  if ('sql' in source) {
    const { sql, parameters, viewsAlone = false } = source;
    const result = resultOf(db, sql, parameters);
    if (viewsAlone) requireOnlyViews(sql, parameters);
    return { result: format === 'parquet' ? withForms(db, sql, parameters, maxRows) : result, blocks: null };
  }
  const view = viewNamed(source.view);
  const blocks = view.range === null ? null : blocksOf(db, source.heights);
  return { result: viewResult(db, view, blocks), blocks };
}

/** The output of a query in parts, from one snapshot. @returns its result @throws OperatorError */
function* output(start: QueryStart): Generator<Uint8Array, QueryEnd> {
  const { directory, format, printable, maxRows } = start;
  using db = openForQueries(directory);
  beginSnapshot(db);
  const { result, blocks } = found(db, start);
  const end: QueryEnd = { rows: 0, cut: false, blocks };
  yield* inLargeParts(encoderOf(format, printable)(result.columns, firstRows(result.rows(), maxRows, end)));
  return end;
}

async function handOn(start: QueryStart, port: MessagePort): Promise<QueryEnd> {
  const say = (message: FromQuery) => port.postMessage(message);
  const parts = output(start);
  for (;;) {
    const { done, value } = parts.next();
    if (done === true) return value;
    const written = new Promise((resolve) => port.once('message', resolve));
    say({ kind: 'part', bytes: value });
    await written;
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
    say({ kind: 'refused', ...messageOfError(error) });
  }
  port.close();
}
