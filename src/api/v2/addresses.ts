/** Addresses of v2: balances and transactions. */
import { Type } from '@sinclair/typebox';
import { fromHex } from '../../codec/hex.ts';
import { notFound } from '../../http/errors.ts';
import { principalAndMempool, principal as principalTag, transaction as transactionTag } from '../../http/etag.ts';
import { serializedRows } from '../../http/json.ts';
import {
  FlatPage,
  flatCursor,
  flatList,
  type ItemName,
  legacyOffsetQuery,
  NO_CURSOR,
  OffsetPage,
  offsetPage,
} from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { AddressTransaction as StoredAddressTransaction } from '../../store/model/account.ts';
import type { TransactionKey } from '../../store/model/transaction.ts';
import {
  AddressFtBalance,
  AddressTransaction,
  AddressTransactionEvent,
  addressTransaction,
  addressTransactionEvent,
  StxBalance,
  stxBalance,
} from '../shared/address.ts';
import { example } from '../shared/examples/examples.ts';
import { named, SignedAmount } from '../shared/fields.ts';
import { excludeFunctionArgs, LegacyPrincipal, PrincipalText, TIP, TxId } from '../shared/parameters.ts';

const tag = 'Addresses';
const params = { principal: LegacyPrincipal };
const family = { tag, params, etag: principalTag, history: 'whole' } as const;
const balancesOfV3 = '/extended/v3/principals/{principal}/balances';

export const addressBalancesV2 = [
  route({
    ...family,
    path: '/extended/v2/addresses/{principal}/balances/stx',
    operationId: 'getAddressStxBalance',
    summary: 'STX balance of an address (v2)',
    description:
      'Returns the STX an address holds and how much of it is locked. With `include_mempool` the effect of pending transactions is added.',
    query: {
      include_mempool: Type.Boolean({
        default: false,
        description: 'Whether to add the effect of pending transactions',
      }),
    },
    response: StxBalance,
    deprecated: { replacement: `${balancesOfV3}/stx` },
    etag: principalAndMempool,
    handle: ({ params: { principal }, query: { include_mempool }, read }) =>
      stxBalance(read.principals.stxHistory(principal, TIP), include_mempool),
  }),
  route({
    ...family,
    path: '/extended/v2/addresses/{principal}/balances/ft',
    operationId: 'getAddressFtBalances',
    summary: 'Fungible token balances of an address',
    description: 'Returns the fungible tokens an address holds, ordered by asset identifier.',
    query: legacyOffsetQuery({ maximum: 200, default: 100 }),
    response: OffsetPage(AddressFtBalance),
    deprecated: { replacement: `${balancesOfV3}/ft` },
    handle: ({ params: { principal }, query, read }) => {
      const page = read.addresses.ftBalances(principal, query.limit, query.offset);
      return offsetPage(query, page, ({ asset: token, balance }) => ({ token, balance }));
    },
  }),
  route({
    ...family,
    path: '/extended/v2/addresses/{principal}/balances/ft/{token}',
    operationId: 'getAddressFtBalance',
    summary: 'Balance of one fungible token (v2)',
    description:
      "Returns an address's balance of one fungible token, or of STX if the token is `stx`. Unknown tokens have a balance of zero.",
    params: { ...params, token: Type.String({ description: 'Asset identifier, or `stx`', examples: example('ft') }) },
    response: named('AddressFtAmount', { balance: SignedAmount }),
    deprecated: { replacement: `${balancesOfV3}/ft/{token}` },
    handle: ({ params: { principal, token }, read }) => {
      if (token !== 'stx') return { balance: read.principals.ftBalance(principal, token) };
      const { balance } = read.principals.stxBalance(principal);
      return { balance: String(balance) };
    },
  }),
];

const UNKNOWN = 'Transaction not found';
const transactionsOfV3 = '/extended/v3/principals/{principal}/transactions';

/** Unlike other routes, these don't check the checksum: the list of a mistyped address is empty. */
const transactionParams = { principal: PrincipalText };

const pageQuery = legacyOffsetQuery({ maximum: 50, default: 20 });

const transactionName: ItemName<TransactionKey> = {
  pattern: '(0x)?[a-fA-F0-9]{64}:\\d+:\\d+',
  description:
    'index block hash, microblock sequence (2147483647 if there is none) and index of the transaction, with colons between them',
  read: transactionKey,
};

function transactionKey(text: string): TransactionKey {
  const [hash = '', sequence, txIndex] = text.split(':');
  const number = (part: string | undefined) => Math.min(Number(part), Number.MAX_SAFE_INTEGER);
  return { indexBlockHash: fromHex(hash), microblockSequence: number(sequence), txIndex: number(txIndex) };
}

export const addressTransactionsV2 = [
  route({
    path: '/extended/v2/addresses/{principal}/transactions',
    operationId: 'getAddressTransactions',
    summary: 'Transactions of an address (v2)',
    description:
      'Returns the transactions of an address with the sums of the assets that each one moved, newest first. Contract calls are returned without function signatures and argument names.',
    tag,
    params: transactionParams,
    query: { ...pageQuery, cursor: flatCursor(transactionName), exclude_function_args: excludeFunctionArgs },
    response: FlatPage(AddressTransaction),
    notFound: NO_CURSOR,
    deprecated: { replacement: transactionsOfV3 },
    etag: principalTag,
    history: 'since',
    handle: ({ params: { principal }, query, read }) => {
      const list = flatList(`address-transactions ${principal}`, transactionName, query);
      const { exclude_function_args: withoutArguments } = query;
      const rows = serializedRows(`address-transaction ${withoutArguments}`, (entry: StoredAddressTransaction) =>
        addressTransaction(entry, { principal, withoutArguments }),
      );
      return list.page(read.addresses.chainPage(principal, ...list.start, rows));
    },
  }),
  route({
    path: '/extended/v2/addresses/{principal}/transactions/{tx_id}/events',
    operationId: 'getAddressTransactionEvents',
    summary: 'Asset events of an address in a transaction',
    description:
      'Returns the events of one transaction that moved assets of an address, in the order in which they happened.',
    tag,
    params: { ...transactionParams, tx_id: TxId },
    query: pageQuery,
    response: OffsetPage(AddressTransactionEvent),
    notFound: UNKNOWN,
    deprecated: { replacement: `${transactionsOfV3}/{tx_id}/balance-changes` },
    etag: transactionTag,
    history: 'thing',
    handle: ({ params: { principal, tx_id }, query, read }) => {
      const page = read.addresses.eventsOfTransaction(principal, tx_id, query.limit, query.offset);
      if (page !== undefined) return offsetPage(query, page, addressTransactionEvent);
      // A transaction of an orphaned block moved nothing, and may be pending again.
      if (!read.transactions.isInOrphan(tx_id)) throw notFound(UNKNOWN);
      return offsetPage(query, { items: [], total: 0 }, addressTransactionEvent);
    },
  }),
];
