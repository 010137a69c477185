/** Finds the past blocks that a set of filters matches. */

import type { HookCandidates } from '../store/hooks/candidates.ts';
import type { ChainHistory } from '../store/ingest.ts';
import { declarations } from './declarations.ts';
import { type Condition, landmarkOf } from './filters.ts';
import { Matcher } from './matching.ts';
import type { MatchedBlock } from './payload.ts';

/** The only hook of the matcher. */
const SELF = 0;

export interface Scanned {
  height: number;
  /** Null where the block could have matched and doesn't. */
  matched: MatchedBlock | null;
}

export interface Scanner {
  /**
   * The first block of `from` to `to` that may match; null where none can. Where all filters name a principal or a
   * contract, blocks that have nothing to do with them are not read.
   * @throws OperatorError where a block's payload is kept no more
   */
  next(from: number, to: number): Scanned | null;
  /** What matches in a block. */
  at(indexBlockHash: Uint8Array): MatchedBlock | null;
}

export function scanner(
  { history, candidates }: { history: ChainHistory; candidates: HookCandidates },
  conditions: readonly Condition[],
): Scanner {
  const matcher = new Matcher();
  matcher.set(SELF, conditions);
  const found = conditions.map(landmarkOf);
  const landmarks = found.filter((landmark) => landmark !== null);
  const everywhere = landmarks.length < found.length;

  function at(indexBlockHash: Uint8Array): MatchedBlock | null {
    const block = history.block(indexBlockHash);
    const places = matcher.match(block).get(SELF);
    return places === undefined ? null : { block, places, findFunction: declarations(candidates, block.height) };
  }

  return {
    at,
    next(from, to) {
      if (conditions.length === 0 || from > to) return null;
      const height = everywhere ? Math.max(from, 1) : candidates.next(landmarks, Math.max(from, 1));
      if (height === null || height > to) return null;
      const hash = history.hashAt(height);
      if (hash === undefined) return null;
      return { height, matched: at(hash) };
    },
  };
}
