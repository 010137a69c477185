/** Transactions with all that lists leave out, from their rows or from the payload that announced them. */
import type { Database } from 'bun:sqlite';
import type { Block, ChainTransaction } from '../../../chain/block.ts';
import type { SummaryPayload, TransactionDetail, TransactionEvent, TransactionState } from '../../model/transaction.ts';
import { storedTransactionStatus } from '../../rows/enums.ts';
import { heightIn } from '../../rows/expressions.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { type CostRow, costColumns, costOf } from '../blocks/blocks.ts';
import type { FileCache } from '../file-cache.ts';
import { type ItemsOf, models, type PageRows, type RowTexts } from '../row-texts.ts';
import { rowsAt, type SummaryRow, summary, summaryOf } from './summary.ts';

const columns = `${summary.columns}, t.event_count, t.microblock_hash, t.microblock_sequence, b.parent_block_hash,
       coalesce(d.genesis_parent_index_block_hash, b.parent_index_block_hash) AS parent_index_block_hash,
       iif(d.genesis_parent_index_block_hash IS NULL, b.parent_burn_block_time, d.genesis_parent_burn_block_time)
         AS parent_burn_block_time, d.anchor_mode, ${costColumns('d')}, d.vm_error, d.result, d.post_conditions,
       d.function_args, d.raw`;
const joins = `JOIN transaction_bodies d ON d.position = t.position ${summary.joins}`;

export const sql = {
  byId: query<TransactionPlace, [Uint8Array]>`
    SELECT t.position, t.event_count, t.status, b.index_block_hash
      FROM transactions t JOIN blocks b ON b.height = ${heightIn('t.position')}
     WHERE t.tx_id = ?1 ORDER BY t.position DESC LIMIT 1`,
  // In the order of the positions, which are a JSON array.
  atEach: query<Row, [string]>`
    SELECT ${columns} FROM json_each(?1) k CROSS JOIN transactions t ON t.position = k.value ${joins}`,
};

interface Row
  extends SummaryRow,
    CostRow,
    Stored<'transactions', 'event_count' | 'microblock_hash' | 'microblock_sequence'>,
    Stored<'blocks', 'parent_block_hash' | 'parent_index_block_hash' | 'parent_burn_block_time'>,
    Stored<'transaction_bodies', 'anchor_mode' | 'vm_error' | 'result' | 'post_conditions' | 'function_args' | 'raw'> {}

const detailOf = (row: Row): TransactionDetail => ({
  ...summaryOf(row),
  canonical: true,
  microblock:
    row.microblock_hash === null || row.microblock_sequence === null
      ? null
      : { hash: row.microblock_hash, sequence: row.microblock_sequence },
  anchorMode: row.anchor_mode,
  parentBlock: { hash: row.parent_block_hash, indexHash: row.parent_index_block_hash },
  parentBurnBlockTime: row.parent_burn_block_time,
  eventCount: row.event_count,
  cost: costOf(row),
  vmError: row.vm_error,
  result: row.result,
  postConditions: row.post_conditions,
  raw: row.raw,
  functionArgs: row.function_args,
});

/** Maximum number of cached places by id. */
const MAX_PLACES = 1_000;

/** The position of a transaction, and facts that many requests need. */
type TransactionPlace = Stored<'transactions', 'position' | 'event_count' | 'status'> &
  Stored<'blocks', 'index_block_hash'>;

export type DetailQueries = ReturnType<typeof detailQueries>;

/**
 * @param cache caches places until the file changes
 * @param texts caches texts of transactions
 */
export function detailQueries(db: Database, cache: Pick<FileCache, 'memoize'>, texts: RowTexts) {
  const { byId, atEach } = statements(db, sql);

  /** The place of the newest transaction with an id in hex. A request reads it several times, first for the ETag. */
  const placeByHex = cache.memoize((txId): TransactionPlace | null => byId.get(Uint8Array.fromHex(txId)), MAX_PLACES);
  const placeOf = (txId: Uint8Array): TransactionPlace | null => placeByHex(txId.toHex());

  /** Transactions at positions that exist, in the order of the positions given. */
  const detailsAt = (positions: readonly number[]): TransactionDetail[] =>
    rowsAt(positions, atEach.all(JSON.stringify(positions))).map(detailOf);

  const rows = (positions: readonly number[]): PageRows<TransactionDetail> => texts.rowsAt(positions, detailsAt);

  return {
    /** The place of the newest canonical transaction with an id; null if there is none. */
    placeOf,

    /** The newest canonical transaction with an id. */
    find<Item = TransactionDetail>(
      txId: Uint8Array,
      items: ItemsOf<TransactionDetail, Item> = models as never,
    ): Item | undefined {
      const place = placeOf(txId);
      return place === null ? undefined : items(rows([place.position]))[0];
    },

    /** Block and status of the newest canonical transaction with an id. */
    state(txId: Uint8Array): TransactionState | undefined {
      const place = placeOf(txId);
      if (place === null) return undefined;
      return { indexBlockHash: place.index_block_hash, status: storedTransactionStatus.nameOf(place.status) };
    },

    at: detailsAt,
    /** Makes the rows of a page from positions that exist. */
    rows,
  };
}

function summaryPayload({ payload, sender }: ChainTransaction): SummaryPayload {
  const { type } = payload;
  switch (type) {
    case 'token_transfer':
      return { type, recipient: payload.recipient, amount: payload.amount.toString(), memo: payload.memo };
    case 'smart_contract': {
      const { clarityVersion, contractName } = payload;
      return { type, contractId: `${sender.address}.${contractName}`, clarityVersion };
    }
    case 'contract_call':
      return { type, contractId: payload.contractId, functionName: payload.functionName };
    case 'poison_microblock':
    case 'unknown':
      return { type };
    case 'coinbase':
      return { type, altRecipient: payload.altRecipient };
    case 'tenure_change':
      return { type, cause: payload.cause };
  }
}

/** Returns a transaction of an orphaned block. */
export const orphanedDetail = (transaction: ChainTransaction, block: Block): TransactionDetail => ({
  txId: transaction.txId,
  // Operations made on Bitcoin spend no nonce; the API shows 0.
  sender: transaction.bitcoinOperation ? { ...transaction.sender, nonce: 0n } : transaction.sender,
  sponsor: transaction.sponsor,
  fee: transaction.fee.toString(),
  payload: summaryPayload(transaction),
  txIndex: transaction.txIndex,
  status: transaction.status,
  anchorMode: transaction.anchorMode,
  eventCount: transaction.events.length,
  cost: transaction.cost,
  vmError: transaction.vmError,
  result: transaction.result,
  postConditions: transaction.postConditions,
  raw: transaction.raw,
  functionArgs:
    transaction.bitcoinOperation && transaction.payload.type === 'contract_call'
      ? transaction.payload.functionArgs
      : null,
  canonical: false,
  block: {
    height: block.height,
    hash: block.blockHash,
    indexHash: block.indexBlockHash,
    time: transaction.genesis?.blockTime || block.blockTime,
  },
  burnBlock: { height: block.burnBlockHeight, time: block.burnBlockTime },
  parentBlock: {
    hash: block.parentBlockHash,
    indexHash: transaction.genesis?.parentIndexBlockHash ?? block.parentIndexBlockHash,
  },
  parentBurnBlockTime: (transaction.genesis ?? block).parentBurnBlockTime,
  microblock: transaction.microblock,
});

export const indexedEvents = ({ events }: ChainTransaction): TransactionEvent[] =>
  Array.from(events, (event, index) => ({ ...event, index }));
