/** The making of the indexes that a load goes on without, with a line for each where that takes long. */
import type { ListIndexStep } from '../../store/files/list-indexes.ts';
import type { Ingest } from '../../store/ingest/ingest.ts';
import { type Output, progressLines } from '../cli/progress.ts';

/** An index of a file of fewer bytes is made within a moment, and not worth a line. */
const LARGE_FILE = 200_000_000;

/** Draws a line for each step. */
export function listIndexReport(output: Output = process.stderr) {
  const lines = progressLines(output);
  return {
    making({ index, number, of, bytes }: ListIndexStep): void {
      if (bytes >= LARGE_FILE) lines.begin(`index ${number} of ${of}: ${index}`);
    },
    done: lines.done,
  };
}

/**
 * Makes the indexes at the end of an import. Signals are not handled meanwhile: while SQLite works no handler would run, and
 * a process that ends at once leaves the file with each index whole or without it.
 * @throws SQLiteError
 */
export function makeListIndexes(ingest: Ingest): void {
  const { making, done } = listIndexReport();
  for (const step of ingest.listIndexSteps()) making(step);
  done();
}
