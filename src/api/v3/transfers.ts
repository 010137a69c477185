/** Token transfers, mints and burns; each item is an event. */
import { principal as principalTag } from '../../http/etag.ts';
import { CursorPage, cursorList, cursorQuery } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type {
  Move,
  FtTransfer as StoredFtTransfer,
  StxTransfer as StoredStxTransfer,
} from '../../store/model/token.ts';
import {
  Amount,
  EventPosition,
  eventPosition,
  fields,
  Memo,
  memo,
  nullable,
  object,
  Principal,
} from '../shared/fields.ts';
import { AssetParameter, PrincipalParameter } from '../shared/parameters.ts';
import { Block, block } from './transaction.ts';

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

export const [NftMove, nftMove] = object<Move>('NftTransfer')({ ...sides, ...origin });

export { stxTransfer };

const family = { tag: 'Principals', etag: principalTag, history: 'since' } as const;

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
    ...family,
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
    ...family,
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
