/** Data directories that are gone when the test is. */
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { indexPath } from '../../src/store/files/database.ts';

export interface DataDirectory extends Disposable {
  readonly path: string;
}

/** For `using`: removed at the end of the block that made it. */
export function dataDirectory(): DataDirectory {
  const path = mkdtempSync(join(tmpdir(), 'stackside-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Puts the index of one directory in the place of another's, as a rebuild does. Nobody writes to either. */
export function moveIndex(from: string, to: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(indexPath(to) + suffix, { force: true });
  renameSync(indexPath(from), indexPath(to));
}
