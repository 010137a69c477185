/** Blocks for charts, against a recount. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { blockSeries } from '../../src/store/queries/blocks/block-series.ts';

const DAY = 86_400;

/** Blocks with their times in seconds; each has as many transactions as its height. */
function series(times: readonly number[]) {
  const db = new Database(':memory:');
  db.run(`CREATE TABLE blocks (height INTEGER PRIMARY KEY, index_block_hash, block_hash, block_time, burn_block_height,
                               tenure_height, transactions, preceding_transactions, size)`);
  db.run('CREATE TABLE transactions (position INTEGER PRIMARY KEY, fee, nonce)');
  db.run('CREATE TABLE orphaned_blocks (height, index_block_hash, parent_index_block_hash, burn_block_height)');
  db.run('CREATE TABLE progress (id INTEGER PRIMARY KEY, start_height)');
  const add = db.prepare(
    'INSERT INTO blocks (height, block_time, transactions, preceding_transactions) VALUES (?1, ?2, ?1, ?3)',
  );
  for (const [index, time] of times.entries()) add.run(index + 1, time, (index * (index + 1)) / 2);
  return blockSeries(db);
}

const HOUR = 3_600;

test('counts the blocks and transactions of each day, also of days without blocks', () => {
  const { counts } = series([10, 20, DAY, 3 * DAY, 3 * DAY + 5, 4 * DAY]);
  expect(counts(DAY, 30)).toEqual([
    { start: 0, blocks: 2, transactions: 3 },
    { start: DAY, blocks: 1, transactions: 3 },
    { start: 2 * DAY, blocks: 0, transactions: 0 },
    { start: 3 * DAY, blocks: 2, transactions: 9 },
    { start: 4 * DAY, blocks: 1, transactions: 6 },
  ]);
  expect(counts(DAY, 2).map(({ start }) => start)).toEqual([3 * DAY, 4 * DAY]);
  expect(series([]).counts(DAY, 30)).toEqual([]);
});

test('counts the blocks and transactions of each hour up to the newest block', () => {
  const { counts } = series([DAY - 1, DAY, DAY + HOUR - 1, DAY + 2 * HOUR]);
  expect(counts(HOUR, 24)).toEqual([
    { start: DAY - HOUR, blocks: 1, transactions: 1 },
    { start: DAY, blocks: 2, transactions: 5 },
    { start: DAY + HOUR, blocks: 0, transactions: 0 },
    { start: DAY + 2 * HOUR, blocks: 1, transactions: 4 },
  ]);
});

test('counts each block once if block times run back across the end of an hour', () => {
  const { counts } = series([10, 2 * HOUR + 10, HOUR + 50, 2 * HOUR + 20]);
  expect(counts(HOUR, 24)).toEqual([
    { start: 0, blocks: 1, transactions: 1 },
    { start: HOUR, blocks: 0, transactions: 0 },
    { start: 2 * HOUR, blocks: 3, transactions: 9 },
  ]);
});
