/**
 * Lists of a whole token. Only Stackside has these routes: transfers of a fungible token, which other versions list only by
 * principal, and the tokens of a collection. The list of a collection in v1 is deprecated without a replacement.
 */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { chainTip, chainTipAndTokens } from '../../http/etag.ts';
import {
  cursorList,
  cursorQuery,
  OffsetPage,
  offsetPage,
  offsetQuery,
  UncountedCursorPage,
} from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { FtTransfer, NftMint as StoredMint } from '../../store/model/token.ts';
import {
  Amount,
  ClarityPair,
  clarity,
  Decimals,
  EventPosition,
  eventPosition,
  Hash,
  Height,
  IsoTime,
  isoTime,
  loadUnit,
  nullable,
  object,
  TokenSymbol,
  type Unit,
} from '../shared/fields.ts';
import { AssetParameter, inOrder, NftAssetParameter, parseWindow, windowQuery } from '../shared/parameters.ts';

const [Mint, mint] = object<StoredMint>('NftMint')({
  value: [ClarityPair, ({ event }) => clarity(event.value)],
  recipient: [nullable(Type.String(), { description: 'Recipient of the mint' }), ({ event }) => event.recipient],
  owner: [
    nullable(Type.String(), { description: 'Present owner; null for a token that was burnt' }),
    ({ owner }) => owner,
  ],
  transaction: [EventPosition, ({ txId, event }) => eventPosition({ txId, eventIndex: event.index })],
});

const end = (description: string) => nullable(Type.String(), { description });

const [Transfer, transfer] = object<FtTransfer, [Unit]>('FoundFtTransfer')({
  block_height: [Height, ({ block }) => block.height],
  time: [IsoTime, ({ block }) => isoTime(block.time)],
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  event_index: [Type.Integer({ minimum: 0 }), ({ eventIndex }) => eventIndex],
  sender: [end('Null for a mint'), ({ sender }) => sender],
  recipient: [end('Null for a burn'), ({ recipient }) => recipient],
  amount: [Amount, ({ amount }) => amount],
  symbol: [nullable(TokenSymbol), (_, { symbol }) => symbol],
  decimals: [nullable(Decimals), (_, { decimals }) => decimals],
});

export const tokenLists = [
  route({
    path: '/stackside/v1/tokens/ft/{asset_identifier}/transfers',
    operationId: 'getTokenTransfers',
    summary: 'Transfers of a fungible token',
    description: 'Returns the transfers, mints and burns of a fungible token by all principals.',
    tag: 'Stackside',
    params: { asset_identifier: AssetParameter },
    query: { ...cursorQuery, ...windowQuery },
    response: UncountedCursorPage(Transfer),
    etag: chainTipAndTokens,
    history: 'since',
    handle: ({ params: { asset_identifier: asset }, query, read }) => {
      const { order = 'desc' } = query;
      const heights = read.chain.heightsOf(parseWindow(query));
      const list = cursorList(inOrder(`token-transfers ${asset}`, order), query);
      const page = read.transfers.ftOfAsset(asset, order, heights, ...list.start);
      const unit = loadUnit(read, asset);
      return list.page(page, (item) => transfer(item, unit));
    },
  }),
  route({
    path: '/stackside/v1/tokens/nft/{asset_identifier}/mints',
    operationId: 'getCollectionMints',
    summary: 'Tokens of a collection',
    description:
      'Returns the mints of a non-fungible token, newest first: the tokens of a collection, including tokens that were burnt later.',
    tag: 'Stackside',
    params: { asset_identifier: NftAssetParameter },
    query: offsetQuery({ maximum: 200, default: 50 }),
    response: OffsetPage(Mint),
    etag: chainTip,
    history: 'since',
    handle: ({ params: { asset_identifier }, query, read }) => {
      const page = read.tokenLists.nftMints(asset_identifier, query.limit, query.offset, false);
      return offsetPage(query, page, mint);
    },
  }),
];
