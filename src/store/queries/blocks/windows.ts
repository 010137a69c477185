/** Heights of times: the first block since a time, and the heights of a window. */
import type { Database } from 'bun:sqlite';
import { positionsOf } from '../../../chain/position.ts';
import type { BlockWindow, HeightSpan } from '../../model/block.ts';
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

/** Above every height. Positions of greater heights aren't safe integers. */
const BEYOND = 2 ** 32;

const both = (a: number | null, b: number | null, choose: (...heights: number[]) => number): number | null =>
  a === null || b === null ? (a ?? b) : choose(a, b);

/** Makes the function that finds the heights of a window. */
export function windowQuery(db: Database): (window: BlockWindow) => HeightSpan {
  const firstSince = firstSinceQuery(db);
  return ({ heights, since, until }) => ({
    from: both(heights.from, since === null ? null : (firstSince(since) ?? BEYOND), Math.max),
    to: both(heights.to, until === null ? null : (firstSince(until + 1) ?? BEYOND) - 1, Math.min),
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
    first: positionsOf(Math.min(from ?? 0, BEYOND)).first,
    last: positionsOf(Math.min(to ?? BEYOND, BEYOND)).last,
  };
}
