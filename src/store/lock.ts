/** One writer for a data directory, whatever happens to it: the lock goes with the process that holds it. */
import { Database, SQLiteError } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../errors.ts';

/**
 * Takes the writer's place.
 * @returns what gives it back
 * @throws OperatorError while another process has it
 */
export function lockWriter(directory: string): () => void {
  mkdirSync(directory, { recursive: true });
  const db = new Database(join(directory, 'writer.lock'), { create: true, readwrite: true });
  try {
    db.run('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (error instanceof SQLiteError && error.code === 'SQLITE_BUSY') {
      throw new OperatorError(
        `Another Stackside writes to ${directory}.`,
        'Stop it first, give this one another --data, or run it with --mode read.',
      );
    }
    throw error;
  }
  return () => db.close();
}
