/** Queries of an analyst: which are accepted, the errors of others, and that they disturb nobody. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { OperatorError } from '../../src/base/errors.ts';
import type { Connection } from '../../src/store/files/connection.ts';
import { openForQueries, requireOnlyViews, resultOf } from '../../src/store/sql/result.ts';
import { exampleQueries } from '../../src/store/views/views.ts';
import { type OpenIngest, openNew, simulatedEvents } from '../support/data/ingest.ts';

const events = simulatedEvents({ seed: 1, blocks: 8, accounts: 4, transactionsPerBlock: 2 });
const half = events.length >> 1;

let open: OpenIngest;
let db: Connection;
beforeAll(() => {
  open = openNew({ views: true });
  for (const event of events.slice(0, half)) open.ingest.apply(event);
  open.ingest.commit();
  db = openForQueries(open.directory);
});
afterAll(() => {
  db.close();
  open[Symbol.dispose]();
});

const rowsOf = (sql: string) => [...resultOf(db, sql).rows()];

test('rows have their columns in order, with any names, and exact integers', () => {
  const query = `SELECT 1 AS b, 2 AS "1", x'00' AS b, 9007199254740993 AS "__proto__", NULL, 1.5 ORDER BY 1; \n`;
  expect(resultOf(db, query).columns.map(({ name }) => name)).toEqual(['b', '1', 'b', '__proto__', 'NULL', '1.5']);
  expect(rowsOf(query)).toEqual([[1n, 2n, new Uint8Array(1), 9007199254740993n, null, 1.5]]);
  expect(rowsOf('VALUES (1), (2) -- two')).toEqual([[1n], [2n]]);
  expect(rowsOf('WITH one AS (SELECT 1) SELECT * FROM one')).toEqual([[1n]]);
  expect(rowsOf("SELECT ';'; -- it's /* one */; \n/* query\n*/ ")).toEqual([[';']]);
  expect(rowsOf("SELECT ';--'")).toEqual([[';--']]);
  // A comment of many hyphens must not make the search for the end slow.
  const hyphens = '-'.repeat(80);
  expect(rowsOf(`-- all;\n-- ${hyphens}\nSELECT 1; -- ${hyphens}\n-- done`)).toEqual([[1n]]);
  const names = resultOf(db, 'EXPLAIN QUERY PLAN SELECT * FROM v1_blocks').columns.map(({ name }) => name);
  expect(names).toEqual(['id', 'parent', 'notused', 'detail']);
});

test('a query has as many values as parameters', () => {
  expect([...resultOf(db, 'SELECT ?2, :name, ?1', ['a', null, true]).rows()]).toEqual([[null, 1n, 'a']]);
  expect(() => rowsOf('SELECT ?1')).toThrow('The query has 1 parameter, but the number of values is 0.');
  expect(() => resultOf(db, 'SELECT 1', ['a'])).toThrow('has 0 parameters, but the number of values is 1.');
});

test('columns of one name keep the order of the rows', () => {
  const query = 'SELECT height AS a, height AS a FROM blocks ORDER BY height DESC LIMIT 3';
  const heights = rowsOf(query).map(([height]) => Number(height));
  expect(heights).toEqual(heights.toSorted((a, b) => b - a));
});

test.each([
  ...['DELETE FROM blocks', 'PRAGMA user_version', 'PRAGMA locking_mode = EXCLUSIVE', 'BEGIN EXCLUSIVE', 'REINDEX'],
  ...["ATTACH '/tmp/other.db' AS other", "VACUUM INTO '/tmp/copy.db'", 'EXPLAIN DELETE FROM blocks'],
  ...['SELECT 1; SELECT 2', 'SELECT 1; DELETE FROM blocks'],
  // SQLite refuses these for other reasons.
  ...['DROP TABLE v1_blocks', 'update v1_blocks SET tx_count = 1', 'INSERT INTO v1_blocks VALUES (1)'],
  ...['ALTER TABLE v1_blocks RENAME TO b', 'CREATE TABLE v1_blocks (a)', 'REPLACE INTO v1_blocks VALUES (1)'],
  ...['-- ä\n/* * */ DROP TABLE v1_blocks', 'DROP TABLE other'],
  ...['EXPLAIN UPDATE v1_blocks SET tx_count = 1', 'EXPLAIN QUERY PLAN DROP TABLE v1_blocks', 'DELETE FROM'],
])('%s is refused', (sql) => {
  expect(() => rowsOf(sql)).toThrow('Only one query at a time is accepted');
});

test.each([
  ['SELEC 1', 'near "SELEC": syntax error (line 1, column 1).'],
  ["SELECT 'ä', unknown FROM v1_blocks", 'no such column: unknown (line 1, column 13).'],
  ['SELECT * FROM nowhere', 'no such table: nowhere.'],
  ['SELECT * FROM v1_blocks, V1_Transaction', 'no such table: V1_Transaction. Did you mean v1_transactions?'],
  ['SELECT 1) FROM (SELECT 2', 'near ")": syntax error (line 1, column 9).'],
  ["SELECT replace('a'), 'drop' FROM v1_blocks", 'wrong number of arguments to function replace() (line 1, column 8).'],
  ['SELECT height AS create FROM v1_blocks', 'near "create": syntax error (line 1, column 18).'],
  ['WITH one AS (SELECT 1) DELETE FROM v1_blocks', 'cannot modify v1_blocks because it is a view.'],
  ['SELECT "drop" FROM nowhere', 'no such table: nowhere.'],
  ["SELECT load_extension('x')", 'not authorized.'],
  ['SELECT abs(-9223372036854775807 - 1)', 'integer overflow.'],
])('%s fails with the reason of SQLite', (sql, reason) => {
  expect(() => rowsOf(sql)).toThrow(OperatorError);
  expect(() => rowsOf(sql)).toThrow(`SQLite can't run the query: ${reason}`);
});

test.each(['', ' ;', '-- a comment'])('the query %j is rejected as empty', (sql) => {
  expect(() => rowsOf(sql)).toThrow('The query is empty.');
});

test('the writer continues during a query, which keeps its snapshot', () => {
  const rows = resultOf(db, 'SELECT block_height, (SELECT max(height) FROM blocks) FROM v1_blocks').rows();
  const iterator = rows[Symbol.iterator]();
  const seen = [iterator.next().value?.[1]];
  for (const event of events.slice(half)) open.ingest.apply(event);
  open.ingest.commit();
  for (let next = iterator.next(); next.done !== true; next = iterator.next()) seen.push(next.value[1]);
  expect(new Set(seen).size).toBe(1);
  expect(seen.length).toBe(Number(seen[0]));
  expect(Number(rowsOf('SELECT max(block_height) FROM v1_blocks')[0]?.[0])).toBeGreaterThan(seen.length);
});

test.each([
  'SELECT * FROM blocks',
  'SELECT 1 FROM v1_blocks WHERE block_height IN (SELECT height FROM main.blocks)',
  'SELECT 1 FROM "hook_secrets"',
  "SELECT 1 FROM 'hook_secrets'",
  'WITH v1_blocks AS (SELECT * FROM blocks) SELECT * FROM v1_blocks',
  'EXPLAIN QUERY PLAN SELECT * FROM blocks',
  'SELECT * FROM sqlite_schema',
  'SELECT 1 FROM v1_blocks WHERE EXISTS (SELECT 1 FROM sqlite_master)',
  'SELECT * FROM sqlite_temp_schema',
  'SELECT * FROM pragma_database_list',
  "SELECT * FROM main.pragma_table_info('hook_secrets')",
  'SELECT * FROM dbstat',
  "SELECT * FROM json_each('[1]')",
])('if only views can be read, %s is rejected', (sql) => {
  // As a query, it is right.
  resultOf(db, sql);
  expect(() => requireOnlyViews(sql)).toThrow('Only the views can be queried; their names start with v1_.');
});

test.each([
  'SELECT * FROM v1_blocks b JOIN v1_transactions t ON t.block_height = b.block_height ORDER BY random()',
  'WITH blocks AS (SELECT 1 AS n) SELECT n AS hook_secrets FROM blocks',
  "SELECT 'hook_secrets', max(block_height) FROM main.v1_blocks",
  'EXPLAIN SELECT count(*) FROM v1_events GROUP BY type',
  'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 3) SELECT n FROM c',
  'VALUES (1) -- ;',
])('if only views can be read, %s is accepted', (sql) => {
  resultOf(db, sql);
  requireOnlyViews(sql);
});

test.each(exampleQueries.map(({ title, query }) => [title, query]))(
  'the example %s has rows and reads only views',
  (_, query) => {
    expect(rowsOf(query).length).toBeGreaterThan(0);
    requireOnlyViews(query);
  },
);
