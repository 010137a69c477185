/** The state of the data in a directory: its chain, and how far its index is. */
import type { Head } from '../log/entry.ts';
import { openToRead, requireKind, setUp } from './connection.ts';
import { INDEX, indexPath } from './database.ts';

export interface DataState {
  /** Null before the first block. */
  chainId: number | null;
  /** Null before the first block. */
  tip: { height: number; indexBlockHash: Uint8Array } | null;
  /** Position of the index. */
  position: Head;
  /** Identity of the log in hex; null before the first entry. */
  identity: string | null;
}

/**
 * Reads the state of a directory that no process writes.
 * @throws OperatorError if the index has another kind, SQLiteError if it isn't a database
 */
export function dataStateOf(directory: string): DataState {
  const path = indexPath(directory);
  using db = setUp(openToRead(path), (opened) => requireKind(opened, path, INDEX));
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
