/** The bytes of a transaction. Stackside's own: the route that v1 has is deprecated, and its successor is the node's. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { notFound } from '../../http/errors.ts';
import { transaction as transactionTag } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import { TxId } from '../shared/parameters.ts';
import { Hash, Hex } from '../shared/values.ts';

const UNKNOWN = 'Transaction not found';

export const rawTransactions = [
  route({
    path: '/stackside/v1/transactions/{tx_id}/raw',
    operationId: 'getTransactionBytes',
    summary: 'Serialized transaction',
    description:
      'Returns the bytes of a transaction in hex, whether it is mined, pending or dropped. Transactions made on Bitcoin have none and return `0x00`.',
    tag: 'Stackside',
    params: { tx_id: TxId },
    response: Type.Object({ tx_id: Hash, raw_tx: Hex }, { $id: 'TransactionBytes' }),
    notFound: UNKNOWN,
    etag: transactionTag,
    handle: async ({ params: { tx_id }, read }) => {
      const found = await read.transactions.findInForks(tx_id, { limit: 0, offset: 0 }, true);
      if (found === undefined) throw notFound(UNKNOWN);
      return { tx_id: toHex(tx_id), raw_tx: toHex(found.transaction.raw) };
    },
  }),
];
