/** Heights of times and positions of heights: the first block since a time, the heights of a window, and positions in a block. */
import type { Database } from 'bun:sqlite';
import { ANCHORED_SEQUENCE } from '../../../chain/block.ts';
import { positionsOf } from '../../../chain/position.ts';
import type { BlockWindow, HeightSpan, PositionInBlock } from '../../model/block.ts';
import { query } from '../../rows/statement.ts';

/** Maximum seconds between a block's time and an earlier block's later time: blocks of Stacks 2.x have Bitcoin's time. */
const CLOCK_RUNS_BACK = 4 * 60 * 60;

export const sql = {
  // The lowest height, not the earliest time, so that periods which follow each other share no block.
  since: query<{ height: number | null }, [number]>`
    SELECT min(b.height) AS height
      FROM (SELECT block_time AS least FROM blocks WHERE block_time >= ?1 ORDER BY block_time LIMIT 1)
      JOIN blocks b ON b.block_time BETWEEN least AND least + ${CLOCK_RUNS_BACK}`,
};

/** Makes the function that finds the first height with a time or a later one; undefined if no block has one. */
export function firstSinceQuery(db: Database): (time: number) => number | undefined {
  const since = sql.since.prepared(db);
  return (time) => since.get(time)?.height ?? undefined;
}

/** A height above every block. Positions of greater heights aren't safe integers. */
export const LAST_HEIGHT = 2 ** 32;

const chooseHeight = (a: number | null, b: number | null, choose: (...heights: number[]) => number): number | null =>
  a === null || b === null ? (a ?? b) : choose(a, b);

/** Makes the function that finds the heights of a window. */
export function windowQuery(db: Database): (window: BlockWindow) => HeightSpan {
  const firstSince = firstSinceQuery(db);
  return ({ heights, since, until }) => ({
    from: chooseHeight(heights.from, since === null ? null : (firstSince(since) ?? LAST_HEIGHT), Math.max),
    to: chooseHeight(heights.to, until === null ? null : (firstSince(until + 1) ?? LAST_HEIGHT) - 1, Math.min),
  });
}

/** A range of positions, both ends included. */
export interface Span {
  first: number;
  last: number;
}

/** The positions of blocks between two heights. */
export function spanOf({ from, to }: HeightSpan): Span {
  return {
    first: positionsOf(Math.min(from ?? 0, LAST_HEIGHT)).first,
    last: positionsOf(Math.min(to ?? LAST_HEIGHT, LAST_HEIGHT)).last,
  };
}

export const transactionPositionsSql = {
  // Reads the transactions of one block at most.
  transaction: query<{ position: number; tx_index: number; sequence: number }, [number, number, number, number]>`
    SELECT position, tx_index, coalesce(microblock_sequence, ${ANCHORED_SEQUENCE}) AS sequence FROM transactions
     WHERE position BETWEEN ?1 AND ?2 AND (coalesce(microblock_sequence, ${ANCHORED_SEQUENCE}), tx_index) <= (?3, ?4)
     ORDER BY position DESC LIMIT 1`,
};

export function transactionPositionQuery(db: Database) {
  const transaction = transactionPositionsSql.transaction.prepared(db);

  /** The position of the last transaction at or before an index in a block, else that before the block; `exact`: at the index. */
  return ({ height, microblockSequence, txIndex }: PositionInBlock & { height: number }) => {
    const { first, last } = positionsOf(Math.min(height, LAST_HEIGHT));
    const row = transaction.get(first, last, microblockSequence, txIndex);
    if (row === null) return { position: first - 1, exact: false };
    return { position: row.position, exact: row.sequence === microblockSequence && row.tx_index === txIndex };
  };
}
