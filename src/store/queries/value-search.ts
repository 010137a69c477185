/**
 * Lists of what contracts did, newest first, of which decoded values must meet conditions.
 *
 * A list is walked by the entries of the condition that fewest meet. The entries of one value stand in the order of the
 * chain. The entries of a range stand in the order of their values: few are sorted; where there are many, all values of the
 * field are walked in the order of the chain, so that a page is full after few. No request looks at more than
 * {@link ValueSearchLimits} say, however long the chain is.
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
import { keyRange, pathKey } from '../rows/value-keys.ts';
import { keysetPage, numberAt } from './page.ts';
import { valueIndexes } from './value-indexes.ts';

/** How much one request may look at. */
export interface ValueSearchLimits {
  /** Logs or calls that are decoded where no index has their values. */
  unindexed: number;
  /** Entries of a range that are sorted. */
  sorted: number;
  /** Entries that are walked. */
  entries: number;
  /** Logs or calls that are read, and their bytes. */
  rows: number;
  bytes: number;
}

export const VALUE_SEARCH_LIMITS: ValueSearchLimits = {
  unindexed: 1_000,
  sorted: 5_000,
  entries: 20_000,
  rows: 5_000,
  bytes: 16_000_000,
};

const entries = 'FROM value_index_entries WHERE index_id = ?1 AND path = ?2';
const down = 'AND (position, event_index) <= (?3, ?4) AND position >= ?5 ORDER BY position DESC, event_index DESC';
const up = 'AND (position, event_index) > (?3, ?4) AND position <= ?5 ORDER BY position, event_index';

export const sql = {
  ofValueDown: `SELECT position, event_index, value ${entries} AND value = ?6 ${down}`,
  ofValueUp: `SELECT position, event_index, value ${entries} AND value = ?6 ${up}`,
  ofPathDown: `SELECT position, event_index, value ${entries} ${down}`,
  ofPathUp: `SELECT position, event_index, value ${entries} ${up}`,
  ofRange: `SELECT position, event_index, value ${entries} AND value BETWEEN ?3 AND ?4 LIMIT ?5`,
};

interface EntryRow {
  position: number;
  event_index: number;
  value: string;
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

/** Counts what a page looks at. @throws TooMuchWorkError where it is more than one may */
class Effort {
  #entries = 0;
  #rows = 0;
  #bytes = 0;
  constructor(readonly limits: ValueSearchLimits) {}

  entry(): void {
    this.#entries += 1;
    if (this.#entries > this.limits.entries) throw this.#tooMuch(`${this.limits.entries} entries`);
  }

  row(bytes: number): void {
    this.#rows += 1;
    this.#bytes += bytes;
    if (this.#rows > this.limits.rows) throw this.#tooMuch(`${this.limits.rows} logs or calls`);
    if (this.#bytes > this.limits.bytes) throw this.#tooMuch(`${this.limits.bytes / 1_000_000} MB of values`);
  }

  #tooMuch(what: string): TooMuchWorkError {
    return new TooMuchWorkError(
      `this page is not found in the first ${what}: give a narrower span with from_height and to_height, or a ` +
        'condition that fewer meet',
    );
  }
}

/** An entry, as one of the walks finds it. */
type Entry = EventPosition & { value: string };
const entryOf = ({ position, event_index, value }: EntryRow): Entry => ({ position, eventIndex: event_index, value });

interface IndexedField {
  filter: FieldFilter;
  index: ValueIndex;
}

/** What walks the entries of indexes. */
function entryWalks(db: Database) {
  const ofValueDown = prepared<EntryRow, [number, string, number, number, number, string]>(db, sql.ofValueDown);
  const ofValueUp = prepared<EntryRow, [number, string, number, number, number, string]>(db, sql.ofValueUp);
  const ofPathDown = prepared<EntryRow, [number, string, number, number, number]>(db, sql.ofPathDown);
  const ofPathUp = prepared<EntryRow, [number, string, number, number, number]>(db, sql.ofPathUp);
  const ofRange = prepared<EntryRow, [number, string, string, string, number]>(db, sql.ofRange);

  /** Walks the entries of one value, in the order of the chain. */
  const ofValue = (id: number, path: string, value: string, { first, last }: Span): Walk => ({
    *down(from) {
      for (const row of ofValueDown.iterate(id, path, from.position, from.eventIndex, first, value)) yield entryOf(row);
    },
    *up(after) {
      for (const row of ofValueUp.iterate(id, path, after.position, after.eventIndex, last, value)) yield entryOf(row);
    },
  });

  /** Walks the entries of a path whose values are in a range, in the order of the chain. */
  function inOrder(id: number, path: string, range: { low: string; high: string }, span: Span, effort: Effort): Walk {
    const { first, last } = span;
    function* within(rows: Iterable<EntryRow>): Generator<Entry> {
      for (const row of rows) {
        effort.entry();
        if (row.value >= range.low && row.value <= range.high) yield entryOf(row);
      }
    }
    return {
      down: ({ position, eventIndex }) => within(ofPathDown.iterate(id, path, position, eventIndex, first)),
      up: ({ position, eventIndex }) => within(ofPathUp.iterate(id, path, position, eventIndex, last)),
    };
  }

  /** Walks entries that are in memory. */
  function sorted(found: readonly EntryRow[], { first, last }: Span): Walk {
    const ascending = found
      .filter(({ position }) => position >= first && position <= last)
      .map(entryOf)
      .sort(compared);
    return {
      down: (from) => ascending.filter((one) => compared(one, from) <= 0).reverse(),
      up: (after) => ascending.filter((one) => compared(one, after) > 0),
    };
  }

  /** @returns null where no key is in the range of all conditions */
  return (fields: readonly IndexedField[], span: Span, effort: Effort): Walk | null => {
    const { limits } = effort;
    const keyed = fields.map(({ filter, index }) => ({
      id: index.id,
      path: pathKey(filter.path),
      range: keyRange(filter.conditions),
    }));
    if (keyed.some(({ range: { low, high } }) => low > high)) return null;
    const [only] = keyed;
    if (only !== undefined && keyed.length === 1 && only.range.low === only.range.high) {
      return ofValue(only.id, only.path, only.range.low, span);
    }
    const measured = keyed
      .map((one) => ({
        ...one,
        found: ofRange.all(one.id, one.path, one.range.low, one.range.high, limits.sorted + 1),
      }))
      .sort((a, b) => a.found.length - b.found.length);
    const narrowest = measured[0]!;
    if (narrowest.found.length <= limits.sorted) return sorted(narrowest.found, span);
    const one = measured.find(({ range: { low, high } }) => low === high);
    if (one !== undefined) return ofValue(one.id, one.path, one.range.low, span);
    return inOrder(narrowest.id, narrowest.path, narrowest.range, span, effort);
  };
}

const NOTHING: Walk = { down: () => [], up: () => [] };

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

export type ValueSearch = ReturnType<typeof valueSearch>;

/** What pages through lists. @param limits others than usual are for tests */
export function valueSearch(db: Database, limits: ValueSearchLimits = VALUE_SEARCH_LIMITS) {
  const all = valueIndexes(db);
  const walkOf = entryWalks(db);

  /** What is walked for a page. @throws TooMuchWorkError where nothing bounds it */
  function walkFor(searched: Searched<unknown>, effort: Effort): Walk {
    const { subject, contract, fields, span } = searched;
    if (fields.length === 0) return searched.all;
    const own = all().filter((one) => one.wanted && one.subject === subject && one.contract === contract);
    const indexed = fields.map((filter) => ({ filter, index: indexFor(own, filter) }));
    const start = { position: span.first, eventIndex: 0 };
    const missing = indexed.find(({ index }) => index === undefined || compared(index.from, start) > 0);
    if (missing === undefined) return walkOf(indexed as IndexedField[], span, effort) ?? NOTHING;
    if (searched.count(limits.unindexed + 1) <= limits.unindexed) return searched.all;
    const { filter, index } = missing;
    throw index === undefined
      ? unindexed(searched, filter, limits.unindexed)
      : unfinished(searched, index, filter.named);
  }

  interface Row<Item> {
    place: EventPosition;
    item: Item;
  }

  /** Returns up to a number of those on a walk that belong to the list. */
  function taken<Item>(
    places: Iterable<EventPosition>,
    { read, fields }: Searched<Item>,
    count: number,
    effort: Effort,
  ): Row<Item>[] {
    const rows: Row<Item>[] = [];
    if (count <= 0) return rows;
    for (const { position, eventIndex } of places) {
      const place = { position, eventIndex };
      const { item, bytes, fields: decode } = read(place);
      effort.row(bytes);
      if (item === null || (fields.length > 0 && !meetsAll(fields, decode()))) continue;
      rows.push({ place, item });
      if (rows.length === count) break;
    }
    return rows;
  }

  const placeOf = (key: CursorKey): EventPosition => ({ position: numberAt(key, 0), eventIndex: numberAt(key, 1) });

  /** @throws TooMuchWorkError where the page isn't found in as much as may be looked at */
  return <Item>(searched: Searched<Item>, limit: number, at: Cursor | null): Page<Item, number | null> => {
    const { first, last } = searched.span;
    const newest = { position: last, eventIndex: LAST_EVENT };
    const beforeOldest = { position: first - 1, eventIndex: LAST_EVENT };
    const from = (place: EventPosition): EventPosition => (compared(place, newest) < 0 ? place : newest);
    const behind = (place: EventPosition): EventPosition => (compared(place, beforeOldest) > 0 ? place : beforeOldest);
    const effort = new Effort(limits);
    let known: Walk | undefined;
    const walk = (): Walk => {
      known ??= walkFor(searched, effort);
      return known;
    };
    return keysetPage<Row<Item>, Item, number | null>({
      limit,
      at,
      total: searched.total,
      rowsFrom(key, count) {
        return taken(walk().down(key === null ? newest : from(placeOf(key))), searched, count, effort);
      },
      rowsBefore(key, count) {
        return taken(walk().up(behind(placeOf(key))), searched, count, effort);
      },
      keyOf: ({ place }) => [place.position, place.eventIndex],
      itemOf: ({ item }) => item,
    });
  };
}
