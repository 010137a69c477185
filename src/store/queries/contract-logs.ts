/** What contracts logged, newest first. */
import type { Database } from 'bun:sqlite';
import { ANCHORED_SEQUENCE } from '../../chain/block.ts';
import { heightOf } from '../../chain/position.ts';
import type { ContractLog } from '../model/contract.ts';
import type { EventPlace } from '../model/event.ts';
import type { ChainPage, ChainStart } from '../model/page.ts';
import { prepared } from '../rows/statement.ts';
import { EVENT_KIND } from '../rows/words.ts';
import { placeQuery } from './places.ts';

const place = `e.position, e.event_index, t.tx_index, coalesce(t.microblock_sequence, ${ANCHORED_SEQUENCE}) AS sequence`;

export const sql = {
  contract: 'SELECT id FROM principals WHERE address = ?1',
  total: 'SELECT logs AS total FROM contract_logs WHERE contract_id = ?1',
  from: `SELECT ${place}, t.tx_id, e.topic, e.value FROM events e JOIN transactions t ON t.position = e.position
          WHERE e.contract_id = ?1 AND e.kind = ${EVENT_KIND.log} AND (e.position, e.event_index) <= (?2, ?3)
          ORDER BY e.position DESC, e.event_index DESC LIMIT ?4 OFFSET ?5`,
  before: `SELECT ${place} FROM events e JOIN transactions t ON t.position = e.position
            WHERE e.contract_id = ?1 AND e.kind = ${EVENT_KIND.log} AND (e.position, e.event_index) > (?2, ?3)
            ORDER BY e.position, e.event_index LIMIT ?4`,
};

interface KeyRow {
  position: number;
  event_index: number;
  tx_index: number;
  sequence: number;
}

interface Row extends KeyRow {
  tx_id: Uint8Array;
  topic: string | null;
  value: Uint8Array | null;
}

type Key = Pick<KeyRow, 'position' | 'event_index'>;

/** An index behind every event of a transaction. */
const LAST_EVENT = Number.MAX_SAFE_INTEGER;
const NEWEST: Key = { position: Number.MAX_SAFE_INTEGER, event_index: LAST_EVENT };
const NO_BYTES = new Uint8Array(0);

const logOf = (row: Row): ContractLog => ({
  txId: row.tx_id,
  eventIndex: row.event_index,
  topic: row.topic ?? '',
  value: row.value ?? NO_BYTES,
});

const placeOf = (row: KeyRow): EventPlace => ({
  height: heightOf(row.position),
  microblockSequence: row.sequence,
  txIndex: row.tx_index,
  eventIndex: row.event_index,
});

export function contractLogQueries(db: Database) {
  const contract = prepared<{ id: number }, [string]>(db, sql.contract);
  const total = prepared<{ total: number }, [number]>(db, sql.total);
  const transactionAt = placeQuery(db);
  const from = prepared<Row, [number, number, number, number, number]>(db, sql.from);
  const before = prepared<KeyRow, [number, number, number, number]>(db, sql.before);

  /** The last event that may stand at or before a place. */
  function keyAt(place: EventPlace): Key {
    const { position, exact } = transactionAt(place);
    return { position, event_index: exact ? place.eventIndex : LAST_EVENT };
  }

  return async (
    contractId: string,
    limit: number,
    { at, offset }: ChainStart<EventPlace>,
  ): Promise<ChainPage<ContractLog, EventPlace> | undefined> => {
    const id = contract.get(contractId)?.id ?? 0;
    const rowsFrom = (key: Key, count: number, skipped = 0) =>
      from.all(id, key.position, key.event_index, count, skipped);
    const rowsBefore = (key: Key, count: number) => before.all(id, key.position, key.event_index, count);

    const start = at === null ? NEWEST : rowsFrom(keyAt(at), 1)[0];
    if (start === undefined) return undefined;
    const rows = rowsFrom(start, limit + 1, offset);
    const older = rows.length > limit ? rows.pop() : undefined;
    const first = rows[0];
    const newer = first === undefined ? undefined : rowsBefore(first, limit).at(-1);
    return {
      items: rows.map(logOf),
      total: total.get(id)?.total ?? 0,
      current: first === undefined ? null : placeOf(first),
      older: older === undefined ? null : placeOf(older),
      newer: newer === undefined ? null : placeOf(newer),
    };
  };
}
