/** Recounts balances, holders, instances and totals of lists from events. */
import type { Database } from 'bun:sqlite';
import { EVENT_KIND, TOKEN } from '../../../src/store/rows/enums.ts';
import { decimalOf, isPositive } from '../../../src/store/rows/formats.ts';
import type { Stored } from '../../../src/store/rows/statement.ts';
import { atTip, equal, none, type Recount } from './recount.ts';

interface FtRow extends Stored<'events', 'sender_id' | 'recipient_id'> {
  asset_id: number;
  amount: string;
}

/** Kinds 6 to 8 of events are transfer, mint and burn of fungible tokens. */
const ftEvents = `SELECT asset_id, sender_id, recipient_id, amount FROM events WHERE kind BETWEEN ${EVENT_KIND.ft_transfer} AND ${EVENT_KIND.ft_burn}`;

/** Problems of balances and tokens, in one walk over the events. */
function* ftProblems(db: Database): Generator<string> {
  const balances = new Map<string, { balance: bigint; transfers: number }>();
  const tokens = new Map<number, { supply: bigint; events: number; holders: number }>();
  const balance = (asset: number, principal: number) => {
    const key = `${asset} ${principal}`;
    let sum = balances.get(key);
    if (sum === undefined) {
      sum = { balance: 0n, transfers: 0 };
      balances.set(key, sum);
    }
    return sum;
  };
  for (const { asset_id, sender_id, recipient_id, amount } of db.query<FtRow, []>(ftEvents).iterate()) {
    const token = tokens.get(asset_id) ?? { supply: 0n, events: 0, holders: 0 };
    tokens.set(asset_id, token);
    token.events += 1;
    const moved = BigInt(amount);
    token.supply += (sender_id === null ? moved : 0n) - (recipient_id === null ? moved : 0n);
    if (sender_id !== null) {
      const sender = balance(asset_id, sender_id);
      sender.balance -= moved;
      sender.transfers += 1;
    }
    if (recipient_id !== null) {
      const recipient = balance(asset_id, recipient_id);
      recipient.balance += moved;
      if (recipient_id !== sender_id) recipient.transfers += 1;
    }
  }
  const rows = db.query<
    { asset_id: number; principal_id: number; balance: string; transfers: number; address: string; identifier: string },
    []
  >('SELECT asset_id, principal_id, balance, transfers, address, identifier FROM ft_balances');
  for (const row of rows.iterate()) {
    const key = `${row.asset_id} ${row.principal_id}`;
    const counted = balances.get(key);
    balances.delete(key);
    const stored = decimalOf(row.balance);
    if (counted === undefined || counted.balance !== BigInt(stored) || counted.transfers !== row.transfers) {
      yield `${row.address} of ${row.identifier}: stored ${stored} by ${row.transfers} events, ` +
        `recomputed ${counted?.balance ?? 0n} by ${counted?.transfers ?? 0}`;
    }
    const token = tokens.get(row.asset_id);
    if (token !== undefined && isPositive(row.balance)) token.holders += 1;
  }
  const textOf = {
    address: db.query<Stored<'principals', 'address'>, [number]>('SELECT address FROM principals WHERE id = ?1'),
    identifier: db.query<Stored<'assets', 'identifier'>, [number]>('SELECT identifier FROM assets WHERE id = ?1'),
  };
  const assetOf = (id: number): string => textOf.identifier.get(id)?.identifier ?? `asset ${id}`;
  for (const key of balances.keys()) {
    const [asset = 0, principal = 0] = key.split(' ').map(Number);
    yield `${textOf.address.get(principal)?.address ?? principal} of ${assetOf(asset)}: no balance is stored`;
  }
  const stored = db.query<Stored<'asset_totals', 'asset_id' | 'supply' | 'holders' | 'events'>, []>(
    `SELECT asset_id, supply, holders, events FROM asset_totals WHERE token = ${TOKEN.ft}`,
  );
  for (const { asset_id, ...row } of stored.iterate()) {
    const token = tokens.get(asset_id);
    tokens.delete(asset_id);
    if (BigInt(row.supply) !== token?.supply || row.holders !== token.holders || row.events !== token.events) {
      yield `${assetOf(asset_id)}: stored supply ${row.supply}, ${row.holders} holders, ${row.events} events, ` +
        `recomputed ${token?.supply ?? 0n}, ${token?.holders ?? 0}, ${token?.events ?? 0}`;
    }
  }
  for (const asset of tokens.keys()) yield `${assetOf(asset)} has events and no token is stored`;
}

/** Makes a check of a total in accounts against a list's rows. @param list a query of principal_id, one row an item */
const accountTotal = (name: string, column: string, list: string): Recount =>
  none(
    name,
    `SELECT a.address, a.${column} AS stored, coalesce(n.counted, 0) AS counted FROM accounts a
       LEFT JOIN (SELECT principal_id, count(*) AS counted FROM (${list}) GROUP BY principal_id) n
              ON n.principal_id = a.principal_id
      WHERE a.${column} <> coalesce(n.counted, 0)`,
  );

export const tokenChecks: readonly Recount[] = [
  { name: 'balances, supply and holders of fungible tokens against their events', find: ftProblems },
  equal(
    'total of STX holders',
    `SELECT ${atTip('stx_holders')} AS stored, (SELECT count(*) FROM accounts WHERE balance > 'A0') AS counted`,
  ),
  accountTotal(
    'STX each principal received',
    'stx_inbound',
    `SELECT recipient_id AS principal_id FROM events WHERE kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_mint})`,
  ),
  accountTotal(
    'STX each principal sent',
    'stx_outbound',
    `SELECT sender_id AS principal_id FROM events WHERE kind IN (${EVENT_KIND.stx_transfer}, ${EVENT_KIND.stx_burn})`,
  ),
  accountTotal(
    'fungible tokens of each principal',
    'ft_tokens',
    `SELECT principal_id FROM ft_balances WHERE balance > 'A0'`,
  ),
  accountTotal(
    'instances each principal owns',
    'nfts',
    'SELECT owner_id AS principal_id FROM nft_instances WHERE owner_id IS NOT NULL',
  ),
  none(
    'owner and events of each instance',
    `SELECT a.identifier, i.value FROM nft_instances i JOIN assets a ON a.id = i.asset_id
      WHERE i.events <> (SELECT count(*) FROM events e
                          WHERE e.asset_id = i.asset_id AND e.value = i.value AND e.kind >= ${EVENT_KIND.nft_transfer})
         OR i.owner_id IS NOT (SELECT e.recipient_id FROM events e
                                WHERE e.asset_id = i.asset_id AND e.value = i.value AND e.kind >= ${EVENT_KIND.nft_transfer}
                                ORDER BY e.position DESC, e.event_index DESC LIMIT 1)`,
  ),
  none(
    'holdings of each owner',
    `SELECT h.identifier, p.address FROM nft_holdings h JOIN principals p ON p.id = h.owner_id
      WHERE h.instances <> (SELECT count(*) FROM nft_instances i
                             WHERE i.owner_id = h.owner_id AND i.asset_id = h.asset_id)`,
  ),
  none(
    'token changes of each transaction',
    `SELECT e.position, p.address, a.identifier FROM (
       SELECT position, sender_id AS principal_id, asset_id FROM events WHERE kind >= ${EVENT_KIND.ft_transfer} AND sender_id IS NOT NULL
       UNION ALL SELECT position, recipient_id, asset_id FROM events WHERE kind >= ${EVENT_KIND.ft_transfer} AND recipient_id IS NOT NULL
     ) e JOIN principals p ON p.id = e.principal_id JOIN assets a ON a.id = e.asset_id WHERE NOT EXISTS (SELECT 1 FROM token_changes c WHERE c.principal_id = e.principal_id
                             AND c.position = e.position AND c.asset_id = e.asset_id)`,
  ),
  none(
    'pending transactions of each principal',
    `SELECT p.address, n.counted, coalesce(c.transactions, 0) AS stored
       FROM (SELECT principal_id, count(*) AS counted FROM pending_principals GROUP BY principal_id) n
       JOIN principals p ON p.id = n.principal_id LEFT JOIN pending_counts c ON c.principal_id = n.principal_id
      WHERE n.counted <> coalesce(c.transactions, 0)`,
  ),
];
