/** Read-only snapshots of the index for requests, whichever file is at its path. */

import { SQLiteError } from 'bun:sqlite';
import { type Clock, type Every, systemClock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import type { ServiceEvent } from '../../base/log-events.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import type { Turns } from '../../base/turns.ts';
import { indexPath } from '../files/database.ts';
import { IndexUnavailableError, NoSnapshotError } from '../model/read-errors.ts';
import { type IndexConnection, type IndexFile, openIndexFile, type WriterConnection } from './index-file.ts';
import type { Reader, WorkLimits } from './index-reader.ts';

/** A result that is complete when a request returns, since the snapshot ends then. */
export type ReadNow<T> = T extends PromiseLike<unknown> ? never : T;

/** Runs requests on snapshots of the index, which don't show later writes. */
export interface Snapshots {
  /** Runs a request that reads in one turn. @throws NoSnapshotError if there is no snapshot */
  read<T>(request: (reader: Reader) => ReadNow<T>): T;
  /** Runs a request that may take several turns. @throws NoSnapshotError also if the snapshot was in use for too long */
  readLong<T>(request: (reader: Reader) => Promise<T>): Promise<T>;
  /** Refuses further requests. Snapshots in use stay open until their requests end. */
  close(): void;
}

/**
 * Lets the requests of one turn of the event loop share a snapshot. Most of them arrived before the first was handled. The
 * runtime also reads requests that arrive during a turn, so a snapshot is shared for {@link SHARED_MS} at most. A request may
 * miss commits that other processes make in this time.
 */
interface Sharing {
  turn: Clock['turn'];
  /**
   * Changes with each commit of this process, by any thread, so that later reads see it. Null during a commit.
   */
  commits: () => number | null;
}

export type SnapshotEvent = ServiceEvent | { event: 'index_reopened' } | { event: 'read_timed_out'; seconds: number };

interface SnapshotOptions {
  log?: (event: SnapshotEvent) => void;
  /** The clock, in milliseconds since any moment. */
  now?: () => number;
  every?: Every;
  /** Called before each snapshot starts: commits everything that this process has acknowledged. */
  beforeSnapshot?: () => void;
  /** The connection of this process's writer, for requests that read in one turn; none if omitted. */
  writer?: WriterConnection;
  /** If omitted, each request has a separate snapshot. */
  sharing?: Sharing;
  /** Shares the thread among long queries and other work. */
  turns?: Turns;
  /** Limits for one request; tests set other values. */
  limits?: WorkLimits;
}

/** Milliseconds between two checks of the file and of the snapshots in use. A check takes microseconds. */
const CHECK_MS = 1_000;

/**
 * Maximum milliseconds that a snapshot may be in use. Until it ends, the write-ahead log can't be truncated, and grows by all
 * writes.
 */
export const SNAPSHOT_LIMIT_MS = 30_000;

/** Milliseconds while more requests may join a snapshot. */
const SHARED_MS = 1;

interface Snapshot {
  readonly file: IndexFile;
  readonly connection: IndexConnection;
  readonly since: number;
  /** Commits of this process before the snapshot began; null if the snapshot may or may not include the last one. */
  readonly commits: number | null;
  /** Number of its requests, plus one while other requests may join. */
  holders: number;
  cutOff: boolean;
}

/**
 * The snapshot that requests of this turn join.
 * @param now the clock, in milliseconds
 * @param end ends a snapshot for one of its holders
 */
function sharedSnapshot(sharing: Sharing | undefined, now: () => number, end: (snapshot: Snapshot) => void) {
  let shared: Snapshot | null = null;

  /** Lets no further request join. */
  function leave(): void {
    const snapshot = shared;
    shared = null;
    if (snapshot !== null) end(snapshot);
  }

  return {
    leave,
    /** Joins the shared snapshot; null if it is too old, or doesn't include all these commits of this process. */
    join(commits: number | null): Snapshot | null {
      if (commits === null || shared === null || shared.cutOff || shared.commits !== commits) return null;
      if (now() - shared.since >= SHARED_MS) return null;
      shared.holders += 1;
      return shared;
    },
    /** Lets other requests join a snapshot until this turn ends. */
    offer(snapshot: Snapshot): void {
      if (sharing === undefined || snapshot.commits === null) return;
      leave();
      snapshot.holders += 1;
      shared = snapshot;
      sharing.turn().then(() => {
        if (shared === snapshot) leave();
      });
    },
  };
}

/** Whether an error is caused by the file, so that a later check may succeed. */
const isOfFile = (error: unknown): error is Error =>
  error instanceof OperatorError ||
  error instanceof IndexUnavailableError ||
  error instanceof SQLiteError ||
  (error instanceof Error && 'syscall' in error);

/**
 * Opens snapshots of a data directory. While it has no readable index, reads throw {@link IndexUnavailableError}.
 */
export function openSnapshots(directory: string, options: SnapshotOptions = {}): Snapshots {
  const {
    log = () => {},
    now = systemClock.monotonic,
    every = systemClock.every,
    beforeSnapshot = () => {},
    writer = null,
    sharing,
    turns,
    limits,
  } = options;
  /** Snapshots in use, oldest first. */
  const inUse = new Set<Snapshot>();
  const shared = sharedSnapshot(sharing, now, end);
  let file: IndexFile | null = null;
  let filesOpened = 0;
  /** The reason why there is no file; null if there is one. */
  let unavailable: Error | null = null;
  let closed = false;

  function logUnavailable(cause: Error): void {
    const operator = operatorErrorOf(cause, indexPath(directory));
    const { message: reason } = operator ?? cause;
    if (reason !== unavailable?.message) {
      log({
        event: 'service_failing',
        service: 'index',
        reason,
        remedy: operator?.remedy ?? null,
        ...(operator === cause ? {} : { cause }),
      });
    }
    unavailable = operator ?? cause;
  }

  function open(): void {
    try {
      // The writer writes to the first file. A later one at the same path is another file.
      file = openIndexFile(directory, filesOpened + 1, turns, limits, filesOpened === 0 ? writer : null);
    } catch (error) {
      if (!isOfFile(error)) throw error;
      logUnavailable(error);
      return;
    }
    filesOpened += 1;
    if (filesOpened > 1 || unavailable !== null) log({ event: 'index_reopened' });
    unavailable = null;
  }

  function checkFile(): void {
    if (file !== null && isPresent(file)) return;
    shared.leave();
    file?.retire();
    file = null;
    open();
  }

  function isPresent(indexFile: IndexFile): boolean {
    try {
      return indexFile.isPresent();
    } catch (error) {
      if (!isOfFile(error)) throw error;
      return false;
    }
  }

  function checkSnapshots(): void {
    for (const snapshot of inUse) {
      const age = now() - snapshot.since;
      if (age < SNAPSHOT_LIMIT_MS) return;
      snapshot.cutOff = true;
      inUse.delete(snapshot);
      snapshot.file.cutOff(snapshot.connection);
      log({ event: 'read_timed_out', seconds: Math.round(age / 1000) });
    }
  }

  function begin(): Snapshot {
    if (closed) throw new NoSnapshotError('The store is closed');
    beforeSnapshot();
    const commits = sharing?.commits() ?? null;
    const joined = shared.join(commits);
    if (joined !== null) return joined;
    // A new connection must be to the same file.
    if (file?.hasIdle() === false) checkFile();
    if (file === null) throw new IndexUnavailableError(unavailable?.message ?? '', { cause: unavailable });
    const snapshot = { file, connection: file.begin(), since: now(), commits, holders: 1, cutOff: false };
    inUse.add(snapshot);
    shared.offer(snapshot);
    return snapshot;
  }

  function end(snapshot: Snapshot): void {
    snapshot.holders -= 1;
    if (snapshot.cutOff || snapshot.holders > 0) return;
    inUse.delete(snapshot);
    snapshot.file.end(snapshot.connection);
  }

  open();
  const stopChecks = every(CHECK_MS, () => {
    checkSnapshots();
    checkFile();
  });
  return {
    read<T>(request: (reader: Reader) => ReadNow<T>): T {
      if (!closed && file?.canReadPending() === true) {
        try {
          return file.readPending(request);
        } catch (error) {
          // Even a read may have to write changed pages of the pending group, and the disk may be full.
          if (!(error instanceof SQLiteError)) throw error;
        }
      }
      const snapshot = begin();
      try {
        return request(snapshot.connection.reader);
      } finally {
        end(snapshot);
      }
    },
    async readLong(request) {
      const snapshot = begin();
      try {
        return await request(snapshot.connection.reader);
      } catch (error) {
        if (snapshot.cutOff) throw new NoSnapshotError('The request took too long', { cause: error });
        throw error;
      } finally {
        end(snapshot);
      }
    },
    close() {
      closed = true;
      shared.leave();
      stopChecks();
      file?.retire();
    },
  };
}

/** A function like {@link openSnapshots}. */
export type OpenSnapshots = typeof openSnapshots;
