/** Which transactions wait: announced, replaced, dropped, mined, and back again after a reorganization. */
import type { Database } from 'bun:sqlite';
import type { TransactionContent } from '../../chain/block.ts';
import { MAX_STORED_INTEGER } from '../../chain/payload-schemas.ts';
import type { Dictionaries } from '../effects/dictionary.ts';
import { MEMPOOL_STATE, type MempoolState } from '../rows/words.ts';
import type { ChangeWriter } from './change-writer.ts';
import { type MempoolRows, mempoolRows, type Receipt } from './mempool-rows.ts';
import { type MinedReceipts, minedReceipts } from './mined-receipts.ts';
import { type NonceRivals, nonceRivals } from './nonce-rivals.ts';

const { pending: PENDING, mined: MINED, replaced_by_fee: REPLACED, collected_here: COLLECTED } = MEMPOOL_STATE;
const { replaced_and_dropped: REPLACED_AND_DROPPED } = MEMPOOL_STATE;

/** A transaction in a block that joined the chain. */
export interface ConfirmedTransaction {
  content: TransactionContent;
  /** Height and place in the block, as one number. */
  position: number;
}

/** A transaction in a block that left the chain, with its former place. */
export interface RestoredTransaction extends ConfirmedTransaction {
  /** Unix seconds of the Bitcoin block its block was built on. */
  burnBlockTime: number;
}

/** Pending transactions are forgotten after this time in Nakamoto, and after as many blocks before; as nodes do. */
const COLLECT_AFTER_MICROSECONDS = 2560 * 60 * 1_000_000;
const COLLECT_AFTER_BLOCKS = 256;
const MICROSECONDS = 1_000_000;

/** Made by miners and nodes: never broadcast, so they don't wait. Unsigned ones have no chain id. */
const neverBroadcast = ({ payload, bitcoinOperation, chainId }: TransactionContent): boolean =>
  bitcoinOperation || chainId === 0 || payload.type === 'coinbase' || payload.type === 'tenure_change';

const isStorable = ({ sender, sponsor }: TransactionContent): boolean =>
  sender.nonce <= MAX_STORED_INTEGER && (sponsor?.nonce ?? 0n) <= MAX_STORED_INTEGER;

/** What transactions of the mempool are kept by. */
interface Parts {
  rows: MempoolRows;
  rivals: NonceRivals;
  receipts: MinedReceipts;
}

/** Makes transactions wait again that left the chain, with those that they had replaced. @returns those that wait */
function restore(
  { rows, rivals, receipts }: Parts,
  restored: readonly RestoredTransaction[],
  receiptHeight: number,
): TransactionContent[] {
  const back: TransactionContent[] = [];
  for (const { content, position, burnBlockTime } of restored) {
    if (content.bitcoinOperation) continue;
    const receipt = receipts.take(position);
    const row = rows.find(content.txId);
    if (row !== null) {
      rows.move(row, PENDING);
      back.push(content);
    } else if (receipt !== null || !neverBroadcast(content)) {
      rows.add(content, receipt ?? { time: burnBlockTime * MICROSECONDS, height: receiptHeight });
      back.push(content);
    }
    for (const rival of rivals.of(content)) if (rival.state === REPLACED) rows.move(rival, PENDING);
  }
  return back;
}

export type MempoolWriter = ReturnType<typeof mempoolWriter>;

/** What changes the mempool through this connection, inside the transaction that is open on it. */
export function mempoolWriter(db: Database, dictionaries: Dictionaries, changes: ChangeWriter) {
  const rows = mempoolRows(db, dictionaries, changes);
  const rivals = nonceRivals(db, dictionaries, rows);
  const receipts = minedReceipts(db);
  const mined = db.prepare<{ position: number }, [Uint8Array]>('SELECT position FROM transactions WHERE tx_id = ?1');
  const isMined = (txId: Uint8Array): boolean => mined.get(txId) !== null;

  return {
    /** Writes what waits for the end of the index's transaction; called before each commit. */
    store: rows.store,
    /** Forgets what belongs to a transaction that is undone. */
    forget: rows.forget,

    /**
     * Announced by the node. A transaction that was dropped waits again, with a new receipt.
     * @returns how many are new or came back
     */
    announce(contents: readonly TransactionContent[], receipt: Receipt): number {
      const waiting: TransactionContent[] = [];
      let alreadyMined = 0;
      for (const content of contents.filter(isStorable)) {
        const row = rows.find(content.txId);
        if (row === null) {
          const place = mined.get(content.txId);
          if (place === null) {
            rows.add(content, receipt);
            waiting.push(content);
          } else if (receipts.keep(place.position, receipt, receipt.height)) alreadyMined++;
        } else if (row.state < PENDING && !isMined(content.txId) && !rivals.stayReplaced(row)) {
          rows.receive(row, receipt);
          waiting.push(content);
        }
      }
      for (const { txId } of waiting) changes.announced(txId);
      for (const content of waiting) rivals.resolve(content);
      if (waiting.length > 0) rows.touch(receipt.time);
      return waiting.length + alreadyMined;
    },

    /**
     * Dropped by the node. What was replaced already stays replaced, and waits no more when who replaced it ends.
     * @param state one of the dropped states
     * @param now Unix microseconds
     * @returns how many of them were waiting, or replaced
     */
    drop(txIds: readonly Uint8Array[], state: MempoolState, replacedBy: Uint8Array | null, now: number): number {
      let [dropped, replaced] = [0, 0];
      for (const txId of txIds) {
        const row = rows.find(txId);
        if (row?.state === PENDING) {
          rows.move(row, state === REPLACED ? REPLACED_AND_DROPPED : state, replacedBy);
          dropped++;
        } else if (row?.state === REPLACED) {
          rows.dropReplaced(row);
          replaced++;
        }
      }
      if (dropped > 0) rows.touch(now);
      return dropped + replaced;
    },

    /**
     * The chain changed: what left it waits again, what it holds now waits no more. All that left comes back before
     * anything is taken out, since a transaction may have moved from a lower block to a higher one.
     * @param heights of the tip before and after
     * @param now Unix microseconds
     */
    chainChanged(
      restored: readonly RestoredTransaction[],
      confirmed: readonly ConfirmedTransaction[],
      heights: { before: number; after: number },
      now: number,
    ): void {
      const back = restore({ rows, rivals, receipts }, restored, heights.before);
      const signed = confirmed.filter(({ content }) => !content.bitcoinOperation);
      for (const { content, position } of signed) {
        const row = rows.find(content.txId);
        if (row === null) continue;
        rows.mine(row);
        receipts.keep(position, { time: row.received_at, height: row.receipt_block_height }, heights.after);
      }
      receipts.settle(heights.after);
      for (const { content } of signed) rivals.resolve(content);
      for (const content of back) rivals.resolve(content);
      rows.touch(now);
    },

    /**
     * Microblocks were streamed or given up: `joined` wait no more, `left` wait again unless the chain holds them.
     * @param now Unix microseconds
     */
    streamChanged(joined: readonly Uint8Array[], left: readonly Uint8Array[], now: number): void {
      for (const txId of left) {
        const row = rows.find(txId);
        if (row?.state === MINED && !isMined(txId)) rows.move(row, PENDING);
      }
      for (const txId of joined) {
        const row = rows.find(txId);
        if (row !== null) rows.move(row, MINED);
      }
      if (joined.length > 0 || left.length > 0) rows.touch(now);
    },

    /**
     * Forgets what has waited too long.
     * @param tip before the block that is the occasion
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
