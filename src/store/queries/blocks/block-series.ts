/** Blocks for charts: the newest ones with their times, and the number on each day. */
import type { Database } from 'bun:sqlite';
import { prepared, type Stored } from '../../rows/statement.ts';

export const sql = {
  range: 'SELECT height, block_time, transactions FROM blocks WHERE height BETWEEN ?1 AND ?2 ORDER BY height',
  tip: 'SELECT height, block_time, transactions, preceding_transactions FROM blocks ORDER BY height DESC LIMIT 1',
  since: `SELECT height, preceding_transactions FROM blocks
           WHERE block_time >= ?1 ORDER BY block_time, height LIMIT 1`,
};

/** A block of a chart; its time is in Unix seconds. */
interface ChartedBlock {
  height: number;
  time: number;
  transactions: number;
}

/** A day in UTC. */
interface ChartedDay {
  /** The beginning of the day in Unix seconds. */
  start: number;
  blocks: number;
  transactions: number;
}

type BlockRow = Stored<'blocks', 'height' | 'block_time' | 'transactions'>;
/** The numbers of blocks and transactions below a block. */
type Below = Stored<'blocks', 'height' | 'preceding_transactions'>;

const DAY = 86_400;

export function blockSeries(db: Database) {
  const range = prepared<BlockRow, [number, number]>(db, sql.range);
  const tip = prepared<BlockRow & Below, []>(db, sql.tip);
  const since = prepared<Below, [number]>(db, sql.since);

  return {
    /**
     * The newest blocks within a span before the tip, oldest first.
     * @param seconds the span, by the time of the tip @param limit maximum number of blocks
     */
    newest(seconds: number, limit: number): ChartedBlock[] {
      const last = tip.get();
      if (last === null) return [];
      const first = since.get(last.block_time - seconds)?.height ?? last.height;
      return range
        .all(Math.max(first, last.height - limit + 1), last.height)
        .map(({ height, block_time, transactions }) => ({ height, time: block_time, transactions }));
    },

    /**
     * The days from the first block to the tip, oldest first. Each day costs one look-up, since a
     * block has the number of transactions below it.
     * @param count maximum number of days
     */
    days(count: number): ChartedDay[] {
      const last = tip.get();
      if (last === null) return [];
      const end: Below = {
        height: last.height + 1,
        preceding_transactions: last.preceding_transactions + last.transactions,
      };
      const today = Math.floor(last.block_time / DAY);
      const days: ChartedDay[] = [];
      let after = end;
      for (let day = today; day > today - count && after.height > 1; day--) {
        const first = since.get(day * DAY) ?? end;
        days.push({
          start: day * DAY,
          blocks: after.height - first.height,
          transactions: after.preceding_transactions - first.preceding_transactions,
        });
        after = first;
      }
      return days.reverse();
    },
  };
}
