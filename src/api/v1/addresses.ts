/** Addresses of v1: balances, transfers and transactions. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { ApiError, notFound } from '../../http/errors.ts';
import {
  mempoolAndAnyFork,
  principalAndAnyFork,
  principalAndMempool,
  principal as principalTag,
  typedTransaction,
} from '../../http/etag.ts';
import { withUntouched } from '../../http/history.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { Nonces as NonceState } from '../../store/model/account.ts';
import {
  Balances,
  balances,
  concernsStx,
  InboundTransfer,
  inboundTransfer,
  listedEvent,
  Nonces,
  nonces,
  StxBalanceWithTotals,
  stxBalanceWithTotals,
  TransactionWithStxTransfers,
  TransactionWithTransfers,
  transactionWithStxTransfers,
  transactionWithTransfers,
} from '../shared/address.ts';
import { TransactionEvent } from '../shared/event.ts';
import { example } from '../shared/examples/examples.ts';
import { excludeFunctionArgs, type HeightOrHash, hexParameter, LegacyPrincipal, TxId } from '../shared/parameters.ts';
import {
  declarationsFor,
  MempoolTransaction,
  mempoolTransaction,
  Transaction,
  transactionRows,
} from '../shared/transaction.ts';
import { heightQuery, NO_BLOCK, parseHeights, untilHeight, untilQuery } from './heights.ts';

const tag = 'Addresses';
const params = { principal: LegacyPrincipal };
const v3 = '/extended/v3/principals/{principal}';

const family = { tag, params, notFound: NO_BLOCK } as const;
const balancesFamily = { ...family, query: untilQuery, etag: principalAndMempool, history: 'whole' } as const;
const listFamily = { ...family, etag: principalAndAnyFork, history: 'since' } as const;

/** Returns the block that the parameters of the nonces name; null if they name none. @throws ApiError if they name two */
function requestedBlock(height: number | undefined, hash: Uint8Array | undefined): HeightOrHash | null {
  if (height !== undefined && hash !== undefined) {
    const message = "Multiple block query parameters specified: use one of 'block_height' and 'block_hash'";
    throw new ApiError(400, message, 'VALIDATION');
  }
  if (height !== undefined) return { height };
  return hash === undefined ? null : { hash };
}

/** The 404 of the nonces, with the block of the request. */
const noBlock = (id: HeightOrHash) =>
  notFound(`No block found for ${JSON.stringify('hash' in id ? { hash: toHex(id.hash) } : id)}`);

const noncesAtBlock = (lastNonce: bigint | null): NonceState => ({
  next: lastNonce === null ? 0n : lastNonce + 1n,
  lastConfirmed: lastNonce,
  lastPending: null,
  pending: [],
  missing: [],
});

export const addressBalances = [
  route({
    ...balancesFamily,
    path: '/extended/v1/address/{principal}/stx',
    operationId: 'getAccountStxBalance',
    summary: 'STX balance of an address',
    description:
      'Returns the STX an address holds, how much of it is locked, and how much it has sent and received so far.',
    response: StxBalanceWithTotals,
    deprecated: { replacement: `${v3}/balances/stx` },
    handle: ({ params: { principal }, query, read }) => {
      const history = read.principals.stxHistory(principal, untilHeight(read, query));
      return stxBalanceWithTotals(history, query.until_block === undefined);
    },
  }),
  route({
    ...balancesFamily,
    path: '/extended/v1/address/{principal}/balances',
    operationId: 'getAccountBalance',
    summary: 'All balances of an address',
    description:
      'Returns the STX and tokens an address holds, and how much it has sent and received of each. Every token that the address ever moved is listed, zero balances included.',
    response: Balances,
    deprecated: { replacement: [`${v3}/balances/stx`, `${v3}/balances/ft`, `${v3}/balances/nft`] },
    handle: ({ params: { principal }, query, read }) => {
      const height = untilHeight(read, query);
      const [stx, tokens] = [read.principals.stxHistory(principal, height), read.addresses.tokens(principal, height)];
      return balances(stx, tokens, query.until_block === undefined);
    },
  }),
  route({
    path: '/extended/v1/address/{principal}/nonces',
    operationId: 'getAccountNonces',
    summary: 'Nonces of an address',
    description:
      'Returns the last nonce an address used, the nonces of its pending transactions, and the nonce to use next. With `block_height` or `block_hash` the state after that block is returned.',
    tag,
    params,
    query: {
      block_height: Type.Optional(
        Type.Integer({
          minimum: 1,
          description: 'Height of the last block that counts; give this or `block_hash`, not both',
          examples: example('block_height'),
        }),
      ),
      block_hash: Type.Optional(
        hexParameter({
          pattern: '^0x[a-fA-F0-9]{64}$',
          rule: 'a hash: 0x and 64 hexadecimal digits',
          description: 'Hash of the last block that counts; give this or `block_height`, not both',
          examples: example('block_hash'),
        }),
      ),
    },
    response: Nonces,
    notFound: 'Block not found',
    deprecated: { replacement: `${v3}/nonces` },
    etag: principalAndMempool,
    history: 'account',
    handle: ({ params: { principal }, query: { block_height: height, block_hash: hash }, read, askAccount }) => {
      const id = requestedBlock(height, hash);
      return withUntouched(read, [principal], askAccount, ([untouched]) => {
        if (id === null) return nonces(read.principals.nonces(principal, untouched));
        const block = read.blocks.find(id);
        if (block === undefined) throw noBlock(id);
        const { lastNonce } = read.principals.stxHistory(principal, block.height, untouched);
        return nonces(noncesAtBlock(lastNonce));
      });
    },
  }),
];

export const addressTransfers = [
  route({
    ...family,
    path: '/extended/v1/address/{principal}/assets',
    operationId: 'getAccountAssets',
    summary: 'Asset events of an address',
    description:
      'Returns the events that moved assets of an address or locked its STX, newest first. A lock event has the amount and height 1 here; the events of its transaction state the real ones.',
    query: { ...legacyOffsetQuery({ maximum: 100, default: 20 }), ...untilQuery },
    response: OffsetPage(TransactionEvent),
    deprecated: { replacement: null, related: `${v3}/balance-changes` },
    etag: principalTag,
    history: 'since',
    long: true,
    handle: async ({ params: { principal }, query, read }) => {
      const height = untilHeight(read, query);
      const page = await read.addresses.assetEvents(principal, height, query.limit, query.offset);
      return offsetPage(query, page, listedEvent);
    },
  }),
  route({
    ...family,
    path: '/extended/v1/address/{principal}/stx_inbound',
    operationId: 'getAccountInbound',
    summary: 'STX received by an address',
    description:
      'Returns the STX transfers to an address with their memos, newest first. The list contains transfer transactions, failed ones included, and transfers with a memo made by contracts.',
    query: { ...legacyOffsetQuery({ maximum: 50, default: 20 }), ...heightQuery },
    response: OffsetPage(InboundTransfer),
    deprecated: { replacement: '/extended/v3/principals/{principal}/transfers/stx/inbound' },
    etag: principalTag,
    history: 'since',
    handle: ({ params: { principal }, query, read }) => {
      const heights = parseHeights(read, query);
      const page = read.addresses.inboundTransfers(principal, heights, query.limit, query.offset);
      return offsetPage(query, page, inboundTransfer);
    },
  }),
];

const pageQuery = legacyOffsetQuery({ maximum: 50, default: 20 });
const { unanchored } = untilQuery;

export const addressTransactions = [
  route({
    ...listFamily,
    path: '/extended/v1/address/{principal}/transactions',
    operationId: 'getAccountTransactions',
    summary: 'Transactions of an address',
    description: 'Returns the transactions of the canonical chain that involve an address, newest first.',
    query: { ...pageQuery, ...heightQuery, exclude_function_args: excludeFunctionArgs },
    response: OffsetPage(Transaction),
    deprecated: { replacement: `${v3}/transactions` },
    handle: ({ params: { principal }, query, read }) => {
      const heights = parseHeights(read, query);
      const { limit, offset, exclude_function_args: withoutArguments } = query;
      const rows = transactionRows(read, withoutArguments);
      return offsetPage(query, read.addresses.transactions(principal, heights, limit, offset, rows));
    },
  }),
  route({
    ...listFamily,
    path: '/extended/v1/address/{principal}/transactions_with_transfers',
    operationId: 'getAccountTransactionsWithTransfers',
    summary: 'Transactions of an address with transfers',
    description:
      'Returns the transactions of an address together with the assets each one moved, newest first. Transactions that the address only sponsored are left out. With `height` all transactions of that block are returned on one page.',
    query: { ...pageQuery, ...heightQuery },
    response: OffsetPage(TransactionWithTransfers),
    deprecated: { replacement: `${v3}/transactions` },
    handle: ({ params: { principal }, query, read }) => {
      const heights = parseHeights(read, query);
      const page = read.addresses.transactionsWithTransfers(principal, heights, query.limit, query.offset);
      const declarations = declarationsFor(
        read,
        page.items.map((item) => item.transaction),
      );
      return offsetPage(query, page, (item) => transactionWithTransfers(item, declarations));
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
    etag: typedTransaction,
    history: 'since',
    handle: ({ params: { principal, tx_id }, read }) => {
      const addressTransaction = read.addresses.transactionWithTransfers(principal, tx_id);
      if (addressTransaction === undefined || !concernsStx(addressTransaction, principal)) {
        throw notFound('No matching transaction found');
      }
      return transactionWithStxTransfers(addressTransaction, declarationsFor(read, [addressTransaction.transaction]));
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
    query: { ...pageQuery, unanchored, exclude_function_args: excludeFunctionArgs },
    response: OffsetPage(MempoolTransaction),
    deprecated: { replacement: `${v3}/mempool/transactions` },
    etag: mempoolAndAnyFork,
    history: 'since',
    handle: ({ params: { principal }, query, read }) => {
      const page = read.addresses.mempool(principal, query.limit, query.offset);
      const context = {
        declarations: declarationsFor(read, page.items),
        withoutArguments: query.exclude_function_args,
      };
      return offsetPage(query, page, (item) => mempoolTransaction(item, context));
    },
  }),
];
