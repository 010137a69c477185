/** Data directories that are gone when the test is. */
import { copyFileSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { indexPath } from '../../../src/store/files/database.ts';
import { freeBytes } from '../../../src/store/files/status.ts';

export interface DataDirectory extends Disposable {
  readonly path: string;
}

/** The file system in memory that Linux has: a commit there waits for no disk. */
const MEMORY = '/dev/shm';
/** Free space that it needs, in bytes, so that tests that run at the same time have room. */
const ROOM = 1024 ** 3;

/** In memory if there is room, unless TMPDIR names another directory. */
const parent = process.env.TMPDIR === undefined && (freeBytes(MEMORY) ?? 0) >= ROOM ? MEMORY : tmpdir();

/** For `using`: removed at the end of the block that made it. */
export function dataDirectory(): DataDirectory {
  const path = mkdtempSync(join(parent, 'stackside-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Returns a copy of a directory that nobody has open. */
export function copyOf({ path }: Pick<DataDirectory, 'path'>): DataDirectory {
  const copy = dataDirectory();
  for (const name of readdirSync(path)) copyFileSync(join(path, name), join(copy.path, name));
  return copy;
}

/** Puts the index of one directory in the place of another's, as a rebuild does. Nobody writes to either. */
export function moveIndex(from: string, to: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(indexPath(to) + suffix, { force: true });
  renameSync(indexPath(from), indexPath(to));
}
