/** Counters and totals of the chain, the mempool and deliveries against the rows that they count. */

import { firstPositionIn } from '../rows/expressions.ts';
import { EVENT_KIND, MEMPOOL_STATE, PAYLOAD, storedState } from '../rows/words.ts';
import { balanceChecks } from './balances.ts';
import { type Check, equal, none } from './result.ts';

const ofAccounts = {
  sent: 'SELECT sender_id AS key, count(*) AS count FROM transactions GROUP BY sender_id',
  paid: `SELECT recipient_id AS key, count(*) AS count FROM transactions WHERE type = ${PAYLOAD.token_transfer} GROUP BY recipient_id`,
  calls: `SELECT contract_id AS key, count(*) AS count FROM transactions WHERE type = ${PAYLOAD.contract_call} GROUP BY contract_id`,
};

/** Counts that are kept against the same counted anew. @param kept and @param counted queries of key and count */
const tally = (name: string, kept: string, counted: string): Check =>
  none<{ key: string | number }>(
    name,
    `SELECT key FROM (SELECT * FROM (${kept}) EXCEPT SELECT * FROM (${counted}))
      UNION SELECT key FROM (SELECT * FROM (${counted}) EXCEPT SELECT * FROM (${kept}))`,
    ({ key }) => `the count of ${key} is off`,
  );

/** The condition that a position is in the block of a height. Both are expressions. */
const inBlock = (position: string, height: string): string =>
  `${position} >= ${firstPositionIn(height)} AND ${position} < ${firstPositionIn(`${height} + 1`)}`;

/** Blocks, and the transactions and events in them. */
const chainCounts: readonly Check[] = [
  none<{ height: number }>(
    'each block is the child of the one below',
    `SELECT b.height FROM blocks b LEFT JOIN blocks p ON p.height = b.height - 1
        WHERE b.height > 1 AND b.height >= $since AND (p.index_block_hash IS NULL OR p.index_block_hash <> b.parent_index_block_hash)`,
    ({ height }) => `block ${height} does not follow block ${height - 1}`,
  ),
  equal(
    'total of transactions',
    'SELECT transactions AS kept, (SELECT count(*) FROM transactions) AS counted FROM totals',
  ),
  none<{ height: number; kept: number; counted: number }>(
    'transactions of each block',
    `SELECT b.height, b.transactions AS kept, count(t.position) AS counted
         FROM blocks b LEFT JOIN transactions t ON ${inBlock('t.position', 'b.height')}
        WHERE b.height >= $since GROUP BY b.height HAVING b.transactions <> count(t.position)`,
    ({ height, kept, counted }) => `block ${height}: kept ${kept}, counted ${counted}`,
  ),
  none<{ height: number }>(
    'transactions before each block',
    `SELECT height FROM (SELECT height, preceding_transactions,
                                  lag(preceding_transactions + transactions, 1, 0) OVER (ORDER BY height) AS counted
                             FROM blocks WHERE height >= (SELECT coalesce(max(height), 0) FROM blocks WHERE height < $since))
        WHERE height >= $since AND preceding_transactions <> counted`,
    ({ height }) => `the count before block ${height} is off`,
  ),
  none<{ position: number; kept: number; counted: number }>(
    'events of each transaction',
    `SELECT t.position, t.event_count AS kept, count(e.event_index) AS counted
         FROM transactions t LEFT JOIN events e ON e.position = t.position
        WHERE t.position >= ${firstPositionIn('$since')} GROUP BY t.position HAVING t.event_count <> count(e.event_index)`,
    ({ position, kept, counted }) => `transaction at ${position}: kept ${kept}, counted ${counted}`,
  ),
  none<{ address: string; kept: number; counted: number }>(
    'transactions of each principal',
    `SELECT p.address, a.transactions AS kept, count(pt.position) AS counted
         FROM accounts a JOIN principals p ON p.id = a.principal_id
         LEFT JOIN principal_transactions pt ON pt.principal_id = a.principal_id
        GROUP BY a.principal_id HAVING a.transactions <> count(pt.position)`,
    ({ address, kept, counted }) => `${address}: kept ${kept}, counted ${counted}`,
  ),
];

/** Bitcoin blocks that canonical ones are anchored to. */
const anchorCounts: readonly Check[] = [
  none<{ ordinal: number }>(
    'blocks and transactions of each anchor',
    `SELECT a.ordinal FROM anchor_burn_blocks a
         LEFT JOIN blocks b ON b.height BETWEEN a.first_block AND a.first_block + a.blocks - 1 AND b.burn_block_hash = a.hash
        WHERE a.first_block + a.blocks > $since GROUP BY a.ordinal
       HAVING a.blocks <> count(b.height) OR a.transactions <> sum(b.announced_transactions)
           OR a.rows <> sum(b.transactions)`,
    ({ ordinal }) => `the counts of anchor ${ordinal} are off`,
  ),
  equal(
    'blocks that have an anchor',
    'SELECT coalesce(sum(blocks), 0) AS kept, (SELECT count(*) FROM blocks) AS counted FROM anchor_burn_blocks',
  ),
  equal('total of anchors', 'SELECT coalesce(max(ordinal), 0) AS kept, count(*) AS counted FROM anchor_burn_blocks'),
];

/** Logs, types of transactions, and calls. */
const tallies: readonly Check[] = [
  none<{ address: string; kept: number; counted: number }>(
    'logs of each contract',
    `SELECT p.address, n.counted, coalesce(l.logs, 0) AS kept
         FROM (SELECT contract_id, count(*) AS counted FROM events WHERE kind = ${EVENT_KIND.log} GROUP BY contract_id) n
         JOIN principals p ON p.id = n.contract_id LEFT JOIN contract_logs l ON l.contract_id = n.contract_id
        WHERE n.counted <> coalesce(l.logs, 0)`,
    ({ address, kept, counted }) => `${address}: kept ${kept}, counted ${counted}`,
  ),
  equal(
    'total of logs',
    `SELECT coalesce(sum(logs), 0) AS kept, (SELECT count(*) FROM events WHERE kind = ${EVENT_KIND.log}) AS counted
         FROM contract_logs`,
  ),
  tally(
    'transactions of each type',
    'SELECT type AS key, transactions AS count FROM transaction_types',
    'SELECT type AS key, count(*) AS count FROM transactions GROUP BY type',
  ),
  tally(
    'calls of each function',
    'SELECT name AS key, calls AS count FROM called_functions',
    `SELECT function_name AS key, count(*) AS count FROM transactions WHERE type = ${PAYLOAD.contract_call} GROUP BY function_name`,
  ),
  ...(['sent', 'paid', 'calls'] as const).map((column) =>
    tally(
      `${column} of each account`,
      `SELECT principal_id AS key, ${column} AS count FROM accounts WHERE ${column} <> 0`,
      ofAccounts[column],
    ),
  ),
];

/** Microblocks that were confirmed. */
const microblockCounts: readonly Check[] = [
  none<{ ordinal: number }>(
    'microblocks and the transactions they held',
    `SELECT m.ordinal FROM microblocks m
        WHERE m.height >= $since
          AND NOT EXISTS (SELECT 1 FROM transactions t
                           WHERE ${inBlock('t.position', 'm.height')} AND t.microblock_hash = m.hash)`,
    ({ ordinal }) => `microblock ${ordinal} held no transaction`,
  ),
  equal(
    'total of microblocks',
    `SELECT coalesce(max(ordinal), 0) AS kept,
              (SELECT count(DISTINCT microblock_hash) FROM transactions) AS counted FROM microblocks`,
  ),
];

/** What waits: transactions, and deliveries of hooks. */
const waiting: readonly Check[] = [
  equal(
    'total of pending transactions',
    `SELECT mempool_pending AS kept, (SELECT count(*) FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending}) AS counted
         FROM progress`,
  ),
  none<{ webhook_id: string }>(
    'each delivery that waits has a body',
    `SELECT d.webhook_id FROM hook_deliveries d LEFT JOIN hook_bodies b ON b.delivery_id = d.id
        WHERE d.state IN (${storedState.numberOf('pending')}, ${storedState.numberOf('failed')}) AND b.delivery_id IS NULL`,
    ({ webhook_id }) => `${webhook_id} has none`,
  ),
  none<{ tx_id: Uint8Array }>(
    'no transaction of the mempool is mined',
    'SELECT m.tx_id FROM mempool_transactions m JOIN transactions t ON t.tx_id = m.tx_id',
    ({ tx_id }) => `0x${tx_id.toHex()} is in the mempool and mined`,
  ),
];

/** What is counted against a recount, and balances with it. */
export const countChecks: readonly Check[] = [
  ...chainCounts,
  ...anchorCounts,
  ...tallies,
  ...microblockCounts,
  ...balanceChecks,
  ...waiting,
];
