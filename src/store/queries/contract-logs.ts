/** What contracts logged, newest first. */
import type { Database } from 'bun:sqlite';
import { ANCHORED_SEQUENCE } from '../../chain/block.ts';
import { heightOf, positionsOf } from '../../chain/position.ts';
import type { ChainPage, ChainStart, ContractLog, EventPlace } from '../model.ts';
import { prepared } from '../statement.ts';

const place = `e.position, e.event_index, t.tx_index, coalesce(t.microblock_sequence, ${ANCHORED_SEQUENCE}) AS sequence`;

export const sql = {
  contract: 'SELECT id FROM principals WHERE address = ?1',
  total: 'SELECT logs AS total FROM contract_logs WHERE contract_id = ?1',
  // Looks through the transactions of one block at most.
  transaction: `SELECT position, tx_index, coalesce(microblock_sequence, ${ANCHORED_SEQUENCE}) AS sequence
                  FROM transactions
                 WHERE position BETWEEN ?1 AND ?2
                   AND (coalesce(microblock_sequence, ${ANCHORED_SEQUENCE}), tx_index) <= (?3, ?4)
                 ORDER BY position DESC LIMIT 1`,
  from: `SELECT ${place}, t.tx_id, e.topic, e.value FROM events e JOIN transactions t ON t.position = e.position
          WHERE e.contract_id = ?1 AND e.kind = 1 AND (e.position, e.event_index) <= (?2, ?3)
          ORDER BY e.position DESC, e.event_index DESC LIMIT ?4 OFFSET ?5`,
  before: `SELECT ${place} FROM events e JOIN transactions t ON t.position = e.position
            WHERE e.contract_id = ?1 AND e.kind = 1 AND (e.position, e.event_index) > (?2, ?3)
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

/** Behind every event of a transaction. */
const LAST_EVENT = Number.MAX_SAFE_INTEGER;
const NEWEST: Key = { position: Number.MAX_SAFE_INTEGER, event_index: LAST_EVENT };
/** Behind every block. */
const LAST_HEIGHT = 2 ** 32;

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
  const transaction = prepared<Omit<KeyRow, 'event_index'>, [number, number, number, number]>(db, sql.transaction);
  const from = prepared<Row, [number, number, number, number, number]>(db, sql.from);
  const before = prepared<KeyRow, [number, number, number, number]>(db, sql.before);

  /** The last event that may stand at or before a place. */
  function keyAt({ height, microblockSequence, txIndex, eventIndex }: EventPlace): Key {
    const { first, last } = positionsOf(Math.min(height, LAST_HEIGHT));
    const found = transaction.get(first, last, microblockSequence, txIndex);
    if (found === null) return { position: first - 1, event_index: LAST_EVENT };
    const same = found.sequence === microblockSequence && found.tx_index === txIndex;
    return { position: found.position, event_index: same ? eventIndex : LAST_EVENT };
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

    let start: Key | undefined = at === null ? NEWEST : keyAt(at);
    if (at !== null || offset < 0) {
      start = rowsFrom(start, 1)[0];
      if (start !== undefined && offset < 0) start = rowsBefore(start, -offset).at(-1) ?? start;
    }
    if (start === undefined && at !== null) return undefined;
    const rows = start === undefined ? [] : rowsFrom(start, limit + 1, Math.max(0, offset));
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
