/** Tokens: supplies, holders and history; and transfers, mints and burns of a principal, one item per event. */

import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { chainTip, principal as principalTag } from '../../http/etag.ts';
import { CursorPage, cursorList, cursorQuery } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type {
  Move,
  FtBalance as StoredFtBalance,
  FtTransfer as StoredFtTransfer,
  Holder as StoredHolder,
  NftInstance as StoredNftInstance,
  StxTransfer as StoredStxTransfer,
} from '../../store/model/token.ts';
import {
  Amount,
  ClarityPair,
  clarity,
  EventPosition,
  eventPosition,
  fields,
  Memo,
  memo,
  named,
  nullable,
  object,
  Principal,
  STX_IN_2050,
} from '../shared/fields.ts';
import { AssetParameter, NftAssetParameter, NftValueParameter, PrincipalParameter } from '../shared/parameters.ts';
import { Block, block } from './transaction.ts';

const asset = fields<{ asset: string }>()({ asset_identifier: [Type.String(), ({ asset }) => asset] });

export const [FtBalance, ftBalance] = object<StoredFtBalance>('FtBalance')({
  ...asset,
  balance: [Amount, ({ balance }) => balance],
});

export const [NftInstance, nftInstance] = object<StoredNftInstance>('NftInstance')({
  ...asset,
  value: [ClarityPair, ({ value }) => clarity(value)],
});

const [Holder, holder] = object<StoredHolder>('Holder')({
  principal: [Principal, ({ principal }) => principal],
  balance: [Amount, ({ balance }) => balance],
});

/** The sender of a mint and the recipient of a burn are null. */
const sides = fields<Move>()({
  sender: [nullable(Principal), ({ sender }) => sender],
  recipient: [nullable(Principal), ({ recipient }) => recipient],
});
const origin = fields<Move>()({ transaction: [EventPosition, eventPosition], block: [Block, block] });

const [StxTransfer, stxTransfer] = object<StoredStxTransfer>('StxTransfer')({
  ...sides,
  amount: [Amount, ({ amount }) => amount],
  memo: [nullable(Memo), (transfer) => memo(transfer.memo)],
  ...origin,
});

const [FtTransfer, ftTransfer] = object<StoredFtTransfer>('FtTransfer')({
  ...sides,
  amount: [Amount, ({ amount }) => amount],
  ...origin,
});

const [NftMove, nftMove] = object<Move>('NftTransfer')({ ...sides, ...origin });

export { nftMove, stxTransfer };

const StxSupply = named('StxSupply', { total: Amount, projected_total_2050: Amount });

const FtSupply = named('FtSupply', { asset_identifier: Type.String(), total: Amount });

const tag = 'Tokens';

const family = { tag, etag: chainTip, history: 'whole' } as const;

export const tokens = [
  route({
    ...family,
    path: '/extended/v3/tokens/stx/supply',
    operationId: 'getStxSupply',
    summary: 'STX supply',
    description: 'Returns the current supply in micro-STX and the one projected for the year 2050.',
    response: StxSupply,
    handle: ({ read }) => ({ total: read.tokens.stxSupply(), projected_total_2050: STX_IN_2050 }),
  }),
  route({
    ...family,
    path: '/extended/v3/tokens/stx/holders',
    operationId: 'getStxHolders',
    summary: 'STX holders',
    description: 'Returns the principals that hold STX, largest balance first. Locked STX are included.',
    query: cursorQuery,
    response: CursorPage(Holder),
    handle: ({ query, read }) => {
      const list = cursorList('stx-holders', query);
      return list.page(read.tokens.stxHolders(...list.start), holder);
    },
  }),
  route({
    ...family,
    path: '/extended/v3/tokens/ft/{asset_identifier}/supply',
    operationId: 'getFtSupply',
    summary: 'Supply of a fungible token',
    description:
      'Returns the supply of a fungible token: the amount minted less the amount burned. Unknown tokens have a supply of zero.',
    params: { asset_identifier: AssetParameter },
    response: FtSupply,
    handle: ({ params: { asset_identifier }, read }) => ({
      asset_identifier,
      total: read.tokens.ftSupply(asset_identifier),
    }),
  }),
  route({
    ...family,
    path: '/extended/v3/tokens/ft/{asset_identifier}/holders',
    operationId: 'getFtHolders',
    summary: 'Holders of a fungible token',
    description:
      'Returns the principals that hold a fungible token, largest balance first. Unknown tokens return an empty list.',
    params: { asset_identifier: AssetParameter },
    query: cursorQuery,
    response: CursorPage(Holder),
    handle: ({ params: { asset_identifier: asset }, query, read }) => {
      const list = cursorList(`ft-holders ${asset}`, query);
      return list.page(read.tokens.ftHolders(asset, ...list.start), holder);
    },
  }),
  route({
    ...family,
    path: '/extended/v3/tokens/nft/{asset_identifier}/{value}/history',
    operationId: 'getNftHistory',
    summary: 'History of a non-fungible token',
    description:
      'Returns the mint, the transfers and the burn of one instance of a non-fungible token, newest first. A value that no instance can have, such as hex digits without 0x or a number above 128 bits, returns an empty list.',
    params: { asset_identifier: NftAssetParameter, value: NftValueParameter },
    query: cursorQuery,
    response: CursorPage(NftMove),
    history: 'since',
    handle: ({ params: { asset_identifier: asset, value }, query, read }) => {
      const list = cursorList(`nft-history ${asset} ${toHex(value)}`, query);
      return list.page(read.transfers.nftHistory(asset, value, ...list.start), nftMove);
    },
  }),
];

const transferFamily = { tag: 'Principals', etag: principalTag, history: 'since' } as const;

const stxTexts = {
  inbound: {
    operationId: 'getPrincipalStxInbound',
    summary: 'STX received by a principal',
    description: 'Returns the STX transfers and mints that a principal received, newest first.',
  },
  outbound: {
    operationId: 'getPrincipalStxOutbound',
    summary: 'STX sent by a principal',
    description: 'Returns the STX transfers and burns that a principal sent, newest first.',
  },
};

const stxTransfers = (direction: keyof typeof stxTexts) =>
  route({
    ...transferFamily,
    path: `/extended/v3/principals/{principal}/transfers/stx/${direction}`,
    ...stxTexts[direction],
    params: { principal: PrincipalParameter },
    query: cursorQuery,
    response: CursorPage(StxTransfer),
    handle: ({ params: { principal }, query, read }) => {
      const list = cursorList(`stx-${direction} ${principal}`, query);
      return list.page(read.transfers.stx(principal, direction, ...list.start), stxTransfer);
    },
  });

export const transfers = [
  stxTransfers('inbound'),
  stxTransfers('outbound'),
  route({
    ...transferFamily,
    path: '/extended/v3/principals/{principal}/transfers/ft/{asset_identifier}',
    operationId: 'getPrincipalFtTransfers',
    summary: 'Transfers of a fungible token by a principal',
    description:
      'Returns the transfers, mints and burns of one fungible token that a principal sent or received, newest first.',
    params: { principal: PrincipalParameter, asset_identifier: AssetParameter },
    query: cursorQuery,
    response: CursorPage(FtTransfer),
    handle: ({ params: { principal, asset_identifier: asset }, query, read }) => {
      const list = cursorList(`ft-transfers ${principal} ${asset}`, query);
      return list.page(read.transfers.ft(principal, asset, ...list.start), ftTransfer);
    },
  }),
];
