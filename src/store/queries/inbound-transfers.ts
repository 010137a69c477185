/** STX on the way to a principal, newest first. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import type { Heights, ReceivedStx } from '../model.ts';
import { INBOUND } from '../rows.ts';
import { prepared } from '../statement.ts';
import { positionsIn } from './address-transactions.ts';

const ofPrincipal = 'FROM inbound_transfers WHERE principal_id = ?1 AND position BETWEEN ?2 AND ?3';

export const sql = {
  list: `SELECT position, event_index, kind ${ofPrincipal}
          ORDER BY position DESC, event_index DESC LIMIT ?4 OFFSET ?5`,
  count: `SELECT count(*) AS found ${ofPrincipal}`,
  transaction: `SELECT t.tx_id, t.tx_index, t.amount, t.memo, p.address AS sender
                  FROM transactions t JOIN principals p ON p.id = t.sender_id WHERE t.position = ?1`,
  event: `SELECT t.tx_id, t.tx_index, e.amount, e.value AS memo, p.address AS sender
            FROM events e JOIN transactions t ON t.position = e.position LEFT JOIN principals p ON p.id = e.sender_id
           WHERE e.position = ?1 AND e.event_index = ?2`,
  printed: 'SELECT value AS memo FROM events WHERE position = ?1 AND event_index = ?2',
};

interface KeyRow {
  position: number;
  event_index: number;
  kind: number;
}

interface Row {
  tx_id: Uint8Array;
  tx_index: number;
  amount: string | null;
  memo: Uint8Array | null;
  sender: string | null;
}

const memoOf = new Map<number, ReceivedStx['memoOf']>([
  [INBOUND.transaction, 'transaction'],
  [INBOUND.event, 'event'],
  [INBOUND.print, 'print'],
]);

export function inboundTransferQueries(db: Database) {
  const list = prepared<KeyRow, [number, number, number, number, number]>(db, sql.list);
  const count = prepared<{ found: number }, [number, number, number]>(db, sql.count);
  const transaction = prepared<Row, [number]>(db, sql.transaction);
  const event = prepared<Row, [number, number]>(db, sql.event);
  const printed = prepared<{ memo: Uint8Array | null }, [number, number]>(db, sql.printed);

  function transferAt({ position, event_index, kind }: KeyRow): ReceivedStx {
    const row = kind === INBOUND.transaction ? transaction.get(position) : event.get(position, event_index);
    if (row === null) throw new Error(`no transfer at position ${position}`);
    return {
      memoOf: memoOf.get(kind) ?? 'event',
      txId: row.tx_id,
      txIndex: row.tx_index,
      blockHeight: heightOf(position),
      sender: row.sender ?? '',
      amount: row.amount ?? '0',
      memo: kind === INBOUND.print ? (printed.get(position, event_index + 1)?.memo ?? null) : row.memo,
    };
  }

  return {
    list(principal: number, heights: Heights, limit: number, offset: number): ReceivedStx[] {
      const { first, last } = positionsIn(heights);
      return list.all(principal, first, last, limit, offset).map(transferAt);
    },
    /** In a range of a few blocks. */
    count(principal: number, heights: Heights): number {
      const { first, last } = positionsIn(heights);
      return count.get(principal, first, last)?.found ?? 0;
    },
  };
}
