/**
 * Rows of the mempool, with the counts and lists of its pending transactions. Rows that were added since the last commit of
 * the index are in memory: most transactions of an import are mined before the next commit, and so never need a row with
 * its ten index entries.
 */
import type { Database } from 'bun:sqlite';
import type { TransactionContent } from '../../chain/block.ts';
import type { Dictionaries } from '../effects/dictionary.ts';
import { payloadColumns } from '../effects/transaction-writer.ts';
import { MEMPOOL_STATE, type MempoolState } from '../rows/enums.ts';
import { sortable } from '../rows/formats.ts';
import { query } from '../rows/statement.ts';
import { countAdder, type NewRow, table } from '../rows/table.ts';
import { mempoolTransactionsTable, pendingCountsTable, pendingPrincipalsTable } from '../rows/tables.ts';
import type { ChangeWriter } from './change-writer.ts';
import { type MempoolRow, type Spends, storedRows } from './stored-rows.ts';

/** A row as it will be written. */
type AddedRow = NewRow<typeof mempoolTransactionsTable> &
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
      else groups?.delete(key);
    },
    get: (account: number, nonce: number | bigint): readonly OrderedRow[] =>
      accounts.get(account)?.get(nonceKey(nonce)) ?? NONE,
    clear: (): void => accounts.clear(),
  };
}

function addedRows() {
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

const { pending: PENDING, mined: MINED, replaced_and_dropped: REPLACED_AND_DROPPED } = MEMPOOL_STATE;

/** When something reached the mempool, by time and by height. */
export interface Receipt {
  /** Unix microseconds. */
  time: number;
  /** Stacks height of the tip. */
  height: number;
}

type Parties = Pick<MempoolRow, 'tx_id' | 'sender_id' | 'sponsor_id' | 'recipient_id' | 'contract_id' | 'received_at'>;

function pendingLists(db: Database) {
  const entries = table(db, pendingPrincipalsTable);
  const countParty = countAdder(db, pendingCountsTable, 'transactions');
  const partiesOf = ({ sender_id, sponsor_id, recipient_id, contract_id }: Parties): Set<number> =>
    new Set([sender_id, sponsor_id, recipient_id, contract_id].filter((id) => id !== null));

  /** Adds a transaction to the lists of its principals if the sign is 1; otherwise removes it. */
  return (sign: 1 | -1, row: Parties): void => {
    for (const party of partiesOf(row)) {
      entries.move(sign, { principal_id: party, received_at: row.received_at, tx_id: row.tx_id });
      countParty({ principal_id: party, transactions: sign });
    }
  };
}

function addedRow(content: TransactionContent, receipt: Receipt, principals: Dictionaries['principals']): AddedRow {
  const { sender, sponsor, payload, raw } = content;
  return {
    ...payloadColumns(payload, sender.address, principals),
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
    size: raw.length,
    raw,
  };
}

/**
 * The version of the mempool and the number of pending transactions, in memory until the commit. Each event that changes the
 * mempool raises the version. It is a time, so that two states never share a version, even after a rebuild or a restore.
 */
function mempoolSummary(db: Database) {
  const find = query<{ version: number }>`SELECT mempool_version AS version FROM progress`.prepared(db);
  const set = query<null, [number, number]>`
    UPDATE progress SET mempool_version = ?1, mempool_pending = mempool_pending + ?2`.prepared(db);
  /** Null until it is read. */
  let version: number | null = null;
  let isRaised = false;
  /** Change of the number of pending transactions since the last commit. */
  let difference = 0;
  return {
    /** @param by change of the number of pending transactions */
    count(by: 1 | -1): void {
      difference += by;
    },
    /** @param now Unix microseconds */
    touch(now: number): void {
      version = Math.max((version ?? find.get()?.version ?? 0) + 1, now);
      isRaised = true;
    },
    store(): void {
      if (!isRaised || version === null) return;
      set.run(version, difference);
      isRaised = false;
      difference = 0;
    },
    forget(): void {
      version = null;
      isRaised = false;
      difference = 0;
    },
  };
}

export type MempoolRows = ReturnType<typeof mempoolRows>;

/** Reads and changes the rows, in the open transaction. */
export function mempoolRows(db: Database, { principals }: Dictionaries, changes: ChangeWriter) {
  const stored = storedRows(db);
  const added = addedRows();
  const { add: insert } = table(db, mempoolTransactionsTable);
  const setState = query<null, [number, number, Uint8Array | null]>`
    UPDATE mempool_transactions SET state = ?2, replaced_by_tx_id = ?3 WHERE rowid = ?1`.prepared(db);
  const setDropped = query<null, [number, number]>`
    UPDATE mempool_transactions SET state = ?2 WHERE rowid = ?1`.prepared(db);
  const setReceipt = query<null, [number, number, number]>`
    UPDATE mempool_transactions SET received_at = ?2, receipt_block_height = ?3 WHERE rowid = ?1`.prepared(db);
  const raise = query<null, [number]>`
    UPDATE mempool_transactions SET receipt_block_height = ?1 WHERE receipt_block_height < ?1`.prepared(db);
  const remove = query<null, [number]>`DELETE FROM mempool_transactions WHERE rowid = ?1`.prepared(db);
  const summary = mempoolSummary(db);
  const moveInLists = pendingLists(db);

  /**
   * Updates the counts and lists for a transaction that becomes pending or stops being pending. Rows that are not in the
   * table yet have no list.
   */
  function countWaiting(sign: 1 | -1, row: MempoolRow): void {
    summary.count(sign);
    if (row.id !== null) moveInLists(sign, row);
  }

  function add(content: TransactionContent, receipt: Receipt): void {
    added.add(addedRow(content, receipt, principals));
    changes.moved(content.txId, null, PENDING);
    summary.count(1);
  }

  function move(row: MempoolRow, state: MempoolState, replacedBy: Uint8Array | null = null): void {
    if (row.id === null) added.change(row.tx_id, { state, replaced_by_tx_id: replacedBy });
    else setState.run(row.id, state, replacedBy);
    changes.moved(row.tx_id, row.state, state);
    if ((state === PENDING) !== (row.state === PENDING)) countWaiting(state === PENDING ? 1 : -1, row);
  }

  function store(): void {
    summary.store();
    for (const row of added.drain()) {
      insert(row);
      if (row.state === PENDING) moveInLists(1, row);
    }
  }

  return {
    find: (txId: Uint8Array): MempoolRow | null => added.find(txId) ?? stored.find(txId),
    /** Rows that spend one of these nonces, as origin or as sponsor. The list may contain a row twice. */
    using: (spends: Spends): MempoolRow[] => [...stored.using(spends), ...added.using(spends)],
    add,
    /** Gives a row another state. @param replacedBy id of the transaction that replaced it */
    move,
    /** Marks a replaced transaction as dropped by the node, too. Its replacement stays the same. */
    dropReplaced(row: MempoolRow): void {
      if (row.id === null) added.change(row.tx_id, { state: REPLACED_AND_DROPPED });
      else setDropped.run(row.id, REPLACED_AND_DROPPED);
      changes.moved(row.tx_id, row.state, REPLACED_AND_DROPPED);
    },
    /** Removes the row of a transaction that is in a canonical block. */
    mine(row: MempoolRow): void {
      if (row.id === null) added.remove(row.tx_id);
      else remove.run(row.id);
      changes.moved(row.tx_id, row.state, MINED);
      if (row.state === PENDING) countWaiting(-1, row);
    },
    /** Makes a dropped row pending again. */
    receive(row: MempoolRow, receipt: Receipt): void {
      const { time: received_at, height: receipt_block_height } = receipt;
      if (row.id === null) added.change(row.tx_id, { received_at, receipt_block_height });
      else setReceipt.run(row.id, received_at, receipt_block_height);
      move({ ...row, received_at }, PENDING);
    },
    /** Transactions that are pending at least since a time, in Unix microseconds. */
    waitingSince: (time: number): MempoolRow[] => [
      ...stored.waitingSince(time),
      ...added.where(({ state, received_at }) => state === PENDING && received_at <= time),
    ],
    /** Transactions that are pending at least since the tip had a height. */
    waitingSinceHeight: (height: number): MempoolRow[] => [
      ...stored.waitingSinceHeight(height),
      ...added.where(({ state, receipt_block_height }) => state === PENDING && receipt_block_height <= height),
    ],
    /** Raises the version, once for each event that changes the mempool. @param now Unix microseconds */
    touch: summary.touch,
    /** Writes the added rows and the summary; called before each commit. */
    store,
    /** Raises lower heights of receipt to this height. */
    raiseReceipts(height: number): void {
      store();
      raise.run(height);
    },
    /** Discards the changes since the last commit, which are rolled back. */
    forget(): void {
      summary.forget();
      added.clear();
    },
  };
}
