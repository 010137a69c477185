/** The tip, canonical blocks by height or hash, and the first block and the log of the index. */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../../base/bytes-equal.ts';
import type { BlockId, ChainTip } from '../../model/block.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import type { FileCache } from '../file-cache.ts';

export const sql = {
  chainId: query<Stored<'progress', 'chain_id'>>`SELECT chain_id FROM progress`,
  tip: query<ChainTip>`
    SELECT b.height, b.block_hash AS blockHash, b.index_block_hash AS indexBlockHash,
           p.burn_block_height AS burnBlockHeight, p.completions
      FROM blocks b CROSS JOIN progress p ORDER BY b.height DESC LIMIT 1`,
  // Rows are in the order of receipt.
  newestArrival: query<Pick<BlockRow, 'index_block_hash'>>`
    SELECT index_block_hash FROM block_payloads WHERE rowid = (SELECT max(rowid) FROM block_payloads)`,
  historyStart: query<HistoryStart>`
    SELECT start_height AS height, start_index_block_hash AS indexBlockHash, start_block_hash AS blockHash,
           start_burn_block_hash AS burnBlockHash, start_burn_block_height AS burnBlockHeight
      FROM progress WHERE id = 1 AND start_height IS NOT NULL`,
  identity: query<Stored<'progress', 'log_identity'>>`SELECT log_identity FROM progress`,
  newest: query<BlockRow>`SELECT height, index_block_hash, transactions FROM blocks ORDER BY height DESC LIMIT 1`,
  byHeight: query<BlockRow, [number]>`SELECT height, index_block_hash, transactions FROM blocks WHERE height = ?1`,
  byIndexBlockHash: query<BlockRow, [Uint8Array]>`
    SELECT height, index_block_hash, transactions FROM blocks WHERE index_block_hash = ?1`,
  byBlockHash: query<BlockRow, [Uint8Array]>`
    SELECT height, index_block_hash, transactions FROM blocks WHERE block_hash = ?1 ORDER BY height DESC LIMIT 1`,
};

/** `transactions`: number of transactions in lists of the block. */
type BlockRow = Stored<'blocks', 'height' | 'index_block_hash' | 'transactions'>;

/** The first block of an index that doesn't have the whole chain. */
export interface HistoryStart {
  height: number;
  /** The hashes of the block below it, and the Bitcoin block that elected its tenure. */
  indexBlockHash: Uint8Array;
  blockHash: Uint8Array;
  burnBlockHash: Uint8Array;
  burnBlockHeight: number;
}

/** Makes a function that reads the first block of the index; null if it has the whole chain. */
export function historyStartQuery(db: Database): () => HistoryStart | null {
  const find = sql.historyStart.prepared(db);
  return () => find.get();
}

/** Returns whether a block with this height and parent is, or would be, the first block of the history. */
export function isFirstBlock(start: HistoryStart | null, height: number, parent: Uint8Array): boolean {
  if (start === null) return height <= 1;
  return height === start.height && bytesEqual(parent, start.indexBlockHash);
}

/** A stored block, and the orphans of its branch up to it. */
export interface Branch {
  height: number;
  parent: Uint8Array;
  /** The orphans, lowest first; none for a canonical block. */
  hashes: readonly Uint8Array[];
  lowest: number;
  /** Height of the canonical block below the orphans, or of the block below the history if the orphans fork below it. */
  forkHeight: number;
  /** Whether the branch forks below the history: it was the chain before the history started again, or never was. */
  isBelowHistory: boolean;
}

export const branchesSql = {
  canonical: query<LinkRow, [Uint8Array]>`
    SELECT height, parent_index_block_hash FROM blocks WHERE index_block_hash = ?1`,
  orphan: query<LinkRow, [Uint8Array]>`
    SELECT height, parent_index_block_hash FROM orphaned_blocks WHERE index_block_hash = ?1`,
};

type LinkRow = Stored<'blocks', 'height' | 'parent_index_block_hash'>;

/** Makes a function that reads the branch of a block; null if the block isn't stored, and for an orphaned block 0. */
export function branchQuery(
  db: Database,
  historyStart: () => HistoryStart | null,
): (indexBlockHash: Uint8Array) => Branch | null {
  const { canonical, orphan } = statements(db, branchesSql);

  return (indexBlockHash) => {
    const block = canonical.get(indexBlockHash);
    if (block !== null) {
      const { height, parent_index_block_hash: parent } = block;
      return { height, parent, hashes: [], lowest: height + 1, forkHeight: height, isBelowHistory: false };
    }
    const top = orphan.get(indexBlockHash);
    // Block 0 is stored with the orphans, and block 1 shows its transactions.
    if (top === null || top.height === 0) return null;
    const start = historyStart();
    const bottom = (start?.height ?? 1) - 1;
    const hashes = [indexBlockHash];
    for (let link = top; ; ) {
      const { height, parent_index_block_hash: parent } = link;
      const fork = isFirstBlock(start, height, parent) ? { height: bottom } : canonical.get(parent);
      const below = fork === null ? orphan.get(parent) : null;
      if (below === null || below.height === 0) {
        return {
          height: top.height,
          parent: top.parent_index_block_hash,
          hashes: hashes.reverse(),
          lowest: height,
          forkHeight: fork?.height ?? bottom,
          isBelowHistory: fork === null,
        };
      }
      hashes.push(parent);
      link = below;
    }
  };
}

/** Makes a function that reads the identity in hex of the log that the index is made from; null before the first entry. */
export function logIdentityQuery(db: Database): () => string | null {
  const find = sql.identity.prepared(db);
  return () => find.get()?.log_identity?.toHex() ?? null;
}

/** Maximum number of cached blocks by hash, and by height. */
const MAX_BLOCKS = 1_000;

export type ChainQueries = ReturnType<typeof chainQueries>;

/** @param cache caches the tip until the file changes */
export function chainQueries(db: Database, cache: FileCache) {
  const { chainId, tip, newestArrival, newest, byHeight, byIndexBlockHash, byBlockHash } = statements(db, sql);

  /** Canonical blocks by hash in hex. */
  const byHash = cache.memoize((hex): BlockRow | null => {
    const hash = Uint8Array.fromHex(hex);
    return byIndexBlockHash.get(hash) ?? byBlockHash.get(hash);
  }, MAX_BLOCKS);
  const atHeight = cache.memoize((height: number) => byHeight.get(height), MAX_BLOCKS);

  /** The canonical block. Most requests read it twice, first for the ETag; null if there is none. */
  function block(id: BlockId): BlockRow | null {
    if (id === 'latest') return newest.get();
    return 'height' in id ? atHeight(id.height) : byHash(id.hash.toHex());
  }

  const historyStart = cache.lazy(historyStartQuery(db));
  const newestTip = cache.lazy(() => tip.get());
  /** Names the state that rows of a canonical block depend on: its fork, and whether filled blocks were completed. */
  const tagAt = cache.memoize((height: number): string => {
    const hash = atHeight(height)?.index_block_hash;
    return `${hash?.toHex()} ${newestTip()?.completions}`;
  }, MAX_BLOCKS);

  return {
    block,
    tagAt,
    historyStart,
    /** Height of the first block that the index has, or will have. */
    firstHeight: (): number => historyStart()?.height ?? 1,
    /** The chain id; null before the first event. */
    chainId: (): number | null => chainId.get()?.chain_id ?? null,
    newestArrival: cache.lazy((): Uint8Array | undefined => newestArrival.get()?.index_block_hash),
    tip: newestTip,
  };
}
