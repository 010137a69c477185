/** Indexes that begin at a block, above which they have what an index of the whole chain has. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { STARTING_ACCOUNT_PATH } from '../../src/chain/payload-reader.ts';
import { heightOf } from '../../src/chain/position.ts';
import { runExport } from '../../src/commands/data/export.ts';
import { runImport } from '../../src/commands/data/import.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { mempool } from '../../src/http/etag.ts';
import { readSettings } from '../../src/settings/config.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { ForkBelowHistoryError } from '../../src/store/ingest/history-start.ts';
import { rebuildIndex } from '../../src/store/ingest/rebuild.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openNew, received } from '../support/data/ingest.ts';
import { everything, type Tables, tables } from '../support/data/tables.ts';
import { beginnings, startAbove } from '../support/events/beginning.ts';
import { eventsOf, forks } from '../support/events/forked-chain.ts';
import { winningChain } from '../support/events/winning-chain.ts';
import { assertProperty, Seen, timeout } from '../support/property.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';

const problemsIn = (directory: string): string[] =>
  checkAndRecount(directory).flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`));

function after(events: readonly NodeEvent[]) {
  using directory = ingestOf(events.map(received));
  return { tables: tables(directory.path), problems: problemsIn(directory.path) };
}

/** Tables whose rows are made of their own block alone, with columns that are not. */
const ofOneBlock: Readonly<Record<string, string[]>> = {
  blocks: ['preceding_transactions'],
  transactions: [],
  transaction_bodies: [],
  events: [],
  contracts: [],
  declared_functions: [],
  principal_transactions: [],
  memo_transfers: [],
  token_changes: [],
  stx_locks: [],
  miner_rewards: [],
  name_operations: [],
  namespaces: [],
  namespace_prices: [],
  delegations: [],
  stacking_terms: [],
  bond_registrations: [],
  bond_allowances: [],
  signer_keys: [],
};

/** The rows of blocks from a height on. */
function rowsFrom(all: Tables, height: number): Tables {
  const isAbove = (row: string): boolean => {
    const [, name, value] = /(?:^| )(height|position)=(\d+)/.exec(row) ?? [];
    return (name === 'height' ? Number(value) : heightOf(Number(value))) >= height;
  };
  const without = (row: string, columns: readonly string[]) =>
    columns.reduce((text, column) => text.replace(new RegExp(` ${column}=\\S+`), ''), row);
  return Object.fromEntries(
    Object.entries(ofOneBlock).map(([table, columns]) => [
      table,
      (all[table] ?? []).filter(isAbove).map((row) => without(row, columns)),
    ]),
  );
}

/** A chain of so many blocks, each anchored to a Bitcoin block of its own, without forks. */
const straightChain = (blocks: number): NodeEvent[] => [
  ...devnetEvents({ seed: 3, blocks, accounts: 10, transactionsPerBlock: 2, forkEvery: 0, mempool: false }),
];

test(
  'an index that begins at any block ends in the tables of its winning chain alone, whatever forks above',
  () => {
    const seen = new Seen({ beginnings: 2, blocks: 10 });
    assertProperty(
      fc.property(forks(), fc.nat(), (generated, choice) => {
        const possible = beginnings(eventsOf(generated));
        const begun = possible[choice % Math.max(1, possible.length)];
        if (begun === undefined) return;
        const [start, ...events] = begun.events as [NodeEvent, ...NodeEvent[]];
        const forked = after([start, ...events]);
        expect(forked.problems).toEqual([]);
        expect(forked.tables).toEqual(after([start, ...winningChain(events)]).tables);
        const whole = after(winningChain(eventsOf(generated))).tables;
        expect(rowsFrom(forked.tables, begun.height)).toEqual(rowsFrom(whole, begun.height));
        seen.add('beginnings');
        seen.add('blocks', forked.tables.blocks?.length ?? 0);
      }),
      { seen, cases: 3 },
    );
  },
  timeout,
);

const blocksOf = (events: readonly NodeEvent[]): NodeEvent[] => events.filter(({ path }) => path === '/new_block');
const heightIn = ({ body }: NodeEvent): number => JSON.parse(body).block_height;
const parentIn = ({ body }: NodeEvent): string => JSON.parse(body).parent_index_block_hash;

test('blocks below the beginning change nothing, and a gap above it is named', () => {
  const blocks = blocksOf(straightChain(8));
  const at = (height: number): NodeEvent => blocks.find((event) => heightIn(event) === height)!;
  using open = openNew();
  expect(open.ingest.receive(received(startAbove(at(4))))).toBe('applied');
  expect(open.ingest.history.tip()).toMatchObject({ height: 4 });
  const before = everything(open.directory);
  for (const height of [0, 1, 3, 4]) expect(open.ingest.receive(received(at(height)))).toBe('repeated');
  expect(() => open.ingest.receive(received(at(7)))).toThrow(
    expect.objectContaining({ name: 'UnknownParentError', missing: { from: 5, to: 6 } }),
  );
  expect(everything(open.directory)).toEqual(before);
  expect(open.ingest.receive(received(at(5)))).toBe('applied');
  expect(open.ingest.receive(received(at(6)))).toBe('applied');
  // Where it begins is said once, and an index with blocks begins where it does.
  for (const height of [3, 4]) expect(open.ingest.receive(received(startAbove(at(height))))).toBe('repeated');
  expect(open.ingest.history.bottom()).toBe(4);
});

test('an index of the whole chain takes no beginning', () => {
  const events = straightChain(4);
  using open = openNew();
  for (const event of events) open.ingest.receive(received(event));
  const before = everything(open.directory);
  expect(open.ingest.receive(received(startAbove(blocksOf(events)[3]!)))).toBe('repeated');
  expect(everything(open.directory)).toEqual(before);
});

test('a fork below the first block ends it with what to do, and leaves the index as it was', () => {
  const blocks = blocksOf(straightChain(6));
  const at = (height: number): NodeEvent => blocks.find((event) => heightIn(event) === height)!;
  using open = openNew();
  for (const event of [startAbove(at(3)), at(4), at(5)]) open.ingest.receive(received(event));
  const before = everything(open.directory);
  const rival = at(4).body.replaceAll(parentIn(at(4)), `0x${'ab'.repeat(32)}`);
  const hash = JSON.parse(rival).index_block_hash;
  const other = { ...at(4), body: rival.replaceAll(hash, `0x${'cd'.repeat(32)}`) };
  expect(() => open.ingest.receive(received(other))).toThrow(ForkBelowHistoryError);
  expect(everything(open.directory)).toEqual(before);
  expect(open.ingest.receive(received(at(6)))).toBe('applied');
});

test('a rebuild, a deep check, a recording and another journal have the beginning', async () => {
  const events = straightChain(8);
  const [begun] = beginnings(events).filter(({ height }) => height === 5);
  using directory = ingestOf(begun!.events.map(received));
  const before = tables(directory.path);
  rebuildIndex({ directory: directory.path, chainId: null, log: () => {}, force: false, machine: silentMachine });
  expect(tables(directory.path)).toEqual(before);
  const deep = checkAndRecount(directory.path, { deep: silentMachine });
  expect(deep.flatMap(({ problems }) => problems)).toEqual([]);

  using other = dataDirectory();
  const recording = join(other.path, 'recording.tsv');
  await runExport(directory.path, recording, false);
  using imported = dataDirectory();
  const settings = readSettings({ data: imported.path, logLevel: 'silent' }, {});
  await runImport(settings, [recording], { skipBad: false, restart: false });
  expect(tables(imported.path)).toEqual(before);
  {
    using db = new Database(indexPath(imported.path), { readonly: true });
    expect(db.query('SELECT history_from, block_height, stx_supply FROM v1_chain').get()).toEqual({
      history_from: 5,
      block_height: 8,
      stx_supply: null,
    });
    expect(db.query('SELECT count(*) AS rows FROM v1_balances').get()).toEqual({ rows: 0 });
    const tokens = db.query<{ supply: string | null }, []>('SELECT DISTINCT supply FROM v1_fungible_tokens').all();
    expect(tokens).toEqual([{ supply: null }]);
  }
  // An index of the whole chain takes the same recording for what it knows.
  using whole = ingestOf(events.map(received));
  const known = tables(whole.path);
  await runImport({ ...settings, data: whole.path }, [recording], { skipBad: false, restart: false });
  expect(tables(whole.path)).toEqual(known);
});

test('what is read of the mempool is another once the node has said what an account had', async () => {
  const events = [...devnetEvents({ seed: 3, blocks: 12, accounts: 4, transactionsPerBlock: 3, forkEvery: 0 })];
  using open = openNew();
  for (const event of beginnings(events).find(({ height }) => height === 6)!.events)
    open.ingest.receive(received(event));
  const snapshots = openSnapshots(open.directory);
  try {
    const look = () =>
      snapshots.read(async (read) => ({ tag: await mempool(read), ...(await read.principals.unasked(0, 1)) }));
    const { tag, accounts } = await look();
    const said = { principal: accounts[0]!.principal, balance: '1', locked: '0', unlock_height: 0, nonce: 7 };
    const answer = received({ path: STARTING_ACCOUNT_PATH, body: JSON.stringify(said), time: 0 });
    open.ingest.receive(answer);
    const known = (await look()).tag;
    expect(known).not.toBe(tag);
    // What it says again changes nothing.
    open.ingest.receive(answer);
    expect((await look()).tag).toBe(known);
  } finally {
    snapshots.close();
  }
});
