/** The making of the indexes that a load goes on without, with a line for each. */
import type { ListIndexStep } from '../store/files/list-indexes.ts';
import type { Ingest } from '../store/ingest/ingest.ts';
import { progressLines } from './progress.ts';

export type ListIndexReport = ReturnType<typeof listIndexReport>;

/** Draws a line for each step on stderr. A command makes it when it begins, see {@link progressLines}. */
export function listIndexReport() {
  const lines = progressLines(process.stderr);
  return {
    making: ({ index, number, of }: ListIndexStep): void => lines.begin(`index ${number} of ${of}: ${index}`),
    done: lines.done,
  };
}

/**
 * Makes the indexes at the end of an import. Signals are not handled meanwhile: while SQLite works no handler would run, and
 * a process that ends at once leaves the file with each index whole or without it.
 * @throws SQLiteError
 */
export function makeListIndexes(ingest: Ingest, { making, done }: ListIndexReport): void {
  for (const step of ingest.listIndexSteps()) making(step);
  done();
}
