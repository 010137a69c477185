/** Balances and the supply of STX against the events, fees and rewards that they are made of. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import { decimalOf } from '../rows/amounts.ts';
import { EVENT_KIND } from '../rows/words.ts';
import { type CheckResult, shown } from './result.ts';

const stxEvents = `SELECT position, kind, sender_id, recipient_id, amount FROM events WHERE kind BETWEEN ${EVENT_KIND.stx_transfer} AND ${EVENT_KIND.stx_burn}`;

/** Each principal's balance from the events, fees and rewards it is made of; micro-STX. */
function recomputedBalances(db: Database): Map<number, bigint> {
  const balances = new Map<number, bigint>();
  const move = (principal: number | null, amount: bigint) => {
    if (principal !== null) balances.set(principal, (balances.get(principal) ?? 0n) + amount);
  };
  const events = db.query<{ sender_id: number | null; recipient_id: number | null; amount: string }, []>(stxEvents);
  for (const { sender_id, recipient_id, amount } of events.iterate()) {
    move(sender_id, -BigInt(amount));
    move(recipient_id, BigInt(amount));
  }
  const fees = db.query<{ payer: number; fee: string }, []>(
    'SELECT coalesce(sponsor_id, sender_id) AS payer, fee FROM transactions',
  );
  for (const { payer, fee } of fees.iterate()) move(payer, -BigInt(decimalOf(fee)));
  const rewards = db.query<{ recipient_id: number; amounts: string }, []>(
    `SELECT recipient_id, coinbase || ' ' || fees_anchored || ' ' || fees_streamed_confirmed || ' ' ||
            fees_streamed_produced AS amounts FROM miner_rewards`,
  );
  for (const { recipient_id, amounts } of rewards.iterate()) {
    for (const amount of amounts.split(' ')) move(recipient_id, BigInt(amount));
  }
  return balances;
}

function balances(db: Database): CheckResult {
  const expected = recomputedBalances(db);
  const problems: string[] = [];
  const accounts = db.query<{ principal_id: number; address: string; balance: string }, []>(
    'SELECT a.principal_id, p.address, a.balance FROM accounts a JOIN principals p ON p.id = a.principal_id',
  );
  for (const { principal_id, address, balance } of accounts.iterate()) {
    const kept = BigInt(decimalOf(balance));
    const counted = expected.get(principal_id) ?? 0n;
    if (kept !== counted) problems.push(`${address}: kept ${kept}, recomputed ${counted}`);
    expected.delete(principal_id);
  }
  for (const [principal, counted] of expected)
    problems.push(`principal ${principal} has no account; recomputed ${counted}`);
  return { name: 'STX balances against events, fees and rewards', problems: shown(problems) };
}

function supply(db: Database): CheckResult {
  let counted = 0n;
  const events = db.query<{ kind: number; amount: string }, []>(stxEvents);
  for (const { kind, amount } of events.iterate()) {
    if (kind === EVENT_KIND.stx_mint) counted += BigInt(amount);
    else if (kind === EVENT_KIND.stx_burn) counted -= BigInt(amount);
  }
  for (const { coinbase } of db.query<{ coinbase: string }, []>('SELECT coinbase FROM miner_rewards').iterate()) {
    counted += BigInt(coinbase);
  }
  const kept = db.query<{ stx_supply: string }, []>('SELECT stx_supply FROM totals').get()?.stx_supply;
  return {
    name: 'STX supply against mints, burns and coinbases',
    problems: kept === counted.toString() ? [] : [`kept ${kept}, recomputed ${counted}`],
  };
}

/** The supply after each block that moved it, from the mints, burns and coinbases of each. */
function supplies(db: Database): CheckResult {
  const moved = new Map<number, bigint>();
  const move = (height: number, amount: bigint) => moved.set(height, (moved.get(height) ?? 0n) + amount);
  const events = db.query<{ position: number; kind: number; amount: string }, []>(stxEvents);
  for (const { position, kind, amount } of events.iterate()) {
    if (kind !== EVENT_KIND.stx_transfer)
      move(heightOf(position), kind === EVENT_KIND.stx_mint ? BigInt(amount) : -BigInt(amount));
  }
  const rewards = db.query<{ height: number; coinbase: string }, []>('SELECT height, coinbase FROM miner_rewards');
  for (const { height, coinbase } of rewards.iterate()) move(height, BigInt(coinbase));
  const expected = new Map<number, bigint>();
  let supply = 0n;
  for (const [height, amount] of [...moved].sort(([a], [b]) => a - b)) {
    supply += amount;
    if (amount !== 0n) expected.set(height, supply);
  }
  const problems: string[] = [];
  const rows = db.query<{ height: number; supply: string }, []>('SELECT height, supply FROM stx_supplies');
  for (const row of rows.iterate()) {
    const counted = expected.get(row.height);
    if (counted !== BigInt(row.supply))
      problems.push(`height ${row.height}: kept ${row.supply}, recomputed ${counted}`);
    expected.delete(row.height);
  }
  for (const [height, counted] of expected) problems.push(`height ${height}: none kept, recomputed ${counted}`);
  return { name: 'STX supply after each block', problems: shown(problems) };
}

export const checkBalances = (db: Database): CheckResult[] => [balances(db), supply(db), supplies(db)];
