import { mempool as mempoolTag } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import { Fees } from './schemas/fees.ts';
import { fees } from './serialize/fees.ts';

export const mempoolFees = [
  route({
    path: '/extended/v2/mempool/fees',
    operationId: 'getMempoolFees',
    summary: 'Fees to choose from: percentiles of what pending transactions offer, in micro-STX',
    tag: 'Mempool',
    response: Fees,
    etag: mempoolTag,
    handle: async ({ read }) => fees(await read.mempool.fees()),
  }),
];
