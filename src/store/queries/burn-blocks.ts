/** Bitcoin blocks that canonical blocks are anchored to. They are numbered without gaps, so lists are arithmetic. */
import type { Database } from 'bun:sqlite';
import type { AnchorBurnBlock, BlockId, ChainBlock } from '../model/block.ts';
import type { OffsetPage } from '../model/page.ts';
import { prepared } from '../rows/statement.ts';
import type { BlockRange } from './blocks.ts';

const columns = 'ordinal, hash, height, time, first_block, blocks, transactions';

export const sql = {
  newest: `SELECT ${columns} FROM anchor_burn_blocks ORDER BY ordinal DESC LIMIT 1`,
  byHeight: `SELECT ${columns} FROM anchor_burn_blocks WHERE height = ?1 ORDER BY ordinal DESC LIMIT 1`,
  byHash: `SELECT ${columns} FROM anchor_burn_blocks WHERE hash = ?1 ORDER BY ordinal DESC LIMIT 1`,
  range: `SELECT ${columns} FROM anchor_burn_blocks WHERE ordinal BETWEEN ?1 AND ?2 ORDER BY ordinal DESC`,
  blocks: 'SELECT block_hash, block_time FROM blocks WHERE height BETWEEN ?1 AND ?2 ORDER BY height DESC',
};

interface Row {
  ordinal: number;
  hash: Uint8Array;
  height: number;
  time: number;
  first_block: number;
  blocks: number;
  transactions: number;
}

export function burnBlockQueries(db: Database, blockRange: BlockRange) {
  const newest = prepared<Row, []>(db, sql.newest);
  const byHeight = prepared<Row, [number]>(db, sql.byHeight);
  const byHash = prepared<Row, [Uint8Array]>(db, sql.byHash);
  const range = prepared<Row, [number, number]>(db, sql.range);
  const anchored = prepared<{ block_hash: Uint8Array; block_time: number }, [number, number]>(db, sql.blocks);

  function row(id: BlockId): Row | null {
    if (id === 'latest') return newest.get();
    return 'height' in id ? byHeight.get(id.height) : byHash.get(id.hash);
  }

  function burnBlockOf({ hash, height, time, first_block, blocks, transactions }: Row): AnchorBurnBlock {
    const found = anchored.all(first_block, first_block + blocks - 1);
    const [last, first] = [found[0]?.block_time ?? 0, found.at(-1)?.block_time ?? 0];
    return {
      hash,
      height,
      time,
      blocks: found.map(({ block_hash }) => block_hash),
      averageBlockTime: blocks > 1 ? (last - first) / (blocks - 1) : 0,
      transactions,
    };
  }

  return {
    /** Bitcoin blocks that canonical blocks are anchored to, highest first. */
    async page(limit: number, offset: number): Promise<OffsetPage<AnchorBurnBlock>> {
      const total = newest.get()?.ordinal ?? 0;
      const last = total - offset;
      return { items: range.all(last - limit + 1, last).map(burnBlockOf), total };
    },

    async find(id: BlockId): Promise<AnchorBurnBlock | undefined> {
      const found = row(id);
      return found === null ? undefined : burnBlockOf(found);
    },

    /** The blocks anchored to one, highest first. */
    async blocks(id: BlockId, limit: number, offset: number): Promise<OffsetPage<ChainBlock> | undefined> {
      const found = row(id);
      if (found === null) return undefined;
      const { first_block, blocks } = found;
      const last = first_block + blocks - 1 - offset;
      return { items: blockRange(Math.max(first_block, last - limit + 1), last), total: blocks };
    },
  };
}
