/** The index made anew from the journal. */
import { existsSync } from 'node:fs';
import { OperatorError } from '../errors.ts';
import { openToRead } from './connection.ts';
import { indexPath, journalPath } from './database.ts';
import { freshIndexWithHooks } from './hooks/carry-over.ts';
import { type IngestOptions, openIngest } from './ingest.ts';
import { lockWriter } from './lock.ts';

/** Whether the index holds blocks that the journal doesn't: those would be lost. */
function hasBlocksOfItsOwn(path: string): boolean {
  const db = openToRead(path);
  try {
    return db.query('SELECT 1 FROM block_payloads WHERE journal_id IS NULL LIMIT 1').get() !== null;
  } catch {
    // A schema so old or broken that it has no such table is what a rebuild is for.
    return false;
  } finally {
    db.close();
  }
}

/**
 * Removes the index but for the chainhooks, and replays the journal; nothing is delivered for it. If it is stopped, the
 * next start goes on.
 * @returns how many events were replayed
 */
export function rebuildIndex(options: Omit<IngestOptions, 'journal'> & { force: boolean }): { tipHeight: number } {
  const { directory, force } = options;
  if (!existsSync(journalPath(directory))) {
    throw new OperatorError(
      `There is no journal in ${directory} to rebuild the index from.`,
      'Import a recording of the chain, or let a node that starts from an empty chainstate send its events.',
    );
  }
  const unlock = lockWriter(directory);
  const path = indexPath(directory);
  if (!force && existsSync(path) && hasBlocksOfItsOwn(path)) {
    unlock();
    throw new OperatorError(
      'Some blocks of the index were taken without a journal and would be lost.',
      'To rebuild from the journal all the same: --force.',
    );
  }
  try {
    freshIndexWithHooks(directory, force);
  } finally {
    unlock();
  }
  const ingest = openIngest({ ...options, journal: true });
  const tipHeight = ingest.tipHeight();
  ingest.close();
  return { tipHeight };
}
