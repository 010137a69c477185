/** Recounts counters, totals, copies of texts and balances from their rows. */

import type { Database } from 'bun:sqlite';
import { DAY } from '../../../src/base/format.ts';
import { heightOf } from '../../../src/chain/position.ts';
import { historyStartQuery } from '../../../src/store/queries/blocks/chain.ts';
import { COUNTER, DAILY, EVENT_KIND, MEMPOOL_STATE, PAYLOAD, storedState } from '../../../src/store/rows/enums.ts';
import { firstPositionIn, heightIn } from '../../../src/store/rows/expressions.ts';
import { decimalOf } from '../../../src/store/rows/formats.ts';
import type { Stored } from '../../../src/store/rows/statement.ts';
import { atTip, equal, none, type Recount } from './recount.ts';

const ofAccounts = {
  sent: 'SELECT sender_id AS key, count(*) AS count FROM transactions GROUP BY sender_id',
  paid: `SELECT recipient_id AS key, count(*) AS count FROM transactions WHERE type = ${PAYLOAD.token_transfer} GROUP BY recipient_id`,
  calls: `SELECT contract_id AS key, count(*) AS count FROM transactions WHERE type = ${PAYLOAD.contract_call} GROUP BY contract_id`,
};

/** Expressions of the address of a principal, and of the identifier of an asset. @param id an expression */
const addressOf = (id: string): string => `coalesce((SELECT address FROM principals WHERE id = ${id}), ${id})`;
const identifierOf = (id: string): string => `coalesce((SELECT identifier FROM assets WHERE id = ${id}), ${id})`;

/** The id after the last slash of a key, and the text before it. */
const LAST_ID = "CAST(replace(key, rtrim(key, '0123456789'), '') AS INTEGER)";
const BEFORE_ID = "rtrim(key, '0123456789')";

/**
 * Makes a check of stored counts against a recount.
 * @param stored and @param counted queries of key and count @param shown an expression of the text that problems show of a key
 */
const tally = (name: string, stored: string, counted: string, shown = 'key'): Recount =>
  none(
    name,
    `SELECT ${shown} AS key FROM
       (SELECT key FROM (SELECT * FROM (${stored}) EXCEPT SELECT * FROM (${counted}))
         UNION SELECT key FROM (SELECT * FROM (${counted}) EXCEPT SELECT * FROM (${stored})))`,
  );

/** Condition that a position is in the block of a height. Both are expressions. */
const inBlock = (position: string, height: string): string =>
  `${position} >= ${firstPositionIn(height)} AND ${position} < ${firstPositionIn(`${height} + 1`)}`;

/** Blocks, and their transactions and events. */
const chainCounts: readonly Recount[] = [
  none(
    'each block is the child of the one below',
    `SELECT b.height FROM blocks b LEFT JOIN blocks p ON p.height = b.height - 1
        WHERE b.height > 1 AND b.parent_index_block_hash IS NOT
              coalesce(p.index_block_hash, (SELECT start_index_block_hash FROM progress WHERE start_height = b.height))`,
  ),
  equal(
    'total of transactions',
    `SELECT ${atTip('preceding_transactions + transactions')} AS stored,
            (SELECT count(*) FROM transactions) AS counted`,
  ),
  none(
    'transactions of each block',
    `SELECT b.height, b.transactions AS stored, count(t.position) AS counted
         FROM blocks b LEFT JOIN transactions t ON ${inBlock('t.position', 'b.height')} GROUP BY b.height HAVING b.transactions <> count(t.position)`,
  ),
  none(
    'transactions before each block',
    `SELECT height FROM (SELECT height, preceding_transactions,
                                  lag(preceding_transactions + transactions, 1, 0) OVER (ORDER BY height) AS counted
                             FROM blocks)
        WHERE preceding_transactions <> counted`,
  ),
  none(
    'events of each transaction',
    `SELECT t.position, t.event_count AS stored, count(e.event_index) AS counted
         FROM transactions t LEFT JOIN events e ON e.position = t.position
        GROUP BY t.position HAVING t.event_count <> count(e.event_index)`,
  ),
  none(
    'transactions of each principal',
    `SELECT p.address, a.transactions AS stored, count(pt.position) AS counted
         FROM accounts a JOIN principals p ON p.id = a.principal_id
         LEFT JOIN principal_transactions pt ON pt.principal_id = a.principal_id
        GROUP BY a.principal_id HAVING a.transactions <> count(pt.position)`,
  ),
];

/** Bitcoin blocks that canonical blocks are anchored to. */
const anchorCounts: readonly Recount[] = [
  none(
    'blocks and transactions of each anchor',
    `SELECT a.ordinal FROM anchor_burn_blocks a
         LEFT JOIN blocks b ON b.height BETWEEN a.first_block AND a.first_block + a.blocks - 1 AND b.burn_block_hash = a.hash GROUP BY a.ordinal
       HAVING a.blocks <> count(b.height) OR a.transactions <> sum(b.announced_transactions)
           OR a.rows <> sum(b.transactions)`,
  ),
  equal(
    'blocks that have an anchor',
    'SELECT coalesce(sum(blocks), 0) AS stored, (SELECT count(*) FROM blocks) AS counted FROM anchor_burn_blocks',
  ),
  equal('total of anchors', 'SELECT coalesce(max(ordinal), 0) AS stored, count(*) AS counted FROM anchor_burn_blocks'),
];

/** Returns the day of a position. The block's row has the time of its transactions, even for block 0. */
const dayOf = (position: string): string =>
  `((SELECT block_time FROM blocks b WHERE b.height = ${heightIn(position)}) / ${DAY})`;

/** Logs, types of transactions, and calls. */
const tallies: readonly Recount[] = [
  none(
    'logs of each contract',
    `SELECT p.address, n.counted, coalesce(l.count, 0) AS stored
         FROM (SELECT contract_id, count(*) AS counted FROM events WHERE kind = ${EVENT_KIND.log} GROUP BY contract_id) n
         JOIN principals p ON p.id = n.contract_id LEFT JOIN counters l ON l.kind = ${COUNTER.logs} AND l.key = p.address
        WHERE n.counted <> coalesce(l.count, 0)`,
  ),
  equal(
    'total of logs',
    `SELECT coalesce(sum(count), 0) AS stored, (SELECT count(*) FROM events WHERE kind = ${EVENT_KIND.log}) AS counted
         FROM counters WHERE kind = ${COUNTER.logs}`,
  ),
  tally(
    'transactions of each type',
    'SELECT CAST(key AS INTEGER) AS key, count FROM counters WHERE kind = 1',
    'SELECT type AS key, count(*) AS count FROM transactions GROUP BY type',
  ),
  tally(
    'calls of each function',
    'SELECT key, count FROM counters WHERE kind = 2',
    `SELECT function_name AS key, count(*) AS count FROM transactions WHERE type = ${PAYLOAD.contract_call} GROUP BY function_name`,
  ),
  tally(
    'calls of each contract on each day',
    `SELECT day || '/' || subject_id AS key, count FROM daily_counts WHERE kind = ${DAILY.calls}`,
    `SELECT ${dayOf('position')} || '/' || contract_id AS key, count(*) AS count FROM transactions
      WHERE type = ${PAYLOAD.contract_call} GROUP BY 1`,
    `${BEFORE_ID} || ${addressOf(LAST_ID)}`,
  ),
  tally(
    'events of each token on each day',
    `SELECT day || '/' || kind || '/' || subject_id AS key, count FROM daily_counts WHERE kind <> ${DAILY.calls}`,
    `SELECT ${dayOf('position')} || '/' || iif(kind >= ${EVENT_KIND.nft_transfer}, ${DAILY.nft}, ${DAILY.ft}) || '/' || asset_id AS key,
            count(*) AS count FROM events WHERE kind >= ${EVENT_KIND.ft_transfer} GROUP BY 1`,
    `${BEFORE_ID} || ${identifierOf(LAST_ID)}`,
  ),
  ...(['sent', 'paid', 'calls'] as const).map((column) =>
    tally(
      `${column} of each account`,
      `SELECT principal_id AS key, ${column} AS count FROM accounts WHERE ${column} <> 0`,
      ofAccounts[column],
      addressOf('key'),
    ),
  ),
];

/** Confirmed microblocks. */
const microblockCounts: readonly Recount[] = [
  none(
    'microblocks and the transactions they held',
    `SELECT m.ordinal FROM microblocks m
        WHERE NOT EXISTS (SELECT 1 FROM transactions t
                           WHERE ${inBlock('t.position', 'm.height')} AND t.microblock_hash = m.hash)`,
  ),
  equal(
    'total of microblocks',
    `SELECT coalesce(max(ordinal), 0) AS stored,
              (SELECT count(DISTINCT microblock_hash) FROM transactions) AS counted FROM microblocks`,
  ),
];

/** Pending transactions, and open deliveries of hooks. */
const waiting: readonly Recount[] = [
  equal(
    'total of pending transactions',
    `SELECT mempool_pending AS stored, (SELECT count(*) FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending}) AS counted
         FROM progress`,
  ),
  none(
    'each delivery that waits has a body',
    `SELECT d.webhook_id FROM hook_deliveries d LEFT JOIN hook_bodies b ON b.delivery_id = d.id
        WHERE d.state IN (${storedState.numberOf('pending')}, ${storedState.numberOf('failed')}) AND b.delivery_id IS NULL`,
  ),
  none(
    'no transaction of the mempool is mined',
    'SELECT m.tx_id FROM mempool_transactions m JOIN transactions t ON t.tx_id = m.tx_id',
  ),
];

/** Balances of principals in micro-STX, summed from events, fees and rewards. */
function recomputedBalances(db: Database): Map<number, bigint> {
  const balances = new Map<number, bigint>();
  const move = (principal: number | null, amount: bigint) => {
    if (principal !== null) balances.set(principal, (balances.get(principal) ?? 0n) + amount);
  };
  const events = db.query<Stored<'events', 'sender_id' | 'recipient_id'> & { amount: string }, []>(
    `SELECT sender_id, recipient_id, amount FROM events
      WHERE kind BETWEEN ${EVENT_KIND.stx_transfer} AND ${EVENT_KIND.stx_burn}`,
  );
  for (const { sender_id, recipient_id, amount } of events.iterate()) {
    const moved = BigInt(amount);
    move(sender_id, -moved);
    move(recipient_id, moved);
  }
  const fees = db.query<Stored<'transactions', 'fee'> & { payer: number }, []>(
    'SELECT coalesce(sponsor_id, sender_id) AS payer, fee FROM transactions',
  );
  for (const { payer, fee } of fees.iterate()) move(payer, -BigInt(decimalOf(fee)));
  const rewards = db.query<Stored<'miner_rewards', 'recipient_id'> & { amounts: string }, []>(
    `SELECT recipient_id, coinbase || ' ' || fees_anchored || ' ' || fees_streamed_confirmed || ' ' ||
            fees_streamed_produced AS amounts FROM miner_rewards`,
  );
  for (const { recipient_id, amounts } of rewards.iterate()) {
    for (const amount of amounts.split(' ')) move(recipient_id, BigInt(amount));
  }
  return balances;
}

const balances: Recount = {
  name: 'STX balances against events, fees and rewards',
  *find(db) {
    const expected = recomputedBalances(db);
    const accounts = db.query<Stored<'accounts', 'principal_id' | 'balance'> & Stored<'principals', 'address'>, []>(
      'SELECT a.principal_id, p.address, a.balance FROM accounts a JOIN principals p ON p.id = a.principal_id',
    );
    for (const { principal_id, address, balance } of accounts.iterate()) {
      const stored = BigInt(decimalOf(balance));
      const counted = expected.get(principal_id) ?? 0n;
      if (stored !== counted) yield `${address}: stored ${stored}, recomputed ${counted}`;
      expected.delete(principal_id);
    }
    const addressOfId = db.query<Stored<'principals', 'address'>, [number]>(
      'SELECT address FROM principals WHERE id = ?1',
    );
    for (const [principal, counted] of expected) {
      yield `${addressOfId.get(principal)?.address ?? principal} has no account; recomputed ${counted}`;
    }
  },
};

const supplyEvents = `
  SELECT position, kind, amount FROM events
   WHERE kind IN (${EVENT_KIND.stx_mint}, ${EVENT_KIND.stx_burn}) ORDER BY position`;

/** Mints, burns and coinbases in micro-STX, with the heights of their blocks, ascending. */
function* supplyMoves(db: Database): Generator<{ height: number; amount: bigint }> {
  const rewards = db
    .query<Stored<'miner_rewards', 'height' | 'coinbase'>, []>(
      'SELECT height, coinbase FROM miner_rewards ORDER BY height',
    )
    .iterate();
  const events = db.query<Stored<'events', 'position' | 'kind'> & { amount: string }, []>(supplyEvents);
  let reward = rewards.next();
  const rewardOf = (row: { height: number; coinbase: string }) => ({
    height: row.height,
    amount: BigInt(row.coinbase),
  });
  for (const { position, kind, amount } of events.iterate()) {
    const height = heightOf(position);
    for (; reward.done !== true && reward.value.height <= height; reward = rewards.next()) yield rewardOf(reward.value);
    yield { height, amount: kind === EVENT_KIND.stx_mint ? BigInt(amount) : -BigInt(amount) };
  }
  for (; reward.done !== true; reward = rewards.next()) yield rewardOf(reward.value);
}

/** The supply after each block that changed it. */
function* supplies(db: Database): Generator<{ height: number; supply: bigint }> {
  let block = { height: -1, supply: 0n };
  let below = 0n;
  for (const { height, amount } of supplyMoves(db)) {
    if (height !== block.height) {
      if (block.supply !== below) yield block;
      below = block.supply;
      block = { height, supply: below };
    }
    block.supply += amount;
  }
  if (block.supply !== below) yield block;
}

const supply: Recount = {
  name: 'STX supply against mints, burns and coinbases',
  find(db) {
    let counted = 0n;
    for (const { amount } of supplyMoves(db)) counted += amount;
    const stored = String(db.query<{ stored: unknown }, []>(`SELECT ${atTip('stx_supply')} AS stored`).get()?.stored);
    return stored === counted.toString() ? [] : [`stored ${stored}, recomputed ${counted}`];
  },
};

const supplyOfBlocks: Recount = {
  name: 'STX supply after each block',
  *find(db) {
    const counts = new Map(Array.from(supplies(db), ({ height, supply }) => [height, supply]));
    let counted = 0n;
    const rows = db.query<Stored<'blocks', 'height' | 'stx_supply'>, []>(
      'SELECT height, stx_supply FROM blocks ORDER BY height',
    );
    for (const { height, stx_supply } of rows.iterate()) {
      counted = counts.get(height) ?? counted;
      if (BigInt(stx_supply) !== counted) yield `height ${height}: stored ${stx_supply}, recomputed ${counted}`;
    }
  },
};

/** Accounts of an index that starts at a block: each account that a block touched has been looked up, or waits for its lookup. */
const lookups: Recount = {
  name: 'accounts that were fetched from the node',
  *find(db) {
    const isBegun = historyStartQuery(db)() !== null;
    const touched = isBegun
      ? 'SELECT principal_id AS id FROM accounts UNION SELECT principal_id FROM stx_locks'
      : 'SELECT 0 AS id WHERE FALSE';
    const wrong = db.query<{ id: number }, []>(
      `SELECT id FROM (${touched} EXCEPT SELECT principal_id FROM starting_accounts)
        UNION ALL SELECT principal_id FROM (SELECT principal_id FROM starting_accounts WHERE balance IS NULL
                                            EXCEPT SELECT id FROM (${touched}))`,
    );
    for (const { id } of wrong.iterate()) yield `principal ${id} has a mark that differs from the blocks`;
  },
};

/** Balances, and the STX supply after each block. */
const balanceChecks: readonly Recount[] = [balances, supply, supplyOfBlocks, lookups];

/** Recounts of numbers. */
export const countChecks: readonly Recount[] = [
  ...chainCounts,
  ...anchorCounts,
  ...tallies,
  ...microblockCounts,
  ...balanceChecks,
  ...waiting,
];

/** Tables with a copy of an address, and the column of its principal. */
const addresses = {
  accounts: 'principal_id',
  ft_balances: 'principal_id',
  stacking_terms: 'stacker_id',
  cycle_stackers: 'stacker_id',
  bond_positions: 'staker_id',
  stakes: 'staker_id',
  signer_keys: 'signer_id',
};

/** Tables with a copy of an asset's identifier. */
const identifiers = ['ft_balances', 'nft_holdings'];

export const copyChecks: readonly Recount[] = [
  ...Object.entries(addresses).map(([table, id]) =>
    none(
      `addresses in ${table}`,
      `SELECT t.${id} AS id, t.address AS copy FROM ${table} t LEFT JOIN principals p ON p.id = t.${id}
        WHERE t.address IS NOT p.address`,
    ),
  ),
  ...identifiers.map((table) =>
    none(
      `asset identifiers in ${table}`,
      `SELECT t.asset_id, t.identifier FROM ${table} t LEFT JOIN assets a ON a.id = t.asset_id
        WHERE t.identifier IS NOT a.identifier`,
    ),
  ),
];
