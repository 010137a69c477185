/** Rows of the mempool, and what is counted and listed of those that wait. */
import type { Database } from 'bun:sqlite';
import type { TransactionContent } from '../../chain/block.ts';
import type { Dictionaries } from '../effects/dictionary.ts';
import { type PayloadColumns, payloadColumns } from '../effects/payload-columns.ts';
import { sortable } from '../rows/amounts.ts';
import { inserter, upserter } from '../rows/table.ts';
import type { NewRow, Stored } from '../rows/table-shape.ts';
import { MEMPOOL_STATE, type MempoolState } from '../rows/words.ts';
import { mempoolTransactionsTable, pendingCountsTable, pendingPrincipalsTable } from '../tables/mempool.ts';
import type { ChangeWriter } from './change-writer.ts';

const { pending: PENDING, mined: MINED } = MEMPOOL_STATE;

/** When and on which chain something reached the mempool. */
export interface Receipt {
  /** Unix microseconds. */
  time: number;
  /** Stacks height of the tip. */
  height: number;
}

/** What of a row decides what becomes of it. Nonces are decimal: numbers are exact below 2^53 alone. */
export interface MempoolRow
  extends Stored<
    typeof mempoolTransactionsTable,
    | 'tx_id'
    | 'state'
    | 'sender_id'
    | 'sponsor_id'
    | 'fee'
    | 'received_at'
    | 'receipt_block_height'
    | 'recipient_id'
    | 'contract_id'
  > {
  id: number;
  nonce: string;
  sponsor_nonce: string | null;
}

/** Columns of a pending transaction, for a query of these rows. */
export const mempoolColumns = `rowid AS id, tx_id, state, sender_id, CAST(nonce AS TEXT) AS nonce, sponsor_id,
    CAST(sponsor_nonce AS TEXT) AS sponsor_nonce, fee, received_at, receipt_block_height, recipient_id, contract_id`;

type Parties = Pick<MempoolRow, 'tx_id' | 'sender_id' | 'recipient_id' | 'contract_id' | 'received_at'>;

/** What keeps the lists of the transactions that wait, by whom each concerns, through this connection. */
function pendingLists(db: Database) {
  const add = inserter(db, pendingPrincipalsTable);
  const remove = db.prepare<null, [number, number, Uint8Array]>(
    'DELETE FROM pending_principals WHERE principal_id = ?1 AND received_at = ?2 AND tx_id = ?3',
  );
  const countParty = upserter(db, pendingCountsTable, { summed: ['transactions'] });
  const removeCount = db.prepare<null, [number]>(
    'DELETE FROM pending_counts WHERE principal_id = ?1 AND transactions = 0',
  );
  const partiesOf = ({ sender_id, recipient_id, contract_id }: Parties): Set<number> =>
    new Set([sender_id, recipient_id, contract_id].filter((id) => id !== null));

  return {
    /** Lists a transaction for everyone it concerns. */
    add(row: Parties): void {
      for (const party of partiesOf(row)) {
        add({ principal_id: party, received_at: row.received_at, tx_id: row.tx_id });
        countParty({ principal_id: party, transactions: 1 });
      }
    },
    /** Takes it off their lists. */
    remove(row: Parties): void {
      for (const party of partiesOf(row)) {
        remove.run(party, row.received_at, row.tx_id);
        countParty({ principal_id: party, transactions: -1 });
        removeCount.run(party);
      }
    },
  };
}

export type MempoolRows = ReturnType<typeof mempoolRows>;

/** What reads and changes the rows through this connection, inside the transaction that is open on it. */
export function mempoolRows(db: Database, { principals }: Dictionaries, changes: ChangeWriter) {
  const byId = db.prepare<MempoolRow, [Uint8Array]>(
    `SELECT ${mempoolColumns} FROM mempool_transactions WHERE tx_id = ?1`,
  );
  const insert = inserter(db, mempoolTransactionsTable);
  const setState = db.prepare<null, [number, number, Uint8Array | null]>(
    'UPDATE mempool_transactions SET state = ?2, replaced_by_tx_id = ?3 WHERE rowid = ?1',
  );
  const setReceipt = db.prepare<null, [number, number, number]>(
    'UPDATE mempool_transactions SET received_at = ?2, receipt_block_height = ?3 WHERE rowid = ?1',
  );
  const remove = db.prepare<null, [number]>('DELETE FROM mempool_transactions WHERE rowid = ?1');
  const staleByTime = db.prepare<MempoolRow, [number]>(
    `SELECT ${mempoolColumns} FROM mempool_transactions WHERE state = ${PENDING} AND received_at <= ?1`,
  );
  const staleByHeight = db.prepare<MempoolRow, [number]>(
    `SELECT ${mempoolColumns} FROM mempool_transactions WHERE state = ${PENDING} AND receipt_block_height <= ?1`,
  );
  // By the clock, so that no index has two states of one version: not one that was rebuilt, nor one restored from a backup.
  const touch = db.prepare<null, [number, number]>(
    'UPDATE progress SET mempool_version = max(mempool_version + 1, ?1), mempool_pending = mempool_pending + ?2',
  );
  const lists = pendingLists(db);
  /** How many more wait than at the last touch. */
  let more = 0;

  /** Transactions begin to wait, or end: those who list and count them follow. */
  function waits(row: Parties): void {
    more += 1;
    lists.add(row);
  }
  function waitsNoMore(row: Parties): void {
    more -= 1;
    lists.remove(row);
  }

  function rowOf(
    content: TransactionContent,
    shown: PayloadColumns,
    receipt: Receipt,
  ): NewRow<typeof mempoolTransactionsTable> & { sender_id: number } {
    const { sender, sponsor, payload, raw } = content;
    return {
      tx_id: content.txId,
      state: PENDING,
      received_at: receipt.time,
      receipt_block_height: receipt.height,
      replaced_by_tx_id: null,
      type: payload.typeId,
      sender_id: principals.id(sender.address),
      nonce: sender.nonce,
      sponsor_id: sponsor === null ? null : principals.id(sponsor.address),
      sponsor_nonce: sponsor?.nonce ?? null,
      fee: sortable(content.fee.toString()),
      recipient_id: shown.recipientId,
      amount: shown.amount,
      memo: shown.memo,
      contract_id: shown.contractId,
      function_name: shown.functionName,
      clarity_version: shown.clarityVersion,
      size: raw.length,
      raw,
    };
  }

  function add(content: TransactionContent, receipt: Receipt): void {
    const shown = payloadColumns(content.payload, content.sender.address, principals);
    const row = rowOf(content, shown, receipt);
    insert(row);
    changes.moved(content.txId, null, PENDING);
    const { tx_id, sender_id } = row;
    waits({
      tx_id,
      sender_id,
      recipient_id: shown.recipientId,
      contract_id: shown.contractId,
      received_at: receipt.time,
    });
  }

  function move(row: MempoolRow, state: MempoolState, replacedBy: Uint8Array | null = null): void {
    setState.run(row.id, state, replacedBy);
    changes.moved(row.tx_id, row.state, state);
    if ((state === PENDING) === (row.state === PENDING)) return;
    if (state === PENDING) waits(row);
    else waitsNoMore(row);
  }

  return {
    find: (txId: Uint8Array): MempoolRow | null => byId.get(txId),
    /** Adds a transaction that waits. */
    add,
    /** Gives a row another state. @param replacedBy id of what took its place */
    move,
    /** Removes the row of a transaction that the chain holds. */
    mine(row: MempoolRow): void {
      remove.run(row.id);
      changes.moved(row.tx_id, row.state, MINED);
      if (row.state === PENDING) waitsNoMore(row);
    },
    /** Makes a row wait again that was dropped. */
    receive(row: MempoolRow, receipt: Receipt): void {
      setReceipt.run(row.id, receipt.time, receipt.height);
      move({ ...row, received_at: receipt.time }, PENDING);
    },
    /** Transactions that wait since a time, in Unix microseconds, or longer. */
    waitingSince: (time: number): MempoolRow[] => staleByTime.all(time),
    /** Transactions that wait since the tip was at a height, or longer. */
    waitingSinceHeight: (height: number): MempoolRow[] => staleByHeight.all(height),
    /** Notes that the mempool changed, at the end of what changed it. @param now Unix microseconds */
    touch(now: number): void {
      touch.run(now, more);
      more = 0;
    },
    /** Forgets what was changed since the last touch, which is undone. */
    forget(): void {
      more = 0;
    },
  };
}
