/** Removes the oldest entries of a journal. A row of `breaks` has the chain value before the first remaining entry. */
import type { Database } from 'bun:sqlite';
import { type Connect, openToWrite, prepared, rollBack, setPatience } from './connection.ts';
import { journalPath } from './database.ts';
import { requirePresentVersion } from './journal.ts';

/** Maximum size of a batch. */
export interface TrimmingBatch {
  entries: number;
  /** Bytes of payloads, as they are stored. */
  bytes: number;
}

export type JournalTrimming = ReturnType<typeof openJournalTrimming>;

function requireOne<T>(found: T | null, what: string): T {
  if (found === null) throw new Error(`the journal has no ${what}`);
  return found;
}

function trimmingThrough(db: Database) {
  const oldest = db.prepare<{ id: number; bytes: number }, [number]>(
    'SELECT id, length(payload) AS bytes FROM events ORDER BY id LIMIT ?1',
  );
  const received = db.prepare<{ received_at: number }, [number]>('SELECT received_at FROM events WHERE id = ?1');
  const chainAt = db.prepare<{ value: Uint8Array }, [number]>('SELECT value FROM chain WHERE id = ?1');
  const removals = [
    'DELETE FROM events WHERE id <= ?1',
    'DELETE FROM chain WHERE id <= ?1',
    'DELETE FROM breaks WHERE after_id <= ?1',
  ].map((sql) => db.prepare<null, [number]>(sql));
  const mark = db.prepare<null, [number, Uint8Array]>('INSERT INTO breaks VALUES (?1, ?2)');
  return {
    /**
     * Finds the next batch of the oldest entries.
     * @param batch its size; bytes of payloads bound it because SQLite reads each page that it frees
     * @returns first and last id of the batch; null where the journal has no further entries
     */
    oldest({ entries, bytes }: TrimmingBatch): { first: number; last: number } | null {
      const rows = oldest.all(entries + 1);
      const [first] = rows;
      let sum = 0;
      const last = rows.find((row, index) => {
        sum += row.bytes;
        return sum >= bytes || index + 1 === entries;
      });
      return first === undefined || last === undefined || last.id === rows.at(-1)?.id
        ? null
        : { first: first.id, last: last.id };
    },
    /** Time of receipt of an entry, in Unix microseconds; null where there is no such entry. */
    receivedAt: (id: number): number | null => received.get(id)?.received_at ?? null,
    /** The chain value of an entry; null where there is no such entry. */
    chainAt: (id: number): Uint8Array | null => chainAt.get(id)?.value ?? null,

    /**
     * Removes an entry and all before it, in one transaction. The following entry is verified by the row of `breaks` then.
     * @throws SQLiteError with code `SQLITE_BUSY` at once while another connection writes
     */
    trimTo(id: number): void {
      try {
        // The transaction of an earlier batch, if its rollback failed.
        rollBack(db);
        db.run('BEGIN IMMEDIATE');
        const { value } = requireOne(chainAt.get(id), `chain value of entry ${id}`);
        for (const removal of removals) removal.run(id);
        mark.run(id, value);
        db.run('COMMIT');
      } finally {
        rollBack(db);
      }
    },
    close: (): void => db.close(),
  };
}

/**
 * Opens the journal of a directory to trim it, while another process appends to it.
 * @param connect opens the file
 */
export function openJournalTrimming(directory: string, connect: Connect = openToWrite) {
  const path = journalPath(directory);
  return trimmingThrough(
    prepared(connect(path, 'FULL'), (db) => {
      setPatience(db, 0);
      requirePresentVersion(db, path);
    }),
  );
}
