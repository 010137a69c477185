/** Events that moved a principal's tokens: one item an event, so that one transaction may have several. */
import { memos, principal as principalTag } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import { AssetParameter, PrincipalParameter } from '../shared/parameters.ts';
import { FtTransfer, StxTransfer } from './schemas/transfer.ts';
import { ftTransfer, stxTransfer } from './serialize/transfer.ts';

const tag = 'Principals';

/** What the document says of either direction. */
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
    path: `/extended/v3/principals/{principal}/transfers/stx/${direction}`,
    ...stxTexts[direction],
    tag,
    params: { principal: PrincipalParameter },
    query: cursorQuery,
    response: CursorPage(StxTransfer),
    etag: memos,
    handle: async ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `stx-${direction} ${principal}`;
      const page = await read.transfers.stx(principal, direction, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, stxTransfer);
    },
  });

export const transfers = [
  stxTransfers('inbound'),
  stxTransfers('outbound'),
  route({
    path: '/extended/v3/principals/{principal}/transfers/ft/{asset_identifier}',
    operationId: 'getPrincipalFtTransfers',
    summary: 'Transfers of a fungible token by a principal',
    description:
      'Returns the transfers, mints and burns of one fungible token that a principal sent or received, newest first.',
    tag,
    params: { principal: PrincipalParameter, asset_identifier: AssetParameter },
    query: cursorQuery,
    response: CursorPage(FtTransfer),
    etag: principalTag,
    handle: async ({ params: { principal, asset_identifier: asset }, query: { limit, cursor }, read }) => {
      const list = `ft-transfers ${principal} ${asset}`;
      const page = await read.transfers.ft(principal, asset, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, ftTransfer);
    },
  }),
];
