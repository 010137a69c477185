/** Reads forks: the branches of orphaned blocks, and the later status of their transactions. */
import type { Database } from 'bun:sqlite';
import type { Turns } from '../../../base/turns.ts';
import { heightOf } from '../../../chain/position.ts';
import type { Fork, ForkBlock, ForkDetail, OrphanFate } from '../../model/block.ts';
import type { Cursor, Page } from '../../model/page.ts';
import { MEMPOOL_STATE, mempoolStatus, typeName } from '../../rows/enums.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { down, orderedList, walked } from '../list.ts';
import { MAX_FILTERED_ROWS, readPage } from '../page.ts';
import { blocksAtHeight } from './steps.ts';

/** Maximum number of orphaned blocks of a fork that are read. */
const MAX_BLOCKS = 100;
/** Maximum number of orphaned transactions of a fork that are returned. */
const MAX_TRANSACTIONS = 500;

const orphan = `SELECT o.height, o.index_block_hash AS indexHash, o.block_hash AS hash,
                       o.parent_index_block_hash AS parentIndexHash, o.burn_block_height AS burnHeight
                  FROM orphaned_blocks o`;
/** Height of the first block. Lower blocks may be ancestors, so they don't count as orphans. */
const firstHeight = 'ifnull((SELECT start_height FROM progress WHERE id = 1), 1)';
/** Block 0 is stored with the orphans, but isn't one. The plus leaves the index to the comparison with the key, in both directions. */
const isOrphan = `+o.height >= ${firstHeight}`;
const isFirst = `NOT EXISTS (SELECT 1 FROM orphaned_blocks p
                   WHERE p.index_block_hash = o.parent_index_block_hash AND p.height >= ${firstHeight})`;

export const sql = {
  orphans: orderedList<WalkedRow>(
    { select: `SELECT o.height, o.index_block_hash, ${isFirst} AS is_first FROM orphaned_blocks o`, where: isOrphan },
    [down('o.height'), down('o.index_block_hash', 'bytes')],
  ),
  byHash: query<OrphanRow, [Uint8Array]>`${orphan} WHERE o.index_block_hash = ?1 AND ${isOrphan}`,
  byBlockHash: query<OrphanRow, [Uint8Array]>`
    ${orphan} WHERE o.block_hash = ?1 AND ${isOrphan} ORDER BY o.height DESC LIMIT 1`,
  children: query<OrphanRow, [number, Uint8Array, number]>`
    ${orphan} WHERE o.height = ?1 AND o.parent_index_block_hash = ?2 ORDER BY o.index_block_hash LIMIT ?3`,
  canonical: query<Omit<ForkBlock, 'wasCanonical'> & { time: number }, [number]>`
    SELECT height, index_block_hash AS indexHash, block_hash AS hash, burn_block_height AS burnHeight, block_time AS time
      FROM blocks WHERE height = ?1`,
  // Blocks are numbered in their order of receipt: the tip is the first block at its height.
  firstAt: query<{ journal_id: number | null }, [number]>`
    SELECT min(p.journal_id) AS journal_id, b.index_block_hash ${blocksAtHeight}`,
  arrival: query<Stored<'block_payloads', 'journal_id'>, [Uint8Array]>`
    SELECT journal_id FROM block_payloads WHERE index_block_hash = ?1`,
  transactions: query<{ tx_id: Uint8Array; type: number }, [Uint8Array, number]>`
    SELECT tx_id, type FROM orphaned_transactions WHERE index_block_hash = ?1 ORDER BY tx_id LIMIT ?2`,
  mined: query<Stored<'transactions', 'position'>, [Uint8Array]>`SELECT position FROM transactions WHERE tx_id = ?1`,
  waiting: query<Stored<'mempool_transactions', 'state'>, [Uint8Array]>`
    SELECT state FROM mempool_transactions WHERE tx_id = ?1`,
};

type OrphanRow = Omit<ForkBlock, 'wasCanonical'> & Pick<Fork, 'parentIndexHash'>;

interface WalkedRow extends Stored<'orphaned_blocks', 'height' | 'index_block_hash'> {
  is_first: 0 | 1;
}

/** Greater than every hash, as in a cursor's key. */
const LAST_HASH = 'ff'.repeat(33);

/** Whether one of two is true; null if that is unknown. */
const either = (a: boolean | null, b: boolean | null): boolean | null => {
  if (a === true || b === true) return true;
  return a === null || b === null ? null : false;
};

/** @param maxRows maximum number of rows that a page reads; tests use fewer than the default */
export function forkQueries(db: Database, turns: Turns, maxRows = MAX_FILTERED_ROWS) {
  const read = statements(db, sql);
  const walk = walked(read.orphans([]));

  /** The orphans of a fork from its first block on, by height, up to a number of them. */
  function orphansFrom(first: OrphanRow): OrphanRow[] {
    const rows = [first];
    for (const row of rows) {
      if (rows.length >= MAX_BLOCKS) break;
      rows.push(...read.children.all(row.height + 1, row.indexHash, MAX_BLOCKS - rows.length));
    }
    return rows;
  }

  /** Whether an orphan was the tip of the canonical chain once; null if its payload was removed by retention. */
  function wasTip({ height, indexHash }: OrphanRow): boolean | null {
    const arrival = read.arrival.get(indexHash)?.journal_id ?? null;
    return arrival === null ? null : read.firstAt.get(height)?.journal_id === arrival;
  }

  /** Whether each orphan of a fork was on the chain once, by its hash in hex: a tip was, and so were its ancestors. */
  function canonicalStatuses(orphans: readonly OrphanRow[]): ReadonlyMap<string, boolean | null> {
    // Later blocks, which weren't read, may have been the tip.
    const unread = orphans.length < MAX_BLOCKS ? false : null;
    const statuses = new Map<string, boolean | null>(orphans.map((row) => [row.indexHash.toHex(), unread]));
    for (const row of orphans.toReversed()) {
      const [hash, parent] = [row.indexHash.toHex(), row.parentIndexHash.toHex()];
      const wasCanonical = either(statuses.get(hash) ?? null, wasTip(row));
      statuses.set(hash, wasCanonical);
      if (statuses.has(parent)) statuses.set(parent, either(statuses.get(parent) ?? null, wasCanonical));
    }
    return statuses;
  }

  function forkOf(first: OrphanRow, orphans: readonly OrphanRow[], statuses = canonicalStatuses(orphans)): Fork {
    const { indexHash, height, parentIndexHash } = first;
    return {
      indexHash,
      height,
      parentIndexHash,
      topHeight: Math.max(...orphans.map(({ height }) => height)),
      blocks: orphans.length,
      wasCanonical: statuses.get(indexHash.toHex()) ?? null,
      time: read.canonical.get(height)?.time ?? null,
    };
  }

  function readFate(txId: Uint8Array): OrphanFate {
    const position = read.mined.get(txId)?.position;
    if (position !== undefined) return { fate: 'mined', height: heightOf(position), status: null };
    const state = read.waiting.get(txId)?.state;
    if (state === undefined) return { fate: 'lost', height: null, status: null };
    const fate = state === MEMPOOL_STATE.pending ? 'pending' : 'dropped';
    return { fate, height: null, status: mempoolStatus(state) };
  }

  /** The first block of the fork of an orphan; null if it is above too many others. */
  function firstOf(row: OrphanRow): OrphanRow | null {
    let block = row;
    for (let steps = 0; steps < maxRows; steps++) {
      const parent = read.byHash.get(block.parentIndexHash);
      if (parent === null) return block;
      block = parent;
    }
    return null;
  }

  return {
    /** Forks, the highest first. A page may be short, or empty, and still have a next page. @param height greatest height to list */
    async page(height: number, limit: number, cursor: Cursor | null): Promise<Page<Fork, number | null>> {
      const pause = turns.longWork();
      const page = readPage<WalkedRow, WalkedRow, number | null>({
        limit,
        cursor,
        total: null,
        maxRows,
        ...walk,
        rows: (key, ...rest) => walk.rows(key ?? [height, LAST_HASH], ...rest),
        meets: ({ is_first }) => is_first === 1,
        itemOf: (row) => row,
      });
      const items: Fork[] = [];
      for (const { index_block_hash } of page.items) {
        await pause();
        const first = read.byHash.get(index_block_hash)!;
        items.push(forkOf(first, orphansFrom(first)));
      }
      return { ...page, items };
    },

    /** The fork of an orphaned block, by either of its hashes; undefined if there is no such orphan. */
    find(hash: Uint8Array): ForkDetail | undefined {
      const row = read.byHash.get(hash) ?? read.byBlockHash.get(hash);
      const first = row === null ? null : firstOf(row);
      if (first === null) return undefined;
      const orphans = orphansFrom(first);
      const statuses = canonicalStatuses(orphans);
      const fork = forkOf(first, orphans, statuses);
      const canonical: ForkBlock[] = [];
      for (let height = first.height; height <= fork.topHeight + 1; height++) {
        const block = read.canonical.get(height);
        if (block !== null) canonical.push({ ...block, wasCanonical: true });
      }
      const transactions: ForkDetail['transactions'] = [];
      for (const { height, indexHash } of orphans) {
        const remaining = MAX_TRANSACTIONS + 1 - transactions.length;
        if (remaining <= 0) break;
        for (const { tx_id, type } of read.transactions.all(indexHash, remaining)) {
          transactions.push({ txId: tx_id, type: typeName(type), orphan: { height, indexHash }, ...readFate(tx_id) });
        }
      }
      return {
        ...fork,
        orphans: orphans.map((row) => ({ ...row, wasCanonical: statuses.get(row.indexHash.toHex()) ?? null })),
        canonical,
        transactions: transactions.slice(0, MAX_TRANSACTIONS),
        isWhole: orphans.length < MAX_BLOCKS && transactions.length <= MAX_TRANSACTIONS,
      };
    },
  };
}
