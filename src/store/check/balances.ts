/** Balances and the supply of STX against the events, fees and rewards that they are made of. */
import type { Database } from 'bun:sqlite';
import { heightOf } from '../../chain/position.ts';
import { decimalOf } from '../rows/amounts.ts';
import { firstPositionIn } from '../rows/expressions.ts';
import { EVENT_KIND } from '../rows/words.ts';
import type { Check } from './result.ts';

/** Each principal's balance from the events, fees and rewards it is made of; micro-STX. */
function recomputedBalances(db: Database): Map<number, bigint> {
  const balances = new Map<number, bigint>();
  const move = (principal: number | null, amount: bigint) => {
    if (principal !== null) balances.set(principal, (balances.get(principal) ?? 0n) + amount);
  };
  const events = db.query<{ sender_id: number | null; recipient_id: number | null; amount: string }, []>(
    `SELECT sender_id, recipient_id, amount FROM events
      WHERE kind BETWEEN ${EVENT_KIND.stx_transfer} AND ${EVENT_KIND.stx_burn}`,
  );
  for (const { sender_id, recipient_id, amount } of events.iterate()) {
    const moved = BigInt(amount);
    move(sender_id, -moved);
    move(recipient_id, moved);
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

const balances: Check = {
  name: 'STX balances against events, fees and rewards',
  isLimited: false,
  *find(db) {
    const expected = recomputedBalances(db);
    const accounts = db.query<{ principal_id: number; address: string; balance: string }, []>(
      'SELECT a.principal_id, p.address, a.balance FROM accounts a JOIN principals p ON p.id = a.principal_id',
    );
    for (const { principal_id, address, balance } of accounts.iterate()) {
      const kept = BigInt(decimalOf(balance));
      const counted = expected.get(principal_id) ?? 0n;
      if (kept !== counted) yield `${address}: kept ${kept}, recomputed ${counted}`;
      expected.delete(principal_id);
    }
    for (const [principal, counted] of expected) {
      yield `principal ${principal} has no account; recomputed ${counted}`;
    }
  },
};

const supplyEvents = `
  SELECT position, kind, amount FROM events
   WHERE kind IN (${EVENT_KIND.stx_mint}, ${EVENT_KIND.stx_burn}) AND position >= ${firstPositionIn('$since')}
   ORDER BY position`;

/** Mints, burns and coinbases with the heights of their blocks, in the order of the heights; micro-STX. */
function* supplyMoves(db: Database, since: number): Generator<{ height: number; amount: bigint }> {
  const rewards = db
    .query<{ height: number; coinbase: string }, { since: number }[]>(
      'SELECT height, coinbase FROM miner_rewards WHERE height >= $since ORDER BY height',
    )
    .iterate({ since });
  const events = db.query<{ position: number; kind: number; amount: string }, { since: number }[]>(supplyEvents);
  let reward = rewards.next();
  const rewardOf = (row: { height: number; coinbase: string }) => ({
    height: row.height,
    amount: BigInt(row.coinbase),
  });
  for (const { position, kind, amount } of events.iterate({ since })) {
    const height = heightOf(position);
    for (; reward.done !== true && reward.value.height <= height; reward = rewards.next()) yield rewardOf(reward.value);
    yield { height, amount: kind === EVENT_KIND.stx_mint ? BigInt(amount) : -BigInt(amount) };
  }
  for (; reward.done !== true; reward = rewards.next()) yield rewardOf(reward.value);
}

/** The supply after each block that changed it, from a height on. @param before the supply below that height */
function* supplies(db: Database, since: number, before: bigint): Generator<{ height: number; supply: bigint }> {
  let block = { height: -1, supply: before };
  let below = before;
  for (const { height, amount } of supplyMoves(db, since)) {
    if (height !== block.height) {
      if (block.supply !== below) yield block;
      below = block.supply;
      block = { height, supply: below };
    }
    block.supply += amount;
  }
  if (block.supply !== below) yield block;
}

const supply: Check = {
  name: 'STX supply against mints, burns and coinbases',
  isLimited: false,
  find(db) {
    let counted = 0n;
    for (const { amount } of supplyMoves(db, 0)) counted += amount;
    const kept = db.query<{ stx_supply: string }, []>('SELECT stx_supply FROM totals').get()?.stx_supply;
    return kept === counted.toString() ? [] : [`kept ${kept}, recomputed ${counted}`];
  },
};

interface SupplyRow {
  height: number;
  supply: string;
}

const supplyOfBlocks: Check = {
  name: 'STX supply after each block',
  isLimited: true,
  *find(db, since) {
    const below = db
      .query<SupplyRow, [number]>(
        'SELECT height, supply FROM stx_supplies WHERE height < ?1 ORDER BY height DESC LIMIT 1',
      )
      .get(since);
    const rows = db
      .query<SupplyRow, [number]>('SELECT height, supply FROM stx_supplies WHERE height >= ?1 ORDER BY height')
      .iterate(since);
    let row = rows.next();
    const unexpected = (kept: SupplyRow) => `height ${kept.height}: kept ${kept.supply}, and no block changed it`;
    for (const { height, supply: counted } of supplies(db, since, BigInt(below?.supply ?? 0))) {
      for (; row.done !== true && row.value.height < height; row = rows.next()) yield unexpected(row.value);
      if (row.done === true || row.value.height !== height) {
        yield `height ${height}: none kept, recomputed ${counted}`;
        continue;
      }
      if (BigInt(row.value.supply) !== counted) {
        yield `height ${height}: kept ${row.value.supply}, recomputed ${counted}`;
      }
      row = rows.next();
    }
    for (; row.done !== true; row = rows.next()) yield unexpected(row.value);
  },
};

/** Sums over what moved STX, and what they were after each block. */
export const balanceChecks: readonly Check[] = [balances, supply, supplyOfBlocks];
