/** Reads the status and the position of a data directory, and decides how to treat files of another version. */
import type { Database } from 'bun:sqlite';
import { existsSync, statfsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { onFile } from '../../base/system-errors.ts';
import type { Head } from '../log/entry.ts';
import type { Stored } from '../rows/statement.ts';
import { openToRead, openWithoutTrace, requireKind, setUp, versionOf } from './connection.ts';
import {
  INDEX,
  type IndexFate,
  indexFate,
  indexPath,
  journalPath,
  openReader,
  requireIndex,
  requireIndexTables,
} from './database.ts';
import { JOURNAL, JOURNAL_VERSION, openJournalReader } from './journal.ts';
import { fitOf, positionIn } from './journal-link.ts';
import { missingSecondaryIndexes } from './secondary-indexes.ts';

export interface DirectoryStatus {
  /** Null before the first block. */
  chain_id: number | null;
  /** Null before the first block. */
  tip: { height: number; index_block_hash: string; block_time: number; burn_block_height: number } | null;
  /** Height of the first block of a partial history; null if the history is complete or hasn't started. */
  history_from: number | null;
  transactions: number;
  pending: number;
  orphaned_blocks: number;
  /** Entries, how many of them the index lacks, and whether the journal belongs to the index; null if it is missing. */
  journal: { events: number; behind: number; bytes: number; fits: boolean } | null;
  index_bytes: number;
  /** Number of secondary indexes that an import will make, or the next start if the import was interrupted. */
  missing_indexes: number;
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Bytes of a database with its write-ahead log. */
const databaseSize = (path: string): number => sizeOf(path) + sizeOf(`${path}-wal`);

/** Bytes of the existing files of a data directory, by name. */
export function fileSizes(directory: string): Map<string, number> {
  const paths = [indexPath(directory), journalPath(directory)].flatMap((path) => [path, `${path}-wal`]);
  return new Map(paths.filter((path) => existsSync(path)).map((path) => [basename(path), sizeOf(path)]));
}

/** Bytes of free disk space for this user; null if the directory doesn't exist. */
export function freeBytes(directory: string): number | null {
  if (!existsSync(directory)) return null;
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

function journalStatus(directory: string, position: Head): DirectoryStatus['journal'] {
  const path = journalPath(directory);
  return onFile(path, () => {
    if (!existsSync(path)) return null;
    using journal = openJournalReader(directory);
    return {
      events: journal.entries(),
      behind: Math.max(0, journal.lastId() - position.id),
      bytes: databaseSize(path),
      fits: fitOf(position, journal) === 'fits',
    };
  });
}

/** @throws OperatorError if there is no index */
export function directoryStatus(directory: string): DirectoryStatus {
  using db = openReader(directory);
  const progress = db
    .query<Stored<'progress', 'chain_id' | 'burn_block_height' | 'mempool_pending' | 'start_height'>, []>(
      'SELECT chain_id, burn_block_height, mempool_pending, start_height FROM progress',
    )
    .get();
  const position = positionIn(db);
  const tip = db
    .query<Stored<'blocks', 'height' | 'index_block_hash' | 'block_time'> & { total: number }, []>(
      `SELECT height, index_block_hash, block_time, preceding_transactions + transactions AS total
         FROM blocks ORDER BY height DESC LIMIT 1`,
    )
    .get();
  // Block 0 is stored with the orphans, but isn't an orphan.
  const orphans = db.query<{ n: number }, []>('SELECT count(*) AS n FROM orphaned_blocks WHERE height > 0').get();
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
    history_from: progress?.start_height ?? null,
    transactions: tip?.total ?? 0,
    pending: progress?.mempool_pending ?? 0,
    orphaned_blocks: orphans?.n ?? 0,
    journal: journalStatus(directory, position),
    index_bytes: databaseSize(indexPath(directory)),
    missing_indexes: missingSecondaryIndexes(db).length,
  };
}

/** This program's treatment of the files of a directory. */
export interface FileFates {
  index: IndexFate;
  /** Null if there is no journal. */
  journal: 'used' | 'unreleased' | 'newer' | null;
}

/** @throws OperatorError if the file has another kind */
function journalFate(db: Database, path: string): NonNullable<FileFates['journal']> {
  requireKind(db, path, JOURNAL);
  const version = versionOf(db);
  if (version === JOURNAL_VERSION) return 'used';
  return version < JOURNAL_VERSION ? 'unreleased' : 'newer';
}

/** Reads a file without changing anything. */
function readFate<T>(path: string, fate: (db: Database, path: string) => T): T {
  return onFile(path, () => {
    using db = openWithoutTrace(path);
    return fate(db, path);
  });
}

/**
 * Reads the versions of the files without changing anything.
 * @throws OperatorError if there is no index, or a file has another kind
 */
export function fileFates(directory: string): FileFates {
  requireIndex(directory);
  const journal = journalPath(directory);
  return {
    index: readFate(indexPath(directory), indexFate),
    journal: existsSync(journal) ? readFate(journal, journalFate) : null,
  };
}

export interface DataState {
  /** Null before the first block. */
  chainId: number | null;
  /** Null before the first block. */
  tip: { height: number; indexBlockHash: Uint8Array } | null;
  position: Head;
  /** Identity of the log in hex; null before the first entry. */
  identity: string | null;
}

/**
 * Reads the state of a directory that no process writes.
 * @throws OperatorError if the index has another kind or lacks a table, SQLiteError if it isn't a database
 */
export function dataStateOf(directory: string): DataState {
  const path = indexPath(directory);
  using db = setUp(openToRead(path), (opened) => {
    requireKind(opened, path, INDEX);
    requireIndexTables(opened, path);
  });
  const progress = db
    .query<{ chainId: number | null; id: number; chain: Uint8Array; identity: string | null }, []>(
      `SELECT chain_id AS chainId, journal_id AS id, journal_chain AS chain, lower(hex(log_identity)) AS identity
         FROM progress`,
    )
    .get();
  if (progress === null) throw new Error('progress has no row');
  const tip = db
    .query<{ height: number; indexBlockHash: Uint8Array }, []>(
      'SELECT height, index_block_hash AS indexBlockHash FROM blocks ORDER BY height DESC LIMIT 1',
    )
    .get();
  const { chainId, id, chain, identity } = progress;
  return { chainId, tip, position: { id, chain }, identity: identity === '' ? null : identity };
}
