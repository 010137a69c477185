/** Writes the states of mempool transactions: announced, replaced, dropped, mined, and restored by a reorganization. */
import type { Database } from 'bun:sqlite';
import { bytesEqual } from '../../base/bytes-equal.ts';
import type { TransactionContent } from '../../chain/block.ts';
import { MAX_STORED_INTEGER } from '../../chain/payload-schemas.ts';
import { positionOf } from '../../chain/position.ts';
import type { Dictionaries } from '../effects/dictionary.ts';
import { MEMPOOL_STATE, type MempoolState, storedMempoolState } from '../rows/enums.ts';
import { query, type Stored } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import { earlyDropsTable, minedReceiptsTable } from '../rows/tables.ts';
import type { ChangeWriter } from './change-writer.ts';
import { mempoolRows, type Receipt } from './mempool-rows.ts';
import { type Mined, nonceRivals } from './nonce-rivals.ts';
import type { MempoolRow } from './stored-rows.ts';

const { pending: PENDING, replaced_by_fee: REPLACED, collected_here: COLLECTED } = MEMPOOL_STATE;
const { replaced_and_dropped: REPLACED_AND_DROPPED } = MEMPOOL_STATE;

export interface ConfirmedTransaction {
  content: TransactionContent;
  /** Position on the chain: height and index in the block, as one number. */
  position: number;
}

/** A transaction in a block that left the chain, with its former position. */
export interface RestoredTransaction extends ConfirmedTransaction {
  /** Time of the Bitcoin block that anchors its block, in Unix seconds. */
  burnBlockTime: number;
}

/**
 * Number of canonical blocks below the tip for which receipts and drops are kept. That is some days of Bitcoin blocks, deeper
 * than any reorganization so far.
 */
const RETAINED_BLOCKS = 6_000;

const MICROSECONDS_PER_SECOND = 1_000_000;

/**
 * Nakamoto nodes discard pending transactions after this time, and older nodes after this many blocks. Stackside does the
 * same.
 */
const COLLECT_AFTER_MICROSECONDS = 2560 * 60 * MICROSECONDS_PER_SECOND;
const COLLECT_AFTER_BLOCKS = 256;

/**
 * Returns whether a miner or node made the transaction, so that it was never pending. Unsigned transactions have no chain id.
 */
const neverBroadcast = ({ payload, chainId }: TransactionContent): boolean =>
  chainId === 0 || payload.type === 'coinbase' || payload.type === 'tenure_change';

const isStorable = ({ sender, sponsor }: TransactionContent): boolean =>
  sender.nonce <= MAX_STORED_INTEGER && (sponsor?.nonce ?? 0n) <= MAX_STORED_INTEGER;

export type MempoolWriter = ReturnType<typeof mempoolWriter>;

/** Changes the mempool in the open transaction. */
export function mempoolWriter(db: Database, dictionaries: Dictionaries, changes: ChangeWriter) {
  const rows = mempoolRows(db, dictionaries, changes);
  const rivals = nonceRivals(db, dictionaries, rows);
  const receipts = minedReceipts(db);
  const drops = earlyDrops(db);
  const withoutNonce = query<Stored<'transactions', 'position'>, [Uint8Array]>`
    SELECT position FROM transactions INDEXED BY transactions_without_nonce
     WHERE tx_id = ?1 AND nonce IS NULL`.prepared(db);

  /**
   * Finds a transaction on the chain; null if it isn't there. It searches by nonce: nonces lie close to each other
   * in their index, while ids are random, and a bulk load leaves out the index of ids.
   */
  const findMined = (content: TransactionContent): Pick<Mined, 'position'> | null =>
    rivals.mined(content).find(({ tx_id }) => bytesEqual(tx_id, content.txId)) ?? withoutNonce.get(content.txId);

  /** Marks a row as dropped by the node. A replaced row stays replaced, and doesn't become pending if its replacement goes. */
  function dropRow(row: MempoolRow, { state, replacedBy }: Drop): void {
    if (row.state === REPLACED) rows.dropReplaced(row);
    else rows.move(row, state === REPLACED ? REPLACED_AND_DROPPED : state, replacedBy);
  }

  /**
   * Drops a transaction that becomes pending, if the node posted its drop before.
   * @param since lowest height of the tip at which the drop was posted
   * @returns whether there was such a drop
   */
  function dropEarly(txId: Uint8Array, since?: number): boolean {
    const drop = drops.take(txId, since);
    if (drop === null) return false;
    dropRow(rows.find(txId)!, drop);
    return true;
  }

  /**
   * Makes transactions pending again that left the chain, with the rivals that they had ruled out. Drops those that the node
   * has dropped since.
   * @returns the ids of the pending ones
   */
  function restore(restored: readonly RestoredTransaction[], receiptHeight: number): Uint8Array[] {
    const back: Uint8Array[] = [];
    for (const { content, position, burnBlockTime } of restored) {
      const receipt = receipts.take(position);
      if (content.bitcoinOperation) continue;
      if (!neverBroadcast(content) && rows.find(content.txId) === null) {
        rows.add(content, receipt ?? { time: burnBlockTime * MICROSECONDS_PER_SECOND, height: receiptHeight });
        back.push(content.txId);
      }
      for (const rival of rivals.of(content)) {
        if (rival.state !== REPLACED) continue;
        rows.move(rival, PENDING);
        back.push(rival.tx_id);
      }
    }
    return back.filter((txId) => !dropEarly(txId));
  }

  /** Records an announced transaction. @returns whether it waits since now, has another effect, or changes nothing */
  function receive(content: TransactionContent, receipt: Receipt): 'waits' | 'other' | 'none' {
    const row = rows.find(content.txId);
    if (row !== null) {
      if (row.state >= PENDING || rivals.staysReplaced(row)) return 'none';
      rows.receive(row, receipt);
      return 'waits';
    }
    const mined = findMined(content);
    if (mined === null) {
      rows.add(content, receipt);
      return dropEarly(content.txId, receipt.height - LATE_BLOCKS) ? 'other' : 'waits';
    }
    if (receipts.store(mined.position, receipt)) return 'other';
    // If a drop is stored, the node reverted the transaction's block and announced the transaction again.
    return drops.take(content.txId) === null ? 'none' : 'other';
  }

  return {
    /** Writes the rows that are buffered until the end of a transaction; called before each commit. */
    store: rows.store,
    /** Discards the changes since the last commit, which are rolled back. */
    forget: rows.forget,

    /**
     * Adds announced transactions. A dropped transaction becomes pending again, with a new receipt. A transaction whose drop
     * came first is dropped at once.
     * @returns how many are new or came back
     */
    announce(contents: readonly TransactionContent[], receipt: Receipt): number {
      const waiting: Uint8Array[] = [];
      let others = 0;
      for (const content of contents.filter(isStorable)) {
        const effect = receive(content, receipt);
        if (effect === 'waits') waiting.push(content.txId);
        if (effect === 'other') others++;
      }
      for (const txId of waiting) changes.announced(txId);
      rivals.resolve(waiting);
      if (waiting.length + others > 0) rows.touch(receipt.time);
      return waiting.length + others;
    },

    /**
     * Drops transactions that the node dropped. If a transaction isn't pending, because it isn't announced yet or is in a
     * block, its drop is stored until the transaction would become pending. The replacement of a dropped transaction becomes
     * pending, even if a higher fee had replaced it.
     * @param drop the reason, and the replacement
     * @param receipt time and height at which the node posted the drop
     * @returns how many of them were pending, were replaced, or have a stored drop
     */
    drop(txIds: readonly Uint8Array[], drop: Drop, { time, height }: Receipt): number {
      let [dropped, others] = [0, 0];
      for (const txId of txIds) {
        const row = rows.find(txId);
        if (row === null) {
          if (drops.store(txId, drop, height)) others++;
        } else if (row.state === PENDING || row.state === REPLACED) {
          dropRow(row, drop);
          dropped++;
        }
      }
      const successor = dropped === 0 || drop.replacedBy === null ? null : rows.find(drop.replacedBy);
      if (successor?.state === REPLACED) {
        rows.move(successor, PENDING);
        rivals.resolve([successor.tx_id]);
      }
      if (dropped > 0) rows.touch(time);
      return dropped + others;
    },

    /**
     * Updates the mempool after the chain changed: transactions that left the chain become pending, and confirmed ones are
     * removed. It restores first, because a transaction may have moved from a lower block to a higher one.
     * @param heights of the tip before and after
     * @param now Unix microseconds
     */
    chainChanged(
      restored: readonly RestoredTransaction[],
      confirmed: readonly ConfirmedTransaction[],
      heights: { before: number; after: number },
      now: number,
    ): void {
      const back = restore(restored, heights.before);
      for (const { content, position } of confirmed) {
        const row = rows.find(content.txId);
        if (row === null) continue;
        rows.mine(row);
        receipts.store(position, { time: row.received_at, height: row.receipt_block_height });
      }
      receipts.trim(heights.after);
      drops.trim(heights.after);
      for (const { content } of confirmed) if (!content.bitcoinOperation) rivals.ruleOut(content);
      rivals.resolve(back);
      rows.touch(now);
    },

    /** Moves earlier receipts and drops to the height at which a partial history starts. */
    startedAbove(height: number): void {
      rows.raiseReceipts(height);
      drops.raise(height);
    },

    /**
     * Raises the mempool's version after the node answered for an account at the history's start: the answer decides which
     * pending transactions the account can pay for.
     * @param now Unix microseconds
     */
    accountKnown(now: number): void {
      rows.touch(now);
    },

    /**
     * Removes transactions that were pending too long.
     * @param tip before the block that is being added
     * @param now Unix microseconds
     */
    collectGarbage(tip: { height: number; nakamoto: boolean }, now: number): void {
      const stale = tip.nakamoto
        ? rows.waitingSince(now - COLLECT_AFTER_MICROSECONDS)
        : rows.waitingSinceHeight(tip.height - COLLECT_AFTER_BLOCKS);
      for (const row of stale) rows.move(row, COLLECTED);
      if (stale.length > 0) rows.touch(now);
    },
  };
}

interface Drop {
  /** One of the dropped states. */
  state: MempoolState;
  replacedBy: Uint8Array | null;
}

/**
 * Blocks after an early drop within which Stackside expects the announcement of its transaction. Real nodes need
 * milliseconds. A later announcement means that the transaction was broadcast again and is in the node's mempool.
 */
const LATE_BLOCKS = 10;

/**
 * Drops of transactions that aren't pending. The node posts some drops before it announces the transaction. After a Bitcoin
 * fork, it drops mined transactions whose blocks are orphaned only later. A drop is applied when its transaction would become
 * pending.
 */
function earlyDrops(db: Database) {
  const drops = table(db, earlyDropsTable);
  const removeOld = query<null, [number]>`DELETE FROM early_drops WHERE height < ?1`.prepared(db);
  const raise = query<null, [number]>`UPDATE early_drops SET height = ?1 WHERE height < ?1`.prepared(db);

  return {
    /** @param tipHeight when the node posted it @returns false if the transaction already has an early drop */
    store: (txId: Uint8Array, { state, replacedBy }: Drop, tipHeight: number): boolean =>
      drops.addIfAbsent({ tx_id: txId, state, replaced_by_tx_id: replacedBy, height: tipHeight }) !== null,

    /**
     * Removes and returns the drop of a transaction that would become pending or was announced again.
     * @param since lowest height of the tip at which it was posted
     * @returns null if there is none, or only an older one
     */
    take(txId: Uint8Array, since = 0): Drop | null {
      // Few transactions have a drop, and a look-up costs a third of a removal that finds nothing.
      const row = drops.find({ tx_id: txId });
      if (row === null) return null;
      drops.remove(row);
      if (row.height < since) return null;
      return { state: MEMPOOL_STATE[storedMempoolState.nameOf(row.state)], replacedBy: row.replaced_by_tx_id };
    },

    /** Removes drops that are too old for any reorganization. */
    trim: (tipHeight: number): void => void removeOld.run(tipHeight - RETAINED_BLOCKS),

    /** Raises lower heights of drops to this height. */
    raise: (height: number): void => void raise.run(height),
  };
}

/**
 * Times at which canonical transactions reached the mempool, for a reorganization that makes them pending again. They are
 * stored by the position of their transaction on the chain.
 */
function minedReceipts(db: Database) {
  const { addIfAbsent: add } = table(db, minedReceiptsTable);
  const take = query<Stored<'mined_receipts', 'received_at' | 'receipt_block_height'>, [number]>`
    DELETE FROM mined_receipts WHERE position = ?1 RETURNING received_at, receipt_block_height`.prepared(db);
  const removeOld = query<null, [number]>`DELETE FROM mined_receipts WHERE position < ?1`.prepared(db);

  return {
    /** @returns false if the transaction already has a receipt */
    store: (position: number, { time, height }: Receipt): boolean =>
      add({ position, received_at: time, receipt_block_height: height }) !== null,

    /** Removes and returns the receipt of a transaction that left the chain; null if it was never announced. */
    take(position: number): Receipt | null {
      const row = take.get(position);
      return row === null ? null : { time: row.received_at, height: row.receipt_block_height };
    },

    /** Removes receipts that are too old for any reorganization. */
    trim: (tipHeight: number): void => void removeOld.run(positionOf(tipHeight - RETAINED_BLOCKS, 0)),
  };
}
