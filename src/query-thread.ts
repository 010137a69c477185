/** The thread that runs a query. While SQLite looks for a row it blocks its thread, so only another thread can cancel. */
import { onFile } from './base/system-errors.ts';
import { sendStream } from './base/thread.ts';
import { encoderOf, inLargeParts } from './commands/query/formats.ts';
import type { QueryEnd, QueryStart } from './commands/query/run.ts';
import type { Connection } from './store/files/connection.ts';
import { indexPath } from './store/files/database.ts';
import {
  beginSnapshot,
  historyFromOf,
  openForQueries,
  type Result,
  requireOnlyViews,
  resultOf,
  type SqlValue,
  withForms,
} from './store/sql/result.ts';
import { blocksOf, type ExportedBlocks, viewNamed, viewResult } from './store/sql/view-rows.ts';

function* firstRows(rows: Iterable<SqlValue[]>, limit: number | null, end: QueryEnd): Generator<SqlValue[]> {
  for (const row of rows) {
    if (end.rows === limit) {
      end.cut = true;
      return;
    }
    end.rows += 1;
    yield row;
  }
}

function queryResult(
  db: Connection,
  { source, format, maxRows }: Pick<QueryStart, 'source' | 'format' | 'maxRows'>,
): { result: Result; blocks: ExportedBlocks | null } {
  if ('sql' in source) {
    const { sql, parameters, onlyViews = false } = source;
    const result = resultOf(db, sql, parameters);
    if (onlyViews) requireOnlyViews(sql, parameters);
    return { result: format === 'parquet' ? withForms(db, sql, parameters, maxRows) : result, blocks: null };
  }
  const view = viewNamed(source.view);
  const blocks = view.range === null ? null : blocksOf(db, source.heights);
  return { result: viewResult(db, view, blocks), blocks };
}

/** The output of a query in parts, from one snapshot. @returns its result @throws OperatorError */
function* output(start: QueryStart): Generator<Uint8Array, QueryEnd> {
  const { directory, format, printable, maxRows } = start;
  const path = indexPath(directory);
  using db = onFile(path, () => openForQueries(directory));
  const { result, blocks, historyFrom } = onFile(path, () => {
    beginSnapshot(db);
    return { ...queryResult(db, start), historyFrom: historyFromOf(db) };
  });
  const end: QueryEnd = { rows: 0, cut: false, blocks, historyFrom };
  yield* inLargeParts(encoderOf(format, printable)(result.columns, firstRows(result.rows(), maxRows, end)));
  return end;
}

await sendStream(1, output);
