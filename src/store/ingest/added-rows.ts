/**
 * Rows of the mempool that were added since the last commit of the index and are not in its table yet. Most transactions of
 * an import are mined before the next commit, and so never need a row, which would have ten index entries.
 */
import type { NewRow } from '../rows/table.ts';
import type { mempoolTransactionsTable } from '../rows/tables.ts';
import type { MempoolRow, Spends } from './stored-rows.ts';

/** A row as it will be written. */
export type AddedRow = NewRow<typeof mempoolTransactionsTable> &
  Pick<
    MempoolRow,
    'state' | 'received_at' | 'receipt_block_height' | 'sender_id' | 'sponsor_id' | 'recipient_id' | 'contract_id'
  >;

/** Order of the first added row: greater than every rowid of the table. */
const FIRST_ORDER = 2 ** 52;

interface OrderedRow extends AddedRow {
  order: number;
}

/** Returns the row as a query of the table would. */
const toMempoolRow = (row: OrderedRow): MempoolRow => ({
  id: null,
  order: row.order,
  tx_id: row.tx_id,
  state: row.state,
  sender_id: row.sender_id,
  nonce: String(row.nonce),
  sponsor_id: row.sponsor_id,
  sponsor_nonce: row.sponsor_nonce === null ? null : String(row.sponsor_nonce),
  fee: row.fee,
  received_at: row.received_at,
  receipt_block_height: row.receipt_block_height,
  recipient_id: row.recipient_id,
  contract_id: row.contract_id,
});

const NONE: readonly never[] = [];

/** A nonce as a key of a map: the same for a number and an equal bigint. */
const nonceKey = (nonce: number | bigint): number | bigint =>
  nonce <= Number.MAX_SAFE_INTEGER ? Number(nonce) : BigInt(nonce);

/** Rows by the nonce of an account that they spend. */
function rowsByNonce() {
  const accounts = new Map<number, Map<number | bigint, OrderedRow[]>>();
  return {
    add(account: number, nonce: number | bigint, row: OrderedRow): void {
      const key = nonceKey(nonce);
      const groups = accounts.get(account);
      const group = groups?.get(key);
      if (groups === undefined) accounts.set(account, new Map([[key, [row]]]));
      else if (group === undefined) groups.set(key, [row]);
      else group.push(row);
    },
    remove(account: number, nonce: number | bigint, row: OrderedRow): void {
      const key = nonceKey(nonce);
      const groups = accounts.get(account);
      const others = groups?.get(key)?.filter((other) => other !== row) ?? [];
      if (others.length > 0) groups?.set(key, others);
      else if (groups?.size === 1 && groups.has(key)) accounts.delete(account);
      else groups?.delete(key);
    },
    get: (account: number, nonce: number | bigint): readonly OrderedRow[] =>
      accounts.get(account)?.get(nonceKey(nonce)) ?? NONE,
    clear: (): void => accounts.clear(),
  };
}

/** Makes an empty set of added rows. */
export function addedRows() {
  const byTxId = new Map<string, OrderedRow>();
  let nextOrder = FIRST_ORDER;
  const bySender = rowsByNonce();
  const bySponsor = rowsByNonce();

  function require(key: string): OrderedRow {
    const row = byTxId.get(key);
    if (row === undefined) throw new Error('mempool_transactions has no such added row');
    return row;
  }

  function clear(): void {
    byTxId.clear();
    bySender.clear();
    bySponsor.clear();
  }

  return {
    add(added: AddedRow): void {
      const row = { ...added, order: nextOrder++ };
      byTxId.set(row.tx_id.toHex(), row);
      bySender.add(row.sender_id, row.nonce, row);
      if (row.sponsor_id !== null) bySponsor.add(row.sponsor_id, row.sponsor_nonce!, row);
    },
    /** Sets columns of a row. */
    change(
      txId: Uint8Array,
      columns: Partial<Pick<AddedRow, 'state' | 'replaced_by_tx_id' | 'received_at' | 'receipt_block_height'>>,
    ): void {
      Object.assign(require(txId.toHex()), columns);
    },
    remove(txId: Uint8Array): void {
      const key = txId.toHex();
      const row = require(key);
      byTxId.delete(key);
      bySender.remove(row.sender_id, row.nonce, row);
      if (row.sponsor_id !== null) bySponsor.remove(row.sponsor_id, row.sponsor_nonce!, row);
    },
    find(txId: Uint8Array): MempoolRow | null {
      const row = byTxId.size === 0 ? undefined : byTxId.get(txId.toHex());
      return row === undefined ? null : toMempoolRow(row);
    },
    /** Rows that spend one of these nonces, as origin or as sponsor. The list may contain a row twice. */
    using({ sender, nonce, payer, payerNonce }: Spends): readonly MempoolRow[] {
      if (byTxId.size === 0) return NONE;
      const rows = [...bySender.get(sender, nonce), ...bySponsor.get(sender, nonce)];
      if (payer !== sender || payerNonce !== nonce) {
        rows.push(...bySender.get(payer, payerNonce), ...bySponsor.get(payer, payerNonce));
      }
      return rows.map(toMempoolRow);
    },
    /** Rows for which `passes` returns true, oldest addition first. */
    where(passes: (row: AddedRow) => boolean): MempoolRow[] {
      const rows: MempoolRow[] = [];
      for (const row of byTxId.values()) if (passes(row)) rows.push(toMempoolRow(row));
      return rows;
    },
    /** Removes all rows and returns them, oldest addition first. */
    drain(): AddedRow[] {
      const rows = [...byTxId.values()];
      clear();
      return rows;
    },
    clear,
  };
}
