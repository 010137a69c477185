/**
 * Lists logs or calls of a contract by conditions on their decoded values, newest or oldest first.
 *
 * A list is read by the entries of the condition that the fewest items meet. Entries of one value are in the order of the
 * chain, and are walked. Entries of a range of values are in the order of the values: few of them are sorted. If there are
 * many, the first page is likely to be full after few logs, which are walked in the order of the chain; if it isn't, entries up
 * to a limit are sorted. No request reads more than its {@link ValueSearchLimits}, however long the chain is.
 */
import type { Database } from 'bun:sqlite';
import type { Turns } from '../../../base/turns.ts';
import { type ClarityFields, isWithin } from '../../../codec/clarity-fields.ts';
import { meets } from '../../../codec/value-condition.ts';
import {
  compared,
  type FieldFilter,
  lowestWholeHeight,
  type ValueIndex,
  type ValueSubject,
} from '../../model/contract.ts';
import type { Cursor, CursorKey, ListOrder, Page } from '../../model/page.ts';
import { storedSubject } from '../../rows/enums.ts';
import { query, type Stored, statements, TooMuchWorkError } from '../../rows/statement.ts';
import { type KeyRange, keyRange, pathKey } from '../../rows/value-keys.ts';
import type { Span } from '../blocks/windows.ts';
import { down, type ListedRows, orderedList, reversed, sortedRows, up, walked } from '../list.ts';
import { numberAt, type RowSource, readLongPage } from '../page.ts';

export interface ValueSearchLimits {
  /** Maximum number of logs or calls that are decoded if no index has their values. */
  unindexed: number;
  /** Entries of a range that are sorted at once. */
  few: number;
  /** Logs or calls that are walked before more entries are sorted. */
  quick: number;
  /** Entries of a range that are sorted as the last resort. */
  sorted: number;
  /** Logs or calls that are read. */
  rows: number;
  /** Bytes of the logs or calls that are read. */
  bytes: number;
}

export const VALUE_SEARCH_LIMITS: ValueSearchLimits = {
  unindexed: 1_000,
  few: 500,
  quick: 500,
  sorted: 20_000,
  rows: 5_000,
  bytes: 16_000_000,
};

/** The position of a log or call in the chain; a call has the event 0. */
export type PlaceRow = Stored<'value_index_entries', 'position' | 'event_index'>;
export const placeKey = ({ position, event_index }: PlaceRow): CursorKey => [position, event_index];
export const newestFirst = (a: PlaceRow, b: PlaceRow): number =>
  b.position - a.position || b.event_index - a.event_index;
/** The place that a cursor's key names. @throws UnreadableCursorError */
export const placeOf = (key: CursorKey): PlaceRow => ({ position: numberAt(key, 0), event_index: numberAt(key, 1) });

const entries = 'FROM value_index_entries';
const pathCondition = 'index_id = ?1 AND path = ?2';
const byPlace = [down('position'), down('event_index')];
/** The entries of one value, newest first. */
export const entriesOfValue = orderedList<PlaceRow>(
  { select: `SELECT position, event_index ${entries}`, where: `${pathCondition} AND value = ?3` },
  byPlace,
  { isBounded: true },
);

export const sql = {
  value: entriesOfValue,
  // The entries of a range of values, in the order of the values.
  range: orderedList<PlaceRow & { value: string }>(
    { select: `SELECT value, position, event_index ${entries}`, where: `${pathCondition} AND value <= ?3` },
    [up('value', 'text'), up('position'), up('event_index')],
  ),
};

/** Number of entries of a range in a batch. */
const BATCH = 500;

const sortedPlaces = (places: PlaceRow[]): ListedRows<PlaceRow> =>
  sortedRows(places.sort(newestFirst), placeKey, (a, b) => newestFirst(placeOf(a), placeOf(b)));

/** A way to find a page: the places to read, and the maximum number of logs or calls that are read for it. */
interface Way {
  places: ListedRows<PlaceRow>;
  rows: number;
}

/** The keys that a field's conditions allow, and the index that has them. */
interface KeyedField extends KeyRange {
  id: number;
  path: string;
}

/** Measures and reads something, and yields undefined while other work may have its turn. */
type InTurns<Result, Yielded = never> = Generator<Yielded | undefined, Result>;

/**
 * Makes a function that yields the ways to find items that meet all conditions of indexed fields. All of them find the same
 * items. A way is needed only if the one before ended at its limit.
 */
function entryWays(db: Database, limits: ValueSearchLimits) {
  const { value, range } = statements(db, sql);
  const isOneValue = ({ low, high }: KeyRange): boolean => low === high;
  const ofValue = ({ id, path, low }: KeyedField, span: Span) => value([id, path, low], span);

  /** The places of a field's entries; null if there are more than `limit` entries. */
  function* entriesUpTo(
    { id, path, low, high }: KeyedField,
    { first, last }: Span,
    limit: number,
  ): InTurns<PlaceRow[] | null> {
    const places: PlaceRow[] = [];
    let from: CursorKey = [low, 0, 0];
    for (let left = limit + 1; left > 0; ) {
      const count = Math.min(left, BATCH);
      const rows = range([id, path, high]).rows(from, false, count);
      places.push(...rows.filter(({ position }) => position >= first && position <= last));
      const end = rows.at(-1);
      if (end === undefined || rows.length < count) return places;
      left -= rows.length;
      from = [end.value, end.position, end.event_index + 1];
      yield;
    }
    return null;
  }

  /** @param all the whole list, with any values */
  return function* (fields: readonly KeyedField[], span: Span, all: ListedRows<PlaceRow>): InTurns<void, Way> {
    const { few, quick, sorted, rows } = limits;
    if (fields.some(({ low, high }) => low > high)) {
      yield { places: sortedPlaces([]), rows };
      return;
    }
    const exact = fields.find(isOneValue);
    if (exact !== undefined && fields.length === 1) {
      yield { places: ofValue(exact, span), rows };
      return;
    }
    let fewest: PlaceRow[] | null = null;
    for (const field of fields) {
      const places: PlaceRow[] | null = yield* entriesUpTo(field, span, few);
      if (places !== null && places.length < (fewest?.length ?? Number.POSITIVE_INFINITY)) fewest = places;
    }
    if (fewest !== null) {
      yield { places: sortedPlaces(fewest), rows };
      return;
    }
    yield { places: all, rows: quick };
    if (exact !== undefined) {
      yield { places: ofValue(exact, span), rows };
      return;
    }
    for (const field of fields) {
      const places = yield* entriesUpTo(field, span, sorted);
      if (places === null) continue;
      yield { places: sortedPlaces(places), rows };
      return;
    }
    yield { places: all, rows };
  };
}

interface ContractList<Item> {
  subject: ValueSubject;
  contract: string;
  order: ListOrder;
  fields: readonly FieldFilter[];
  span: Span;
  /** Items in the whole list; null if it isn't counted. */
  total: number | null;
  /** The whole list, newest first, regardless of the conditions. */
  all: ListedRows<PlaceRow>;
  /** Number of items in `all`, counted up to a maximum. */
  count(maximum: number): number;
  /** The item at a position and the number of bytes read for it; the item is null if it doesn't belong to the list. */
  read(place: PlaceRow): { item: Item | null; bytes: number; fields: () => ClarityFields };
}

/** The index that has the values of a field. */
export const indexFor = (all: readonly ValueIndex[], { path }: FieldFilter): ValueIndex | undefined =>
  all.find(({ scope }) => isWithin(path, scope));

/** Whether decoded values meet all conditions. */
export const meetsAll = (filters: readonly FieldFilter[], fields: ClarityFields): boolean =>
  filters.every(({ path, conditions }) => {
    const field = fields.get(path);
    return field !== undefined && conditions.every((condition) => meets(field, condition));
  });

function settingFor(subject: ValueSubject, contract: string, { path }: FieldFilter): string {
  return subject === 'logs'
    ? `--log-index ${contract}${path === '' ? '' : `:${path}`}`
    : `--call-index ${contract}:${path.split('.')[0]}`;
}

function unindexedError({ subject, contract }: ContractList<unknown>, filter: FieldFilter, limit: number) {
  return new TooMuchWorkError(
    `${filter.named} is not indexed, and there are more than ${limit} ${subject} of ${contract} between these heights; ` +
      `give a narrower range by from_height and to_height, or have the operator start the server with ${settingFor(subject, contract, filter)}`,
  );
}

function unfinishedError({ subject, contract }: ContractList<unknown>, index: ValueIndex, named: string) {
  const height = lowestWholeHeight(index);
  return new TooMuchWorkError(
    `The index for ${named} of the ${subject} of ${contract} is being made and has the blocks from height ${height} on; ` +
      `give from_height=${height} or more, or try again later`,
  );
}

const tooMuch = ({ rows, bytes }: ValueSearchLimits): TooMuchWorkError =>
  new TooMuchWorkError(
    `The page is not among the first ${rows} logs or calls, or the first ${bytes / 1_000_000} MB of them; give a narrower range by ` +
      'from_height and to_height, or a condition that fewer of them meet',
  );

interface Row<Item> {
  place: PlaceRow;
  item: Item;
}

/**
 * Makes a search of lists that reads in batches and yields to other work between them.
 * @param turns yields to other work
 * @param limits tests use others than the default
 */
export function valueSearch(db: Database, turns: Turns, limits: ValueSearchLimits = VALUE_SEARCH_LIMITS) {
  const all = valueIndexes(db);
  const ways = entryWays(db, limits);

  /** The ways to find a page, the likeliest first. @throws TooMuchWorkError if no index or height bounds the search */
  function waysTo(list: ContractList<unknown>): Iterable<Way | undefined> {
    const { subject, contract, fields, span } = list;
    const everything: Way[] = [{ places: list.all, rows: limits.rows }];
    if (fields.length === 0) return everything;
    const indexes = all().filter((index) => index.wanted && index.subject === subject && index.contract === contract);
    const start = { position: span.first, eventIndex: 0 };
    const keyed: KeyedField[] = [];
    for (const filter of fields) {
      const index = indexFor(indexes, filter);
      if (index !== undefined && compared(index.from, start) <= 0) {
        keyed.push({ id: index.id, path: pathKey(filter.path), ...keyRange(filter.conditions) });
      } else if (list.count(limits.unindexed + 1) <= limits.unindexed) {
        return everything;
      } else {
        throw index === undefined
          ? unindexedError(list, filter, limits.unindexed)
          : unfinishedError(list, index, filter.named);
      }
    }
    return ways(keyed, span, list.all);
  }

  /**
   * The rows of a list by one way. Yields undefined for each row that doesn't belong to the list or is skipped.
   * @param skipped number of rows that an earlier way has found
   * @returns the number of found rows, and whether the limits allowed to read all
   */
  function* rowsBy<Item>(
    way: Way,
    { fields, read }: ContractList<Item>,
    skipped: number,
    ...page: Parameters<RowSource<PlaceRow>['rows']>
  ): Generator<Row<Item> | undefined, { found: number; isWhole: boolean }> {
    let [found, rows, bytes] = [0, way.rows, limits.bytes];
    for (const place of walked(way.places).rows(...page)) {
      if (place === undefined) continue;
      const { item, bytes: size, fields: decode } = read(place);
      rows -= 1;
      bytes -= size;
      if (rows < 0 || bytes < 0) return { found, isWhole: false };
      const isFound = item !== null && (fields.length === 0 || meetsAll(fields, decode()));
      if (isFound) found += 1;
      yield isFound && found > skipped ? { place, item } : undefined;
    }
    return { found, isWhole: true };
  }

  /** The rows of a list by one way after the other, until one finds them all within the limits. */
  const rowsOf = <Item>(list: ContractList<Item>): RowSource<Row<Item>> => ({
    *rows(...page) {
      let skipped = 0;
      for (const way of waysTo(list)) {
        if (way === undefined) {
          yield;
          continue;
        }
        const { found, isWhole } = yield* rowsBy(way, list, skipped, ...page);
        if (isWhole) return;
        skipped = Math.max(skipped, found);
      }
      throw tooMuch(limits);
    },
    keyOf: ({ place }) => placeKey(place),
  });

  /** @throws TooMuchWorkError if the page needs more items than the limits allow to read */
  return <Item>(list: ContractList<Item>, limit: number, cursor: Cursor | null): Promise<Page<Item, number | null>> => {
    const rows = rowsOf(list);
    return readLongPage<Row<Item>, Item, number | null>(
      {
        limit,
        cursor,
        total: list.total,
        ...(list.order === 'desc' ? rows : reversed(rows)),
        itemOf: ({ item }) => item,
      },
      turns.longWork(),
    );
  };
}

export type ValueSearch = ReturnType<typeof valueSearch>;

export const valueIndexesSql = {
  all: query<Stored<'value_indexes'>>`
    SELECT id, subject, contract, scope, wanted, from_position, from_event FROM value_indexes ORDER BY id`,
};

const indexOf = (row: Stored<'value_indexes'>): ValueIndex => ({
  id: row.id,
  subject: storedSubject.nameOf(row.subject, row.id),
  contract: row.contract,
  scope: row.scope,
  wanted: row.wanted === 1,
  from: { position: row.from_position, eventIndex: row.from_event },
});

/** Makes a function that reads all indexes, in their order of addition. */
export function valueIndexes(db: Database): () => ValueIndex[] {
  const all = valueIndexesSql.all.prepared(db);
  return () => all.all().map(indexOf);
}
