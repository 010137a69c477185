/**
 * The laws of the index, on generated streams of events. A failure prints its seed and the shrunk case; put that into
 * `casesThatOnceFailed`. STACKSIDE_RUNS sets how many streams are tried.
 */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Block } from '../../src/chain/block.ts';
import type { Effect } from '../../src/chain/effect.ts';
import { effectsOf, reverseEffects } from '../../src/chain/effects.ts';
import type { SimulatedChain } from '../../src/devnet/chain.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { World } from '../../src/devnet/world.ts';
import { chainTables, effectsWriter } from '../../src/store/effects/apply.ts';
import { dictionaries } from '../../src/store/effects/dictionary.ts';
import { indexPath, openWriter } from '../../src/store/files/database.ts';
import type { ValueIndexChoice } from '../../src/store/model/contract.ts';
import { sortable } from '../../src/store/rows/formats.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openNew, received } from '../support/data/ingest.ts';
import { storedEffects } from '../support/data/stored-effects.ts';
import { besideTheChain, type Tables, tables, tablesThrough } from '../support/data/tables.ts';
import { blocks as anyBlocks } from '../support/events/arbitrary-block.ts';
import { type Forks, forks, grown } from '../support/events/forked-chain.ts';
import { BlockTree, BurnTree, treesOf, winningChain } from '../support/events/winning-chain.ts';
import { assertProperty, assertSeeds, isFullRun, Seen } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

/** Shrunk cases of fixed failures; each law tries them first. */
const casesThatOnceFailed: Forks[] = [
  // Only block 0: the chain and the known Bitcoin blocks end in it.
  { seed: 0, steps: [{ repeat: 0 }] },
  // A transaction that lost its nonce took another with it, which shared no nonce with the winner.
  {
    seed: 257544,
    steps: [
      { mine: 'overtake', end: 0, tenure: 'same', transactions: 0 },
      { mine: 'overtake', end: 0, tenure: 'same', transactions: 0 },
      { mine: 'back', blocks: 2, tenure: 'same', transactions: 3 },
      { mine: 'back', blocks: 0, tenure: 'same', transactions: 0 },
      { mine: 'back', blocks: 1, tenure: 'burn_fork', transactions: 4 },
      { mine: 'back', blocks: 3, tenure: 'extended', transactions: 3 },
      { mine: 'on_end', end: 6, tenure: 'same', transactions: 4 },
      { mine: 'overtake', end: 6, tenure: 'new', transactions: 2 },
      { mine: 'back', blocks: 0, tenure: 'extended', transactions: 3 },
      { mine: 'overtake', end: 1, tenure: 'same', transactions: 4 },
      { mine: 'back', blocks: 0, tenure: 'new', transactions: 0 },
    ],
  },
];
const grow = { mine: 'back', blocks: 0, tenure: 'same', transactions: 4 } as const;
/** A fork whose reverted blocks emptied balances of STX, fungible tokens and NFTs. */
const revertedEmptying: Forks = {
  seed: 334,
  emptying: 60,
  steps: [
    ...Array.from({ length: 9 }, () => grow),
    { mine: 'back', blocks: 4, tenure: 'new', transactions: 4 },
    { mine: 'overtake', end: 1, tenure: 'same', transactions: 4 },
    grow,
  ],
};
/** All laws use the same streams, and each stream is generated once. */
const settings = { cases: 2, examples: [...casesThatOnceFailed, revertedEmptying].map((once): [Forks] => [once]) };

/** More, of a run of many cases, are made again for each law. */
const MAX_KEPT = 200;
const eventsByForks = new Map<string, NodeEvent[]>();

function eventsOf(generated: Forks): NodeEvent[] {
  const key = JSON.stringify(generated);
  const events = eventsByForks.get(key) ?? grown(generated).events;
  if (eventsByForks.size < MAX_KEPT) eventsByForks.set(key, events);
  return events;
}

/** Decoded values that are indexed from the first block on. */
const valueIndexes: ValueIndexChoice[] = (['logs', 'calls'] as const).flatMap((subject) =>
  ['pox-4', 'pox-5', 'bns'].map((name) => ({ subject, contract: `ST000000000000000000002AMW42H.${name}`, scope: '' })),
);

/** What the laws compare of an index. */
interface Outcome {
  tables: Tables;
  problems: string[];
  burnHeight: number | undefined;
}

function outcomeOf(events: readonly NodeEvent[]): Outcome {
  using directory = ingestOf(events.map(received), { valueIndexes });
  using db = new Database(indexPath(directory.path), { readonly: true });
  return {
    tables: tables(directory.path),
    problems: problemsIn(directory.path),
    burnHeight: db.query<{ height: number }, []>('SELECT burn_block_height AS height FROM progress').get()?.height,
  };
}

const outcomes = new Map<string, Outcome>();

/** Returns the outcome of a stream, which is indexed once for all laws. */
function outcomeOfForks(generated: Forks): Outcome {
  const key = JSON.stringify(generated);
  const outcome = outcomes.get(key) ?? outcomeOf(eventsOf(generated));
  if (outcomes.size < MAX_KEPT) outcomes.set(key, outcome);
  return outcome;
}

/** Whether a dumped row of a balance is empty. */
const hasNoBalance = (row: string): boolean => row.includes(`balance="${sortable('0')}"`);

test('every table of the index is compared by the fork law or is left out of it by name', () => {
  using open = openNew();
  open.ingest.close();
  using db = new Database(indexPath(open.directory), { readonly: true });
  const rows = db.query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const named = rows.map(({ name }) => name).filter((name) => !name.startsWith('sqlite_'));
  expect([...Object.keys(besideTheChain), ...Object.keys(tables(open.directory))].sort()).toEqual(named.sort());
});

test('any stream of events with forks ends in the tables of its winning chain', () => {
  const seen = new Seen({ blocks: 10, 'orphaned blocks': 2, 'empty balances of tokens': 1 });
  assertProperty(
    fc.property(forks(), (generated) => {
      const events = eventsOf(generated);
      const straight = winningChain(events);
      const expected = outcomeOf(straight).tables;
      const blocksIn = (list: readonly NodeEvent[]) => new Set(list.filter(({ path }) => path === '/new_block')).size;
      seen.add('blocks', blocksIn(straight));
      seen.add('orphaned blocks', blocksIn(events) - blocksIn(straight));
      seen.add('empty balances of tokens', (expected.ft_balances ?? []).filter(hasNoBalance).length);
      const forked = outcomeOfForks(generated);
      expect(forked.problems).toEqual([]);
      expect(forked.tables).toEqual(expected);
    }),
    { seen, ...settings },
  );
});

/** Returns the kinds of assets whose balance a block empties. */
function emptiedBy(chain: SimulatedChain, indexBlockHash: string): Set<'stx' | 'ft' | 'nft'> {
  const { parent, receipts, world } = chain.block(indexBlockHash)!;
  const before = chain.block(parent ?? chain.genesisHash)!.world;
  const emptied = new Set<'stx' | 'ft' | 'nft'>();
  for (const event of receipts.flatMap(({ events }) => events)) {
    if (event.type === 'nft_burn_event') emptied.add('nft');
    if (!('sender' in event) || !('amount' in event)) continue;
    const { sender } = event;
    const balanceIn = (world: World): bigint =>
      'asset' in event ? world.fungibleBalance(event.asset, sender) : world.balance(sender);
    if (balanceIn(world) === 0n && balanceIn(before) > 0n) emptied.add('asset' in event ? 'ft' : 'stx');
  }
  return emptied;
}

/** Yields the blocks that leave the chain at each fork. */
function* revertedBranches(events: readonly NodeEvent[]): Generator<string[]> {
  const tree = new BlockTree();
  let chain: string[] = [];
  for (const event of events) {
    if (event.path !== '/new_block' || !tree.add(event)) continue;
    const next = tree.chain().map(({ head }) => head.index_block_hash);
    const orphaned = chain.filter((hash) => !next.includes(hash));
    if (orphaned.length > 0) yield orphaned;
    chain = next;
  }
}

test('the generated streams hold deep forks, branches that win again, forks of Bitcoin and reverted blocks that emptied balances', () => {
  const seen = { deepest: 0, wonAgain: 0, bitcoinForks: 0, repeated: 0, stx: 0, ft: 0, nft: 0 };
  for (const generated of fc.sample(forks(), { numRuns: 16, seed: 1 })) {
    const { chain, events } = grown(generated);
    const orphaned = [...revertedBranches(events)];
    const hashes = orphaned.flat();
    seen.deepest = Math.max(seen.deepest, ...orphaned.map(({ length }) => length));
    seen.wonAgain += hashes.length - new Set(hashes).size;
    const { burnBlocks } = treesOf(events);
    if (burnBlocks.blocks.size > burnBlocks.chain().length) seen.bitcoinForks += 1;
    if (new Set(events).size < events.length) seen.repeated += 1;
    for (const asset of new Set(hashes.flatMap((hash) => [...emptiedBy(chain, hash)]))) seen[asset] += 1;
  }
  expect(seen.deepest).toBeGreaterThanOrEqual(12);
  expect(seen.wonAgain).toBeGreaterThan(3);
  for (const streams of [seen.bitcoinForks, seen.repeated]) expect(streams).toBeGreaterThan(2);
  for (const streams of [seen.stx, seen.ft, seen.nft]) expect(streams).toBeGreaterThan(0);
  const { chain, events } = grown(revertedEmptying);
  const emptied = [...revertedBranches(events)].flat().flatMap((hash) => [...emptiedBy(chain, hash)]);
  expect(new Set(emptied)).toEqual(new Set(['stx', 'ft', 'nft']));
});

test('a forked chain full of bonds, stakes and rewards has the same tables as its winning branch', async () => {
  const forking = { forkEvery: 5, forkDepth: 12, mempool: false };
  const options = { accounts: 25, transactionsPerBlock: 5, staking: 300, ...forking };
  // In chain 8 a staker staked again before the late calculation of its last cycle. Only long runs try others.
  const seeds = isFullRun ? fc.oneof(fc.constant(8), fc.nat()) : fc.constant(8);
  const filled = { bonds: 1, bond_positions: 1, stakes: 1, staking_shares: 1, staking_rewards: 1 };
  const seen = new Seen({ ...filled, signer_keys: 1, cycle_signers: 1 });
  await assertSeeds(
    fc.asyncProperty(seeds, async (seed) => {
      const events = [...devnetEvents({ seed, blocks: 170, ...options })];
      const forked = outcomeOf(events);
      expect(forked.problems).toEqual([]);
      expect(forked.tables).toEqual(outcomeOf(winningChain(events)).tables);
      for (const table of seen.names) seen.add(table, Math.min(1, forked.tables[table]?.length ?? 0));
      // Nobody claims more than was earned.
      for (const row of forked.tables.staking_rewards ?? []) {
        const [, accrued = 0, claimed = 0] = /accrued="(\d+)" claimed="(\d+)"/.exec(row) ?? [];
        expect(BigInt(claimed)).toBeLessThanOrEqual(BigInt(accrued));
      }
    }),
    { seen, cases: 1, shrink: false },
  );
});

test('blocks of any content that are applied and then undone leave every table as it was', () => {
  using directory = dataDirectory();
  using db = openWriter(directory.path);
  const seen = new Seen({ blocks: 3, 'changed tables': 3 });
  assertProperty(
    fc.property(anyBlocks(), (blocks) => {
      db.run('BEGIN');
      try {
        const apply = storedEffects(db);
        const stages = [tablesThrough(db)];
        for (const block of blocks) {
          apply(effectsOf(block));
          stages.push(tablesThrough(db));
        }
        seen.add('blocks', blocks.length);
        seen.add('changed tables', Object.values(stages.at(-1)!).filter((rows) => rows.length > 0).length);
        for (const block of blocks.toReversed()) {
          expect(tablesThrough(db)).toEqual(stages.pop()!);
          apply(reverseEffects(effectsOf(block)));
        }
        expect(tablesThrough(db)).toEqual(stages.pop()!);
      } finally {
        db.run('ROLLBACK');
      }
    }),
    { seen, cases: 20 },
  );
});

test('a single block that is reverted leaves every table as before, and the next one starts from empty tables', () => {
  using directory = dataDirectory();
  using db = openWriter(directory.path);
  const before = tablesThrough(db);
  const ofBitcoin = ['burn_blocks', 'burn_rewards', 'burn_slot_holders', 'pox_transactions'];
  const names = Object.keys(before).filter((table) => !ofBitcoin.includes(table));
  expect(chainTables.toSorted()).toEqual(names);
  const seen = new Seen({ blocks: 3, 'changed tables': 3 });
  /** Returns the tables after the blocks, if each block is reverted before the next. */
  const afterEach = (blocks: readonly Block[], isStored: boolean): Tables => {
    db.run('BEGIN');
    try {
      const { apply, empty, store } = effectsWriter(db, dictionaries(db), { checkpointEvery: 2 });
      for (const [index, block] of blocks.entries()) {
        if (index > 0) empty();
        expect(index === 0 || tablesThrough(db)).toEqual(index === 0 || before);
        apply(effectsOf(block));
        if (isStored) store();
      }
      store();
      return tablesThrough(db);
    } finally {
      db.run('ROLLBACK');
    }
  };
  assertProperty(
    fc.property(anyBlocks(), fc.boolean(), (blocks, isStored) => {
      const after = afterEach(blocks, isStored);
      expect(after).toEqual(afterEach(blocks.slice(-1), isStored));
      seen.add('blocks', blocks.length);
      seen.add('changed tables', Object.values(after).filter((rows) => rows.length > 0).length);
    }),
    { seen, cases: 3 },
  );
});

test('a block whose accounts are summed in portions fills the tables like any other, and can be undone', () => {
  using directory = dataDirectory();
  using db = openWriter(directory.path);
  const effects = (block: Block) => effectsOf(block, { events: 2, accounts: 2 });
  /** The tables after each block, and after all were undone. */
  const stagesOf = (blocks: readonly Block[], effects: (block: Block) => Iterable<Effect>): Tables[] => {
    db.run('BEGIN');
    try {
      const apply = storedEffects(db, { checkpointEvery: 2 });
      const stages = blocks.map((block) => {
        apply(effects(block));
        return tablesThrough(db);
      });
      for (const block of blocks.toReversed()) apply(reverseEffects(effects(block)));
      return [...stages, tablesThrough(db)];
    } finally {
      db.run('ROLLBACK');
    }
  };
  const seen = new Seen({ blocks: 1 });
  assertProperty(
    fc.property(anyBlocks(), (blocks) => {
      seen.add('blocks', blocks.length);
      expect(stagesOf(blocks, effects)).toEqual(stagesOf(blocks, (block) => effectsOf(block)));
    }),
    { seen, cases: 2 },
  );
});

test('the burn height is the greatest of the tip and the Bitcoin blocks since', () => {
  const seen = new Seen({ heights: 5 });
  assertProperty(
    fc.property(forks(), (generated) => {
      const [blocks, burnBlocks] = [new BlockTree(), new BurnTree()];
      let height = 0;
      for (const event of eventsOf(generated)) {
        const [tip, burnTip] = [blocks.tip, burnBlocks.tip];
        if (event.path === '/new_block') blocks.add(event);
        if (event.path === '/new_burn_block') burnBlocks.add(event);
        if (blocks.tip !== tip || burnBlocks.tip !== burnTip) seen.add('heights');
        if (blocks.tip !== tip) height = blocks.tip?.burn_block_height ?? 0;
        // A Bitcoin block that is already on the chain changes nothing.
        if (burnBlocks.tip !== burnTip) {
          height = Math.max(height, burnBlocks.blocks.get(burnBlocks.tip ?? '')?.head.burn_block_height ?? 0);
        }
      }
      expect(outcomeOfForks(generated).burnHeight).toBe(height);
    }),
    { seen, ...settings },
  );
});
