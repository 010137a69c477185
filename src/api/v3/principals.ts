import { principalAndMempool, principal as principalTag } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import { AddressParameter, PrincipalParameter } from '../shared/parameters.ts';
import { Nonces, PrincipalTransaction } from './schemas/principal.ts';
import { PendingSummary } from './schemas/transaction.ts';
import { nonces, principalTransaction } from './serialize/principal.ts';
import { pendingSummary } from './serialize/transaction.ts';

const tag = 'Principals';

export const principals = [
  route({
    path: '/extended/v3/principals/{principal}/transactions',
    operationId: 'getPrincipalTransactions',
    summary: 'Transactions of a principal',
    description:
      'Returns the transactions that involve a principal, newest first. Each item states how much STX the principal sent and received in it.',
    tag,
    params: { principal: PrincipalParameter },
    query: cursorQuery,
    response: CursorPage(PrincipalTransaction),
    etag: principalTag,
    handle: async ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `principal-transactions ${principal}`;
      const page = await read.transactions.ofPrincipal(principal, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, principalTransaction);
    },
  }),
  route({
    path: '/extended/v3/principals/{principal}/mempool/transactions',
    operationId: 'getPrincipalMempoolTransactions',
    summary: 'Pending transactions of a principal',
    description:
      'Returns the pending transactions in which the principal is the sender, the sponsor, the recipient or the contract, starting with the one received last.',
    tag,
    params: { principal: PrincipalParameter },
    query: cursorQuery,
    response: CursorPage(PendingSummary),
    etag: principalAndMempool,
    handle: async ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `principal-mempool-transactions ${principal}`;
      const page = await read.mempool.ofPrincipal(principal, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, pendingSummary);
    },
  }),
  route({
    path: '/extended/v3/principals/{principal}/nonces',
    operationId: 'getPrincipalNonces',
    summary: 'Nonces of an account',
    description:
      'Returns the last nonce an account used, the nonces of its pending transactions, the gaps between them, and the nonce to use next.',
    tag,
    params: { principal: AddressParameter },
    response: Nonces,
    etag: principalAndMempool,
    handle: async ({ params: { principal }, read }) => nonces(await read.principals.nonces(principal)),
  }),
];
