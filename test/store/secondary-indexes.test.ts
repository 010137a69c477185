/** The secondary indexes: a load runs without them and creates them at its end; the next start completes an interrupted load. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { growingTables } from '../../src/store/check/tables.ts';
import { type Connect, openToWrite } from '../../src/store/files/connection.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { schema, secondaryIndexes } from '../../src/store/files/secondary-indexes.ts';
import { directoryStatus } from '../../src/store/files/status.ts';
import type { Ingest } from '../../src/store/ingest/ingest.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { openAt, simulatedEvents } from '../support/data/ingest.ts';

const events = simulatedEvents({ seed: 7, blocks: 24, transactionsPerBlock: 8, forkEvery: 6 });

const bulk = (path: string) => openAt(path, { load: 'bulk', machine: silentMachine });

function take(ingest: Ingest, from = 0, to = events.length): void {
  for (const event of events.slice(from, to)) ingest.apply(event);
  ingest.commit();
}

/** Loads some events, and leaves the load unfinished. */
function loadPart(directory: string, from: number, to: number): void {
  using load = bulk(directory);
  take(load.ingest, from, to);
}

/** Returns the names of a file's secondary indexes, in the order of their creation. */
function presentIn(directory: string): string[] {
  using db = new Database(indexPath(directory), { readonly: true });
  const rows = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'index'").all();
  const names = new Set(rows.map(({ name }) => name));
  return secondaryIndexes.filter((name) => names.has(name));
}

/** Statements that a writer has, and that a load doesn't run while it accepts events. */
const OF_OTHERS = [
  // Lookups of the missing indexes and the file size, before and after a load.
  /^SELECT (name FROM sqlite_schema|page_count)/,
  // Values of calls that are older than their value index, which is built while a server runs.
  /^SELECT t\.position, t\.function_name, b\.function_args, b\.raw FROM transactions t/,
];

/** Opens files so that the text of each statement is kept. */
const noteStatements =
  (statements: Set<string>): Connect =>
  (path, synchronous) => {
    const db = openToWrite(path, synchronous);
    const [prepare, query] = [db.prepare.bind(db), db.query.bind(db)];
    const note = (sql: string): string => {
      if (path.endsWith('index.db') && !OF_OTHERS.some((pattern) => pattern.test(sql.trim()))) statements.add(sql);
      return sql;
    };
    return Object.assign(db, {
      prepare: ((sql: string) => prepare(note(sql))) as typeof db.prepare,
      query: ((sql: string) => query(note(sql))) as typeof db.query,
    });
  };

/** The plan of each statement, for a file as it is now. */
function plansOf(directory: string, statements: ReadonlySet<string>): [sql: string, plan: string[]][] {
  using db = new Database(indexPath(directory), { readonly: true });
  const plan = (sql: string) => db.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all();
  return [...statements].map((sql) => [sql, plan(sql).map(({ detail }) => detail)]);
}

/**
 * Returns the indexes of large tables that no statement of a load reads and that aren't secondary. Large tables grow with the
 * chain, or have a secondary index.
 */
function missingFromTheList(plans: readonly [sql: string, plan: string[]][]): string[] {
  const read = new Set(plans.flatMap(([, plan]) => plan.flatMap((step) => /\bINDEX (\w+)/.exec(step)?.[1] ?? [])));
  const secondary = new Set<string>(secondaryIndexes);
  const statements = schema.matchAll(/^CREATE INDEX (\w+) ON (\w+)/gm);
  const declared = [...statements].map(([, name = '', table = '']) => ({ name, table }));
  const large = new Set([
    ...Object.keys(growingTables),
    ...declared.filter(({ name }) => secondary.has(name)).map(({ table }) => table),
  ]);
  return declared
    .filter(({ name, table }) => large.has(table) && !read.has(name) && !secondary.has(name))
    .map(({ name }) => name);
}

test('a bulk load reads no secondary index, whether they exist or not, and reads every other index of a large table', () => {
  using directory = dataDirectory();
  const statements = new Set<string>();
  using load = openAt(directory.path, { load: 'bulk', machine: silentMachine, connect: noteStatements(statements) });
  take(load.ingest);
  expect(statements.size).toBeGreaterThan(200);
  expect(presentIn(directory.path)).toEqual([]);
  const plans = plansOf(directory.path, statements);
  for (const _ of load.ingest.makeSecondaryIndexes());
  expect(presentIn(directory.path)).toEqual([...secondaryIndexes]);
  expect(plansOf(directory.path, statements)).toEqual(plans);
  expect(missingFromTheList(plans)).toEqual([]);
});

test('an interrupted load continues where it was, and the next start finishes it', () => {
  using directory = dataDirectory();
  loadPart(directory.path, 0, 10);
  {
    using load = bulk(directory.path);
    take(load.ingest, 10);
    expect(presentIn(directory.path)).toEqual([]);
    for (const { number } of load.ingest.makeSecondaryIndexes()) if (number === 3) break;
  }
  expect(presentIn(directory.path)).toEqual(secondaryIndexes.slice(0, 2));
  expect(directoryStatus(directory.path).missing_indexes).toBe(secondaryIndexes.length - 2);
  expect(checkDirectory(directory.path).flatMap(({ problems }) => problems)).toEqual([
    `${secondaryIndexes.length - 2} indexes are missing: an import is still creating them, or was interrupted; then the next start creates them`,
  ]);
  {
    using server = openAt(directory.path);
    const started = server.logged.flatMap((entry) => (entry.event === 'secondary_index_begun' ? [entry.index] : []));
    expect(started).toEqual(secondaryIndexes.slice(2));
  }
  expect(checkDirectory(directory.path).flatMap(({ problems }) => problems)).toEqual([]);
});

test('an error that keeps a server from its start is reported before an interrupted load is finished', () => {
  using directory = dataDirectory();
  loadPart(directory.path, 0, 10);
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${journalPath(directory.path)}${suffix}`, { force: true });
  expect(() => openAt(directory.path)).toThrow(OperatorError);
  expect(presentIn(directory.path)).toEqual([]);
});

test('a backup of an index that is being loaded has all indexes', async () => {
  using directory = dataDirectory();
  using load = bulk(join(directory.path, 'data'));
  take(load.ingest, 0, 10);
  await backupOf(join(directory.path, 'data'), join(directory.path, 'backup'));
  await restored(join(directory.path, 'backup'), join(directory.path, 'restored'));
  expect(presentIn(join(directory.path, 'restored'))).toEqual([...secondaryIndexes]);
  expect(presentIn(join(directory.path, 'data'))).toEqual([]);
});

test('readers wait until the last secondary index is made', async () => {
  using directory = dataDirectory();
  using load = bulk(directory.path);
  take(load.ingest);
  const look: (() => void)[] = [];
  const snapshots = openSnapshots(directory.path, {
    every: (_, call) => {
      look.push(call);
      return () => {};
    },
  });
  const height = () => snapshots.readLong(async (read) => read.height());
  const message = `${indexPath(directory.path)} is being loaded and doesn't have all of its indexes yet.`;
  await expect(height()).rejects.toThrow(message);
  for (const _ of load.ingest.makeSecondaryIndexes()) {
    for (const call of look) call();
    await expect(height()).rejects.toThrow(message);
  }
  for (const call of look) call();
  expect(await height()).toBe(24);
  snapshots.close();
});

test('a load into an index with secondary indexes keeps them', () => {
  using directory = dataDirectory();
  {
    using server = openAt(directory.path);
    take(server.ingest, 0, 10);
  }
  using load = bulk(directory.path);
  take(load.ingest, 10);
  expect(presentIn(directory.path)).toEqual([...secondaryIndexes]);
  expect([...load.ingest.makeSecondaryIndexes()]).toEqual([]);
});
