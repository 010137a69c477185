/**
 * Caches canonical blocks by height, and transactions and logs by position. They stay valid while the chain only grows; a fork,
 * or a filled block that the node's own event completes, clears a thread's cache. The cache also holds pending transactions.
 *
 * Queries return the same object for the same thing, so that results can be cached by object.
 */
import type { Database } from 'bun:sqlite';
import { type LruCache, lazy, lruCache, memoize } from '../../base/cache.ts';
import type { PrincipalTransaction } from '../model/account.ts';
import type { ChainBlock } from '../model/block.ts';
import type { ContractLog } from '../model/contract.ts';
import type { PendingTransaction, TransactionDetail, TransactionSummary } from '../model/transaction.ts';
import { prepared, type Stored } from '../rows/statement.ts';

export const sql = {
  newest: 'SELECT height, index_block_hash, completions FROM blocks CROSS JOIN progress ORDER BY height DESC LIMIT 1',
  blockAt: 'SELECT index_block_hash, completions FROM blocks CROSS JOIN progress WHERE height = ?1',
};

/** The cache of one chain. */
interface OfChain {
  /** By height. */
  readonly blocks: LruCache<number, ChainBlock>;
  /** By position. */
  readonly details: LruCache<number, TransactionDetail>;
  /** By position. */
  readonly summaries: LruCache<number, TransactionSummary>;
  /** By the principal's id and the position. */
  readonly involvements: LruCache<string, PrincipalTransaction>;
  /** By the transaction's position and the index of the event. */
  readonly logs: LruCache<string, ContractLog>;
  /** By receipt and id, since an announced transaction doesn't change. */
  readonly pending: LruCache<string, PendingTransaction>;
}

/** The cache and the tip of its chain. It contains nothing from later blocks. */
interface CachedChain {
  readonly chain: OfChain;
  readonly tip: TipRow;
}

/** Approximate bytes of memory that the cache uses, including the texts made from it. */
const CAPACITIES = {
  blocks: 3_000_000,
  details: 32_000_000,
  summaries: 20_000_000,
  involvements: 8_000_000,
  logs: 8_000_000,
  pending: 4_000_000,
};

const ofChain = (capacities: Readonly<Record<keyof OfChain, number>>): OfChain => ({
  blocks: lruCache(capacities.blocks),
  details: lruCache(capacities.details),
  summaries: lruCache(capacities.summaries),
  involvements: lruCache(capacities.involvements),
  logs: lruCache(capacities.logs),
  pending: lruCache(capacities.pending),
});
const nothing = ofChain({ blocks: 0, details: 0, summaries: 0, involvements: 0, logs: 0, pending: 0 });

interface TipRow extends Stored<'blocks', 'index_block_hash'>, Stored<'progress', 'completions'> {
  height: number;
}

/** The cache that all of a thread's connections to one file share, so that memory doesn't grow with connections. */
type SharedChain = ReturnType<typeof sharedChain>;

export function sharedChain() {
  let current: CachedChain | null = null;
  return {
    /** The cached chain; another object for each chain and each tip. */
    current: (): CachedChain | null => current,
    /**
     * Sets the cached chain to a snapshot's chain: the cache stays if the snapshot has its last block, and so all blocks
     * before, and is replaced by an empty cache if not. Other snapshots continue with the cache that they have.
     * @param has whether the snapshot's chain has a block
     * @param tip of the snapshot; null before its first block
     */
    follow(has: (block: TipRow) => boolean, tip: TipRow | null): void {
      if (tip === null) current = null;
      else if (current === null || !has(current.tip)) current = { chain: ofChain(CAPACITIES), tip };
      else if (tip.height !== current.tip.height) current = { chain: current.chain, tip };
    },
  };
}

/** The cache as one connection uses it, with values that it caches until the file changes. */
export interface ChainCache {
  /** The cache of the snapshot's chain. */
  ofChain(): OfChain;
  /** A lazy value that is computed again when the file changes. */
  lazy<T>(look: () => T): () => T;
  /** A memo that is cleared when the file changes. @param capacity as in {@link memoize} */
  memoize<T>(look: (key: string) => T, capacity: number): (key: string) => T;
  /**
   * Follows the chain of a snapshot. To be called at its beginning.
   * @throws SQLiteError
   */
  followChain(): void;
  /** Releases the cache. Call it at the end of the snapshot. */
  leaveChain(): void;
}

/** A cache that caches nothing, for connections without marked snapshots. */
export const noChainCache: ChainCache = {
  ofChain: () => nothing,
  lazy: (look) => look,
  memoize: (look) => look,
  followChain: () => {},
  leaveChain: () => {},
};

/** Returns a function that reads a number that changes when another connection changes the file. */
function fileVersion(db: Database): () => number | undefined {
  const version = db.prepare<{ data_version: number }, []>('PRAGMA data_version');
  return () => version.get()?.data_version;
}

/** @param version a number that changes when the content changes that the connection shows */
export function chainCache(db: Database, shared: SharedChain, version = fileVersion(db)): ChainCache {
  const newest = prepared<TipRow, []>(db, sql.newest);
  const blockAt = prepared<Omit<TipRow, 'height'>, [number]>(db, sql.blockAt);
  /** Caches to clear when the file changes. */
  const caches: { clear(): void }[] = [];
  /** The file's version in the last snapshot. */
  let seen: number | undefined;
  /** The cached chain that this connection followed last. */
  let followed: CachedChain | null = null;
  let chain = nothing;

  function has({ height, index_block_hash: hash, completions }: TipRow): boolean {
    const found = blockAt.get(height);
    return found !== null && found.completions === completions && Buffer.compare(found.index_block_hash, hash) === 0;
  }

  return {
    ofChain: () => chain,
    lazy<T>(look: () => T): () => T {
      const value = lazy(look);
      caches.push(value);
      return value;
    },
    memoize<T>(look: (key: string) => T, capacity: number): (key: string) => T {
      const memo = memoize(look, capacity);
      caches.push(memo);
      return memo;
    },
    followChain() {
      const now = version();
      if (now !== seen) {
        for (const cache of caches) cache.clear();
        seen = now;
        followed = null;
      }
      // Another connection may have followed an older or newer chain since.
      if (followed === null || shared.current() !== followed) {
        shared.follow(has, newest.get());
        followed = shared.current();
      }
      chain = followed?.chain ?? nothing;
    },
    leaveChain() {
      chain = nothing;
    },
  };
}
