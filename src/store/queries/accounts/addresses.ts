/** Lists of v1 and v2 by address. */
import type { Database } from 'bun:sqlite';
import type { Turns } from '../../../base/turns.ts';
import { heightOf } from '../../../chain/position.ts';
import type { AddressTransaction, ReceivedStx, TokenHistory } from '../../model/account.ts';
import type { Heights } from '../../model/block.ts';
import type { OffsetPage, OffsetStart, Page } from '../../model/page.ts';
import type { FtBalance } from '../../model/token.ts';
import type {
  AssetEvent,
  PendingTransactionDetail,
  PositionedEvent,
  TransactionDetail,
  TransactionEvent,
  TransactionKey,
} from '../../model/transaction.ts';
import { COUNTER, storedToken } from '../../rows/enums.ts';
import { decimalOf } from '../../rows/formats.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { LAST_HEIGHT } from '../blocks/windows.ts';
import type { MempoolQueries } from '../mempool.ts';
import { numbers } from '../numbers.ts';
import type { ItemsOf, RowTexts } from '../row-texts.ts';
import type { DetailQueries } from '../transactions/details.ts';
import { type AccountStates, accountStates, type ListName } from './account-states.ts';
import {
  type AddressEventQueries,
  addressEventQueries,
  addressTransactionQueries,
  inboundTransferQuery,
  positionsIn,
  type Range,
} from './address-transactions.ts';

export const sql = {
  logs: query<{ total: number }, [string]>`
    SELECT count AS total FROM counters WHERE kind = ${COUNTER.logs} AND key = ?1`,
  ftBalances: query<Stored<'ft_balances', 'identifier' | 'balance'>, [number, number, number]>`
    SELECT identifier, balance FROM ft_balances INDEXED BY ft_balances_by_identifier
     WHERE principal_id = ?1 AND balance > 'A0' ORDER BY identifier COLLATE NOCASE LIMIT ?2 OFFSET ?3`,
  ftTokens: query<{ total: number }, [number]>`SELECT ft_tokens AS total FROM accounts WHERE principal_id = ?1`,
};

/** Kinds of events that move assets or lock STX. */
const MOVES = ['stx', 'ft', 'nft', 'stx_lock'] as const;

const capHeight = (height: number): number => Math.min(height, LAST_HEIGHT);
const isOneBlock = ({ first, last }: Heights): boolean => first === last;

interface Sources {
  details: DetailQueries;
  mempool: MempoolQueries;
  texts: RowTexts;
}

/** Lists of transactions and inbound transfers of a principal, by offset. */
function transactionLists(
  db: Database,
  { details, texts }: Sources,
  events: AddressEventQueries,
  states: AccountStates,
) {
  const { principalOf } = numbers(db);
  const transactions = addressTransactionQueries(db, details, events);
  const inbound = inboundTransferQuery(db);

  /** A page of a list. It is read from the nearest checkpoint; one block is short enough to be read from its end. */
  function pageOf<Item>(
    principal: string,
    heights: Heights,
    list: ListName,
    offset: number,
    items: (id: number, range: Range) => Item[],
  ): OffsetPage<Item> {
    const id = principalOf(principal);
    const range = positionsIn(heights);
    const height = capHeight(heights.last);
    const total = isOneBlock(heights)
      ? states.between[list](id, range.first, range.last)
      : states.total(id, height, list);
    if (offset >= total) return { items: [], total };
    const start = isOneBlock(heights) ? { offset } : states.startOf(id, height, list, total, offset);
    return { items: items(id, { ...range, ...start }), total };
  }

  return {
    inboundTransfers: (principal: string, heights: Heights, limit: number, offset: number): OffsetPage<ReceivedStx> =>
      pageOf(principal, heights, 'inbound', offset, (id, range) => inbound(id, range, limit)),

    transactions: <Item>(
      principal: string,
      heights: Heights,
      limit: number,
      offset: number,
      items: ItemsOf<TransactionDetail, Item>,
    ): OffsetPage<Item> =>
      pageOf(principal, heights, 'transactions', offset, (id, range) =>
        items(details.rows(transactions.positions(id, range, limit))),
      ),

    /** Transactions that the principal doesn't only sponsor; all transactions of a block at once. */
    transactionsWithTransfers(
      principal: string,
      heights: Heights,
      limit: number,
      offset: number,
    ): OffsetPage<AddressTransaction> {
      const [count, skipped] = isOneBlock(heights) ? [Number.MAX_SAFE_INTEGER, 0] : [limit, offset];
      return pageOf(principal, heights, 'moreThanSponsored', skipped, (id, range) =>
        transactions.concerning(id, range, count),
      );
    },

    /** Undefined if the transaction doesn't concern the principal, or the principal only sponsors it. */
    transactionWithTransfers(principal: string, txId: Uint8Array): AddressTransaction | undefined {
      const place = details.placeOf(txId);
      return place === null ? undefined : transactions.ofPrincipal(principalOf(principal), place.position);
    },

    /** Undefined if the start names a block that isn't canonical. */
    chainPage<Item>(
      principal: string,
      limit: number,
      start: OffsetStart<TransactionKey>,
      items: ItemsOf<AddressTransaction, Item>,
    ): Page<Item> | undefined {
      const id = principalOf(principal);
      const total = states.total(id, LAST_HEIGHT, 'transactions');
      const page = transactions.page(id, total, limit, start, (offset) =>
        states.startOf(id, LAST_HEIGHT, 'transactions', total, offset),
      );
      if (page === undefined) return undefined;
      const rows = texts.rows(page.items, {
        idOf: ({ position }) => `${principal}/${position}`,
        heightOf: ({ position }) => heightOf(position),
        read: (parts) => transactions.withEvents(id, parts),
      });
      return { ...page, items: items(rows) };
    },

    /** Events in order; undefined if the transaction isn't canonical. */
    eventsOfTransaction(
      principal: string,
      txId: Uint8Array,
      limit: number,
      offset: number,
    ): OffsetPage<AssetEvent> | undefined {
      const place = details.placeOf(txId);
      if (place === null) return undefined;
      const all = events.ofTransaction(principalOf(principal), place.position);
      return { items: all.slice(offset, offset + limit), total: all.length };
    },
  };
}

/**
 * Lists of a principal by offset, newest first. A height above the tip counts as the tip's height.
 * @param turns yields to other work between batches
 */
export function addressReader(db: Database, sources: Sources, turns: Turns) {
  const { principalOf, identifierOf } = numbers(db);
  const read = statements(db, sql);
  const states = accountStates(db);
  const events = addressEventQueries(db, turns);

  /** Events that moved assets of a principal, and locks of its STX, up to a height. */
  async function assetEvents(
    principal: string,
    height: number,
    limit: number,
    offset: number,
  ): Promise<OffsetPage<PositionedEvent>> {
    const id = principalOf(principal);
    const until = capHeight(height);
    const total = states.total(id, until, 'eventsAndLocks');
    if (offset >= total) return { items: [], total };
    const start = states.startOf(id, until, 'eventsAndLocks', total, offset);
    return { items: await events.newest(id, MOVES, start.last, limit, start.offset), total };
  }

  return {
    ...transactionLists(db, sources, events, states),
    assetEvents,
    /** Events of some kinds that name a principal, and its logs if it is a contract. */
    async events(
      principal: string,
      kinds: readonly TransactionEvent['kind'][],
      limit: number,
      offset: number,
    ): Promise<PositionedEvent[]> {
      const logs = kinds.includes('contract_log') && principal.includes('.');
      // Checkpoints of the account have the number of these events.
      if (!logs && MOVES.every((kind) => kinds.includes(kind)))
        return (await assetEvents(principal, LAST_HEIGHT, limit, offset)).items;
      return events.newest(principalOf(principal), kinds, Number.MAX_SAFE_INTEGER, limit, offset);
    },

    /** Number of events that {@link events} lists; null if no counter has it. */
    eventCount(principal: string, kinds: readonly TransactionEvent['kind'][]): number | null {
      const moves = MOVES.filter((kind) => kinds.includes(kind)).length;
      if (moves > 0 && moves < MOVES.length) return null;
      const logs = kinds.includes('contract_log') ? (read.logs.get(principal)?.total ?? 0) : 0;
      return logs + (moves === 0 ? 0 : states.total(principalOf(principal), LAST_HEIGHT, 'eventsAndLocks'));
    },

    /** History of each token that has an event with the principal. */
    tokens(principal: string, height: number): TokenHistory[] {
      return states
        .tokens(principalOf(principal), capHeight(height))
        .map(({ token, assetId: id, sent, received }) => ({
          token: storedToken.nameOf(token),
          asset: identifierOf(id),
          sent,
          received,
        }));
    },

    /** Pending transactions, newest receipt first. */
    mempool: (principal: string, limit: number, offset: number): OffsetPage<PendingTransactionDetail> =>
      sources.mempool.detailsOfPrincipal(principal, limit, offset),
    /** Positive balances of fungible tokens, by identifier regardless of case. */
    ftBalances(principal: string, limit: number, offset: number): OffsetPage<FtBalance> {
      const id = principalOf(principal);
      const total = read.ftTokens.get(id)?.total ?? 0;
      const rows = offset >= total ? [] : read.ftBalances.all(id, limit, offset);
      return { items: rows.map(({ identifier: asset, balance }) => ({ asset, balance: decimalOf(balance) })), total };
    },
  };
}
