/**
 * Checks whether the index and the journal of a data directory belong together. The index has the number and the chain value
 * of its last event; the journal's chain value at the same number shows whether both have the same history.
 */
import { type Database, SQLiteError } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { OperatorError } from '../../base/errors.ts';
import { type Head, sameChain } from '../log/entry.ts';
import { type Connect, openToRead } from './connection.ts';
import { indexPath, journalPath } from './database.ts';
import { type Journal, type JournalReader, type JournalReads, openJournal, openJournalReader } from './journal.ts';

export type IndexPosition = ReturnType<typeof indexPosition>;

const positionQuery = 'SELECT journal_id AS id, journal_chain AS chain FROM progress';

/** The position of the index, read and written in its open transaction without a cache. */
export function indexPosition(db: Database) {
  const update = db.prepare<null, [number, Uint8Array]>('UPDATE progress SET journal_id = ?1, journal_chain = ?2');
  return {
    current: () => positionIn(db),
    set({ id, chain }: Head): void {
      update.run(id, chain);
    },
  };
}

/**
 * Whether the journal belongs to the index. `behind`: the journal ends before the index does. `other`: the journal has another
 * event at the position of the index.
 */
type Fit = 'fits' | 'behind' | 'other';

export function fitOf(position: Head, journal: Pick<JournalReads, 'chainAt' | 'lastId'>): Fit {
  const chain = journal.chainAt(position.id);
  if (chain !== null && sameChain(chain, position.chain)) return 'fits';
  return journal.lastId() < position.id ? 'behind' : 'other';
}

/** Whether a directory has the journal of an index. @throws OperatorError if the journal can't be read */
export function hasJournalOf(directory: string, position: Head): boolean {
  if (!existsSync(journalPath(directory))) return false;
  using journal = openJournalReader(directory);
  return fitOf(position, journal) === 'fits';
}

/** The position of an index, as a connection reads it. */
export function positionIn(db: Database): Head {
  const position = db.query<Head, []>(positionQuery).get();
  if (position === null) throw new Error('progress has no row');
  return position;
}

/** Returns the position of an index file; null if it can't be read. */
export function positionOfFile(path: string): Head | null {
  using db = openToRead(path);
  try {
    return db.query<Head, []>(positionQuery).get();
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    return null;
  }
}

const WAY_OUT =
  'If it is lost, stackside rebuild --force keeps the present journal; you lose the data that only the index has.';

/** @throws OperatorError if the journal doesn't belong to the index */
export function requireFit(directory: string, position: Head, journal: JournalReads): void {
  const fit = fitOf(position, journal);
  if (fit === 'behind') {
    throw new OperatorError(
      `The index in ${directory} holds ${position.id} events, and its journal ends at event ${journal.lastId()}.`,
      `Restore the journal.db that belongs to this index.db. ${WAY_OUT}`,
    );
  }
  if (fit === 'other') {
    throw new OperatorError(
      `The journal in ${directory} does not belong to the index: event ${position.id} differs.`,
      `Restore the journal.db or the index.db that belongs to the other. ${WAY_OUT}`,
    );
  }
}

/** Returns an open journal if it belongs to the index. @throws OperatorError after it closed the journal otherwise */
function checkFit<Opened extends Journal | JournalReader>(directory: string, position: Head, journal: Opened): Opened {
  try {
    requireFit(directory, position, journal);
    return journal;
  } catch (error) {
    journal.close();
    throw error;
  }
}

/**
 * Opens the journal of a data directory to read it whole, for callers that take its last entry for the end of the history.
 * @throws OperatorError if there is no journal, or it doesn't belong to the index
 */
export function openWholeJournal(directory: string): JournalReader {
  // Read before the journal, which is never behind its index.
  const position = existsSync(indexPath(directory)) ? positionOfFile(indexPath(directory)) : null;
  const journal = openJournalReader(directory);
  return position === null ? journal : checkFit(directory, position, journal);
}

/** @throws OperatorError if there is no journal, but the index contains events */
export function requireJournal(directory: string, { id }: Head): void {
  if (id === 0 || existsSync(journalPath(directory))) return;
  throw new OperatorError(
    `The journal in ${directory} is missing, but the index contains ${id} events.`,
    'Restore the journal.db that belongs to this index.db, or restore a backup into another directory.',
  );
}

/**
 * Opens the journal of an index, and creates it for an empty index.
 * @param connect opens its file
 * @throws OperatorError if the two do not belong together
 */
export function openLinkedJournal(directory: string, db: Database, connect: Connect): Journal {
  const position = positionIn(db);
  requireJournal(directory, position);
  return checkFit(directory, position, openJournal(directory, connect));
}
