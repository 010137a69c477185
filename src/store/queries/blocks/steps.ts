/**
 * Reads the changes of the chain in the log's order: a step of the tip reverts blocks and applies others.
 *
 * The tip is the first block of its height that came, and a block comes after its parent. So there is one step for each height:
 * from the first block of the height below to the first block of the height. Both follow from the order of receipt,
 * and the blocks between from their parents, which are stored for canonical and orphaned blocks. So the changes are a function
 * of the log. They don't depend on the present canonical chain, and no table stores them.
 */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../../base/bytes-equal.ts';
import type { Block } from '../../../chain/block.ts';
import { missingPayload } from '../../files/payload-source.ts';
import type { BlockChange, ChangePosition } from '../../model/block.ts';
import { UnreadableCursorError } from '../../model/read-errors.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { type Branch, branchQuery, type ChainQueries, logIdentityQuery } from './chain.ts';
import type { OrphanQueries } from './orphans.ts';

/** Blocks of a height, on all branches, with their payloads. */
export const blocksAtHeight = `FROM (
              SELECT index_block_hash FROM blocks WHERE height = ?1
              UNION ALL SELECT index_block_hash FROM orphaned_blocks WHERE height = ?1
            ) b JOIN block_payloads p ON p.index_block_hash = b.index_block_hash`;

export const sql = {
  arrivals: query<Stored<'block_payloads'>, [number]>`SELECT p.journal_id, b.index_block_hash ${blocksAtHeight}`,
  hashAt: query<Stored<'blocks', 'index_block_hash'>, [number]>`SELECT index_block_hash FROM blocks WHERE height = ?1`,
  nextOrphan: query<Stored<'orphaned_blocks', 'height'>, [number]>`
    SELECT height FROM orphaned_blocks WHERE height >= ?1 ORDER BY height LIMIT 1`,
};

const isSame = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === null || b === null ? a === b : bytesEqual(a, b);

const unknownBlock = (block: Uint8Array): UnreadableCursorError =>
  new UnreadableCursorError(`no block 0x${block.toHex()} is known`, block);

export function stepQueries(
  db: Database,
  chain: Pick<ChainQueries, 'tip' | 'firstHeight' | 'historyStart'>,
  { sentBlock }: Pick<OrphanQueries, 'sentBlock'>,
) {
  const { arrivals, hashAt: canonicalAt, nextOrphan } = statements(db, sql);
  const branchAt = branchQuery(db, chain.historyStart);

  const bottom = (): number => chain.firstHeight() - 1;
  const tipHeight = (): number => Math.max(chain.tip()?.height ?? 0, bottom());
  const hashAt = (height: number): Uint8Array | null => canonicalAt.get(height)?.index_block_hash ?? null;
  /** The block that was the tip at a height: the first of that height in this history. Null below the first block or above the tip. */
  const tipAt = (height: number): Uint8Array | null => {
    if (height <= bottom()) return null;
    const all = arrivals.all(height).sort((a, b) => a.journal_id - b.journal_id);
    return all.find((block) => !branchOf(block.index_block_hash).isBelowHistory)?.index_block_hash ?? null;
  };

  /** The branch of a block; null stands for the block below the history. @throws UnreadableCursorError for an unknown block */
  function branchOf(block: Uint8Array | null): Branch {
    if (block !== null) {
      const branch = branchAt(block);
      if (branch === null) throw unknownBlock(block);
      return branch;
    }
    const height = bottom();
    const parent = new Uint8Array(0);
    return { height, parent, hashes: [], lowest: height + 1, forkHeight: height, isBelowHistory: false };
  }

  /** Whether the chain that ends at a place starts at the history's first block. If not, the history was restarted since then. */
  const isOfThisHistory = ({ block, start }: ChangePosition, { isBelowHistory }: Branch): boolean =>
    block === null || (!isBelowHistory && start === chain.firstHeight());

  /** Whether the first branch's block is in the second branch, or below it. */
  const isBelow = (from: Branch, to: Branch, block: Uint8Array | null): boolean =>
    from.hashes.length === 0
      ? from.height <= to.forkHeight
      : isSame(block, to.hashes[from.height - to.forkHeight - 1] ?? null);

  const identity = logIdentityQuery(db);
  const placeAt = (step: number, block: Uint8Array | null, start = chain.firstHeight()): ChangePosition => {
    return { log: identity() ?? '', step, block, start };
  };

  /** The place before the first change. */
  const first = (): ChangePosition => placeAt(bottom(), null);

  /** The place before the canonical block of a height, up to one above the tip, after which the present chain is applied. */
  const before = (height: number): ChangePosition =>
    // Block 0 is the chain while there is no other block, and is in no step.
    placeAt(tipHeight(), height - 1 <= bottom() ? null : hashAt(height - 1));

  return {
    first,
    tipHeight,

    /** The place behind the last change. */
    last: (): ChangePosition => placeAt(tipHeight(), tipAt(tipHeight())),

    before,

    /**
     * Returns the place in this log for a place in any log. Steps of another log mean nothing here, so its block must be
     * canonical.
     * @throws UnreadableCursorError
     */
    here(place: ChangePosition): ChangePosition {
      const { log, block } = place;
      if (log === identity()) return place;
      const { height, hashes } = branchOf(block);
      if (hashes.length > 0) throw unknownBlock(block!);
      return before(height + 1);
    },

    /** The change after a place; null behind the last one. @throws UnreadableCursorError */
    next(place: ChangePosition): BlockChange | null {
      const { block } = place;
      let step = Math.max(place.step, bottom());
      let tip = tipAt(step);
      if (isSame(block, tip)) {
        step += 1;
        tip = tipAt(step);
      }
      if (tip === null && step > bottom()) return null;
      const [from, to] = [branchOf(block), branchOf(tip)];
      if (isOfThisHistory(place, from) && isBelow(from, to, block)) {
        const height = from.height + 1;
        const hash = height <= to.forkHeight ? hashAt(height)! : to.hashes[height - to.forkHeight - 1]!;
        return { change: 'apply', height, hash, place: placeAt(step, hash) };
      }
      // The index may have the block below the start by now, but the reader never received it.
      const parent = from.height <= place.start ? null : from.parent;
      const start = parent === null ? chain.firstHeight() : place.start;
      return { change: 'rollback', height: from.height, hash: block!, place: placeAt(step, parent, start) };
    },

    /** Height of a place's block. @throws UnreadableCursorError */
    heightAt: ({ block }: ChangePosition): number => branchOf(block).height,

    /**
     * Skips changes that apply blocks that are canonical now, up to a height. Stops at any other change.
     * @throws UnreadableCursorError
     */
    pass(place: ChangePosition, upTo: number): ChangePosition {
      const { step, block } = place;
      const tip = tipAt(step);
      const from = branchOf(block);
      if (from.hashes.length > 0 || !isOfThisHistory(place, from)) return place;
      if (!isSame(block, tip)) {
        const last = Math.min(upTo, tip === null ? 0 : branchOf(tip).forkHeight);
        return last <= from.height ? place : placeAt(step, hashAt(last));
      }
      // A height without an orphan has one block: each step up to the next orphan applies the canonical block.
      const orphaned = nextOrphan.get(from.height + 1)?.height ?? Number.POSITIVE_INFINITY;
      const last = Math.min(upTo, orphaned - 1, tipHeight());
      return last <= from.height ? place : placeAt(last, hashAt(last));
    },

    /** The orphans of a block's branch, from the fork up to the block, and the height of the fork. @throws UnreadableCursorError */
    branchOf: (block: Uint8Array): Pick<Branch, 'forkHeight' | 'hashes'> => branchOf(block),

    /** Returns a block as the node sent it. @throws OperatorError if the journal doesn't have it */
    block(hash: Uint8Array): Block {
      const block = sentBlock(hash);
      if (block === undefined) throw missingPayload(hash);
      return block;
    },
  };
}
