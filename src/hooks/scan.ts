/** Finds the past blocks that a set of filters matches. */

import type { Block } from '../chain/block.ts';
import type { HookCandidates } from '../store/hooks/candidates.ts';
import type { ChainHistory } from '../store/ingest/ingest.ts';
import { declarations } from './evaluation/declarations.ts';
import { type Condition, indexKeyOf } from './filters.ts';
import { Matcher } from './matching.ts';
import type { MatchedBlock } from './payload.ts';

/** The only hook of the matcher. */
const SELF = 0;

/** A block that was looked at. */
export interface Scanned {
  height: number;
  /** Null where the block could have matched and doesn't. */
  matched: MatchedBlock | null;
  /** How many the block holds: what reading it cost. */
  transactions: number;
}

/** Looks through canonical blocks for what conditions match. */
export interface Scanner {
  /**
   * The first block of `from` to `to` that may match; null where none can. Where all filters name a principal or a
   * contract, blocks that have nothing to do with them are not read.
   * @throws OperatorError where a block's payload is kept no more
   */
  next(from: number, to: number): Scanned | null;
  /** The last block of `from` to `to` that may match, as {@link Scanner.next} gives the first. */
  previous(from: number, to: number): Scanned | null;
  /** What matches in a block. */
  at(indexBlockHash: Uint8Array): MatchedBlock | null;
}

/** The scanner of some conditions; it reads only blocks that can match. */
export function scanner(
  { history, candidates }: { history: ChainHistory; candidates: HookCandidates },
  conditions: readonly Condition[],
): Scanner {
  const matcher = new Matcher();
  matcher.set(SELF, conditions);
  const found = conditions.map(indexKeyOf);
  const keys = found.filter((key) => key !== null);
  const everywhere = keys.length < found.length;

  function matchedIn(block: Block): MatchedBlock | null {
    const txIndexes = matcher.match(block).get(SELF);
    return txIndexes === undefined ? null : { block, txIndexes, findFunction: declarations(candidates, block.height) };
  }

  function scanned(height: number): Scanned | null {
    const hash = history.hashAt(height);
    if (hash === undefined) return null;
    const block = history.block(hash);
    return { height, matched: matchedIn(block), transactions: block.transactions.length };
  }

  return {
    at: (indexBlockHash) => matchedIn(history.block(indexBlockHash)),
    next(from, to) {
      const first = Math.max(from, 1);
      if (conditions.length === 0 || first > to) return null;
      const height = everywhere ? first : candidates.next(keys, first);
      return height === null || height > to ? null : scanned(height);
    },
    previous(from, to) {
      const last = Math.min(to, history.tip().height);
      if (conditions.length === 0 || from > last) return null;
      const height = everywhere ? last : candidates.previous(keys, last);
      return height === null || height < Math.max(from, 1) ? null : scanned(height);
    },
  };
}
