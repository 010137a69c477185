/** No request scans a table or sorts one: every statement of the queries, by the plan SQLite makes for it. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/database.ts';
import type { DataDirectory } from '../support/data-directory.ts';
import { ingestOf, received } from '../support/ingest.ts';

/** What a plan may hold that looks like a scan, by statement, each with the reason. */
const mayScan: Readonly<Record<string, { step: RegExp; reason: string }[]>> = {
  'chain.tip': [
    { step: /^SCAN b$/, reason: 'walks the heights from their end and stops at the first' },
    { step: /^SCAN p$/, reason: 'progress has one row' },
  ],
  'chain.newest': [{ step: /^SCAN blocks$/, reason: 'walks the heights from their end and stops at the first' }],
  'blocks.tip': [{ step: /^SCAN blocks$/, reason: 'walks the heights from their end and stops at the first' }],
  'burn-blocks.newest': [
    { step: /^SCAN anchor_burn_blocks$/, reason: 'walks the ordinals from their end and stops at the first' },
  ],
  'assets.stx': [{ step: /^SCAN totals$/, reason: 'one row' }],
  'mempool.fees': [
    {
      step: /^SCAN mempool_transactions USING COVERING INDEX mempool_pending_fees$/,
      reason: 'percentiles are of all that waits; the index holds nothing else',
    },
  ],
  'mempool.total': [{ step: /^SCAN progress$/, reason: 'one row' }],
  'mempool.version': [{ step: /^SCAN progress$/, reason: 'one row' }],
  'principals.tip': [{ step: /^SCAN blocks$/, reason: 'walks the heights from their end and stops at the first' }],
  'principals.forcedUnlocks': [
    { step: /^SCAN CONSTANT ROW$/, reason: 'no table' },
    {
      step: /^SCAN blocks$/,
      reason: 'walks the heights from their end to the newest block that says it: all do, or none',
    },
  ],
  'transactions.total': [{ step: /^SCAN totals$/, reason: 'one row' }],
};

const folder = join(import.meta.dir, '../../src/store/queries');
const statements = new Map<string, string>();
for (const file of readdirSync(folder)) {
  const module: { sql?: Record<string, string> } = await import(join(folder, file));
  for (const [name, text] of Object.entries(module.sql ?? {})) {
    statements.set(`${file.replace(/\.ts$/, '')}.${name}`, text);
  }
}

let directory: DataDirectory;
let db: Database;
beforeAll(() => {
  const options = { seed: 1, blocks: 150, accounts: 20, transactionsPerBlock: 8 };
  directory = ingestOf([...devnetEvents(options)].map(received), { journal: false });
  db = new Database(indexPath(directory.path));
});
afterAll(() => {
  db.close();
  directory[Symbol.dispose]();
});

/** Steps of the plan that read a whole table or sort. */
function badSteps(name: string): string[] {
  const plan = db.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${statements.get(name)}`).all();
  expect(plan.length).toBeGreaterThan(0);
  return plan
    .map(({ detail }) => detail)
    .filter((detail) => /^SCAN|TEMP B-TREE|AUTOMATIC/.test(detail))
    .filter((detail) => !(mayScan[name] ?? []).some(({ step }) => step.test(detail)));
}

test('every module of queries names its statements here', () => {
  const modules = readdirSync(folder).map((file) => file.replace(/\.ts$/, ''));
  const withStatements = new Set([...statements.keys()].map((name) => name.split('.')[0]));
  expect(modules.filter((name) => !withStatements.has(name)).sort()).toEqual(['costs', 'page', 'summary']);
});

test('every exception is one of a statement that needs it', () => {
  for (const [name, exceptions] of Object.entries(mayScan)) {
    const plan = db.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${statements.get(name)}`).all();
    for (const { step } of exceptions) {
      expect({ name, step, used: plan.some(({ detail }) => step.test(detail)) }).toEqual({ name, step, used: true });
    }
  }
});

describe('with the statistics a writer leaves', () => {
  for (const name of statements.keys()) {
    test(`${name} is served by an index`, () => {
      expect(badSteps(name)).toEqual([]);
    });
  }
});

describe('without statistics', () => {
  beforeAll(() => {
    db.close();
    using writer = new Database(indexPath(directory.path));
    writer.run('DROP TABLE IF EXISTS sqlite_stat1');
    db = new Database(indexPath(directory.path));
  });
  for (const name of statements.keys()) {
    test(`${name} is served by an index`, () => {
      expect(badSteps(name)).toEqual([]);
    });
  }
});

describe('after ANALYZE', () => {
  beforeAll(() => {
    db.close();
    using writer = new Database(indexPath(directory.path));
    writer.run('ANALYZE');
    db = new Database(indexPath(directory.path));
  });
  for (const name of statements.keys()) {
    test(`${name} is served by an index`, () => {
      expect(badSteps(name)).toEqual([]);
    });
  }
});

test('a page of holders before a key is sought by the key, not by zero', () => {
  // The plan's text is the same either way; the program compares with the constant only if it reads from zero up.
  const above = [...statements].filter(([name]) => name.endsWith('.above'));
  expect(above.length).toBe(3);
  for (const [name, statement] of above) {
    const program = db.query<{ opcode: string }, []>(`EXPLAIN ${statement}`).all();
    expect({ name, constants: program.filter(({ opcode }) => opcode === 'String8').length }).toEqual({
      name,
      constants: 0,
    });
  }
});
