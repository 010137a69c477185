/** The tokens of a collection. Stackside's own: the list that v1 has is deprecated without a successor. */
import { type Static, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { chainTip } from '../../http/etag.ts';
import { OffsetPage, offsetPage, offsetQuery } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import type { NftEvent } from '../../store/model/token.ts';
import { NftAssetParameter } from '../shared/parameters.ts';
import { ClarityPair, Hash } from '../shared/schemas/values.ts';
import { clarity } from '../shared/serialize/values.ts';

const Mint = Type.Object({
  value: ClarityPair,
  recipient: Type.Union([Type.String(), Type.Null()], { description: 'Who got the token when it was minted' }),
  transaction: Type.Object({ tx_id: Hash, event_index: Type.Integer({ minimum: 0 }) }),
});

const mint = ({ txId, event }: NftEvent): Static<typeof Mint> => ({
  value: clarity(event.value),
  recipient: event.recipient,
  transaction: { tx_id: toHex(txId), event_index: event.index },
});

export const collections = [
  route({
    path: '/stackside/v1/tokens/nft/{asset_identifier}/mints',
    operationId: 'getCollectionMints',
    summary: 'Tokens of a collection',
    description:
      'Returns the mints of a non-fungible token, newest first: the tokens of a collection, those that were burnt later too.',
    tag: 'Stackside',
    params: { asset_identifier: NftAssetParameter },
    query: offsetQuery({ maximum: 200, default: 50 }),
    response: OffsetPage(Mint),
    etag: chainTip,
    handle: async ({ params: { asset_identifier }, query, read }) => {
      const page = await read.tokenLists.nftMints(asset_identifier, query.limit, query.offset, false);
      return offsetPage(query, page, mint);
    },
  }),
];
