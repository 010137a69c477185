/**
 * The canonical chain's transactions, filtered and ordered as v1 offers it.
 *
 * Each filter that can narrow much has an index and a count, and so has each order. A list is read by the index of its
 * narrowest filter where that is in its order, or short enough to be sorted; else it is walked in its order, leaving out
 * what the filters refuse, so that a page is full after few rows. Whichever way, no more than {@link SearchLimits} say is looked
 * at, however long the chain is.
 */
import type { Database, Statement } from 'bun:sqlite';
import { positionsOf } from '../../chain/position.ts';
import type { OffsetPage } from '../model/page.ts';
import type { TransactionDetail, TransactionFilter, TransactionOrder } from '../model/transaction.ts';
import { MOST_ENTRIES, prepared, TooMuchWorkError } from '../rows/statement.ts';
import type { DetailQueries } from './details.ts';
import { filterMeasure, type Search, type Value } from './transaction-filter.ts';
import { type Narrowing, sizes, sql, TYPE_PLACES } from './transaction-search-sql.ts';

/** How much one request may look at. */
export interface SearchLimits {
  /** Rows that are walked before a list that could be sorted is, and that are always sorted. */
  sorted: number;
  /** Rows that are read. */
  rows: number;
  /** Entries of an index that are counted. */
  entries: number;
}

const LIMITS: SearchLimits = { sorted: 5_000, rows: 20_000, entries: MOST_ENTRIES };

/** Lets everything through. */
export const NO_FILTER: TransactionFilter = {
  types: null,
  sender: null,
  recipient: null,
  contract: null,
  functionName: null,
  nonce: null,
  since: null,
  until: null,
};

type Page = OffsetPage<number>;

/** Statements of the search by their names, each prepared when it is first needed. */
function statementCache(db: Database) {
  const statements = new Map<string, Statement<{ position: number; total: number }, Value[]>>();
  return (name: string) => {
    let known = statements.get(name);
    if (known === undefined) {
      const text = sql[name];
      if (text === undefined) throw new Error(`no statement ${name}`);
      known = prepared(db, text);
      statements.set(name, known);
    }
    return known;
  };
}

/** Pages of the whole chain in its order, found without counting what stands before them. */
function ordinalPages(db: Database) {
  const blockOfOrdinal = prepared<{ height: number; preceding: number }, [number]>(db, sql.byOrdinal!);
  const rowsFromOrdinal = prepared<{ position: number }, [number, number, number]>(db, sql.fromOrdinal!);

  return (all: number, direction: TransactionOrder['direction'], count: number, offset: number): number[] => {
    const first = direction === 'asc' ? offset + 1 : all - offset - count + 1;
    const block = blockOfOrdinal.get(first);
    if (block === null) return [];
    const rows = rowsFromOrdinal.all(positionsOf(block.height).first, count, first - block.preceding - 1);
    const positions = rows.map(({ position }) => position);
    return direction === 'asc' ? positions : positions.reverse();
  };
}

const tooManyPass = (limit: number): TooMuchWorkError =>
  new TooMuchWorkError(
    `Each of the filters matches more than ${limit} transactions; add one that matches fewer, such as a shorter range of time`,
  );

/** @param limits others than usual, for tests of each way */
export function transactionSearch(db: Database, details: DetailQueries, limits: SearchLimits = LIMITS) {
  const statement = statementCache(db);
  const sizeOfAll = prepared<{ size: number }, []>(db, sizes.all);
  const measure = filterMeasure(db, limits.rows);
  const ordinals = ordinalPages(db);

  const positionsFrom = (name: string, ...values: Value[]): number[] =>
    statement(name)
      .all(...values)
      .map(({ position }) => position);

  /** The parameters behind the page's own, for the statements that seek by types one by one. */
  const typeValues = (name: Narrowing, types: readonly number[]): Value[] =>
    name === 'types' ? Array.from({ length: TYPE_PLACES }, (_, place) => types[place] ?? -1) : [];

  /** @throws TooMuchWorkError where too many would have to be counted */
  function totalOf({ narrowest: { name, size }, whole, values, types, contract }: Search): number {
    if (whole && name !== 'senderNonce') {
      if (size <= limits.rows || (name !== 'nonce' && name !== 'call')) return size;
      const entries = limits.entries + 1;
      const [, , , , functionName, nonce] = values;
      const counted =
        name === 'nonce'
          ? measure.countOfNonce(Number(nonce), entries)
          : measure.countOfCall(contract ?? 0, String(functionName), entries);
      if (counted > limits.entries) throw tooManyPass(limits.entries);
      return counted;
    }
    if (size > limits.rows) throw tooManyPass(limits.rows);
    // The page's own parameters stand between these and the types.
    const page = name === 'types' ? [null, null] : [];
    return statement(`count.${name}`).get(...values, ...page, ...typeValues(name, types))?.total ?? 0;
  }

  function byIndex(search: Search, { by, direction }: TransactionOrder, limit: number, offset: number): number[] {
    const { narrowest, values, types } = search;
    const name = `index.${narrowest.name}.${by}.${direction}`;
    return positionsFrom(name, ...values, limit, offset, ...typeValues(narrowest.name, types));
  }

  /**
   * @param limit of a page that is full
   * @throws TooMuchWorkError where the page isn't found in as many rows as may be looked at
   */
  function pageOf(search: Search, order: TransactionOrder, limit: number, offset: number): number[] {
    const { narrowest, values } = search;
    if (order.by === 'block_height') return byIndex(search, order, limit, offset);
    const walked = (rows: number) =>
      positionsFrom(`walk.${order.by}.${order.direction}`, ...values, limit, offset, rows);
    if (narrowest.size > limits.sorted) {
      const page = walked(narrowest.size <= limits.rows ? limits.sorted : limits.rows);
      if (page.length === limit) return page;
    }
    if (narrowest.size <= limits.rows) return byIndex(search, order, limit, offset);
    throw new TooMuchWorkError(
      `The page is not among the first ${limits.rows} transactions in this order; sort by block_height, or add a ` +
        'filter that matches fewer transactions',
    );
  }

  function unfiltered({ by, direction }: TransactionOrder, limit: number, offset: number): Page {
    const total = sizeOfAll.get()?.size ?? 0;
    const count = Math.min(limit, total - offset);
    if (count <= 0) return { items: [], total };
    if (by === 'block_height') return { items: ordinals(total, direction, count, offset), total };
    return { items: positionsFrom(`all.${by}.${direction}`, count, offset), total };
  }

  function filtered(filter: TransactionFilter, order: TransactionOrder, limit: number, offset: number): Page {
    const search = measure.searchOf(filter);
    if (search === null) return { items: [], total: 0 };
    const total = totalOf(search);
    const count = Math.min(limit, total - offset);
    return { items: count <= 0 ? [] : pageOf(search, order, count, offset), total };
  }

  /** @throws TooMuchWorkError for filters that pass many transactions each, and few together or too many to count */
  return (
    filter: TransactionFilter,
    order: TransactionOrder,
    limit: number,
    offset: number,
  ): OffsetPage<TransactionDetail> => {
    const isFiltered = Object.values(filter).some((part) => part !== null);
    const { items, total } = isFiltered ? filtered(filter, order, limit, offset) : unfiltered(order, limit, offset);
    return { items: details.at(items), total };
  };
}
