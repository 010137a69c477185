/** What a contract logged, newest first, by topic, height and decoded values. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import { fieldsOf } from '../../codec/clarity-fields.ts';
import type { FoundLog, LogFilter } from '../model/contract-search.ts';
import type { Cursor, Page } from '../model/page.ts';
import type { EventPosition } from '../model/value-index.ts';
import { heightIn, shownTime } from '../rows/expressions.ts';
import { prepared } from '../rows/statement.ts';
import { EVENT_KIND } from '../rows/words.ts';
import { type Span, spanOf, type ValueSearch, type Walk } from './value-search.ts';

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

interface LogRow {
  topic: string | null;
  value: Uint8Array | null;
  tx_id: Uint8Array;
  time: number;
}

interface PlaceRow {
  position: number;
  event_index: number;
}

const NO_BYTES = new Uint8Array(0);
const placeOf = ({ position, event_index }: PlaceRow): EventPosition => ({ position, eventIndex: event_index });

/** @param search pages through what it is given */
export function contractLogSearch(db: Database, search: ValueSearch) {
  const contract = prepared<{ id: number; logs: number }, [string]>(db, sql.contract);
  const down = prepared<PlaceRow, [number, number, number, number, number]>(db, sql.down);
  const up = prepared<PlaceRow, [number, number, number, number, number]>(db, sql.up);
  const count = prepared<{ logs: number }, [number, number, number, number]>(db, sql.count);
  const at = prepared<LogRow, [number, number]>(db, sql.at);

  const walk = (id: number, { first, last }: Span): Walk => ({
    down: ({ position, eventIndex }, most) => down.all(id, position, eventIndex, first, most).map(placeOf),
    up: ({ position, eventIndex }, most) => up.all(id, position, eventIndex, last, most).map(placeOf),
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

  /** @throws TooMuchWorkError where the page isn't found in as much as one request may look at */
  return async (
    contractId: string,
    { topic, heights, fields }: LogFilter,
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
        fields,
        span,
        total: isWhole ? logs : null,
        all: walk(id, span),
        count: (most) => count.get(id, span.first, span.last, most)?.logs ?? 0,
        read: (place) => read(place, topic),
      },
      limit,
      cursor,
    );
  };
}
