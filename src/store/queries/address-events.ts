/** Events that a principal took part in: of one transaction, and all of them, newest first. */
import type { Database } from 'bun:sqlite';
import type { AssetEvent, PlacedEvent, TransactionEvent } from '../model/event.ts';
import { prepared } from '../rows/statement.ts';
import { EVENT_KIND, kindMask, TOKEN } from '../rows/words.ts';
import { type EventRow, eventColumns, eventJoins, eventOf } from './events.ts';

const asset = `e.kind >= ${EVENT_KIND.stx_transfer} AND (e.sender_id = ?2 OR e.recipient_id = ?2)`;
/** The condition on kinds: ?3 has a bit for each kind that is asked for. */
const asked = `(?3 >> e.kind) & 1
   AND (${asset} OR e.kind = ${EVENT_KIND.lock} AND e.sender_id = ?2 OR e.kind = ${EVENT_KIND.log} AND e.contract_id = ?2)`;

/** Transactions with such events of a principal; a constant condition keeps out what isn't asked for. */
const having = (kind: TransactionEvent['kind'], list: string): string =>
  `SELECT position ${list} AND (?3 & ${kindMask([kind])}) <> 0`;

export const sql = {
  // Each list is in the order of the chain, so they are merged as they are read.
  transactions: `${[
    having(
      'stx',
      `FROM events WHERE recipient_id = ?1 AND kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_mint}) AND position <= ?2`,
    ),
    having(
      'stx',
      `FROM events WHERE sender_id = ?1 AND kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_burn}) AND position <= ?2`,
    ),
    having('ft', `FROM token_changes WHERE principal_id = ?1 AND position <= ?2 AND token = ${TOKEN.ft}`),
    having('nft', `FROM token_changes WHERE principal_id = ?1 AND position <= ?2 AND token = ${TOKEN.nft}`),
    having('stx_lock', 'FROM stx_locks WHERE principal_id = ?1 AND position <= ?2 AND amount IS NOT NULL'),
    having('contract_log', `FROM events WHERE contract_id = ?1 AND kind = ${EVENT_KIND.log} AND position <= ?2`),
  ].join(' UNION ')} ORDER BY position DESC`,
  count: `SELECT count(*) AS found FROM events e WHERE e.position = ?1 AND ${asked}`,
  newestFirst: `SELECT ${eventColumns} FROM events e ${eventJoins}
                 WHERE e.position = ?1 AND ${asked} ORDER BY e.event_index DESC`,
  assets: `SELECT ${eventColumns} FROM events e ${eventJoins}
            WHERE e.position = ?1 AND ${asset} ORDER BY e.event_index`,
  txId: 'SELECT tx_id FROM transactions WHERE position = ?1',
};

function assetEventOf(row: EventRow): AssetEvent {
  const event = eventOf(row);
  if ('action' in event) return event;
  throw new Error('an event that moves no asset');
}

export type AddressEventQueries = ReturnType<typeof addressEventQueries>;

export function addressEventQueries(db: Database) {
  const transactions = prepared<{ position: number }, [number, number, number]>(db, sql.transactions);
  const count = prepared<{ found: number }, [number, number, number]>(db, sql.count);
  const newestFirst = prepared<EventRow, [number, number, number]>(db, sql.newestFirst);
  const assets = prepared<EventRow, [number, number]>(db, sql.assets);
  const txIdAt = prepared<{ tx_id: Uint8Array }, [number]>(db, sql.txId);

  return {
    /** Asset events of one transaction, in order. */
    ofTransaction: (principal: number, position: number): AssetEvent[] =>
      assets.all(position, principal).map(assetEventOf),

    /**
     * Events of some kinds, of transactions up to a position: those that name the principal, and those that it logged.
     * What the offset passes over is only counted.
     */
    newest(
      principal: number,
      kinds: readonly TransactionEvent['kind'][],
      last: number,
      limit: number,
      offset: number,
    ): PlacedEvent[] {
      const mask = kindMask(kinds);
      const found: PlacedEvent<TransactionEvent>[] = [];
      let left = offset;
      for (const { position } of transactions.iterate(principal, last, mask)) {
        if (found.length >= limit) break;
        if (left > 0) {
          const passed = count.get(position, principal, mask)?.found ?? 0;
          if (passed <= left) {
            left -= passed;
            continue;
          }
        }
        const txId = txIdAt.get(position)?.tx_id ?? new Uint8Array(0);
        for (const row of newestFirst.all(position, principal, mask).slice(left))
          found.push({ txId, event: eventOf(row) });
        left = 0;
      }
      return found.slice(0, limit);
    },
  };
}
