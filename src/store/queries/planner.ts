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
  where: string;
  /** Conditions that each find rows in the list's order, if `where` doesn't. */
  inOrder?: readonly string[];
  /** The key's columns in the index, if they aren't the list's own. */
  key?: readonly KeyColumn[];
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

const PARAMETER = /:([a-z]\w*)/gi;

/**
 * Makes a function that replaces the named parameters of a statement by numbers, in the order of the names: `:name` by `?1`
 * and so on.
 */
const numbering =
  (names: readonly string[]) =>
  (sql: string): string =>
    sql.replace(PARAMETER, (_, name) => `?${names.indexOf(name) + 1}`);

/** The names of a statement's parameters, each once. */
const namesIn = (sql: string): string[] => [...new Set([...sql.matchAll(PARAMETER)].map(([, name = '']) => name))];

const conditionOf = (filters: Readonly<Record<string, string>>): string =>
  Object.entries(filters)
    .map(([name, condition]) => `(:${name} IS NULL OR ${condition})`)
    .join(' AND ');

const columnsOf = (key: readonly KeyColumn[]) => key.map((part) => `${part.column} AS ${nameOf(part)}`).join(', ');

/** The conditions that a way uses to find rows in the list's order. */
const partsOf = ({ where, inOrder }: AccessPath<string>): readonly string[] => inOrder ?? [where];

/** Declares a list that is read page by page with cursors. Its rows have the columns of its key. */
export function declareWalk<Filter extends string, Name extends string>({
  filters,
  ways,
  key,
  isBounded = false,
}: Declaration<Filter, Name>) {
  const names = Object.keys(filters) as Filter[];
  const text = numbering(names);
  const matches = conditionOf(filters);
  function listOf(way: AccessPath<string>) {
    const wayKey = way.key ?? key;
    const select = text(`SELECT ${columnsOf(wayKey)}, ${matches} AS matches FROM ${way.from}`);
    const parts = partsOf(way).map((where) => ({ select, where: text(where) }));
    return orderedList<MatchRow>(parts, wayKey, { isBounded });
  }
  const lists = Object.fromEntries(Object.entries<AccessPath<string>>(ways).map(([name, way]) => [name, listOf(way)]));
  return { lists, ways, names };
}

interface MatchRow {
  matches: 0 | 1;
}

type Walk<Filter extends string, Name extends string> = ReturnType<typeof declareWalk<Filter, Name>>;

interface WalkRequest<Filter extends string, Name extends string> {
  values: Readonly<Record<Filter, Value>>;
  sizedPaths: readonly SizedPath<Name>[];
  /** The bounds of the key's first column. */
  span?: Span;
  isReversed?: boolean;
  total?: number | null;
}

/**
 * @param toItem makes an item of a row, which has the columns of the walk's key
 * @param maxRows maximum number of rows that a page reads; tests use fewer than the default
 */
export function walker<Row, Item, Filter extends string, Name extends string>(
  db: Database,
  { lists, ways, names }: Walk<Filter, Name>,
  toItem: (row: Row) => Item,
  maxRows = MAX_FILTERED_ROWS,
) {
  const list = memoize((name) => lists[name]!.prepared(db) as Lister<Row & MatchRow>);
  return (
    { values, sizedPaths, span, isReversed = false, total = null }: WalkRequest<Filter, Name>,
    limit: number,
    cursor: Cursor | null,
  ): Page<Item, number | null> => {
    const path = narrowest(ways, sizedPaths);
    if (path === undefined || path.size === 0) return emptyPage(total, cursor);
    const parameters = names.map((name) => values[name]);
    const rows: RowSource<Row & MatchRow> = walked(list(path.way)(parameters, span));
    return readPage<Row & MatchRow, Item, number | null>({
      limit,
      cursor,
      total,
      maxRows,
      ...(isReversed ? reversed(rows) : rows),
      meets: ({ matches }) => matches === 1,
      itemOf: toItem,
    });
  };
}

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

/** An order of a list: its columns, all in one direction. */
interface Order {
  columns: readonly string[];
  /** The tables that the columns need in addition to those of a way. */
  join?: string;
  /** The whole list in this order, if an index has it. */
  whole?: Whole;
}

/** The whole list in an order: its tables with the index, and its condition. */
interface Whole {
  from: string;
  /** The columns of the index, if they aren't the order's own. */
  columns?: readonly string[];
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
  /** The columns that the filters and the key use; undefined if a filtered list is always sorted. */
  looked?: string;
}

/**
 * Declares a list that is read by pages with an offset, and counted. Its statements are, for each order and direction:
 * - `all`: a page of the whole list.
 * - `index`, for each way: a page of the rows that the way finds.
 * - `walk`: a page of the rows that match among the first rows of the whole list.
 *
 * In addition, `count` counts the rows of a way. Their parameters are the filters, `first` and `last` (the bounds of the key),
 * `count` and `offset` (the page), and `depth` (rows of the whole list to walk).
 */
export function declareSearch<Filter extends string, Name extends string, By extends string>(
  declaration: SearchDeclaration<Filter, Name, By>,
) {
  const { filters, ways, key, orders, ownOrder, looked, isBounded = false } = declaration;
  const matches = `${conditionOf(filters)}${isBounded ? ` AND ${key[0]!.column} BETWEEN :first AND :last` : ''}`;
  const select = `SELECT ${columnsOf(key)} FROM`;
  const page = 'LIMIT :count OFFSET :offset';
  const statements: Record<string, string> = {};
  for (const [name, { from, where }] of Object.entries<AccessPath<string>>(ways)) {
    statements[`count.${name}`] = `SELECT count(*) AS total FROM ${from} WHERE ${where} AND ${matches}`;
  }
  for (const [by, { columns, join = '', whole }] of Object.entries<Order>(orders)) {
    for (const [direction, down] of Object.entries(directions)) {
      const sortedBy = (names: readonly string[]): string =>
        `ORDER BY ${names.map((name) => `${name}${down}`).join(', ')}`;
      for (const [name, way] of Object.entries<AccessPath<string>>(ways)) {
        const parts = by === ownOrder ? partsOf(way) : [way.where];
        const selections = parts.map((where) => `${select} ${way.from} ${join} WHERE ${where} AND ${matches}`);
        const sorted = sortedBy(parts.length === 1 ? columns : key.map(nameOf));
        statements[`index.${name}.${by}.${direction}`] = `${selections.join(' UNION ALL ')} ${sorted} ${page}`;
      }
      if (whole === undefined) continue;
      const { from, where = 'true', sought = 'true' } = whole;
      const sorted = sortedBy(whole.columns ?? columns);
      statements[`all.${by}.${direction}`] = `${select} ${from} WHERE ${where} ${sorted} ${page}`;
      if (looked === undefined) continue;
      const first = `SELECT ${looked} FROM ${from} WHERE ${where} AND ${sought} ${sorted} LIMIT :depth`;
      statements[`walk.${by}.${direction}`] = `${select} (${first}) t WHERE ${matches} ${page}`;
    }
  }
  const each = <T>(make: (statement: string) => T): Readonly<Record<string, T>> =>
    Object.fromEntries(Object.entries(statements).map(([name, statement]) => [name, make(statement)]));
  const sql = each((statement) => numbering(namesIn(statement))(statement));
  return { ...declaration, sql, parameters: each(namesIn) };
}

type Search<Filter extends string, Name extends string, By extends string> = ReturnType<
  typeof declareSearch<Filter, Name, By>
>;

interface SearchRequest<Filter extends string, Name extends string> {
  /** The values of filters; null for a filter that isn't given. */
  values: Readonly<Record<Filter, Value>>;
  sizedPaths: readonly SizedPath<Name>[];
  /** The bounds of the key's first column. */
  span?: Span;
}

/** The page of a search that nothing can match. */
export const NOTHING: OffsetPage<never> = { items: [], total: 0 };

/**
 * @param toItem makes an item of a row, which has the columns of the search's key
 * @param limits tests of each way use others than the default
 */
export function searcher<Row, Item, Filter extends string, Name extends string, By extends string>(
  db: Database,
  search: Search<Filter, Name, By>,
  toItem: (row: Row) => Item,
  limits: SearchLimits = SEARCH_LIMITS,
) {
  const { ways, ownOrder, noun, narrowFilter } = search;
  const prepare = memoize((name) => prepared<Row & { total: number }, Value[]>(db, search.sql[name]!));
  const tooManyError = (limit: number): TooMuchWorkError =>
    new TooMuchWorkError(
      `Each of the filters matches more than ${limit} ${noun}; add one that matches fewer, such as ${narrowFilter}`,
    );

  const run = (name: string, values: Readonly<Record<string, Value | undefined>>) =>
    prepare(name).all(...search.parameters[name]!.map((parameter) => values[parameter]!));

  /** @throws TooMuchWorkError if too many would have to be counted */
  function countRows(
    { way, size, count, isEstimate = false }: SizedPath<Name>,
    { values, span = EVERYWHERE }: SearchRequest<Filter, Name>,
  ): number {
    const usedFilters = (Object.keys(values) as Filter[]).filter((name) => values[name] !== null);
    if (!isEstimate && usedFilters.every((name) => ways[way].by.includes(name))) {
      if (size <= limits.rows || count === undefined) return size;
      const total = count(limits.entries + 1);
      if (total > limits.entries) throw tooManyError(limits.entries);
      return total;
    }
    if (size > limits.rows) throw tooManyError(limits.rows);
    return run(`count.${way}`, { ...values, ...span })[0]?.total ?? 0;
  }

  /** @throws TooMuchWorkError if the page needs more rows than a request may read */
  function readRows(
    { way, size }: SizedPath<Name>,
    { values, span = EVERYWHERE }: SearchRequest<Filter, Name>,
    by: By,
    direction: ListOrder,
    count: number,
    offset: number,
  ): Row[] {
    const parameters = { ...values, ...span, count, offset };
    const order = `${by}.${direction}`;
    if (by !== ownOrder && size > limits.sorted) {
      const depth = size <= limits.rows ? limits.sorted : limits.rows;
      const rows = run(`walk.${order}`, { ...parameters, depth });
      if (rows.length === count) return rows;
    }
    if (by === ownOrder || size <= limits.rows) return run(`index.${way}.${order}`, parameters);
    throw new TooMuchWorkError(
      `The page is not among the first ${limits.rows} ${noun} in this order; sort by ${ownOrder}, or add a ` +
        `filter that matches fewer ${noun}`,
    );
  }

  return {
    /** A page of the whole list, in an order that an index has. */
    all: (by: By, direction: ListOrder, count: number, offset: number): Item[] =>
      run(`all.${by}.${direction}`, { count, offset }).map(toItem),

    /** @throws TooMuchWorkError if every filter matches too many rows to count them or to find the page */
    filtered(
      request: SearchRequest<Filter, Name>,
      by: By,
      direction: ListOrder,
      limit: number,
      offset: number,
    ): OffsetPage<Item> {
      const path = narrowest(ways, request.sizedPaths);
      if (path === undefined || path.size === 0) return NOTHING;
      const total = countRows(path, request);
      const count = Math.min(limit, total - offset);
      const rows = count <= 0 ? [] : readRows(path, request, by, direction, count, offset);
      return { items: rows.map(toItem), total };
    },
  };
}
