/**
 * Copies the chainhooks of one index to another that has the same chain and a log of its own. Rows keep their numbers, which
 * refer to each other. Finished deliveries are not copied.
 */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { HistoryStart } from '../queries/blocks/chain.ts';
import type { TableShape } from '../rows/table.ts';
import {
  hookAttemptsTable,
  hookBackfillsTable,
  hookBodiesTable,
  hookDeliveriesTable,
  hookLedgerTable,
  hookSecretsTable,
  hooksTable,
} from '../rows/tables.ts';
import { isFinished } from './delivery-log.ts';
import type { HookProgress } from './model.ts';

const ofUnfinished = `delivery_id IN (SELECT id FROM hook_deliveries WHERE NOT (${isFinished}))`;

/** The copied tables, with the condition for the copied rows of some. */
const copied: readonly { table: TableShape; rows?: string }[] = [
  { table: hooksTable },
  { table: hookSecretsTable },
  { table: hookBackfillsTable },
  { table: hookLedgerTable },
  { table: hookDeliveriesTable, rows: `NOT (${isFinished})` },
  { table: hookBodiesTable, rows: ofUnfinished },
  { table: hookAttemptsTable, rows: ofUnfinished },
];

/** The progress of the live hooks without their cursor, which is at the tip of both indexes. */
export interface CopiedProgress extends Pick<HookProgress, 'evaluated' | 'evaluatedAt'> {
  epoch: number;
}

/** A value as JSON has it: bytes in hex. */
type Value = number | string | null;

/** Rows of a table, with the values of its columns in order. */
export interface CopiedRows {
  table: string;
  rows: Value[][];
}

/** Characters of values after which a batch ends. */
const BATCH = 1_000_000;

const tableNamed = (name: string): TableShape => {
  const found = copied.find(({ table }) => table.name === name);
  if (found === undefined) throw new Error(`${name} is no table of chainhooks`);
  return found.table;
};

const jsonValue = (value: unknown): Value => (value instanceof Uint8Array ? value.toHex() : (value as Value));

/**
 * Reads the rows to copy, in batches.
 * @param start where the index begins that the rows are of: a cursor there has no block, and gets the one below the first
 */
export function* rowsToCopy(db: Database, start: HistoryStart | null): Generator<CopiedRows> {
  for (const { table, rows: condition = 'TRUE' } of copied) {
    const names = Object.keys(table.columns);
    let [rows, size]: [Value[][], number] = [[], 0];
    const selected = db.query<Record<string, unknown>, []>(
      `SELECT ${names.join(', ')} FROM ${table.name} WHERE ${condition}`,
    );
    for (const row of selected.iterate()) {
      if (table === hooksTable && start !== null) {
        const { cursor_height, cursor_hash } = row as { cursor_height: number; cursor_hash: Uint8Array };
        const isAtStart = cursor_height === start.height - 1 && cursor_hash.every((byte) => byte === 0);
        if (isAtStart) row.cursor_hash = start.indexBlockHash;
      }
      const values = names.map((name) => jsonValue(row[name]));
      rows.push(values);
      size += values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0);
      if (size < BATCH) continue;
      yield { table: table.name, rows };
      [rows, size] = [[], 0];
    }
    if (rows.length > 0) yield { table: table.name, rows };
  }
}

/** Writes copied rows. */
export function hookCopies(db: Database) {
  return {
    /** Removes the rows of an earlier copy. @param progress that of the copied hooks, whose budgets count from it */
    begin({ evaluated, evaluatedAt, epoch }: CopiedProgress): void {
      for (const { table } of copied) db.run(`DELETE FROM ${table.name}`);
      db.run('UPDATE hook_progress SET evaluated = ?1, evaluated_at = ?2, epoch = ?3', [evaluated, evaluatedAt, epoch]);
    },
    add({ table: name, rows }: CopiedRows): void {
      const table = tableNamed(name);
      const columns = Object.entries(table.columns);
      const names = columns.map(([column]) => column).join(', ');
      const places = columns.map((_, i) => `?${i + 1}`).join(', ');
      const insert = db.query<null, SQLQueryBindings[]>(`INSERT INTO ${name} (${names}) VALUES (${places})`);
      for (const row of rows) {
        const values = columns.map(([, type], i) => {
          const value = row[i] ?? null;
          return type.startsWith('blob') && typeof value === 'string' ? Uint8Array.fromHex(value) : value;
        });
        insert.run(...values);
      }
    },
  };
}
