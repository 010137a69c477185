/**
 * A new index is made in a staging directory next to the present one. Once it is complete, one rename offers it, and the next
 * holder of the writer's lock installs it in place of the present one. It lacks the operator's indexes of decoded values, which
 * the next start makes again.
 */
import { SQLiteError } from 'bun:sqlite';
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { syncDirectory } from '../../base/files.ts';
import { unavailable } from '../../base/system-errors.ts';
import {
  checkpoint,
  kindOf,
  openToCheckpoint,
  openToRead,
  openWithoutTrace,
  removeLog,
  requireKind,
  versionOf,
} from './connection.ts';
import { INDEX, indexPath, SCHEMA_VERSION } from './database.ts';
import { hasJournalOf, positionIn } from './journal-link.ts';
import { LockHeldError, lockRebuild } from './lock.ts';

/** Name of the staging directory, inside the data directory. */
const STAGING = 'rebuild';

/** Path of a whole new index that is to be installed. */
export const newIndexPath = (directory: string): string => join(directory, 'index.new.db');

/** @throws OperatorError if a file isn't an index, or can't be read */
function requireReadable(path: string): void {
  try {
    using db = openToRead(path);
    requireKind(db, path, INDEX);
    positionIn(db);
  } catch (cause) {
    if (!(cause instanceof SQLiteError)) throw cause;
    throw new OperatorError(
      `${path} can't be read, so it can't be compared with the journal.`,
      'If the journal belongs to this directory, add --force.',
      { cause },
    );
  }
}

/**
 * Prepares the staging directory for a new index. Called with the rebuild's lock held; another process may write to the present
 * index at that time.
 * @param force whether to replace an index that can't be read, and so can't be compared with the journal
 * @returns the staging directory
 * @throws OperatorError if the present index can't be read, or isn't an index
 */
export function openStaging(directory: string, force: boolean): string {
  clearStaging(directory);
  const path = indexPath(directory);
  // A file of 0 bytes has nothing to lose.
  if (!force && existsSync(path) && statSync(path).size > 0) requireReadable(path);
  return join(directory, STAGING);
}

/** Removes the files of a stopped or failed rebuild. Called with the rebuild's lock held. */
export function clearStaging(directory: string): void {
  rmSync(join(directory, STAGING), { recursive: true, force: true });
}

/** Removes the files of a rebuild that was killed; does nothing while a rebuild runs. */
export function deleteAbandonedStaging(directory: string): void {
  if (!existsSync(join(directory, STAGING))) return;
  try {
    using _lock = lockRebuild(directory);
    clearStaging(directory);
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
  }
}

/** Offers the index of the staging directory, which must be whole and closed. The caller clears the staging directory. */
export function offerIndex(directory: string): void {
  const stagedIndex = indexPath(join(directory, STAGING));
  checkpoint(stagedIndex);
  renameSync(stagedIndex, newIndexPath(directory));
  syncDirectory(directory);
}

/**
 * The offered index: none, one with this program's schema, one that a newer program made and will install, or one that no
 * program can use.
 */
type Offer = 'none' | 'usable' | 'newer' | 'unfit';

function offerIn(directory: string): Offer {
  const path = newIndexPath(directory);
  if (!existsSync(path)) return 'none';
  try {
    using db = openWithoutTrace(path);
    if (kindOf(db, INDEX) !== 'own') return 'unfit';
    const version = versionOf(db);
    if (version === SCHEMA_VERSION) return 'usable';
    return version > SCHEMA_VERSION ? 'newer' : 'unfit';
  } catch (error) {
    if (unavailable(error)?.failure === 'damaged') return 'unfit';
    throw error;
  }
}

/** Whether the next start would install a new index; false if the disk can't be read now. */
export function hasPendingIndex(directory: string): boolean {
  try {
    return offerIn(directory) === 'usable';
  } catch (error) {
    if (unavailable(error) === null) throw error;
    return false;
  }
}

/** Whether a new index belongs to the journal in its directory. @throws OperatorError if the journal can't be read */
function isOfJournal(directory: string): boolean {
  using db = openWithoutTrace(newIndexPath(directory));
  return hasJournalOf(directory, positionIn(db));
}

/**
 * Checkpoints the present index as far as its readers let it, so that a process that opens it at this moment reads a
 * consistent one, if not the newest.
 */
function checkpointIfReadable(path: string): void {
  try {
    using db = openToCheckpoint(path);
    db.run('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (error) {
    // A damaged index is about to be replaced.
    if (!(error instanceof SQLiteError)) throw error;
  }
}

/**
 * Installs an offered index in place of the present one, and removes an offered one of no use. Called with the writer's lock
 * held. After a crash at any moment, the offered index is whole, and the next start installs it.
 * @throws OperatorError if the journal can't be read
 */
export function installOffer(directory: string): Offer {
  const [path, offered] = [indexPath(directory), newIndexPath(directory)];
  let offer = offerIn(directory);
  if (offer === 'usable' && !isOfJournal(directory)) offer = 'unfit';
  if (offer === 'unfit') rmSync(offered);
  if (offer === 'usable') {
    if (existsSync(path)) checkpointIfReadable(path);
    removeLog(path);
    renameSync(offered, path);
    syncDirectory(directory);
  }
  return offer;
}
