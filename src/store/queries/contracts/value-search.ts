/**
 * Lists of logs or calls of a contract, newest or oldest first, whose decoded values meet conditions.
 *
 * A list is read by the entries of the condition that the fewest meet. Entries of one value are in the order of the chain,
 * and are walked. Entries of a range of values are in the order of the values: few of them are sorted. If there are many,
 * the first page is likely to be full after few logs, which are walked in the order of the chain; if it isn't, entries up to
 * a limit are sorted. No request reads more than its {@link ValueSearchLimits}, however long the chain is.
 */
import type { Database } from 'bun:sqlite';
import type { Pause, Turns } from '../../../base/turns.ts';
import { type ClarityFields, isWithin } from '../../../codec/clarity-fields.ts';
import { meets } from '../../../codec/value-condition.ts';
import {
  compared,
  type EventPosition,
  type FieldFilter,
  lowestWholeHeight,
  type ValueIndex,
  type ValueSubject,
} from '../../model/contract.ts';
import type { Cursor, CursorKey, ListOrder, Page } from '../../model/page.ts';
import { enumNames } from '../../rows/enums.ts';
import { prepared, type Stored, TooMuchWorkError } from '../../rows/statement.ts';
import { type KeyRange, keyRange, pathKey } from '../../rows/value-keys.ts';
import type { Span } from '../blocks/windows.ts';
import { longKeysetPage, numberAt } from '../page.ts';

/** Limits of what one request may read. */
export interface ValueSearchLimits {
  /** Logs or calls that are decoded where no index has their values. */
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

const entries = 'FROM value_index_entries WHERE index_id = ?1 AND path = ?2';
const ofValue = `SELECT position, event_index ${entries} AND value = ?6`;

export const sql = {
  down: `${ofValue} AND (position, event_index) <= (?3, ?4) AND position >= ?5
          ORDER BY position DESC, event_index DESC LIMIT ?7`,
  up: `${ofValue} AND (position, event_index) > (?3, ?4) AND position <= ?5
        ORDER BY position, event_index LIMIT ?7`,
  range: `SELECT value, position, event_index ${entries} AND (value, position, event_index) > (?3, ?4, ?5) AND value <= ?6
           ORDER BY value, position, event_index LIMIT ?7`,
};

type EntryRow = Stored<'value_index_entries', 'position' | 'event_index'>;

/** Number of entries of a range, or positions of a walk, in a batch. */
const BATCH = 500;

/**
 * Walks positions, in the order of the list or in reverse. A walk lasts for several turns, in which other requests may use the
 * same connection: it is read in batches, and no statement stays open between them.
 */
export interface Walk {
  /** Up to `count` positions from one on (inclusive), newest first. */
  down(from: EventPosition, count: number): EventPosition[];
  /** Up to `count` positions after one, oldest first. */
  up(after: EventPosition, count: number): EventPosition[];
}

/** The positions of a walk, batch by batch. @param count size of the first batch */
function* batches(walk: Walk, side: keyof Walk, from: EventPosition, count: number): Generator<EventPosition[]> {
  let positions = walk[side](from, count);
  for (let last = positions.at(-1); last !== undefined; last = positions.at(-1)) {
    yield positions;
    const end = last;
    positions = walk[side](end, BATCH).filter((position) => compared(position, end) !== 0);
  }
}

/** Greater than every event index of a transaction. */
const LAST_EVENT = Number.MAX_SAFE_INTEGER;

const positionOf = ({ position, event_index }: EntryRow): EventPosition => ({ position, eventIndex: event_index });

/** Walks positions that are in memory, in parts that are sorted each. */
function sortedWalk(parts: readonly EventPosition[][]): Walk {
  return {
    down: (from, count) =>
      parts
        .flatMap((part) => part.filter((one) => compared(one, from) <= 0).slice(-count))
        .sort((a, b) => compared(b, a))
        .slice(0, count),
    up: (after, count) =>
      parts
        .flatMap((part) => part.filter((one) => compared(one, after) > 0).slice(0, count))
        .sort(compared)
        .slice(0, count),
  };
}

/** A way to find a page: the walk to read, and the maximum number of logs or calls that are read for it. */
interface Way {
  walk: Walk;
  rows: number;
}

/** The keys that a field's conditions allow, and the index that has them. */
interface KeyedField extends KeyRange {
  id: number;
  path: string;
}

/** The ways to find items that meet all conditions, by indexed fields. */
function entryWays(db: Database, limits: ValueSearchLimits) {
  type OfValue = [number, string, number, number, number, string, number];
  const down = prepared<EntryRow, OfValue>(db, sql.down);
  const up = prepared<EntryRow, OfValue>(db, sql.up);
  const range = prepared<EntryRow & { value: string }, [number, string, string, number, number, string, number]>(
    db,
    sql.range,
  );
  const isOneValue = ({ low, high }: KeyRange): boolean => low === high;

  const ofValue = ({ id, path, low }: KeyedField, { first, last }: Span): Walk => ({
    down: ({ position, eventIndex }, count) =>
      down.all(id, path, position, eventIndex, first, low, count).map(positionOf),
    up: ({ position, eventIndex }, count) => up.all(id, path, position, eventIndex, last, low, count).map(positionOf),
  });

  /** The positions of a field's entries, in sorted parts; null where there are more than `most` entries. */
  async function upTo(
    { id, path, low, high }: KeyedField,
    { first, last }: Span,
    most: number,
    pause: Pause,
  ): Promise<EventPosition[][] | null> {
    const parts: EventPosition[][] = [];
    let [value, key] = [low, { position: -1, event_index: -1 }];
    for (let left = most + 1; left > 0; ) {
      const asked = Math.min(left, BATCH);
      const rows = range.all(id, path, value, key.position, key.event_index, high, asked);
      const inSpan = rows.filter(({ position }) => position >= first && position <= last);
      parts.push(inSpan.map(positionOf).sort(compared));
      const end = rows.at(-1);
      if (end === undefined || rows.length < asked) return parts;
      left -= rows.length;
      [value, key] = [end.value, end];
      await pause();
    }
    return null;
  }

  /** @param all walks the whole list, whatever the values are */
  return async function* (
    fields: readonly KeyedField[],
    span: Span,
    all: Walk,
    pause: Pause,
  ): AsyncGenerator<Way, void> {
    const { few, quick, sorted, rows } = limits;
    if (fields.some(({ low, high }) => low > high)) return;
    const [only] = fields;
    if (only !== undefined && fields.length === 1 && isOneValue(only)) {
      yield { walk: ofValue(only, span), rows };
      return;
    }
    const measured: EventPosition[][][] = [];
    for (const field of fields) {
      const found = await upTo(field, span, few, pause);
      if (found !== null) measured.push(found);
    }
    const [least] = measured.sort((a, b) => a.flat().length - b.flat().length);
    if (least !== undefined) {
      yield { walk: sortedWalk(least), rows };
      return;
    }
    yield { walk: all, rows: quick };
    const one = fields.find(isOneValue);
    if (one !== undefined) {
      yield { walk: ofValue(one, span), rows };
      return;
    }
    for (const field of fields) {
      const found = await upTo(field, span, sorted, pause);
      if (found === null) continue;
      yield { walk: sortedWalk(found), rows };
      return;
    }
    yield { walk: all, rows };
  };
}

/** A list of one contract. */
interface Searched<Item> {
  subject: ValueSubject;
  contract: string;
  order: ListOrder;
  fields: readonly FieldFilter[];
  span: Span;
  /** Items in the whole list; null where it isn't counted. */
  total: number | null;
  /** Walks the whole list, regardless of the conditions. */
  all: Walk;
  /** Number of items in `all`, counted up to a maximum. */
  count(most: number): number;
  /** The item at a position and the number of bytes read for it; the item is null where it doesn't belong to the list. */
  read(position: EventPosition): { item: Item | null; bytes: number; fields: () => ClarityFields };
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

/** The setting by which an operator has a field indexed, for a message. */
function settingFor(subject: ValueSubject, contract: string, { path }: FieldFilter): string {
  return subject === 'logs'
    ? `--log-index ${contract}${path === '' ? '' : `:${path}`}`
    : `--call-index ${contract}:${path.split('.')[0]}`;
}

function unindexed({ subject, contract }: Searched<unknown>, filter: FieldFilter, most: number): TooMuchWorkError {
  return new TooMuchWorkError(
    `${filter.named} is not indexed, and there are more than ${most} ${subject} of ${contract} between these heights; ` +
      `give a narrower range by from_height and to_height, or have the operator start the server with ${settingFor(subject, contract, filter)}`,
  );
}

function unfinished({ subject, contract }: Searched<unknown>, index: ValueIndex, named: string): TooMuchWorkError {
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

/** An item of a list with its position. */
interface Row<Item> {
  position: EventPosition;
  item: Item;
}

/**
 * Looks for up to `count` items of a list on a walk.
 * @param limits maximum of items and bytes that are read
 * @returns null where they are read before `count` items are found
 */
async function matching<Item>(
  batches: Iterable<EventPosition[]>,
  { read, fields }: Searched<Item>,
  count: number,
  limits: { rows: number; bytes: number },
  pause: Pause,
): Promise<Row<Item>[] | null> {
  const matches: Row<Item>[] = [];
  let { rows, bytes } = limits;
  for (const positions of batches) {
    for (const position of positions) {
      if (matches.length === count) return matches;
      const { item, bytes: size, fields: decode } = read(position);
      rows -= 1;
      bytes -= size;
      if (rows < 0 || bytes < 0) return null;
      if (item !== null && (fields.length === 0 || meetsAll(fields, decode()))) matches.push({ position, item });
      await pause();
    }
  }
  return matches;
}

/** The place right before the item of a position. */
const justBefore = ({ position, eventIndex }: EventPosition): EventPosition => ({
  position,
  eventIndex: eventIndex - 1,
});

const positionAt = (key: CursorKey): EventPosition => ({ position: numberAt(key, 0), eventIndex: numberAt(key, 1) });
const lower = (a: EventPosition, b: EventPosition): EventPosition => (compared(a, b) < 0 ? a : b);

/**
 * Makes a search of lists that reads in batches and yields to other work between them.
 * @param turns yields to other work
 * @param limits tests use others than the default
 */
export function valueSearch(db: Database, turns: Turns, limits: ValueSearchLimits = VALUE_SEARCH_LIMITS) {
  const all = valueIndexes(db);
  const ways = entryWays(db, limits);

  /** The ways to find a page, the likeliest first. @throws TooMuchWorkError where no index or height bounds the search */
  function waysTo(searched: Searched<unknown>, pause: Pause): Iterable<Way> | AsyncIterable<Way> {
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
    return ways(keyed, span, searched.all, pause);
  }

  /** Up to `count` items from a position on. */
  async function found<Item>(
    searched: Searched<Item>,
    count: number,
    side: keyof Walk,
    from: EventPosition,
    pause: Pause,
  ): Promise<Row<Item>[]> {
    let isTried = false;
    for await (const { walk, rows } of waysTo(searched, pause)) {
      isTried = true;
      const positions = batches(walk, side, from, count);
      const page = await matching(positions, searched, count, { rows, bytes: limits.bytes }, pause);
      if (page !== null) return page;
    }
    if (isTried) throw tooMuch(limits);
    return [];
  }

  /** @throws TooMuchWorkError where the page needs more items than the limits allow to read */
  return <Item>(searched: Searched<Item>, limit: number, at: Cursor | null): Promise<Page<Item, number | null>> => {
    const pause = turns.longWork();
    const { first, last } = searched.span;
    const newest = { position: last, eventIndex: LAST_EVENT };
    const beforeOldest = { position: first - 1, eventIndex: LAST_EVENT };
    const down = (from: EventPosition, count: number) => found(searched, count, 'down', lower(from, newest), pause);
    const up = (after: EventPosition, count: number) =>
      found(searched, count, 'up', compared(after, beforeOldest) > 0 ? after : beforeOldest, pause);
    const directions =
      searched.order === 'desc'
        ? {
            rowsFrom: (key: CursorKey | null, count: number) => down(key === null ? newest : positionAt(key), count),
            rowsBefore: (key: CursorKey, count: number) => up(positionAt(key), count),
          }
        : {
            rowsFrom: (key: CursorKey | null, count: number) =>
              up(key === null ? beforeOldest : justBefore(positionAt(key)), count),
            rowsBefore: (key: CursorKey, count: number) => down(justBefore(positionAt(key)), count),
          };
    return longKeysetPage<Row<Item>, Item, number | null>({
      limit,
      at,
      total: searched.total,
      ...directions,
      keyOf: ({ position }) => [position.position, position.eventIndex],
      itemOf: ({ item }) => item,
    });
  };
}

export type ValueSearch = ReturnType<typeof valueSearch>;

export const valueIndexesSql = {
  all: 'SELECT id, subject, contract, scope, wanted, from_position, from_event FROM value_indexes ORDER BY id',
};

type IndexRow = Stored<
  'value_indexes',
  'id' | 'subject' | 'contract' | 'scope' | 'wanted' | 'from_position' | 'from_event'
>;

/** value_indexes.subject. */
export const storedSubject = enumNames<ValueSubject>('value_indexes', 'subject', { logs: 1, calls: 2 });

const indexOf = (row: IndexRow): ValueIndex => ({
  id: row.id,
  subject: storedSubject.nameOf(row.subject, row.id),
  contract: row.contract,
  scope: row.scope,
  wanted: row.wanted === 1,
  from: { position: row.from_position, eventIndex: row.from_event },
});

/** Makes a function that reads all indexes, in the order in which operators asked for them. */
export function valueIndexes(db: Database): () => ValueIndex[] {
  const all = prepared<IndexRow, []>(db, valueIndexesSql.all);
  return () => all.all().map(indexOf);
}
