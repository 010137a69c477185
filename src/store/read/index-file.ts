/** Opens the index's file and the journal for readers. A rebuild replaces the file. */
import { SQLiteError, type Statement } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { Turns } from '../../base/turns.ts';
import { type Connection, setUp, versionOf } from '../files/connection.ts';
import { indexPath, journalPath, openReader, SCHEMA_VERSION } from '../files/database.ts';
import { openJournalReader } from '../files/journal.ts';
import { requireSecondaryIndexes } from '../files/secondary-indexes.ts';
import { IndexUnavailableError } from '../model/read-errors.ts';
import { type FileCache, fileCache } from '../queries/file-cache.ts';
import { sharedProjection } from '../queries/mempool-projection.ts';
import { sharedTexts } from '../queries/row-texts.ts';
import { type Reader, readerOf, type WorkLimits } from './index-reader.ts';

export interface IndexConnection {
  readonly reader: Reader;
  readonly db: Connection;
  readonly cache: FileCache;
  readonly begin: Statement;
  readonly end: Statement;
}

/** The connection of this process's writer. It alone shows a pending group: entries that are acknowledged and not committed. */
export interface WriterConnection {
  readonly db: Connection;
  /** Makes the connection show the pending group. @returns false if there is none, or if that isn't possible now */
  showPending(): boolean;
  /** A number that changes before the content does. */
  changes(): number;
}

export type IndexFile = ReturnType<typeof openIndexFile>;

/** Identifies the file at a path. No other file has the same identity while this one is open. */
function identityOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? 'none' : `${stats.dev}:${stats.ino}`;
}

const filesIn = (directory: string): string => [indexPath(directory), journalPath(directory)].map(identityOf).join(' ');

/** Ends a snapshot. @returns false if that fails; the connection must be closed then */
function tryEnd({ db, end }: IndexConnection): boolean {
  try {
    db.endReads();
    // After an I/O error, SQLite may have ended the transaction by itself.
    if (db.inTransaction) end.run();
    return true;
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    return false;
  }
}

/**
 * Opens the present files of a directory.
 * @param number distinguishes this file from others that are opened at the path
 * @param turns shares the thread among long queries and other work
 * @param limits limits for one request; tests set other values
 * @param writer the connection that writes to the file; null if another process does
 * @throws OperatorError if there is no index or no journal, one of another version, or one that is being loaded
 * @throws IndexUnavailableError while it is being replaced
 */
export function openIndexFile(
  directory: string,
  number: number,
  turns: Turns = new Turns(systemClock),
  limits: WorkLimits = {},
  writer: WriterConnection | null = null,
) {
  const files = filesIn(directory);
  using opening = new DisposableStack();
  const first = opening.use(openReader(directory));
  // Entries are in the journal before the index refers to them, and never change, so the journal doesn't need a snapshot.
  const journal = opening.use(openJournalReader(directory));
  const idle: IndexConnection[] = [];
  const projection = sharedProjection();
  const texts = sharedTexts();
  let inUse = 0;
  let retired = false;

  const readerFor = (db: Connection, cache: FileCache): Reader =>
    readerOf(db, journal, number, { limits, cache, turns, projection, texts });

  function connect(db = openReader(directory)): IndexConnection {
    // The connection may have opened one file with the write-ahead log of another.
    if (filesIn(directory) !== files) {
      db.close();
      throw new IndexUnavailableError('The index is being replaced.');
    }
    setUp(db, () => requireSecondaryIndexes(db, indexPath(directory)));
    const cache = fileCache(db);
    return { db, cache, reader: readerFor(db, cache), begin: db.prepare('BEGIN'), end: db.prepare('COMMIT') };
  }

  function openWritersReader({ db, changes }: WriterConnection) {
    const cache = fileCache(db, changes);
    return { db, cache, reader: readerFor(db, cache) };
  }

  const writers = writer && openWritersReader(writer);
  let isReading = false;

  function closeIfUnused(): void {
    if (!retired) return;
    for (const { db } of idle.splice(0)) db.close();
    if (inUse === 0) journal.close();
  }

  idle.push(connect(first));
  // From here on, `retire` closes them.
  opening.move();
  return {
    /** Whether the directory still has these files, of the version that this program reads. */
    isPresent(): boolean {
      if (filesIn(directory) !== files) return false;
      const connection = idle[0];
      return connection === undefined || versionOf(connection.db) === SCHEMA_VERSION;
    },
    hasIdle: (): boolean => idle.length > 0,

    /**
     * Whether {@link readPending} can read. A request can't read within another request, whose iterations it would end.
     */
    canReadPending: (): boolean => !isReading && writer?.showPending() === true,

    /** Runs a request that reads in one turn through the writer's connection, so the pending group needn't be committed for it. */
    readPending<T>(request: (reader: Reader) => T): T {
      if (writers === null) throw new Error('another process writes');
      isReading = true;
      try {
        writers.cache.refresh();
        return request(writers.reader);
      } finally {
        isReading = false;
        writers.db.endReads();
      }
    },

    /** Starts a snapshot. Each snapshot uses a separate connection until it ends. */
    begin(): IndexConnection {
      const connection = idle.pop() ?? connect();
      try {
        connection.begin.run();
        connection.cache.refresh();
      } catch (error) {
        connection.db.close();
        throw error;
      }
      inUse += 1;
      return connection;
    },

    /** Ends a snapshot, and reuses its connection for later ones. */
    end(connection: IndexConnection): void {
      inUse -= 1;
      if (tryEnd(connection)) idle.push(connection);
      else connection.db.close();
      closeIfUnused();
    },

    /** Ends a snapshot in use: further reads from it throw. */
    cutOff(connection: IndexConnection): void {
      inUse -= 1;
      connection.db.close();
      closeIfUnused();
    },

    /** Closes the file, once the snapshots in use have ended. */
    retire(): void {
      retired = true;
      closeIfUnused();
    },
  };
}
