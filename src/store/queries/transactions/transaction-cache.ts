/**
 * The cache of transactions of the canonical chain, by their position. What a block holds never changes, so they
 * stay what they are while the chain only grows; a fork makes a thread forget them all.
 *
 * Who asks for a transaction again gets the same object, so that what is made of it can be cached with it.
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

/** Cached transactions with the last block of their chain: none is of a later block. */
interface CachedChain {
  readonly chain: OfChain;
  readonly tip: TipRow;
}

/** Bytes of memory that cached transactions may take, with the texts that are made of them, about. */
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

/** What the connections to one file share: what a thread caches doesn't grow with the number of its connections. */
type SharedTransactions = ReturnType<typeof sharedTransactions>;

export function sharedTransactions() {
  let current: CachedChain | null = null;
  return {
    /** The cached chain now; another object with each chain and each tip of it. */
    current: (): CachedChain | null => current,
    /**
     * Goes on with the chain of a snapshot: with what is cached where the snapshot has its last block, and so all blocks
     * before, and with nothing where it hasn't. Other snapshots go on with what they have.
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

/** What one connection uses of it, and what it caches by itself until the file changes. */
export interface TransactionCache {
  /** The cached transactions of the snapshot's chain. */
  ofChain(): OfChain;
  /** A value that is lazy in each state of the file. */
  lazy<T>(look: () => T): () => T;
  /** A memo for each state of the file. @param capacity as in {@link memoize} */
  memoize<T>(look: (key: string) => T, capacity: number): (key: string) => T;
  /**
   * Follows the chain of the snapshot. To be called when one begins.
   * @throws SQLiteError
   */
  followChain(): void;
  /** Lets go of the chain's transactions, which others may have forgotten. To be called when the snapshot ends. */
  leaveChain(): void;
}

/** What connections use that don't say when a snapshot begins. */
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
  /** What to forget with any change of the file. */
  const caches: { clear(): void }[] = [];
  /** The file's version in the snapshot before. */
  let seen: number | undefined;
  /** The cached chain when this connection followed it last. */
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
      // Another connection may have read another chain since this one looked, whichever of them is the newer.
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
