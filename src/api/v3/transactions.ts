/** Routes of transactions: lists of the chain, a block and the mempool, a single one, and its events. */
import { type StaticDecode, type TObject, Type } from '@sinclair/typebox';
import { exactJson } from '../../base/json.ts';
import { toHex } from '../../codec/hex.ts';
import { requireFound } from '../../http/errors.ts';
import { block, chainTip, mempool as mempoolTag, transaction } from '../../http/etag.ts';
import { MaybeSerialized } from '../../http/json.ts';
import { CursorPage, cursorList, cursorQuery, listOf, UncountedCursorPage } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { TransactionEvent as StoredTransactionEvent } from '../../store/model/transaction.ts';
import { type EventOf, type EventsBy, LoggedValue, loggedValue, unknownEvent } from '../shared/event.ts';
import {
  Amount,
  ClarityPair,
  clarity,
  fields,
  Hash,
  Height,
  Memo,
  memo,
  named,
  nullable,
  object,
  Principal,
  variants,
  words,
} from '../shared/fields.ts';
import {
  AddressParameter,
  BlockParameter,
  blockText,
  ContractParameter,
  includeQuery,
  inOrder,
  listField,
  MAX_SUBJECTS,
  PrincipalParameter,
  parseWindow,
  ResultsAtTip,
  TransactionTypes,
  TxId,
  texts,
  tipOf,
  windowQuery,
} from '../shared/parameters.ts';
import { Status } from '../shared/transaction-parts.ts';
import {
  FoundTransaction,
  FullPending,
  fullPending,
  fullRows,
  fullTransaction,
  includable,
  PendingSummary,
  pendingRows,
  pendingSummary,
  summaryRows,
  TransactionSummary,
} from './transaction.ts';

const types = {
  contract_log: 'contract_log',
  stx_lock: 'stx_lock',
  stx: 'stx_asset',
  ft: 'ft_asset',
  nft: 'nft_asset',
  unknown: 'unknown',
} as const satisfies Record<StoredTransactionEvent['kind'], string>;

type Movement = EventOf<'stx' | 'ft' | 'nft'>;
/** A transfer has both sides, a mint no sender, a burn no recipient. */
const from = fields<Movement>()({ sender: [Principal, ({ sender }) => side(sender)] });
const to = fields<Movement>()({ recipient: [Principal, ({ recipient }) => side(recipient)] });
const actionField = ['type', ({ action }: Movement) => action] as const;
type ByAction<E extends Movement> = Record<E['action'], E>;

function side(principal: string | null): string {
  if (principal === null) throw new Error('an event without one of the sides of its action');
  return principal;
}

const stx = fields<EventOf<'stx'>>()({ amount: [Amount, ({ amount }) => amount] });
const ft = fields<EventOf<'ft'>>()({
  asset_identifier: [Type.String(), ({ asset }) => asset],
  amount: [Amount, ({ amount }) => amount],
});
const nft = fields<EventOf<'nft'>>()({
  asset_identifier: [Type.String(), ({ asset }) => asset],
  value: [ClarityPair, ({ value }) => clarity(value)],
});

const [TransactionEvent, transactionEvent] = variants<StoredTransactionEvent, EventsBy<typeof types>>(
  'TransactionEvent',
)(
  ['type', ({ kind }) => types[kind]],
  { event_index: [Type.Integer({ minimum: 0 }), ({ index }) => index] },
  {
    contract_log: { contract_log: [LoggedValue, loggedValue] },
    stx_lock: {
      stx_lock: object<EventOf<'stx_lock'>>()({
        amount: [Amount, ({ amount }) => amount],
        unlock_bitcoin_height: [Height, ({ unlockHeight }) => unlockHeight],
        address: [Principal, ({ address }) => address],
      }),
    },
    stx_asset: {
      stx_asset: variants<EventOf<'stx'>, ByAction<EventOf<'stx'>>>('StxMovement')(
        actionField,
        {},
        {
          transfer: { ...from, ...to, ...stx, memo: [nullable(Memo), (event) => memo(event.memo)] },
          mint: { ...to, ...stx },
          burn: { ...from, ...stx },
        },
      ),
    },
    ft_asset: {
      ft_asset: variants<EventOf<'ft'>, ByAction<EventOf<'ft'>>>('FtMovement')(
        actionField,
        {},
        { transfer: { ...from, ...to, ...ft }, mint: { ...to, ...ft }, burn: { ...from, ...ft } },
      ),
    },
    unknown: { unknown: unknownEvent },
    nft_asset: {
      nft_asset: variants<EventOf<'nft'>, ByAction<EventOf<'nft'>>>('NftMovement')(
        actionField,
        {},
        { transfer: { ...from, ...to, ...nft }, mint: { ...to, ...nft }, burn: { ...from, ...nft } },
      ),
    },
  },
);

export { transactionEvent };

const tag = 'Transactions';
const UNKNOWN = 'Transaction not found';

const single = { tag, params: { tx_id: TxId }, notFound: UNKNOWN, etag: transaction, history: 'thing' } as const;

export const transactions = [
  route({
    path: '/extended/v3/transactions',
    operationId: 'getTransactions',
    summary: 'Recent transactions',
    description: 'Returns the transactions of the canonical chain, newest first.',
    tag,
    query: cursorQuery,
    response: CursorPage(TransactionSummary),
    etag: chainTip,
    history: 'since',
    handle: ({ query, read }) => {
      const list = cursorList('transactions', query);
      return list.page(read.transactions.page(...list.start, summaryRows));
    },
  }),
  route({
    ...single,
    path: '/extended/v3/transactions/{tx_id}',
    operationId: 'getTransaction',
    summary: 'One transaction',
    description:
      'Returns a transaction whether it is mined, pending or dropped; see `status`. Large parts (arguments, source code, post-conditions, result) are returned only if `include` names them.',
    query: includeQuery(...includable),
    response: MaybeSerialized(FoundTransaction),
    handle: ({ params: { tx_id }, query: { include = [] }, read }) => {
      const mined = include.length === 0 ? read.transactions.findMined(tx_id, fullRows) : undefined;
      if (mined !== undefined) return mined;
      const match = requireFound(read.transactions.find(tx_id), UNKNOWN);
      return fullTransaction(match, include);
    },
  }),
  route({
    ...single,
    path: '/extended/v3/transactions/{tx_id}/events',
    operationId: 'getTransactionEvents',
    summary: 'Events of a transaction',
    description:
      'Returns the events of a transaction of the canonical chain in the order in which they happened. A pending transaction has none.',
    query: cursorQuery,
    response: CursorPage(TransactionEvent),
    handle: ({ params: { tx_id }, query, read }) => {
      const list = cursorList(`transaction-events ${toHex(tx_id)}`, query);
      return list.page(requireFound(read.events.ofTransaction(tx_id, ...list.start), UNKNOWN), transactionEvent);
    },
  }),
];

const UNKNOWN_BLOCK = 'Block not found';

export const blocks = [
  route({
    path: '/extended/v3/blocks/{height_or_hash}/transactions',
    operationId: 'getBlockTransactions',
    summary: 'Transactions of a block',
    description: 'Returns the transactions of a block of the canonical chain, starting with the last one in the block.',
    tag: 'Blocks',
    params: { height_or_hash: BlockParameter },
    query: cursorQuery,
    response: CursorPage(TransactionSummary),
    notFound: UNKNOWN_BLOCK,
    etag: block,
    history: 'thing',
    handle: ({ params: { height_or_hash }, query, read }) => {
      const list = cursorList(`block-transactions ${blockText(height_or_hash)}`, query);
      const page = read.transactions.ofBlock(height_or_hash, ...list.start, summaryRows);
      return list.page(requireFound(page, UNKNOWN_BLOCK));
    },
  }),
];

const microStx = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,19}$',
      rule: 'a whole number of micro-STX, of at most 19 digits',
      description,
      examples: ['1000000'],
    }),
  );

/** The greatest integer of SQLite, above all STX. */
const MAX_AMOUNT = 2n ** 63n - 1n;
const parseAmount = (text: string | undefined): bigint | null => {
  const amount = text === undefined ? null : BigInt(text);
  return amount !== null && amount > MAX_AMOUNT ? MAX_AMOUNT : amount;
};

const commonConditions = {
  type: TransactionTypes,
  sender: Type.Optional(AddressParameter),
  recipient: Type.Optional(PrincipalParameter),
  contract_id: Type.Optional(ContractParameter),
  function_name: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Name of the called function', examples: ['transfer'] }),
  ),
  min_amount: microStx('Minimum amount of a token transfer, in micro-STX'),
  max_amount: microStx('Maximum amount of a token transfer, in micro-STX'),
};

type ConditionsQuery = StaticDecode<TObject<typeof commonConditions>>;

const toConditions = (query: ConditionsQuery) => ({
  types: query.type ?? null,
  sender: query.sender ?? null,
  recipient: query.recipient ?? null,
  contract: query.contract_id ?? null,
  functionName: query.function_name ?? null,
  leastAmount: parseAmount(query.min_amount),
  greatestAmount: parseAmount(query.max_amount),
});

export const search = [
  route({
    path: '/stackside/v1/transactions',
    operationId: 'searchTransactions',
    summary: 'Transactions that meet conditions',
    description:
      'Returns the transactions of the canonical chain that meet all given conditions. The items are as in `/extended/v3/transactions`. An answer reads a bounded part of the chain: it may have fewer results than `limit`, or none, even if there is a next page.',
    tag: 'Stackside',
    query: {
      ...cursorQuery,
      ...commonConditions,
      status: Type.Optional(Type.Array(Status, { description: 'Statuses of the transaction; any of them matches' })),
      principal: Type.Optional(PrincipalParameter),
      ...windowQuery,
    },
    response: UncountedCursorPage(TransactionSummary),
    etag: chainTip,
    history: 'since',
    handle: ({ query, read }) => {
      const { limit, cursor, order = 'desc', ...filters } = query;
      const { heights, since, until } = parseWindow(filters);
      const conditions = {
        ...toConditions(filters),
        ...heights,
        since,
        until,
        statuses: filters.status ?? null,
        principal: filters.principal ?? null,
      };
      // A cursor is valid for the list of its conditions only.
      const list = cursorList(inOrder(`transactions ${exactJson(conditions)}`, order), { limit, cursor });
      return list.page(read.transactions.meeting(conditions, order, ...list.start, summaryRows));
    },
  }),
];

const pending = { tag: 'Stackside', etag: mempoolTag, history: 'pending' } as const;

export const mempool = [
  route({
    path: '/extended/v3/mempool/transactions',
    operationId: 'getMempoolTransactions',
    summary: 'Pending transactions',
    description: 'Returns the transactions in the mempool, starting with the one received last.',
    tag: 'Mempool',
    query: cursorQuery,
    response: CursorPage(PendingSummary),
    etag: mempoolTag,
    history: 'pending',
    handle: ({ query, read }) => {
      const list = cursorList('mempool-transactions', query);
      return list.page(read.mempool.page(...list.start, pendingRows));
    },
  }),
  // Only Stackside has this route. It returns the items of v3.
  route({
    ...pending,
    path: '/stackside/v1/mempool/transactions',
    operationId: 'searchMempoolTransactions',
    summary: 'Pending transactions that meet conditions',
    description:
      'Returns the transactions in the mempool that meet all given conditions, by fee or by time of receipt, as `/extended/v3/mempool/transactions` shows them. A page may have fewer results than `limit`, or none, even if there is a next page.',
    query: {
      ...cursorQuery,
      sort_by: Type.Optional({ ...words('fee', 'age'), description: 'Order: by fee (default), or by age' }),
      ...commonConditions,
    },
    response: UncountedCursorPage(PendingSummary),
    handle: ({ query, read }) => {
      const { limit, cursor, sort_by = 'fee', ...filters } = query;
      const conditions = toConditions(filters);
      // A cursor is valid for the list of its conditions and order only.
      const list = cursorList(`mempool ${sort_by} ${exactJson(conditions)}`, { limit, cursor });
      return list.page(read.mempool.meeting(conditions, sort_by, ...list.start), pendingSummary);
    },
  }),
  route({
    ...pending,
    path: '/stackside/v1/principals/{principal}/dropped-transactions',
    operationId: 'getDroppedTransactionsOfPrincipal',
    summary: 'Dropped transactions of an account',
    description:
      'Returns the transactions of an account (as origin) that left the mempool without being mined, starting with the one received last. `status` is the reason, and `replaced_by_tx_id` the transaction that took its nonce, if the node named one.',
    params: { principal: PrincipalParameter },
    query: cursorQuery,
    response: UncountedCursorPage(FullPending),
    handle: ({ params: { principal }, query, read }) => {
      const list = cursorList(`dropped ${principal}`, query);
      return list.page(read.mempool.droppedOf(principal, ...list.start), (item) => fullPending(item, []));
    },
  }),
  route({
    path: '/stackside/v1/mempool/blocks/{block}/transactions',
    operationId: 'getProjectedBlockTransactions',
    summary: 'Transactions of a projected block',
    description:
      'Returns the first transactions of a block of `/stackside/v1/mempool/blocks`, in the order that a miner would choose. There are no cursors. A block with free space is empty here, because each event may change the projection.',
    tag: 'Stackside',
    params: {
      block: Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Number of the projected block: 1 for the next one',
        examples: [1],
      }),
    },
    query: { limit: cursorQuery.limit },
    response: named('ProjectedTransactions', {
      total: Type.Integer({ description: 'Number of transactions of the block' }),
      results: Type.Array(PendingSummary),
    }),
    etag: mempoolTag,
    history: 'since',
    long: true,
    handle: async ({ params: { block: number }, query: { limit }, read }) => {
      const page = await read.mempool.inProjectedBlock(number, limit);
      return { total: page.total, results: page.items.map(pendingSummary) };
    },
  }),
];

const AskedTransaction = named('AskedTransaction', { tx_id: Hash, transaction: nullable(FoundTransaction) });

const readTxIds = listField('tx_ids', TxId);

/** Several transactions from one snapshot. Stackside's own route. */
export const manyTransactions = [
  route({
    method: 'POST',
    path: '/stackside/v1/transactions/multiple',
    operationId: 'getManyTransactions',
    summary: 'Several transactions',
    description:
      'Returns up to 50 transactions, in the order of the request, whether they are mined, pending or dropped. All are from one state of the chain. `transaction` is null for an unknown id. Large parts are returned only if `include` names them.',
    tag: 'Stackside',
    body: Type.Object(
      {
        tx_ids: texts('Transaction ids, with or without 0x', { minItems: 1, maxItems: MAX_SUBJECTS }),
        include: Type.Optional(
          Type.Array(words(...includable), { description: 'Optional parts to return', uniqueItems: true }),
        ),
      },
      { additionalProperties: false },
    ),
    response: listOf(ResultsAtTip, AskedTransaction),
    etag: null,
    history: 'since',
    handle: ({ body: { tx_ids, include = [] }, read }) => {
      const toResult = (id: Uint8Array) => {
        const transaction = read.transactions.find(id);
        return {
          tx_id: toHex(id),
          transaction: transaction === undefined ? null : fullTransaction(transaction, include),
        };
      };
      return { ...tipOf(read), results: readTxIds(tx_ids).map(toResult) };
    },
  }),
];
