/** Blocks of any fork with the ids of their transactions and microblocks, as v1 shows them, and microblocks (Stacks 2.x). */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../../base/bytes-equal.ts';
import type { Turns } from '../../../base/turns.ts';
import type { Block } from '../../../chain/block.ts';
import { positionsOf } from '../../../chain/position.ts';
import type {
  AnnouncedBlock,
  BlockSearch,
  ChainMicroblock,
  ConfirmedMicroblock,
  WholeBlock,
} from '../../model/block.ts';
import type { ListOrder, OffsetPage } from '../../model/page.ts';
import type { TransactionDetail } from '../../model/transaction.ts';
import { optional, query, type Stored, statements } from '../../rows/statement.ts';
import { numberedPage } from '../page.ts';
import type { ItemsOf } from '../row-texts.ts';
import type { DetailQueries } from '../transactions/details.ts';
import type { BlockRange } from './blocks.ts';
import type { ChainQueries } from './chain.ts';
import type { OrphanQueries } from './orphans.ts';

const lastAnchored = 'SELECT first_block + blocks - 1 AS height FROM anchor_burn_blocks';

export const sql = {
  byHeight: query<HeightRow, [number]>`SELECT height FROM blocks WHERE height = ?1`,
  byHash: query<HeightRow, [Uint8Array]>`SELECT height FROM blocks WHERE block_hash = ?1 ORDER BY height DESC LIMIT 1`,
  byIndexHash: query<HeightRow, [Uint8Array]>`SELECT height FROM blocks WHERE index_block_hash = ?1`,
  // Ordinals ascend with the chain: the last one has the highest block.
  byBurnHash: query<HeightRow, [Uint8Array]>`${lastAnchored} WHERE hash = ?1 ORDER BY ordinal DESC LIMIT 1`,
  byBurnHeight: query<HeightRow, [number]>`${lastAnchored} WHERE height = ?1 ORDER BY ordinal DESC LIMIT 1`,
  parentMicroblock: query<Microblock, [number]>`
    SELECT parent_microblock_hash AS hash, parent_microblock_sequence AS sequence FROM blocks WHERE height = ?1`,
  holds: query<Stored<'transactions', 'tx_id' | 'microblock_hash'>, [number, number]>`
    SELECT tx_id, microblock_hash FROM transactions WHERE position BETWEEN ?1 AND ?2 ORDER BY position`,
  confirmed: query<Stored<'microblocks', 'hash'>, [number]>`
    SELECT hash FROM microblocks WHERE height = ?1 ORDER BY ordinal`,
  count: query<Stored<'blocks', 'transactions'>, [number]>`SELECT transactions FROM blocks WHERE height = ?1`,
  ascending: query<Stored<'transactions', 'position'>, [number, number, number, number]>`
    SELECT position FROM transactions WHERE position BETWEEN ?1 AND ?2 ORDER BY position LIMIT ?3 OFFSET ?4`,
  descending: query<Stored<'transactions', 'position'>, [number, number, number, number]>`
    SELECT position FROM transactions WHERE position BETWEEN ?1 AND ?2 ORDER BY position DESC LIMIT ?3 OFFSET ?4`,
};

interface HeightRow {
  height: number;
}

type Microblock = NonNullable<WholeBlock['parentMicroblock']>;

/** The parent microblock; null for 32 zero bytes, which stand for none. */
const parentMicroblock = (microblock: Microblock | null): Microblock | null =>
  microblock === null || microblock.hash.every((byte) => byte === 0) ? null : microblock;

/** Returns a block as an orphan, which has no transactions or microblocks. */
const toOrphan = (block: WholeBlock): WholeBlock => ({
  ...block,
  canonical: false,
  txIds: [],
  confirmed: [],
  streamed: [],
});

const toWholeBlock = (block: Block): WholeBlock => ({
  canonical: true,
  height: block.height,
  hash: block.blockHash,
  indexHash: block.indexBlockHash,
  parentHash: block.parentBlockHash,
  parentIndexHash: block.parentIndexBlockHash,
  time: block.blockTime,
  tenureHeight: block.tenureHeight ?? (block.signerBits === null ? block.height : -1),
  burnBlock: { hash: block.burnBlockHash, height: block.burnBlockHeight, time: block.burnBlockTime },
  minerTxId: block.minerTxId,
  transactions: block.announcedTransactions,
  cost: block.cost,
  parentMicroblock: parentMicroblock({ hash: block.parentMicroblockHash, sequence: block.parentMicroblockSequence }),
  txIds: block.transactions.map(({ txId }) => txId),
  confirmed: confirmedBy(block.transactions.map(({ microblock }) => microblock?.hash ?? null)),
  streamed: [],
});

/** @param hashes the microblock of each transaction; null if it is in the anchor block; these come last */
function confirmedBy(hashes: readonly (Uint8Array | null)[]): ConfirmedMicroblock[] {
  const microblocks = new Map<string, ConfirmedMicroblock>();
  for (const hash of hashes) {
    if (hash === null) break;
    const microblock = microblocks.get(hash.toHex());
    if (microblock === undefined) microblocks.set(hash.toHex(), { hash, transactions: 1 });
    else microblock.transactions += 1;
  }
  return [...microblocks.values()];
}

interface Sources {
  range: BlockRange;
  orphans: OrphanQueries;
  details: DetailQueries;
  turns: Turns;
}

export function wholeBlockQueries(
  db: Database,
  { tip, historyStart, firstHeight }: Pick<ChainQueries, 'tip' | 'historyStart' | 'firstHeight'>,
  { range, orphans, details, turns }: Sources,
) {
  const read = statements(db, sql);

  function canonicalHeight(search: BlockSearch): number | undefined {
    if ('height' in search) return read.byHeight.get(search.height)?.height;
    if ('hash' in search) return read.byHash.get(search.hash)?.height;
    if ('indexHash' in search) return read.byIndexHash.get(search.indexHash)?.height;
    if ('burnHash' in search) return read.byBurnHash.get(search.burnHash)?.height;
    return read.byBurnHeight.get(search.burnHeight)?.height;
  }

  /** Whether the canonical block of a search is below the first one of the index, so that the search doesn't return an orphan. */
  function isOlder(search: BlockSearch): boolean {
    const start = historyStart();
    if (start === null) return false;
    if ('burnHash' in search) return bytesEqual(search.burnHash, start.burnBlockHash);
    return 'burnHeight' in search && search.burnHeight <= start.burnBlockHeight;
  }

  function whole(height: number): WholeBlock | undefined {
    const block = range(height, height)[0];
    if (block === undefined) return undefined;
    const { first, last } = positionsOf(height);
    const rows = read.holds.all(first, last);
    return {
      ...block,
      canonical: true,
      parentMicroblock: parentMicroblock(read.parentMicroblock.get(height)),
      txIds: rows.map(({ tx_id }) => tx_id),
      confirmed: confirmedBy(rows.map(({ microblock_hash }) => microblock_hash)),
      streamed: read.confirmed.all(height + 1).map(({ hash }) => hash),
    };
  }

  return {
    /** The canonical block of a search, else the highest orphan. */
    whole(search: BlockSearch): WholeBlock | undefined {
      const height = canonicalHeight(search);
      if (height !== undefined) return whole(height);
      const orphan = isOlder(search) ? undefined : orphans.block(search);
      return orphan === undefined ? undefined : toOrphan(toWholeBlock(orphan));
    },

    /**
     * A block as it was announced, whether it is canonical or orphaned now.
     * @returns undefined for an orphan that is too old to be stored
     */
    announced(indexHash: Uint8Array, canonical: boolean): AnnouncedBlock | undefined {
      const height = canonicalHeight({ indexHash });
      const orphan = height === undefined ? orphans.block({ indexHash }) : undefined;
      const block = height === undefined ? orphan && toWholeBlock(orphan) : whole(height);
      if (block === undefined) return undefined;
      return { block: canonical ? block : toOrphan(block), isOnChain: height !== undefined };
    },

    /** Canonical blocks, highest first. Yields to other work after each block, which may have thousands of transactions. */
    async wholePage(limit: number, offset: number): Promise<OffsetPage<WholeBlock>> {
      const pause = turns.longWork();
      const [first, last] = [firstHeight(), tip()?.height ?? 0];
      const items: WholeBlock[] = [];
      for (let height = last - offset; height >= first && items.length < limit; height--) {
        const block = whole(height);
        if (block !== undefined) items.push(block);
        await pause();
      }
      return { items, total: Math.max(0, last - first + 1) };
    },

    /** Transactions of a block; an orphan has none. Undefined if no fork has such a block. */
    transactions<Item>(
      search: BlockSearch,
      order: ListOrder,
      limit: number,
      offset: number,
      items: ItemsOf<TransactionDetail, Item>,
    ): OffsetPage<Item> | undefined {
      const height = canonicalHeight(search);
      if (height === undefined) return orphans.has(search) && !isOlder(search) ? { items: [], total: 0 } : undefined;
      const { first, last } = positionsOf(height);
      const rows = (order === 'asc' ? read.ascending : read.descending).all(first, last, limit, offset);
      return {
        items: items(details.rows(rows.map(({ position }) => position))),
        total: read.count.get(height)?.transactions ?? 0,
      };
    },
  };
}

// The parent of the index's first block isn't in the index: only the block's columns about its parent are available.
const columns = `m.hash, m.parent_hash, m.sequence, m.height, b.block_hash, b.parent_block_hash, p.burn_block_hash,
  coalesce(p.burn_block_height, 0) AS burn_block_height,
  coalesce(p.burn_block_time, b.parent_burn_block_time, 0) AS burn_block_time`;
const from = `FROM microblocks m CROSS JOIN blocks b ON b.height = m.height LEFT JOIN blocks p ON p.height = m.height - 1`;

export const microblocksSql = {
  total: query<{ total: number | null }>`SELECT max(ordinal) AS total FROM microblocks`,
  range: query<MicroblockRow, [number, number]>`
    SELECT ${columns} ${from} WHERE m.ordinal BETWEEN ?1 AND ?2 ORDER BY m.ordinal DESC`,
  byHash: query<MicroblockRow, [Uint8Array]>`
    SELECT ${columns} ${from} WHERE m.hash = ?1 ORDER BY m.ordinal DESC LIMIT 1`,
  transactions: query<Stored<'transactions', 'tx_id'>, [number, number, Uint8Array]>`
    SELECT tx_id FROM transactions WHERE position BETWEEN ?1 AND ?2 AND microblock_hash = ?3 ORDER BY position`,
};

interface MicroblockRow
  extends Stored<'microblocks', 'hash' | 'parent_hash' | 'sequence' | 'height'>,
    Stored<'blocks', 'block_hash' | 'parent_block_hash'> {
  /** Null if the index doesn't have the parent. */
  burn_block_hash: Uint8Array | null;
  burn_block_height: number;
  burn_block_time: number;
}

/** Stands for an unknown hash. */
const NO_HASH = new Uint8Array(0);

/** Microblocks that the canonical chain confirmed. */
export function microblockQueries(db: Database) {
  const { total, range, byHash, transactions } = statements(db, microblocksSql);

  function toMicroblock(row: MicroblockRow): ChainMicroblock {
    const { first, last } = positionsOf(row.height);
    return {
      hash: row.hash,
      parentHash: row.parent_hash,
      sequence: row.sequence,
      height: row.height,
      blockHash: row.block_hash,
      parentBlock: {
        hash: row.parent_block_hash,
        burnBlock: { hash: row.burn_block_hash ?? NO_HASH, height: row.burn_block_height, time: row.burn_block_time },
      },
      txIds: transactions.all(first, last, row.hash).map(({ tx_id }) => tx_id),
    };
  }

  return {
    /** Newest first. */
    page(limit: number, offset: number): OffsetPage<ChainMicroblock> {
      const ordinals = total.get()?.total ?? 0;
      return numberedPage(ordinals, limit, offset, (first, last) => range.all(first, last).map(toMicroblock));
    },

    find: (hash: Uint8Array): ChainMicroblock | undefined => optional(byHash.get(hash), toMicroblock),
  };
}
