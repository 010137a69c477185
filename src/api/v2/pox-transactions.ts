/** Outputs of Bitcoin transactions that paid stackers. */
import { Type } from '@sinclair/typebox';
import { chainAndBurnBlock } from '../../http/etag.ts';
import { OffsetPage, offsetPage, offsetQuery } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import { example } from '../shared/examples/examples.ts';
import { BurnBlockParameter } from '../shared/parameters.ts';
import { PoxTransaction } from './schemas/stacking.ts';
import { poxTransaction } from './serialize/stacking.ts';

const query = offsetQuery({ maximum: 30, default: 20 });

export const poxTransactions = [
  route({
    path: '/extended/v2/burn-blocks/{height_or_hash}/pox-transactions',
    operationId: 'getBurnBlockPoxTransactions',
    summary: 'Reward payments of a Bitcoin block',
    description:
      'Returns the rewards that the transactions of a Bitcoin block paid to stackers, ordered by transaction id. `latest` stands for the newest Bitcoin block that paid any.',
    tag: 'Burn blocks',
    params: { height_or_hash: BurnBlockParameter },
    query,
    response: OffsetPage(PoxTransaction),
    etag: chainAndBurnBlock,
    handle: async ({ params: { height_or_hash }, query, read }) =>
      offsetPage(query, await read.burnRewards.outputsOf(height_or_hash, query.limit, query.offset), poxTransaction),
  }),
  route({
    path: '/extended/v2/addresses/{burnchain_address}/pox-transactions',
    operationId: 'getAddressPoxTransactions',
    summary: 'Reward payments to an address',
    description: 'Returns the rewards that Bitcoin transactions paid to an address, newest block first.',
    tag: 'Burn blocks',
    params: {
      burnchain_address: Type.String({
        description: 'Bitcoin address as the node writes it',
        examples: example('bitcoin_address'),
      }),
    },
    query,
    response: OffsetPage(PoxTransaction),
    etag: chainAndBurnBlock,
    handle: async ({ params: { burnchain_address }, query, read }) => {
      const page = await read.burnRewards.outputsTo(burnchain_address, query.limit, query.offset);
      return offsetPage(query, page, poxTransaction);
    },
  }),
];
