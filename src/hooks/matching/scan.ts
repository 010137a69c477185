/** Finds past blocks that filters match: one by one, by searches in short turns, or the block that a request names. */

import { type Clock, systemClock } from '../../base/clock.ts';
import { atMost, countWork, turnAfter } from '../../base/turns.ts';
import type { Block } from '../../chain/block.ts';
import { fromHex } from '../../codec/hex.ts';
import type { HookCandidates } from '../../store/hooks/candidates.ts';
import type { ChainHistory } from '../../store/ingest/ingest.ts';
import { UnknownParentError } from '../../store/ingest/known-blocks.ts';
import { declarations } from '../evaluation/operations.ts';
import type { MatchedBlock } from '../evaluation/payload.ts';
import { HookProblem, invalidField, unknownBlock } from '../problem.ts';
import { type Condition, indexKeysOf, matchesOf } from './matching.ts';

interface ScannedBlock {
  height: number;
  /** Null if the block doesn't match after all. */
  matched: MatchedBlock | null;
  /** Number of the block's transactions: the cost of reading it. */
  transactions: number;
}

/** Scans canonical blocks for matches of some conditions. */
export interface Scanner {
  /**
   * Scans the first block of `from` to `to` that may match; null if none can. If all filters name a principal or a contract,
   * blocks that don't involve them are skipped.
   * @throws OperatorError if a block's payload is no longer stored
   */
  next(from: number, to: number): ScannedBlock | null;
  /** Scans the last block of `from` to `to` that may match, like {@link Scanner.next}. */
  previous(from: number, to: number): ScannedBlock | null;
  /** The matches in a block; null without any. */
  matchIn(indexBlockHash: Uint8Array): MatchedBlock | null;
}

/** Makes a scanner for conditions. */
export function scanner(
  { history, candidates }: { history: ChainHistory; candidates: HookCandidates },
  conditions: readonly Condition[],
): Scanner {
  const findMatches = matchesOf(conditions);
  const keys = indexKeysOf(conditions);

  function matchedIn(block: Block): MatchedBlock | null {
    const txIndexes = findMatches(block);
    return txIndexes === undefined ? null : { block, txIndexes, findFunction: declarations(candidates, block.height) };
  }

  function scanBlock(height: number): ScannedBlock | null {
    const hash = history.hashAt(height);
    if (hash === undefined) return null;
    const block = history.block(hash);
    return { height, matched: matchedIn(block), transactions: block.transactions.length };
  }

  return {
    matchIn: (indexBlockHash) => matchedIn(history.block(indexBlockHash)),
    next(from, to) {
      const first = Math.max(from, history.bottom() + 1);
      if (conditions.length === 0 || first > to) return null;
      const height = keys === null ? first : candidates.next(keys, first);
      return height === null || height > to ? null : scanBlock(height);
    },
    previous(from, to) {
      const last = Math.min(to, history.tip().height);
      if (conditions.length === 0 || from > last) return null;
      const height = keys === null ? last : candidates.previous(keys, last);
      return height === null || height < Math.max(from, history.bottom() + 1) ? null : scanBlock(height);
    },
  };
}

/** Maximum heights of a search. */
export const MAX_BLOCKS = 1_000;
/** Transactions after which a search for the newest match ends; blocks are read whole, however large. */
const MAX_TRANSACTIONS = 20_000;
/** Maximum unfinished searches of a consumer: a search of another consumer waits for all of them. */
const MAX_SEARCHES = 4;
/** Length of a turn in milliseconds. */
const TURN_MS = 10;

/** Result of a search for the newest match. */
interface ScanResult {
  /** Null without a match. */
  matched: MatchedBlock | null;
  /** The lowest height that was searched; null if there was none to search. */
  searchedFrom: number | null;
}

/**
 * Runs searches, one after the other.
 * @param maxTransactions maximum transactions of a search for the newest match
 */
export function search(clock: Clock = systemClock, maxTransactions = MAX_TRANSACTIONS) {
  /** The unfinished searches of each consumer. */
  const searches = countWork();
  const inTurn = atMost(1);

  /**
   * Runs a search after the earlier ones: ten at once would take ten times as long as one.
   * @throws HookProblem 429 if too many searches of the consumer wait
   */
  async function runInOrder<T>(consumer: string, work: () => Promise<T>): Promise<T> {
    if (searches.of(consumer) === MAX_SEARCHES) {
      throw new HookProblem(429, 'Too many of your previews and tests are searching the chain; try again later');
    }
    const end = searches.begin(consumer);
    try {
      return await inTurn(work);
    } finally {
      end();
    }
  }

  return {
    /** Passes every matching block of a range to `add`, ascending. */
    each: (
      consumer: string,
      scan: Scanner,
      from: number,
      to: number,
      add: (matched: MatchedBlock) => void,
    ): Promise<void> =>
      runInOrder(consumer, async () => {
        const pause = turnAfter(TURN_MS, clock);
        for (let block = scan.next(from, to); block !== null; block = scan.next(block.height + 1, to)) {
          if (block.matched !== null) add(block.matched);
          await pause();
        }
      }),

    /** The newest matching block below a height, among at most {@link MAX_BLOCKS}; fewer if they are large. */
    newest: (consumer: string, scan: Scanner, below: number): Promise<ScanResult> =>
      runInOrder(consumer, async () => {
        const lowest = Math.max(1, below - MAX_BLOCKS);
        const pause = turnAfter(TURN_MS, clock);
        let transactions = 0;
        for (let block = scan.previous(lowest, below - 1); block !== null; ) {
          const { height, matched } = block;
          transactions += block.transactions;
          if (matched !== null || transactions >= maxTransactions) return { matched, searchedFrom: height };
          await pause();
          block = scan.previous(lowest, height - 1);
        }
        return { matched: null, searchedFrom: lowest < below ? lowest : null };
      }),
  };
}

/** A block by height, by index block hash, or by both if they agree. */
export interface BlockChoice {
  index_block_hash?: string;
  block_height?: number;
}

/** Height of a canonical block; undefined for an orphaned or unknown block. */
function canonicalHeight(history: ChainHistory, hash: Uint8Array): number | undefined {
  try {
    const { forkHeight, hashes } = history.branchOf(hash);
    return hashes.length === 0 && forkHeight > 0 ? forkHeight : undefined;
  } catch (error) {
    if (error instanceof UnknownParentError) return undefined;
    throw error;
  }
}

/**
 * Finds the block that a request names.
 * @returns its index block hash
 * @throws HookProblem 404 if no canonical block is named, 400 if height and hash name different blocks
 */
export function chosenBlock(
  history: ChainHistory,
  { index_block_hash: hash, block_height: height }: BlockChoice,
): Uint8Array {
  if (hash === undefined) {
    const atHeight = height === undefined ? undefined : history.hashAt(height);
    if (atHeight === undefined) throw unknownBlock();
    return atHeight;
  }
  const bytes = fromHex(hash);
  const canonical = canonicalHeight(history, bytes);
  if (canonical === undefined) throw unknownBlock();
  if (height !== undefined && height !== canonical) {
    throw invalidField('block_height', `must be ${canonical}, the height of index_block_hash`);
  }
  return bytes;
}
