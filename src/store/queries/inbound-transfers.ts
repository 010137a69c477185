/** STX on the way to a principal, newest first. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import type { ReceivedStx } from '../model/account.ts';
import { prepared } from '../rows/statement.ts';
import { PAYLOAD } from '../rows/words.ts';
import type { Range } from './address-transactions.ts';

/** Merged as they are read, since both are in the order of the chain. */
const ofPrincipal = `
  SELECT position, 0 AS event_index, NULL AS printed FROM transactions
   WHERE recipient_id = ?1 AND type = ${PAYLOAD.token_transfer} AND position BETWEEN ?2 AND ?3
   UNION ALL
  SELECT position, event_index, printed FROM memo_transfers WHERE principal_id = ?1 AND position BETWEEN ?2 AND ?3`;

export const sql = {
  list: `${ofPrincipal} ORDER BY position DESC, event_index DESC LIMIT ?4 OFFSET ?5`,
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
  /** Null of a transaction that is a transfer. */
  printed: number | null;
}

interface Row {
  tx_id: Uint8Array;
  tx_index: number;
  amount: string | null;
  memo: Uint8Array | null;
  sender: string | null;
}

export function inboundTransferQuery(db: Database) {
  const list = prepared<KeyRow, [number, number, number, number, number]>(db, sql.list);
  const transaction = prepared<Row, [number]>(db, sql.transaction);
  const event = prepared<Row, [number, number]>(db, sql.event);
  const printed = prepared<{ memo: Uint8Array | null }, [number, number]>(db, sql.printed);

  function transferAt({ position, event_index, printed: hasPrint }: KeyRow): ReceivedStx {
    const row = hasPrint === null ? transaction.get(position) : event.get(position, event_index);
    if (row === null) throw new Error(`no transfer at position ${position}`);
    return {
      memoOf: hasPrint === null ? 'transaction' : hasPrint === 1 ? 'print' : 'event',
      txId: row.tx_id,
      txIndex: row.tx_index,
      blockHeight: heightOf(position),
      sender: row.sender ?? '',
      amount: row.amount ?? '0',
      memo: hasPrint === 1 ? (printed.get(position, event_index + 1)?.memo ?? null) : row.memo,
    };
  }

  return (principal: number, { first, last, offset }: Range, limit: number): ReceivedStx[] =>
    list.all(principal, first, last, limit, offset).map(transferAt);
}
