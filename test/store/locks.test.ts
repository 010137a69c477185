/** The last block of a lock, and the first one after it: as the tip, and in the past. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { STARTING_ACCOUNT_PATH } from '../../src/chain/payload-reader.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { forcedUnlockQuery } from '../../src/store/queries/accounts/locks.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { openNew } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { alice, block, bob, type MadeBlock, transfer } from '../support/events/handmade.ts';
import { locked, minted, poxBlock } from '../support/events/pox.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

const END = 150;
const FAR = 10_000;
const AROUND = [END - 1, END, END + 1];

/** Returns the locked STX at Bitcoin heights around the end: with each block as the tip, and later as of that block. */
async function lockedAround(until: number, fields: object): Promise<{ atTip: bigint[]; later: bigint[] }> {
  using open = openNew();
  let block: MadeBlock = poxBlock(null, 'lock', [[locked(bob.address, 7n, until, 'pox-4')]], {
    burn_block_height: END - 2,
    ...fields,
  });
  open.ingest.receive(block.event);
  const snapshots = openSnapshots(open.directory);
  const atTip: bigint[] = [];
  for (const burnHeight of AROUND) {
    block = poxBlock(block, `at ${burnHeight}`, [], { burn_block_height: burnHeight });
    open.ingest.receive(block.event);
    const balance = snapshots.read((read) => read.principals.stxBalance(bob.address));
    atTip.push(balance.locked?.amount ?? 0n);
  }
  const later: bigint[] = [];
  for (const [place] of AROUND.entries()) {
    const history = snapshots.read((read) => read.principals.stxHistory(bob.address, 2 + place));
    later.push(history.locked?.amount ?? 0n);
  }
  snapshots.close();
  return { atTip, later };
}

test.each([
  ['its own height', END, {}],
  ['the height at which all locks of its contract end', FAR, { pox_v4_unlock_height: END }],
])('a lock holds below %s, and no more from there on', async (_, until, fields) => {
  expect(await lockedAround(until, fields)).toEqual({ atTip: [7n, 0n, 0n], later: [7n, 0n, 0n] });
});

test('a lock names its transaction and the heights of its block and its Bitcoin block', async () => {
  using open = openNew();
  const before = poxBlock(null, 'before', [], { burn_block_height: 120 });
  const lockBlock = poxBlock(before, 'lock', [[locked(bob.address, 7n, END, 'pox-4')]], { burn_block_height: 130 });
  const after = poxBlock(lockBlock, 'after', [], { burn_block_height: 140 });
  for (const { event } of [before, lockBlock, after]) open.ingest.receive(event);
  using snapshots = snapshotsOf(open.directory);
  const { locked: lock } = snapshots.read((read) => read.principals.stxBalance(bob.address));
  const { transactions } = JSON.parse(lockBlock.event.text) as { transactions: { txid: string }[] };
  const txId = Uint8Array.fromHex(transactions[0]!.txid.slice(2));
  expect(lock?.transaction).toEqual({ txId, blockHeight: 2, burnBlockHeight: 130 });
});

/** Returns the locked STX around the end of a lock that is older than the index. @param begins Bitcoin height at the index's start */
async function lockedFromBelow(until: number, begins: number, fields: object) {
  using open = openNew();
  const below = block(null, 'below', [], { burn_block_height: begins });
  const entry = (path: string, body: object) =>
    open.ingest.receive({ path, text: JSON.stringify(body), receivedAt: 0 });
  let parent = block(below, 'first', [transfer(bob, 5, 10)], {
    burn_block_height: begins,
    parent_burn_block_hash: below.hash,
    parent_burn_block_height: begins,
    ...fields,
  });
  open.ingest.receive(parent.event);
  const snapshots = openSnapshots(open.directory);
  const balance = () => snapshots.read((read) => read.principals.stxBalance(bob.address));
  const knowledge = () => snapshots.read((read) => read.principals.knowledge(bob.address));
  expect([knowledge(), balance().locked]).toEqual(['asking', null]);
  entry(STARTING_ACCOUNT_PATH, {
    parent_index_block_hash: below.hash,
    principal: bob.address,
    balance: '93',
    locked: '7',
    unlock_height: until,
    nonce: 5,
  });
  const states = [];
  for (const burnHeight of AROUND) {
    parent = block(parent, `at ${burnHeight}`, [], { burn_block_height: burnHeight });
    open.ingest.receive(parent.event);
    const { balance: total, locked: lock } = balance();
    states.push([total, lock?.amount ?? 0n, lock?.poxVersion ?? 0]);
  }
  expect(knowledge()).toBe('known');
  expect(snapshots.read((read) => read.principals.nonces(bob.address)).lastConfirmed).toBe(5n);
  snapshots.close();
  return states;
}

test.each([
  ['its own height', END, END - 3, {}, [4, 0, 0]],
  ['the end of pox-4', FAR, END - 3, { pox_v4_unlock_height: END }, [4, 0, 0]],
  ['no end that Bitcoin had passed before, by pox-5', FAR, END - 2, { pox_v4_unlock_height: END - 2 }, [5, 5, 5]],
] as const)('a lock from below the beginning holds up to %s', async (_, until, begins, fields, versions) => {
  const states = versions.map((version) => [90n, version === 0 ? 0n : 7n, version]);
  expect(await lockedFromBelow(until, begins, fields)).toEqual(states);
});

test.each([
  ['pox', { pox_v1_unlock_height: END }],
  ['pox-2', { pox_v2_unlock_height: END }],
  ['pox-3', { pox_v3_unlock_height: END }],
  ['pox-4', { pox_v4_unlock_height: END }],
])('spending STX that %s locked until its forced end leaves the index whole', (contract, fields) => {
  using open = openNew();
  const funds = [minted(alice.address, 1_000n), minted(bob.address, 100n)];
  const first = poxBlock(null, 'lock', [[...funds, locked(bob.address, 100n, FAR, contract)]], {
    burn_block_height: END - 1,
    ...fields,
  });
  open.ingest.receive(first.event);
  // The fee takes bob's balance below the locked amount.
  const spent = block(first, 'spent', [transfer(bob, 0, 10)], { burn_block_height: END });
  open.ingest.receive(spent.event);
  expect(problemsIn(open.directory)).toEqual([]);
  const sooner = block(first, 'spent too soon', [transfer(bob, 0, 10)], { burn_block_height: END - 1 });
  for (const { event } of [sooner, block(sooner, 'after it', [], { burn_block_height: END - 1 })])
    open.ingest.receive(event);
  expect(problemsIn(open.directory)).toEqual([
    `locked STX against balances: ${bob.address}: 100 locked of 90 micro-STX`,
  ]);
});

test('the end of a contract comes from the newest block of the chain, also after a fork', () => {
  using open = openNew();
  using db = new Database(indexPath(open.directory), { readonly: true });
  const ends = forcedUnlockQuery(db);
  const unlocks = () => [ends().pox_3, ends().pox_4];
  expect(unlocks()).toEqual([null, null]);
  const take = (parent: MadeBlock | null, label: string, fields: object) => {
    const added = block(parent, label, [], fields);
    open.ingest.receive(added.event);
    return added;
  };
  const block1 = take(null, 'one', { pox_v3_unlock_height: END });
  expect(unlocks()).toEqual([END, null]);
  const block2 = take(block1, 'two', {});
  expect(unlocks()).toEqual([END, null]);
  const block3 = take(block2, 'three', { pox_v3_unlock_height: 0, pox_v4_unlock_height: FAR });
  expect(unlocks()).toEqual([0, FAR]);
  const rival = take(block2, 'rival of three', { pox_v4_unlock_height: END });
  expect(unlocks()).toEqual([0, FAR]);
  take(rival, 'rival of four', {});
  expect(unlocks()).toEqual([END, END]);
  take(take(block3, 'four', {}), 'five', {});
  expect(unlocks()).toEqual([0, FAR]);
});
