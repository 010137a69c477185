/** Transactions of v1: filtered lists, one, several, raw bytes, and events. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { ApiError, requireFound } from '../../http/errors.ts';
import {
  anyFork,
  chainTip,
  mempoolAndAnyFork,
  transaction as transactionTag,
  typedTransaction,
} from '../../http/etag.ts';
import { requireTransactions } from '../../http/history.ts';
import { MaybeSerialized, serializedLazily } from '../../http/json.ts';
import { legacyOffsetQuery, limitOrDefault, OffsetPage } from '../../http/pagination.ts';
import { normalizer } from '../../http/parameters.ts';
import { HASH_DIGITS, prefixed } from '../../http/request-url.ts';
import { route } from '../../http/route.ts';
import type {
  TransactionEvent as Event,
  FoundInForks,
  TransactionFilter,
  TransactionOrder,
} from '../../store/model/transaction.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { eventTypes, TransactionEvent, transactionEvent } from '../shared/event.ts';
import { example } from '../shared/examples/examples.ts';
import { Hash, Hex, named, nullable, words } from '../shared/fields.ts';
import {
  excludeFunctionArgs,
  LegacyAddress,
  LegacyPrincipal,
  TransactionTypes,
  TxId,
  unanchored,
} from '../shared/parameters.ts';
import { FoundTransaction, foundTransaction, Transaction, transactionRows } from '../shared/transaction.ts';

const tag = 'Transactions (v1)';

const eventQuery = {
  event_limit: limitOrDefault({ maximum: 100, default: 20 }),
  event_offset: Type.Integer({ minimum: 0, default: 0, description: 'Number of events to skip' }),
};
const detailQuery = { ...eventQuery, unanchored, exclude_function_args: excludeFunctionArgs };

/** The parameters of {@link detailQuery} that are used. */
interface DetailQuery {
  event_limit: number;
  event_offset: number;
  exclude_function_args: boolean;
}

const serialize = (
  read: Reader,
  inForks: FoundInForks,
  { event_limit, event_offset, exclude_function_args }: DetailQuery,
) =>
  foundTransaction(read, inForks, {
    withoutArguments: exclude_function_args,
    events: inForks.mined ? inForks.events(event_limit, event_offset) : [],
  });

const normalizeTxId = normalizer(TxId);

/** Order of transactions in the answer of `tx/multiple`: mined, then pending or dropped, then unknown. */
function rank(inForks: FoundInForks | undefined): number {
  if (inForks === undefined) return 2;
  return inForks.mined ? 0 : 1;
}

const single = { tag, params: { tx_id: TxId }, notFound: 'Transaction not found' };

export const transactions = [
  route({
    path: '/extended/v1/tx',
    operationId: 'getTransactionList',
    summary: 'Recent transactions, filtered',
    description:
      'Returns the transactions of the canonical chain that match all of the given filters, newest first (default of `order` and `sort_by`).',
    tag,
    deprecated: { replacement: '/extended/v3/transactions' },
    query: {
      ...legacyOffsetQuery({ maximum: 50, default: 20 }),
      type: TransactionTypes,
      unanchored,
      order: Type.Optional({ ...words('asc', 'desc'), description: 'Direction of the order' }),
      sort_by: Type.Optional({
        ...words('block_height', 'burn_block_time', 'fee'),
        description: 'Property that orders the transactions',
      }),
      from_address: Type.Optional(LegacyAddress),
      to_address: Type.Optional(LegacyPrincipal),
      start_time: Type.Optional(
        Type.Integer({
          description: 'Earliest time of the Bitcoin block, in Unix seconds',
          examples: example('block_time'),
        }),
      ),
      end_time: Type.Optional(
        Type.Integer({
          description: 'Latest time of the Bitcoin block, in Unix seconds',
          examples: example('block_time'),
        }),
      ),
      contract_id: Type.Optional(LegacyPrincipal),
      function_name: Type.Optional(
        Type.String({
          description: 'Name of the function that a contract call calls',
          examples: example('function_name'),
        }),
      ),
      nonce: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Nonce of the sender',
          examples: [0],
        }),
      ),
      exclude_function_args: excludeFunctionArgs,
    },
    response: OffsetPage(Transaction),
    etag: anyFork,
    history: 'since',
    handle: ({ query, read }) => {
      const { limit, offset, order = 'desc', sort_by = 'block_height', exclude_function_args } = query;
      const filter: TransactionFilter = {
        types: query.type ?? null,
        sender: query.from_address ?? null,
        recipient: query.to_address ?? null,
        contract: query.contract_id ?? null,
        // An empty name means no filter: clients send it from empty forms.
        functionName: query.function_name || null,
        nonce: query.nonce ?? null,
        since: query.start_time ?? null,
        until: query.end_time ?? null,
      };
      const by: TransactionOrder = { by: sort_by, direction: order };
      const rows = transactionRows(read, exclude_function_args);
      const { items: results, total } = read.transactions.search(filter, by, limit, offset, rows);
      return { limit, offset, total, results };
    },
  }),
  route({
    path: '/extended/v1/tx/multiple',
    operationId: 'getTransactionsById',
    summary: 'Several transactions by id',
    description:
      'Returns several transactions, whether they are mined, pending or dropped, keyed by id in lower case with `0x`. An unknown id has an entry with `found: false`.',
    tag,
    query: {
      tx_id: Type.Array(TxId, { description: 'Transaction ids, separated by commas or as repeated keys' }),
      ...detailQuery,
    },
    response: Type.Record(
      Type.String(),
      Type.Union([
        named('TransactionWithId', { found: Type.Literal(true), result: FoundTransaction }),
        named('UnknownTransactionId', { found: Type.Literal(false), result: Type.Object({ tx_id: Hash }) }),
      ]),
      { $id: 'TransactionsById' },
    ),
    etag: mempoolAndAnyFork,
    history: 'since',
    handle: ({ query, read }) => {
      const ids = new Map(query.tx_id.map((id) => [toHex(id), id]));
      const lookups = [...ids].map(([tx_id, id]) => ({ tx_id, inForks: read.transactions.findInForks(id) }));
      lookups.sort((a, b) => rank(a.inForks) - rank(b.inForks));
      const entries = lookups.map(({ tx_id, inForks }) => {
        if (inForks === undefined) return [tx_id, { found: false as const, result: { tx_id } }] as const;
        return [tx_id, { found: true as const, result: serialize(read, inForks, query) }] as const;
      });
      return Object.fromEntries(entries);
    },
  }),
  route({
    ...single,
    path: '/extended/v1/tx/{tx_id}',
    operationId: 'getTransactionById',
    summary: 'One transaction with its events',
    description:
      'Returns a transaction with its events, whether it is mined, pending or dropped. A transaction that is in orphaned blocks only is returned with `canonical: false`.',
    deprecated: { replacement: '/extended/v3/transactions/{tx_id}' },
    moved: prefixed(4, { shape: HASH_DIGITS, withQuery: true }),
    query: detailQuery,
    response: MaybeSerialized(FoundTransaction),
    etag: typedTransaction,
    history: 'since',
    handle: ({ params: { tx_id }, query, read }) => {
      const { event_limit, event_offset, exclude_function_args } = query;
      const rows = transactionRows(read, exclude_function_args, event_limit);
      // Only texts with the first events are cached: a text for each offset would be too many.
      const mined = event_offset === 0 ? read.transactions.findMined(tx_id, rows) : undefined;
      if (mined !== undefined) return mined;
      return serialize(
        read,
        requireFound(read.transactions.findInForks(tx_id), 'could not find transaction by ID'),
        query,
      );
    },
  }),
  route({
    ...single,
    path: '/extended/v1/tx/{tx_id}/raw',
    operationId: 'getRawTransactionById',
    summary: 'Raw bytes of a transaction',
    description:
      'Returns the serialized transaction in hex. Transactions made on Bitcoin have no such bytes and return `0x00`.',
    deprecated: {
      replacement: '/v3/transaction/{digits}',
      // The node accepts ids in lower case and without 0x only.
      parts: { digits: (textOf) => normalizeTxId(textOf('tx_id'))?.slice(2) ?? null },
    },
    moved: prefixed(4, { shape: HASH_DIGITS, withQuery: false }),
    response: named('RawTransactionV1', { raw_tx: Hex }),
    etag: transactionTag,
    history: 'thing',
    handle: ({ params: { tx_id }, read }) => {
      const inForks = requireFound(read.transactions.findInForks(tx_id), 'could not find raw transaction by ID');
      return { raw_tx: toHex(inForks.transaction.raw) };
    },
  }),
];

const everyKind = Object.keys(eventTypes) as Event['kind'][];
/** Event types that a client can request. */
const types = Object.values(eventTypes).filter((type) => type !== 'unknown');

export const transactionEvents = [
  route({
    path: '/extended/v1/tx/events',
    operationId: 'getFilteredEvents',
    summary: 'Events by transaction or address',
    description:
      'Returns the events of one transaction, or the events that name an address or were logged by it, newest first. Give either `tx_id` or `address`.',
    tag,
    deprecated: { replacement: null },
    query: {
      tx_id: Type.Optional(TxId),
      address: Type.Optional(LegacyPrincipal),
      type: Type.Optional(
        Type.Array(words(...types), { description: 'Event types to return, separated by commas or as repeated keys' }),
      ),
      include_total: Type.Optional(Type.Boolean({ description: 'Whether to return `total`' })),
      ...legacyOffsetQuery({ maximum: 100, default: 20 }),
    },
    response: named('FilteredEvents', {
      limit: Type.Integer(),
      offset: Type.Integer(),
      total: Type.Optional(
        nullable(Type.Integer(), {
          description:
            'Number of events of the whole list, if `include_total` asks for it. Null if it takes too long to count: for some types of an address, and for a transaction with more than 10,000 events',
        }),
      ),
      events: Type.Array(MaybeSerialized(TransactionEvent)),
    }),
    notFound: 'Transaction not found: only on a server with a partial history',
    etag: chainTip,
    history: 'since',
    long: true,
    handle: async ({ query: { tx_id, address, type, include_total = false, limit, offset }, read }) => {
      const page = (total: () => number | null) => ({ limit, offset, ...(include_total ? { total: total() } : {}) });
      const kinds =
        type === undefined ? everyKind : everyKind.filter((kind) => type.some((word) => word === eventTypes[kind]));
      if (tx_id !== undefined && address !== undefined) {
        throw new ApiError(400, "can't handle both 'address' and 'tx_id' in the same request");
      }
      if (tx_id !== undefined) {
        requireTransactions(read, [tx_id]);
        const events = read.events.lastFirst(tx_id, kinds, limit, offset);
        return {
          ...page(() => read.events.count(tx_id, kinds)),
          events: serializedLazily(events, (event) => transactionEvent(event, tx_id)),
        };
      }
      if (address === undefined) throw new ApiError(400, "can not find 'address' or 'tx_id' in the request");
      const events = await read.addresses.events(address, kinds, limit, offset);
      return {
        ...page(() => read.addresses.eventCount(address, kinds)),
        events: serializedLazily(events, ({ txId, event }) => transactionEvent(event, txId)),
      };
    },
  }),
];
