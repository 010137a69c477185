/** Whether the index is what its events say: SQLite's own check, and every derived number against a recount. */
import type { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { heightOf } from '../../chain/position.ts';
import { indexPath, openReader } from '../files/database.ts';
import { indexPlace, type Place } from '../files/journal-link.ts';
import { decimalOf } from '../rows/amounts.ts';
import { checkAddresses } from './addresses.ts';
import { checkCheckpoints } from './checkpoints.ts';
import { checkCopies } from './copies.ts';
import { checkIndexSchema, checkJournal, checkPages } from './files.ts';
import { checkNames } from './names.ts';
import { type CheckResult, equal, examinedAll, none, shown } from './result.ts';
import { checkStacking } from './stacking.ts';
import { checkStaking } from './staking.ts';
import { checkTables } from './tables.ts';
import { checkTokens } from './tokens.ts';

/** Kinds 3 to 5 of events are STX transfer, mint and burn. */
const stxEvents = 'SELECT position, kind, sender_id, recipient_id, amount FROM events WHERE kind BETWEEN 3 AND 5';

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
    if (kind === 4) counted += BigInt(amount);
    else if (kind === 5) counted -= BigInt(amount);
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
    if (kind !== 3) move(heightOf(position), kind === 4 ? BigInt(amount) : -BigInt(amount));
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

const ofAccounts = {
  sent: 'SELECT sender_id AS key, count(*) AS count FROM transactions GROUP BY sender_id',
  paid: 'SELECT recipient_id AS key, count(*) AS count FROM transactions WHERE type = 0 GROUP BY recipient_id',
  calls: 'SELECT contract_id AS key, count(*) AS count FROM transactions WHERE type = 2 GROUP BY contract_id',
};

/** Counts that are kept against the same counted anew. @param kept and @param counted queries of key and count */
function tally(db: Database, name: string, kept: string, counted: string): CheckResult {
  return none<{ key: string | number }>(
    db,
    name,
    `SELECT key FROM (SELECT * FROM (${kept}) EXCEPT SELECT * FROM (${counted}))
      UNION SELECT key FROM (SELECT * FROM (${counted}) EXCEPT SELECT * FROM (${kept}))`,
    ({ key }) => `the count of ${key} is off`,
  );
}

function checkIndex(db: Database): CheckResult[] {
  return [
    none<{ height: number }>(
      db,
      'each block is the child of the one below',
      `SELECT b.height FROM blocks b LEFT JOIN blocks p ON p.height = b.height - 1
        WHERE b.height > 1 AND (p.index_block_hash IS NULL OR p.index_block_hash <> b.parent_index_block_hash)`,
      ({ height }) => `block ${height} does not follow block ${height - 1}`,
    ),
    equal(
      db,
      'total of transactions',
      'SELECT transactions AS kept, (SELECT count(*) FROM transactions) AS counted FROM totals',
    ),
    none<{ height: number; kept: number; counted: number }>(
      db,
      'transactions of each block',
      `SELECT b.height, b.transactions AS kept, count(t.position) AS counted
         FROM blocks b LEFT JOIN transactions t ON t.position >> 20 = b.height
        GROUP BY b.height HAVING b.transactions <> count(t.position)`,
      ({ height, kept, counted }) => `block ${height}: kept ${kept}, counted ${counted}`,
    ),
    none<{ height: number }>(
      db,
      'transactions before each block',
      `SELECT height FROM (SELECT height, preceding_transactions,
                                  coalesce(sum(transactions) OVER (ORDER BY height
                                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS counted FROM blocks)
        WHERE preceding_transactions <> counted`,
      ({ height }) => `the count before block ${height} is off`,
    ),
    none<{ position: number; kept: number; counted: number }>(
      db,
      'events of each transaction',
      `SELECT t.position, t.event_count AS kept, count(e.event_index) AS counted
         FROM transactions t LEFT JOIN events e ON e.position = t.position
        GROUP BY t.position HAVING t.event_count <> count(e.event_index)`,
      ({ position, kept, counted }) => `transaction at ${position}: kept ${kept}, counted ${counted}`,
    ),
    none<{ address: string; kept: number; counted: number }>(
      db,
      'transactions of each principal',
      `SELECT p.address, a.transactions AS kept, count(pt.position) AS counted
         FROM accounts a JOIN principals p ON p.id = a.principal_id
         LEFT JOIN principal_transactions pt ON pt.principal_id = a.principal_id
        GROUP BY a.principal_id HAVING a.transactions <> count(pt.position)`,
      ({ address, kept, counted }) => `${address}: kept ${kept}, counted ${counted}`,
    ),
    none<{ ordinal: number }>(
      db,
      'blocks and transactions of each anchor',
      `SELECT a.ordinal FROM anchor_burn_blocks a
         LEFT JOIN blocks b ON b.height BETWEEN a.first_block AND a.first_block + a.blocks - 1 AND b.burn_block_hash = a.hash
        GROUP BY a.ordinal
       HAVING a.blocks <> count(b.height) OR a.transactions <> sum(b.announced_transactions)
           OR a.rows <> sum(b.transactions)`,
      ({ ordinal }) => `the counts of anchor ${ordinal} are off`,
    ),
    equal(
      db,
      'blocks that have an anchor',
      'SELECT coalesce(sum(blocks), 0) AS kept, (SELECT count(*) FROM blocks) AS counted FROM anchor_burn_blocks',
    ),
    equal(
      db,
      'total of anchors',
      'SELECT coalesce(max(ordinal), 0) AS kept, count(*) AS counted FROM anchor_burn_blocks',
    ),
    none<{ address: string; kept: number; counted: number }>(
      db,
      'logs of each contract',
      `SELECT p.address, n.counted, coalesce(l.logs, 0) AS kept
         FROM (SELECT contract_id, count(*) AS counted FROM events WHERE kind = 1 GROUP BY contract_id) n
         JOIN principals p ON p.id = n.contract_id LEFT JOIN contract_logs l ON l.contract_id = n.contract_id
        WHERE n.counted <> coalesce(l.logs, 0)`,
      ({ address, kept, counted }) => `${address}: kept ${kept}, counted ${counted}`,
    ),
    equal(
      db,
      'total of logs',
      `SELECT coalesce(sum(logs), 0) AS kept, (SELECT count(*) FROM events WHERE kind = 1) AS counted
         FROM contract_logs`,
    ),
    tally(
      db,
      'transactions of each type',
      'SELECT type AS key, transactions AS count FROM transaction_types',
      'SELECT type AS key, count(*) AS count FROM transactions GROUP BY type',
    ),
    tally(
      db,
      'calls of each function',
      'SELECT name AS key, calls AS count FROM called_functions',
      'SELECT function_name AS key, count(*) AS count FROM transactions WHERE type = 2 GROUP BY function_name',
    ),
    ...(['sent', 'paid', 'calls'] as const).map((column) =>
      tally(
        db,
        `${column} of each account`,
        `SELECT principal_id AS key, ${column} AS count FROM accounts WHERE ${column} <> 0`,
        ofAccounts[column],
      ),
    ),
    none<{ ordinal: number }>(
      db,
      'microblocks and the transactions they held',
      `SELECT m.ordinal FROM microblocks m
        WHERE NOT EXISTS (SELECT 1 FROM transactions t WHERE t.position >> 20 = m.height AND t.microblock_hash = m.hash)`,
      ({ ordinal }) => `microblock ${ordinal} held no transaction`,
    ),
    equal(
      db,
      'total of microblocks',
      `SELECT coalesce(max(ordinal), 0) AS kept,
              (SELECT count(DISTINCT microblock_hash) FROM transactions) AS counted FROM microblocks`,
    ),
    balances(db),
    supply(db),
    supplies(db),
    equal(
      db,
      'total of pending transactions',
      `SELECT mempool_pending AS kept, (SELECT count(*) FROM mempool_transactions WHERE state = 0) AS counted
         FROM progress`,
    ),
    none<{ webhook_id: string }>(
      db,
      'each delivery that waits has a body',
      `SELECT d.webhook_id FROM hook_deliveries d LEFT JOIN hook_bodies b ON b.delivery_id = d.id
        WHERE d.state <= 1 AND b.delivery_id IS NULL`,
      ({ webhook_id }) => `${webhook_id} has none`,
    ),
    none<{ tx_id: Uint8Array }>(
      db,
      'no pending transaction is mined',
      `SELECT m.tx_id FROM mempool_transactions m JOIN transactions t ON t.tx_id = m.tx_id WHERE m.state = 0`,
      ({ tx_id }) => `0x${tx_id.toHex()} is pending and mined`,
    ),
  ];
}

/** Everything that is recounted, by kind. */
const recounts: Readonly<Record<string, (db: Database) => CheckResult[]>> = {
  'counts, balances and totals': checkIndex,
  'copies of addresses and identifiers': checkCopies,
  tokens: checkTokens,
  stacking: checkStacking,
  staking: checkStaking,
  'lists of addresses': checkAddresses,
  checkpoints: checkCheckpoints,
  names: checkNames,
};

function checkWholeIndex(directory: string): { results: CheckResult[]; place: Place | null } {
  const pages = checkPages(indexPath(directory), 'index');
  if (pages.problems.length > 0) return { results: [pages], place: null };
  using db = openReader(directory);
  db.run('BEGIN');
  const schema = checkIndexSchema(db);
  if (schema.problems.length > 0) return { results: [pages, schema], place: null };
  const recounted = Object.entries(recounts).flatMap(([name, recount]) => examinedAll(name, () => recount(db)));
  return { results: [pages, schema, ...recounted], place: indexPlace(db).current() };
}

/**
 * Checks a data directory, in one snapshot; the writer may go on meanwhile. What is damaged so that it can't be read is
 * not looked into any further.
 * @param options.deep every row too, against an index that is made of the journal beside it
 * @throws OperatorError where there is no index, or one of another version
 */
export function checkDirectory(directory: string, { deep = false } = {}): CheckResult[] {
  if (!existsSync(indexPath(directory))) openReader(directory).close();
  const { results, place } = checkWholeIndex(directory);
  results.push(...checkJournal(directory, place));
  const readable = place !== null && results.every(({ problems }) => problems.length === 0);
  return deep && readable ? [...results, ...checkTables(directory)] : results;
}
