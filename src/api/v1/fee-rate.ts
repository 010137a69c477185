import { Type } from '@sinclair/typebox';
import { route } from '../../http/route.ts';

/** micro-STX for each byte: what v1 has answered for every transaction, whatever the state of the mempool. */
const FEE_RATE = 400;

export const feeRate = [
  route({
    method: 'POST',
    path: '/extended/v1/fee_rate',
    operationId: 'fetchFeeRate',
    summary: 'Fixed fee rate',
    description:
      'Returns one fixed fee rate for every transaction; nothing is estimated. Ask the node at `/v2/fees/transaction` for an estimate.',
    tag: 'Fees',
    deprecated: { replacement: '/v2/fees/transaction' },
    body: Type.Object({
      transaction: Type.String({ description: 'Serialized transaction in hex; its content has no effect' }),
    }),
    response: Type.Object({ fee_rate: Type.Integer() }, { $id: 'FeeRate' }),
    etag: null,
    handle: () => ({ fee_rate: FEE_RATE }),
  }),
];
