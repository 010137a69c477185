/** Recounts checkpoints of accounts and tokens from the whole history of each account. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../../src/chain/position.ts';
import { AFFECTED, PAYLOAD } from '../../../src/store/rows/enums.ts';
import { heightIn } from '../../../src/store/rows/expressions.ts';
import { CHECKPOINT_EVERY, decimalOf } from '../../../src/store/rows/formats.ts';
import type { Stored } from '../../../src/store/rows/statement.ts';
import type { Recount } from './recount.ts';

interface HistoryRow extends Stored<'principal_transactions', 'events'> {
  height: number;
  /** Null for a row that isn't a transaction of the account. */
  affected: number | null;
  /** Items that the row adds to the count of the next checkpoint: 1 for a transaction or a reward, else 0. */
  counts: number;
  locks: number;
  inbound: number;
  sent: string;
  received: string;
  fee: string;
  /** Decimal; -1 if no nonce was spent. */
  nonce: string;
  mined: string;
}

/** Rows of an account that add to one column only. */
const rowsOf = (column: 'locks' | 'inbound', from: string): string =>
  `SELECT ${heightIn('position')}, NULL, 0, 0, ${Number(column === 'locks')}, ${Number(column === 'inbound')},
          '0', '0', 'A0', '-1', '0' FROM ${from}`;

/** The rows that the checkpoints of an account are sums of, by height. */
const historyRows = `
  SELECT ${heightIn('pt.position')} AS height, pt.affected, 1 AS counts, pt.events, 0 AS locks, 0 AS inbound,
         pt.stx_sent AS sent, pt.stx_received AS received,
         iif(coalesce(t.sponsor_id, t.sender_id) = ?1, t.fee, 'A0') AS fee,
         CAST(max(iif(t.sender_id = ?1, coalesce(t.nonce, -1), -1),
                  iif(t.sponsor_id = ?1, coalesce(t.sponsor_nonce, -1), -1)) AS TEXT) AS nonce, '0' AS mined
    FROM principal_transactions pt JOIN transactions t ON t.position = pt.position WHERE pt.principal_id = ?1
   UNION ALL
  SELECT height, NULL, 1, 0, 0, 0, '0', '0', 'A0', '-1',
         coinbase || ' ' || fees_anchored || ' ' || fees_streamed_confirmed || ' ' || fees_streamed_produced
    FROM miner_rewards WHERE recipient_id = ?1
   UNION ALL ${rowsOf('locks', 'stx_locks WHERE principal_id = ?1 AND amount IS NOT NULL')}
   UNION ALL ${rowsOf('inbound', 'memo_transfers WHERE principal_id = ?1')}
   UNION ALL ${rowsOf('inbound', `transactions WHERE recipient_id = ?1 AND type = ${PAYLOAD.token_transfer}`)}
   ORDER BY height`;

const stored = `
  SELECT height, transactions, sponsored_only, events, locks, inbound, CAST(last_nonce AS TEXT) AS last_nonce,
         sent, received, fees, mined
    FROM account_checkpoints WHERE principal_id = ?1 ORDER BY height`;

/** Less than every nonce. */
const NO_NONCE = -1n;

/** The expected checkpoints of an account. */
function recompute(items: Iterable<HistoryRow>, every: number): (string | number | null)[][] {
  const rows: (string | number | null)[][] = [];
  let [height, count, counted] = [-1, 0, 0];
  let [transactions, sponsoredOnly, events, locks, inbound] = [0, 0, 0, 0, 0];
  let lastNonce = NO_NONCE;
  let [sent, received, fees, mined] = [0n, 0n, 0n, 0n];
  const finish = () => {
    if (Math.floor(count / every) !== Math.floor(counted / every)) {
      const nonce = lastNonce === NO_NONCE ? null : String(lastNonce);
      const amounts = [sent - fees, received, fees, mined].map(String);
      rows.push([height, transactions, sponsoredOnly, events, locks, inbound, nonce, ...amounts]);
    }
    counted = count;
  };
  for (const row of items) {
    if (row.height !== height) finish();
    height = row.height;
    count += row.counts;
    if (row.affected !== null) transactions += 1;
    if (((row.affected ?? 0) & AFFECTED.sponsorOnly) !== 0) sponsoredOnly += 1;
    events += row.events;
    locks += row.locks;
    inbound += row.inbound;
    const nonce = BigInt(row.nonce);
    if (nonce > lastNonce) lastNonce = nonce;
    sent += BigInt(row.sent);
    received += BigInt(row.received);
    fees += BigInt(decimalOf(row.fee));
    for (const part of row.mined.split(' ')) mined += BigInt(part);
  }
  finish();
  return rows;
}

type Change = Stored<'token_changes', 'token' | 'asset_id' | 'position' | 'sent' | 'received'>;

/** The expected checkpoints of an account's tokens. @param heights of the account's own checkpoints */
function recomputedTokens(changes: Iterable<Change>, heights: readonly number[]): string[] {
  const sums = new Map<string, { sent: bigint; received: bigint }>();
  const changed = new Set<string>();
  const rows: string[] = [];
  let next = 0;
  const finish = (before: number) => {
    for (let height = heights[next]; height !== undefined && height < before; height = heights[next]) {
      for (const key of changed) rows.push(`${key} ${height} ${sums.get(key)?.sent} ${sums.get(key)?.received}`);
      changed.clear();
      next += 1;
    }
  };
  for (const { token, asset_id, position, sent, received } of changes) {
    finish(heightOf(position));
    const key = `${token} ${asset_id}`;
    const sum = sums.get(key) ?? { sent: 0n, received: 0n };
    sums.set(key, sum);
    sum.sent += BigInt(sent);
    sum.received += BigInt(received);
    changed.add(key);
  }
  finish(Number.POSITIVE_INFINITY);
  return rows.sort();
}

/** Problems of the checkpoints. @param every number of transactions and rewards between two checkpoints */
export function* checkpointProblems(db: Database, every: number): Generator<string> {
  const entries = db.query<HistoryRow, [number]>(historyRows);
  const rows = db.query<Record<string, string | number | null>, [number]>(stored);
  const changes = db.query<Change, [number]>(
    'SELECT token, asset_id, position, sent, received FROM token_changes WHERE principal_id = ?1 ORDER BY position',
  );
  const tokenRows = db.query<{ row: string }, [number]>(
    `SELECT token || ' ' || asset_id || ' ' || height || ' ' || sent || ' ' || received AS row
       FROM token_checkpoints WHERE principal_id = ?1`,
  );
  const accounts = db.query<Stored<'principals', 'address'> & { principal_id: number }, []>(
    `SELECT p.id AS principal_id, p.address FROM principals p LEFT JOIN accounts a ON a.principal_id = p.id
      WHERE a.transactions + a.rewards >= ${every}
         OR EXISTS (SELECT 1 FROM account_checkpoints c WHERE c.principal_id = p.id)
         OR EXISTS (SELECT 1 FROM token_checkpoints c WHERE c.principal_id = p.id)`,
  );
  for (const { principal_id, address } of accounts.all()) {
    const expected = recompute(entries.iterate(principal_id), every);
    const stored = rows.all(principal_id).map((row) => Object.values(row));
    if (JSON.stringify(stored) !== JSON.stringify(expected)) yield `the checkpoints of ${address} are off`;
    const heights = expected.map(([height]) => Number(height));
    const tokens = tokenRows.all(principal_id).map(({ row }) => row);
    const expectedTokens = recomputedTokens(changes.iterate(principal_id), heights);
    if (JSON.stringify(tokens.sort()) !== JSON.stringify(expectedTokens)) {
      yield `the checkpoints of tokens of ${address} are off`;
    }
  }
}

export const checkpointCheck: Recount = {
  name: 'checkpoints of accounts and their tokens',
  find: (db) => checkpointProblems(db, CHECKPOINT_EVERY),
};
