/** Logs of contracts, newest first. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../../chain/position.ts';
import type { ContractLog, FoundLog } from '../../model/contract.ts';
import type { Cursor, CursorKey, OffsetStart, Page } from '../../model/page.ts';
import type { EventLocation } from '../../model/transaction.ts';
import { COUNTER, EVENT_KIND } from '../../rows/enums.ts';
import { heightIn, shownTime } from '../../rows/expressions.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { transactionPositionQuery } from '../blocks/windows.ts';
import { down, ordered } from '../list.ts';
import { numbers } from '../numbers.ts';
import { emptyPage, isBehind, movedTo, numberAt, readPage } from '../page.ts';
import type { ItemsOf, RowTexts } from '../row-texts.ts';

const logs = {
  select: 'SELECT position, event_index FROM events',
  where: `contract_id = ?1 AND kind = ${EVENT_KIND.log}`,
};
/** The places of a contract's logs, newest first. */
export const contractLogs = ordered<KeyRow>(logs, [down('position'), down('event_index')], { isBounded: true });

export const sql = {
  logs: contractLogs,
  total: query<{ total: number }, [string]>`
    SELECT count AS total FROM counters WHERE kind = ${COUNTER.logs} AND key = ?1`,
  behind: query<KeyRow, [number, number, number, number]>`
    ${logs.select} WHERE ${logs.where} AND (position, event_index) <= (?2, ?3)
     ORDER BY position DESC, event_index DESC LIMIT 1 OFFSET ?4`,
  at: query<FoundRow, [number, number]>`
    SELECT p.address, e.topic, e.value, t.tx_id, ${shownTime} AS time
      FROM events e JOIN principals p ON p.id = e.contract_id JOIN transactions t ON t.position = e.position
      JOIN blocks b ON b.height = ${heightIn('e.position')} WHERE e.position = ?1 AND e.event_index = ?2`,
  // In the order of the keys, which are a JSON array.
  each: query<Row, [string]>`
    SELECT e.position, e.event_index, e.topic, e.value, t.tx_id
      FROM json_each(?1) k CROSS JOIN events e ON e.position = k.value ->> 0 AND e.event_index = k.value ->> 1
      JOIN transactions t ON t.position = e.position`,
};

type KeyRow = Stored<'events', 'position' | 'event_index'>;

type Row = KeyRow & Stored<'transactions', 'tx_id'> & Stored<'events', 'topic' | 'value'>;

type FoundRow = Stored<'principals', 'address'> &
  Stored<'events', 'topic' | 'value'> &
  Stored<'transactions', 'tx_id'> & { time: number };

/** Greater than every event index of a transaction. */
const LAST_EVENT = Number.MAX_SAFE_INTEGER;
const NEWEST: KeyRow = { position: Number.MAX_SAFE_INTEGER, event_index: LAST_EVENT };
const NO_BYTES = new Uint8Array(0);

const logOf = (contractId: string, row: Row): ContractLog => ({
  contractId,
  txId: row.tx_id,
  eventIndex: row.event_index,
  topic: row.topic ?? '',
  value: row.value ?? NO_BYTES,
});

/** Makes a function that reads a log by its place. */
export function foundLogQuery(db: Database): (place: KeyRow) => FoundLog {
  const at = sql.at.prepared(db);
  return ({ position, event_index: eventIndex }) => {
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
  };
}

const keyOf = ({ position, event_index }: KeyRow): CursorKey => [position, event_index];

const rowKey = (key: CursorKey): KeyRow => ({ position: numberAt(key, 0), event_index: numberAt(key, 1) });

/** The first key after a cursor. */
function edgeOf(cursor: Cursor): KeyRow {
  const { position, event_index } = rowKey(cursor.key);
  return { position, event_index: isBehind(cursor) ? event_index - 1 : event_index };
}

/** @param texts caches texts of logs */
export function contractLogQueries(db: Database, texts: RowTexts) {
  const { logs: newest, total, each, behind } = statements(db, sql);
  const { principalOf } = numbers(db);
  const positionAt = transactionPositionQuery(db);

  /** The key of a location, or the last key before it if the index lacks the transaction. */
  function keyAt(location: EventLocation): KeyRow {
    const { position, exact } = positionAt(location);
    return { position, event_index: exact ? location.eventIndex : LAST_EVENT };
  }

  /** The cursor that a start names; null for the newest; undefined if the offset is behind the last log. */
  function cursorOf(id: number, { item, offset, ...start }: OffsetStart<EventLocation>): Cursor | null | undefined {
    const cursor: Cursor | null = item === null ? start.cursor : { side: 'from', key: keyOf(keyAt(item)) };
    if (offset === 0) return cursor;
    const { position, event_index } = cursor === null ? NEWEST : edgeOf(cursor);
    const first = behind.get(id, position, event_index, offset);
    return first === null ? undefined : movedTo(keyOf(first), cursor);
  }

  return <Item>(
    contractId: string,
    limit: number,
    start: OffsetStart<EventLocation>,
    items: ItemsOf<ContractLog, Item>,
  ): Page<Item> | undefined => {
    const id = principalOf(contractId);
    const logs = total.get(contractId)?.total ?? 0;
    const at = cursorOf(id, start);
    if (at === undefined) return emptyPage(logs);
    const page = readPage({ limit, at, total: logs, ...newest([id]), itemOf: (row) => row });
    if (start.item !== null && page.items.length === 0) return undefined;
    const rows = texts.rows(page.items, {
      idOf: ({ position, event_index }) => `${position}/${event_index}`,
      heightOf: ({ position }) => heightOf(position),
      read: (keys) => each.all(JSON.stringify(keys.map(keyOf))).map((row) => logOf(contractId, row)),
    });
    return { ...page, items: items(rows) };
  };
}
