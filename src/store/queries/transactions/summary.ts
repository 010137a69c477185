/** What mined and pending transactions have in common: columns, filters by the payload, and the summary of a list. */
import { heightOf } from '../../../chain/position.ts';
import type { TenureChangeCause } from '../../../codec/payload.ts';
import type { TransactionType } from '../../../codec/transaction.ts';
import type { MadeBy } from '../../model/staking.ts';
import type { SummaryPayload, TransactionPosition, TransactionSummary } from '../../model/transaction.ts';
import { PAYLOAD, storedTenureCause, storedTransactionStatus, typeName, typeNumbers } from '../../rows/enums.ts';
import { exactColumn, heightIn, shownTime } from '../../rows/expressions.ts';
import { decimalOf } from '../../rows/formats.ts';
import type { AsNumberOrText, Stored } from '../../rows/statement.ts';
import { spentJoins } from '../../views/view.ts';

/** Columns that mined and pending transactions have in common. */
export interface SpentRow
  extends Stored<'transactions', 'tx_id' | 'type' | 'fee' | 'amount' | 'memo' | 'function_name' | 'clarity_version'>,
    AsNumberOrText<Stored<'transactions', 'nonce' | 'sponsor_nonce'>> {
  sender: string;
  sponsor: string | null;
  recipient: string | null;
  contract: string | null;
}

export interface SummaryRow
  extends SpentRow,
    Stored<'transactions', 'position' | 'tx_index' | 'status' | 'tenure_change_cause'>,
    Stored<'blocks', 'block_hash' | 'index_block_hash' | 'block_time' | 'burn_block_height' | 'burn_block_time'> {}

/** The row of a mined or pending transaction. The table of pending ones lacks tenure change causes. */
type AnyRow = SpentRow & Partial<Pick<SummaryRow, 'tenure_change_cause'>>;

const spentColumns = (t: string): string =>
  `${t}.tx_id, ${t}.type, sender.address AS sender, ${exactColumn(t, 'nonce')}, sponsor.address AS sponsor,
   ${exactColumn(t, 'sponsor_nonce')}, ${t}.fee, recipient.address AS recipient, ${t}.amount, ${t}.memo,
   contract.address AS contract, ${t}.function_name, ${t}.clarity_version`;

/** Columns and joins for a query whose FROM has `transactions t`. */
export const summary = {
  columns: `t.position, ${spentColumns('t')}, t.tx_index, t.status, t.tenure_change_cause,
   b.block_hash, b.index_block_hash, ${shownTime} AS block_time, b.burn_block_height, b.burn_block_time`,
  joins: `JOIN blocks b ON b.height = ${heightIn('t.position')} ${spentJoins('t')}`,
};

/** Columns and joins for a query whose FROM has `mempool_transactions m`. */
export const waiting = { columns: spentColumns('m'), joins: spentJoins('m') };

/** Columns and joins as {@link waiting}, for a query whose FROM has `transactions t`. */
export const mined = { columns: spentColumns('t'), joins: spentJoins('t') };

/** The conditions of filters. `types` has a bit for each payload type. @param t alias of the table */
export const payloadFilters = (t: string) => ({
  types: `(:types >> ${t}.type) & 1`,
  sender: `${t}.sender_id = :sender`,
  recipient: `(${t}.type = ${PAYLOAD.token_transfer} AND ${t}.recipient_id = :recipient)`,
  contract: `(${t}.type = ${PAYLOAD.contract_call} AND ${t}.contract_id = :contract)`,
  functionName: `(${t}.type = ${PAYLOAD.contract_call} AND ${t}.function_name = :functionName)`,
  leastAmount: `(${t}.type = ${PAYLOAD.token_transfer} AND CAST(${t}.amount AS INTEGER) >= :leastAmount)`,
  greatestAmount: `(${t}.type = ${PAYLOAD.token_transfer} AND CAST(${t}.amount AS INTEGER) <= :greatestAmount)`,
});

/** A bit for each of some numbers; null for any number. */
export const bitsOf = (numbers: readonly number[] | null): number | null =>
  numbers === null ? null : numbers.reduce((bits, number) => bits | (1 << number), 0);

/** The numbers of types, each once; null for any type. */
export const numbersOf = (types: readonly TransactionType[] | null): number[] | null =>
  types === null ? null : [...new Set(types.flatMap(typeNumbers))];

/** Returns the value of a column that rows of this type always have. @throws Error if it is null */
function requireColumn<T>(value: T | null, column: string): T {
  if (value === null) throw new Error(`a transaction's row lacks ${column}`);
  return value;
}

/** @param number undefined in the mempool, which has no such column: nobody broadcasts tenure changes */
const causeOf = (number: number | null | undefined): TenureChangeCause =>
  number === undefined ? 'block_found' : storedTenureCause.nameOf(requireColumn(number, 'tenure_change_cause'));

function payloadOf(row: AnyRow): SummaryPayload {
  const type = typeName(row.type);
  switch (type) {
    case 'token_transfer':
      return {
        type,
        recipient: requireColumn(row.recipient, 'recipient_id'),
        amount: requireColumn(row.amount, 'amount'),
        memo: row.memo,
      };
    case 'smart_contract':
      return { type, contractId: requireColumn(row.contract, 'contract_id'), clarityVersion: row.clarity_version };
    case 'contract_call':
      return {
        type,
        contractId: requireColumn(row.contract, 'contract_id'),
        functionName: requireColumn(row.function_name, 'function_name'),
      };
    case 'poison_microblock':
    case 'unknown':
      return { type };
    case 'coinbase':
      return { type, altRecipient: row.recipient };
    case 'tenure_change':
      return { type, cause: causeOf(row.tenure_change_cause) };
  }
}

export const spentOf = (row: AnyRow) => ({
  txId: row.tx_id,
  // Operations made on Bitcoin spend no nonce; the API shows 0.
  sender: { address: row.sender, nonce: BigInt(row.nonce ?? 0) },
  sponsor:
    row.sponsor === null || row.sponsor_nonce === null
      ? null
      : { address: row.sponsor, nonce: BigInt(row.sponsor_nonce) },
  fee: decimalOf(row.fee),
  payload: payloadOf(row),
});

/** Returns rows that a query read in the order of positions. @throws Error if a position has no row */
export function rowsAt<Row extends Pick<SummaryRow, 'position'>>(positions: readonly number[], rows: Row[]): Row[] {
  const missing = positions.find((position, index) => rows[index]?.position !== position);
  if (missing !== undefined) throw new Error(`no transaction at position ${missing}`);
  return rows;
}

export const summaryOf = (row: SummaryRow): TransactionSummary => ({
  ...spentOf(row),
  txIndex: row.tx_index,
  status: storedTransactionStatus.nameOf(row.status),
  block: {
    height: heightOf(row.position),
    hash: row.block_hash,
    indexHash: row.index_block_hash,
    time: row.block_time,
  },
  burnBlock: { height: row.burn_block_height, time: row.burn_block_time },
});

/** Columns and joins of the transaction that made something, for a query whose FROM has a table `o` with its position. */
export const creationJoin = {
  columns: `t.position, t.tx_id, t.tx_index, ${shownTime} AS block_time,
            b.block_hash, b.index_block_hash, b.burn_block_height, b.burn_block_time`,
  joins: `JOIN transactions t ON t.position = o.position JOIN blocks b ON b.height = ${heightIn('o.position')}`,
};

export type PlacedRow = Stored<'transactions', 'position' | 'tx_id' | 'tx_index'> &
  Stored<'blocks', 'block_time' | 'block_hash' | 'index_block_hash'>;

/** The place of a transaction. */
export const positionIn = (row: PlacedRow): TransactionPosition => ({
  txId: row.tx_id,
  txIndex: row.tx_index,
  block: {
    height: heightOf(row.position),
    hash: row.block_hash,
    indexHash: row.index_block_hash,
    time: row.block_time,
  },
});

export type CreationRow = PlacedRow & Stored<'blocks', 'burn_block_height' | 'burn_block_time'>;

export const toCreation = (row: CreationRow): MadeBy => ({
  ...positionIn(row),
  burnBlock: { height: row.burn_block_height, time: row.burn_block_time },
});
