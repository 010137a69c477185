/** Microblocks that the canonical chain confirmed (Stacks 2.x). */
import type { Database } from 'bun:sqlite';
import { positionsOf } from '../../../chain/position.ts';
import type { ChainMicroblock } from '../../model/block.ts';
import type { OffsetPage } from '../../model/page.ts';
import { optional, query, type Stored, statements } from '../../rows/statement.ts';

// The parent of the index's first block isn't in the index: only the block's columns about its parent are available.
const columns = `m.hash, m.parent_hash, m.sequence, m.height, b.block_hash, b.parent_block_hash, p.burn_block_hash,
  coalesce(p.burn_block_height, 0) AS burn_block_height,
  coalesce(p.burn_block_time, b.parent_burn_block_time, 0) AS burn_block_time`;
const from = `FROM microblocks m CROSS JOIN blocks b ON b.height = m.height LEFT JOIN blocks p ON p.height = m.height - 1`;

export const sql = {
  total: query<{ total: number | null }>`SELECT max(ordinal) AS total FROM microblocks`,
  range: query<Row, [number, number]>`
    SELECT ${columns} ${from} WHERE m.ordinal BETWEEN ?1 AND ?2 ORDER BY m.ordinal DESC`,
  byHash: query<Row, [Uint8Array]>`SELECT ${columns} ${from} WHERE m.hash = ?1 ORDER BY m.ordinal DESC LIMIT 1`,
  transactions: query<Stored<'transactions', 'tx_id'>, [number, number, Uint8Array]>`
    SELECT tx_id FROM transactions WHERE position BETWEEN ?1 AND ?2 AND microblock_hash = ?3 ORDER BY position`,
};

interface Row
  extends Stored<'microblocks', 'hash' | 'parent_hash' | 'sequence' | 'height'>,
    Stored<'blocks', 'block_hash' | 'parent_block_hash'> {
  /** Null if the index doesn't have the parent. */
  burn_block_hash: Uint8Array | null;
  burn_block_height: number;
  burn_block_time: number;
}

/** Stands for an unknown hash. */
const NO_HASH = new Uint8Array(0);

export function microblockQueries(db: Database) {
  const { total, range, byHash, transactions } = statements(db, sql);

  function confirmed(row: Row): ChainMicroblock {
    const { first, last } = positionsOf(row.height);
    return {
      hash: row.hash,
      parentHash: row.parent_hash,
      sequence: row.sequence,
      height: row.height,
      blockHash: row.block_hash,
      parentBlock: {
        hash: row.parent_block_hash,
        burnBlock: {
          hash: row.burn_block_hash ?? NO_HASH,
          height: row.burn_block_height,
          time: row.burn_block_time,
        },
      },
      txIds: transactions.all(first, last, row.hash).map(({ tx_id }) => tx_id),
    };
  }

  return {
    /** Newest first. */
    page(limit: number, offset: number): OffsetPage<ChainMicroblock> {
      const ordinals = total.get()?.total ?? 0;
      const last = ordinals - offset;
      return { items: range.all(last - limit + 1, last).map(confirmed), total: ordinals };
    },

    find: (hash: Uint8Array): ChainMicroblock | undefined => optional(byHash.get(hash), confirmed),
  };
}
