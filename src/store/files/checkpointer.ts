/**
 * Keeps the write-ahead logs small. Another thread copies long logs into their files, so the writer doesn't wait for the disk.
 * The writer copies only the last pages: the next transaction then begins at the start of the log again. If a reader holds an
 * old snapshot, the log grows; above a limit it is emptied as soon as readers allow.
 */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { type Every, systemClock } from '../../base/clock.ts';
import { unavailable } from '../../base/system-errors.ts';
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
  /** Copies a log into its file, in another thread. @returns whether that succeeded */
  copy: (path: string) => Promise<boolean>;
  /** Pages of a log above which it is copied; {@link COPIED_PAGES} if omitted. */
  copiedPages?: number;
  /** Called before a log is emptied: ends this process's open transactions on the files. */
  beforeTruncate?: () => void;
  /** The clock, in milliseconds since any moment. */
  now?: () => number;
  every?: Every;
}

/** Pages of a log above which it is copied. Many writes change the same pages, which are then copied only once. */
const COPIED_PAGES = 4_000;
/** Maximum number of pages that the writer's thread copies. */
const LAST_PAGES = 500;
/** Maximum copies by the other thread in a row. Each leaves fewer pages, since the writer writes less during a shorter copy. */
const MAX_ROUNDS = 4;
const PAGE_BYTES = 4_096;

/** Milliseconds between looks at the logs. */
export const LOOK_MS = 1_000;
/** Milliseconds that a log may be too large before this is logged. */
const TOLERATED_MS = 60_000;
/** Milliseconds to wait for the present readers to end, which blocks the thread. */
const PATIENCE_MS = 50;

/** A row of `PRAGMA wal_checkpoint`: pages in the log, and how many of them are copied to the database. */
interface Checkpoint {
  busy: number;
  log: number;
  checkpointed: number;
}

/**
 * Checkpoints as much of a log as readers allow, without waiting for anybody.
 * @returns whether that succeeded; after repeated failures, the log is too large, and the checkpointer logs the reason
 */
export function copyLog(path: string): boolean {
  return readCheckpoint(path, 'PASSIVE') !== null;
}

/** @returns null if the disk fails, or another process has locked the file */
function readCheckpoint(path: string, mode: 'PASSIVE' | 'NOOP'): Checkpoint | null {
  try {
    using db = openToCheckpoint(path);
    return db.query<Checkpoint, []>(`PRAGMA wal_checkpoint(${mode})`).get();
  } catch (error) {
    if (unavailable(error) === null) throw error;
    return null;
  }
}

/** @returns why the log could not be emptied; null if it was */
function emptyLog(path: string): string | null {
  using db = openToCheckpoint(path);
  const checkpoint = db.prepare<Checkpoint, []>('PRAGMA wal_checkpoint(TRUNCATE)');
  const state = checkpoint.get();
  if (state?.busy === 0) return null;
  // If all of the log is in the database, new readers don't use the log: only the present readers have to end.
  if (state !== null && state.checkpointed === state.log) {
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

/** Copies a log while it is short enough that nobody needs to wait. @param signal aborted when the checkpointer stops */
function logCopier(
  path: string,
  { copy, copiedPages = COPIED_PAGES, beforeTruncate = () => {} }: CheckpointerOptions,
  signal: AbortSignal,
) {
  /** Time of the log's last write when it was last copied, in Unix milliseconds. */
  let lastWrite = 0;
  let isCopying = false;

  async function copyAll(): Promise<void> {
    for (let round = 0; round <= MAX_ROUNDS; round++) {
      const state = readCheckpoint(path, 'NOOP');
      if (state === null || state.log < copiedPages || state.log === state.checkpointed) return;
      if (round > 0 && state.log - state.checkpointed <= LAST_PAGES) {
        copyLog(path);
        return;
      }
      if (round === MAX_ROUNDS || !(await copy(path)) || signal.aborted) return;
      beforeTruncate();
    }
  }

  return async (bytes: number, writtenAt: number): Promise<void> => {
    if (isCopying || bytes < copiedPages * PAGE_BYTES || writtenAt === lastWrite) return;
    isCopying = true;
    lastWrite = writtenAt;
    try {
      await copyAll();
    } finally {
      isCopying = false;
    }
  };
}

function logCheckpointer(path: string, options: CheckpointerOptions, signal: AbortSignal) {
  const { log, limitBytes = WAL_LIMIT_BYTES, now = systemClock.monotonic, beforeTruncate = () => {} } = options;
  const copy = logCopier(path, options, signal);
  /** The log that is too large: since when, and whether this was logged. Null if it isn't too large. */
  let excess: { since: number; isLogged: boolean } | null = null;

  /** Copies a short log, and empties a long log. @returns why a long log could not be emptied; null otherwise */
  function shorten(bytes: number, writtenAt: number): string | null {
    if (bytes > limitBytes) {
      beforeTruncate();
      return truncateWal(path);
    }
    void copy(bytes, writtenAt);
    return null;
  }

  return (): void => {
    const { size: bytes = 0, mtimeMs = 0 } = statSync(`${path}-wal`, { throwIfNoEntry: false }) ?? {};
    const reason = shorten(bytes, mtimeMs);
    if (reason === null) {
      excess = null;
      return;
    }
    excess ??= { since: now(), isLogged: false };
    if (excess.isLogged || now() - excess.since < TOLERATED_MS) return;
    excess.isLogged = true;
    log({ event: 'wal_not_truncated', file: `${basename(path)}-wal`, bytes, reason });
  };
}

/**
 * Starts to check the logs of index and journal, in the process that writes them.
 * @returns a function that stops it; a running copy finishes, and no new one starts
 */
export function startCheckpointer(options: CheckpointerOptions): () => void {
  const { directory, every = systemClock.every } = options;
  const stopping = new AbortController();
  const paths = [indexPath(directory), journalPath(directory)];
  const checkpointers = paths.map((path) => logCheckpointer(path, options, stopping.signal));
  const endLooks = every(LOOK_MS, () => {
    for (const check of checkpointers) check();
  });
  return () => {
    endLooks();
    stopping.abort();
  };
}
