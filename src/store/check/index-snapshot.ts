/** A snapshot of an index at one entry of its journal, and the digests of its tables. */

import type { Database } from 'bun:sqlite';
import { openToRead, rollBack } from '../files/connection.ts';
import { indexPath, openReader, SCHEMA_VERSION } from '../files/database.ts';
import { indexPosition } from '../files/journal-link.ts';
import type { Head } from '../log/entry.ts';
import { type TableDigest, tableDigester } from './row-digests.ts';
import { journaledTables, keyOf, rowsOf, type Table } from './tables.ts';

/** Number of rows in a batch, after which the caller may yield. */
const BATCH_ROWS = 2_000;

/** The digest of a table, or the number of rows read so far. */
type Digested = { table: string; rows: number; digest: null } | { table: string; digest: TableDigest };

export interface IndexSnapshot extends Disposable {
  /** Position of the index. */
  readonly position: Head;
  /** Takes a new snapshot of the index. */
  renew(): void;
  /** The version of the schema, which the form of rows depends on. */
  schema: number;
  /** Number of tables to digest. */
  readonly tables: number;
  /** Digests all tables that are a function of the journal, in batches. */
  digests(): Generator<Digested>;
  /** The key of a row in words. @param number of the row, from 1 on */
  key(table: string, number: number): string;
}

function* digestOf(db: Database, table: Table): Generator<Digested> {
  const { name } = table;
  const digester = tableDigester();
  const rows = rowsOf(db, table);
  let read = 0;
  for (let row = rows.next(); row.done !== true; row = rows.next()) {
    digester.add(row.value);
    read += 1;
    if (read % BATCH_ROWS === 0) yield { table: name, rows: read, digest: null };
  }
  yield { table: name, digest: digester.digest() };
}

/**
 * Takes a snapshot of the index, while the writer may go on. The write-ahead log can't be emptied before the snapshot is
 * closed.
 * @throws OperatorError where there is no index, or one of another version
 */
export function snapshotIndex(directory: string): IndexSnapshot {
  // Throws for another version.
  openReader(directory).close();
  const db = openToRead(indexPath(directory), true);
  const places = indexPosition(db);
  let position: Head;
  let tables: Table[];
  const renew = () => {
    rollBack(db);
    db.run('BEGIN');
    const { id, chain } = places.current();
    position = { id: Number(id), chain };
    // Which tables are functions of the journal can change with its first command.
    tables = journaledTables(db);
  };
  renew();
  return {
    get position() {
      return position;
    },
    renew,
    schema: SCHEMA_VERSION,
    get tables() {
      return tables.length;
    },
    *digests() {
      for (const table of tables) yield* digestOf(db, table);
    },
    key: (name, number) => {
      const table = tables.find((one) => one.name === name);
      return table === undefined ? '' : keyOf(db, table, number);
    },
    [Symbol.dispose]: () => db.close(),
  };
}
