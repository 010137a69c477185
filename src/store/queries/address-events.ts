/** Events that a principal took part in: of one transaction, and all of them, newest first. */
import type { Database } from 'bun:sqlite';
import type { Turns } from '../../base/turns.ts';
import type { AssetEvent, PlacedEvent, TransactionEvent } from '../model/event.ts';
import { TooMuchWorkError, prepared } from '../rows/statement.ts';
import { EVENT_KIND, TOKEN, kindMask } from '../rows/words.ts';
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
  ].join(' UNION ')} ORDER BY position DESC LIMIT ?4`,
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

/** The most transactions whose events a request counts to find its page. */
const MOST_LOOKED_AT = 20_000;
/** Transactions that are read at once. */
const STRETCH = 100;

export type AddressEventQueries = ReturnType<typeof addressEventQueries>;

/**
 * @param turns shares the thread
 * @param most transactions that are looked at; others than usual are for tests
 */
export function addressEventQueries(db: Database, turns: Turns, most = MOST_LOOKED_AT) {
  const transactions = prepared<{ position: number }, [number, number, number, number]>(db, sql.transactions);
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
     * @throws TooMuchWorkError where too many transactions must be looked at to find the page
     */
    async newest(
      principal: number,
      kinds: readonly TransactionEvent['kind'][],
      last: number,
      limit: number,
      offset: number,
    ): Promise<PlacedEvent[]> {
      const mask = kindMask(kinds);
      const pause = turns.longWork();
      const stretch = Math.min(STRETCH, limit + offset + 1);
      const found: PlacedEvent<TransactionEvent>[] = [];
      let [end, looked, left] = [last, 0, offset];
      for (;;) {
        const positions = transactions.all(principal, end, mask, stretch);
        for (const { position } of positions) {
          if (found.length >= limit) return found.slice(0, limit);
          if (looked === most) throw tooManyBefore(most);
          looked += 1;
          await pause();
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
        if (positions.length < stretch) return found.slice(0, limit);
        end = (positions.at(-1)?.position ?? 0) - 1;
      }
    },
  };
}

const tooManyBefore = (most: number): TooMuchWorkError =>
  new TooMuchWorkError(
    `querystring/offset must be lower: the page is not among the events of the newest ${most} transactions`,
  );
