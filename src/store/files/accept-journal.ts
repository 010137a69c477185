/** Going on where a journal was lost and the index is whole. */
import type { Database } from 'bun:sqlite';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { syncDirectory } from '../../base/whole-file.ts';
import { readPayload } from '../../chain/payload-reader.ts';
import { toHex } from '../../codec/hex.ts';
import { journalPath, openWriter, requireIndex } from './database.ts';
import { type Gap, type JournalReads, openJournal } from './journal.ts';
import { fitOf, indexPlace, learnChain } from './journal-link.ts';
import { lockWriter } from './lock.ts';
import { removeLog, settleWhole } from './settled-log.ts';

export interface AcceptedJournal {
  /** Events that the journal lacks from now on. */
  gap: Gap;
  /** Where the journal is now that was in its place; null where its entries were kept. */
  setAside: string | null;
}

/** Whether the journal's entries are those that the index knows by their ids: it is an older copy of the index's own. */
function isOlderCopy(db: Database, journal: JournalReads): boolean {
  const newest = db
    .query<{ index_block_hash: Uint8Array; journal_id: number }, [number]>(
      `SELECT index_block_hash, journal_id FROM block_payloads WHERE journal_id <= ?1
        ORDER BY journal_id DESC LIMIT 1`,
    )
    .get(journal.lastId());
  if (newest === null) return false;
  const entry = journal.read(newest.journal_id);
  if (entry === undefined) return false;
  const payload = readPayload(entry.path, entry.text);
  return payload.kind === 'block' && payload.block.index_block_hash === toHex(newest.index_block_hash);
}

function setAsidePath(directory: string): string {
  for (let number = 1; ; number++) {
    const path = join(directory, `journal-set-aside-${number}.db`);
    if (!existsSync(path)) return path;
  }
}

/** Moves the journal out of the way, with what its write-ahead log held. @throws PassingError while it is read */
function setAside(directory: string): string {
  const [from, to] = [journalPath(directory), setAsidePath(directory)];
  settleWhole(from);
  removeLog(from);
  renameSync(from, to);
  syncDirectory(directory);
  return to;
}

/**
 * Lets the journal go on after the last event of the index, whatever it lacks before that. Ids are not used again: entries
 * of an older copy stay, and a journal of another history is set aside.
 * @throws OperatorError where there is no index, or the journal is the one of the index
 */
export function acceptJournal(directory: string): AcceptedJournal {
  requireIndex(directory);
  const unlock = lockWriter(directory);
  try {
    const db = openWriter(directory, 'own');
    try {
      return acceptFor(db, directory);
    } finally {
      db.close();
    }
  } finally {
    unlock();
  }
}

function acceptFor(db: Database, directory: string): AcceptedJournal {
  const places = indexPlace(db);
  let journal = openJournal(directory);
  let aside: string | null = null;
  try {
    learnChain(db, places, journal);
    const place = places.current();
    if (fitOf(place, journal) === 'fits') {
      throw new OperatorError(`The journal in ${directory} belongs to the index.`, 'There is nothing to accept.');
    }
    if (journal.lastId() > 0 && !(fitOf(place, journal) === 'behind' && isOlderCopy(db, journal))) {
      journal.close();
      aside = setAside(directory);
      journal = openJournal(directory);
    }
    const gap = { first: journal.lastId() + 1, last: place.id };
    journal.breakAfter(place.id, place.chain);
    return { gap, setAside: aside };
  } finally {
    journal.close();
  }
}
