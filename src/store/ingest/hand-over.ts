/**
 * The chainhooks of a single host become those of a log that hosts share: commands hold the rows of its tables, so that every
 * host begins with the same.
 */
import type { Database } from 'bun:sqlite';
import { hookTables, otherCommandTables } from '../hooks/carry-over.ts';
import { hookOrigin } from '../hooks/origin.ts';
import type { Command } from './commands.ts';

/** The command that comes before the rows, and says whose hooks and secrets they hold. */
export const HAND_OVER = 'hooks.begin';

/** Tables whose rows are handed over. */
const handedOver: readonly string[] = [...hookTables, ...otherCommandTables];

/** Bytes of a command after which no more rows are added. */
const MOST_BYTES = 500_000;

/** A value of a row in JSON: blobs are in base64. */
type JsonValue = number | string | null | { blob: string };
type RowValue = number | string | null | Uint8Array;

/** What is known of the rows that follow. */
export interface HandOverArgs {
  /** The uuids of the hooks that were not deleted. */
  hooks: readonly string[];
  /** The consumers whose signing secrets the rows hold; earlier versions did not name them. */
  secrets?: readonly string[];
}

interface Rows {
  table: string;
  columns: readonly string[];
  rows: readonly (readonly JsonValue[])[];
}

const toJson = (value: RowValue): JsonValue => (value instanceof Uint8Array ? { blob: value.toBase64() } : value);
const fromJson = (value: JsonValue): RowValue =>
  typeof value === 'object' && value !== null ? Uint8Array.fromBase64(value.blob) : value;

function columnsOf(db: Database, table: string): string[] {
  const columns = db.query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?1)').all(table);
  return columns.map(({ name }) => name);
}

function* rowsOf(db: Database, table: string): Generator<Command> {
  const columns = columnsOf(db, table);
  let rows: JsonValue[][] = [];
  let bytes = 0;
  const command = (): Command => ({ type: 'hooks.rows', args: { table, columns, rows } satisfies Rows });
  for (const row of db.query<Record<string, RowValue>, []>(`SELECT * FROM ${table}`).iterate()) {
    const values = columns.map((name) => toJson(row[name] ?? null));
    rows.push(values);
    bytes += JSON.stringify(values).length;
    if (bytes < MOST_BYTES) continue;
    yield command();
    [rows, bytes] = [[], 0];
  }
  if (rows.length > 0) yield command();
}

/** Whether an index has what a log of hosts would have to know: hooks that were not deleted, secrets, or old names. */
export const hasHooksToHandOver = (db: Database): boolean =>
  db
    .query(`SELECT 1 FROM hooks WHERE deleted_at IS NULL UNION ALL SELECT 1 FROM hook_secrets
              UNION ALL SELECT 1 FROM old_names LIMIT 1`)
    .get() !== null;

/** Commands that hold all rows of the chainhooks and faucets of an index; the secrets among them are sealed there. */
export function* handOverCommands(db: Database): Generator<Command> {
  const origins = hookOrigin(db);
  yield {
    type: HAND_OVER,
    args: { hooks: origins.ownHooks(), secrets: origins.ownSecrets() } satisfies HandOverArgs,
  };
  for (const table of handedOver) yield* rowsOf(db, table);
}

/** What applies these commands. @param replaced called where rows were added */
export const handedOverCommands = (db: Database, replaced: () => void) => ({
  /** The tables were emptied before the first command of a log, so that nothing is left to be done. */
  [HAND_OVER]: (_: HandOverArgs): void => {},

  'hooks.rows'({ table, columns, rows }: Rows): void {
    const known = columnsOf(db, table);
    if (!handedOver.includes(table) || columns.some((name) => !known.includes(name))) {
      throw new Error(`this program has no table ${table} with these columns`);
    }
    const values = columns.map((_, index) => `?${index + 1}`);
    const insert = db.prepare<null, RowValue[]>(
      `INSERT OR REPLACE INTO ${table} (${columns.join(', ')}) VALUES (${values.join(', ')})`,
    );
    for (const row of rows) insert.run(...row.map(fromJson));
    replaced();
  },
});
