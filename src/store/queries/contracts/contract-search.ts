/** Logs of a contract, newest first; and its logs and calls by topic or function, height and decoded values. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../../chain/position.ts';
import { fieldsOf, fieldsOfCall } from '../../../codec/clarity-fields.ts';
import type { CallFilter, ContractLog, FoundCall, FoundLog, LogFilter } from '../../model/contract.ts';
import type { Cursor, OffsetStart, Page } from '../../model/page.ts';
import type { EventLocation } from '../../model/transaction.ts';
import { COUNTER, EVENT_KIND, PAYLOAD, storedTransactionStatus } from '../../rows/enums.ts';
import { heightIn, shownTime } from '../../rows/expressions.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { type CallColumns, callArguments } from '../../rows/value-keys.ts';
import { spanOf, transactionPositionQuery } from '../blocks/windows.ts';
import { down, orderedList } from '../list.ts';
import { NOBODY, numbers } from '../numbers.ts';
import { emptyPage, isBehind, movedTo, readPage } from '../page.ts';
import type { ItemsOf, RowTexts } from '../row-texts.ts';
import { type PlaceRow, placeKey, placeOf, type ValueSearch } from './value-search.ts';

const logs = {
  select: 'SELECT position, event_index FROM events',
  where: `contract_id = ?1 AND kind = ${EVENT_KIND.log}`,
};
/** The places of a contract's logs, newest first. */
export const contractLogs = orderedList<PlaceRow>(logs, [down('position'), down('event_index')], { isBounded: true });

/** Logs always have a topic and a value; other events may lack them. */
const logColumns =
  "t.tx_id AS txId, e.event_index AS eventIndex, coalesce(e.topic, '') AS topic, coalesce(e.value, x'') AS value";

export const contractLogsSql = {
  logs: contractLogs,
  total: query<{ total: number }, [string]>`
    SELECT count AS total FROM counters WHERE kind = ${COUNTER.logs} AND key = ?1`,
  atOffset: query<PlaceRow, [number, number, number, number]>`
    ${logs.select} WHERE ${logs.where} AND (position, event_index) <= (?2, ?3)
     ORDER BY position DESC, event_index DESC LIMIT 1 OFFSET ?4`,
  byPlace: query<LogRow, [number, number]>`
    SELECT p.address AS contractId, ${logColumns}, ${shownTime} AS time
      FROM events e JOIN principals p ON p.id = e.contract_id JOIN transactions t ON t.position = e.position
      JOIN blocks b ON b.height = ${heightIn('e.position')} WHERE e.position = ?1 AND e.event_index = ?2`,
  // In the order of the keys, which are a JSON array.
  each: query<TextRow, [string]>`
    SELECT ${logColumns}
      FROM json_each(?1) k CROSS JOIN events e ON e.position = k.value ->> 0 AND e.event_index = k.value ->> 1
      JOIN transactions t ON t.position = e.position`,
};

type TextRow = Omit<ContractLog, 'contractId'>;

type LogRow = Omit<FoundLog, 'height'>;

/** Greater than every event index of a transaction. */
const LAST_EVENT = Number.MAX_SAFE_INTEGER;
const NEWEST: PlaceRow = { position: Number.MAX_SAFE_INTEGER, event_index: LAST_EVENT };

/** Makes a function that reads a log by its place. */
export function foundLogQuery(db: Database): (place: PlaceRow) => FoundLog {
  const select = contractLogsSql.byPlace.prepared(db);
  return ({ position, event_index: eventIndex }) => {
    const row = select.get(position, eventIndex);
    if (row === null) throw new Error(`no log at position ${position}, event ${eventIndex}`);
    return { ...row, height: heightOf(position) };
  };
}

/** The first key after a cursor. */
function edgeOf(cursor: Cursor): PlaceRow {
  const { position, event_index } = placeOf(cursor.key);
  return { position, event_index: isBehind(cursor) ? event_index - 1 : event_index };
}

/** @param texts caches texts of logs */
export function contractLogQueries(db: Database, texts: RowTexts) {
  const { logs: newest, total, each, atOffset } = statements(db, contractLogsSql);
  const { principalOf } = numbers(db);
  const positionAt = transactionPositionQuery(db);

  /** The key of a location, or the last key before it if the index lacks the transaction. */
  function keyAt(location: EventLocation): PlaceRow {
    const { position, exact } = positionAt(location);
    return { position, event_index: exact ? location.eventIndex : LAST_EVENT };
  }

  /** The cursor that a start names; null for the newest; undefined if the offset is behind the last log. */
  function cursorOf(id: number, { item, offset, ...start }: OffsetStart<EventLocation>): Cursor | null | undefined {
    const cursor: Cursor | null = item === null ? start.cursor : { side: 'from', key: placeKey(keyAt(item)) };
    if (offset === 0) return cursor;
    const { position, event_index } = cursor === null ? NEWEST : edgeOf(cursor);
    const first = atOffset.get(id, position, event_index, offset);
    return first === null ? undefined : movedTo(placeKey(first), cursor);
  }

  return <Item>(
    contractId: string,
    limit: number,
    start: OffsetStart<EventLocation>,
    items: ItemsOf<ContractLog, Item>,
  ): Page<Item> | undefined => {
    const id = principalOf(contractId);
    const logs = total.get(contractId)?.total ?? 0;
    const cursor = cursorOf(id, start);
    if (cursor === undefined) return emptyPage(logs);
    const page = readPage({ limit, cursor, total: logs, ...newest([id]), itemOf: (row) => row });
    if (start.item !== null && page.items.length === 0) return undefined;
    const rows = texts.rows(page.items, {
      idOf: ({ position, event_index }) => `${position}/${event_index}`,
      heightOf: ({ position }) => heightOf(position),
      read: (keys) => each.all(JSON.stringify(keys.map(placeKey))).map((row) => ({ contractId, ...row })),
    });
    return { ...page, items: items(rows) };
  };
}

export const sql = {
  contract: query<Stored<'principals', 'id'> & { logs: number }, [string]>`
    SELECT p.id, coalesce(l.count, 0) AS logs FROM principals p
      LEFT JOIN counters l ON l.kind = ${COUNTER.logs} AND l.key = p.address WHERE p.address = ?1`,
  count: query<{ logs: number }, [number, number, number, number]>`
    SELECT count(*) AS logs FROM (SELECT 1 FROM events WHERE contract_id = ?1 AND kind = ${EVENT_KIND.log}
                                   AND position BETWEEN ?2 AND ?3 LIMIT ?4)`,
};

/** @param search reads the pages */
export function contractLogSearch(db: Database, search: ValueSearch) {
  const { contract, count } = statements(db, sql);
  const newest = contractLogs.prepared(db);
  const logAt = foundLogQuery(db);

  function read(place: PlaceRow, topic: string | null) {
    const log = logAt(place);
    const { value } = log;
    return {
      item: topic === null || topic === log.topic ? log : null,
      bytes: value.length,
      fields: () => fieldsOf(value),
    };
  }

  /** @throws TooMuchWorkError if the page needs more logs than a request may read */
  return async (
    contractId: string,
    { topic, order, heights, fields }: LogFilter,
    limit: number,
    cursor: Cursor | null,
  ): Promise<Page<FoundLog, number | null>> => {
    const { id, logs } = contract.get(contractId) ?? { id: NOBODY, logs: 0 };
    const span = spanOf(heights);
    const isWhole = topic === null && fields.length === 0 && heights.from === null && heights.to === null;
    return search(
      {
        subject: 'logs',
        contract: contractId,
        order,
        fields,
        span,
        total: isWhole ? logs : null,
        all: newest([id], span),
        count: (maximum) => count.get(id, span.first, span.last, maximum)?.logs ?? 0,
        read: (place) => read(place, topic),
      },
      limit,
      cursor,
    );
  };
}

const calls = `FROM transactions WHERE contract_id = ?1 AND type = ${PAYLOAD.contract_call}`;
const positionRange = 'AND position BETWEEN ?2 AND ?3';
const callsBy = (where: string) =>
  orderedList<PlaceRow>(
    {
      select: 'SELECT position, 0 AS event_index FROM transactions',
      where: `contract_id = ?1 AND type = ${PAYLOAD.contract_call}${where}`,
    },
    [down('position')],
    { isBounded: true },
  );

export const contractCallSearchSql = {
  contract: query<Stored<'principals', 'id'> & { calls: number }, [string]>`
    SELECT p.id, coalesce(a.calls, 0) AS calls FROM principals p LEFT JOIN accounts a ON a.principal_id = p.id
     WHERE p.address = ?1`,
  all: callsBy(''),
  named: callsBy(' AND function_name = ?2'),
  countAll: query<{ calls: number }, [number, number, number, number]>`
    SELECT count(*) AS calls FROM (SELECT 1 ${calls} ${positionRange} LIMIT ?4)`,
  countNamed: query<{ calls: number }, [number, number, number, string, number]>`
    SELECT count(*) AS calls FROM (SELECT 1 ${calls} ${positionRange} AND function_name = ?4 LIMIT ?5)`,
  byPosition: query<CallRow, [number]>`
    SELECT t.tx_id AS txId, t.status, coalesce(t.function_name, '') AS functionName, sender.address AS sender,
           sponsor.address AS sponsor, d.function_args, d.raw, d.result, ${shownTime} AS time
      FROM transactions t JOIN transaction_bodies d ON d.position = t.position
      JOIN blocks b ON b.height = ${heightIn('t.position')}
      JOIN principals sender ON sender.id = t.sender_id LEFT JOIN principals sponsor ON sponsor.id = t.sponsor_id
     WHERE t.position = ?1`,
};

type CallRow = Omit<FoundCall, 'height' | 'status' | 'functionArgs'> & Stored<'transactions', 'status'> & CallColumns;

/** @param search reads the pages */
export function contractCallSearch(db: Database, search: ValueSearch) {
  const { contract, countAll, countNamed, byPosition, named, all } = statements(db, contractCallSearchSql);

  function read(position: number, { functionName, statuses }: CallFilter) {
    const row = byPosition.get(position);
    if (row === null) throw new Error(`no call at position ${position}`);
    const call: FoundCall = {
      ...row,
      height: heightOf(position),
      status: storedTransactionStatus.nameOf(row.status),
      functionArgs: callArguments(row),
    };
    const isMatch =
      (statuses === null || statuses.includes(call.status)) &&
      (functionName === null || functionName === call.functionName);
    return {
      item: isMatch ? call : null,
      bytes: row.raw.length + row.result.length,
      fields: () => fieldsOfCall(call.functionName, call.functionArgs),
    };
  }

  /** @throws TooMuchWorkError if the page needs more calls than a request may read */
  return async (
    contractId: string,
    filter: CallFilter,
    limit: number,
    cursor: Cursor | null,
  ): Promise<Page<FoundCall, number | null>> => {
    const { functionName, statuses, order, heights, fields } = filter;
    const { id, calls } = contract.get(contractId) ?? { id: NOBODY, calls: 0 };
    const span = spanOf(heights);
    const isWhole = functionName === null && statuses === null && heights.from === null && heights.to === null;
    const count = (maximum: number) =>
      functionName === null
        ? countAll.get(id, span.first, span.last, maximum)
        : countNamed.get(id, span.first, span.last, functionName, maximum);
    return search(
      {
        subject: 'calls',
        contract: contractId,
        order,
        fields,
        span,
        total: isWhole ? calls : null,
        all: { ...(functionName === null ? all([id], span) : named([id, functionName], span)), keyOf: placeKey },
        count: (maximum) => count(maximum)?.calls ?? 0,
        read: ({ position }) => read(position, filter),
      },
      limit,
      cursor,
    );
  };
}
