/** Indexes that start at a block. Above it, they equal an index of the whole chain. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { STARTING_ACCOUNT_PATH } from '../../src/chain/payload-reader.ts';
import { heightOf } from '../../src/chain/position.ts';
import { fromHex } from '../../src/codec/hex.ts';
import { runExport } from '../../src/commands/data/export.ts';
import { runImport } from '../../src/commands/data/import.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { mempool } from '../../src/http/etag.ts';
import { readSettings } from '../../src/settings/config.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { DeepForkError, HISTORY_START, PartialHistoryError } from '../../src/store/ingest/history-start.ts';
import { UnknownParentError } from '../../src/store/ingest/known-blocks.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { emptyDirectory, ingestOf, openAt, openNew, received } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { everything, type Tables, tables } from '../support/data/tables.ts';
import { answerOf, unaskedIn } from '../support/events/answered.ts';
import { beginnings, isOneBitcoin } from '../support/events/beginning.ts';
import { eventsOf, forks, grown } from '../support/events/forked-chain.ts';
import { alice, announcement, block, bob, drop, hashOf, receipt, transfer } from '../support/events/handmade.ts';
import { winningChain } from '../support/events/winning-chain.ts';
import { assertProperty, assertSeeds, firstSeed, Seen } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

/** Fields of a first block. */
const PARENT = { parent_burn_block_hash: hashOf('burn'), parent_burn_block_height: 100 };

function outcomeOf(events: readonly NodeEvent[]) {
  using directory = ingestOf(events.map(received));
  return { tables: tables(directory.path), problems: problemsIn(directory.path) };
}

/** Tables whose rows depend only on their block, with the columns that are exceptions. */
const ofOneBlock: Readonly<Record<string, string[]>> = {
  blocks: ['preceding_transactions', 'stx_supply', 'stx_balances', 'stx_holders', 'stx_accounts'],
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
function rowsFrom(tablesOfAll: Tables, height: number): Tables {
  const isAbove = (row: string): boolean => {
    const [, name, value] = /(?:^| )(height|position)=(\d+)/.exec(row) ?? [];
    return (name === 'height' ? Number(value) : heightOf(Number(value))) >= height;
  };
  const omitColumns = (row: string, columns: readonly string[]) =>
    columns.reduce((text, column) => text.replace(new RegExp(` ${column}=\\S+`), ''), row);
  return Object.fromEntries(
    Object.entries(ofOneBlock).map(([table, columns]) => [
      table,
      (tablesOfAll[table] ?? []).filter(isAbove).map((row) => omitColumns(row, columns)),
    ]),
  );
}

/** Returns a chain of the given length without forks, each block anchored to a different Bitcoin block. */
const straightChain = (blocks: number): NodeEvent[] => [
  ...devnetEvents({ seed: 3, blocks, accounts: 10, transactionsPerBlock: 2, forkEvery: 0, mempool: false }),
];

test('an index that starts at any block ends in the tables of its winning chain, whatever forks above', () => {
  const seen = new Seen({ beginnings: 2, blocks: 10 });
  assertProperty(
    fc.property(forks(), fc.nat(), (generated, choice) => {
      const possible = beginnings(eventsOf(generated));
      const beginning = possible[choice % Math.max(1, possible.length)];
      if (beginning === undefined) return;
      const forked = outcomeOf(beginning.events);
      expect(forked.problems).toEqual([]);
      expect(forked.tables).toEqual(outcomeOf(winningChain(beginning.events)).tables);
      const whole = outcomeOf(winningChain(eventsOf(generated))).tables;
      expect(rowsFrom(forked.tables, beginning.height)).toEqual(rowsFrom(whole, beginning.height));
      seen.add('beginnings');
      seen.add('blocks', forked.tables.blocks?.length ?? 0);
    }),
    // With this seed, two rounds of cases meet every situation.
    { seen, cases: 1, seed: firstSeed + 1 },
  );
});

const blocksOf = (events: readonly NodeEvent[]): NodeEvent[] => events.filter(({ path }) => path === '/new_block');
const heightIn = ({ body }: NodeEvent): number => JSON.parse(body).block_height;
const hashIn = ({ body }: NodeEvent): string => JSON.parse(body).index_block_hash;
const parentIn = ({ body }: NodeEvent): string => JSON.parse(body).parent_index_block_hash;

/** Index block hash and height of the block below the history; null for a whole history. */
function startOf(index: Database): { height: number; parent: string } | null {
  const row = index
    .query<{ height: number; hash: Uint8Array }, []>(
      'SELECT start_height AS height, start_index_block_hash AS hash FROM progress WHERE start_height IS NOT NULL',
    )
    .get();
  return row === null ? null : { height: row.height, parent: `0x${row.hash.toHex()}` };
}

/** The winning chain from a height on, with block 0 if it was received before the chain's block 1. */
function winningFrom(events: readonly NodeEvent[], height: number): NodeEvent[] {
  const winning = winningChain(events);
  const [zero, first] = [0, 1].map((height) => {
    const event = blocksOf(winning).find((event) => heightIn(event) === height);
    return event === undefined ? -1 : events.indexOf(event);
  });
  const isGenesisFirst = height <= 1 && zero! < first!;
  return winning.filter((event) => {
    if (event.path !== '/new_block') return true;
    return heightIn(event) === 0 ? isGenesisFirst : heightIn(event) >= height;
  });
}

const ofBitcoin = ['burn_blocks', 'burn_rewards', 'burn_slot_holders', 'pox_transactions'];

/** Returns the tables of the chain, without the Bitcoin tables if Bitcoin's chain is incomplete. */
const chainOf = (chainTables: Tables, isBitcoinKnown: boolean): Tables =>
  Object.fromEntries(Object.entries(chainTables).filter(([table]) => isBitcoinKnown || !ofBitcoin.includes(table)));

/** Sends the answers of the node for all waiting accounts, or for some of them. */
async function answerAll(
  { ingest }: ReturnType<typeof openNew>,
  index: Database,
  chain: SimulatedChain,
  isAnswered = () => true,
) {
  for (const { below, principal } of unaskedIn(index)) {
    if (isAnswered()) ingest.receive(received(await answerOf(chain, below, principal)));
  }
}

/** Opens the index of a directory to read it. */
const indexOf = ({ directory }: ReturnType<typeof openNew>): Database =>
  new Database(indexPath(directory), { readonly: true });

test('a history that starts at any block accepts every event, and ends in the tables of its last start and the winning chain', async () => {
  const seen = new Seen({ starts: 5, again: 3, lower: 1, higher: 1, whole: 1, gaps: 3, answers: 100 });
  await assertSeeds(
    fc.asyncProperty(forks(), fc.nat(), fc.nat(3), async (generated, choice, every) => {
      const { chain, events } = grown(generated);
      const stream = events.slice(choice % events.length);
      if (!blocksOf(stream).some((event) => heightIn(event) > 0)) return;
      const byHash = new Map(blocksOf(events).map((event) => [hashIn(event), event]));
      using open = openNew();
      using index = indexOf(open);
      const accepted: NodeEvent[] = [];
      let [before, number] = [null as ReturnType<typeof startOf>, 0];
      const accept = (event: NodeEvent): void => {
        const { ingest } = open;
        const gap: NodeEvent[] = [];
        // Blocks above the start that the node posted before the server was started are a gap, which is filled.
        const lowest =
          before?.height ?? (ingest.history.hashAt(ingest.history.tip().height) === undefined ? Infinity : 1);
        for (let child = event; child.path === '/new_block' && heightIn(child) > lowest; ) {
          const parent = byHash.get(parentIn(child));
          if ([hashIn(child), parentIn(child)].some((hash) => ingest.history.isKnown(fromHex(hash)))) break;
          if (parentIn(child) === before?.parent) break;
          expect(() => ingest.receive(received(child))).toThrow(UnknownParentError);
          gap.unshift(parent!);
          child = parent!;
        }
        for (const next of [...gap, event]) {
          if (ingest.receive(received(next)) === 'applied') accepted.push(next);
        }
        seen.add('gaps', gap.length);
      };
      for (const event of stream) {
        accept(event);
        open.ingest.publish();
        const start = startOf(index);
        if (before !== null && start?.parent !== before.parent) {
          seen.add('again');
          seen.add((start?.height ?? 1) < before.height ? 'lower' : 'higher');
        }
        before = start;
        await answerAll(open, index, chain, () => {
          number += 1;
          return number % (every + 1) === 0;
        });
      }
      await answerAll(open, index, chain);
      seen.add('answers', number);
      seen.add(before === null ? 'whole' : 'starts');
      open.ingest.publish();
      const winning = winningFrom(accepted, before?.height ?? 1);
      // Block 0 contains the first balances. Without it, accounts spend STX that they don't have.
      const isFunded = before !== null || winning[0] === events[0];
      if (isFunded) expect(problemsIn(open.directory)).toEqual([]);
      using straight = openNew();
      for (const event of winning) straight.ingest.receive(received(event));
      using straightIndex = indexOf(straight);
      await answerAll(straight, straightIndex, chain);
      straight.ingest.publish();
      expect(startOf(straightIndex)).toEqual(before);
      // If Bitcoin forked below the first block received, its chain is incomplete.
      const isKnown = isOneBitcoin(accepted);
      expect(chainOf(tables(open.directory), isKnown)).toEqual(chainOf(tables(straight.directory), isKnown));
    }),
    // From this seed on, eight cases meet every situation.
    { seen, cases: 4, seed: firstSeed + 2 },
  );
});

test('blocks below the start become orphans, and a gap above it is named and starts nothing again', () => {
  const blocks = blocksOf(straightChain(8));
  const blockAt = (height: number): NodeEvent => blocks.find((event) => heightIn(event) === height)!;
  using open = openNew();
  expect(open.ingest.receive(received(blockAt(5)))).toBe('applied');
  expect(open.ingest.history.tip()).toMatchObject({ height: 5 });
  const before = tables(open.directory);
  for (const height of [4, 1, 0]) expect(open.ingest.receive(received(blockAt(height)))).toBe('applied');
  expect(() => open.ingest.receive(received(blockAt(8)))).toThrow(
    expect.objectContaining({ name: 'UnknownParentError', missing: { from: 6, to: 7 } }),
  );
  expect(tables(open.directory)).toEqual(before);
  for (const height of [6, 7, 8]) expect(open.ingest.receive(received(blockAt(height)))).toBe('applied');
  expect(open.ingest.history.bottom()).toBe(4);
});

test('a search finds no block or transaction of an orphan below the start, which has no page', () => {
  const blocks = blocksOf(straightChain(8));
  using open = openNew();
  for (const height of [5, 4]) open.ingest.receive(received(blocks.find((event) => heightIn(event) === height)!));
  open.ingest.publish();
  using db = indexOf(open);
  const [orphan] = db
    .query<{ hash: string; tx: string }, []>(
      `SELECT lower(hex(b.index_block_hash)) AS hash, lower(hex(t.tx_id)) AS tx
         FROM orphaned_blocks b JOIN orphaned_transactions t ON t.index_block_hash = b.index_block_hash`,
    )
    .all();
  using snapshots = snapshotsOf(open.directory);
  snapshots.read((read) => {
    expect(read.blocks.whole({ indexHash: fromHex(orphan!.hash) })).toBeUndefined();
    expect(read.transactions.findInForks(fromHex(orphan!.tx))).toBeUndefined();
    expect([orphan!.hash, orphan!.tx].flatMap((id) => read.search(id, 10))).toEqual([]);
  });
});

test('a history starts at the first block after the empty block 0 that a node posts when it starts again', () => {
  const chain = new SimulatedChain({ seed: 1, accounts: 4 });
  chain.mine(null, { newTenure: true });
  const [second] = blocksOf(chain.mine(chain.tip.indexBlockHash).events);
  using open = openNew();
  expect(open.ingest.receive(received(chain.restart()))).toBe('repeated');
  expect(open.ingest.receive(received(second!))).toBe('applied');
  expect(open.ingest.history.bottom()).toBe(1);
});

test('announcements before the first block are received at the height below it', () => {
  const announced = announcement([transfer(alice, 0, 100)]);
  const dropped = transfer(alice, 1, 100);
  using open = openNew();
  open.ingest.receive(announced);
  open.ingest.receive(drop([dropped], 'StaleGarbageCollect'));
  open.ingest.receive(
    block(null, 'first', [receipt(transfer(bob, 0, 100), 0)], { ...PARENT, block_height: 400 }).event,
  );
  open.ingest.publish();
  using db = indexOf(open);
  expect(db.query('SELECT receipt_block_height AS height FROM mempool_transactions').all()).toEqual([{ height: 399 }]);
  expect(db.query('SELECT height FROM early_drops').all()).toEqual([{ height: 399 }]);
});

test('before Nakamoto, transactions from before the first block aren’t collected as old, and early drops apply', () => {
  const old = { signer_bitvec: null };
  const below = { hash: hashOf('below'), height: 499, event: received({ path: '', body: '', time: 0 }) };
  const first = block(below, 'first', [], { ...old, ...PARENT });
  const [stored, buffered, dropped] = [transfer(alice, 0, 200), transfer(bob, 0, 200), transfer(bob, 1, 200)];
  using open = openNew();
  open.ingest.receive(announcement([stored]));
  open.ingest.receive(drop([dropped], 'StaleGarbageCollect'));
  open.ingest.apply(announcement([buffered]));
  open.ingest.apply(first.event);
  open.ingest.commit();
  // Block 501 collects the transactions that are pending for 256 blocks.
  open.ingest.receive(block(first, 'second', [], old).event);
  open.ingest.receive(announcement([dropped]));
  using db = indexOf(open);
  const rows = db.query('SELECT state, receipt_block_height AS height FROM mempool_transactions WHERE tx_id = ?1');
  expect([stored, buffered, dropped].map(({ id }) => rows.get(fromHex(id)))).toEqual([
    { state: 0, height: 499 },
    { state: 0, height: 499 },
    { state: -13, height: 501 },
  ]);
  expect(problemsIn(open.directory)).toEqual([]);
});

test('an index of the whole chain starts nowhere else', () => {
  const blocks = blocksOf(straightChain(8));
  using open = openNew();
  for (const event of blocks.slice(0, 3)) open.ingest.receive(received(event));
  const before = everything(open.directory);
  expect(() => open.ingest.receive(received(blocks.at(-1)!))).toThrow('DB does not contain a parent block');
  expect(everything(open.directory)).toEqual(before);
});

test('a first block above the genesis block is refused before the first write if the whole chain is needed', () => {
  const blocks = blocksOf(straightChain(4));
  using open = openNew({ history: 'full' });
  const before = everything(open.directory);
  expect(() => open.ingest.receive(received(blocks.at(-1)!))).toThrow(PartialHistoryError);
  expect(everything(open.directory)).toEqual(before);
  for (const event of blocks) expect(open.ingest.receive(received(event))).toBe('applied');
});

/** Two blocks of a history that starts above the genesis block, and a longer branch that starts it again. */
function restartedHistory() {
  const sent = transfer(alice, 0, 100);
  const below = block(null, 'below', [], PARENT);
  const first = block(below, 'first', [receipt(sent, 0)], PARENT);
  const second = block(first, 'second', []);
  const rival = block(below, 'rival', [], { ...PARENT, parent_index_block_hash: hashOf('another parent') });
  const rivalOfSecond = block(rival, 'rival of second', []);
  return { sent, first, second, rival, rivalOfSecond, winner: block(rivalOfSecond, 'winner', []) };
}

const changesAfter = (read: Reader, id: number): [kind: string, subject: string][] =>
  read.changes.after(id, 10).map(({ kind, subject }) => [kind, `0x${subject.toHex()}`]);

test('a fork below the start pushes and logs the blocks that it undoes, and pushes their transactions', () => {
  const { sent, first, second, rival, rivalOfSecond, winner } = restartedHistory();
  using open = openNew();
  for (const { event } of [first, second, rival, rivalOfSecond]) open.ingest.receive(event);
  open.ingest.publish();
  using snapshots = snapshotsOf(open.directory);
  const newest = snapshots.read((read) => read.changes.newest());
  const logged = open.logged.length;
  open.ingest.receive(winner.event);
  open.ingest.publish();
  expect(snapshots.read((read) => changesAfter(read, newest))).toEqual([
    ['undone', second.hash],
    ['undone', first.hash],
    ['block', rival.hash],
    ['block', rivalOfSecond.hash],
    ['block', winner.hash],
    ['restored', sent.id],
  ]);
  expect(open.logged.slice(logged)).toMatchObject([
    { event: 'block_reverted', height: 3, index_block_hash: second.hash },
    { event: 'block_reverted', height: 2, index_block_hash: first.hash },
    { event: 'block_applied', height: 2 },
    { event: 'block_applied', height: 3 },
    { event: 'block_applied', height: 4 },
  ]);
});

test('a follower that stops after the entry of a new start has pushed the blocks that the start undid', async () => {
  const { sent, first, second, rival, rivalOfSecond, winner } = restartedHistory();
  using other = openNew();
  for (const { event } of [first, second, rival, rivalOfSecond, winner]) other.ingest.receive(event);
  const entries = [...other.ingest.entries.after(0)];
  const starts = entries.filter(({ text }) => text.includes(HISTORY_START));
  const [before, start, after] = [starts[1]!.id - 1, starts[1]!.id, starts[1]!.id + 1];
  using directory = emptyDirectory();
  const follow = async (from: number, to: number): Promise<void> => {
    using follower = openAt(directory.path);
    await follower.ingest.entries.follow(entries.slice(from - 1, to), 'each', true, async () => {});
  };
  await follow(1, before);
  using snapshots = snapshotsOf(directory.path);
  const newest = snapshots.read((read) => read.changes.newest());
  await follow(start, start);
  await follow(after, entries.length);
  expect(snapshots.read((read) => changesAfter(read, newest))).toEqual([
    ['undone', second.hash],
    ['undone', first.hash],
    ['restored', sent.id],
    ['block', rival.hash],
    ['block', rivalOfSecond.hash],
    ['block', winner.hash],
  ]);
});

test('a fork below the start that would roll back too many blocks is refused, and the history stays', () => {
  let parent = block(null, 'below', [], PARENT);
  const fork = parent;
  using open = openNew();
  parent = block(parent, 'first', [], PARENT);
  for (let number = 0; number <= 1_000; number++) {
    open.ingest.apply(parent.event);
    parent = block(parent, `block ${number}`, []);
  }
  open.ingest.commit();
  const tip = open.ingest.history.tip();
  let rival = block(fork, 'rival', [], { ...PARENT, parent_index_block_hash: hashOf('another parent') });
  for (let number = 0; number <= 1_000; number++) {
    expect(open.ingest.receive(rival.event)).toBe('applied');
    rival = block(rival, `rival ${number}`, []);
  }
  expect(() => open.ingest.receive(rival.event)).toThrow(DeepForkError);
  expect(open.ingest.history.tip()).toEqual(tip);
  expect(open.ingest.receive(parent.event)).toBe('applied');
});

test('a rebuild, a deep check, a recording and another journal have the beginning', async () => {
  const events = straightChain(8);
  const [beginning] = beginnings(events).filter(({ height }) => height === 5);
  using directory = ingestOf(beginning!.events.map(received));
  const before = tables(directory.path);
  rebuildIndex({ directory: directory.path });
  expect(tables(directory.path)).toEqual(before);
  expect(problemsIn(directory.path, { deep: silentMachine })).toEqual([]);

  using folder = dataDirectory();
  const recording = join(folder.path, 'recording.tsv');
  await runExport(directory.path, recording, false);
  using imported = dataDirectory();
  const settings = readSettings({ data: imported.path, logLevel: 'silent' }, {});
  await runImport(settings, [recording], { skipBad: false, restart: false });
  expect(tables(imported.path)).toEqual(before);
  {
    using db = new Database(indexPath(imported.path), { readonly: true });
    const chain = db.query('SELECT history_from, block_height, stx_supply FROM v1_chain').get();
    expect(chain).toEqual({ history_from: 5, block_height: 8, stx_supply: null });
    expect(db.query('SELECT count(*) AS rows FROM v1_balances').get()).toEqual({ rows: 0 });
    const tokens = db.query<{ supply: string | null }, []>('SELECT DISTINCT supply FROM v1_fungible_tokens').all();
    expect(tokens).toEqual([{ supply: null }]);
  }
});

/** Views whose rows also exist in the index of the whole chain, with the columns that identify a row. */
const keysOfViews: Readonly<Record<string, string>> = {
  v1_burn_blocks: 'burn_block_height',
  v1_fungible_tokens: 'asset_identifier',
  v1_nfts: "asset_identifier || ' ' || value",
  v1_names: 'name',
  v1_reward_cycles: 'cycle',
  v1_reward_cycle_signers: "cycle || ' ' || signer_key",
  v1_staking_signers: 'signer',
  v1_bonds: 'bond_index',
  v1_bond_stakers: "bond_index || ' ' || staker",
  v1_stakers: 'staker',
};

test('a value of a view in a partial history equals that of the whole chain, or is null', () => {
  const size = { accounts: 12, transactionsPerBlock: 6, staking: 30, forkEvery: 0, mempool: false };
  const events = [...devnetEvents({ seed: 8, blocks: 130, ...size })];
  using wholeDirectory = ingestOf(events.map(received), { views: true });
  using whole = new Database(indexPath(wholeDirectory.path), { readonly: true });
  const compared: Record<string, number> = {};
  const unknown = new Set<string>();
  const wrong: unknown[] = [];
  for (const { height, events: later } of beginnings(events).filter(({ height }) => [59, 75].includes(height))) {
    using directory = ingestOf(later.map(received), { views: true });
    using part = new Database(indexPath(directory.path), { readonly: true });
    for (const [view, key] of Object.entries(keysOfViews)) {
      const read = (db: Database) =>
        db.query(`SELECT ${key} AS key, * FROM ${view}`).all() as Record<string, unknown>[];
      const expected = new Map(read(whole).map((row) => [row.key, row]));
      for (const row of read(part)) {
        for (const [column, value] of Object.entries(row)) {
          const known = expected.get(row.key)?.[column];
          if (value === null && known !== null) unknown.add(`${view}.${column}`);
          else if (!Bun.deepEquals(value, known)) wrong.push([height, view, row.key, column, value, known]);
        }
        compared[view] = (compared[view] ?? 0) + 1;
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(Object.keys(keysOfViews).filter((view) => compared[view] === undefined)).toEqual([]);
  expect([...unknown].filter((name) => !/_(real|high|low)$/.test(name)).sort()).toEqual([
    ...['first_cycle', 'rewards_accrued', 'rewards_claimed'].map((column) => `v1_bond_stakers.${column}`),
    ...['block_count', 'first_block_height', 'tx_count'].map((column) => `v1_burn_blocks.${column}`),
    ...['event_count', 'holder_count', 'supply'].map((column) => `v1_fungible_tokens.${column}`),
    'v1_nfts.event_count',
    ...['first_cycle', 'rewards_accrued', 'rewards_claimed'].map((column) => `v1_stakers.${column}`),
  ]);
});

test("answers about the mempool change when the node sends an account's state", async () => {
  const events = [...devnetEvents({ seed: 3, blocks: 12, accounts: 4, transactionsPerBlock: 3, forkEvery: 0 })];
  using open = openNew();
  for (const event of beginnings(events).find(({ height }) => height === 6)!.events)
    open.ingest.receive(received(event));
  using snapshots = snapshotsOf(open.directory);
  const look = () => snapshots.readLong(async (read) => ({ tag: mempool(read), ...read.principals.listPending(0, 1) }));
  const { tag, accounts } = await look();
  using index = indexOf(open);
  const parent_index_block_hash = startOf(index)!.parent;
  const account = { balance: '1', locked: '0', unlock_height: 0, nonce: 7 };
  const answerBody = { parent_index_block_hash, principal: accounts[0]!.principal, ...account };
  const stale = { ...answerBody, parent_index_block_hash: hashOf('a former start') };
  const answerWith = (body: object) => received({ path: STARTING_ACCOUNT_PATH, body: JSON.stringify(body), time: 0 });
  expect(open.ingest.receive(answerWith(stale))).toBe('repeated');
  const answer = answerWith(answerBody);
  open.ingest.receive(answer);
  const knownTag = (await look()).tag;
  expect(knownTag).not.toBe(tag);
  // Repeated answers change nothing.
  open.ingest.receive(answer);
  expect((await look()).tag).toBe(knownTag);
});
