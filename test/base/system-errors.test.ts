/** Errors of files, disks and databases in the operator's words. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, OperatorError } from '../../src/base/errors.ts';
import { operatorErrorOf, StoreUnavailableError, unavailable } from '../../src/base/system-errors.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { openReader, openWriter } from '../../src/store/files/database.ts';
import { openJournal } from '../../src/store/files/journal.ts';
import { lockWriter } from '../../src/store/files/lock.ts';
import { directoryStatus } from '../../src/store/files/status.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

const directory = dataDirectory();
const pathOf = (...names: string[]): string => join(directory.path, ...names);
const TEXT = "Some text, which isn't a database however long it is. ".repeat(100);

openWriter(pathOf('whole')).close();
openJournal(pathOf('whole')).close();
writeFileSync(pathOf('file'), TEXT);
afterAll(() => directory[Symbol.dispose]());

/** Returns the error that a command would print for a failing call. */
function errorOf(run: () => unknown, data = 'DATA'): OperatorError {
  try {
    run();
  } catch (error) {
    const translated = operatorErrorOf(error, data);
    if (translated !== null) return translated;
    throw error;
  }
  throw new Error('nothing failed');
}

/** Returns a copy of a complete data directory with one file replaced. */
function withFile(name: string, change: (path: string) => void): string {
  const copy = pathOf(`with-${name}-${change.name}`);
  cpSync(pathOf('whole'), copy, { recursive: true });
  change(join(copy, name));
  return copy;
}
const text = (path: string): void => writeFileSync(path, TEXT);
function corrupt(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(0xff, 100, 200);
  writeFileSync(path, bytes);
}

test('a file in place of the data directory or its parent is reported', () => {
  for (const path of [pathOf('file'), pathOf('file', 'below')]) {
    for (const run of [() => lockWriter(path), () => openWriter(path), () => openJournal(path)]) {
      expect(errorOf(run).message).toMatch(
        /\/file(\/below)? can't be used: a part of the path is a file, not a directory\.$/,
      );
    }
  }
});

test('a file that is not a database is named', () => {
  const index = withFile('index.db', text);
  for (const run of [
    () => openWriter(index),
    () => openReader(index),
    () => directoryStatus(index),
    () => checkDirectory(index),
  ]) {
    expect(errorOf(run).message).toBe(`${join(index, 'index.db')} is not a database.`);
  }
  const journal = withFile('journal.db', text);
  for (const run of [() => openJournal(journal), () => checkDirectory(journal), () => directoryStatus(journal)]) {
    expect(errorOf(run).message).toBe(`${join(journal, 'journal.db')} is not a database.`);
  }
  const lock = withFile('writer.lock', text);
  expect(errorOf(() => lockWriter(lock)).message).toBe(`${join(lock, 'writer.lock')} is not a database.`);
  const remedies = [() => openJournal(journal), () => openReader(index), () => lockWriter(lock)].map(
    (run) => errorOf(run).remedy,
  );
  expect(remedies).toEqual([
    'Check --data. Restore a backup into a new directory: stackside restore ARCHIVE --data NEW.',
    'Check --data. Rebuild the index from its journal: stackside rebuild.',
    'Check --data. If the file does not belong to Stackside, move it away.',
  ]);
});

test('a damaged database is named with the remedy', () => {
  const { message, remedy, exitCode } = errorOf(() => openReader(withFile('index.db', corrupt)));
  expect(message).toEndWith('index.db is damaged.');
  expect(remedy).toContain('stackside rebuild');
  expect(exitCode).toBe(EXIT.operator);
});

test('a directory in place of a database is named', () => {
  mkdirSync(pathOf('folder', 'index.db'), { recursive: true });
  expect(errorOf(() => openWriter(pathOf('folder'))).message).toBe(`${pathOf('folder', 'index.db')} is a directory.`);
});

test('a full database is reported through the error that it causes', () => {
  using db = new Database(pathOf('small.db'));
  db.run('CREATE TABLE t (x)');
  db.run('PRAGMA max_page_count = 3');
  const error = errorOf(() => {
    try {
      for (;;) db.run('INSERT INTO t VALUES (zeroblob(10000))');
    } catch (cause) {
      throw new StoreUnavailableError('full', cause);
    }
  });
  expect(error.message).toBe('The disk of DATA is full.');
  expect(error.exitCode).toBe(EXIT.temporary);
});

test("SQLite reports a full disk if the write-ahead log's index can't grow", () => {
  const cause = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_SHMSIZE' });
  expect(operatorErrorOf(cause, 'DATA')?.message).toBe('The disk of DATA is full.');
  expect(unavailable(cause)?.failure).toBe('full');
});

test('a locked database exits with the code to start again', () => {
  copyFileSync(pathOf('whole', 'index.db'), pathOf('busy.db'));
  using holder = new Database(pathOf('busy.db'));
  using other = new Database(pathOf('busy.db'));
  holder.run('BEGIN EXCLUSIVE');
  const error = errorOf(() => other.run('BEGIN EXCLUSIVE'));
  expect([error.message, error.exitCode]).toEqual(['DATA is in use by another process.', EXIT.temporary]);
});

test('other errors stay unchanged', () => {
  expect(operatorErrorOf(new TypeError('a bug'), 'DATA')).toBeNull();
  expect(operatorErrorOf(Object.assign(new Error('unknown'), { code: 'ESOMETHING' }), 'DATA')).toBeNull();
  expect(operatorErrorOf('text', 'DATA')).toBeNull();
  const original = new OperatorError('problem', 'remedy');
  expect(operatorErrorOf(original, 'DATA')).toBe(original);
});

test('errors of files and disks name the path and have a remedy', () => {
  for (const code of 'ENOENT EACCES EROFS ENOSPC EDQUOT EFBIG EIO EMFILE SQLITE_IOERR_WRITE'.split(' ')) {
    const error = operatorErrorOf(Object.assign(new Error(code), { code, path: '/some/path' }), 'DATA');
    expect(error?.message).toContain('/some/path');
    expect(error?.remedy).toMatch(/^[A-Z].+\.$/);
  }
});

test.each([
  ['not_openable', 'EACCES EMFILE ENFILE EPERM SQLITE_CANTOPEN_ISDIR'],
  ['full', 'EDQUOT ENOSPC SQLITE_FULL'],
  ['io_error', 'EIO SQLITE_IOERR_WRITE'],
  ['out_of_memory', 'ENOMEM SQLITE_NOMEM'],
  ['read_only', 'EROFS SQLITE_READONLY_DIRECTORY'],
  ['busy', 'SQLITE_BUSY SQLITE_INTERRUPT SQLITE_LOCKED_SHAREDCACHE SQLITE_PROTOCOL'],
  ['damaged', 'SQLITE_CORRUPT_INDEX SQLITE_NOTADB'],
  [undefined, 'SQLITE_CONSTRAINT ENOENT undefined'],
] as const)('classifies as %s a store error with one of the codes %s', (failure, codes) => {
  for (const code of codes.split(' ')) {
    const error = Object.assign(new Error('what the call says'), code === 'undefined' ? {} : { code });
    expect([code, unavailable(error)?.failure]).toEqual([code, failure as never]);
  }
});
