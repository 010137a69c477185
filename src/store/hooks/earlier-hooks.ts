/** Chainhooks of indexes from before version 0.1.0, which the journal has no entries of. */
import { type Database, SQLiteError } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { OperatorError } from '../../base/errors.ts';
import { kindOf, openToRead } from '../files/connection.ts';
import { INDEX, indexPath } from '../files/database.ts';
import { unavailable } from '../files/store-failure.ts';
import { storedStage } from '../rows/enums.ts';
import type { Stored } from '../rows/statement.ts';

/** A chainhook with what is needed to register it again. */
export interface LostHook {
  consumer: string;
  /** JSON, as the consumer sent it. */
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
 * The chainhooks of an index from before version 0.1.0 that a new index lacks; none for a later index.
 * @param made the directory of the new index
 * @param mayLose whether to return none where they can't be read
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
    // Another failure than damage may pass.
    if (!(cause instanceof SQLiteError) || (failure !== undefined && failure !== 'damaged')) throw cause;
    if (mayLose) return [];
    throw new OperatorError(
      `The chainhooks in ${path} can't be read.`,
      'Add --force to rebuild from the journal without them.',
      { cause },
    );
  }
}
