/** Reads of `stackside check`: no table is read again for each row of another, each check has one snapshot, `--since` limits. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { OperatorError } from '../../src/base/errors.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { type CheckOptions, checkDirectory, recounts } from '../../src/store/check/check.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';

let whole: DataDirectory;
beforeAll(() => {
  const options = { seed: 3, blocks: 40, accounts: 12, transactionsPerBlock: 8, forkEvery: 0 };
  whole = ingestOf([...devnetEvents(options)].map(received));
});
afterAll(() => whole[Symbol.dispose]());

/** Keeps the text of each statement that is asked for. */
class Listening extends Database {
  readonly asked = new Set<string>();
  override query = ((sql: string) => {
    this.asked.add(sql);
    return super.prepare(sql);
  }) as Database['query'];
}

interface Step {
  id: number;
  parent: number;
  detail: string;
}

/** Tables of one row. */
const SINGLE_ROW = /^SCAN (totals|progress|staking_totals)$/;

/** Steps of a plan that read a whole table once for each row of another. */
function repeatedScans(plan: readonly Step[]): string[] {
  const byId = new Map(plan.map((step) => [step.id, step]));
  const isWithin = (step: Step, what: RegExp): boolean => {
    const parent = byId.get(step.parent);
    return parent !== undefined && (what.test(parent.detail) || isWithin(parent, what));
  };
  const isLoop = ({ detail }: Step): boolean => /^(SCAN|SEARCH)/.test(detail);
  return plan
    .filter((step) => step.detail.startsWith('SCAN') && !SINGLE_ROW.test(step.detail))
    .filter((step) => {
      const first = plan.find((other) => other.parent === step.parent && isLoop(other));
      return first?.id !== step.id || isWithin(step, /^CORRELATED/);
    })
    .map(({ detail }) => detail);
}

test('no check reads a table once for each row of another', () => {
  using db = new Listening(indexPath(whole.path), { readonly: true, strict: true });
  for (const { find } of recounts) for (const _ of find(db, 0));
  const asked = [...db.asked];
  expect(asked.length).toBeGreaterThan(recounts.length);
  const repeated = asked.flatMap((sql) => {
    const scans = repeatedScans(db.prepare<Step, []>(`EXPLAIN QUERY PLAN ${sql}`).all());
    return scans.map((scan) => `${scan} in ${sql}`);
  });
  expect(repeated).toEqual([]);
});

test('the write-ahead log can be emptied between any two checks', () => {
  using writer = new Database(indexPath(whole.path), { readwrite: true });
  writer.run('PRAGMA synchronous = OFF');
  let emptied = 0;
  const found = () => {
    writer.run('UPDATE progress SET mempool_version = mempool_version + 1');
    expect(writer.query('PRAGMA wal_checkpoint(TRUNCATE)').get()).toEqual({ busy: 0, log: 0, checkpointed: 0 });
    emptied += 1;
  };
  checkDirectory(whole.path, { watch: { at: () => {}, found, leftOut: () => {} } });
  expect(emptied).toBeGreaterThan(recounts.length);
});

/** Names of the checks that find something in a damaged copy, and of those that are left out. */
function outcome(damage: string, options: CheckOptions) {
  using copy = dataDirectory();
  copyFileSync(indexPath(whole.path), indexPath(copy.path));
  copyFileSync(journalPath(whole.path), journalPath(copy.path));
  using db = new Database(indexPath(copy.path));
  if (damage !== '') expect(db.run(damage).changes).toBeGreaterThan(0);
  const leftOut: string[] = [];
  const watch = { at: () => {}, found: () => {}, leftOut: (name: string) => leftOut.push(name) };
  const results = checkDirectory(copy.path, { ...options, watch });
  return { found: results.filter(({ problems }) => problems.length > 0).map(({ name }) => name), leftOut, results };
}

test.each([
  ['UPDATE blocks SET transactions = transactions + 1 WHERE height', 'transactions of each block'],
  ['UPDATE blocks SET parent_index_block_hash = zeroblob(32) WHERE height', 'each block is the child of the one below'],
  [`DELETE FROM events WHERE position >> 20`, 'events of each transaction'],
  ["UPDATE stx_supplies SET supply = '1' WHERE height", 'STX supply after each block'],
  [
    'UPDATE principal_transactions SET events = events + 1 WHERE position >> 20',
    'asset events of each principal in each transaction',
  ],
  ['UPDATE anchor_burn_blocks SET blocks = blocks + 1 WHERE first_block', 'blocks and transactions of each anchor'],
])('since a height, "%s" is found from it on, and not below', (damage, name) => {
  expect(outcome(`${damage} BETWEEN 15 AND 25`, { since: 15 }).found).toContain(name);
  expect(outcome(`${damage} BETWEEN 15 AND 25`, { since: 32 }).found).not.toContain(name);
  expect(outcome(`${damage} BETWEEN 15 AND 25`, {}).found).toContain(name);
});

test('what --since leaves out is named, and each check is made or named', () => {
  const all = outcome('', {});
  const limited = outcome('', { since: 30 });
  expect(all.leftOut).toEqual([]);
  expect(limited.found).toEqual([]);
  expect(limited.leftOut).toContain('STX balances against events, fees and rewards');
  expect(limited.leftOut).toContain('integrity of the index file');
  expect(limited.leftOut.length + limited.results.length).toBe(all.results.length);
});

test('of the journal, --since verifies the entries from the first block on', () => {
  const entry = (since: number) =>
    outcome('', { since }).results.find(({ name }) => name.startsWith('each entry of the journal'))?.name;
  const number = (since: number) => Number(/after number (\d+)/.exec(entry(since) ?? '')?.[1] ?? 0);
  expect(number(1)).toBeLessThan(number(30));
  expect(number(30)).toBeLessThan(number(31));
});

test('a height above the tip is refused', () => {
  expect(() => checkDirectory(whole.path, { since: 1_000 })).toThrow(OperatorError);
});

test('what a journal has besides its schema is found', () => {
  using copy = dataDirectory();
  copyFileSync(indexPath(whole.path), indexPath(copy.path));
  copyFileSync(journalPath(whole.path), journalPath(copy.path));
  {
    using journal = new Database(journalPath(copy.path));
    journal.run('CREATE TABLE stray (id INTEGER PRIMARY KEY)');
  }
  expect(checkDirectory(copy.path).filter(({ problems }) => problems.length > 0)).toEqual([
    { name: 'schema of the journal file', problems: ['stray is another than in a new file'] },
  ]);
});
