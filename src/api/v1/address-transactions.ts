/** Transactions of an address. */
import { notFound } from '../../http/errors.ts';
import { principalAndMempool, principal as principalTag, transaction as transactionTag } from '../../http/etag.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import {
  concernsStx,
  TransactionWithStxTransfers,
  TransactionWithTransfers,
  withStxTransfers,
  withTransfers,
} from '../shared/address.ts';
import { excludeFunctionArgs, Principal } from '../shared/legacy-parameters.ts';
import { TxId } from '../shared/parameters.ts';
import {
  declarationsFor,
  ListedTransaction,
  listedTransaction,
  MempoolTransaction,
  mempoolTransaction,
} from '../shared/transaction.ts';
import { heightQuery, heightsOf, NO_BLOCK, untilQuery } from './heights.ts';

const tag = 'Addresses';
const params = { principal: Principal };
const v3 = '/extended/v3/principals/{principal}';
const UNKNOWN = 'No matching transaction found';

const page = legacyOffsetQuery({ maximum: 50, default: 20 });
const { unanchored } = untilQuery;

export const addressTransactions = [
  route({
    path: '/extended/v1/address/{principal}/transactions',
    operationId: 'getAccountTransactions',
    summary: 'Transactions of an address',
    description: 'Returns the transactions of the canonical chain that involve an address, newest first.',
    tag,
    params,
    query: { ...page, ...heightQuery, exclude_function_args: excludeFunctionArgs },
    response: OffsetPage(ListedTransaction),
    notFound: NO_BLOCK,
    deprecated: { replacement: `${v3}/transactions` },
    etag: principalTag,
    handle: async ({ params: { principal }, query, read }) => {
      const heights = await heightsOf(read, query);
      const found = await read.addresses.transactions(principal, heights, query.limit, query.offset);
      const context = {
        declarations: await declarationsFor(read, found.items),
        withoutArguments: query.exclude_function_args,
      };
      return offsetPage(query, found, (of) => listedTransaction(of, context));
    },
  }),
  route({
    path: '/extended/v1/address/{principal}/transactions_with_transfers',
    operationId: 'getAccountTransactionsWithTransfers',
    summary: 'Transactions of an address with transfers',
    description:
      'Returns the transactions of an address together with the assets each one moved, newest first. Transactions that the address only sponsored are left out. With `height` all transactions of that block are returned on one page.',
    tag,
    params,
    query: { ...page, ...heightQuery },
    response: OffsetPage(TransactionWithTransfers),
    notFound: NO_BLOCK,
    deprecated: { replacement: `${v3}/transactions` },
    etag: principalTag,
    handle: async ({ params: { principal }, query, read }) => {
      const heights = await heightsOf(read, query);
      const found = await read.addresses.transactionsWithTransfers(principal, heights, query.limit, query.offset);
      const declarations = await declarationsFor(
        read,
        found.items.map((item) => item.transaction),
      );
      return offsetPage(query, found, (of) => withTransfers(of, declarations));
    },
  }),
  route({
    path: '/extended/v1/address/{principal}/{tx_id}/with_transfers',
    operationId: 'getSingleTransactionWithTransfers',
    summary: 'One transaction with STX transfers',
    description: 'Returns one transaction together with the STX of an address that it moved.',
    tag,
    params: { ...params, tx_id: TxId },
    response: TransactionWithStxTransfers,
    notFound: 'Transaction not found, or it moved no STX of this address',
    deprecated: { replacement: `${v3}/transactions/{tx_id}/balance-changes` },
    etag: transactionTag,
    handle: async ({ params: { principal, tx_id }, read }) => {
      const found = await read.addresses.transactionWithTransfers(principal, tx_id);
      if (found === undefined || !concernsStx(found, principal)) throw notFound(UNKNOWN);
      return withStxTransfers(found, await declarationsFor(read, [found.transaction]));
    },
  }),
  route({
    path: '/extended/v1/address/{principal}/mempool',
    operationId: 'getAddressMempoolTransactions',
    summary: 'Pending transactions of an address',
    description:
      'Returns the pending transactions in which the address is the sender, the sponsor, the recipient or the contract, starting with the one received last.',
    tag,
    params,
    query: { ...page, unanchored, exclude_function_args: excludeFunctionArgs },
    response: OffsetPage(MempoolTransaction),
    deprecated: { replacement: `${v3}/mempool/transactions` },
    etag: principalAndMempool,
    handle: async ({ params: { principal }, query, read }) => {
      const found = await read.addresses.mempool(principal, query.limit, query.offset);
      const context = {
        declarations: await declarationsFor(read, found.items),
        withoutArguments: query.exclude_function_args,
      };
      return offsetPage(query, found, (of) => mempoolTransaction(of, context));
    },
  }),
];
