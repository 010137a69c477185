/** Copies all rows of an index into an empty one, without decoding, and prints the time of the inserts. */
import type { SQLQueryBindings } from 'bun:sqlite';
import { openReader, openWriter } from '../../src/store/files/database.ts';

const BATCH_ROWS = 5_000;

const [from, to] = process.argv.slice(2);
const source = openReader(from!);
const target = openWriter(to!);
const names = source
  .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
  .all()
  .map(({ name }) => name);

let ms = 0;
/** Returns the processor time in microseconds. */
let cpu = 0;
const counts: Record<string, number> = {};

function write(table: string, rows: SQLQueryBindings[][]): void {
  const start = performance.now();
  const cpuBefore = process.cpuUsage();
  const places = rows[0]!.map(() => '?').join(', ');
  // The two tables with one row already have it.
  const insert = target.query(`INSERT OR REPLACE INTO ${table} VALUES (${places})`);
  target.run('BEGIN IMMEDIATE');
  for (const row of rows) insert.run(...row);
  target.run('COMMIT');
  ms += performance.now() - start;
  const { user, system } = process.cpuUsage(cpuBefore);
  cpu += user + system;
}

for (const table of names) {
  counts[table] = 0;
  let batch: SQLQueryBindings[][] = [];
  for (const row of source.query<Record<string, SQLQueryBindings>, []>(`SELECT * FROM ${table}`).iterate()) {
    batch.push(Object.values(row));
    counts[table] += 1;
    if (batch.length < BATCH_ROWS) continue;
    write(table, batch);
    batch = [];
  }
  if (batch.length > 0) write(table, batch);
}
process.stdout.write(JSON.stringify({ seconds: ms / 1000, cpuSeconds: cpu / 1e6, counts }));
