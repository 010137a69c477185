/** Logs and calls of a contract, newest or oldest first, by topic or function, height and decoded values. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../../chain/position.ts';
import { fieldsOf, fieldsOfCall } from '../../../codec/clarity-fields.ts';
import type { CallFilter, EventPosition, FoundCall, FoundLog, LogFilter } from '../../model/contract.ts';
import type { Cursor, Page } from '../../model/page.ts';
import { EVENT_KIND, PAYLOAD, storedTransactionStatus } from '../../rows/enums.ts';
import { heightIn, shownTime } from '../../rows/expressions.ts';
import { prepared, type Stored } from '../../rows/statement.ts';
import { type CallColumns, callArguments } from '../../rows/value-keys.ts';
import { type Span, spanOf } from '../blocks/windows.ts';
import type { ValueSearch, Walk } from './value-search.ts';

const logs = `FROM events WHERE contract_id = ?1 AND kind = ${EVENT_KIND.log}`;

export const sql = {
  contract: `SELECT p.id, coalesce(l.logs, 0) AS logs FROM principals p LEFT JOIN contract_logs l ON l.contract_id = p.id
              WHERE p.address = ?1`,
  down: `SELECT position, event_index ${logs} AND (position, event_index) <= (?2, ?3) AND position >= ?4
          ORDER BY position DESC, event_index DESC LIMIT ?5`,
  up: `SELECT position, event_index ${logs} AND (position, event_index) > (?2, ?3) AND position <= ?4
        ORDER BY position, event_index LIMIT ?5`,
  count: `SELECT count(*) AS logs FROM (SELECT 1 ${logs} AND position BETWEEN ?2 AND ?3 LIMIT ?4)`,
  at: `SELECT e.topic, e.value, t.tx_id, ${shownTime} AS time FROM events e JOIN transactions t ON t.position = e.position
         JOIN blocks b ON b.height = ${heightIn('e.position')}
        WHERE e.position = ?1 AND e.event_index = ?2`,
};

interface LogRow extends Stored<'events', 'topic' | 'value'>, Stored<'transactions', 'tx_id'> {
  time: number;
}

type PositionRow = Stored<'events', 'position' | 'event_index'>;

const NO_BYTES = new Uint8Array(0);
const positionOf = ({ position, event_index }: PositionRow): EventPosition => ({ position, eventIndex: event_index });

/** @param search reads the pages */
export function contractLogSearch(db: Database, search: ValueSearch) {
  const contract = prepared<Stored<'principals', 'id'> & { logs: number }, [string]>(db, sql.contract);
  const down = prepared<PositionRow, [number, number, number, number, number]>(db, sql.down);
  const up = prepared<PositionRow, [number, number, number, number, number]>(db, sql.up);
  const count = prepared<{ logs: number }, [number, number, number, number]>(db, sql.count);
  const at = prepared<LogRow, [number, number]>(db, sql.at);

  const walk = (id: number, { first, last }: Span): Walk => ({
    down: ({ position, eventIndex }, most) => down.all(id, position, eventIndex, first, most).map(positionOf),
    up: ({ position, eventIndex }, most) => up.all(id, position, eventIndex, last, most).map(positionOf),
  });

  function read({ position, eventIndex }: EventPosition, topic: string | null) {
    const row = at.get(position, eventIndex);
    if (row === null) throw new Error(`no log at position ${position}, event ${eventIndex}`);
    const value = row.value ?? NO_BYTES;
    const log = { txId: row.tx_id, eventIndex, topic: row.topic ?? '', value };
    const item: FoundLog | null =
      topic === null || topic === log.topic ? { ...log, height: heightOf(position), time: row.time } : null;
    return { item, bytes: value.length, fields: () => fieldsOf(value) };
  }

  /** @throws TooMuchWorkError where the page needs more logs than a request may read */
  return async (
    contractId: string,
    { topic, order, heights, fields }: LogFilter,
    limit: number,
    cursor: Cursor | null,
  ): Promise<Page<FoundLog, number | null>> => {
    const { id, logs } = contract.get(contractId) ?? { id: 0, logs: 0 };
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
        all: walk(id, span),
        count: (most) => count.get(id, span.first, span.last, most)?.logs ?? 0,
        read: (position) => read(position, topic),
      },
      limit,
      cursor,
    );
  };
}

const calls = `FROM transactions WHERE contract_id = ?1 AND type = ${PAYLOAD.contract_call}`;
const ofName = 'AND function_name = ?4';
const inside = 'AND position BETWEEN ?2 AND ?3';

export const contractCallSearchSql = {
  contract: `SELECT p.id, coalesce(a.calls, 0) AS calls FROM principals p LEFT JOIN accounts a ON a.principal_id = p.id
              WHERE p.address = ?1`,
  allDown: `SELECT position ${calls} ${inside} ORDER BY position DESC LIMIT ?4`,
  allUp: `SELECT position ${calls} ${inside} ORDER BY position LIMIT ?4`,
  namedDown: `SELECT position ${calls} ${inside} ${ofName} ORDER BY position DESC LIMIT ?5`,
  namedUp: `SELECT position ${calls} ${inside} ${ofName} ORDER BY position LIMIT ?5`,
  countAll: `SELECT count(*) AS calls FROM (SELECT 1 ${calls} ${inside} LIMIT ?4)`,
  countNamed: `SELECT count(*) AS calls FROM (SELECT 1 ${calls} ${inside} ${ofName} LIMIT ?5)`,
  at: `SELECT t.tx_id, t.status, t.function_name, sender.address AS sender, sponsor.address AS sponsor,
              d.function_args, d.raw, d.result, ${shownTime} AS time
         FROM transactions t JOIN transaction_bodies d ON d.position = t.position
         JOIN blocks b ON b.height = ${heightIn('t.position')}
         JOIN principals sender ON sender.id = t.sender_id LEFT JOIN principals sponsor ON sponsor.id = t.sponsor_id
        WHERE t.position = ?1`,
};

interface CallRow
  extends CallColumns,
    Stored<'transactions', 'tx_id' | 'status' | 'function_name'>,
    Stored<'transaction_bodies', 'result'> {
  sender: string;
  sponsor: string | null;
  time: number;
}

type CallPositionRow = Stored<'transactions', 'position'>;

/** @param search reads the pages */
export function contractCallSearch(db: Database, search: ValueSearch) {
  const contract = prepared<Stored<'principals', 'id'> & { calls: number }, [string]>(
    db,
    contractCallSearchSql.contract,
  );
  type Of = [number, number, number];
  const all = {
    down: prepared<CallPositionRow, [...Of, number]>(db, contractCallSearchSql.allDown),
    up: prepared<CallPositionRow, [...Of, number]>(db, contractCallSearchSql.allUp),
  };
  const named = {
    down: prepared<CallPositionRow, [...Of, string, number]>(db, contractCallSearchSql.namedDown),
    up: prepared<CallPositionRow, [...Of, string, number]>(db, contractCallSearchSql.namedUp),
  };
  const countAll = prepared<{ calls: number }, [number, number, number, number]>(db, contractCallSearchSql.countAll);
  const countNamed = prepared<{ calls: number }, [number, number, number, string, number]>(
    db,
    contractCallSearchSql.countNamed,
  );
  const at = prepared<CallRow, [number]>(db, contractCallSearchSql.at);

  function walk(id: number, { first, last }: Span, name: string | null): Walk {
    function positions(from: number, to: number, direction: 'down' | 'up', most: number): EventPosition[] {
      const rows =
        name === null ? all[direction].all(id, from, to, most) : named[direction].all(id, from, to, name, most);
      return rows.map(({ position }) => ({ position, eventIndex: 0 }));
    }
    return {
      // A call is the only item at its position, at event 0.
      down: ({ position, eventIndex }, most) =>
        positions(first, eventIndex < 0 ? position - 1 : position, 'down', most),
      up: ({ position, eventIndex }, most) => positions(eventIndex < 0 ? position : position + 1, last, 'up', most),
    };
  }

  function read(position: number, { functionName, statuses }: CallFilter) {
    const row = at.get(position);
    if (row === null) throw new Error(`no call at position ${position}`);
    const call: FoundCall = {
      txId: row.tx_id,
      height: heightOf(position),
      time: row.time,
      sender: row.sender,
      sponsor: row.sponsor,
      status: storedTransactionStatus.nameOf(row.status),
      functionName: row.function_name ?? '',
      functionArgs: callArguments(row),
      result: row.result,
    };
    const isAsked =
      (statuses === null || statuses.includes(call.status)) &&
      (functionName === null || functionName === call.functionName);
    return {
      item: isAsked ? call : null,
      bytes: row.raw.length + row.result.length,
      fields: () => fieldsOfCall(call.functionName, call.functionArgs),
    };
  }

  /** @throws TooMuchWorkError where the page needs more calls than a request may read */
  return async (
    contractId: string,
    filter: CallFilter,
    limit: number,
    cursor: Cursor | null,
  ): Promise<Page<FoundCall, number | null>> => {
    const { functionName, statuses, order, heights, fields } = filter;
    const { id, calls } = contract.get(contractId) ?? { id: 0, calls: 0 };
    const span = spanOf(heights);
    const isWhole = functionName === null && statuses === null && heights.from === null && heights.to === null;
    const count = (most: number) =>
      functionName === null
        ? countAll.get(id, span.first, span.last, most)
        : countNamed.get(id, span.first, span.last, functionName, most);
    return search(
      {
        subject: 'calls',
        contract: contractId,
        order,
        fields,
        span,
        total: isWhole ? calls : null,
        all: walk(id, span, functionName),
        count: (most) => count(most)?.calls ?? 0,
        read: ({ position }) => read(position, filter),
      },
      limit,
      cursor,
    );
  };
}
