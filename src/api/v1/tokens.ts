/** Tokens: who has them, and what became of instances. */

import { Type } from '@sinclair/typebox';
import { decodeClarity } from '../../codec/clarity.ts';
import { fromHex, toHex } from '../../codec/hex.ts';
import { chainTip } from '../../http/etag.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import { InvalidValue } from '../../http/value-reader.ts';
import type { TransactionDetail } from '../../store/model/transaction.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import { Principal } from '../shared/legacy-parameters.ts';
import { NftAssetParameter } from '../shared/parameters.ts';
import { declarationsFor } from '../shared/transaction.ts';
import { untilQuery } from './heights.ts';
import { Holders, NftHistoryEvent, NftHolding, NftMint } from './schemas/token.ts';
import { holders, nftHistoryEvent, nftHolding, nftMint } from './serialize/token.ts';

const tag = 'Tokens';

const holderQuery = legacyOffsetQuery({ maximum: 200, default: 100 });
const nftQuery = {
  ...legacyOffsetQuery({ maximum: 200, default: 50 }),
  tx_metadata: Type.Boolean({
    default: false,
    description: 'Whether to return whole transactions instead of their ids',
  }),
};
const { unanchored } = untilQuery;

const ClarityValue = Type.Transform(
  Type.String({
    pattern: '^(0x)?([a-fA-F0-9]{2})+$',
    description: 'Serialized Clarity value of the instance in hex, with or without 0x',
    examples: example('nft_value'),
  }),
)
  .Decode(clarityValue)
  .Encode(toHex);

function clarityValue(text: string): Uint8Array {
  const bytes = fromHex(text);
  const read = decodeClarity(bytes);
  if (!read.ok) throw new InvalidValue('Clarity value', read.error.message);
  return bytes;
}

const declarations = (read: Reader, items: readonly { transaction: TransactionDetail | null }[]) =>
  declarationsFor(
    read,
    items.flatMap(({ transaction }) => transaction ?? []),
  );

export const tokensV1 = [
  route({
    path: '/extended/v1/tokens/ft/stx/holders',
    operationId: 'getStxTokenHolders',
    summary: 'STX holders (v1)',
    description: 'Returns every principal that ever held STX, largest balance first. Locked STX are included.',
    tag,
    query: holderQuery,
    response: Holders,
    deprecated: { replacement: '/extended/v3/tokens/stx/holders' },
    etag: chainTip,
    handle: async ({ query, read }) => holders(query, await read.tokenLists.stxHolders(query.limit, query.offset)),
  }),
  route({
    path: '/extended/v1/tokens/ft/{token}/holders',
    operationId: 'getFtTokenHolders',
    summary: 'Holders of a fungible token (v1)',
    description:
      'Returns every principal that ever held a fungible token, largest balance first. Unknown tokens return an empty list.',
    tag,
    params: { token: Type.String({ description: 'Asset identifier', examples: example('ft') }) },
    query: holderQuery,
    response: Holders,
    deprecated: { replacement: '/extended/v3/tokens/ft/{token}/holders' },
    etag: chainTip,
    handle: async ({ params: { token }, query, read }) =>
      holders(query, await read.tokenLists.ftHolders(token, query.limit, query.offset)),
  }),
  route({
    path: '/extended/v1/tokens/nft/holdings',
    operationId: 'getNonFungibleTokenHoldings',
    summary: 'Non-fungible tokens of a principal (v1)',
    description:
      'Returns the instances of non-fungible tokens that a principal owns, starting with the one received last.',
    tag,
    query: {
      principal: Principal,
      asset_identifiers: Type.Optional(
        Type.Array(NftAssetParameter, {
          description: 'Asset identifiers to return, separated by commas or as repeated keys',
        }),
      ),
      ...nftQuery,
    },
    response: OffsetPage(NftHolding),
    deprecated: {
      replacement: '/extended/v3/principals/{principal}/balances/nft?asset_identifier={asset_identifiers}',
    },
    etag: chainTip,
    handle: async ({ query, read }) => {
      const { principal, asset_identifiers: assets = null, limit, offset, tx_metadata } = query;
      const page = await read.tokenLists.nftHoldings(principal, assets, limit, offset, tx_metadata);
      const declared = await declarations(read, page.items);
      return offsetPage(query, page, (of) => nftHolding(of, declared));
    },
  }),
  route({
    path: '/extended/v1/tokens/nft/history',
    operationId: 'getNonFungibleTokenHistory',
    summary: 'History of a non-fungible token (v1)',
    description: 'Returns the mint, the transfers and the burn of one instance of a non-fungible token, newest first.',
    tag,
    query: { asset_identifier: NftAssetParameter, value: ClarityValue, ...nftQuery, unanchored },
    response: OffsetPage(NftHistoryEvent),
    deprecated: { replacement: '/extended/v3/tokens/nft/{asset_identifier}/{value}/history' },
    etag: chainTip,
    handle: async ({ query, read }) => {
      const { asset_identifier: asset, value, limit, offset, tx_metadata } = query;
      const page = await read.tokenLists.nftHistory(asset, value, limit, offset, tx_metadata);
      const declared = await declarations(read, page.items);
      return offsetPage(query, page, (of) => nftHistoryEvent(of, declared));
    },
  }),
  route({
    path: '/extended/v1/tokens/nft/mints',
    operationId: 'getNonFungibleTokenMints',
    summary: 'Mints of a non-fungible token',
    description: 'Returns the mints of a non-fungible token, newest first.',
    tag,
    query: { asset_identifier: NftAssetParameter, ...nftQuery, unanchored },
    response: OffsetPage(NftMint),
    deprecated: { replacement: null },
    etag: chainTip,
    handle: async ({ query, read }) => {
      const { asset_identifier: asset, limit, offset, tx_metadata } = query;
      const page = await read.tokenLists.nftMints(asset, limit, offset, tx_metadata);
      const declared = await declarations(read, page.items);
      return offsetPage(query, page, (of) => nftMint(of, declared));
    },
  }),
];
