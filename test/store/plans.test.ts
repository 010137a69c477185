/** No request scans a table or sorts one: every statement of the queries, by the plan SQLite makes for it. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { basename, join } from 'node:path';
import { Glob } from 'bun';
import { indexPath, openWriter } from '../../src/store/files/database.ts';
import type { List } from '../../src/store/queries/list.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, simulatedEvents } from '../support/data/ingest.ts';

interface Exception {
  step: RegExp;
  reason: string;
}

/** A statement's only exception. */
const only = (step: RegExp, reason: string): Exception[] => [{ step, reason }];
/** The same exceptions for several statements. */
const each = (statements: readonly string[], exceptions: Exception[]): Record<string, Exception[]> =>
  Object.fromEntries(statements.map((statement) => [statement, exceptions]));
const fromTheEnd = (table: string): Exception[] =>
  only(new RegExp(`^SCAN ${table}$`), 'walks the heights from their end and stops at the first');

const narrowed = ['types', 'sender', 'senderNonce', 'recipient', 'contract', 'functionName', 'call', 'nonce', 'span'];
/** Lists of v1 that are short enough to be sorted, or else are not read by these statements. */
const sortedShort = each(
  ['asc', 'desc'].flatMap((direction) =>
    narrowed
      .flatMap((by) => [`${by}.fee`, `${by}.burn_block_time`])
      .map((list) => `transaction-search.index.${list}.${direction}`),
  ),
  only(/^USE TEMP B-TREE FOR ORDER BY$/, 'sorts a list that is always short'),
);
/** v1's mempool list: with a principal it is short and sorted, otherwise an index is read in order. */
const pendingSearch = Object.fromEntries(
  Object.entries({ age: 'mempool_pending', size: 'mempool_pending_by_size', fee: 'mempool_pending_by_fee' }).flatMap(
    ([by, index]) =>
      ['asc', 'desc'].flatMap((direction) => [
        [
          `pending-search.all.${by}.${direction}`,
          only(
            new RegExp(`^SCAN m USING (COVERING )?INDEX ${index}$`),
            'walks pending rows in the order of the list until the page is full',
          ),
        ],
        ...['sender', 'recipient', 'principal'].map((way) => [
          `pending-search.index.${way}.${by}.${direction}`,
          only(/^USE TEMP B-TREE FOR ORDER BY$/, 'an account has few transactions that wait'),
        ]),
      ]),
  ),
);
const UP_TO_A_LIMIT = 'walks an order up to a limit';
/** v1's list in an order of all transactions. */
const walkedRows = Object.fromEntries(
  ['asc', 'desc'].flatMap((direction) => {
    const byFee = (kind: string) => only(new RegExp(`^SCAN t USING ${kind}INDEX transactions_by_fee$`), UP_TO_A_LIMIT);
    const byTime = only(/^SCAN a USING COVERING INDEX anchor_burn_blocks_by_time$/, UP_TO_A_LIMIT);
    const inner = { step: /^SCAN t$/, reason: 'the rows of the inner query, which has a limit' };
    return [
      [`transaction-search.walk.fee.${direction}`, [inner, ...byFee('')]],
      [`transaction-search.walk.burn_block_time.${direction}`, [inner]],
      [`transaction-search.all.fee.${direction}`, byFee('COVERING ')],
      [`transaction-search.all.burn_block_time.${direction}`, byTime],
    ];
  }),
);

/** Reports whether a step reads the row of `progress`, or no table. */
const isOneRow = (step: string, text: string): boolean =>
  /^SCAN (progress|CONSTANT ROW)$/.test(step) || (step === 'SCAN p' && /\bprogress p\b/.test(text));

/** Allowed plan steps that look like a scan, by statement, each with the reason. */
const mayScan: Readonly<Record<string, Exception[]>> = {
  ...sortedShort,
  ...pendingSearch,
  'pending-totals.feesAndSizes': only(
    /^SCAN mempool_transactions USING COVERING INDEX mempool_pending_fees$/,
    'statistics cover all pending transactions; the index contains only those',
  ),
  ...each(
    [
      ...['pending-rank.ahead', 'pending-rank.aheadOfType', 'deployments.size', 'hooks/outbox.openUpTo'],
      ...['transaction-lists.nonce', 'transaction-lists.call'],
      ...['contract-search.count', 'contract-call-search.countAll', 'contract-call-search.countNamed'],
    ],
    only(/^SCAN \(subquery-1\)$/, 'counts up to a limit'),
  ),
  'value-indexes.all': only(/^SCAN value_indexes$/, 'a row for each index that the operator asks for'),
  'directories.deployment': only(/^SCAN c$/, 'the row of the inner query'),
  ...walkedRows,
  'facts.cycles': only(/^SCAN reward_cycles$/, 'a row for each reward cycle'),
  ...each(
    ['NameAsc', 'NameDesc', 'SymbolAsc', 'SymbolDesc'].map((order) => `metadata.ftsBy${order}`),
    only(/^SCAN c USING INDEX token_contracts_by_(name|symbol)(_down)?$/, 'walks the order of the list'),
  ),
  'metadata.countFts': only(
    /^SCAN c USING INDEX token_contracts_by_name$/,
    'a list with conditions is searched, up to a limit',
  ),
  ...each(
    ['oldest', 'newest', 'again'].map((order) => `token-jobs.${order}`),
    only(/^SCAN j$/, 'the rows of the inner query, which has a limit'),
  ),
  'token-jobs.unfinished': only(
    /^SCAN token_contracts USING INDEX token_contracts_unfinished$/,
    'stops at the first that waits',
  ),
  'starting-accounts.count': only(
    /^SCAN starting_accounts USING (COVERING )?INDEX starting_accounts_unasked$/,
    'rows that wait for the node; only the server counts them',
  ),
  'chain.tip': fromTheEnd('b'),
  ...each(
    [
      ...['chain.newest', 'block-series.tip', 'assets.stx', 'holder-lists.stxTotals', 'locks.tip'],
      ...['hooks/candidates.tipBurnHeight', 'transaction-lists.total'],
    ],
    fromTheEnd('blocks'),
  ),
  ...each(
    ['details.atEach', 'transactions.atEach', 'contract-logs.each', 'mempool.each'],
    only(/^SCAN k VIRTUAL TABLE INDEX 1:$/, 'the keys of a page'),
  ),
  'pending-meeting.oldest': only(
    /^SCAN mempool_transactions USING (COVERING )?INDEX mempool_pending$/,
    'stops at the first',
  ),
  'mempool-projection.cost': only(/^SCAN c$/, 'the newest calls of a function, as many as the limit'),
  'burn-blocks.newest': only(/^SCAN anchor_burn_blocks$/, 'walks the ordinals from their end and stops at the first'),
  'mempool.fees': only(
    /^SCAN mempool_transactions USING COVERING INDEX mempool_pending_fees$/,
    'percentiles cover all pending transactions; the index contains only those',
  ),
  'names.names': [
    {
      step: /^SCAN name_operations USING (COVERING )?INDEX active_names$/,
      reason: 'read in its order as far as the page, which clients give by number',
    },
    { step: /^SCAN o USING (COVERING )?INDEX old_names_without_subdomains$/, reason: 'as active_names' },
  ],
  'namespaces.namespaces': only(/^SCAN (old_)?namespaces$/, 'the answer is all of them, and there are few'),
  'subdomains.subdomain': only(/^USE TEMP B-TREE FOR/, 'as many as declared one subdomain'),
  'subdomains.declarations': only(/^USE TEMP B-TREE FOR/, 'as many as declared one subdomain'),
  'burn-rewards.newest': fromTheEnd('burn_blocks'),
  'burn-rewards.newestOutput': fromTheEnd('pox_transactions'),
  'reward-cycles.total': only(/^SCAN reward_cycles/, 'a row for each reward cycle'),
  'reward-cycles.page': only(/^SCAN c$/, 'walks the cycles from their end, as far as the page reaches'),
  'reward-cycles.newest': only(/^SCAN c$/, 'walks the cycles from their end and stops at the first'),
  ...Object.fromEntries(
    ['reward-cycles.signers', ...['head', 'beyond', 'above'].map((part) => `staking.cycleSigners.${part}`)].map(
      (list) => [list, only(/^USE TEMP B-TREE FOR/, 'a cycle has at most as many signers as slots')],
    ),
  ),
  'bonds.total': only(/^SCAN bonds/, 'a row for each bond'),
  'staking-cycles.bonds': only(/^SCAN bonds$/, 'a row for each bond'),
  'staking.total': only(/^SCAN signer_keys/, 'a row for each signer'),
  'staking.stakerCount': only(
    /^SCAN \(subquery-2\)$/,
    'stakes end with the height of Bitcoin, so that no counter holds; of one signer',
  ),
  'hooks/records.deletedBefore': only(/^SCAN hooks$/, 'upkeep once a minute, of rows that are few'),
  'hooks/records.withLongLog': only(/^SCAN hooks$/, 'upkeep once a minute, of rows that are few'),
  'hooks/records.consumers': only(/^SCAN h USING INDEX hooks_by_consumer$/, 'only for the operator, with few rows'),
  'hooks/records.counts': [
    { step: /^SCAN h( USING INDEX hooks_by_consumer)?$/, reason: 'a gauge of all hooks' },
    { step: /^USE TEMP B-TREE FOR GROUP BY$/, reason: 'eight groups at most' },
  ],
  'hooks/outbox.openQueues': [
    { step: /^SCAN hook_deliveries USING INDEX hook_deliveries_queue$/, reason: 'stops at the first' },
    { step: /^SCAN (\(subquery-1\)|heads)$/, reason: 'at the start, of queues; the table is entered once for each' },
  ],
  'hooks/outbox.waitingOfAll': only(
    /^SCAN hook_deliveries USING INDEX hook_deliveries_queue$/,
    'a gauge of all that waits',
  ),
  'hooks/backfills.next': [
    { step: /^SCAN hook_backfills USING INDEX hook_backfills_open$/, reason: 'the index holds nothing else' },
    { step: /^USE TEMP B-TREE FOR/, reason: 'unfinished work, which is limited for each hook' },
  ],
  'names.version': only(/^SCAN old_names/, 'stops at the first'),
};

const folder = join(import.meta.dir, '../../src/store/queries');
const hooksFolder = join(import.meta.dir, '../../src/store/hooks');
const statements = new Map<string, string>();
for (const [prefix, directory] of [
  ['', folder],
  ['hooks/', hooksFolder],
] as const) {
  for (const file of new Glob('**/*.ts').scanSync(directory)) {
    const module: Record<string, unknown> = await import(join(directory, file));
    for (const [exported, texts] of Object.entries(module)) {
      // `sql` is named by its file, `burnRewardsSql` by itself.
      const named = /^(?:sql|(.+)Sql)$/.exec(exported);
      if (named === null) continue;
      const name = named[1]?.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) ?? basename(file, '.ts');
      for (const [statement, value] of Object.entries(texts as Readonly<Record<string, string | List<unknown>>>)) {
        if (typeof value === 'object' && 'texts' in value) {
          for (const [way, text] of Object.entries(value.texts))
            statements.set(`${prefix}${name}.${statement}.${way}`, text);
        } else statements.set(`${prefix}${name}.${statement}`, String(value));
      }
    }
  }
}

let directory: DataDirectory;
let db: Database;
beforeAll(() => {
  const options = { seed: 1, blocks: 150, accounts: 20, transactionsPerBlock: 8 };
  directory = ingestOf(simulatedEvents(options));
  db = new Database(indexPath(directory.path));
});
afterAll(() => {
  db.close();
  directory[Symbol.dispose]();
});

/** The steps of a statement's plan. */
const planOf = (text: string | undefined, file = db): string[] =>
  file
    .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${text}`)
    .all()
    .map(({ detail }) => detail);

/** Steps of the plan that read a whole table or sort. */
function badSteps(name: string): string[] {
  const text = statements.get(name) ?? '';
  const plan = planOf(text);
  expect(plan.length).toBeGreaterThan(0);
  return plan
    .filter((detail) => /^SCAN|TEMP B-TREE|AUTOMATIC/.test(detail) && !isOneRow(detail, text))
    .filter((detail) => !(mayScan[name] ?? []).some(({ step }) => step.test(detail)));
}

test('every module of queries exports its statements, except those without any', () => {
  const modules = [...new Glob('**/*.ts').scanSync(folder)].map((file) => basename(file, '.ts'));
  const withStatements = new Set([...statements.keys()].map((name) => name.split('.')[0]));
  const without = ['file-cache', 'list', 'page', 'planner', 'row-texts', 'summary'];
  expect(modules.filter((name) => !withStatements.has(name)).sort()).toEqual(without);
});

test('a module of queries exports all its statements', async () => {
  for await (const file of new Glob('**/*.ts').scan(folder)) {
    const text = await Bun.file(join(folder, file)).text();
    const loose = text.match(/^(export )?const \w+ = query\b.*/gm) ?? [];
    expect(loose, `Move the statements of ${file} into its sql, so that these tests see their plans`).toEqual([]);
  }
});

test('every exception is needed by its statement', () => {
  for (const [name, exceptions] of Object.entries(mayScan)) {
    const plan = planOf(statements.get(name));
    for (const { step } of exceptions) {
      expect({ name, step, used: plan.some((detail) => step.test(detail)) }).toEqual({ name, step, used: true });
    }
  }
});

for (const name of statements.keys()) {
  test(`${name} is served by an index`, () => {
    expect(badSteps(name), 'Add an index to schema.sql, or the step and the reason for it to mayScan').toEqual([]);
  });
}

/** Statements that pass over some rows with a comparison of several columns, each with the reason. */
const mayPassOver: Readonly<Record<string, string>> = {
  'stacking.delegations': 'the later rows of one stacker, until the first match',
  'stacking.delegationCount': 'as delegations',
  'hooks/outbox.aged': 'upkeep, which passes over what was made in one millisecond',
};

test('rows after a position are found there, without reading rows before it', () => {
  const passing = [...statements].filter(([name, text]) => {
    const compared = text.match(/\([\w.]+(, [\w.]+)+\) ([<>]=?) \(/g) ?? [];
    return planOf(statements.get(name)).filter((step) => /\(\w+(,\w+)+\)[<>]/.test(step)).length < compared.length;
  });
  expect(passing.map(([name]) => name).sort()).toEqual(Object.keys(mayPassOver).sort());
});

describe('a chain that was small when its file was closed', () => {
  /** Each statement with its plan. */
  const plansIn = (file: Database): [string, string[]][] =>
    [...statements].map(([name, text]) => [name, planOf(text, file)]);
  const small = simulatedEvents({ seed: 2, blocks: 3, accounts: 3, transactionsPerBlock: 1 });

  test('has the plans of a large one', () => {
    using smallIndex = ingestOf(small);
    openAt(smallIndex.path)[Symbol.dispose]();
    using file = new Database(indexPath(smallIndex.path), { readonly: true });
    expect(plansIn(file)).toEqual(plansIn(db));
  });

  test('has them for the first writer of a file with statistics, and for its readers', () => {
    using smallIndex = ingestOf(small);
    using reader = new Database(indexPath(smallIndex.path), { readonly: true });
    {
      using analysing = new Database(indexPath(smallIndex.path));
      analysing.run('ANALYZE');
    }
    // So that the test can fail.
    expect(plansIn(reader)).not.toEqual(plansIn(db));
    using writer = openWriter(smallIndex.path);
    expect(plansIn(writer)).toEqual(plansIn(db));
    // A connection sees that the schema changed when it runs a statement, not when it explains one.
    reader.run('SELECT 1 FROM progress');
    expect(plansIn(reader)).toEqual(plansIn(db));
  });
});

test('batches of names start at the previous name, after any number of names', () => {
  const sought = (name: string) =>
    planOf(statements.get(name)).flatMap(
      (step) => /^SEARCH (?:s|o|old_names|nft_instances) .*\((.*)\)$/.exec(step)?.[1] ?? [],
    );
  expect(sought('subdomains.subdomainsOfName')).toEqual(['name=? AND subdomain>?', 'parent=? AND name>?']);
  expect(sought('subdomains.subdomainsOfOwner')).toEqual(['owner=? AND subdomain>?']);

  expect(sought('names.oldNamesOfOwner')).toEqual(['owner=? AND name>?']);
  expect(sought('names.owned')).toEqual(['owner_id=? AND asset_id=? AND value>?']);
});

/** An instruction of a statement's program. */
interface Step {
  opcode: string;
  p2: number;
  p3: number;
  p4: string;
}

test('a page of holders before a key is sought by the key, not by zero', () => {
  // The plan's text is the same either way. The condition of a partial index may still be checked for each row found.
  const above = [...statements].filter(([name]) => /^balance-lists\..*\.above$/.test(name));
  expect(above.length).toBe(3);
  for (const [name, statement] of above) {
    const program = db.query<Step, []>(`EXPLAIN ${statement}`).all();
    const seek = program.find(({ opcode }) => opcode === 'SeekLT')!;
    // The registers that the seek reads, from the third operand on, as many as the fourth.
    const sought = program.filter(
      ({ opcode, p2 }) => opcode === 'String8' && p2 >= seek.p3 && p2 < seek.p3 + Number(seek.p4),
    );
    expect({ name, sought }).toEqual({ name, sought: [] });
  }
});
