/** Blocks for charts of the chain: the newest blocks with their fees and forks, and the number of blocks per hour or day. */
import type { Database } from 'bun:sqlite';
import { positionOf } from '../../../chain/position.ts';
import { decimalOf } from '../../rows/formats.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';

export const sql = {
  range: query<Omit<PicturedBlock, 'fees'>, [number, number]>`
    SELECT height, index_block_hash AS indexHash, block_hash AS hash, block_time AS time, burn_block_height AS burnHeight,
           tenure_height AS tenure, transactions, size
      FROM blocks WHERE height BETWEEN ?1 AND ?2 ORDER BY height DESC`,
  // Bitcoin operations have no nonce, and pay no fee to the miner.
  fee: query<Stored<'transactions', 'fee'>, [number]>`
    SELECT fee FROM transactions WHERE position = ? AND nonce IS NOT NULL`,
  orphans: query<PicturedOrphan, [number, number, number]>`
    SELECT height, index_block_hash AS indexHash, parent_index_block_hash AS parentIndexHash, burn_block_height AS burnHeight
      FROM orphaned_blocks
     WHERE height BETWEEN max(?1, ifnull((SELECT start_height FROM progress WHERE id = 1), 1)) AND ?2
     ORDER BY height DESC LIMIT ?3`,
  tip: query<Stored<'blocks', 'block_time' | 'transactions'> & BlockCounts>`
    SELECT height, block_time, transactions, preceding_transactions FROM blocks ORDER BY height DESC LIMIT 1`,
  since: query<BlockCounts, [number]>`
    SELECT height, preceding_transactions FROM blocks WHERE block_time >= ?1 ORDER BY block_time, height LIMIT 1`,
};

interface PicturedBlock {
  height: number;
  indexHash: Uint8Array;
  hash: Uint8Array;
  /** In Unix seconds. */
  time: number;
  burnHeight: number;
  tenure: number | null;
  transactions: number;
  /** Bytes of all transactions. */
  size: number;
  /** Fees above zero of up to {@link MAX_FEES} transactions, in micro-STX and in ascending order. */
  fees: number[];
}

interface PicturedOrphan {
  height: number;
  indexHash: Uint8Array;
  parentIndexHash: Uint8Array;
  burnHeight: number;
}

/** A span of time, such as a day in UTC. */
interface ChartedSpan {
  /** The beginning of the span in Unix seconds. */
  start: number;
  blocks: number;
  transactions: number;
}

/** The numbers of blocks and transactions below a block. */
type BlockCounts = Stored<'blocks', 'height' | 'preceding_transactions'>;

/** Maximum number of transactions of a block whose fees are read. A block can have thousands. */
const MAX_FEES = 15;

export function blockSeries(db: Database) {
  const { range, fee: feeAt, orphans, tip, since } = statements(db, sql);

  /** Reads the fees of transactions that are spread evenly over a block. */
  function sampleFees(height: number, transactions: number): number[] {
    const count = Math.min(transactions, MAX_FEES);
    return Array.from({ length: count }, (_, n) =>
      feeAt.get(positionOf(height, Math.floor((n * transactions) / count))),
    )
      .map((row) => (row === null ? 0 : Number(decimalOf(row.fee))))
      .filter((fee) => fee > 0)
      .sort((a, b) => a - b);
  }

  return {
    /**
     * The newest blocks, and the orphaned blocks at the same heights and above, highest first.
     * @param limit maximum number of blocks, and of orphans
     */
    newest(limit: number): { blocks: PicturedBlock[]; orphans: PicturedOrphan[] } {
      const last = tip.get();
      if (last === null) return { blocks: [], orphans: [] };
      const lowest = last.height - limit + 1;
      return {
        blocks: range
          .all(lowest, last.height)
          .map((block) => ({ ...block, fees: sampleFees(block.height, block.transactions) })),
        orphans: orphans.all(lowest, Number.MAX_SAFE_INTEGER, limit),
      };
    },

    /**
     * The spans of time from the first block to the tip, oldest first. Each span costs one look-up, since a block has
     * the number of transactions below it.
     * @param seconds length of a span
     * @param count maximum number of spans
     */
    counts(seconds: number, count: number): ChartedSpan[] {
      const last = tip.get();
      if (last === null) return [];
      const end: BlockCounts = {
        height: last.height + 1,
        preceding_transactions: last.preceding_transactions + last.transactions,
      };
      const newest = Math.floor(last.block_time / seconds);
      const spans: ChartedSpan[] = [];
      let next = end;
      for (let span = newest; span > newest - count && next.height > 1; span--) {
        const block = since.get(span * seconds) ?? end;
        // Blocks of Stacks 2.x have Bitcoin's time, which may run back. The earliest block of a span may then be above the
        // first block of a later span.
        const first = block.height < next.height ? block : next;
        spans.push({
          start: span * seconds,
          blocks: next.height - first.height,
          transactions: next.preceding_transactions - first.preceding_transactions,
        });
        next = first;
      }
      return spans.reverse();
    },
  };
}
