/**
 * Files of SQLite that give up their place. A write-ahead log belongs to the file whose name it has: what it holds is put
 * into that file first, and it is gone before another file comes into the place.
 */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { PassingError } from '../../base/errors.ts';
import { syncDirectory } from '../../base/files.ts';
import { openToWrite } from './connection.ts';

/** What a checkpoint says: frames in the log, and those of them that the file holds. Both are -1 where none was made. */
interface Checkpoint {
  log: number;
  checkpointed: number;
}

/** Puts what the write-ahead log holds into the file. @returns whether the file holds all of it: a reader can prevent that */
export function settle(path: string): boolean {
  const db = openToWrite(path, 'FULL');
  try {
    const made = db.query<Checkpoint, []>('PRAGMA wal_checkpoint(TRUNCATE)').get();
    return made !== null && made.log >= 0 && made.log === made.checkpointed;
  } finally {
    db.close();
  }
}

/** Settles a log like {@link settle}. @throws PassingError where a reader keeps some of it in the log */
export function settleWhole(path: string): void {
  if (settle(path)) return;
  throw new PassingError(`${path} is being read.`, 'Try again when what reads it has ended, such as stackside backup.');
}

/** Removes the log, which must be settled. Readers go on with theirs. */
export function removeLog(path: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  // One that came back with a loss of power would be read into the file that is in the place by then.
  syncDirectory(dirname(path));
}
