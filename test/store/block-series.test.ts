/** Blocks for charts, against a recount. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { blockSeries } from '../../src/store/queries/blocks/block-series.ts';

const DAY = 86_400;

/** Blocks with their times in seconds; each has as many transactions as its height. */
function series(times: readonly number[]) {
  const db = new Database(':memory:');
  db.run('CREATE TABLE blocks (height INTEGER PRIMARY KEY, block_time, transactions, preceding_transactions)');
  const add = db.prepare('INSERT INTO blocks VALUES (?1, ?2, ?1, ?3)');
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

test('the newest blocks reach back a span, and are bounded', async () => {
  const { newest } = series([100, 4_000, 5_000, 7_600]);
  expect(newest(3_600, 10)).toEqual([
    { height: 2, time: 4_000, transactions: 2 },
    { height: 3, time: 5_000, transactions: 3 },
    { height: 4, time: 7_600, transactions: 4 },
  ]);
  expect(newest(3_600, 1).map(({ height }) => height)).toEqual([4]);
  expect(series([]).newest(3_600, 10)).toEqual([]);
});
