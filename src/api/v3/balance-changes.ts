/** What transactions did to a principal's assets: nothing, where one is unknown or doesn't concern the principal. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { principal as principalTag, transaction } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import { PrincipalParameter, TxId } from '../shared/parameters.ts';
import { BalanceChange, TransactionBalanceChange } from './schemas/principal.ts';
import { balanceChange, transactionBalanceChange } from './serialize/principal.ts';

const tag = 'Principals';

/** The list's name for cursors: equal for the same transactions in any order, however often each is given. */
const listOf = (principal: string, txIds: readonly Uint8Array[]) =>
  `balance-changes ${principal} ${[...new Set(txIds.map(toHex))].sort().join(' ')}`;

export const balanceChanges = [
  route({
    path: '/extended/v3/principals/{principal}/transactions/{tx_id}/balance-changes',
    operationId: 'getPrincipalTransactionBalanceChanges',
    summary: 'Balance changes of a principal in one transaction',
    description:
      'Returns how one transaction changed the balance of each asset of a principal. A transaction that changed none of them returns an empty list.',
    tag,
    params: { principal: PrincipalParameter, tx_id: TxId },
    query: cursorQuery,
    response: CursorPage(BalanceChange),
    etag: transaction,
    handle: async ({ params: { principal, tx_id }, query: { limit, cursor }, read }) => {
      const list = `transaction-${listOf(principal, [tx_id])}`;
      const page = await read.principals.balanceChanges(principal, [tx_id], limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, balanceChange);
    },
  }),
  route({
    path: '/extended/v3/principals/{principal}/balance-changes',
    operationId: 'getPrincipalBalanceChanges',
    summary: 'Balance changes of a principal in several transactions',
    description:
      'Returns how each of the given transactions changed the balance of each asset of a principal, newest transaction first.',
    tag,
    params: { principal: PrincipalParameter },
    query: {
      tx_id: Type.Array(TxId, {
        minItems: 1,
        maxItems: 20,
        description: 'Transaction ids, separated by commas or as repeated keys',
      }),
      ...cursorQuery,
    },
    response: CursorPage(TransactionBalanceChange),
    etag: principalTag,
    handle: async ({ params: { principal }, query: { tx_id, limit, cursor }, read }) => {
      const list = listOf(principal, tx_id);
      const page = await read.principals.balanceChanges(principal, tx_id, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, transactionBalanceChange);
    },
  }),
];
