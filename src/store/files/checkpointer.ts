/**
 * Keeps the write-ahead logs small. SQLite empties a log by itself while readers come and go; after a reader that held a
 * snapshot during many writes the log keeps its size, and readers that overlap without end can keep it from being emptied.
 */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { type Every, systemClock } from '../../base/clock.ts';
import { unavailable } from '../../base/store-failure.ts';
import { openToCheckpoint, WAL_LIMIT_BYTES } from './connection.ts';
import { indexPath, journalPath } from './database.ts';

export interface WalEvent {
  event: 'wal_not_truncated';
  file: string;
  bytes: number;
  reason: string;
}

interface CheckpointerOptions {
  directory: string;
  /** Called once for a log that stays too large for a minute. */
  log: (event: WalEvent) => void;
  /** Bytes above which a log is emptied; {@link WAL_LIMIT_BYTES} if omitted. */
  limitBytes?: number;
  /** Called before a log is emptied: ends this process's open transactions on the files. */
  before?: () => void;
  /** The clock, in milliseconds since any moment. */
  now?: () => number;
  every?: Every;
}

/** Milliseconds between looks at the logs. */
export const LOOK_MS = 1_000;
const TOLERATED_MS = 60_000;
/** Milliseconds to wait for the present readers to end, which blocks the thread. */
const PATIENCE_MS = 50;

/** A row of `PRAGMA wal_checkpoint`: pages in the log, and how many of them are copied to the database. */
interface Checkpoint {
  busy: number;
  log: number;
  checkpointed: number;
}

/** @returns why the log could not be emptied; null if it was */
function emptyLog(path: string): string | null {
  using db = openToCheckpoint(path);
  const checkpoint = db.prepare<Checkpoint, []>('PRAGMA wal_checkpoint(TRUNCATE)');
  const tried = checkpoint.get();
  if (tried?.busy === 0) return null;
  // If all of the log is in the database, new readers don't use it: only the present ones have to end.
  if (tried !== null && tried.checkpointed === tried.log) {
    db.run(`PRAGMA busy_timeout = ${PATIENCE_MS}`);
    if (checkpoint.get()?.busy === 0) return null;
  }
  return 'a reader holds an old snapshot, as stackside backup, check, sql and export do';
}

/**
 * Checkpoints a log into its database, and empties it.
 * @returns why that failed, also for a failure of the disk; null if it succeeded
 */
export function truncateWal(path: string): string | null {
  try {
    return emptyLog(path);
  } catch (error) {
    const failure = unavailable(error);
    if (failure === null) throw error;
    return failure.message;
  }
}

function logCheckpointer(path: string, options: CheckpointerOptions) {
  const { log, limitBytes = WAL_LIMIT_BYTES, now = systemClock.monotonic, before = () => {} } = options;
  /** When the log was first too large; null if it isn't. */
  let since: number | null = null;
  let said = false;
  return (): void => {
    const bytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    const isTooLarge = bytes > limitBytes;
    if (isTooLarge) before();
    const reason = isTooLarge ? truncateWal(path) : null;
    if (reason === null) {
      since = null;
      said = false;
      return;
    }
    since ??= now();
    if (said || now() - since < TOLERATED_MS) return;
    said = true;
    log({ event: 'wal_not_truncated', file: `${basename(path)}-wal`, bytes, reason });
  };
}

/**
 * Starts to check the logs of index and journal, in the process that writes them.
 * @returns a function that stops it
 */
export function startCheckpointer(options: CheckpointerOptions): () => void {
  const { directory, every = systemClock.every } = options;
  const checkpointers = [indexPath(directory), journalPath(directory)].map((path) => logCheckpointer(path, options));
  return every(LOOK_MS, () => {
    for (const check of checkpointers) check();
  });
}
