/**
 * Caches canonical transactions by position. A block never changes, so they stay valid while the chain only grows; a fork
 * clears a thread's cache.
 *
 * Queries return the same object for the same transaction, so that results can be cached by object.
 */
import type { Database } from 'bun:sqlite';
import { type LruCache, lazy, lruCache, memoize } from '../../../base/cache.ts';
import type { TransactionDetail, TransactionSummary } from '../../model/transaction.ts';
import { prepared, type Stored } from '../../rows/statement.ts';

export const sql = {
  newest: 'SELECT height, index_block_hash FROM blocks ORDER BY height DESC LIMIT 1',
  hashAt: 'SELECT index_block_hash FROM blocks WHERE height = ?1',
};

/** Transactions of one chain, by their position. */
interface OfChain {
  readonly details: LruCache<number, TransactionDetail>;
  readonly summaries: LruCache<number, TransactionSummary>;
}

/** Cached transactions with the tip of their chain: none is of a later block. */
interface CachedChain {
  readonly chain: OfChain;
  readonly tip: TipRow;
}

/** Approximate bytes of memory for cached transactions, with the texts that are made of them. */
const DETAIL_BYTES = 32_000_000;
const SUMMARY_BYTES = 20_000_000;

const ofChain = (details: number, summaries: number): OfChain => ({
  details: lruCache(details),
  summaries: lruCache(summaries),
});
const nothing = ofChain(0, 0);

interface TipRow extends Stored<'blocks', 'index_block_hash'> {
  height: number;
}

/** Cached transactions that all connections of a thread to one file share, so that their memory doesn't grow with connections. */
type SharedTransactions = ReturnType<typeof sharedTransactions>;

export function sharedTransactions() {
  let current: CachedChain | null = null;
  return {
    /** The cached chain; another object for each chain and each tip. */
    current: (): CachedChain | null => current,
    /**
     * Sets the cached chain to that of a snapshot: the cached transactions stay if the snapshot has their last block, and so
     * all blocks before, and are replaced by an empty cache if not. Other snapshots continue with the cache that they have.
     * @param has whether the snapshot's chain has a block
     * @param tip of the snapshot; null before its first block
     */
    follow(has: (block: TipRow) => boolean, tip: TipRow | null): void {
      if (tip === null) current = null;
      else if (current === null || !has(current.tip)) current = { chain: ofChain(DETAIL_BYTES, SUMMARY_BYTES), tip };
      else if (tip.height !== current.tip.height) current = { chain: current.chain, tip };
    },
  };
}

/** The cache as one connection uses it, with values that it caches until the file changes. */
export interface TransactionCache {
  /** The cached transactions of the snapshot's chain. */
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
  /** Releases the chain's transactions. To be called at the end of the snapshot. */
  leaveChain(): void;
}

/** A cache that caches nothing, for connections without marked snapshots. */
export const noTransactionCache: TransactionCache = {
  ofChain: () => nothing,
  lazy: (look) => look,
  memoize: (look) => look,
  followChain: () => {},
  leaveChain: () => {},
};

export function transactionCache(db: Database, shared: SharedTransactions): TransactionCache {
  const version = db.prepare<{ data_version: number }, []>('PRAGMA data_version');
  const newest = prepared<TipRow, []>(db, sql.newest);
  const hashAt = prepared<Pick<TipRow, 'index_block_hash'>, [number]>(db, sql.hashAt);
  /** Caches to clear when the file changes. */
  const caches: { clear(): void }[] = [];
  /** The file's version in the last snapshot. */
  let seen: number | undefined;
  /** The cached chain that this connection followed last. */
  let followed: CachedChain | null = null;
  let chain = nothing;

  function has({ height, index_block_hash: hash }: TipRow): boolean {
    const found = hashAt.get(height)?.index_block_hash;
    return found !== undefined && Buffer.compare(found, hash) === 0;
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
      const now = version.get()?.data_version;
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
