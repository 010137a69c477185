/**
 * Canonical transactions, filtered and ordered by the parameters of v1.
 *
 * Each filter that can narrow a list much has an index and a count, and so has each order. A list is read by the index of its
 * narrowest filter if the index is in the list's order, or short enough to sort; else the list is walked in its order,
 * skipping rows that don't match, so that a page is full after few rows. Either way, no more than {@link SearchLimits} is
 * read, however long the chain is.
 */

import type { Database, Statement } from 'bun:sqlite';
import { memoize } from '../../../base/cache.ts';
import { positionsOf } from '../../../chain/position.ts';
import type { TransactionType } from '../../../codec/transaction.ts';
import type { OffsetPage } from '../../model/page.ts';
import type { TransactionDetail, TransactionFilter, TransactionOrder } from '../../model/transaction.ts';
import { COUNTER, PAYLOAD, typeNumbers } from '../../rows/enums.ts';
import { firstPositionIn, heightIn } from '../../rows/expressions.ts';
import { MOST_ENTRIES, prepared, type Stored, TooMuchWorkError } from '../../rows/statement.ts';
import type { DetailQueries } from './details.ts';

/** Limits of what one request may read. */
export interface SearchLimits {
  /** Rows up to which a list is sorted at once; a longer one is walked first, for as many rows. */
  sorted: number;
  /** Rows that are read. */
  rows: number;
  /** Entries of an index that are counted. */
  entries: number;
}

const LIMITS: SearchLimits = { sorted: 5_000, rows: 20_000, entries: MOST_ENTRIES };

/** Matches every transaction. */
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

/** Statements of the search by name, each prepared at its first use. */
const statements = (db: Database) =>
  memoize((name): Statement<{ position: number; total: number }, Value[]> => {
    const text = sql[name];
    if (text === undefined) throw new Error(`no statement ${name}`);
    return prepared(db, text);
  });

/** Pages of the whole chain in its order, found without counting the transactions before them. */
function ordinalPages(db: Database) {
  const blockOfOrdinal = prepared<Stored<'blocks', 'height'> & { preceding: number }, [number]>(db, sql.byOrdinal!);
  const rowsFromOrdinal = prepared<Stored<'transactions', 'position'>, [number, number, number]>(db, sql.fromOrdinal!);

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

/** @param limits tests of each way use others than the default */
export function transactionSearch(db: Database, details: DetailQueries, limits: SearchLimits = LIMITS) {
  const statement = statements(db);
  const sizeOfAll = prepared<{ size: number }, []>(db, sizes.all);
  const measure = filterMeasure(db, limits.rows);
  const ordinals = ordinalPages(db);

  const positionsFrom = (name: string, ...values: Value[]): number[] =>
    statement(name)
      .all(...values)
      .map(({ position }) => position);

  /** The types as parameters after the page's own, for statements that seek by each type. */
  const typeValues = (name: Narrowing, types: readonly number[]): Value[] =>
    name === 'types' ? Array.from({ length: TYPE_PARAMETERS }, (_, index) => types[index] ?? -1) : [];

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
    // The page's parameters come before the types.
    const page = name === 'types' ? [null, null] : [];
    return statement(`count.${name}`).get(...values, ...page, ...typeValues(name, types))?.total ?? 0;
  }

  function byIndex(search: Search, { by, direction }: TransactionOrder, limit: number, offset: number): number[] {
    const { narrowest, values, types } = search;
    const name = `index.${narrowest.name}.${by}.${direction}`;
    return positionsFrom(name, ...values, limit, offset, ...typeValues(narrowest.name, types));
  }

  /**
   * @param limit maximum number of items; the page is known to have as many
   * @throws TooMuchWorkError where the page needs more rows than a request may read
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

  /** @throws TooMuchWorkError where every filter matches many transactions, and too few together or too many to count */
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

type Value = number | string | null;
type Filter = 'types' | 'sender' | 'recipient' | 'contract' | 'functionName' | 'nonce' | 'span';

/** The filters that each index applies by itself. */
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
  /** Number of transactions that it finds; for `nonce` and `call` at most one more than the rows that may be read. */
  size: number;
}

/** A search with at least one possible result. */
interface Search {
  narrowest: Narrowed;
  /** Whether the narrowest index applies all filters. */
  whole: boolean;
  /** The parameters ?1 to ?10. */
  values: Value[];
  types: readonly number[];
  contract: number | null;
}

/** The payload type that other filters imply; null for any, undefined where two filters imply different ones. */
function impliedType({ recipient, contract, functionName }: TransactionFilter): TransactionType | null | undefined {
  const called = contract !== null || functionName !== null;
  if (recipient === null) return called ? 'contract_call' : null;
  return called ? undefined : 'token_transfer';
}

/** The filter that matches the fewest transactions; among equals the one that applies the most filters. */
function narrowestOf(narrowed: readonly Narrowed[]): Narrowed | null {
  const order = (a: Narrowed, b: Narrowed) => a.size - b.size || found[b.name].length - found[a.name].length;
  return narrowed.toSorted(order)[0] ?? null;
}

type PrincipalRow = Stored<'principals', 'id'> & Stored<'accounts', 'sent' | 'paid' | 'calls'>;

/** A filter with names replaced by rows of the index; a part is null where it isn't given, or its name is unknown. */
interface Parts {
  types: readonly number[] | null;
  sender: PrincipalRow | null;
  recipient: PrincipalRow | null;
  contract: PrincipalRow | null;
  /** The blocks of a span of time. */
  span: { first: number | null; last: number | null; size: number } | null;
}

/** The parameters ?1 to ?10 of every statement. */
const valuesOf = (
  { functionName, nonce, since, until }: TransactionFilter,
  { types, sender, recipient, contract, span }: Parts,
): Value[] => [
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
];

/** Measures filters. @param mostRows maximum rows that are read of a list; only single filters are counted beyond it */
function filterMeasure(db: Database, mostRows: number) {
  const sizeOfType = prepared<{ size: number }, [string]>(db, sizes.type);
  const principalOf = prepared<PrincipalRow, [string]>(db, sizes.principal);
  const sizeOfFunction = prepared<{ size: number }, [string]>(db, sizes.functionName);
  const sizeOfNonce = prepared<{ size: number }, [number, number]>(db, sizes.nonce);
  const sizeOfCall = prepared<{ size: number }, [number, string, number]>(db, sizes.call);
  const between = prepared<{ first: number | null; last: number | null; size: number }, [number, number]>(
    db,
    sizes.between,
  );

  /** Number of matching transactions for each filter that narrows the search. */
  function narrowedBy(filter: TransactionFilter, parts: Parts): Narrowed[] {
    const { functionName, nonce } = filter;
    const { types, sender, recipient, contract, span } = parts;
    const narrowed: Narrowed[] = [];
    const add = (name: Narrowing, size: number) => narrowed.push({ name, size });
    if (types !== null) {
      add(
        'types',
        types.reduce((sum, type) => sum + (sizeOfType.get(String(type))?.size ?? 0), 0),
      );
    }
    if (filter.sender !== null) add('sender', sender?.sent ?? 0);
    if (filter.recipient !== null) add('recipient', recipient?.paid ?? 0);
    if (filter.contract !== null) add('contract', contract?.calls ?? 0);
    if (functionName !== null) add('functionName', sizeOfFunction.get(functionName)?.size ?? 0);
    if (contract !== null && functionName !== null) {
      add('call', sizeOfCall.get(contract.id, functionName, mostRows + 1)?.size ?? 0);
    }
    if (nonce !== null) add('nonce', sizeOfNonce.get(nonce, mostRows + 1)?.size ?? 0);
    if (filter.since !== null || filter.until !== null) add('span', span?.size ?? 0);
    // A nonce is spent once.
    if (nonce !== null && sender !== null) add('senderNonce', Math.min(1, sender.sent));
    return narrowed;
  }

  /** The parts of a filter; null where two of them exclude each other. */
  function partsOf(filter: TransactionFilter): Parts | null {
    const { since, until } = filter;
    const implied = impliedType(filter);
    if (implied === undefined || (implied !== null && filter.types?.includes(implied) === false)) return null;
    const given = implied === null ? filter.types : null;
    const found = (principal: string | null) => (principal === null ? null : principalOf.get(principal));
    return {
      types: given === null ? null : [...new Set(given.flatMap((type) => typeNumbers(type)))],
      sender: found(filter.sender),
      recipient: found(filter.recipient),
      contract: found(filter.contract),
      span: since === null && until === null ? null : between.get(since ?? 0, until ?? Number.MAX_SAFE_INTEGER),
    };
  }

  return {
    /** Prepares a search; null where nothing can match. */
    searchOf(filter: TransactionFilter): Search | null {
      const parts = partsOf(filter);
      if (parts === null) return null;
      const narrowed = narrowedBy(filter, parts);
      const narrowest = narrowestOf(narrowed);
      if (narrowest === null || narrowest.size === 0) return null;
      const filters = new Set(narrowed.flatMap(({ name }) => found[name]));
      return {
        narrowest,
        whole: [...filters].every((one) => found[narrowest.name].includes(one)),
        values: valuesOf(filter, parts),
        types: parts.types ?? [],
        contract: parts.contract?.id ?? null,
      };
    },

    /** Transactions with a nonce, counted up to a limit. */
    countOfNonce: (nonce: number, limit: number): number => sizeOfNonce.get(nonce, limit)?.size ?? 0,
    /** Calls of a function of a contract, counted up to a limit. */
    countOfCall: (contract: number, functionName: string, limit: number): number =>
      sizeOfCall.get(contract, functionName, limit)?.size ?? 0,
  };
}

/** The conditions. ?1 is a bit for each payload type; ?9 and ?10 bound the positions that can match. */
const matches = `(?1 IS NULL OR (?1 >> t.type) & 1)
   AND (?2 IS NULL OR t.sender_id = ?2)
   AND (?3 IS NULL OR (t.type = ${PAYLOAD.token_transfer} AND t.recipient_id = ?3))
   AND (?4 IS NULL OR (t.type = ${PAYLOAD.contract_call} AND t.contract_id = ?4))
   AND (?5 IS NULL OR (t.type = ${PAYLOAD.contract_call} AND t.function_name = ?5))
   AND (?6 IS NULL OR t.nonce = ?6)
   AND (?7 IS NULL OR (SELECT b.burn_block_time FROM blocks b WHERE b.height = ${heightIn('t.position')}) >= ?7)
   AND (?8 IS NULL OR (SELECT b.burn_block_time FROM blocks b WHERE b.height = ${heightIn('t.position')}) <= ?8)
   AND t.position BETWEEN ?9 AND ?10`;
/** The columns that the conditions use. */
const looked = 't.position, t.type, t.sender_id, t.recipient_id, t.contract_id, t.function_name, t.nonce';

/** The index of each filter that narrows, and the condition that seeks in it. */
const narrowing = {
  types: ['INDEXED BY transactions_by_type', 't.type IN (?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)'],
  sender: ['INDEXED BY transactions_by_sender', 't.sender_id = ?2'],
  senderNonce: ['INDEXED BY transactions_by_sender_nonce', 't.sender_id = ?2 AND t.nonce = ?6'],
  recipient: ['INDEXED BY transactions_by_recipient', `t.type = ${PAYLOAD.token_transfer} AND t.recipient_id = ?3`],
  contract: ['INDEXED BY transactions_by_called_contract', `t.type = ${PAYLOAD.contract_call} AND t.contract_id = ?4`],
  functionName: ['INDEXED BY transactions_by_function', `t.type = ${PAYLOAD.contract_call} AND t.function_name = ?5`],
  call: [
    'INDEXED BY transactions_by_call',
    `t.type = ${PAYLOAD.contract_call} AND t.contract_id = ?4 AND t.function_name = ?5`,
  ],
  nonce: ['INDEXED BY transactions_by_nonce', 't.nonce = ?6'],
  // The positions of ?9 and ?10.
  span: ['NOT INDEXED', 'true'],
} as const;
type Narrowing = keyof typeof narrowing;

/** Number of payload types; the statements have a parameter for each. */
const TYPE_PARAMETERS = 9;

const directions = { asc: '', desc: ' DESC' } as const;
type By = TransactionOrder['by'];
const bys = ['block_height', 'burn_block_time', 'fee'] as const satisfies readonly By[];

const orderOf = (by: By, down: string): string => {
  const first = { block_height: '', fee: `t.fee${down}, `, burn_block_time: `a.burn_block_time${down}, ` }[by];
  return `ORDER BY ${first}t.position${down} LIMIT ?11 OFFSET ?12`;
};

/** Rows of each type are in the order of the chain; SQLite merges them. */
const typesInOrder = (down: string): string => {
  const ofType = (_: unknown, index: number) =>
    `SELECT t.position AS position FROM transactions t INDEXED BY transactions_by_type
      WHERE t.type = ?${13 + index} AND ${matches}`;
  const terms = Array.from({ length: TYPE_PARAMETERS }, ofType);
  return `${terms.join(' UNION ALL ')} ORDER BY position${down} LIMIT ?11 OFFSET ?12`;
};

/** The list by the index of a filter, sorted unless the index is in its order. */
const byIndex = (name: Narrowing, by: By, down: string): string => {
  if (name === 'types' && by === 'block_height') return typesInOrder(down);
  const [index, sought] = narrowing[name];
  const times = by === 'burn_block_time' ? `CROSS JOIN blocks a ON a.height = ${heightIn('t.position')}` : '';
  return `SELECT t.position FROM transactions t ${index} ${times} WHERE ${sought} AND ${matches} ${orderOf(by, down)}`;
};

/** Orders of all transactions besides the chain's own, whose pages are found by counts of blocks. */
type Sorted = Exclude<By, 'block_height'>;
const sorted = ['burn_block_time', 'fee'] as const satisfies readonly Sorted[];

const inOrder = (by: Sorted, down: string): { from: string; order: string } =>
  by === 'fee'
    ? { from: 'transactions t INDEXED BY transactions_by_fee', order: `t.fee${down}, t.position${down}` }
    : {
        // Bitcoin's clock may run back a little, so times go by its blocks.
        from: `anchor_burn_blocks a INDEXED BY anchor_burn_blocks_by_time CROSS JOIN transactions t
                 ON t.position >= ${firstPositionIn('a.first_block')} AND t.position < ${firstPositionIn('(a.first_block + a.blocks)')}`,
        order: `a.time${down}, a.ordinal${down}, t.position${down}`,
      };

/** The rows that match among the first ?13 in an order. */
const walk = (by: Sorted, down: string): string => {
  const { from, order } = inOrder(by, down);
  const span =
    by === 'burn_block_time' ? 'WHERE a.time BETWEEN coalesce(?7, 0) AND coalesce(?8, 9007199254740991)' : '';
  return `SELECT t.position FROM (SELECT ${looked} FROM ${from} ${span} ORDER BY ${order} LIMIT ?13) t
           WHERE ${matches} LIMIT ?11 OFFSET ?12`;
};

const all = (by: Sorted, down: string): string => {
  const { from, order } = inOrder(by, down);
  return `SELECT t.position FROM ${from} ORDER BY ${order} LIMIT ?1 OFFSET ?2`;
};

type Statements = Readonly<Record<string, string>>;

const lists: Statements = Object.fromEntries(
  Object.entries(directions).flatMap(([direction, down]) => [
    ...sorted.flatMap((by) => [
      [`all.${by}.${direction}`, all(by, down)],
      [`walk.${by}.${direction}`, walk(by, down)],
    ]),
    ...bys.flatMap((by) =>
      Object.keys(narrowing).map((name) => [`index.${name}.${by}.${direction}`, byIndex(name as Narrowing, by, down)]),
    ),
  ]),
);

const counts: Statements = Object.fromEntries(
  Object.entries(narrowing).map(([name, [index, sought]]) => [
    `count.${name}`,
    `SELECT count(*) AS total FROM transactions t ${index} WHERE ${sought} AND ${matches}`,
  ]),
);

/** Number of transactions that each filter matches by itself. */
const sizes = {
  all: 'SELECT transactions AS size FROM totals',
  type: `SELECT count AS size FROM counters WHERE kind = ${COUNTER.transactions} AND key = ?1`,
  principal: `SELECT p.id, a.sent, a.paid, a.calls FROM principals p JOIN accounts a ON a.principal_id = p.id
               WHERE p.address = ?1`,
  functionName: `SELECT count AS size FROM counters WHERE kind = ${COUNTER.calls} AND key = ?1`,
  // These two aren't stored: they are counted up to a limit, in their index alone.
  nonce: 'SELECT count(*) AS size FROM (SELECT 1 FROM transactions WHERE nonce = ?1 LIMIT ?2)',
  call: `SELECT count(*) AS size FROM (SELECT 1 FROM transactions INDEXED BY transactions_by_call
                                        WHERE type = ${PAYLOAD.contract_call} AND contract_id = ?1 AND function_name = ?2 LIMIT ?3)`,
  // The blocks of a span of time and a few others: Bitcoin's clock may run back a little.
  between: `SELECT min(first_block) AS first, max(first_block + blocks - 1) AS last, coalesce(sum(rows), 0) AS size
              FROM anchor_burn_blocks WHERE time BETWEEN ?1 AND ?2`,
} satisfies Statements;

export const sql: Statements = {
  ...lists,
  ...counts,
  ...sizes,
  // The block with the n-th transaction of the chain, by the number of transactions before the block.
  byOrdinal: `SELECT height, preceding_transactions AS preceding FROM blocks WHERE preceding_transactions < ?1
               ORDER BY preceding_transactions DESC, height DESC LIMIT 1`,
  fromOrdinal: 'SELECT position FROM transactions WHERE position >= ?1 ORDER BY position LIMIT ?2 OFFSET ?3',
};
