/** The transactions of a principal, newest first, by offset or by where they stand in the chain. */
import type { Database } from 'bun:sqlite';
import { positionsOf } from '../../chain/position.ts';
import type { AddressTransaction } from '../model/account.ts';
import type { Heights } from '../model/block.ts';
import type { OffsetStart, Page } from '../model/page.ts';
import type { TransactionKey } from '../model/transaction.ts';
import { prepared } from '../rows/statement.ts';
import { AFFECTED } from '../rows/words.ts';
import type { Entry } from './account-states.ts';
import type { AddressEventQueries } from './address-events.ts';
import type { DetailQueries } from './details.ts';
import { isBehind, keysetPage, movedTo, numberAt, pageBeyond } from './page.ts';
import { LAST_HEIGHT, placeQuery } from './places.ts';

const { sponsorOnly } = AFFECTED;
const ofPrincipal = 'FROM principal_transactions WHERE principal_id = ?1 AND position BETWEEN ?2 AND ?3';
const newest = 'ORDER BY position DESC LIMIT ?4 OFFSET ?5';

export const sql = {
  list: `SELECT position ${ofPrincipal} ${newest}`,
  // Passes over those of which the principal is only the sponsor, one by one: they are many for few principals.
  concerning: `SELECT position ${ofPrincipal} AND affected & ${sponsorOnly} = 0 ${newest}`,
  count: `SELECT count(*) AS transactions, coalesce(sum(affected & ${sponsorOnly} <> 0), 0) AS sponsored ${ofPrincipal}`,
  one: `SELECT affected, stx_sent, stx_received FROM principal_transactions WHERE principal_id = ?1 AND position = ?2`,
  newer: `SELECT position FROM principal_transactions WHERE principal_id = ?1 AND position > ?2
           ORDER BY position LIMIT ?3`,
  height: 'SELECT height FROM blocks WHERE index_block_hash = ?1',
  byId: 'SELECT position FROM transactions WHERE tx_id = ?1 ORDER BY position DESC LIMIT 1',
};

/** A number behind every position. */
const NEWEST = Number.MAX_SAFE_INTEGER;

interface PositionRow {
  position: number;
}

interface Involvement {
  affected: number;
  stx_sent: string;
  stx_received: string;
}

/** Positions of which a list is, newest first, and how many of its items to pass over. */
export interface Range extends Entry {
  first: number;
}

/** First and last position of some blocks. */
export const positionsIn = ({ first, last }: Heights) => ({
  first: positionsOf(Math.min(first, LAST_HEIGHT)).first,
  last: positionsOf(Math.min(last, LAST_HEIGHT)).last,
});

export function addressTransactionQueries(db: Database, details: DetailQueries, events: AddressEventQueries) {
  type Part = [number, number, number, number, number];
  const list = prepared<PositionRow, Part>(db, sql.list);
  const concerning = prepared<PositionRow, Part>(db, sql.concerning);
  const count = prepared<{ transactions: number; sponsored: number }, [number, number, number]>(db, sql.count);
  const one = prepared<Involvement, [number, number]>(db, sql.one);
  const newer = prepared<PositionRow, [number, number, number]>(db, sql.newer);
  const heightByHash = prepared<{ height: number }, [Uint8Array]>(db, sql.height);
  const byId = prepared<PositionRow, [Uint8Array]>(db, sql.byId);
  const transactionAt = placeQuery(db);

  function withEvents(principal: number, positions: readonly number[]): AddressTransaction[] {
    return details.at(positions).map((transaction, index) => {
      const position = positions[index] ?? 0;
      const part = one.get(principal, position);
      return {
        transaction,
        stx: { sent: BigInt(part?.stx_sent ?? 0), received: BigInt(part?.stx_received ?? 0) },
        events: events.ofTransaction(principal, position),
      };
    });
  }

  /**
   * Where a page starts: the position to enter the list at, and how many of its items to pass over from there; undefined
   * where that is in a block that is none of the chain.
   */
  function entryOf(
    { cursor, item, offset }: OffsetStart<TransactionKey>,
    enter: (offset: number) => Entry,
  ): Entry | undefined {
    if (cursor !== null) return { last: numberAt(cursor.key, 0) - (isBehind(cursor) ? 1 : 0), offset };
    if (item === null) return enter(offset);
    const height = heightByHash.get(item.indexBlockHash)?.height;
    return height === undefined ? undefined : { last: transactionAt({ ...item, height }).position, offset };
  }

  return {
    positions: (principal: number, { first, last, offset }: Range, limit: number): number[] =>
      list.all(principal, first, last, limit, offset).map(({ position }) => position),

    /**
     * Transactions of which the principal is not only the sponsor. A page has the greatest index of each block first, in
     * whichever microblock; which page a transaction is on is as in other lists.
     */
    concerning(principal: number, { first, last, offset }: Range, limit: number): AddressTransaction[] {
      const found = concerning.all(principal, first, last, limit, offset).map(({ position }) => position);
      return withEvents(principal, found).sort(
        ({ transaction: a }, { transaction: b }) => b.block.height - a.block.height || b.txIndex - a.txIndex,
      );
    },

    /** Counts in a range of a few blocks. */
    count(principal: number, heights: Heights): { transactions: number; sponsored: number } {
      const { first, last } = positionsIn(heights);
      return count.get(principal, first, last) ?? { transactions: 0, sponsored: 0 };
    },

    /** The position of a canonical transaction. */
    find: (txId: Uint8Array): number | undefined => byId.get(txId)?.position,

    /** Undefined where the transaction is none of the principal's, or it is only its sponsor. */
    ofPrincipal(principal: number, position: number): AddressTransaction | undefined {
      const part = one.get(principal, position);
      if (part === null || (part.affected & sponsorOnly) !== 0) return undefined;
      return withEvents(principal, [position])[0];
    },

    /**
     * All of a principal; undefined where the page should start in a block that is none of the chain.
     * @param enter where to enter the whole list by an offset
     */
    page(
      principal: number,
      total: number,
      limit: number,
      start: OffsetStart<TransactionKey>,
      enter: (offset: number) => Entry,
    ): Page<AddressTransaction> | undefined {
      let at = start.cursor;
      if (start.item !== null || start.offset > 0) {
        const entry = entryOf(start, enter);
        if (entry === undefined) return undefined;
        const first = list.all(principal, 0, entry.last, 1, entry.offset)[0];
        if (first === undefined) return pageBeyond(total);
        at = movedTo([first.position], start.cursor);
      }
      const { items: found, ...page } = keysetPage({
        limit,
        at,
        total,
        rowsFrom: (key, rows) => list.all(principal, 0, key === null ? NEWEST : numberAt(key, 0), rows, 0),
        rowsBefore: (key, rows) => newer.all(principal, numberAt(key, 0), rows),
        keyOf: ({ position }) => [position],
        itemOf: ({ position }) => position,
      });
      return { ...page, items: withEvents(principal, found) };
    },
  };
}
