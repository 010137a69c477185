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

test('days have their blocks and transactions, days without blocks have none', async () => {
  const { days } = series([10, 20, DAY, 3 * DAY, 3 * DAY + 5, 4 * DAY]);
  expect(days(30)).toEqual([
    { start: 0, blocks: 2, transactions: 3 },
    { start: DAY, blocks: 1, transactions: 3 },
    { start: 2 * DAY, blocks: 0, transactions: 0 },
    { start: 3 * DAY, blocks: 2, transactions: 9 },
    { start: 4 * DAY, blocks: 1, transactions: 6 },
  ]);
  expect(days(2).map(({ start }) => start)).toEqual([3 * DAY, 4 * DAY]);
  expect(series([]).days(30)).toEqual([]);
});
