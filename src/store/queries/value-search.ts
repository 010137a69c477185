/**
 * Lists of what contracts did, newest first, of which decoded values must meet conditions.
 *
 * A list is read by the entries of the condition that fewest meet. The entries of one value stand in the order of the
 * chain, and are walked. The entries of a range stand in the order of their values: where they are few they are sorted.
 * Where there are many, the first page is likely to be full after few logs, which are walked in the order of the chain; if
 * it isn't, as many entries as may be are sorted. No request looks at more than {@link ValueSearchLimits} say, however
 * long the chain is.
 */
import type { Database } from 'bun:sqlite';
import { positionsOf } from '../../chain/position.ts';
import { type ClarityFields, isWithin } from '../../codec/clarity-fields.ts';
import { meets } from '../../codec/value-condition.ts';
import type { FieldFilter, HeightSpan } from '../model/contract-search.ts';
import type { Cursor, CursorKey, Page } from '../model/page.ts';
import { TooMuchWorkError } from '../model/read-errors.ts';
import {
  compared,
  type EventPosition,
  lowestWholeHeight,
  type ValueIndex,
  type ValueSubject,
} from '../model/value-index.ts';
import { prepared } from '../rows/statement.ts';
import { type KeyRange, keyRange, pathKey } from '../rows/value-keys.ts';
import { keysetPage, numberAt } from './page.ts';
import { valueIndexes } from './value-indexes.ts';

/** How much one request may look at. */
export interface ValueSearchLimits {
  /** Logs or calls that are decoded where no index has their values. */
  unindexed: number;
  /** Entries of a range that are sorted at once. */
  few: number;
  /** Logs or calls that are walked before more entries are sorted. */
  quick: number;
  /** Entries of a range that are sorted in the end. */
  sorted: number;
  /** Logs or calls that are read. */
  rows: number;
  /** Bytes of them. */
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

const entries = 'FROM value_index_entries WHERE index_id = ?1 AND path = ?2';
const ofValue = `SELECT position, event_index ${entries} AND value = ?6`;

export const sql = {
  down: `${ofValue} AND (position, event_index) <= (?3, ?4) AND position >= ?5
          ORDER BY position DESC, event_index DESC`,
  up: `${ofValue} AND (position, event_index) > (?3, ?4) AND position <= ?5 ORDER BY position, event_index`,
  range: `SELECT position, event_index ${entries} AND value BETWEEN ?3 AND ?4 LIMIT ?5`,
};

interface EntryRow {
  position: number;
  event_index: number;
}

/** The places of a span, both ends included. */
export interface Span {
  first: number;
  last: number;
}

/** Heights beyond this have no position that is an integer. */
const HIGHEST = 2 ** 32;

export function spanOf({ from, to }: HeightSpan): Span {
  return {
    first: positionsOf(Math.min(from ?? 0, HIGHEST)).first,
    last: positionsOf(Math.min(to ?? HIGHEST, HIGHEST)).last,
  };
}

/** What is walked, in the order of the list and in the other one. */
export interface Walk {
  /** Walks from a place on, and with it, the newest first. */
  down(from: EventPosition): Iterable<EventPosition>;
  /** Walks behind a place, the oldest first. */
  up(after: EventPosition): Iterable<EventPosition>;
}

/** An event behind all of a transaction. */
export const LAST_EVENT = Number.MAX_SAFE_INTEGER;

const placeOf = ({ position, event_index }: EntryRow): EventPosition => ({ position, eventIndex: event_index });

/** Walks places that are in memory. */
function sortedWalk(rows: readonly EntryRow[], { first, last }: Span): Walk {
  const ascending = rows
    .filter(({ position }) => position >= first && position <= last)
    .map(placeOf)
    .sort(compared);
  return {
    down: (from) => ascending.filter((one) => compared(one, from) <= 0).reverse(),
    up: (after) => ascending.filter((one) => compared(one, after) > 0),
  };
}

/** A way to find a page: what is walked for it, and the most logs or calls that are read meanwhile. */
interface Way {
  walk: Walk;
  rows: number;
}

/** The keys of a field, and the index that has them. */
interface KeyedField extends KeyRange {
  id: number;
  path: string;
}

/** The ways to find what meets all conditions of fields that are indexed. */
function entryWays(db: Database, limits: ValueSearchLimits) {
  const down = prepared<EntryRow, [number, string, number, number, number, string]>(db, sql.down);
  const up = prepared<EntryRow, [number, string, number, number, number, string]>(db, sql.up);
  const range = prepared<EntryRow, [number, string, string, string, number]>(db, sql.range);
  const isOneValue = ({ low, high }: KeyRange): boolean => low === high;

  const ofValue = ({ id, path, low }: KeyedField, { first, last }: Span): Walk => ({
    *down({ position, eventIndex }) {
      for (const row of down.iterate(id, path, position, eventIndex, first, low)) yield placeOf(row);
    },
    *up({ position, eventIndex }) {
      for (const row of up.iterate(id, path, position, eventIndex, last, low)) yield placeOf(row);
    },
  });

  const upTo = ({ id, path, low, high }: KeyedField, most: number): EntryRow[] =>
    range.all(id, path, low, high, most + 1);

  /** @param all walks everything, whatever its values are */
  return function* (fields: readonly KeyedField[], span: Span, all: Walk): Generator<Way> {
    const { few, quick, sorted, rows } = limits;
    if (fields.some(({ low, high }) => low > high)) return;
    const [only] = fields;
    if (only !== undefined && fields.length === 1 && isOneValue(only)) {
      yield { walk: ofValue(only, span), rows };
      return;
    }
    const measured = fields.map((field) => ({ field, found: upTo(field, few) }));
    const least = measured.reduce((a, b) => (a.found.length <= b.found.length ? a : b));
    if (least.found.length <= few) {
      yield { walk: sortedWalk(least.found, span), rows };
      return;
    }
    yield { walk: all, rows: quick };
    const one = fields.find(isOneValue);
    if (one !== undefined) {
      yield { walk: ofValue(one, span), rows };
      return;
    }
    for (const field of fields) {
      const found = upTo(field, sorted);
      if (found.length > sorted) continue;
      yield { walk: sortedWalk(found, span), rows };
      return;
    }
    yield { walk: all, rows };
  };
}

/** A list of one contract. */
export interface Searched<Item> {
  subject: ValueSubject;
  contract: string;
  fields: readonly FieldFilter[];
  span: Span;
  /** Items in the whole list; null where it isn't counted. */
  total: number | null;
  /** All of the list in its order, but for conditions. */
  all: Walk;
  /** How many those are, up to a number. */
  count(most: number): number;
  /** What stands at a place, with how many bytes were read for it; a null item doesn't belong to the list. */
  read(place: EventPosition): { item: Item | null; bytes: number; fields: () => ClarityFields };
}

/** The index that has the values of a field. */
const indexFor = (all: readonly ValueIndex[], { path }: FieldFilter): ValueIndex | undefined =>
  all.find(({ scope }) => isWithin(path, scope));

const meetsAll = (filters: readonly FieldFilter[], fields: ClarityFields): boolean =>
  filters.every(({ path, conditions }) => {
    const field = fields.get(path);
    return field !== undefined && conditions.every((condition) => meets(field, condition));
  });

/** The words for what an operator sets for a field. */
function settingFor(subject: ValueSubject, contract: string, { path }: FieldFilter): string {
  return subject === 'logs'
    ? `--log-index ${contract}${path === '' ? '' : `:${path}`}`
    : `--call-index ${contract}:${path.split('.')[0]}`;
}

function unindexed({ subject, contract }: Searched<unknown>, filter: FieldFilter, most: number): TooMuchWorkError {
  return new TooMuchWorkError(
    `${filter.named} is not indexed, and there are more than ${most} ${subject} of ${contract} between these heights: ` +
      `give a narrower span with from_height and to_height, or start the server with ${settingFor(subject, contract, filter)}`,
  );
}

function unfinished({ subject, contract }: Searched<unknown>, index: ValueIndex, named: string): TooMuchWorkError {
  const height = lowestWholeHeight(index);
  return new TooMuchWorkError(
    `the index for ${named} of the ${subject} of ${contract} is being made, and has the blocks from height ${height} on: ` +
      `give from_height=${height} or more, or ask again later`,
  );
}

const tooMuch = ({ rows, bytes }: ValueSearchLimits): TooMuchWorkError =>
  new TooMuchWorkError(
    `this page is not found in ${rows} logs or calls, or ${bytes / 1_000_000} MB of them: give a narrower span with ` +
      'from_height and to_height, or a condition that fewer meet',
  );

/** What stands at a place of a list. */
interface Row<Item> {
  place: EventPosition;
  item: Item;
}

/**
 * Looks for up to a number of items of a list on a walk.
 * @param limits how much may be read
 * @returns null where that is not enough to find as many
 */
function taken<Item>(
  places: Iterable<EventPosition>,
  { read, fields }: Searched<Item>,
  count: number,
  limits: { rows: number; bytes: number },
): Row<Item>[] | null {
  const taken: Row<Item>[] = [];
  let { rows, bytes } = limits;
  for (const place of places) {
    if (taken.length === count) break;
    const { item, bytes: size, fields: decode } = read(place);
    rows -= 1;
    bytes -= size;
    if (rows < 0 || bytes < 0) return null;
    if (item !== null && (fields.length === 0 || meetsAll(fields, decode()))) taken.push({ place, item });
  }
  return taken;
}

const placeAt = (key: CursorKey): EventPosition => ({ position: numberAt(key, 0), eventIndex: numberAt(key, 1) });
const lower = (a: EventPosition, b: EventPosition): EventPosition => (compared(a, b) < 0 ? a : b);

/** What pages through lists. @param limits others than usual are for tests */
export function valueSearch(db: Database, limits: ValueSearchLimits = VALUE_SEARCH_LIMITS) {
  const all = valueIndexes(db);
  const ways = entryWays(db, limits);

  /** The ways to find a page, the likeliest first. @throws TooMuchWorkError where nothing bounds them */
  function waysTo(searched: Searched<unknown>): Iterable<Way> {
    const { subject, contract, fields, span } = searched;
    const everything: Way[] = [{ walk: searched.all, rows: limits.rows }];
    if (fields.length === 0) return everything;
    const own = all().filter((one) => one.wanted && one.subject === subject && one.contract === contract);
    const start = { position: span.first, eventIndex: 0 };
    const keyed: KeyedField[] = [];
    for (const filter of fields) {
      const index = indexFor(own, filter);
      if (index !== undefined && compared(index.from, start) <= 0) {
        keyed.push({ id: index.id, path: pathKey(filter.path), ...keyRange(filter.conditions) });
      } else if (searched.count(limits.unindexed + 1) <= limits.unindexed) {
        return everything;
      } else {
        throw index === undefined
          ? unindexed(searched, filter, limits.unindexed)
          : unfinished(searched, index, filter.named);
      }
    }
    return ways(keyed, span, searched.all);
  }

  /** @param walked the places of a way to look at */
  function found<Item>(
    searched: Searched<Item>,
    count: number,
    walked: (walk: Walk) => Iterable<EventPosition>,
  ): Row<Item>[] {
    let isTried = false;
    for (const { walk, rows } of waysTo(searched)) {
      isTried = true;
      const page = taken(walked(walk), searched, count, { rows, bytes: limits.bytes });
      if (page !== null) return page;
    }
    if (isTried) throw tooMuch(limits);
    return [];
  }

  /** @throws TooMuchWorkError where the page isn't found in as much as may be looked at */
  return <Item>(searched: Searched<Item>, limit: number, at: Cursor | null): Page<Item, number | null> => {
    const { first, last } = searched.span;
    const newest = { position: last, eventIndex: LAST_EVENT };
    const beforeOldest = { position: first - 1, eventIndex: LAST_EVENT };
    const behind = (place: EventPosition) => (compared(place, beforeOldest) > 0 ? place : beforeOldest);
    return keysetPage<Row<Item>, Item, number | null>({
      limit,
      at,
      total: searched.total,
      rowsFrom: (key, count) =>
        found(searched, count, ({ down }) => down(key === null ? newest : lower(placeAt(key), newest))),
      rowsBefore: (key, count) => found(searched, count, ({ up }) => up(behind(placeAt(key)))),
      keyOf: ({ place }) => [place.position, place.eventIndex],
      itemOf: ({ item }) => item,
    });
  };
}

export type ValueSearch = ReturnType<typeof valueSearch>;
