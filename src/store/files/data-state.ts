/** The state of the data in a directory: where its index stands, and whether its journal is that of the index. */
import type { Database } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import type { Head } from '../log/entry.ts';
import { type FileKind, openToRead, requireKind, versionOf } from './connection.ts';
import { INDEX, indexPath, journalPath } from './database.ts';
import { JOURNAL, JOURNAL_VERSION, requireEnds } from './journal.ts';

export interface DataState {
  /** Null before the first block. */
  chainId: number | null;
  /** Null before the first block. */
  tip: { height: number; indexBlockHash: Uint8Array } | null;
  /** Position of the index. */
  position: Head;
  /** Versions of the files. */
  schema: { index: number; journal: number };
  /** The journal's chain value of the index's last event; null where it has none. */
  journalChain: Uint8Array | null;
}

/** @throws OperatorError where the file is of another kind, or empty */
function requireMade(db: Database, path: string, kind: FileKind): void {
  requireKind(db, path, kind);
  if (versionOf(db) === 0) throw new OperatorError(`${path} is empty.`, 'Take another backup.');
}

/** The chain value that a journal has for an event, and the version of its file. */
function journalAt(path: string, id: number): Pick<DataState, 'journalChain'> & { version: number } {
  using db = openToRead(path);
  requireMade(db, path, JOURNAL);
  if (versionOf(db) === JOURNAL_VERSION) requireEnds(db, path);
  const found = db
    .query<{ value: Uint8Array }, [number]>(
      'SELECT value FROM chain WHERE id = ?1 UNION ALL SELECT chain FROM breaks WHERE after_id = ?1',
    )
    .get(id);
  return { journalChain: found?.value ?? null, version: versionOf(db) };
}

/**
 * Reads the state of a directory that no process writes.
 * @throws OperatorError where a file is of another kind, SQLiteError where it is no database
 */
export function dataStateOf(directory: string): DataState {
  const path = indexPath(directory);
  using db = openToRead(path);
  requireMade(db, path, INDEX);
  const progress = db
    .query<{ chainId: number | null; id: number; chain: Uint8Array }, []>(
      'SELECT chain_id AS chainId, journal_id AS id, journal_chain AS chain FROM progress',
    )
    .get();
  if (progress === null) throw new Error('progress has no row');
  const tip = db
    .query<{ height: number; indexBlockHash: Uint8Array }, []>(
      'SELECT height, index_block_hash AS indexBlockHash FROM blocks ORDER BY height DESC LIMIT 1',
    )
    .get();
  const { chainId, id, chain } = progress;
  const journal = journalAt(journalPath(directory), id);
  return {
    chainId,
    tip,
    position: { id, chain },
    schema: { index: versionOf(db), journal: journal.version },
    journalChain: journal.journalChain,
  };
}
