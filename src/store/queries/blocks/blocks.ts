/** Reads canonical blocks, their costs and tenures. Heights don't have gaps, so arithmetic finds a page. */
import type { Database } from 'bun:sqlite';
import type { ExecutionCost } from '../../../chain/block.ts';
import type { BlockId, ChainBlock, Heights, TenureLoad } from '../../model/block.ts';
import type { Cursor, CursorSide, OffsetPage, OffsetStart, Page } from '../../model/page.ts';
import { PAYLOAD } from '../../rows/enums.ts';
import { columnList, exactColumn, heightIn } from '../../rows/expressions.ts';
import { type AsNumberOrText, optional, query, type Stored, statements } from '../../rows/statement.ts';
import { emptyPage, numberAt, readPage } from '../page.ts';
import { blockRowId, type ItemsOf, models, type PageRows, type RowTexts } from '../row-texts.ts';
import type { ChainQueries } from './chain.ts';

const COST_COLUMNS = [
  'cost_runtime',
  'cost_read_count',
  'cost_read_length',
  'cost_write_count',
  'cost_write_length',
] as const;

export interface CostRow extends AsNumberOrText<Stored<'blocks', (typeof COST_COLUMNS)[number]>> {}

/** @param table alias of the table with the columns */
export const costColumns = (table: string): string => COST_COLUMNS.map((name) => exactColumn(table, name)).join(', ');

const exact = (value: number | string): number | bigint => (typeof value === 'number' ? value : BigInt(value));

export const costOf = (row: CostRow): ExecutionCost => ({
  runtime: exact(row.cost_runtime),
  readCount: exact(row.cost_read_count),
  readLength: exact(row.cost_read_length),
  writeCount: exact(row.cost_write_count),
  writeLength: exact(row.cost_write_length),
});

/** The columns before and after the tenure height. */
const FIRST_COLUMNS = [
  'height',
  'block_hash',
  'index_block_hash',
  'parent_block_hash',
  'parent_index_block_hash',
  'block_time',
] as const;
const LAST_COLUMNS = [
  'burn_block_hash',
  'burn_block_height',
  'burn_block_time',
  'miner_tx_id',
  'announced_transactions',
] as const;
const columns = `${columnList('b', FIRST_COLUMNS)},
  coalesce(b.tenure_height, iif(b.signer_bits IS NULL, b.height, -1)) AS tenure_height,
  ${columnList('b', LAST_COLUMNS)}, ${costColumns('b')}`;

export const sql = {
  range: query<Row, [number, number]>`
    SELECT ${columns} FROM blocks b WHERE b.height BETWEEN ?1 AND ?2 ORDER BY b.height DESC`,
  // The first of the blocks with the same time.
  at: query<Row, [number]>`
    SELECT ${columns} FROM blocks b
     WHERE b.block_time = (SELECT max(block_time) FROM blocks WHERE block_time <= ?1) ORDER BY b.height LIMIT 1`,
  height: query<HeightRow, [Uint8Array]>`SELECT height FROM blocks WHERE index_block_hash = ?1`,
  time: query<Stored<'blocks', 'block_time'>, [number]>`SELECT block_time FROM blocks WHERE height = ?1`,
  since: query<HeightRow, [number]>`
    SELECT height FROM blocks WHERE block_time >= ?1 ORDER BY block_time, height LIMIT 1`,
  firstOfTenure: query<HeightRow, [number]>`SELECT height FROM blocks WHERE tenure_height = ?1 ORDER BY height LIMIT 1`,
  lastOfTenure: query<HeightRow, [number]>`
    SELECT height FROM blocks WHERE tenure_height = ?1 ORDER BY height DESC LIMIT 1`,
  // Before tenures had heights, each block was a tenure.
  blockAsTenure: query<HeightRow, [number]>`
    SELECT height FROM blocks WHERE height = ?1 AND tenure_height IS NULL AND signer_bits IS NULL`,
  signatures: query<Stored<'blocks', 'signer_signatures'>, [number]>`
    SELECT signer_signatures FROM blocks WHERE height = ?1`,
};

/** Bytes of a signature. */
const SIGNATURE = 65;
const NO_BYTES = new Uint8Array(0);

interface Row extends CostRow, Stored<'blocks', (typeof FIRST_COLUMNS)[number] | (typeof LAST_COLUMNS)[number]> {
  tenure_height: number;
}

type HeightRow = Stored<'blocks', 'height'>;

const blockOf = (row: Row): ChainBlock => ({
  height: row.height,
  hash: row.block_hash,
  indexHash: row.index_block_hash,
  parentHash: row.parent_block_hash,
  parentIndexHash: row.parent_index_block_hash,
  time: row.block_time,
  tenureHeight: row.tenure_height,
  burnBlock: { hash: row.burn_block_hash, height: row.burn_block_height, time: row.burn_block_time },
  minerTxId: row.miner_tx_id,
  transactions: row.announced_transactions,
  cost: costOf(row),
});

const NO_HEIGHTS: Heights = { first: 1, last: 0 };
/** A height below every block. */
const NO_HEIGHT = -1;

/** Returns the heights of a range, lowest first. */
const heightsIn = (first: number, last: number): number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);

export type BlockRange = (first: number, last: number) => ChainBlock[];

/** @param texts caches texts of blocks */
export function blockQueries(db: Database, chain: ChainQueries, texts: RowTexts) {
  const read = statements(db, sql);

  /** Blocks of a range, highest first. */
  const range: BlockRange = (first, last) => read.range.all(first, last).map(blockOf);
  const tipHeight = (): number => chain.tip()?.height ?? 0;

  function tenure(tenureHeight: number): Heights {
    const first = read.firstOfTenure.get(tenureHeight)?.height;
    const last = read.lastOfTenure.get(tenureHeight)?.height;
    if (first !== undefined && last !== undefined) return { first, last };
    const height = read.blockAsTenure.get(tenureHeight)?.height;
    return height === undefined ? NO_HEIGHTS : { first: height, last: height };
  }

  /** The cursor that a start names; undefined if the start or its offset names no block of the heights. */
  function cursorIn(
    { first, last }: Heights,
    { cursor, item, offset }: OffsetStart<Uint8Array>,
  ): Cursor | null | undefined {
    const cursorAt = (side: CursorSide, height: number): Cursor | undefined =>
      height - offset >= first && height - offset <= last ? { side, key: [height - offset] } : undefined;
    if (item !== null) {
      const height = read.height.get(item)?.height ?? NO_HEIGHT;
      return height >= first && height <= last ? cursorAt('from', height) : undefined;
    }
    if (offset === 0) return cursor;
    return cursor === null ? cursorAt('from', last) : cursorAt(cursor.side, numberAt(cursor.key, 0));
  }

  /** Blocks at heights, in any order. */
  function atEach(heights: readonly number[]): ChainBlock[] {
    const [first, last] = [Math.min(...heights), Math.max(...heights)];
    const blocks = range(first, last);
    return heights.map((height) => blocks[last - height]!);
  }
  const rowsOf = (heights: readonly number[]): PageRows<ChainBlock> =>
    texts.rows(heights, { idOf: blockRowId, heightOf: (height) => height, read: atEach });

  function page<Item>(
    heights: Heights,
    limit: number,
    start: OffsetStart<Uint8Array>,
    items: ItemsOf<ChainBlock, Item>,
  ): Page<Item> | undefined {
    const { first, last } = heights;
    const total = last - first + 1;
    const cursor = cursorIn(heights, start);
    if (cursor === undefined) return start.cursor === null && start.item === null ? emptyPage(total) : undefined;
    const page = readPage({
      limit,
      cursor,
      total,
      rows(key, isBackward, count) {
        if (isBackward) {
          const from = key === null ? first : Math.max(first, Math.ceil(numberAt(key, 0)));
          return heightsIn(from, Math.min(last, from + count - 1));
        }
        const from = key === null ? last : Math.min(last, Math.floor(numberAt(key, 0)));
        return heightsIn(Math.max(first, from - count + 1), from).reverse();
      },
      keyOf: (height) => [height],
      itemOf: (height: number) => height,
    });
    return { ...page, items: items(rowsOf(page.items)) };
  }

  return {
    range,
    /** Canonical blocks, highest first; undefined if the start, an index block hash, isn't a canonical block. */
    page<Item>(
      limit: number,
      start: OffsetStart<Uint8Array>,
      items: ItemsOf<ChainBlock, Item>,
    ): Page<Item> | undefined {
      const first = chain.firstHeight();
      return page({ first, last: Math.max(tipHeight(), first - 1) }, limit, start, items);
    },
    /** Blocks of a tenure, highest first; an unknown tenure has none. */
    ofTenure: <Item>(
      tenureHeight: number,
      limit: number,
      start: OffsetStart<Uint8Array>,
      items: ItemsOf<ChainBlock, Item>,
    ): Page<Item> | undefined => page(tenure(tenureHeight), limit, start, items),

    find<Item = ChainBlock>(id: BlockId, items: ItemsOf<ChainBlock, Item> = models as never): Item | undefined {
      const height = chain.block(id)?.height;
      return height === undefined ? undefined : items(rowsOf([height]))[0];
    },

    /** The newest block at or before a time, in Unix seconds. */
    at: (time: number): ChainBlock | undefined => optional(read.at.get(time), blockOf),

    /**
     * Mean seconds between blocks since each of some times, in Unix seconds; 0 if there are fewer than two blocks. Blocks
     * before the earliest of the times don't count.
     */
    averageTimes(times: readonly number[]): number[] {
      const last = tipHeight();
      const timeOf = (height: number): number => read.time.get(height)?.block_time ?? 0;
      const earliest = read.since.get(Math.min(...times))?.height ?? last;
      return times.map((time) => {
        // The differences between neighbours add up to the difference between the ends.
        const first = Math.max(read.since.get(time)?.height ?? last + 1, earliest + 1);
        return first > last ? 0 : (timeOf(last) - timeOf(first - 1)) / (last - first + 1);
      });
    },

    /** Signatures of a block's signers, in order; undefined if there is no such canonical block. */
    signatures(id: BlockId, limit: number, offset: number): OffsetPage<Uint8Array> | undefined {
      const height = chain.block(id)?.height;
      const row = height === undefined ? null : read.signatures.get(height);
      if (row === null) return undefined;
      const all = row.signer_signatures ?? NO_BYTES;
      const items: Uint8Array[] = [];
      for (let index = offset; index < offset + limit && index * SIGNATURE < all.length; index++) {
        items.push(all.subarray(index * SIGNATURE, (index + 1) * SIGNATURE));
      }
      return { items, total: all.length / SIGNATURE };
    },
  };
}

export const tenuresSql = {
  // The node counts costs from 0 after a tenure change with any cause.
  starts: query<{ height: number }, [number]>`
    SELECT ${heightIn('position')} AS height FROM transactions WHERE type = ${PAYLOAD.tenure_change} ORDER BY position DESC LIMIT ?1`,
  load: query<TenureLoad, [number, number]>`
    SELECT count(*) AS blocks, total(cost_runtime) AS runtime, total(cost_read_count) AS readCount,
           total(cost_read_length) AS readLength, total(cost_write_count) AS writeCount,
           total(cost_write_length) AS writeLength, total(size) AS size
      FROM blocks WHERE height >= ?1 AND height < ?2`,
};

export function tenureQueries(db: Database) {
  const { starts, load } = statements(db, tenuresSql);
  return {
    /** Loads of the present tenure and of up to `completed` before it, newest first; none before the first tenure change. */
    loads(completed: number): TenureLoad[] {
      const loads: TenureLoad[] = [];
      let end = Number.MAX_SAFE_INTEGER;
      for (const { height } of starts.all(completed + 1)) {
        const tenureLoad = load.get(height, end);
        if (tenureLoad !== null && tenureLoad.blocks > 0) loads.push(tenureLoad);
        end = height;
      }
      return loads;
    },
  };
}
