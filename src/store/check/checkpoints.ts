/** Checkpoints of accounts and tokens, against the whole history of each account that has one. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import { CHECKPOINT_EVERY } from '../queries/account-states.ts';
import { decimalOf } from '../rows/amounts.ts';
import { heightIn } from '../rows/position-sql.ts';
import { AFFECTED, PAYLOAD } from '../rows/words.ts';
import { type CheckResult, shown } from './result.ts';

interface Entry {
  height: number;
  affected: number;
  events: number;
  sent: string;
  received: string;
  fee: string;
  /** Decimal; -1 where it used none. */
  nonce: string;
  mined: string;
}

/** Transactions and rewards of an account, in the order of their heights. */
const entriesOf = `
  SELECT ${heightIn('pt.position')} AS height, pt.affected, pt.events, pt.stx_sent AS sent, pt.stx_received AS received,
         iif(coalesce(t.sponsor_id, t.sender_id) = ?1, t.fee, 'A0') AS fee,
         CAST(max(iif(t.sender_id = ?1, coalesce(t.nonce, -1), -1),
                  iif(t.sponsor_id = ?1, coalesce(t.sponsor_nonce, -1), -1)) AS TEXT) AS nonce, '0' AS mined
    FROM principal_transactions pt JOIN transactions t ON t.position = pt.position WHERE pt.principal_id = ?1
   UNION ALL
  SELECT height, NULL, 0, '0', '0', 'A0', '-1',
         coinbase || ' ' || fees_anchored || ' ' || fees_streamed_confirmed || ' ' || fees_streamed_produced
    FROM miner_rewards WHERE recipient_id = ?1 ORDER BY height`;

const countUpTo = (table: string, and = ''): string =>
  `(SELECT count(*) FROM ${table} l WHERE l.principal_id = c.principal_id AND ${heightIn('l.position')} <= c.height ${and})`;

const transfersUpTo = `(SELECT count(*) FROM transactions t
   WHERE t.type = ${PAYLOAD.token_transfer} AND t.recipient_id = c.principal_id AND ${heightIn('t.position')} <= c.height)`;

const kept = `
  SELECT height, transactions, sponsored_only, events, CAST(last_nonce AS TEXT) AS last_nonce, sent, received, fees, mined,
         locks = ${countUpTo('stx_locks', 'AND l.amount IS NOT NULL')}
           AND inbound = ${countUpTo('memo_transfers')} + ${transfersUpTo} AS counts
    FROM account_checkpoints c WHERE principal_id = ?1 ORDER BY height`;

/** Less than every nonce. */
const NO_NONCE = -1n;

/** The checkpoints that an account should have. */
function recomputed(entries: Iterable<Entry>, every: number): (string | number | null)[][] {
  const rows: (string | number | null)[][] = [];
  let [height, count, counted] = [-1, 0, 0];
  let [transactions, sponsoredOnly, events] = [0, 0, 0];
  let lastNonce = NO_NONCE;
  let [sent, received, fees, mined] = [0n, 0n, 0n, 0n];
  const finish = () => {
    if (Math.floor(count / every) !== Math.floor(counted / every)) {
      const nonce = lastNonce === NO_NONCE ? null : String(lastNonce);
      const amounts = [sent - fees, received, fees, mined].map(String);
      rows.push([height, transactions, sponsoredOnly, events, nonce, ...amounts, 1]);
    }
    counted = count;
  };
  for (const entry of entries) {
    if (entry.height !== height) finish();
    height = entry.height;
    count += 1;
    if (entry.affected !== null) transactions += 1;
    if (((entry.affected ?? 0) & AFFECTED.sponsorOnly) !== 0) sponsoredOnly += 1;
    events += entry.events;
    const nonce = BigInt(entry.nonce);
    if (nonce > lastNonce) lastNonce = nonce;
    sent += BigInt(entry.sent);
    received += BigInt(entry.received);
    fees += BigInt(decimalOf(entry.fee));
    for (const part of entry.mined.split(' ')) mined += BigInt(part);
  }
  finish();
  return rows;
}

interface Change {
  token: number;
  asset_id: number;
  position: number;
  sent: string;
  received: string;
}

/** The checkpoints that an account's tokens should have. @param heights of the account's own */
function recomputedTokens(changes: Iterable<Change>, heights: readonly number[]): string[] {
  const sums = new Map<string, { sent: bigint; received: bigint; changed: boolean }>();
  const rows: string[] = [];
  const left = [...heights];
  const finish = (before: number) => {
    for (let height = left[0]; height !== undefined && height < before; height = left[0]) {
      for (const [key, sum] of sums) {
        if (sum.changed) rows.push(`${key} ${height} ${sum.sent} ${sum.received}`);
        sum.changed = false;
      }
      left.shift();
    }
  };
  for (const { token, asset_id, position, sent, received } of changes) {
    finish(heightOf(position));
    const key = `${token} ${asset_id}`;
    const known = sums.get(key) ?? { sent: 0n, received: 0n, changed: true };
    sums.set(key, known);
    known.sent += BigInt(sent);
    known.received += BigInt(received);
    known.changed = true;
  }
  finish(Number.POSITIVE_INFINITY);
  return rows.sort();
}

export function checkCheckpoints(db: Database, every: number = CHECKPOINT_EVERY): CheckResult[] {
  const entries = db.query<Entry, [number]>(entriesOf);
  const rows = db.query<Record<string, string | number | null>, [number]>(kept);
  const changes = db.query<Change, [number]>(
    'SELECT token, asset_id, position, sent, received FROM token_changes WHERE principal_id = ?1 ORDER BY position',
  );
  const tokenRows = db.query<{ row: string }, [number]>(
    `SELECT token || ' ' || asset_id || ' ' || height || ' ' || sent || ' ' || received AS row
       FROM token_checkpoints WHERE principal_id = ?1`,
  );
  const accounts = db.query<{ principal_id: number; address: string }, []>(
    `SELECT p.id AS principal_id, p.address FROM principals p LEFT JOIN accounts a ON a.principal_id = p.id
      WHERE a.transactions + a.rewards >= ${every}
         OR EXISTS (SELECT 1 FROM account_checkpoints c WHERE c.principal_id = p.id)
         OR EXISTS (SELECT 1 FROM token_checkpoints c WHERE c.principal_id = p.id)`,
  );
  const problems: string[] = [];
  for (const { principal_id, address } of accounts.all()) {
    const expected = recomputed(entries.iterate(principal_id), every);
    const found = rows.all(principal_id).map((row) => Object.values(row));
    if (JSON.stringify(found) !== JSON.stringify(expected)) problems.push(`the checkpoints of ${address} are off`);
    const heights = expected.map(([height]) => Number(height));
    const tokens = tokenRows.all(principal_id).map(({ row }) => row);
    const expectedTokens = recomputedTokens(changes.iterate(principal_id), heights);
    if (JSON.stringify(tokens.sort()) !== JSON.stringify(expectedTokens)) {
      problems.push(`the checkpoints of tokens of ${address} are off`);
    }
  }
  return [{ name: 'checkpoints of accounts and their tokens', problems: shown(problems) }];
}
