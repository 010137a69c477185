/** Chainhooks of indexes from before version 0.1.0, which were not made by entries of the journal. */
import { type Database, SQLiteError } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { OperatorError } from '../../base/errors.ts';
import { kindOf, openToRead } from '../files/connection.ts';
import { INDEX, indexPath } from '../files/database.ts';
import { unavailable } from '../files/store-failure.ts';
import { storedStage } from '../rows/enums.ts';
import type { Stored } from '../rows/statement.ts';

/** A chainhook, as it would be registered again. */
export interface LostHook {
  consumer: string;
  /** JSON, as it was sent. */
  definition: string;
  isEnabled: boolean;
}

type Row = Stored<'hooks', 'uuid' | 'consumer' | 'definition' | 'stage'>;

const rowsOf = (db: Database): Row[] =>
  db
    .query<Row, []>(
      'SELECT uuid, consumer, definition, stage FROM hooks WHERE deleted_at IS NULL ORDER BY created_at, id',
    )
    .all();

/**
 * The chainhooks that the index of a directory has and a new one lacks, where the index is from before version 0.1.0; none
 * otherwise.
 * @param made the directory of the new index
 * @param mayLose whether they may be lost where they can't be read
 * @throws OperatorError where they can't be read
 */
export function hooksLostWith(directory: string, made: string, mayLose: boolean): LostHook[] {
  const path = indexPath(directory);
  if (!existsSync(path)) return [];
  using anew = openToRead(indexPath(made));
  const known = new Set(rowsOf(anew).map(({ uuid }) => uuid));
  try {
    using db = openToRead(path);
    if (kindOf(db, INDEX) !== 'earlier') return [];
    return rowsOf(db)
      .filter(({ uuid }) => !known.has(uuid))
      .map(({ consumer, definition, stage }) => ({
        consumer,
        definition,
        isEnabled: stage !== storedStage.numberOf('idle'),
      }));
  } catch (cause) {
    const failure = unavailable(cause)?.failure;
    // The file can be read, but not now.
    if (!(cause instanceof SQLiteError) || (failure !== undefined && failure !== 'damaged')) throw cause;
    if (mayLose) return [];
    throw new OperatorError(
      `The chainhooks in ${path} can't be read.`,
      'Add --force to rebuild from the journal without them.',
      { cause },
    );
  }
}
