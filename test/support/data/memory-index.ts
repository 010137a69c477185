/** An index in memory, for tests that only read it: nothing is left on the disk, and nothing needs closing. */
import { Database } from 'bun:sqlite';
import { systemClock } from '../../../src/base/clock.ts';
import { Turns } from '../../../src/base/turns.ts';
import { Connection } from '../../../src/store/files/connection.ts';
import { indexPath } from '../../../src/store/files/database.ts';
import type { EntryReader } from '../../../src/store/files/payload-source.ts';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';
import { chainQueries } from '../../../src/store/queries/blocks/chain.ts';
import type { FileCache } from '../../../src/store/queries/file-cache.ts';
import { sharedProjection } from '../../../src/store/queries/mempool-projection.ts';
import { rowTexts, sharedTexts } from '../../../src/store/queries/row-texts.ts';
import { detailQueries } from '../../../src/store/queries/transactions/details.ts';
import { type Reader, readerOf, type WorkLimits } from '../../../src/store/read/index-reader.ts';
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

/** A cache that caches nothing, for connections without marked snapshots. */
const noFileCache: FileCache = { lazy: (look) => look, memoize: (look) => look, refresh: () => {} };

/** The queries of blocks by height or hash. */
export const chainOf = (db: Database) => chainQueries(db, noFileCache);

/** The queries of transactions with all that lists leave out. */
export const detailsOf = (db: Database) => detailQueries(db, noFileCache, rowTexts(chainOf(db), sharedTexts()));

/** All queries, through a connection without marked snapshots. */
export const readerIn = (db: Database, limits: WorkLimits = {}, journal = noEntries): Reader =>
  readerOf(db, journal, 1, {
    limits,
    cache: noFileCache,
    turns: new Turns(systemClock),
    projection: sharedProjection(),
    texts: sharedTexts(),
  });

/**
 * Snapshots of the index that the events make. Requests are answered from its canonical tables: the journal is gone.
 * @param chainId that the operator set; null if none is set
 */
export function memoryIndex(
  events: Iterable<ReceivedEvent>,
  limits: WorkLimits = {},
  chainId: number | null = null,
): Snapshots {
  // Unlike its base class, a Connection compiles only the statements that a test uses.
  const db = new Connection(indexBytes(events, chainId) as never, { readonly: true, safeIntegers: false });
  const reader = readerIn(db, limits);
  return snapshotsBy(() => reader);
}
