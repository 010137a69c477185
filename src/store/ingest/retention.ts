/**
 * Trims the journal of a server, where the operator wants that: removes entries that are old enough and in the archive, in
 * small batches between the events.
 */
import type { Database } from 'bun:sqlite';
import type { Every } from '../../base/clock.ts';
import type { Connect } from '../files/connection.ts';
import { openReader } from '../files/database.ts';
import { type JournalTrimming, openJournalTrimming, type TrimmingBatch } from '../files/journal-trim.ts';
import { unavailable } from '../files/store-failure.ts';
import { type Head, sameChain } from '../log/entry.ts';
import { storedBackfillState, storedStage } from '../rows/enums.ts';
import { RETAINED_BLOCKS } from './block-payloads.ts';

/** `archive`: location of the archive that holds the removed entries. */
export type RetentionEvent =
  | { event: 'journal_trimmed'; entries: number; up_to: number; archive: string }
  | { event: 'journal_not_trimmed'; reason: string };

/** The last entry that an archive holds with all before it, or why it is not known to hold any. */
type Held = Head | { reason: string };

/** The archive of the log. */
export interface EntryHolder {
  location: string;
  /**
   * What it holds, as far as that is known to be so now; where it isn't, the archive is read meanwhile, for a later call.
   * @param first the oldest entry of the journal @param last the one up to which entries are to be removed
   * @returns null where it doesn't hold the last entry yet
   */
  held(first: number, last: number): Held | 'reading' | null;
}

interface RetentionOptions {
  directory: string;
  /** Days for which entries are retained; with 0, they are until the archive holds them. */
  days: number;
  archive: EntryHolder;
  log: (event: RetentionEvent) => void;
  /** The clock, in Unix milliseconds. */
  now: () => number;
  every: Every;
  connect?: Connect;
  /** Size of a batch, and number of retained blocks; tests use others than the defaults. */
  batch?: TrimmingBatch;
  blocks?: number;
}

/** Milliseconds between two batches. */
const EVERY_MS = 1_000;
/** A batch is removed within milliseconds; a smaller one isn't worth its sync. */
const BATCH: TrimmingBatch = { entries: 200, bytes: 8_000_000 };
/** Number of batches after which the index is queried again for the oldest entry that it needs. */
const BATCHES_BETWEEN_LOOKS = 60;

const DAY_US = 86_400_000_000;
const MICROSECONDS = 1_000;

const CATCHING_UP = storedStage.numberOf('catching_up');
const RUNNING = storedBackfillState.numberOf('running');

/** Lowest block height that hooks which catch up, and running backfills, have still to read. */
const LOWEST_FOR_HOOKS = `
  SELECT min(height) AS height FROM (
    SELECT min(cursor_height) AS height FROM hooks WHERE stage = ${CATCHING_UP}
    UNION ALL SELECT min(next_height) FROM hook_backfills WHERE state <= ${RUNNING})`;

/** The oldest entry that holds a block of a height or above, canonical or not. */
const OLDEST_ENTRY = `
  SELECT min(p.journal_id) AS id FROM block_payloads p
    JOIN (SELECT index_block_hash FROM blocks WHERE height >= ?1
          UNION ALL SELECT index_block_hash FROM orphaned_blocks WHERE height >= ?1) b
      ON b.index_block_hash = p.index_block_hash`;

/**
 * The oldest entry that the index may still read: a fork reverts blocks by their payloads, and hooks that catch up are
 * evaluated with them.
 * @param blocks number of blocks below the tip that a fork may revert
 * @returns the number of the entry; null where the index needs none
 */
export function oldestNeeded(db: Database, blocks = RETAINED_BLOCKS): number | null {
  const tip = db.query<{ height: number | null }, []>('SELECT max(height) AS height FROM blocks').get()?.height ?? 0;
  const ofHooks = db.query<{ height: number | null }, []>(LOWEST_FOR_HOOKS).get()?.height ?? tip;
  const from = Math.min(tip - blocks, ofHooks);
  return db.query<{ id: number | null }, [number]>(OLDEST_ENTRY).get(from)?.id ?? null;
}

/** Which entries may be removed: up to one, none for a reason that is logged, or none yet. */
type Allowed = { upTo: number } | { reason: string } | 'reading' | null;

/** @param first the oldest entry of the journal @param last the one up to which entries are to be removed */
function allowedBy({ location, held }: EntryHolder, journal: JournalTrimming, first: number, last: number): Allowed {
  const holds = held(first, last);
  if (holds === null || holds === 'reading' || 'reason' in holds) return holds;
  const own = journal.chainAt(holds.id);
  if (holds.id < first || (own !== null && sameChain(own, holds.chain))) return { upTo: holds.id };
  return { reason: `the archive at ${location} is of another log: its entry ${holds.id} is another` };
}

/** Outcome of a batch: removed entries, none for a reason that is logged or for now, or null since all must be retained. */
type Trimmed = { entries: number; upTo: number } | { reason: string } | 'reading' | null;

/** Retention with the files open. */
function openRetention(options: RetentionOptions) {
  const { directory, days, archive, now, connect, batch = BATCH, blocks = RETAINED_BLOCKS } = options;
  const journal = openJournalTrimming(directory, connect);
  const index = openReader(directory);
  /** Entries from this number on are needed; queried from time to time. */
  let needed: number | null = null;
  let batches = 0;

  const isOldEnough = (id: number): boolean => {
    if (days === 0) return true;
    const receivedAt = journal.receivedAt(id);
    return receivedAt !== null && receivedAt < now() * MICROSECONDS - days * DAY_US;
  };

  function isNeeded(id: number): boolean {
    if (batches % BATCHES_BETWEEN_LOOKS === 0) needed = oldestNeeded(index, blocks);
    batches += 1;
    return needed === null || id >= needed;
  }

  return {
    /** Removes the next batch of entries. @throws SQLiteError */
    trim(): Trimmed {
      const range = journal.oldest(batch);
      if (range === null) return null;
      const { first, last } = range;
      if (!isOldEnough(last) || isNeeded(last)) return null;
      const allowed = allowedBy(archive, journal, first, last);
      if (allowed === null || allowed === 'reading' || 'reason' in allowed) return allowed;
      if (last > allowed.upTo) return null;
      journal.trimTo(last);
      return { entries: last - first + 1, upTo: last };
    },
    close(): void {
      journal.close();
      index.close();
    },
  };
}

/**
 * Begins to trim the journal of a directory that this process writes.
 * @returns a function that ends it
 */
export function startRetention(options: RetentionOptions): () => void {
  const { log, every } = options;
  const opened = openRetention(options);
  let removed = { entries: 0, upTo: 0 };
  let said = '';

  function report(): void {
    if (removed.entries === 0) return;
    log({ event: 'journal_trimmed', entries: removed.entries, up_to: removed.upTo, archive: options.archive.location });
    removed = { ...removed, entries: 0 };
  }

  function sayOnce(reason: string): void {
    if (reason === said) return;
    said = reason;
    log({ event: 'journal_not_trimmed', reason });
  }

  function trim(): void {
    try {
      const done = opened.trim();
      if (done === null) report();
      else if (done === 'reading') return;
      else if ('reason' in done) sayOnce(done.reason);
      else removed = { ...done, entries: removed.entries + done.entries };
    } catch (error) {
      // Events fail for the same reason and report it; the next batch tries again.
      if (unavailable(error) === null) throw error;
    }
  }

  const stop = every(EVERY_MS, trim);
  return () => {
    stop();
    opened.close();
  };
}
