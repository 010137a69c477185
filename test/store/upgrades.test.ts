/** Data directories of other versions. */

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Connect, openToWrite } from '../../src/store/files/connection.ts';
import { indexPath, journalPath, openReader, openWriter, SCHEMA_VERSION } from '../../src/store/files/database.ts';
import { JOURNAL_VERSION, openJournalReader } from '../../src/store/files/journal.ts';
import { fileFates } from '../../src/store/files/status.ts';
import { ingestOf, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';

const events = simulatedEvents({ seed: 3, blocks: 10, accounts: 10, transactionsPerBlock: 2, forkEvery: 4 });

/** The names and bytes of the files of a directory. */
const filesOf = (directory: string): [string, string][] =>
  readdirSync(directory)
    .sort()
    .map((name) => [name, Bun.hash(readFileSync(join(directory, name))).toString()]);

test('an index or a journal of an unreleased version is rejected with a way to keep its events, and stays unchanged', () => {
  using directory = ingestOf(events);
  for (const [path, version] of [
    [indexPath(directory.path), SCHEMA_VERSION],
    [journalPath(directory.path), JOURNAL_VERSION],
  ] as const) {
    setVersion(path, 1);
    const before = readFileSync(path);
    const read = path === indexPath(directory.path) ? openReader : openJournalReader;
    const message = `${path} was made by an unreleased Stackside.`;
    const remedy = expect.stringContaining('stackside export with the executable that made it');
    for (const open of [openAt, read]) {
      expect(() => open(directory.path)).toThrow(expect.objectContaining({ message, remedy }));
    }
    expect(readFileSync(path).equals(before)).toBe(true);
    setVersion(path, version);
  }
  openAt(directory.path).ingest.close();
});

describe('an upgrade', () => {
  const ADDED = 'ALTER TABLE progress ADD COLUMN added INTEGER NOT NULL DEFAULT 7';
  const versionIn = (directory: string): number => {
    using db = new Database(indexPath(directory), { readonly: true });
    return db.query<{ user_version: number }, []>('PRAGMA user_version').get()!.user_version;
  };

  test('runs the steps after the version of the file, which the older program then rejects', () => {
    using directory = ingestOf(events);
    const { progress } = everything(directory.path).index;
    openWriter(directory.path, { steps: [ADDED] }).close();
    expect(versionIn(directory.path)).toBe(SCHEMA_VERSION + 1);
    // The first step is not repeated.
    using db = openWriter(directory.path, { steps: [ADDED, 'UPDATE progress SET added = added + 1'] });
    expect(db.query('SELECT added FROM progress').get()).toEqual({ added: 8 });
    expect(db.query('SELECT count(*) AS rows FROM progress').get()).toEqual({ rows: progress!.length });
    db.close();
    expect(versionIn(directory.path)).toBe(SCHEMA_VERSION + 2);
    expect(() => openAt(directory.path)).toThrow('A newer version of Stackside wrote');
  });

  test('that fails leaves the file unchanged', () => {
    using directory = ingestOf(events);
    const before = everything(directory.path);
    const steps = [ADDED, 'UPDATE no_such_table SET x = 1'];
    expect(() => openWriter(directory.path, { steps })).toThrow('no_such_table');
    expect(versionIn(directory.path)).toBe(SCHEMA_VERSION);
    expect(everything(directory.path)).toEqual(before);
    openAt(directory.path).ingest.close();
  });

  test('sorts in the data directory, and only until it ends', () => {
    using directory = ingestOf(events);
    const sortedIn = (db: Database) =>
      db.query<{ temp_store_directory: string }, []>('PRAGMA temp_store_directory').get()?.temp_store_directory ?? '';
    const seen: [sql: string, directory: string][] = [];
    const connect: Connect = (path, synchronous) => {
      const db = openToWrite(path, synchronous);
      const run = db.run.bind(db);
      db.run = (sql: string, ...values: []) => {
        if (sql.startsWith('CREATE INDEX')) seen.push([sql, sortedIn(db)]);
        return run(sql, ...values);
      };
      return db;
    };
    const sql = 'CREATE INDEX blocks_added ON blocks (block_time)';
    using db = openWriter(directory.path, { connect, steps: [sql] });
    expect(seen).toEqual([[sql, directory.path]]);
    expect(sortedIn(db)).toBe('');
  });
});

/** Sets the version in a file. */
function setVersion(path: string, version: number): void {
  using db = new Database(path);
  db.run(`PRAGMA user_version = ${version}`);
}

describe('fileFates', () => {
  const directory = ingestOf(events);
  const { path } = directory;
  const [index, journal] = [indexPath(path), journalPath(path)];
  afterAll(() => directory[Symbol.dispose]());

  test.each([
    [SCHEMA_VERSION, JOURNAL_VERSION, { index: 'used', journal: 'used' }],
    [SCHEMA_VERSION + 1, JOURNAL_VERSION, { index: 'newer', journal: 'used' }],
    [SCHEMA_VERSION, JOURNAL_VERSION + 1, { index: 'used', journal: 'newer' }],
    [1, JOURNAL_VERSION, { index: 'unreleased', journal: 'used' }],
    [SCHEMA_VERSION, 1, { index: 'used', journal: 'unreleased' }],
  ])('reports schema %d and journal %d, and changes nothing', (indexVersion, journalVersion, expected) => {
    setVersion(index, indexVersion);
    setVersion(journal, journalVersion);
    const before = filesOf(path);
    expect(fileFates(path)).toEqual(expected as never);
    expect(filesOf(path)).toEqual(before);
  });
});
