/** Blocks of other chains, forks of the data's chain, and blocks that are each other’s parents. */
import { expect, test } from 'bun:test';
import { MAINNET_CHAIN_ID } from '../../src/chain/network.ts';
import { type MinedBlock, SimulatedChain } from '../../src/devnet/chain.ts';
import { ForeignChainError } from '../../src/store/ingest/chain-identity.ts';
import { openNew, received } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';
import { block, blocksOn, hashOf, type MadeBlock } from '../support/events/handmade.ts';
import { burnBlock } from '../support/events/pox.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

/** Returns a chain of the given length, each block anchored to a different Bitcoin block. */
const chainOf = (length: number): MadeBlock[] =>
  blocksOn(null, ...Array.from({ length }, (_, index) => `ours ${index + 1}`));

function openWith(length: number) {
  const open = openNew();
  open.ingest.receive(burnBlock(101, 'block 1', 'below ours', []));
  for (const { event } of chainOf(length)) open.ingest.receive(event);
  return open;
}

test('a second block 0, and a block 1 that follows another, are refused with the field, and change nothing', () => {
  const [ours, theirs] = [1, 2].map((seed) => new SimulatedChain({ seed, accounts: 10 })) as [
    SimulatedChain,
    SimulatedChain,
  ];
  using open = openNew();
  for (const event of [ours.genesis(), ...ours.mine(null).events]) open.ingest.receive(received(event));
  const before = everything(open.directory);
  expect(() => open.ingest.receive(received(theirs.genesis()))).toThrow(/^index_block_hash is /);
  const first = theirs.mine(null).events.find(({ path }) => path === '/new_block');
  expect(() => open.ingest.receive(received(first!))).toThrow(/^parent_index_block_hash is /);
  expect(everything(open.directory)).toEqual(before);
});

test('rejects another block 1 if its Bitcoin block replaces one with six confirmations', () => {
  using open = openWith(7);
  const rival = block(null, 'theirs', [], { burn_block_hash: hashOf('burn theirs'), burn_block_height: 101 });
  open.ingest.receive(burnBlock(101, 'theirs', 'below theirs', []));
  expect(() => open.ingest.receive(rival.event)).toThrow(ForeignChainError);
  expect(() => open.ingest.receive(rival.event)).toThrow(/^burn_block_hash is .*Bitcoin block 101/);
});

test('accepts another block 1 before six confirmations, on a known Bitcoin block, or on a height that the node never announced', () => {
  const rivals: [length: number, fields: object][] = [
    [6, { burn_block_hash: hashOf('after a reorganization'), burn_block_height: 101 }],
    [20, { burn_block_height: 101 }],
    [20, { burn_block_hash: hashOf('of no block of ours'), burn_block_height: 99 }],
    [20, { burn_block_hash: hashOf('of a fork that came before all this'), burn_block_height: 101 }],
  ];
  for (const [length, fields] of rivals) {
    using open = openWith(length);
    let rival = block(null, 'rival 1', [], fields);
    expect(open.ingest.receive(rival.event)).toBe('applied');
    for (let height = 2; height <= length + 1; height++) {
      rival = block(rival, `rival ${height}`);
      open.ingest.receive(rival.event);
    }
    expect(open.ingest.history.tip().indexBlockHash.toHex()).toBe(rival.hash.slice(2));
  }
});

test('block 1 may fork on a Bitcoin fork that the node announced, however deep', () => {
  const chain = new SimulatedChain({ seed: 4, accounts: 10 });
  using open = openNew();
  const take = ({ events }: Pick<MinedBlock, 'events'>) => {
    for (const event of events) open.ingest.receive(received(event));
  };
  take({ events: [chain.genesis()] });
  let ours = chain.mine(null);
  take(ours);
  for (let height = 2; height <= 10; height++) {
    ours = chain.mine(ours.indexBlockHash, { newTenure: true, newBurnBlock: true });
    take(ours);
  }
  take(chain.mine(null, { newTenure: true, newBurnBlock: true, burnFork: true }));
  expect(open.logged.filter(({ event }) => event === 'block_applied')).toHaveLength(10);
});

test('a fork of a devnet at block 1 is followed', () => {
  const chain = new SimulatedChain({ seed: 3, accounts: 10 });
  using open = openNew();
  const first = chain.mine(null);
  let rival = chain.mine(null, { newBurnBlock: true, burnFork: true });
  for (const event of [chain.genesis(), ...first.events, ...rival.events]) open.ingest.receive(received(event));
  rival = chain.mine(rival.indexBlockHash);
  for (const event of rival.events) open.ingest.receive(received(event));
  expect(open.ingest.history.tip().indexBlockHash.toHex()).toBe(rival.indexBlockHash.slice(2));
});

test('refuses pending transactions and blocks of a test network in data of mainnet, also before the first block', () => {
  const theirs = new SimulatedChain({ seed: 3, accounts: 10 });
  const ours = new SimulatedChain({ seed: 3, accounts: 10, network: 'mainnet' });
  const [foreign, native] = [theirs, ours].map((chain) => [chain.genesis(), ...chain.mine(null).events].map(received));
  const announced = foreign!.find(({ path }) => path === '/new_mempool_tx')!;
  using open = openNew();
  open.ingest.holdTo(MAINNET_CHAIN_ID);
  const before = everything(open.directory);
  const [block] = foreign!.filter(({ path }) => path === '/new_block').slice(-1);
  for (const event of [announced, block!]) {
    const receive = () => open.ingest.receive(event);
    expect(receive).toThrow(ForeignChainError);
    expect(receive).toThrow(/^Transaction 0x\w+ belongs to chain 0x80000000, but --network is 0x00000001; to store it/);
  }
  expect(everything(open.directory)).toEqual(before);
  for (const event of native!) open.ingest.receive(event);
  expect(() => open.ingest.receive(announced)).toThrow('but this data to chain 0x00000001');
});

test('Bitcoin blocks that are each other’s parents make no branch', () => {
  using open = openNew();
  const events = [
    burnBlock(9, 'below', 'root', []),
    burnBlock(10, 'left', 'right', []),
    burnBlock(11, 'right', 'left', []),
    // Both are orphaned; the next block builds on one of them.
    burnBlock(10, 'other', 'below', []),
    burnBlock(12, 'next', 'right', []),
  ];
  for (const event of events) expect(open.ingest.receive(event)).toBe('applied');
  expect(problemsIn(open.directory)).toEqual([]);
});

test("a Bitcoin block doesn't get a branch if its parent isn't at the height below", () => {
  using open = openNew();
  const events = [
    burnBlock(10, 'orphan', 'root', []),
    burnBlock(10, 'other', 'root', []),
    // Its parent has the same height: restoring the parent would put two blocks at one height.
    burnBlock(10, 'same', 'orphan', []),
    burnBlock(0, 'far', 'other', []),
  ];
  for (const event of events) expect(open.ingest.receive(event)).toBe('applied');
  expect(problemsIn(open.directory)).toEqual([]);
});

test('a rival of block 1 on Bitcoin blocks that are each other’s parents is one of another Bitcoin', () => {
  using open = openWith(7);
  open.ingest.receive(burnBlock(101, 'theirs', 'below theirs', []));
  open.ingest.receive(burnBlock(100, 'below theirs', 'theirs', []));
  const rival = block(null, 'rival', [], { burn_block_hash: hashOf('burn theirs'), burn_block_height: 101 });
  expect(() => open.ingest.receive(rival.event)).toThrow(ForeignChainError);
});
