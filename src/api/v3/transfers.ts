/** Events that moved a principal's tokens: one item an event, so that one transaction may have several. */
import { principal as principalTag } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageStart } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import { AssetParameter, PrincipalParameter } from '../shared/parameters.ts';
import { FtTransfer, StxTransfer } from './schemas/transfer.ts';
import { ftTransfer, stxTransfer } from './serialize/transfer.ts';

const tag = 'Principals';

const stxTransfers = (direction: 'inbound' | 'outbound', operationId: string, summary: string) =>
  route({
    path: `/extended/v3/principals/{principal}/transfers/stx/${direction}`,
    operationId,
    summary,
    tag,
    params: { principal: PrincipalParameter },
    query: cursorQuery,
    response: CursorPage(StxTransfer),
    etag: principalTag,
    handle: async ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `stx-${direction} ${principal}`;
      const page = await read.transfers.stx(principal, direction, limit, pageStart(list, cursor));
      return cursorPage(list, limit, page, stxTransfer);
    },
  });

export const transfers = [
  stxTransfers('inbound', 'getPrincipalStxInbound', 'Transfers and mints of STX to a principal, newest first'),
  stxTransfers('outbound', 'getPrincipalStxOutbound', 'Transfers and burns of STX by a principal, newest first'),
  route({
    path: '/extended/v3/principals/{principal}/transfers/ft/{asset_identifier}',
    operationId: 'getPrincipalFtTransfers',
    summary: 'Transfers, mints and burns of a fungible token to and by a principal, newest first',
    tag,
    params: { principal: PrincipalParameter, asset_identifier: AssetParameter },
    query: cursorQuery,
    response: CursorPage(FtTransfer),
    etag: principalTag,
    handle: async ({ params: { principal, asset_identifier: asset }, query: { limit, cursor }, read }) => {
      const list = `ft-transfers ${principal} ${asset}`;
      const page = await read.transfers.ft(principal, asset, limit, pageStart(list, cursor));
      return cursorPage(list, limit, page, ftTransfer);
    },
  }),
];
