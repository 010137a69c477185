/**
 * Filtered lists. A list has several ways to be read. Each way has an index that finds the rows of some filters. The planner
 * takes the way that finds the fewest rows, and checks each row against all filters. A request reads a bounded number of rows,
 * however long the list is. If the bound ends a page with a cursor, the page is short and has a next one. If it ends a page
 * with an offset, the request fails with {@link TooMuchWorkError}.
 *
 * To add a filter, add its condition to `filters`. If an index finds its rows, add a way to `ways`.
 */
import type { Database } from 'bun:sqlite';
import { memoize } from '../../base/cache.ts';
import type { Cursor, ListOrder, OffsetPage, Page } from '../model/page.ts';
import { MAX_ENTRIES, prepared, TooMuchWorkError } from '../rows/statement.ts';
import type { Span } from './blocks/windows.ts';
import { EVERYWHERE, type KeyColumn, type Lister, nameOf, orderedList, reversed, type Value, walked } from './list.ts';
import { emptyPage, MAX_FILTERED_ROWS, type RowSource, readPage } from './page.ts';

/** A way to read a list, along an index. Its conditions name the value of a filter by `:filter`. */
export interface AccessPath<Filter extends string> {
  /** The filters that the index applies by itself. */
  by: readonly Filter[];
  /** The tables, with the index. */
  from: string;
  /** The condition that seeks in the index. */
  where: string;
  /** Conditions that each find rows in the list's order, if `where` doesn't. */
  inOrder?: readonly string[];
  /** The key's columns in the index, if they aren't the list's own. */
  key?: readonly KeyColumn[];
}

/** An order of a list: its columns, all in one direction, and the tables that they need in addition. */
interface Order {
  columns: readonly string[];
  join?: string;
}

interface Declaration<Filter extends string, Name extends string> {
  /** The condition of each filter, in which `:filter` is its value. */
  filters: Readonly<Record<Filter, string>>;
  ways: Readonly<Record<Name, AccessPath<NoInfer<Filter>>>>;
  key: readonly KeyColumn[];
  /** Whether a request may bound the key's first column, for example to the positions of some blocks. */
  isBounded?: boolean;
}

/** A way that a request can take, and the number of rows that it finds. */
export interface SizedPath<Name extends string> {
  way: Name;
  size: number;
  /** Counts the rows up to a limit, if `size` was counted up to a limit. */
  count?(limit: number): number;
  /** Whether the way may find fewer rows than `size`. */
  isEstimate?: boolean;
}

/** Returns the way that finds the fewest rows. If several find as few, it returns the first in the declaration. */
function narrowest<Name extends string>(ways: Readonly<Record<Name, unknown>>, sizedPaths: readonly SizedPath<Name>[]) {
  const rank = Object.keys(ways);
  const [narrowestPath] = sizedPaths.toSorted((a, b) => a.size - b.size || rank.indexOf(a.way) - rank.indexOf(b.way));
  return narrowestPath;
}

/** Numbers the filters as parameters of statements. */
function numberFilters<Filter extends string>(filters: Readonly<Record<Filter, string>>) {
  const names = Object.keys(filters) as Filter[];
  const text = (sql: string): string => sql.replace(/:([a-z]\w*)/gi, (_, name) => `?${names.indexOf(name) + 1}`);
  return {
    count: names.length,
    text,
    /** The condition that a row meets all given filters. */
    matches: names.map((name) => text(`(:${name} IS NULL OR ${filters[name]})`)).join(' AND '),
    valuesOf: (values: Readonly<Record<Filter, Value>>): Value[] => names.map((name) => values[name]),
  };
}

const columnsOf = (key: readonly KeyColumn[]) => key.map((part) => `${part.column} AS ${nameOf(part)}`).join(', ');

/** The conditions that a way uses to find rows in the list's order. */
const partsOf = ({ where, inOrder }: AccessPath<string>): readonly string[] => inOrder ?? [where];

/** Declares a list that is read page by page with cursors. */
export function declareWalk<Filter extends string, Name extends string>({
  filters,
  ways,
  key,
  isBounded = false,
}: Declaration<Filter, Name>) {
  const { text, matches, valuesOf } = numberFilters(filters);
  const lists = Object.fromEntries(
    Object.entries<AccessPath<string>>(ways).map(([name, way]) => {
      const wayKey = way.key ?? key;
      const select = `SELECT ${columnsOf(wayKey)}, ${matches} AS matches FROM ${way.from}`;
      return [
        name,
        orderedList<MatchRow>(
          partsOf(way).map((where) => ({ select, where: text(where) })),
          wayKey,
          { isBounded },
        ),
      ];
    }),
  );
  return { lists, ways, valuesOf };
}

type Walk<Filter extends string, Name extends string> = ReturnType<typeof declareWalk<Filter, Name>>;

interface MatchRow {
  matches: 0 | 1;
}

/** A request for a walk. */
interface WalkRequest<Filter extends string, Name extends string> {
  values: Readonly<Record<Filter, Value>>;
  sizedPaths: readonly SizedPath<Name>[];
  /** The bounds of the key's first column. */
  span?: Span;
  isReversed?: boolean;
  total?: number | null;
}

/** @param maxRows maximum number of rows that a page reads; tests use fewer than the default */
export function walker<Row, Filter extends string, Name extends string>(
  db: Database,
  { lists, ways, valuesOf }: Walk<Filter, Name>,
  maxRows = MAX_FILTERED_ROWS,
) {
  const list = memoize((name) => lists[name]!.prepared(db) as Lister<Row & MatchRow>);
  return <Item>(
    { values, sizedPaths, span, isReversed = false, total = null }: WalkRequest<Filter, Name>,
    limit: number,
    cursor: Cursor | null,
    itemOf: (row: Row) => Item,
  ): Page<Item, number | null> => {
    const way = narrowest(ways, sizedPaths);
    if (way === undefined || way.size === 0) return emptyPage(total, cursor);
    const rows: RowSource<Row & MatchRow> = walked(list(way.way)(valuesOf(values), span));
    return readPage<Row & MatchRow, Item, number | null>({
      limit,
      cursor,
      total,
      maxRows,
      ...(isReversed ? reversed(rows) : rows),
      meets: ({ matches }) => matches === 1,
      itemOf,
    });
  };
}

/** Limits for a request with an offset. */
export interface SearchLimits {
  /** Maximum rows of a list that is sorted at once. In a longer list, this many rows are first read in its order. */
  sorted: number;
  /** Rows that a request reads. */
  rows: number;
  /** Entries of an index that a request counts. */
  entries: number;
}

export const SEARCH_LIMITS: SearchLimits = { sorted: 5_000, rows: 20_000, entries: MAX_ENTRIES };

const directions = { asc: '', desc: ' DESC' } as const;

/** The whole list in an order: its tables with the index, its columns and its condition. */
interface Whole {
  from: string;
  columns: readonly string[];
  where?: string;
  /** A condition of filters that seeks in the index. */
  sought?: string;
}

interface SearchDeclaration<Filter extends string, Name extends string, By extends string>
  extends Declaration<Filter, Name> {
  /** The name of the rows in the plural, and an example of a narrow filter, for messages. */
  noun: string;
  narrowFilter: string;
  orders: Readonly<Record<By, Order>>;
  /** The order of the rows that the ways find; null if unordered. */
  ownOrder: NoInfer<By> | null;
  /** The whole list in orders that an index has. */
  whole: Readonly<Partial<Record<NoInfer<By>, Whole>>>;
  /** The columns that the filters and the key use; undefined if a filtered list is always sorted. */
  looked?: string;
}

/** Declares a list that is read by pages with an offset, and counted. */
export function declareSearch<Filter extends string, Name extends string, By extends string>(
  declaration: SearchDeclaration<Filter, Name, By>,
) {
  const { filters, ways, key, orders, ownOrder, whole, looked, isBounded = false } = declaration;
  const { count, text, matches, valuesOf } = numberFilters(filters);
  const keyColumns = columnsOf(key);
  const parameter = (nth: number): string => `?${count + nth}`;
  const within = isBounded ? ` AND ${key[0]!.column} BETWEEN ${parameter(1)} AND ${parameter(2)}` : '';
  const boundsOf = ({ first, last }: Span): Value[] => (isBounded ? [first, last] : []);
  /** Number of parameters before the limit, without the filters. */
  const bounds = isBounded ? 2 : 0;
  const page = `LIMIT ${parameter(bounds + 1)} OFFSET ${parameter(bounds + 2)}`;
  const sortedBy = (columns: readonly string[], down: string): string =>
    `ORDER BY ${columns.map((column) => `${column}${down}`).join(', ')}`;

  function byWay(way: AccessPath<string>, by: By, down: string): string {
    const isOwn = by === ownOrder;
    const { columns, join = '' } = orders[by];
    const terms = (isOwn ? partsOf(way) : [way.where]).map(
      (where) => `SELECT ${keyColumns} FROM ${way.from} ${join} WHERE ${text(where)} AND ${matches}${within}`,
    );
    const names = terms.length === 1 ? columns : key.map(nameOf);
    return `${terms.join(' UNION ALL ')} ${sortedBy(names, down)} ${page}`;
  }

  const sql: Record<string, string> = {};
  for (const [direction, down] of Object.entries(directions)) {
    for (const [by, { from, columns, where = 'true', sought = 'true' }] of Object.entries<Whole>(
      whole as Record<By, Whole>,
    )) {
      const order = sortedBy(columns, down);
      sql[`all.${by}.${direction}`] = `SELECT ${keyColumns} FROM ${from} WHERE ${where} ${order} LIMIT ?1 OFFSET ?2`;
      if (looked === undefined) continue;
      sql[`walk.${by}.${direction}`] =
        `SELECT ${keyColumns} FROM (SELECT ${looked} FROM ${from} WHERE ${where} AND ${text(sought)} ${order}
           LIMIT ${parameter(bounds + 3)}) t WHERE ${matches}${within} ${page}`;
    }
    for (const [name, way] of Object.entries<AccessPath<string>>(ways)) {
      for (const by of Object.keys(orders) as By[]) sql[`index.${name}.${by}.${direction}`] = byWay(way, by, down);
    }
  }
  for (const [name, { from, where }] of Object.entries<AccessPath<string>>(ways)) {
    sql[`count.${name}`] = `SELECT count(*) AS total FROM ${from} WHERE ${text(where)} AND ${matches}${within}`;
  }
  return { ...declaration, sql, valuesOf, boundsOf };
}

type Search<Filter extends string, Name extends string, By extends string> = ReturnType<
  typeof declareSearch<Filter, Name, By>
>;

/** A request for a search. */
interface SearchRequest<Filter extends string, Name extends string> {
  /** The values of filters; null for a filter that isn't given. */
  values: Readonly<Record<Filter, Value>>;
  sizedPaths: readonly SizedPath<Name>[];
  /** The bounds of the key's first column. */
  span?: Span;
}

/** The page of a search that nothing can match. */
export const NOTHING: OffsetPage<never> = { items: [], total: 0 };

/** @param limits tests of each way use others than the default */
export function searcher<Row, Filter extends string, Name extends string, By extends string>(
  db: Database,
  { sql, ways, ownOrder, noun, narrowFilter, filters, valuesOf, boundsOf }: Search<Filter, Name, By>,
  limits: SearchLimits = SEARCH_LIMITS,
) {
  const statement = memoize((name) => prepared<Row & { total: number }, Value[]>(db, sql[name]!));
  const tooManyError = (limit: number): TooMuchWorkError =>
    new TooMuchWorkError(
      `Each of the filters matches more than ${limit} ${noun}; add one that matches fewer, such as ${narrowFilter}`,
    );

  /** @throws TooMuchWorkError if too many would have to be counted */
  function countRows(
    { way, size, count, isEstimate = false }: SizedPath<Name>,
    { values, span = EVERYWHERE }: SearchRequest<Filter, Name>,
  ): number {
    const usedFilters = (Object.keys(filters) as Filter[]).filter((name) => values[name] !== null);
    if (!isEstimate && usedFilters.every((name) => ways[way].by.includes(name))) {
      if (size <= limits.rows || count === undefined) return size;
      const total = count(limits.entries + 1);
      if (total > limits.entries) throw tooManyError(limits.entries);
      return total;
    }
    if (size > limits.rows) throw tooManyError(limits.rows);
    return statement(`count.${way}`).get(...valuesOf(values), ...boundsOf(span))?.total ?? 0;
  }

  /** @throws TooMuchWorkError if the page needs more rows than a request may read */
  function readRows(
    path: SizedPath<Name>,
    { values, span = EVERYWHERE }: SearchRequest<Filter, Name>,
    by: By,
    direction: ListOrder,
    count: number,
    offset: number,
  ) {
    const page = [...valuesOf(values), ...boundsOf(span), count, offset];
    const order = `${by}.${direction}`;
    const byIndex = (): Row[] => statement(`index.${path.way}.${order}`).all(...page);
    if (by === ownOrder) return byIndex();
    if (path.size > limits.sorted) {
      const rows = path.size <= limits.rows ? limits.sorted : limits.rows;
      const walkRows = statement(`walk.${order}`).all(...page, rows);
      if (walkRows.length === count) return walkRows;
    }
    if (path.size <= limits.rows) return byIndex();
    throw new TooMuchWorkError(
      `The page is not among the first ${limits.rows} ${noun} in this order; sort by ${ownOrder}, or add a ` +
        `filter that matches fewer ${noun}`,
    );
  }

  return {
    /** A page of the whole list, in an order that an index has. */
    all: (by: By, direction: ListOrder, count: number, offset: number): Row[] =>
      statement(`all.${by}.${direction}`).all(count, offset),

    /** @throws TooMuchWorkError if every filter matches too many rows to count them or to find the page */
    filtered(
      search: SearchRequest<Filter, Name>,
      by: By,
      direction: ListOrder,
      limit: number,
      offset: number,
    ): OffsetPage<Row> {
      const path = narrowest(ways, search.sizedPaths);
      if (path === undefined || path.size === 0) return NOTHING;
      const total = countRows(path, search);
      const count = Math.min(limit, total - offset);
      return { items: count <= 0 ? [] : readRows(path, search, by, direction, count, offset), total };
    },
  };
}
