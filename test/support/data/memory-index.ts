/** An index in memory, for tests that only read it: nothing is left on the disk, and nothing needs closing. */
import { Database } from 'bun:sqlite';
import { indexPath } from '../../../src/store/files/database.ts';
import type { EntryReader } from '../../../src/store/files/payload-source.ts';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';
import { readerOf, type WorkLimits } from '../../../src/store/read/index-reader.ts';
import type { Snapshots } from '../../../src/store/read/snapshots.ts';
import { ingestOf } from './ingest.ts';
import { snapshotsBy } from './snapshots-by.ts';

/** The bytes of the index that the events make, in the form that SQLite reads from memory. */
function indexBytes(events: Iterable<ReceivedEvent>, chainId: number | null): Uint8Array {
  using directory = ingestOf(events, { chainId });
  using db = new Database(indexPath(directory.path));
  // SQLite refuses to read a file with a write-ahead log from memory.
  db.run('PRAGMA journal_mode = DELETE');
  return db.serialize();
}

/** The journal of an index that is read without one. */
export const noEntries: EntryReader = { read: () => undefined };

/**
 * Snapshots of the index that the events make. Requests are answered from its canonical tables: the journal is gone.
 * @param chainId that the operator set; null if none is set
 */
export function memoryIndex(
  events: Iterable<ReceivedEvent>,
  limits: WorkLimits = {},
  chainId: number | null = null,
): Snapshots {
  const db = Database.deserialize(indexBytes(events, chainId), { readonly: true, safeIntegers: false });
  const reader = readerOf(db, noEntries, 1, { limits });
  return snapshotsBy(() => reader);
}
