/** How much of the node's limits the newest tenures used. */
import type { Database } from 'bun:sqlite';
import type { TenureLoad } from '../model/block.ts';
import { heightIn } from '../rows/expressions.ts';
import { prepared } from '../rows/statement.ts';
import { PAYLOAD } from '../rows/words.ts';

export const sql = {
  // 7: a tenure change, of whatever cause, from which on the node counts anew.
  starts: `SELECT ${heightIn('position')} AS height FROM transactions WHERE type = ${PAYLOAD.tenure_change} ORDER BY position DESC LIMIT ?1`,
  load: `SELECT count(*) AS blocks, total(cost_runtime) AS runtime, total(cost_read_count) AS readCount,
                total(cost_read_length) AS readLength, total(cost_write_count) AS writeCount,
                total(cost_write_length) AS writeLength, total(size) AS size
           FROM blocks WHERE height >= ?1 AND height < ?2`,
};

export function tenureQueries(db: Database) {
  const starts = prepared<{ height: number }, [number]>(db, sql.starts);
  const load = prepared<TenureLoad, [number, number]>(db, sql.load);
  return {
    /** The present one and up to so many before it, newest first; none before the first change of tenure. */
    async loads(completed: number): Promise<TenureLoad[]> {
      const loads: TenureLoad[] = [];
      let end = Number.MAX_SAFE_INTEGER;
      for (const { height } of starts.all(completed + 1)) {
        const found = load.get(height, end);
        if (found !== null && found.blocks > 0) loads.push(found);
        end = height;
      }
      return loads;
    },
  };
}
