/** Data directories of other versions and kinds, with unknown commands, or that can't be read. */

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { copyFileSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../src/base/errors.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { type Connect, openToWrite } from '../../src/store/files/connection.ts';
import {
  indexPath,
  journalPath,
  openReader,
  openWriter,
  requireIndex,
  SCHEMA_VERSION,
} from '../../src/store/files/database.ts';
import { JOURNAL_VERSION, openJournal, openJournalReader } from '../../src/store/files/journal.ts';
import { fileFates } from '../../src/store/files/status.ts';
import { COMMAND_PATH } from '../../src/store/ingest/commands.ts';
import { beginRebuild } from '../../src/store/ingest/rebuild.ts';
import { compressed, type Entry, type Head, headAfter } from '../../src/store/log/entry.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { everything, journalRows, wholeIndex } from '../support/data/tables.ts';

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
    const isIndex = path === indexPath(directory.path);
    setVersion(path, 1);
    const before = readFileSync(path);
    const read = isIndex ? openReader : openJournalReader;
    const message = `${path} was made by an unreleased Stackside.`;
    const way = isIndex ? 'stackside rebuild' : 'stackside export with the executable that made it';
    const remedy = expect.stringContaining(way);
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
    openWriter(directory.path, { addedSteps: [ADDED] }).close();
    expect(versionIn(directory.path)).toBe(SCHEMA_VERSION + 1);
    // The first step is not repeated.
    using db = openWriter(directory.path, { addedSteps: [ADDED, 'UPDATE progress SET added = added + 1'] });
    expect(db.query('SELECT added FROM progress').get()).toEqual({ added: 8 });
    expect(db.query('SELECT count(*) AS rows FROM progress').get()).toEqual({ rows: progress!.length });
    db.close();
    expect(versionIn(directory.path)).toBe(SCHEMA_VERSION + 2);
    expect(() => openAt(directory.path)).toThrow('A newer version of Stackside wrote');
  });

  test('that fails leaves the file unchanged', () => {
    using directory = ingestOf(events);
    const before = everything(directory.path);
    const addedSteps = [ADDED, 'UPDATE no_such_table SET x = 1'];
    expect(() => openWriter(directory.path, { addedSteps })).toThrow('no_such_table');
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
    using db = openWriter(directory.path, { connect, addedSteps: [sql] });
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

const openAndClose = (directory: string): void => openAt(directory).ingest.close();

/** Creates a database of another program, with a given version. */
function foreign(path: string, version: number): void {
  rmSync(path);
  using db = new Database(path);
  db.run(`CREATE TABLE events (id INTEGER); PRAGMA user_version = ${version}`);
}

const mistakes: [name: string, path: (directory: string) => string, make: (directory: string) => void][] = [
  ['an index as the journal', journalPath, (directory) => copyFileSync(indexPath(directory), journalPath(directory))],
  ['a journal as the index', indexPath, (directory) => copyFileSync(journalPath(directory), indexPath(directory))],
  ['a foreign journal', journalPath, (directory) => foreign(journalPath(directory), 0)],
  ['a foreign journal with a version', journalPath, (directory) => foreign(journalPath(directory), 2)],
  ['a foreign index', indexPath, (directory) => foreign(indexPath(directory), 0)],
  ['a foreign index with a version', indexPath, (directory) => foreign(indexPath(directory), 1)],
];

test.each(mistakes)('%s is refused by its name, and not written to', (_, path, make) => {
  using directory = dataDirectory();
  openAndClose(directory.path);
  make(directory.path);
  const file = path(directory.path);
  const before = new Database(file, { readonly: true }).query('SELECT * FROM sqlite_schema').all();
  const readers = file === journalPath(directory.path) ? openJournalReader : openReader;
  for (const use of [openAndClose, readers]) {
    expect(() => use(directory.path)).toThrow(OperatorError);
    expect(() => use(directory.path)).toThrow(`${file} is a database, but not `);
  }
  expect(new Database(file, { readonly: true }).query('SELECT * FROM sqlite_schema').all()).toEqual(before);
});

test.each<[string, (directory: string) => unknown, string]>([
  ['index', requireIndex, 'No index found'],
  ['journal', openJournalReader, 'No journal found'],
  [
    'rebuild',
    (directory) => beginRebuild({ directory, force: false, log: () => {}, chainId: null, machine: silentMachine }),
    "doesn't contain a journal",
  ],
])('%s: reports why a directory cannot be read, or that it has no file', (_, open, missing) => {
  using around = dataDirectory();
  expect(() => open(join(around.path, 'missing'))).toThrow(missing);
  // The link stands for a directory of another user: the tests may run as root, who can read all directories.
  const unreadable = join(around.path, 'unreadable');
  symlinkSync(unreadable, unreadable);
  expect(() => open(unreadable)).toThrow('is a symbolic link to itself');
});

/** Returns the entry of a command that no version supports. */
function unknownAfter(head: Head): Entry {
  const text = JSON.stringify({ uuid: crypto.randomUUID(), type: 'moon.land', args: {} });
  const event = { receivedAt: events.at(-1)!.receivedAt, path: COMMAND_PATH, text };
  return { ...event, ...headAfter(head, event) };
}

const NAMED = "The log contains the command moon.land, which this version doesn't support.";

test('a host that follows a log stops before an unknown command', async () => {
  using directory = ingestOf(events);
  using opened = openAt(directory.path);
  const before = opened.ingest.position();
  const following = opened.ingest.entries.follow([unknownAfter(before)], 'each', true, async () => {});
  await expect(following).rejects.toThrow(NAMED);
  expect(opened.ingest.position()).toEqual(before);
});

test('a start and a rebuild reject a journal with an unknown command, and change nothing', () => {
  using directory = ingestOf(events);
  const index = wholeIndex(directory.path);
  const journal = openJournal(directory.path);
  const id = journal.lastId();
  const { text, ...entry } = unknownAfter({ id, chain: journal.chainAt(id)! });
  journal.begin();
  journal.append(entry, compressed(text));
  journal.commit();
  journal.close();
  const rows = journalRows(directory.path);
  for (const run of [() => openAt(directory.path), () => rebuildIndex({ directory: directory.path })]) {
    expect(run).toThrow(NAMED);
    expect(run).toThrow(expect.objectContaining({ remedy: expect.stringContaining('--until-entry') }));
  }
  expect([wholeIndex(directory.path), journalRows(directory.path)]).toEqual([index, rows]);
});
