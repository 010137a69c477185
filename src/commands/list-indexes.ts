/** Tells how far the making of the indexes is that a load goes on without. */
import { systemClock } from '../base/clock.ts';
import type { ListIndexStep } from '../store/files/list-indexes.ts';
import type { Ingest } from '../store/ingest/ingest.ts';
import { progressLines } from './progress.ts';

/** Draws a line for each step. */
export function listIndexReport() {
  const lines = progressLines(process.stderr);
  return {
    making: ({ index, number, of }: ListIndexStep): void => lines.draw(() => `index ${number} of ${of}: ${index}`),
    done: lines.done,
  };
}

/** Makes the indexes at the end of an import. A signal is seen between two of them. @throws SQLiteError */
export async function makeListIndexes(ingest: Ingest): Promise<void> {
  const { making, done } = listIndexReport();
  for (const step of ingest.listIndexSteps()) {
    making(step);
    await systemClock.turn();
  }
  done();
}
