import { mempool as mempoolTag } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import { Fees } from './schemas/fees.ts';
import { fees } from './serialize/fees.ts';

export const mempoolFees = [
  route({
    path: '/extended/v2/mempool/fees',
    operationId: 'getMempoolFees',
    summary: 'Fee suggestions',
    description:
      'Returns four fee levels in micro-STX, for all transactions and for each type. The levels are percentiles of the fees that pending transactions offer.',
    tag: 'Mempool',
    response: Fees,
    etag: mempoolTag,
    handle: async ({ read }) => fees(await read.mempool.fees()),
  }),
];
