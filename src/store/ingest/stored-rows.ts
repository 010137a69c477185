/** Reads rows of the mempool's table, with the columns that decide their state. */
import type { Database } from 'bun:sqlite';
import { MEMPOOL_STATE } from '../rows/enums.ts';
import { type AsText, query, type Stored } from '../rows/statement.ts';

const { pending: PENDING } = MEMPOOL_STATE;

/** Columns that decide a transaction's state. Nonces are decimal texts, since numbers are exact only below 2^53. */
export interface MempoolRow
  extends Stored<
      'mempool_transactions',
      | 'tx_id'
      | 'state'
      | 'sender_id'
      | 'sponsor_id'
      | 'fee'
      | 'received_at'
      | 'receipt_block_height'
      | 'recipient_id'
      | 'contract_id'
    >,
    AsText<Stored<'mempool_transactions', 'nonce' | 'sponsor_nonce'>> {
  /** Null for a row that is not in the table yet. */
  id: number | null;
  /** Greater for a row that was added later. */
  order: number;
}

/** Columns of a pending transaction, for a query of these rows. */
const mempoolColumns = `rowid AS id, rowid AS "order", tx_id, state, sender_id, CAST(nonce AS TEXT) AS nonce, sponsor_id,
    CAST(sponsor_nonce AS TEXT) AS sponsor_nonce, fee, received_at, receipt_block_height, recipient_id, contract_id`;

/** The nonces that a transaction spends: its origin's, and its payer's. Without a sponsor, the origin pays. */
export interface Spends {
  sender: number;
  nonce: bigint;
  payer: number;
  payerNonce: bigint;
}

/**
 * Returns SQL for the rows that spend the nonce of ?1 and ?2 (the origin's account and nonce) or of ?3 and ?4 (the payer's),
 * as origin or as sponsor: an account has one counter for both. The result may contain a row twice.
 * @param select the statement up to WHERE, from `transactions` or `mempool_transactions`
 */
export const usersOfNonces = (select: string): string =>
  `${select} sender_id = ?1 AND nonce = ?2
    UNION ALL ${select} sponsor_id = ?1 AND sponsor_nonce = ?2
    UNION ALL ${select} sender_id = ?3 AND nonce = ?4 AND (?3 <> ?1 OR ?4 <> ?2)
    UNION ALL ${select} sponsor_id = ?3 AND sponsor_nonce = ?4 AND (?3 <> ?1 OR ?4 <> ?2)`;

/** Finds rows of the table. */
export function storedRows(db: Database) {
  const select = `SELECT ${mempoolColumns} FROM mempool_transactions WHERE`;
  const byId = query<MempoolRow, [Uint8Array]>`${select} tx_id = ?1`.prepared(db);
  const byNonces = query<MempoolRow, [number, bigint, number, bigint]>`${usersOfNonces(select)}`.prepared(db);
  const staleByTime = query<MempoolRow, [number]>`${select} state = ${PENDING} AND received_at <= ?1`.prepared(db);
  const staleByHeight = query<MempoolRow, [number]>`
    ${select} state = ${PENDING} AND receipt_block_height <= ?1`.prepared(db);
  return {
    find: (txId: Uint8Array): MempoolRow | null => byId.get(txId),
    using: ({ sender, nonce, payer, payerNonce }: Spends): MempoolRow[] =>
      byNonces.all(sender, nonce, payer, payerNonce),
    waitingSince: (time: number): MempoolRow[] => staleByTime.all(time),
    waitingSinceHeight: (height: number): MempoolRow[] => staleByHeight.all(height),
  };
}
