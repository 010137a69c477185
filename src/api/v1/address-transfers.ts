/** What moved an address's assets. */
import { memos, principal as principalTag } from '../../http/etag.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import { InboundTransfer, inboundTransfer, listedEvent } from '../shared/address.ts';
import { TransactionEvent } from '../shared/event.ts';
import { Principal } from '../shared/legacy-parameters.ts';
import { heightQuery, heightsOf, NO_BLOCK, untilHeight, untilQuery } from './heights.ts';

const tag = 'Addresses';
const params = { principal: Principal };

export const addressTransfers = [
  route({
    path: '/extended/v1/address/{principal}/assets',
    operationId: 'getAccountAssets',
    summary: 'Asset events of an address',
    description:
      'Returns the events that moved assets of an address or locked its STX, newest first. A lock event has the amount and height 1 here; the events of its transaction state the real ones.',
    tag,
    params,
    query: { ...legacyOffsetQuery({ maximum: 100, default: 20 }), ...untilQuery },
    response: OffsetPage(TransactionEvent),
    notFound: NO_BLOCK,
    deprecated: { replacement: null },
    etag: principalTag,
    long: true,
    handle: async ({ params: { principal }, query, read }) => {
      const height = await untilHeight(read, query);
      const page = await read.addresses.assetEvents(principal, height, query.limit, query.offset);
      return offsetPage(query, page, listedEvent);
    },
  }),
  route({
    path: '/extended/v1/address/{principal}/stx_inbound',
    operationId: 'getAccountInbound',
    summary: 'STX received by an address',
    description:
      'Returns the STX transfers to an address with their memos, newest first. The list holds transfer transactions, failed ones included, and transfers with a memo made by contracts.',
    tag,
    params,
    query: { ...legacyOffsetQuery({ maximum: 50, default: 20 }), ...heightQuery },
    response: OffsetPage(InboundTransfer),
    notFound: NO_BLOCK,
    deprecated: { replacement: '/extended/v3/principals/{principal}/transfers/stx/inbound' },
    etag: memos,
    handle: async ({ params: { principal }, query, read }) => {
      const heights = await heightsOf(read, query);
      const page = await read.addresses.inboundTransfers(principal, heights, query.limit, query.offset);
      return offsetPage(query, page, inboundTransfer);
    },
  }),
];
