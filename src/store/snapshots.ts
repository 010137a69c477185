/** Read-only snapshots of the index for requests. */
import type { Database, Statement } from 'bun:sqlite';
import { openReader } from './database.ts';
import { readerOf } from './index-reader.ts';
import { openJournalReader } from './journal.ts';
import { type Reader, type Snapshots, StoreClosedError } from './reader.ts';

interface Connection {
  db: Database;
  reader: Reader;
  begin: Statement;
  end: Statement;
}

/**
 * Opens snapshots of a data directory. Requests that overlap have a connection each, since a connection has one
 * snapshot at a time; connections are kept for the requests to come.
 */
export function openSnapshots(directory: string): Snapshots {
  const idle: Connection[] = [];
  // Entries are there before the index speaks of them, and never change: they need no snapshot.
  const journal = openJournalReader(directory);
  let closed = false;
  const connect = (): Connection => {
    const db = openReader(directory);
    return { db, reader: readerOf(db, journal), begin: db.prepare('BEGIN'), end: db.prepare('COMMIT') };
  };
  idle.push(connect());
  return {
    async read(request) {
      if (closed) throw new StoreClosedError('The store is closed');
      const connection = idle.pop() ?? connect();
      connection.begin.run();
      try {
        return await request(connection.reader);
      } finally {
        connection.end.run();
        if (closed) connection.db.close();
        else idle.push(connection);
      }
    },
    close() {
      closed = true;
      for (const { db } of idle.splice(0)) db.close();
      journal?.close();
    },
  };
}
