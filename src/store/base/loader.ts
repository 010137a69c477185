/**
 * Fills a new index with the rows of a base, part by part. Each part is one transaction with the count of the parts that were
 * loaded, so that an interrupted load continues with the next one. Indexes are made at the end, from sorted entries.
 */
import { type Database, SQLiteError } from 'bun:sqlite';
import { indexPath, oneRowTables, openWriter } from '../files/database.ts';
import { positionIn } from '../files/journal-link.ts';
import { leaveOutWritersIndexes, makeWritersIndexes, type SecondaryIndexProgress } from '../files/secondary-indexes.ts';
import type { Head } from '../log/entry.ts';
import { listInserter } from '../rows/table.ts';
import { type BaseColumn, type BaseTable, baseTables } from './snapshot.ts';

/** Thrown if rows don't fit their table. The message is the end of a sentence that starts with the name of their part. */
export class BaseRowError extends Error {
  override readonly name = 'BaseRowError';
}

type Value = string | number | bigint | Uint8Array | null;

const INTEGER = /^-?\d{16,19}$/;
const HEX = /^(?:[0-9A-F]{2})*$/;
const [MIN_INTEGER, MAX_INTEGER] = [-(2n ** 63n), 2n ** 63n - 1n];

/** The integer of a text, if SQLite can store it. */
function integerOf(text: string): bigint | undefined {
  if (!INTEGER.test(text)) return undefined;
  const value = BigInt(text);
  return value >= MIN_INTEGER && value <= MAX_INTEGER ? value : undefined;
}

/** The value of a column; undefined if it has another type. */
function storedValue({ type, isNullable }: BaseColumn, value: unknown): Value | undefined {
  if (value === null) return isNullable ? null : undefined;
  if (typeof value === 'number') return type === 'INTEGER' && Number.isSafeInteger(value) ? value : undefined;
  if (typeof value !== 'string') return undefined;
  if (type === 'TEXT') return value;
  if (type === 'INTEGER') return integerOf(value);
  return HEX.test(value) ? Uint8Array.fromHex(value) : undefined;
}

/** The values of a row. @throws BaseRowError */
function valuesOf({ name, columns }: BaseTable, row: unknown, number: number): Value[] {
  if (!Array.isArray(row) || row.length !== columns.length) {
    throw new BaseRowError(`row ${number} isn't a list of the ${columns.length} values of ${name}`);
  }
  return columns.map((column, index) => {
    const value = storedValue(column, row[index]);
    if (value === undefined) throw new BaseRowError(`row ${number} has no value for ${name}.${column.name}`);
    return value;
  });
}

/** A table with the number of loaded parts. It exists only while the index is being filled. */
const LOADED = 'loaded_parts';

const isLoading = (db: Database): boolean =>
  db.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1").get(LOADED) !== null;

/** Whether an error of SQLite is about the rows, and not about the disk. */
const isOfRows = (error: unknown): boolean =>
  error instanceof SQLiteError && /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/.test(error.code ?? '');

/**
 * Opens a new index to fill it, or an index with an interrupted load.
 * @returns null if the load has ended
 */
export function openBaseLoader(directory: string) {
  const path = indexPath(directory);
  const db = openWriter(directory, { load: 'bulk', views: false });
  const isNew = db.query<{ id: number }, []>('SELECT journal_id AS id FROM progress').get()?.id === 0;
  if (!isLoading(db) && !isNew) {
    db.close();
    return null;
  }
  if (!isLoading(db)) {
    db.transaction(() => {
      leaveOutWritersIndexes(db);
      db.run(`CREATE TABLE ${LOADED} (parts INTEGER NOT NULL) STRICT`);
      db.run(`INSERT INTO ${LOADED} VALUES (0)`);
    }).immediate();
  }
  const loadedParts = db.prepare<{ parts: number }, []>(`SELECT parts FROM ${LOADED}`);
  const count = db.prepare<null, []>(`UPDATE ${LOADED} SET parts = parts + 1`);
  const tables = baseTables(db).filter(({ name }) => name !== LOADED);
  const isOneRow = (name: string): boolean => (oneRowTables as readonly string[]).includes(name);

  function add(table: BaseTable, rows: readonly unknown[]): void {
    if (isOneRow(table.name)) {
      if (rows.length !== 1) throw new BaseRowError(`${table.name} has one row`);
      db.run(`DELETE FROM ${table.name}`);
    }
    const insert = listInserter(
      db,
      table.name,
      table.columns.map(({ name }) => name),
    );
    for (const [index, row] of rows.entries()) insert(valuesOf(table, row, index + 1));
    count.run();
  }

  return {
    tables,
    loaded: () => loadedParts.get()?.parts ?? 0,
    /**
     * Loads the next part.
     * @param rows lists of values, as `RowLine` has them
     * @throws BaseRowError if they don't fit the table; SQLiteError
     */
    load(table: BaseTable, rows: readonly unknown[]): void {
      try {
        db.transaction(() => add(table, rows)).immediate();
      } catch (cause) {
        if (!isOfRows(cause)) throw cause;
        throw new BaseRowError(`its rows are none of ${table.name}`, { cause });
      }
    },
    /** The position of the index, read from the loaded rows. */
    state: (): Head & { chainId: number | null } => ({
      ...positionIn(db),
      chainId: db.query<{ id: number | null }, []>('SELECT chain_id AS id FROM progress').get()?.id ?? null,
    }),
    /** Makes the indexes that a writer needs, one after each value that it yields, and ends the load. */
    *finish(): Generator<SecondaryIndexProgress> {
      yield* makeWritersIndexes(db, path);
      db.run(`DROP TABLE ${LOADED}`);
    },
    [Symbol.dispose]: () => db.close(),
  };
}

/** An index that is being filled. */
export type BaseLoader = NonNullable<ReturnType<typeof openBaseLoader>>;
