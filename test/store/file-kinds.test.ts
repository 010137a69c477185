/** A database of another kind is refused when it is opened, and stays unchanged. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync, rmSync } from 'node:fs';
import { OperatorError } from '../../src/base/errors.ts';
import { indexPath, journalPath, openReader } from '../../src/store/files/database.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { openAt } from '../support/data/ingest.ts';

function openAndClose(directory: string): void {
  using _ = openAt(directory);
}

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
