/**
 * Lists of a whole token. Stackside's own routes: transfers of a fungible token, which other versions list by principal
 * only, and the tokens of a collection, whose list in v1 is deprecated without a replacement.
 */
import { type Static, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { chainTip, chainTipAndTokens } from '../../http/etag.ts';
import {
  cursorPage,
  cursorQuery,
  OffsetPage,
  offsetPage,
  offsetQuery,
  pageCursor,
  UncountedCursorPage,
} from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { FtTransfer, NftMint as StoredMint } from '../../store/model/token.ts';
import { AssetParameter, NftAssetParameter } from '../shared/parameters.ts';
import { Decimals, TokenSymbol, type Unit, unitOf } from '../shared/unit.ts';
import {
  Amount,
  ClarityPair,
  clarity,
  EventPosition,
  Hash,
  Height,
  IsoTime,
  isoTime,
  nullable,
} from '../shared/values.ts';
import { heightsQuery, inOrder, orderQuery, timesQuery, windowOf } from '../shared/window.ts';

const Mint = Type.Object(
  {
    value: ClarityPair,
    recipient: Type.Union([Type.String(), Type.Null()], { description: 'Who got the token when it was minted' }),
    owner: Type.Union([Type.String(), Type.Null()], { description: 'Present owner; null for a token that was burnt' }),
    transaction: EventPosition,
  },
  { $id: 'NftMint' },
);

const mint = ({ txId, event, owner }: StoredMint): Static<typeof Mint> => ({
  value: clarity(event.value),
  recipient: event.recipient,
  owner,
  transaction: { tx_id: toHex(txId), event_index: event.index },
});

const end = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const Transfer = Type.Object(
  {
    block_height: Height,
    time: IsoTime,
    tx_id: Hash,
    event_index: Type.Integer({ minimum: 0 }),
    sender: end('Null for a mint'),
    recipient: end('Null for a burn'),
    amount: Amount,
    symbol: nullable(TokenSymbol),
    decimals: nullable(Decimals),
  },
  { $id: 'FoundFtTransfer' },
);

const transfer = ({ txId, block, ...of }: FtTransfer, { symbol, decimals }: Unit): Static<typeof Transfer> => ({
  block_height: block.height,
  time: isoTime(block.time),
  tx_id: toHex(txId),
  event_index: of.eventIndex,
  sender: of.sender,
  recipient: of.recipient,
  amount: of.amount,
  symbol,
  decimals,
});

export const tokenLists = [
  route({
    path: '/stackside/v1/tokens/ft/{asset_identifier}/transfers',
    operationId: 'getTokenTransfers',
    summary: 'Transfers of a fungible token',
    description: 'Returns the transfers, mints and burns of a fungible token, whoever made them.',
    tag: 'Stackside',
    params: { asset_identifier: AssetParameter },
    query: { ...cursorQuery, ...orderQuery, ...heightsQuery, ...timesQuery },
    response: UncountedCursorPage(Transfer),
    etag: chainTipAndTokens,
    history: 'since',
    handle: ({ params: { asset_identifier: asset }, query, read }) => {
      const { limit, cursor, order = 'desc', ...window } = query;
      const list = inOrder(`token-transfers ${asset}`, order);
      const heights = read.chain.heightsOf(windowOf(window));
      const page = read.transfers.ftOfAsset(asset, order, heights, limit, pageCursor(list, cursor));
      const unit = unitOf(read, asset);
      return cursorPage(list, limit, page, (one) => transfer(one, unit));
    },
  }),
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
    history: 'since',
    handle: ({ params: { asset_identifier }, query, read }) => {
      const page = read.tokenLists.nftMints(asset_identifier, query.limit, query.offset, false);
      return offsetPage(query, page, mint);
    },
  }),
];
