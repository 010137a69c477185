/**
 * Logs of several contracts, or of all that a principal deployed, newest or oldest first, in pages with cursors.
 *
 * No index has the logs of several contracts in the order of the chain. The logs of each are merged, or where it stands in fewer
 * places, the transactions of a sender are walked. The contracts of a deployer are found by their ids, which begin with its
 * address; where they are too many to merge, all events of the chain are walked. Each way reads a bounded number of places: a page
 * may have fewer items than its limit, or none, and a next page all the same. Which way is taken changes no answer but for that.
 */
import type { Database } from 'bun:sqlite';
import type { Pause, Turns } from '../../../base/turns.ts';
import { heightOf } from '../../../chain/position.ts';
import { fieldsOf } from '../../../codec/clarity-fields.ts';
import {
  compared,
  type EventPosition,
  type FieldFilter,
  type ListedLog,
  type LoggingContracts,
  type LogsFilter,
} from '../../model/contract.ts';
import { type Cursor, HEAD, type Page } from '../../model/page.ts';
import { EVENT_KIND } from '../../rows/enums.ts';
import { heightIn, shownTime } from '../../rows/expressions.ts';
import { prepared, type Stored } from '../../rows/statement.ts';
import { keyRange, pathKey } from '../../rows/value-keys.ts';
import { type Span, spanOf } from '../blocks/windows.ts';
import { MOST_FILTERED_ROWS, numberAt, readLongPage } from '../page.ts';
import { indexFor, meetsAll, valueIndexes } from './value-search.ts';

/** Limits of what one request may read. */
export interface LogWalkLimits {
  /** Principals of a deployer that are looked at. */
  principals: number;
  /** Contracts of a deployer whose logs are merged. */
  merged: number;
  /** Places that a page reads at most, in either direction. */
  rows: number;
}

export const LOG_WALK_LIMITS: LogWalkLimits = { principals: 20_000, merged: 1_000, rows: MOST_FILTERED_ROWS };

/** A log whose fields are compared counts as so many places, and as one more for so many bytes: decoding takes its time. */
const DECODED = { places: 5, bytes: 1_024 };

const logs = `events WHERE kind = ${EVENT_KIND.log}`;
const counted = `SELECT p.address, p.id, coalesce(l.logs, 0) AS logs
                   FROM principals p LEFT JOIN contract_logs l ON l.contract_id = p.id`;

/** A statement in both directions from a place on, to the last position. @param n number of its first free parameter */
const walked = (statement: string, n: number) => ({
  down: `${statement} AND (position, event_index) <= (?${n}, ?${n + 1}) AND position >= ?${n + 2}
          ORDER BY position DESC, event_index DESC LIMIT ?${n + 3}`,
  up: `${statement} AND (position, event_index) >= (?${n}, ?${n + 1}) AND position <= ?${n + 2}
        ORDER BY position, event_index LIMIT ?${n + 3}`,
});

const walks = {
  contract: walked(`SELECT position, event_index FROM ${logs} AND contract_id = ?1`, 2),
  value: walked(
    'SELECT position, event_index FROM value_index_entries WHERE index_id = ?1 AND path = ?2 AND value = ?3',
    4,
  ),
  chain: walked('SELECT position, event_index FROM events WHERE true', 1),
};

const sent = 'SELECT position FROM transactions INDEXED BY transactions_by_sender WHERE sender_id = ?1';

const single = {
  contract: `${counted} WHERE p.address = ?1`,
  // A contract's id is the address of its deployer, a dot and a name.
  deployed: `${counted} WHERE p.address > ?1 AND p.address < ?2 ORDER BY p.address LIMIT ?3`,
  sender: 'SELECT p.id, a.sent FROM principals p JOIN accounts a ON a.principal_id = p.id WHERE p.address = ?1',
  sentDown: `${sent} AND position <= ?2 AND position >= ?3 ORDER BY position DESC LIMIT ?4`,
  sentUp: `${sent} AND position >= ?2 AND position <= ?3 ORDER BY position LIMIT ?4`,
  ofTransaction: `SELECT event_index FROM ${logs} AND position = ?1 ORDER BY event_index`,
  log: `SELECT contract_id, topic FROM ${logs} AND position = ?1 AND event_index = ?2`,
  origin: 'SELECT sender_id FROM transactions WHERE position = ?1',
  address: 'SELECT address FROM principals WHERE id = ?1',
  value: 'SELECT value FROM events WHERE position = ?1 AND event_index = ?2',
  at: `SELECT p.address, e.topic, e.value, t.tx_id, ${shownTime} AS time
         FROM events e JOIN principals p ON p.id = e.contract_id JOIN transactions t ON t.position = e.position
         JOIN blocks b ON b.height = ${heightIn('e.position')}
        WHERE e.position = ?1 AND e.event_index = ?2`,
};

/** All statements; the plan test reads them. */
export const sql: Readonly<Record<string, string>> = {
  ...single,
  ...Object.fromEntries(
    Object.entries(walks).flatMap(([walk, { down, up }]) => [
      [`${walk}.down`, down],
      [`${walk}.up`, up],
    ]),
  ),
};

type PlaceRow = Stored<'events', 'position' | 'event_index'>;
type Counted = Stored<'principals', 'address' | 'id'> & { logs: number };
type Row = Stored<'principals', 'address'> &
  Stored<'events', 'topic' | 'value'> &
  Stored<'transactions', 'tx_id'> & { time: number };

const NO_BYTES = new Uint8Array(0);
/** Before and after every event of a transaction. */
const [BEFORE_EVENTS, AFTER_EVENTS] = [-1, 2 ** 32];

type Direction = 'down' | 'up';

/**
 * Finds up to so many places or more, from one on, which is included, in the order of the direction; fewer where there are no more.
 * No statement stays open between two calls.
 */
type Way = Readonly<Record<Direction, (from: EventPosition, count: number) => EventPosition[]>>;

/** Numbers of places in the first batch of a walk, and in any. */
const [FIRST_BATCH, BATCH] = [4, 256];

/** The places of a way, in batches that grow: a page may end soon. */
function* placesOf(way: Way, direction: Direction, from: EventPosition): Generator<EventPosition, undefined> {
  let at = from;
  for (let count = FIRST_BATCH; ; count = Math.min(2 * count, BATCH)) {
    const places = way[direction](at, count);
    yield* places;
    const last = places.at(-1);
    if (last === undefined || places.length < count) return;
    at = { ...last, eventIndex: last.eventIndex + (direction === 'down' ? -1 : 1) };
  }
}

/** The places of several ways, which have none in common, in the order of the chain. */
function* merged(ways: readonly Way[], direction: Direction, from: EventPosition): Generator<EventPosition> {
  interface Head {
    place: EventPosition;
    others: Iterator<EventPosition, undefined>;
  }
  /** The next place of each, that which comes first at the end. */
  const heads: Head[] = [];
  const comesFirst = (a: EventPosition, b: EventPosition): boolean => compared(a, b) > 0 === (direction === 'down');
  function put(others: Head['others']): void {
    const place = others.next().value;
    if (place === undefined) return;
    let [low, high] = [0, heads.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comesFirst(place, heads[middle]!.place)) low = middle + 1;
      else high = middle;
    }
    heads.splice(low, 0, { place, others });
  }
  for (const way of ways) put(placesOf(way, direction, from));
  for (let next = heads.pop(); next !== undefined; next = heads.pop()) {
    yield next.place;
    put(next.others);
  }
}

/** The number of logs of contracts. */
const logsIn = (found: readonly Counted[]): number => found.reduce((sum, { logs }) => sum + logs, 0);

/** A place of a walk, judged. */
interface Judged extends EventPosition {
  meets: boolean;
  cost: number;
}

/** @param limits tests use others than the default */
export function logWalk(db: Database, turns: Turns, limits: Partial<LogWalkLimits> = {}) {
  const { principals: mostPrincipals, merged: mostMerged, rows: mostRows } = { ...LOG_WALK_LIMITS, ...limits };
  const statements = ({ down, up }: Record<Direction, string>) => ({
    down: prepared<PlaceRow, (number | string)[]>(db, down),
    up: prepared<PlaceRow, (number | string)[]>(db, up),
  });
  const ofContract = statements(walks.contract);
  const ofValue = statements(walks.value);
  const ofChain = statements(walks.chain);
  type Sent = [sender: number, position: number, last: number, count: number];
  const sentDown = prepared<Stored<'transactions', 'position'>, Sent>(db, single.sentDown);
  const sentUp = prepared<Stored<'transactions', 'position'>, Sent>(db, single.sentUp);
  const ofTransaction = prepared<Stored<'events', 'event_index'>, [number]>(db, single.ofTransaction);
  const contract = prepared<Counted, [string]>(db, single.contract);
  const deployed = prepared<Counted, [string, string, number]>(db, single.deployed);
  const senderOf = prepared<Stored<'principals', 'id'> & Stored<'accounts', 'sent'>, [string]>(db, single.sender);
  const logAt = prepared<Stored<'events', 'contract_id' | 'topic'>, [number, number]>(db, single.log);
  const originAt = prepared<Stored<'transactions', 'sender_id'>, [number]>(db, single.origin);
  const addressOf = prepared<Stored<'principals', 'address'>, [number]>(db, single.address);
  const valueAt = prepared<Stored<'events', 'value'>, [number, number]>(db, single.value);
  const at = prepared<Row, [number, number]>(db, single.at);
  const indexes = valueIndexes(db);

  /** The contracts that a deployer has logs of; null where they are too many. */
  async function deployedBy(deployer: string, pause: Pause): Promise<Counted[] | null> {
    const found: Counted[] = [];
    // '/' is the character behind the dot.
    const end = `${deployer}/`;
    for (let [after, seen] = [`${deployer}.`, 0]; seen < mostPrincipals; ) {
      const asked = Math.min(BATCH, mostPrincipals - seen);
      const rows = deployed.all(after, end, asked);
      found.push(...rows.filter(({ logs }) => logs > 0));
      if (found.length > mostMerged) return null;
      const last = rows.at(-1);
      if (last === undefined || rows.length < asked) return found;
      [after, seen] = [last.address, seen + rows.length];
      await pause();
    }
    return null;
  }

  const isDeployedBy = (deployer: string, id: number): boolean =>
    addressOf.get(id)?.address.startsWith(`${deployer}.`) === true;

  const contractsOf = async (of: LoggingContracts, pause: Pause): Promise<Counted[] | null> =>
    'deployer' in of
      ? deployedBy(of.deployer, pause)
      : of.contracts.map((id) => contract.get(id)).filter((row) => row !== null);

  /** A way by a statement in both directions. @param values its own parameters */
  function wayBy(statement: typeof ofContract, values: (number | string)[], { first, last }: Span): Way {
    const rows = (direction: Direction, { position, eventIndex }: EventPosition, end: number, count: number) =>
      statement[direction]
        .all(...values, position, eventIndex, end, count)
        .map((row): EventPosition => ({ position: row.position, eventIndex: row.event_index }));
    return {
      down: (from, count) => rows('down', from, first, count),
      up: (from, count) => rows('up', from, last, count),
    };
  }

  /** The logs of contracts, each by the index of a field that must have one value, where it has such an index, else all. */
  function logsOf(found: readonly Counted[], fields: readonly FieldFilter[], span: Span): Way[] {
    const exact = fields.flatMap((field) => {
      const { low, high } = keyRange(field.conditions);
      return low === high ? [{ field, key: low }] : [];
    });
    const start = { position: span.first, eventIndex: 0 };
    const usable =
      exact.length === 0
        ? []
        : indexes().filter((one) => one.wanted && one.subject === 'logs' && compared(one.from, start) <= 0);
    return found.map(({ address, id }) => {
      const own = usable.filter((one) => one.contract === address);
      for (const { field, key } of exact) {
        const index = indexFor(own, field);
        if (index !== undefined) return wayBy(ofValue, [index.id, pathKey(field.path), key], span);
      }
      return wayBy(ofContract, [id], span);
    });
  }

  /**
   * The logs of a sender's transactions. Each of them has one more place, so that it counts as read where it has no logs: before
   * its events, or on the way up after them.
   */
  function sentBy(sender: number, { first, last }: Span): Way {
    function placesIn(positions: { position: number }[], count: number, within: (place: EventPosition) => boolean) {
      const found: EventPosition[][] = [];
      let places = 0;
      for (const { position } of positions) {
        if (places >= count) break;
        const rows = ofTransaction.all(position);
        const inside = rows.map(({ event_index }) => ({ position, eventIndex: event_index })).filter(within);
        found.push(inside);
        places += inside.length + 1;
      }
      return found.map((inside, nth) => ({ position: positions[nth]!.position, inside }));
    }
    return {
      down(from, count) {
        const highest = from.eventIndex < BEFORE_EVENTS ? from.position - 1 : from.position;
        const found = placesIn(
          sentDown.all(sender, highest, first, count),
          count,
          (place) => compared(place, from) <= 0,
        );
        return found.flatMap(({ position, inside }) => [...inside.reverse(), { position, eventIndex: BEFORE_EVENTS }]);
      },
      up(from, count) {
        const lowest = from.eventIndex > AFTER_EVENTS ? from.position + 1 : from.position;
        const found = placesIn(sentUp.all(sender, lowest, last, count), count, (place) => compared(place, from) >= 0);
        return found.flatMap(({ position, inside }) => [...inside, { position, eventIndex: AFTER_EVENTS }]);
      },
    };
  }

  function listedAt({ position, eventIndex }: EventPosition): ListedLog {
    const row = at.get(position, eventIndex);
    if (row === null) throw new Error(`no log at position ${position}, event ${eventIndex}`);
    return {
      contractId: row.address,
      height: heightOf(position),
      time: row.time,
      txId: row.tx_id,
      eventIndex,
      topic: row.topic ?? '',
      value: row.value ?? NO_BYTES,
    };
  }

  /** The ways to the logs of contracts; without contracts to all logs. */
  function waysTo(
    found: readonly Counted[] | null,
    sender: { id: number; sent: number } | null,
    fields: readonly FieldFilter[],
    span: Span,
  ): Way[] {
    const most = found === null ? Number.POSITIVE_INFINITY : logsIn(found);
    if (sender !== null && sender.sent < most) return [sentBy(sender.id, span)];
    return found === null ? [wayBy(ofChain, [], span)] : logsOf(found, fields, span);
  }

  /** Logs of several contracts, or of all of a deployer. */
  return async (filter: LogsFilter, limit: number, cursor: Cursor | null): Promise<Page<ListedLog, number | null>> => {
    const { of, topic, sender: origin, order, heights, fields } = filter;
    const pause = turns.longWork();
    const sender = origin === null ? null : senderOf.get(origin);
    const found = await contractsOf(of, pause);
    const isFiltered = topic !== null || origin !== null || fields.length > 0;
    const isWindow = heights.from !== null || heights.to !== null;
    const total = found === null || isFiltered || isWindow ? null : logsIn(found);
    if (found?.length === 0 || (origin !== null && sender === null)) {
      return { items: [], total, current: cursor ?? HEAD, next: null, previous: null };
    }

    const own = found === null ? null : new Set(found.map(({ id }) => id));
    const isOf = (id: number): boolean => own?.has(id) ?? ('deployer' in of && isDeployedBy(of.deployer, id));

    function judged(place: EventPosition): Judged {
      const no = { ...place, meets: false, cost: 1 };
      const yes = { ...no, meets: true };
      if (!isFiltered && found !== null) return yes;
      const { position, eventIndex } = place;
      const log = logAt.get(position, eventIndex);
      if (log?.contract_id == null || !isOf(log.contract_id)) return no;
      if (topic !== null && topic !== log.topic) return no;
      if (sender !== null && sender.id !== originAt.get(position)?.sender_id) return no;
      if (fields.length === 0) return yes;
      const value = valueAt.get(position, eventIndex)?.value ?? NO_BYTES;
      const cost = DECODED.places + Math.floor(value.length / DECODED.bytes);
      return { ...place, meets: meetsAll(fields, fieldsOf(value)), cost };
    }

    const span = spanOf(heights);
    const ways = waysTo(found, sender, fields, span);
    const newest = { position: span.last, eventIndex: AFTER_EVENTS };
    const oldest = { position: span.first, eventIndex: BEFORE_EVENTS };
    function startAt(key: Cursor['key'] | null, direction: Direction): EventPosition {
      const place = key === null ? null : { position: numberAt(key, 0), eventIndex: numberAt(key, 1) };
      if (direction === 'down') return place === null || compared(place, newest) > 0 ? newest : place;
      return place === null || compared(place, oldest) < 0 ? oldest : place;
    }
    return readLongPage<Judged, ListedLog, number | null>(
      {
        limit,
        at: cursor,
        total,
        mostRows,
        rows(key, isBackwards) {
          const direction = isBackwards === (order === 'desc') ? 'up' : 'down';
          return merged(ways, direction, startAt(key, direction)).map(judged);
        },
        meets: ({ meets }) => meets,
        costOf: ({ cost }) => cost,
        keyOf: ({ position, eventIndex }) => [position, eventIndex],
        itemOf: listedAt,
      },
      pause,
    );
  };
}
