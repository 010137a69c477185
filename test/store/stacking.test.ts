/** Stacking by pox-2 to pox-4 and rewards of Bitcoin blocks, through the index. */
import { describe, expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { alice, blocksOn, bob, carol, hashOf } from '../support/events/handmade.ts';
import { bonds, burnBlock, keyOf, p, poxBlock, rewardSet, stacked, u } from '../support/events/pox.ts';
import { indexOfEachTest } from './read-after.ts';

const [A, B, POOL] = [alice.address, bob.address, carol.address];

const { opened, readAfter } = indexOfEachTest();

const term = (first: number, end: number) => ({ 'start-cycle-id': u(first), 'end-cycle-id': clarity.some(u(end)) });
const lock = (amount: number) => ({
  'lock-amount': u(amount),
  'lock-period': u(1),
  'start-burn-height': u(100),
  'unlock-burn-height': u(140),
});
const key = (byte: number) => ({ 'signer-key': clarity.buffer(keyOf(byte)) });
const pooled = (stacker: string, amount: number, first = 6, end = 8) =>
  stacked('pox-4', 'delegate-stack-stx', stacker, { ...lock(amount), delegator: p(POOL), ...term(first, end) });
const commit = (byte: number, cycle: number) =>
  stacked('pox-4', 'stack-aggregation-commit', POOL, {
    'reward-cycle': u(cycle),
    'amount-ustx': u(1),
    ...key(byte),
    ...term(cycle, cycle + 1),
  });

describe('a delegation', () => {
  const delegated = (stacker: string, until: number | null) =>
    stacked('pox-4', 'delegate-stx', stacker, {
      'amount-ustx': u(5),
      'delegate-to': p(POOL),
      'unlock-burn-height': until === null ? clarity.none() : clarity.some(u(until)),
    });
  const revoked = (stacker: string) => stacked('pox-4', 'revoke-delegate-stx', stacker, { 'delegate-to': p(POOL) });
  const first = poxBlock(null, 'first', [[delegated(A, null)], [delegated(B, 103)]]);
  const second = poxBlock(first, 'second', [[delegated(A, 103)]]);
  const third = poxBlock(second, 'third', [[revoked(B)]]);
  const events = [first, second, third].map(({ event }) => event);
  const delegationsAt =
    (height: number, afterHeight = 0) =>
    async (read: Reader) =>
      read.stacking
        .delegations(4, POOL, { height, afterHeight }, 20, 0)
        ?.items.map(({ print, blockHeight }) => [print.stacker, blockHeight]);

  test('holds until it ends or is revoked, the newest of each stacker', async () => {
    expect(await readAfter(events, delegationsAt(1))).toEqual([
      [B, 1],
      [A, 1],
    ]);
    expect(await readAfter([], delegationsAt(2))).toEqual([
      [A, 2],
      [B, 1],
    ]);
    // The entry of the second block ended at Bitcoin height 103. The entry before it doesn't end.
    expect(await readAfter([], delegationsAt(3))).toEqual([[A, 1]]);
    expect(await readAfter([], delegationsAt(3, 1))).toEqual([]);
    expect(await readAfter([], delegationsAt(4))).toBeUndefined();
  });
});

describe('the stackers of a cycle', () => {
  const stackers = (cycle: number, byte: number) => async (read: Reader) =>
    read.rewardCycles
      .stackers(cycle, keyOf(byte), 20, 0)
      .items.map(({ stacker, pooled, print }) => [stacker, pooled ? 'pooled' : 'solo', Number(print.state.locked)]);

  const solo = stacked('pox-4', 'stack-stx', A, { ...lock(50), ...key(2), ...term(6, 7) });

  test("include the signer's pools and solo stackers, by locked amount", async () => {
    const block = poxBlock(null, 'stacked', [[pooled(A, 10), pooled(B, 70)], [solo], [commit(2, 6)]]);
    expect(await readAfter([block.event], stackers(6, 2))).toEqual([
      [B, 'pooled', 70],
      [A, 'solo', 50],
      [A, 'pooled', 10],
    ]);
    // Nothing was committed for the next cycle, and the solo stacker isn't in it.
    expect(await readAfter([], stackers(7, 2))).toEqual([]);
  });

  test('follow the last print of each, and forks', async () => {
    const block = poxBlock(null, 'committed', [[pooled(B, 70)], [commit(2, 6)]]);
    const increase = { 'increase-by': u(5), 'total-locked': u(75), delegator: p(POOL), ...term(6, 8) };
    const print = stacked('pox-4', 'delegate-stack-increase', B, increase, [1_000, 70, 140]);
    const increased = poxBlock(block, 'more', [[print]]);
    expect(await readAfter([block.event, increased.event], stackers(6, 2))).toEqual([[B, 'pooled', 75]]);
    const rivals = blocksOn(block, 'rival', 'rival end').map(({ event }) => event);
    expect(await readAfter(rivals, stackers(6, 2))).toEqual([[B, 'pooled', 70]]);
  });

  test('follow the commitment of the branch that wins', async () => {
    const block = poxBlock(null, 'locked', [[pooled(B, 70)]]);
    const second = poxBlock(block, 'second', [[commit(2, 6)]]);
    expect(await readAfter([block.event, second.event], stackers(6, 2))).toEqual([[B, 'pooled', 70]]);
    const rival = poxBlock(block, 'rival', [[commit(3, 6)]]);
    const end = poxBlock(rival, 'rival end', []);
    expect(await readAfter([rival.event, end.event], stackers(6, 3))).toEqual([[B, 'pooled', 70]]);
    expect(await readAfter([], stackers(6, 2))).toEqual([]);
  });

  test('a fork that takes away the only solo stacker of a signer leaves its pooled stackers counted', async () => {
    const set = rewardSet(6, [[keyOf(2), 1, 70n]]);
    const counts = async (read: Reader) =>
      read.rewardCycles
        .signers(6, 20, 0)
        .items.map(({ soloStackers, pooledStackers }) => [soloStackers, pooledStackers]);
    const base = poxBlock(null, 'pooled', [[pooled(B, 70)], [commit(2, 6)]], set);
    const orphan = poxBlock(base, 'lost', [[solo]]);
    expect(await readAfter([base.event, orphan.event], counts)).toEqual([[1, 1]]);
    const rivals = blocksOn(base, 'rival', 'end').map(({ event }) => event);
    expect(await readAfter(rivals, counts)).toEqual([[0, 1]]);
  });

  test('an increase of a solo stacker names a new signer and amount', async () => {
    const increase = { 'increase-by': u(5), 'total-locked': u(55), ...key(3), ...term(6, 7) };
    const increased = stacked('pox-4', 'stack-increase', A, increase, [950, 50, 140]);
    const block = poxBlock(null, 'increased', [[solo], [increased]]);
    expect(await readAfter([block.event], stackers(6, 3))).toEqual([[A, 'solo', 55]]);
  });
});

test('signers of a cycle are listed by weight, then by amount, then by key, with the counts of their stackers', async () => {
  const solo = stacked('pox-4', 'stack-stx', A, { ...lock(50), ...key(4), ...term(6, 7) });
  const set = rewardSet(6, [
    [keyOf(2), 3, 10n],
    [keyOf(4), 3, 90n],
    [keyOf(3), 3, 10n],
    [keyOf(5), 9, 1n],
  ]);
  const page = await readAfter([poxBlock(null, 'set', [[solo]], set).event], (read) =>
    read.rewardCycles.signers(6, 20, 0),
  );
  expect(page.items.map(({ key, soloStackers }) => [key[0], soloStackers])).toEqual([
    [5, 0],
    [4, 1],
    [2, 0],
    [3, 0],
  ]);
  expect(page.items[0]?.address).toMatch(/^ST/);
});

describe('a Bitcoin payout', () => {
  const X = 'mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss';
  const Y = 'mk4zAE1iVWf5PJAgeX83rSXnzF5zQBiqf1';
  const tip = poxBlock(null, 'tip', []).event;
  const first = burnBlock(101, 'a', null, [
    [X, 10],
    [Y, 20],
  ]);
  const second = burnBlock(102, 'b', 'a', [[X, 3]]);

  test('is listed newest first and summed, each page with the total', async () => {
    const [rewards, ofX, sum, slots, outputs] = await readAfter([tip, first, second], async (read) => [
      read.burnRewards.rewards(null, 2, 0),
      read.burnRewards.rewards(X, 20, 1),
      read.burnRewards.total(X),
      read.burnRewards.slots(X, 20, 5),
      read.burnRewards.outputsTo(X, 1, 1),
    ]);
    expect(rewards.items.map(({ recipient, amount, index }) => [recipient, amount, index])).toEqual([
      [X, '3', 0],
      [Y, '20', 1],
    ]);
    expect([rewards.total, ofX.total, sum]).toEqual([3, 2, '13']);
    expect(ofX.items).toMatchObject([{ amount: '10', burnAmount: '5', height: 101 }]);
    expect([slots.items, slots.total]).toEqual([[], 2]);
    expect([outputs.items[0]?.amount, outputs.total]).toEqual(['10', 2]);
  });

  test('is counted once when a block is announced again', async () => {
    const repeated = { ...first, receivedAt: first.receivedAt + 1 };
    expect(await readAfter([tip, first, second, repeated], (read) => read.burnRewards.total(X))).toBe('13');
  });

  test('belongs to the winning Bitcoin chain, also when the old one wins again', async () => {
    const rival = burnBlock(102, 'rival', 'a', [[Y, 7]]);
    const totals = async (read: Reader) => [read.burnRewards.total(X), read.burnRewards.total(Y)];
    expect(await readAfter([tip, first, second, rival], totals)).toEqual(['10', '27']);
    expect((await readAfter([], (read) => read.burnRewards.outputsOf('latest', 20, 0))).items).toMatchObject([
      { recipient: Y, txId: Uint8Array.fromHex(hashOf('payment in rival').slice(2)) },
    ]);
    expect(await readAfter([burnBlock(103, 'c', 'b', [[X, 1]])], totals)).toEqual(['14', '20']);
  });

  /** Returns the rewards of the announced Bitcoin blocks, if pox-4's locks end at a height. */
  const paidAround = (
    unlockHeight: number,
    paid: readonly (readonly [height: number, addresses: string[]])[],
    fields = {},
    events: Parameters<typeof poxBlock>[2] = [],
  ) => {
    const holder = poxBlock(null, 'with an end', events, { pox_v4_unlock_height: unlockHeight, ...fields }).event;
    const blocks = paid.map(([height, addresses], index) =>
      burnBlock(
        height,
        String(height),
        paid[index - 1] === undefined ? null : String(paid[index - 1]![0]),
        addresses.map((address) => [address, 1]),
      ),
    );
    return readAfter([holder, ...blocks], async (read) => {
      const [rewards, slots] = [read.burnRewards.rewards(null, 100, 0), read.burnRewards.slots(null, 100, 0)];
      const ofX = [read.burnRewards.rewards(X, 100, 0), read.burnRewards.slots(X, 100, 0)];
      expect(ofX.map(({ total }) => total)).toEqual([rewards.total / 2, slots.total / 2]);
      expect(read.burnRewards.total(X)).toBe(String(rewards.total / 2));
      expect(slots.items.map(({ height }) => height)).toEqual(rewards.items.map(({ height }) => height));
      return [...new Set(rewards.items.map(({ height }) => height))].reverse();
    });
  };
  const SBTC = 'bcrt1qsbtc';
  /** Cycles of 20 blocks as a node announces them. The last five blocks pay nobody; from 281, pox-5 pays. */
  const announced = Array.from({ length: 44 }, (_, index) => {
    const height = 241 + index;
    const isPrepared = height % 20 === 0 || height % 20 > 15;
    return [height, height > 280 ? [SBTC] : isPrepared ? [] : [X, Y]] as const;
  });
  const heights = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

  test.each([
    ['inside a cycle', 262, [...heights(241, 255), ...heights(261, 275)]],
    ['with the last payment of a cycle', 275, [...heights(241, 255), ...heights(261, 275)]],
    ['in a prepare phase', 277, [...heights(241, 255), ...heights(261, 275)]],
    ['where a cycle starts', 260, heights(241, 255)],
    ['never', 0xffff_ffff, null],
  ])('is announced until the end of the cycle in which the locks of pox-4 end: %s', async (_, unlockHeight, paid) => {
    const heightsOfAll = announced.filter(([, paid]) => paid.length > 1).map(([height]) => height);
    const pox4 = announced.filter(([height]) => paid !== null || height <= 280);
    expect(await paidAround(unlockHeight, pox4 as [number, string[]][])).toEqual(paid ?? heightsOfAll);
  });

  test('gets an end only after its cycle ends, and outputs never get one', async () => {
    const started = announced.filter(([height]) => height <= 263) as [number, string[]][];
    expect(await paidAround(262, started)).toEqual([...heights(241, 255), ...heights(261, 263)]);
    const last = poxBlock(null, 'with an end', [], { pox_v4_unlock_height: 101 }).event;
    const outputs = await readAfter([last, first, second], (read) => read.burnRewards.outputsTo(X, 20, 0));
    expect(outputs.total).toBe(2);
  });

  test.each([
    ['a height below a block without payouts', 109, [101, 108, 110, 112]],
    ['the first block of a cycle', 120, [101, 108, 110, 112]],
    ['the last block of a cycle', 119, [101, 108, 110, 112]],
    ['the second block of a cycle', 121, [101, 108, 110, 112, 121, 130]],
  ])('ends with the cycle if a bond shows its heights, also if pox-4 ends at %s', async (_, unlockHeight, paid) => {
    const around = [101, 108, 110, 111, 112, 116, 121, 130, 140].map(
      (height) => [height, [111, 116].includes(height) ? [] : [X, Y]] as const,
    );
    expect(await paidAround(unlockHeight, around as unknown as [number, string[]][], {}, [[bonds.setup(0)]])).toEqual(
      paid,
    );
  });

  test('ends on mainnet with the cycle of 2,100 blocks in which the locks of pox-4 end', async () => {
    opened({ chainId: 1 });
    const around = [960_049, 960_050, 960_229, 960_230, 962_149, 962_150].map((height) => [height, [X, Y]] as const);
    const paid = await paidAround(960_230, around as unknown as [number, string[]][], { burn_block_height: 960_000 });
    expect(paid).toEqual([960_049, 960_050, 960_229, 960_230, 962_149]);
  });
});
