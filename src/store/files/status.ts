/** Where a data directory stands. */

import { existsSync, statfsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { onFile } from '../../base/system-errors.ts';
import type { Head } from '../log/entry.ts';
import { indexPath, journalPath, openReader } from './database.ts';
import { openJournalReader } from './journal.ts';
import { fitOf, indexPlace } from './journal-link.ts';
import { missingListIndexes } from './list-indexes.ts';

export interface DirectoryStatus {
  /** Null until a block was seen. */
  chain_id: number | null;
  /** Null before the first block. */
  tip: { height: number; index_block_hash: string; block_time: number; burn_block_height: number } | null;
  transactions: number;
  pending: number;
  orphaned_blocks: number;
  /** Entries, how many of them the index lacks, and whether it is the journal of the index; null where it is missing. */
  journal: { events: number; behind: number; bytes: number; fits: boolean } | null;
  index_bytes: number;
  /** Indexes that an import is still to make, or the next start where it was interrupted. */
  missing_indexes: number;
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Bytes of the files of a data directory that are there, by name. */
export function fileSizes(directory: string): Map<string, number> {
  const paths = [indexPath(directory), journalPath(directory)].flatMap((path) => [path, `${path}-wal`]);
  return new Map(paths.filter((path) => existsSync(path)).map((path) => [basename(path), sizeOf(path)]));
}

/** Bytes that are free for this user on the disk of a directory; null where the system doesn't tell. */
export function freeBytes(directory: string): number | null {
  if (!existsSync(directory)) return null;
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

function journalStatus(directory: string, place: Head): DirectoryStatus['journal'] {
  const path = journalPath(directory);
  return onFile(path, () => {
    if (!existsSync(path)) return null;
    const journal = openJournalReader(directory);
    try {
      return {
        events: journal.entries(),
        behind: Math.max(0, journal.lastId() - place.id),
        bytes: sizeOf(path),
        fits: fitOf(place, journal) === 'fits',
      };
    } finally {
      journal.close();
    }
  });
}

/** @throws OperatorError where there is no index */
export function directoryStatus(directory: string): DirectoryStatus {
  const db = openReader(directory);
  const progress = db
    .query<{ chain_id: number | null; burn_block_height: number; mempool_pending: number }, []>(
      'SELECT chain_id, burn_block_height, mempool_pending FROM progress',
    )
    .get();
  const place = indexPlace(db).current();
  const tip = db
    .query<{ height: number; index_block_hash: Uint8Array; block_time: number }, []>(
      'SELECT height, index_block_hash, block_time FROM blocks ORDER BY height DESC LIMIT 1',
    )
    .get();
  const totals = db.query<{ transactions: number }, []>('SELECT transactions FROM totals').get();
  // Block 0 is kept with the orphans and is none.
  const orphans = db.query<{ n: number }, []>('SELECT count(*) AS n FROM orphaned_blocks WHERE height > 0').get();
  const missing = missingListIndexes(db).length;
  db.close();
  return {
    chain_id: progress?.chain_id ?? null,
    tip:
      tip === null
        ? null
        : {
            height: tip.height,
            index_block_hash: `0x${tip.index_block_hash.toHex()}`,
            block_time: tip.block_time,
            burn_block_height: progress?.burn_block_height ?? 0,
          },
    transactions: totals?.transactions ?? 0,
    pending: progress?.mempool_pending ?? 0,
    orphaned_blocks: orphans?.n ?? 0,
    journal: journalStatus(directory, place),
    index_bytes: sizeOf(indexPath(directory)),
    missing_indexes: missing,
  };
}
