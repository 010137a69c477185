/** What the lists of addresses and tokens by offset are counted by, against the events they are made of. */
import type { Database } from 'bun:sqlite';
import { isSendMany } from '../../chain/memo-transfers.ts';
import { decimalOf } from '../rows/amounts.ts';
import { AFFECTED, EVENT_KIND, PAYLOAD } from '../rows/words.ts';
import { type CheckResult, equal, none, shown } from './result.ts';

/** Asset events by who took part in them, once each. */
const parties = `
  SELECT sender_id AS principal_id, position FROM events WHERE kind >= ${EVENT_KIND.stx_transfer} AND sender_id IS NOT NULL
   UNION ALL
  SELECT recipient_id, position FROM events
   WHERE kind >= ${EVENT_KIND.stx_transfer} AND recipient_id IS NOT NULL AND recipient_id IS NOT sender_id`;

interface TransferRow {
  recipient_id: number;
  position: number;
  event_index: number;
  memo: Uint8Array | null;
  printer: string | null;
}

function memoTransfers(db: Database): CheckResult {
  const expected: string[] = [];
  const events = db.query<TransferRow, []>(
    `SELECT e.recipient_id, e.position, e.event_index, e.value AS memo, p.address AS printer
       FROM events e JOIN transactions t ON t.position = e.position
       LEFT JOIN events n ON n.position = e.position AND n.event_index = e.event_index + 1 AND n.kind = ${EVENT_KIND.log}
       LEFT JOIN principals p ON p.id = n.contract_id
      WHERE e.kind = ${EVENT_KIND.stx_transfer} AND t.type <> ${PAYLOAD.token_transfer} AND e.recipient_id IS NOT NULL`,
  );
  for (const { recipient_id, position, event_index, memo, printer } of events.iterate()) {
    const printed = printer !== null && isSendMany(printer);
    if (!printed && (memo === null || memo.length === 0)) continue;
    expected.push(`${recipient_id} ${position} ${event_index} ${Number(printed)}`);
  }
  const kept = db
    .query<{ row: string }, []>(
      `SELECT principal_id || ' ' || position || ' ' || event_index || ' ' || printed AS row FROM memo_transfers`,
    )
    .all();
  const wanted = new Set(expected);
  const found = new Set(kept.map(({ row }) => row));
  return {
    name: 'transfers with a memo against their events',
    problems: shown([
      ...[...wanted.difference(found)].map((row) => `${row} is missing`),
      ...[...found.difference(wanted)].map((row) => `${row} is none`),
    ]),
  };
}

function stxBalances(db: Database): CheckResult {
  let counted = 0n;
  for (const { balance } of db.query<{ balance: string }, []>('SELECT balance FROM accounts').iterate()) {
    counted += BigInt(decimalOf(balance));
  }
  const kept = db.query<{ stx_balances: string }, []>('SELECT stx_balances FROM totals').get()?.stx_balances;
  return {
    name: 'sum of STX balances',
    problems: kept === String(counted) ? [] : [`kept ${kept}, recomputed ${counted}`],
  };
}

export const checkAddresses = (db: Database): CheckResult[] => [
  none<{ address: string; position: number }>(
    db,
    'asset events of each principal in each transaction',
    `SELECT p.address, pt.position FROM principal_transactions pt JOIN principals p ON p.id = pt.principal_id
       LEFT JOIN (SELECT principal_id, position, count(*) AS counted FROM (${parties}) GROUP BY 1, 2) n
              ON n.principal_id = pt.principal_id AND n.position = pt.position
      WHERE pt.events <> coalesce(n.counted, 0)`,
    ({ address, position }) => `${address}: the count of the transaction at ${position} is off`,
  ),
  none<{ address: string; position: number }>(
    db,
    'who is the sponsor and nothing else',
    `SELECT p.address, pt.position FROM principal_transactions pt JOIN principals p ON p.id = pt.principal_id
       JOIN transactions t ON t.position = pt.position
      WHERE (pt.affected & ${AFFECTED.sponsorOnly} <> 0) <>
            (t.sponsor_id IS pt.principal_id AND t.sender_id <> pt.principal_id
               AND (t.type <> ${PAYLOAD.token_transfer} OR t.recipient_id IS NOT pt.principal_id)
               AND t.contract_id IS NOT pt.principal_id AND pt.events = 0)`,
    ({ address, position }) => `${address}: its part in the transaction at ${position} is another`,
  ),
  none<{ address: string; kept: number; counted: number }>(
    db,
    'moves of the STX of each principal',
    `SELECT a.address, a.stx_moves AS kept, a.rewards + count(pt.position) AS counted FROM accounts a
       LEFT JOIN principal_transactions pt ON pt.principal_id = a.principal_id AND pt.affected & ${AFFECTED.stxMoved}
      GROUP BY a.principal_id HAVING a.stx_moves <> a.rewards + count(pt.position)`,
    ({ address, kept, counted }) => `${address}: kept ${kept}, counted ${counted}`,
  ),
  equal(
    db,
    'total of accounts that had STX',
    'SELECT stx_accounts AS kept, (SELECT count(*) FROM accounts WHERE stx_moves > 0) AS counted FROM totals',
  ),
  stxBalances(db),
  none<{ identifier: string }>(
    db,
    'accounts of fungible tokens',
    `SELECT a.identifier FROM ft_tokens f JOIN assets a ON a.id = f.asset_id
      WHERE f.accounts <> (SELECT count(*) FROM ft_balances b WHERE b.asset_id = f.asset_id)`,
    ({ identifier }) => `the count of accounts of ${identifier} is off`,
  ),
  none<{ asset_id: number }>(
    db,
    'mints of non-fungible tokens',
    `SELECT n.asset_id FROM (SELECT asset_id, count(*) AS counted FROM events WHERE kind = ${EVENT_KIND.nft_mint} GROUP BY asset_id) n
       LEFT JOIN nft_mints m ON m.asset_id = n.asset_id WHERE n.counted IS NOT m.mints
      UNION ALL
     SELECT asset_id FROM nft_mints m
      WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.asset_id = m.asset_id AND e.kind = ${EVENT_KIND.nft_mint})`,
    ({ asset_id }) => `the count of mints of asset ${asset_id} is off`,
  ),
  memoTransfers(db),
];
