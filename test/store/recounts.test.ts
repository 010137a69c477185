/** A check that is not deep compares every copy and every total with what it is made from: whichever is changed is found. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { dataDirectory } from '../support/data-directory.ts';
import { ingestOf, received } from '../support/ingest.ts';
import { firstSeed } from '../support/property.ts';

/** The dictionaries of addresses and identifiers, and tables with addresses that are in no dictionary. */
const originals = new Set(['principals', 'assets', 'burn_slot_holders', 'faucet_requests']);
const copied = new Set(['address', 'identifier']);
const totals = new Set(['totals', 'staking_totals']);
/** The place of a row among others, which are numbered from 1 without gaps. That of a microblock is only an order. */
const isNumber = ({ table, column }: Column): boolean => /(^|_)ordinal$/.test(column) && table !== 'microblocks';

interface Column {
  table: string;
  column: string;
}

/** The columns that hold copies or totals, as the schema has them. */
const derivedColumns = (db: Database): Column[] =>
  db
    .query<Column, []>(
      `SELECT t.name AS "table", c.name AS "column" FROM pragma_table_list t JOIN pragma_table_info(t.name) c
        WHERE t.schema = 'main' AND t.type = 'table' ORDER BY 1, 2`,
    )
    .all()
    .filter(
      ({ table, column }) =>
        (copied.has(column) && !originals.has(table)) ||
        (totals.has(table) && column !== 'id') ||
        isNumber({ table, column }),
    );

/** Makes the value of a column another, in a row of chance. @returns whether there is a row */
function change(db: Database, { table, column }: Column, prng: Prng): boolean {
  const rows = db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0;
  if (rows === 0) return false;
  const key = db
    .query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?1) WHERE pk > 0')
    .all(table)
    .map(({ name }) => name)
    .join(', ');
  const changed = isNumber({ table, column })
    ? `${column} + 1000000`
    : totals.has(table)
      ? `${column} + 1`
      : `${column} || 'X'`;
  db.query<null, [number]>(
    `UPDATE ${table} SET ${column} = ${changed} WHERE (${key}) IN (SELECT ${key} FROM ${table} LIMIT 1 OFFSET ?1)`,
  ).run(prng.below(rows));
  return true;
}

test('a copy or a total that is changed is found by a check that is not deep', () => {
  const options = { seed: 6, blocks: 120, accounts: 6, transactionsPerBlock: 2, forkEvery: 3 };
  using whole = ingestOf([...devnetEvents(options)].map(received));
  expect(checkDirectory(whole.path).flatMap(({ problems }) => problems)).toEqual([]);
  using db = new Database(indexPath(whole.path));
  const columns = derivedColumns(db);
  db.close();
  const prng = new Prng(`recounts/${firstSeed}`);
  const [missed, empty]: [Column[], Column[]] = [[], []];
  for (const one of columns) {
    using directory = dataDirectory();
    for (const pathOf of [indexPath, journalPath]) copyFileSync(pathOf(whole.path), pathOf(directory.path));
    {
      using copy = new Database(indexPath(directory.path));
      if (!change(copy, one, prng)) empty.push(one);
    }
    if (checkDirectory(directory.path).every(({ problems }) => problems.length === 0)) missed.push(one);
  }
  expect(empty).toEqual([]);
  expect(missed).toEqual([]);
  expect(columns.length).toBeGreaterThan(15);
});
