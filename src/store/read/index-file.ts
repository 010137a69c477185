/** The file of the index, with the journal beside it, as readers have it open. A rebuild puts another in its place. */
import { SQLiteError, type Statement } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { Turns } from '../../base/turns.ts';
import { type Connection, prepared, versionOf } from '../files/connection.ts';
import { indexPath, journalPath, openReader, SCHEMA_VERSION } from '../files/database.ts';
import { type JournalReader, openJournalReader } from '../files/journal.ts';
import { requireSecondaryIndexes } from '../files/secondary-indexes.ts';
import { IndexUnavailableError } from '../model/read-errors.ts';
import {
  sharedTransactions,
  type TransactionCache,
  transactionCache,
} from '../queries/transactions/transaction-cache.ts';
import { type Reader, readerOf, type WorkLimits } from './index-reader.ts';

/** A connection with a snapshot of its own. */
export interface IndexConnection {
  readonly reader: Reader;
  readonly db: Connection;
  readonly cache: TransactionCache;
  readonly begin: Statement;
  readonly end: Statement;
}

export type IndexFile = ReturnType<typeof openIndexFile>;

/** What a path leads to. No other file can be the same as long as this one is open. */
function identityOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? 'none' : `${found.dev}:${found.ino}`;
}

const filesOf = (directory: string): string => [indexPath(directory), journalPath(directory)].map(identityOf).join(' ');

/** Ends a snapshot. @returns false where that fails; closing the connection ends it then */
function isEnded({ db, end }: IndexConnection): boolean {
  try {
    db.endReads();
    // SQLite may have ended it by itself, after an I/O error.
    if (db.inTransaction) end.run();
    return true;
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    return false;
  }
}

/** The journal of an index that was opened; closes the index where it can't be read. @throws OperatorError */
function journalBeside(index: Connection, directory: string): JournalReader {
  try {
    return openJournalReader(directory);
  } catch (error) {
    index.close();
    throw error;
  }
}

/**
 * Opens the files that are in the directory now.
 * @param number distinguishes this file from others that were opened in its place
 * @param turns shares the thread among long queries and all that it does else
 * @param limits of what one request may look at; others than usual are for tests
 * @throws OperatorError where there is no index or no journal, one of another version, or one that is being loaded
 * @throws IndexUnavailableError where it is replaced at this moment
 */
export function openIndexFile(
  directory: string,
  number: number,
  turns: Turns = new Turns(systemClock),
  limits: WorkLimits = {},
) {
  const files = filesOf(directory);
  const first = openReader(directory);
  // Entries are there before the index speaks of them, and never change: they need no snapshot.
  const journal = journalBeside(first, directory);
  const idle: IndexConnection[] = [];
  const transactions = sharedTransactions();
  let inUse = 0;
  let retired = false;

  function connect(db = openReader(directory)): IndexConnection {
    // One file may have been opened with the write-ahead log of another.
    if (filesOf(directory) !== files) {
      db.close();
      throw new IndexUnavailableError('The index is being replaced.');
    }
    prepared(db, () => requireSecondaryIndexes(db, indexPath(directory)));
    const cache = transactionCache(db, transactions);
    const reader = readerOf(db, journal, number, limits, cache, turns);
    return { db, reader, cache, begin: db.prepare('BEGIN'), end: db.prepare('COMMIT') };
  }

  function closeWhatIsDone(): void {
    if (!retired) return;
    for (const { db } of idle.splice(0)) db.close();
    if (inUse === 0) journal.close();
  }

  try {
    idle.push(connect(first));
  } catch (error) {
    journal.close();
    throw error;
  }
  return {
    /** Whether the directory still has these files, of the version that this program reads. */
    isPresent(): boolean {
      if (filesOf(directory) !== files) return false;
      const connection = idle[0];
      return connection === undefined || versionOf(connection.db) === SCHEMA_VERSION;
    },
    hasIdle: (): boolean => idle.length > 0,

    /** Begins a snapshot. Overlapping ones have a connection each, since a connection has one at a time. */
    begin(): IndexConnection {
      const connection = idle.pop() ?? connect();
      try {
        connection.begin.run();
        connection.cache.followChain();
      } catch (error) {
        connection.db.close();
        throw error;
      }
      inUse += 1;
      return connection;
    },

    /** Ends a snapshot, and keeps its connection for the next one. */
    end(connection: IndexConnection): void {
      inUse -= 1;
      connection.cache.leaveChain();
      if (isEnded(connection)) idle.push(connection);
      else connection.db.close();
      closeWhatIsDone();
    },

    /** Ends a snapshot that is in use: whatever is read of it from now on throws. */
    cutOff(connection: IndexConnection): void {
      inUse -= 1;
      connection.db.close();
      closeWhatIsDone();
    },

    /** Closes the file, once the snapshots in use have ended. */
    retire(): void {
      retired = true;
      closeWhatIsDone();
    },
  };
}
