/**
 * The canonical chain's transactions, filtered and ordered as v1 offers it.
 *
 * Each filter that can narrow much has an index and a count, and so has each order. A list is read by the index of its
 * narrowest filter where that is in its order, or short enough to be sorted; else it is walked in its order, leaving out
 * what the filters refuse, so that a page is full after few rows. Whichever way, no more than {@link Limits} say is looked
 * at, however long the chain is.
 */
import type { Database, Statement } from 'bun:sqlite';
import { positionsOf } from '../../chain/position.ts';
import type { TransactionType } from '../../codec/transaction.ts';
import type { OffsetPage } from '../model/page.ts';
import { TooMuchWorkError } from '../model/read-errors.ts';
import type { TransactionDetail, TransactionFilter, TransactionOrder } from '../model/transaction.ts';
import { prepared } from '../rows/statement.ts';
import { typeNumbers } from '../rows/words.ts';
import type { DetailQueries } from './details.ts';
import { type Narrowing, sizes, sql, TYPE_PLACES } from './transaction-search-sql.ts';

/** How much one request may look at. */
interface Limits {
  /** Rows that are walked before a list that could be sorted is, and that are always sorted. */
  sorted: number;
  /** Rows that are read. */
  rows: number;
  /** Entries of an index that are counted or passed over. */
  entries: number;
}

const LIMITS: Limits = { sorted: 5_000, rows: 20_000, entries: 1_000_000 };

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

type Value = number | string | null;
type Page = OffsetPage<number>;
type Filter = 'types' | 'sender' | 'recipient' | 'contract' | 'functionName' | 'nonce' | 'span';

/** The filters that an index finds by itself. */
const found: Readonly<Record<Narrowing, readonly Filter[]>> = {
  types: ['types'],
  sender: ['sender'],
  senderNonce: ['sender', 'nonce'],
  recipient: ['recipient'],
  contract: ['contract'],
  functionName: ['functionName'],
  call: ['contract', 'functionName'],
  nonce: ['nonce'],
  span: ['span'],
};

interface Narrowed {
  name: Narrowing;
  /** How many transactions it finds; of `nonce` and `call` no more than one above the rows that are read. */
  size: number;
}

/** A search that may find something. */
interface Search {
  narrowest: Narrowed;
  /** Whether the narrowest index finds all that the filters ask for. */
  whole: boolean;
  /** The parameters ?1 to ?10. */
  values: Value[];
  types: readonly number[];
  contract: number | null;
}

/** The type that other filters ask for; null for any, undefined where two of them ask for different ones. */
function impliedType({ recipient, contract, functionName }: TransactionFilter): TransactionType | null | undefined {
  const called = contract !== null || functionName !== null;
  if (recipient === null) return called ? 'contract_call' : null;
  return called ? undefined : 'token_transfer';
}

/** @param limits others than usual, for tests of each way */
export function transactionSearch(db: Database, details: DetailQueries, limits: Limits = LIMITS) {
  const statements = new Map<string, Statement<{ position: number; total: number }, Value[]>>();
  const statement = (name: string) => {
    let known = statements.get(name);
    if (known === undefined) {
      const text = sql[name];
      if (text === undefined) throw new Error(`no statement ${name}`);
      known = prepared(db, text);
      statements.set(name, known);
    }
    return known;
  };
  const sizeOfAll = prepared<{ size: number }, []>(db, sizes.all);
  const sizeOfType = prepared<{ size: number }, [number]>(db, sizes.type);
  const principalOf = prepared<{ id: number; sent: number; paid: number; calls: number }, [string]>(
    db,
    sizes.principal,
  );
  const sizeOfFunction = prepared<{ size: number }, [string]>(db, sizes.functionName);
  const sizeOfNonce = prepared<{ size: number }, [number, number]>(db, sizes.nonce);
  const sizeOfCall = prepared<{ size: number }, [number, string, number]>(db, sizes.call);
  const between = prepared<{ first: number | null; last: number | null; size: number }, [number, number]>(
    db,
    sizes.between,
  );
  const blockOfOrdinal = prepared<{ height: number; preceding: number }, [number]>(db, sql.byOrdinal!);
  const rowsFromOrdinal = prepared<{ position: number }, [number, number, number]>(db, sql.fromOrdinal!);

  const positionsFrom = (name: string, ...values: Value[]): number[] =>
    statement(name)
      .all(...values)
      .map(({ position }) => position);

  /** What the filters come to; null where nothing passes them. */
  function searchOf(filter: TransactionFilter): Search | null {
    const { functionName, nonce, since, until } = filter;
    const implied = impliedType(filter);
    if (implied === undefined || (implied !== null && filter.types?.includes(implied) === false)) return null;
    const given = implied === null ? filter.types : null;
    const types = given === null ? null : [...new Set(given.flatMap((type) => typeNumbers(type)))];
    const sender = filter.sender === null ? null : principalOf.get(filter.sender);
    const recipient = filter.recipient === null ? null : principalOf.get(filter.recipient);
    const contract = filter.contract === null ? null : principalOf.get(filter.contract);
    const inTime = since !== null || until !== null;
    const span = inTime ? between.get(since ?? 0, until ?? Number.MAX_SAFE_INTEGER) : null;

    const narrowed: Narrowed[] = [];
    const add = (name: Narrowing, size: number) => narrowed.push({ name, size });
    if (types !== null) {
      add(
        'types',
        types.reduce((sum, type) => sum + (sizeOfType.get(type)?.size ?? 0), 0),
      );
    }
    if (filter.sender !== null) add('sender', sender?.sent ?? 0);
    if (filter.recipient !== null) add('recipient', recipient?.paid ?? 0);
    if (filter.contract !== null) add('contract', contract?.calls ?? 0);
    if (functionName !== null) add('functionName', sizeOfFunction.get(functionName)?.size ?? 0);
    if (contract !== null && functionName !== null) {
      add('call', sizeOfCall.get(contract.id, functionName, limits.rows + 1)?.size ?? 0);
    }
    if (nonce !== null) add('nonce', sizeOfNonce.get(nonce, limits.rows + 1)?.size ?? 0);
    if (inTime) add('span', span?.size ?? 0);
    // A nonce is spent once.
    if (nonce !== null && sender !== null) add('senderNonce', Math.min(1, sender.sent));
    const narrowest = narrowestOf(narrowed);
    if (narrowest === null || narrowest.size === 0) return null;

    const filters = new Set(narrowed.flatMap(({ name }) => found[name]));
    return {
      narrowest,
      whole: [...filters].every((one) => found[narrowest.name].includes(one)),
      values: [
        types === null ? null : types.reduce((mask, type) => mask | (1 << type), 0),
        sender?.id ?? null,
        recipient?.id ?? null,
        contract?.id ?? null,
        functionName,
        nonce,
        since,
        until,
        span?.first == null ? 0 : positionsOf(span.first).first,
        span?.last == null ? Number.MAX_SAFE_INTEGER : positionsOf(span.last).last,
      ],
      types: types ?? [],
      contract: contract?.id ?? null,
    };
  }

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
          ? sizeOfNonce.get(Number(nonce), entries)
          : sizeOfCall.get(contract ?? 0, String(functionName), entries);
      if ((counted?.size ?? 0) > limits.entries) throw tooManyPass(limits.entries);
      return counted?.size ?? 0;
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
    const { narrowest, whole, values } = search;
    if (order.by === 'block_height') {
      // What isn't whole has few rows, or its total had been refused.
      if (whole) checkOffset(offset);
      return byIndex(search, order, limit, offset);
    }
    const walked = (rows: number) =>
      positionsFrom(`walk.${order.by}.${order.direction}`, ...values, limit, offset, rows);
    if (narrowest.size > limits.sorted) {
      const page = walked(narrowest.size <= limits.rows ? limits.sorted : limits.rows);
      if (page.length === limit) return page;
    }
    if (narrowest.size <= limits.rows) return byIndex(search, order, limit, offset);
    throw new TooMuchWorkError(
      `this page is not among the first ${limits.rows} transactions of its order: sort by block_height, or give a ` +
        'filter that fewer transactions pass',
    );
  }

  function checkOffset(offset: number): void {
    if (offset <= limits.entries) return;
    throw new TooMuchWorkError(`querystring/offset must be <= ${limits.entries} in a list as long as this`);
  }

  /** A page of the whole chain, found without counting what stands before it. */
  function ordinals(all: number, direction: TransactionOrder['direction'], count: number, offset: number): number[] {
    const first = direction === 'asc' ? offset + 1 : all - offset - count + 1;
    const block = blockOfOrdinal.get(first);
    if (block === null) return [];
    const rows = rowsFromOrdinal.all(positionsOf(block.height).first, count, first - block.preceding - 1);
    const positions = rows.map(({ position }) => position);
    return direction === 'asc' ? positions : positions.reverse();
  }

  function unfiltered({ by, direction }: TransactionOrder, limit: number, offset: number): Page {
    const total = sizeOfAll.get()?.size ?? 0;
    const count = Math.min(limit, total - offset);
    if (count <= 0) return { items: [], total };
    if (by === 'block_height') return { items: ordinals(total, direction, count, offset), total };
    checkOffset(offset);
    return { items: positionsFrom(`all.${by}.${direction}`, count, offset), total };
  }

  function filtered(filter: TransactionFilter, order: TransactionOrder, limit: number, offset: number): Page {
    const search = searchOf(filter);
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

const tooManyPass = (limit: number): TooMuchWorkError =>
  new TooMuchWorkError(
    `each of these filters lets more than ${limit} transactions pass: add one that lets fewer pass, such as a shorter span of time`,
  );

/** The filter that lets the fewest through; of equals the one that finds most of what is asked for. */
function narrowestOf(narrowed: readonly Narrowed[]): Narrowed | null {
  const order = (a: Narrowed, b: Narrowed) => a.size - b.size || found[b.name].length - found[a.name].length;
  return narrowed.toSorted(order)[0] ?? null;
}
