/** The mempool of v1: what waits, filtered and ordered, and its statistics. */
import { Type } from '@sinclair/typebox';
import { ApiError } from '../../http/errors.ts';
import { mempool as mempoolTag } from '../../http/etag.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import { excludeFunctionArgs, Principal, unanchored } from '../shared/legacy-parameters.ts';
import { declarationsFor, MempoolTransaction, mempoolTransaction } from '../shared/transaction.ts';
import { words } from '../shared/values.ts';
import { MempoolStats } from './schemas/mempool.ts';
import { mempoolStats } from './serialize/mempool.ts';

const tag = 'Mempool (v1)';

export const mempool = [
  route({
    path: '/extended/v1/tx/mempool',
    operationId: 'getMempoolTransactionList',
    summary: 'Pending transactions, filtered',
    description:
      'Returns the pending transactions that match all of the given filters, starting with the one received last unless `order_by` says otherwise.',
    tag,
    deprecated: { replacement: '/extended/v3/mempool/transactions' },
    query: {
      ...legacyOffsetQuery({ maximum: 50, default: 20 }),
      sender_address: Type.Optional(Principal),
      recipient_address: Type.Optional(Principal),
      address: Type.Optional({
        ...Principal,
        description: 'Address that is the sender, the sponsor, the recipient or the contract',
      }),
      order_by: Type.Optional({
        ...words('age', 'size', 'fee'),
        description: 'Property by which the transactions are ordered',
      }),
      order: Type.Optional({ ...words('asc', 'desc'), description: 'Direction of the order' }),
      unanchored,
      exclude_function_args: excludeFunctionArgs,
    },
    response: OffsetPage(MempoolTransaction),
    etag: mempoolTag,
    handle: async ({ query, read }) => {
      const { limit, offset, sender_address, recipient_address, address, order_by = 'age', order = 'desc' } = query;
      if (address !== undefined && (sender_address !== undefined || recipient_address !== undefined)) {
        throw new ApiError(400, 'The "address" filter cannot be specified with other address filters');
      }
      const filter = {
        sender: sender_address ?? null,
        recipient: recipient_address ?? null,
        principal: address ?? null,
      };
      const page = await read.mempool.search(filter, { by: order_by, direction: order }, limit, offset);
      const declarations = await declarationsFor(read, page.items);
      const context = { declarations, withoutArguments: query.exclude_function_args };
      return offsetPage({ limit, offset }, page, (of) => mempoolTransaction(of, context));
    },
  }),
  route({
    path: '/extended/v1/tx/mempool/stats',
    operationId: 'getMempoolTransactionStats',
    summary: 'Mempool statistics',
    description:
      'Returns the number of pending transactions of each type, and percentiles of their fees, ages and sizes.',
    tag,
    response: MempoolStats,
    etag: mempoolTag,
    handle: async ({ read }) => {
      const tip = await read.chain.tip();
      return mempoolStats(await read.mempool.feesAndSizes(), (tip?.height ?? 0) + 1);
    },
  }),
];
