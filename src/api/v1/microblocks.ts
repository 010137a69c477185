/** Microblocks: chain data of Stacks 2.x. Later chains have none. */
import { Type } from '@sinclair/typebox';
import { notFound } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { ANY_TEXT, prefixed } from '../../http/hex-prefix.ts';
import { serializedLate } from '../../http/json.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage } from '../../http/offset-pagination.ts';
import { listOf } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import { Microblock, microblock } from '../shared/block.ts';
import { HexHash } from '../shared/legacy-parameters.ts';
import { declarationsFor, Transaction, transaction } from '../shared/transaction.ts';

const tag = 'Microblocks (v1)';
const deprecated = { replacement: null };
const UNKNOWN = 'cannot find microblock by hash';

export const microblocks = [
  route({
    path: '/extended/v1/microblock',
    operationId: 'getMicroblockList',
    summary: 'Recent microblocks',
    description: 'Returns the microblocks of the canonical chain, newest first. Only Stacks 2.x had microblocks.',
    tag,
    deprecated,
    query: legacyOffsetQuery({ maximum: 200, default: 20 }),
    response: OffsetPage(Microblock),
    etag: chainTip,
    handle: async ({ query, read }) =>
      offsetPage(query, await read.microblocks.page(query.limit, query.offset), microblock),
  }),
  route({
    path: '/extended/v1/microblock/unanchored/txs',
    operationId: 'getUnanchoredTransactions',
    summary: 'Unconfirmed microblock transactions',
    description:
      'Returns the transactions in microblocks that no block has confirmed yet, newest first. Only Stacks 2.x had microblocks, so on newer chains the list is empty.',
    tag,
    deprecated,
    response: listOf(Type.Object({ total: Type.Integer() }, { $id: 'WholeList' }), Transaction),
    etag: chainTip,
    handle: async ({ read }) => {
      const waiting = await read.microblocks.transactions();
      const declarations = await declarationsFor(read, waiting);
      return { total: waiting.length, results: serializedLate(waiting, (of) => transaction(of, { declarations })) };
    },
  }),
  route({
    path: '/extended/v1/microblock/{hash}',
    operationId: 'getMicroblockByHash',
    summary: 'One microblock',
    description: 'Returns the microblock that has a hash. Only Stacks 2.x had microblocks.',
    tag,
    deprecated,
    moved: prefixed(4, { shape: ANY_TEXT, keepQuery: false }),
    params: { hash: HexHash },
    response: Microblock,
    notFound: 'Microblock not found',
    etag: chainTip,
    handle: async ({ params: { hash }, read }) => {
      const found = await read.microblocks.find(hash);
      if (found === undefined) throw notFound(UNKNOWN);
      return microblock(found);
    },
  }),
];
