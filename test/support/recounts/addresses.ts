/** Recounts the numbers that lists of addresses and tokens by offset need, from events. */

import { SEND_MANY } from '../../../src/chain/memo-transfers.ts';
import { positionText } from '../../../src/chain/position.ts';
import { AFFECTED, EVENT_KIND, PAYLOAD, TOKEN } from '../../../src/store/rows/enums.ts';
import { decimalOf } from '../../../src/store/rows/formats.ts';
import type { Stored } from '../../../src/store/rows/statement.ts';
import { atTip, equal, none, type Recount } from './recount.ts';

/** The principals of asset events, each once for an event. */
const parties = `
  SELECT sender_id AS principal_id, position FROM events WHERE kind >= ${EVENT_KIND.stx_transfer} AND sender_id IS NOT NULL
   UNION ALL
  SELECT recipient_id, position FROM events
   WHERE kind >= ${EVENT_KIND.stx_transfer} AND recipient_id IS NOT NULL AND recipient_id IS NOT sender_id`;

interface TransferRow extends Stored<'events', 'position' | 'event_index'> {
  address: string;
  memo: Uint8Array | null;
  printer: string | null;
  /** `printed` of the stored row; null if there is none. */
  stored: number | null;
}

/** Transfers in transactions of other types, with their stored memo rows. */
const transfers = `
  SELECT r.address, e.position, e.event_index, e.value AS memo, p.address AS printer, m.printed AS stored
    FROM events e JOIN principals r ON r.id = e.recipient_id JOIN transactions t ON t.position = e.position
    LEFT JOIN events n ON n.position = e.position AND n.event_index = e.event_index + 1 AND n.kind = ${EVENT_KIND.log}
    LEFT JOIN principals p ON p.id = n.contract_id
    LEFT JOIN memo_transfers m ON m.principal_id = e.recipient_id AND m.position = e.position AND m.event_index = e.event_index
   WHERE e.kind = ${EVENT_KIND.stx_transfer} AND t.type <> ${PAYLOAD.token_transfer} AND e.recipient_id IS NOT NULL`;

/** Memo rows without such a transfer. */
const strayMemos = `
  SELECT p.address, m.position, m.event_index FROM memo_transfers m JOIN principals p ON p.id = m.principal_id
    LEFT JOIN events e ON e.position = m.position AND e.event_index = m.event_index
    LEFT JOIN transactions t ON t.position = m.position
   WHERE e.kind IS NOT ${EVENT_KIND.stx_transfer} OR e.recipient_id IS NOT m.principal_id
      OR t.type IS NULL OR t.type = ${PAYLOAD.token_transfer}`;

const memoTransfers: Recount = {
  name: 'transfers with a memo against their events',
  *find(db) {
    const events = db.query<TransferRow, []>(transfers);
    for (const { address, position, event_index, memo, printer, stored } of events.iterate()) {
      const printed = printer !== null && SEND_MANY.has(printer);
      const expected = printed || (memo !== null && memo.length > 0) ? Number(printed) : null;
      if (stored !== expected)
        yield `${address}, ${positionText(position)}, event ${event_index}: stored ${stored}, recomputed ${expected}`;
    }
    const stray = db.query<Omit<TransferRow, 'memo' | 'printer' | 'stored'>, []>(strayMemos);
    for (const { address, position, event_index } of stray.iterate()) {
      yield `${address}, ${positionText(position)}, event ${event_index}: there is no such transfer`;
    }
  },
};

const stxBalances: Recount = {
  name: 'sum of STX balances',
  find(db) {
    let counted = 0n;
    for (const { balance } of db.query<Stored<'accounts', 'balance'>, []>('SELECT balance FROM accounts').iterate()) {
      counted += BigInt(decimalOf(balance));
    }
    const stored = String(db.query<{ stored: unknown }, []>(`SELECT ${atTip('stx_balances')} AS stored`).get()?.stored);
    return stored === String(counted) ? [] : [`stored ${stored}, recomputed ${counted}`];
  },
};

export const addressChecks: readonly Recount[] = [
  none(
    'asset events of each principal in each transaction',
    `SELECT p.address, pt.position FROM principal_transactions pt JOIN principals p ON p.id = pt.principal_id
       LEFT JOIN (SELECT principal_id, position, count(*) AS counted FROM (${parties}) GROUP BY 1, 2) n
              ON n.principal_id = pt.principal_id AND n.position = pt.position
      WHERE pt.events <> coalesce(n.counted, 0)`,
  ),
  none(
    'who is the sponsor and nothing else',
    `SELECT p.address, pt.position FROM principal_transactions pt JOIN principals p ON p.id = pt.principal_id
       JOIN transactions t ON t.position = pt.position
      WHERE (pt.affected & ${AFFECTED.sponsorOnly} <> 0) <>
            (t.sponsor_id IS pt.principal_id AND t.sender_id <> pt.principal_id
               AND (t.type <> ${PAYLOAD.token_transfer} OR t.recipient_id IS NOT pt.principal_id)
               AND t.contract_id IS NOT pt.principal_id AND pt.events = 0)`,
  ),
  none(
    'moves of the STX of each principal',
    `SELECT a.address, a.stx_moves AS stored, a.rewards + count(pt.position) AS counted FROM accounts a
       LEFT JOIN principal_transactions pt ON pt.principal_id = a.principal_id AND pt.affected & ${AFFECTED.stxMoved}
      GROUP BY a.principal_id HAVING a.stx_moves <> a.rewards + count(pt.position)`,
  ),
  equal(
    'total of accounts that had STX',
    `SELECT ${atTip('stx_accounts')} AS stored, (SELECT count(*) FROM accounts WHERE stx_moves > 0) AS counted`,
  ),
  stxBalances,
  none(
    'accounts of fungible tokens',
    `SELECT a.identifier FROM asset_totals f JOIN assets a ON a.id = f.asset_id
      WHERE f.token = ${TOKEN.ft} AND f.accounts <> (SELECT count(*) FROM ft_balances b WHERE b.asset_id = f.asset_id)`,
  ),
  none(
    'mints, instances, holders and events of each collection',
    `SELECT a.identifier FROM assets a
       LEFT JOIN (SELECT asset_id, sum(kind = ${EVENT_KIND.nft_mint}) AS mints, count(*) AS events FROM events
                   WHERE kind >= ${EVENT_KIND.nft_transfer} GROUP BY asset_id) e ON e.asset_id = a.id
       LEFT JOIN (SELECT asset_id, count(owner_id) AS instances, count(DISTINCT owner_id) AS holders FROM nft_instances
                   GROUP BY asset_id) i ON i.asset_id = a.id
       LEFT JOIN asset_totals t ON t.asset_id = a.id AND t.token = ${TOKEN.nft}
      WHERE (t.mints, CAST(t.supply AS INTEGER), t.holders, t.events) IS NOT (e.mints, i.instances, i.holders, e.events)`,
  ),
  memoTransfers,
];
