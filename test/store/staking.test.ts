/** Staking by pox-5 through the index: the sums of its prints, and that forks revert them. */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { hash160 } from '#hash';
import { stacksAddress } from '../../src/codec/address.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { alice, blocksOn, bob, carol, type MadeBlock } from '../support/events/handmade.ts';
import { bonds, burnBlock, keyOf, locked, poxBlock, printed, rewardSet } from '../support/events/pox.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { indexOfEachTest } from './read-after.ts';
import { walkItems } from './walk.ts';

const [A, B, C] = [alice.address, bob.address, carol.address];
const manager = `${carol.address}.manager`;
const other = `${carol.address}.other`;
/** Two sats per staked unit, times 10^18. */
const TWO = 2n * 10n ** 18n;

const { opened, readAfter: readEvents } = indexOfEachTest();

/** Receives the blocks and other events, and reads the result. The index must be consistent. */
async function readAfter<T>(
  blocks: readonly Pick<MadeBlock, 'event'>[],
  read: (reader: Reader) => T | Promise<T>,
): Promise<T> {
  return readEvents(
    blocks.map(({ event }) => event),
    (reader) => {
      // Hand-made transactions spend balances that don't exist.
      expect(problemsIn(opened().directory).filter((problem) => !/balance|STX|fees/.test(problem))).toEqual([]);
      return read(reader);
    },
  );
}

const rewardsOf = (reader: Reader, staker: string) => {
  const { stx, bonds: bondTotals } = reader.staking.summary(staker);
  return { stx: stx.rewards, bonds: bondTotals.rewards };
};
const rewardsOfBoth = (reader: Reader) => [rewardsOf(reader, A), rewardsOf(reader, B)] as const;

const setup = poxBlock(null, 'setup', [
  [bonds.setup(0), bonds.allow(0, A, 1_000), bonds.allow(0, B, 4_000)],
  [bonds.register(0, A, manager, 1_000)],
  [bonds.register(0, B, manager, 4_000, [new Uint8Array(32).fill(0xab)])],
]);

describe('a bond', () => {
  test('has the sums of its allowlist, registrations and positions', async () => {
    const bond = await readAfter([setup], (read) => read.staking.bond(0));
    expect(bond).toMatchObject({
      allowed: 2,
      btcCapacity: '5000',
      registered: 2,
      btcLocked: '5000',
      stxLocked: '20000000',
      paidOut: '0',
      madeBy: { burnBlock: { height: 101 }, block: { height: 1 } },
    });
  });

  test('registrations are listed newest first, with their outputs', async () => {
    const [list, registration] = await readAfter([setup], async (read) => [
      read.staking.registrations(0, 20, null),
      read.staking.registration(0, B),
    ]);
    expect(list.items.map(({ staker }) => staker)).toEqual([B, A]);
    expect(registration?.outputs).toEqual([{ txId: new Uint8Array(32).fill(0xab), index: 0 }]);
  });

  test('an update changes signer and amounts of the registration, an exit and a withdrawal do not', async () => {
    const changes = poxBlock(setup, 'changes', [
      [bonds.update(0, A, other, 3_000, 9)],
      [bonds.withdraw(0, A, 500)],
      [bonds.exit(0, B)],
    ]);
    const [registration, positions, bond] = await readAfter([setup, changes], async (read) => [
      read.staking.registration(0, A),
      [...read.staking.positions(A, 20, null).items, ...read.staking.positions(B, 20, null).items],
      read.staking.bond(0),
    ]);
    expect(registration).toMatchObject({ signer: other, sats: '3000', stx: '20000000' });
    expect(positions).toMatchObject([
      { active: true, earlyExit: false, btcLocked: '500', stxLocked: '20000000' },
      // The BTC was released on Bitcoin. The position still shows the amount from before.
      { active: false, earlyExit: true, btcLocked: '4000' },
    ]);
    expect(bond).toMatchObject({ registered: 2, btcLocked: '4500', stxLocked: '30000000' });
  });

  test('a withdrawal of all is an exit, and the position stays active', async () => {
    const withdrawal = poxBlock(setup, 'all', [[bonds.withdraw(0, A, 0)]]);
    const { items } = await readAfter([setup, withdrawal], (read) => read.staking.positions(A, 20, null));
    expect(items).toMatchObject([{ active: true, earlyExit: true, btcLocked: '0' }]);
  });
});

test('a bond that was not set up has the totals of its allowlist and registrations', async () => {
  const block = poxBlock(null, 'without setup', [
    [bonds.allow(7, A), bonds.allow(7, B)],
    [bonds.register(7, A, manager, 9)],
  ]);
  const totals = await readEvents([block.event], (read) =>
    [read.staking.allowances(7, 1, null), read.staking.registrations(7, 1, null)].map(({ total }) => total),
  );
  expect(totals).toEqual([2, 1]);
});

describe('a reward cycle', () => {
  /** Bonds begin at cycle 8, which begins at Bitcoin height 160, 20 blocks long. */
  const STX = 60_000_000_000n;
  const staked = poxBlock(setup, 'staked in cycle 7', [
    [bonds.stake(bob.address, manager, STX, [8, 9], 180), bonds.stake(carol.address, manager, STX, [8, 10], 200)],
    [bonds.updateStake(carol.address, manager, 2n * STX, 1, 10, 200)],
  ]);
  /** Receives further blocks, and reads a cycle. */
  const read = (chain: readonly MadeBlock[], cycle: number | 'current' | 'previous') =>
    readAfter([...chain], (reader) => reader.staking.cycle(cycle));

  test('has the stakes and positions that hold in it, and the sums of its calculations and claims', async () => {
    const eight = poxBlock(
      staked,
      'in cycle 8',
      [
        [bonds.withdraw(0, A, 400)],
        [bonds.stake(A, manager, STX, [9, 10], 200)],
        [bonds.calculate(8, 1n, STX, [500, 30, 7]), bonds.calculate(8, 1n, STX, [1, 1, 1]), bonds.signerClaim(8, 11)],
      ],
      { burn_block_height: 165 },
    );
    const nine = poxBlock(eight, 'in cycle 9', [], { burn_block_height: 181 });
    const now = await read([setup, staked, eight], 'current');
    expect(now).toEqual({
      cycle: 8,
      status: 'reward_phase',
      start: 160,
      prepareStart: null,
      end: 179,
      stx: { stakes: 2n * STX, bonds: 2n * 10_000_000n },
      btc: { native: 4_000n, sbtc: 400n },
      stakers: { stakes: 2, bonds: 2 },
      signers: 0,
      bonds: [0],
      rewards: { bonds: 501n, stakes: 31n, reserve: 8n, claimed: 11n },
    });
    expect(await read([nine], 'previous')).toEqual({ ...now!, status: 'finished' });
    const next = { stx: { stakes: 3n * STX }, stakers: { stakes: 2 }, rewards: { bonds: 0n, claimed: 0n } };
    expect(await read([], 9)).toMatchObject(next);
    for (const cycle of [10, Number.MAX_SAFE_INTEGER]) expect(await read([], cycle)).toBeUndefined();
  });

  test('is unknown until a bond shows the heights of cycles', async () => {
    expect(await read([poxBlock(null, 'nothing', [])], 'current')).toBeUndefined();
  });
});

describe('rewards of a bond', () => {
  const shared = poxBlock(setup, 'shared', [[bonds.distribute(0, TWO), bonds.calculate(8, 0n, 0n)]]);

  test("are shared by each staker's part, and claims are counted", async () => {
    const claimed = poxBlock(shared, 'claimed', [[bonds.claim(A, 0, 1_500, manager, 8)]]);
    const [ofA, ofB, bond] = await readAfter(
      [setup, shared, claimed],
      (read) => [...rewardsOfBoth(read), read.staking.bond(0)] as const,
    );
    expect(ofA.bonds).toEqual({ accrued: 2_000n, claimed: 1_500n });
    expect(ofB.bonds).toEqual({ accrued: 8_000n, claimed: 0n });
    expect(bond?.paidOut).toBe('1500');
  });

  test('are listed by signer and cycle with the amounts, the accrued and the claimed sats', async () => {
    const claimed = poxBlock(shared, 'claimed', [[bonds.claim(A, 0, 1_500, manager, 8)]]);
    const orphan = poxBlock(claimed, 'claimed more', [[bonds.claim(B, 0, 10, manager, 8)]]);
    const winning = blocksOn(claimed, 'nothing', 'more of nothing');
    const list = await readAfter([setup, shared, claimed, orphan, ...winning], (read) => ({
      first: read.staking.signerCycle(manager, 8, 1, null),
      all: read.staking.signerCycle(manager, 8, 20, null).items,
      others: [read.staking.signerCycle(manager, 9, 20, null), read.staking.signerCycle(A, 8, 20, null)],
      own: read.staking.cycles(A, 20, null).items.find(({ cycle }) => cycle === 8),
    }));
    const position = { bond: 0, claimed: 0n };
    const [ofA, ofB] = [
      { ...position, staker: A, sats: 1_000n, earned: 2_000n, claimed: 1_500n },
      { ...position, staker: B, sats: 4_000n, earned: 8_000n },
    ];
    const byAddress = [ofA, ofB].sort((a, b) => (a.staker < b.staker ? -1 : 1));
    expect(list.all).toMatchObject(byAddress);
    expect(list.first.items).toEqual(list.all.slice(0, 1));
    expect(list.first.total).toBe(2);
    for (const { items, total } of list.others) expect([items, total]).toEqual([[], 0]);
    expect(list.own).toMatchObject({ earned: 2_000n, claimed: 1_500n });
  });

  test('are rounded down once for all calculations of a cycle, and again in the next', async () => {
    const third = 10n ** 18n / 3n;
    const bond = poxBlock(null, 'one sat', [[bonds.setup(0), bonds.register(0, A, manager, 1)]]);
    const parts = [8, 8, 8, 9, 9].map((cycle) => [bonds.distribute(0, third + 1n), bonds.calculate(cycle, 0n, 0n)]);
    const { bonds: earned } = await readAfter([bond, poxBlock(bond, 'thirds', parts)], (read) => rewardsOf(read, A));
    expect(earned.accrued).toBe(1n);
  });

  test('depend on the stakes that counted in the cycle, even if they are calculated late', async () => {
    // Bitcoin height 185 is in cycle 9.
    const later = poxBlock(setup, 'later', [[bonds.withdraw(0, A, 400)]], { burn_block_height: 185 });
    const distributed = poxBlock(later, 'late', [
      [bonds.distribute(0, TWO), bonds.calculate(8, 0n, 0n)],
      [bonds.distribute(0, TWO), bonds.calculate(9, 0n, 0n)],
    ]);
    const { bonds: earned } = await readAfter([setup, later, distributed], (read) => rewardsOf(read, A));
    expect(earned.accrued).toBe(2_000n + 800n);
  });

  test('are zero for stakes that were announced to leave', async () => {
    const exit = poxBlock(setup, 'exit', [[bonds.exit(0, B)]]);
    const paid = poxBlock(exit, 'paid', [[bonds.distribute(0, TWO)]]);
    const [ofA, ofB] = await readAfter([setup, exit, paid], rewardsOfBoth);
    expect([ofA.bonds.accrued, ofB.bonds.accrued]).toEqual([2_000n, 0n]);
  });
});

describe('a stake', () => {
  const STX = 60_000_000_000n;
  const staked = poxBlock(null, 'staked', [[bonds.stake(A, manager, STX, [8, 20], 400), locked(A, STX, 400)]]);
  const rate = 10n ** 9n;
  const calculation = (cycle: number, amount = STX) => bonds.calculate(cycle, rate, amount);

  test('is locked until its end, and earns from its first cycle to before its last', async () => {
    const calculations = [7, 8, 19, 20].map((cycle) => [calculation(cycle)]);
    const paid = poxBlock(staked, 'stake paid', calculations);
    const { stx } = await readAfter([staked, paid], (read) => read.staking.summary(A));
    expect(stx).toEqual({ locked: STX, rewards: { accrued: 120n, claimed: 0n } });
  });

  test('is free at its end', async () => {
    const end = poxBlock(staked, 'the end', [], { burn_block_height: 400 });
    const [{ stx }, stakers] = await readAfter([staked, end], async (read) => [
      read.staking.summary(A),
      read.staking.stakers(manager, 20, null),
    ]);
    expect(stx.locked).toBe(0n);
    expect(stakers).toMatchObject({ total: 0, items: [] });
  });

  test('is locked at its end until a Stacks block follows the Bitcoin block, as the balance is', async () => {
    const locks = async (read: Reader) => [
      read.principals.stxBalance(A).locked?.amount ?? 0n,
      read.staking.summary(A).stx.locked,
      BigInt(read.staking.stakers(manager, 20, null).total) * STX,
    ];
    const announced = { event: burnBlock(400, 'the end', null, []) };
    expect(await readAfter([staked, announced], locks)).toEqual([STX, STX, STX]);
    const end = poxBlock(staked, 'after the end', [], { burn_block_height: 400 });
    expect(await readAfter([end], locks)).toEqual([0n, 0n, 0n]);
  });

  test('that is changed keeps its old amount in the running cycle, and one that is ended ends with the cycle', async () => {
    const changed = poxBlock(staked, 'changed stake', [[bonds.updateStake(A, other, 2n * STX, 11, 20, 400)]]);
    const ended = poxBlock(changed, 'ended stake', [[bonds.unstake(A, other, 2n * STX, 10, 200)]]);
    const paid = poxBlock(ended, 'paid stake', [[calculation(8)], [calculation(9, 2n * STX)], [calculation(10)]]);
    const { stx } = await readAfter([staked, changed, ended, paid], (read) => read.staking.summary(A));
    expect(stx).toEqual({ locked: 2n * STX, rewards: { accrued: 60n + 120n, claimed: 0n } });
  });

  test('that is changed keeps its first cycle, and one that starts again has a new one', async () => {
    const changed = poxBlock(staked, 'changed before it begins', [[bonds.updateStake(A, other, STX, 13, 20, 400)]]);
    const next = poxBlock(changed, 'staked again', [[bonds.stake(A, other, STX, [30, 42], 600), locked(A, STX, 600)]]);
    const paid = poxBlock(next, 'paid before and after', [[calculation(7)], [calculation(8)]]);
    const { stx } = await readAfter([staked, changed, next, paid], (read) => read.staking.summary(A));
    expect(stx.rewards.accrued).toBe(60n);
    using db = new Database(indexPath(opened().directory), { readonly: true });
    expect(db.query('SELECT first_cycle, from_cycle FROM stakes ORDER BY position').values()).toEqual([
      [8, 8],
      [8, 7],
      [30, 30],
    ]);
  });

  test('with a signer below the minimum earns nothing if the contract paid less than all', async () => {
    const small = poxBlock(staked, 'small', [[bonds.stake(B, other, 1_000_000_000n, [8, 20], 400)]]);
    const paid = poxBlock(small, 'small paid', [[calculation(8)]]);
    const [ofA, ofB] = await readAfter([staked, small, paid], rewardsOfBoth);
    expect([ofA.stx.accrued, ofB.stx.accrued]).toEqual([60n, 0n]);
  });

  test('is in the balance, and rolls over into a bond', async () => {
    const rolled = poxBlock(staked, 'rolled', [
      [bonds.setup(0), bonds.register(0, A, manager, 5), locked(A, 10_000_000n, 400)],
    ]);
    const [before] = await readAfter([staked], async (read) => [read.principals.stxBalance(A)]);
    expect(before.locked).toMatchObject({ amount: STX, poxVersion: 5, unlockHeight: 400 });
    const [balance, summary, stakers] = await readAfter([rolled], async (read) => [
      read.principals.stxBalance(A),
      read.staking.summary(A),
      read.staking.stakers(manager, 20, null),
    ]);
    expect(balance.locked).toMatchObject({ amount: 10_000_000n, poxVersion: 5 });
    expect(summary).toMatchObject({ stx: { locked: 0n }, bonds: { count: 1, stxLocked: 10_000_000n } });
    expect(stakers.items).toEqual([{ staker: A, stx: false, btc: true }]);
  });
});

describe('signers', () => {
  const [first, second] = [keyOf(2), keyOf(3)];
  const registered = poxBlock(null, 'registered', [
    [bonds.key('grant', manager, first), bonds.key('register', manager, first)],
  ]);
  const third = keyOf(4);
  const set = rewardSet(
    8,
    [first, second].map((key) => [key, 3, 5n]),
  );
  const chosen = poxBlock(registered, 'chosen', [[bonds.key('register', manager, second)]], set);

  test("include keys registered before a cycle's selection, and show later registrations", async () => {
    const [cycle, page] = await readAfter([registered, chosen], async (read) => {
      const cycle = read.rewardCycles.find('current');
      return [cycle, read.staking.cycleSigners('current', 20, null)!];
    });
    expect(cycle).toMatchObject({ cycle: 8, signers: 2, weight: 6, stacked: 10n });
    expect(page.items.map(({ signer, managers }) => [signer.key, managers.length])).toEqual([
      [first, 1],
      [second, 0],
    ]);
    expect(page.items[0]?.managers).toMatchObject([
      {
        signer: manager,
        registered: { height: 1, burnHeight: 101 },
        grants: [{ key: first, authId: '7' }],
        pending: { key: second },
      },
    ]);
  });

  test("don't change in a past cycle after the selection of the next one", async () => {
    const changes = [bonds.key('register', manager, third), bonds.key('revoke', manager, first)];
    const next = poxBlock(chosen, 'next', [changes], rewardSet(9, [[second, 1, 1n]]));
    const page = await readAfter([registered, chosen, next], async (read) => read.staking.cycleSigners(8, 20, null));
    expect(page?.items[0]?.managers).toMatchObject([{ grants: [{ key: first }], pending: { key: second } }]);
  });

  test('are listed from one cycle even if the next one starts between pages', async () => {
    const next = poxBlock(chosen, 'next', [], rewardSet(9, [[third, 9, 1n]]));
    const firstPage = await readAfter([registered, chosen], (read) => read.staking.cycleSigners('current', 1, null));
    const [rest, now] = await readAfter([registered, chosen, next], async (read) => [
      read.staking.cycleSigners('current', 5, firstPage!.next),
      read.staking.cycleSigners('current', 5, null),
    ]);
    expect([firstPage, rest, now].map((page) => page?.items.map(({ signer }) => signer.key))).toEqual([
      [first],
      [second],
      [third],
    ]);
  });
});

test('unknown topics of pox-5, and topics without their fields, are stored as logs and reported once', async () => {
  const strange = poxBlock(null, 'strange', [
    [printed('a-topic-to-come'), printed('a-topic-to-come'), printed('stake'), bonds.setup(3)],
  ]);
  const [bond, logs] = await readAfter([strange], async (read) => [
    read.staking.bond(3),
    read.contracts.logs('ST000000000000000000002AMW42H.pox-5', 20, { cursor: null, item: null, offset: 0 }, models),
  ]);
  expect([bond?.index, logs?.total]).toEqual([3, 4]);
  expect(opened().logged.filter(({ event }) => event === 'node_data_unread')).toMatchObject([
    { contract: 'pox-5', topic: 'a-topic-to-come' },
    { contract: 'pox-5', topic: 'stake' },
  ]);
});

test('thousands of entries of one transaction are visited once each, in allowlists and registrations', async () => {
  const addresses = Array.from({ length: 2_500 }, (_, index) => stacksAddress(26, hash160(Buffer.from(`${index}`))));
  const crowd = poxBlock(null, 'crowd', [
    [
      bonds.setup(0),
      ...addresses.map((staker) => bonds.allow(0, staker)),
      ...addresses.map((staker) => bonds.register(0, staker, manager, 1)),
    ],
  ]);
  const [allowed, registered, stakers] = await readAfter([crowd], async (read) => [
    await walkItems((limit, cursor) => read.staking.allowances(0, limit, cursor), 50),
    await walkItems((limit, cursor) => read.staking.registrations(0, limit, cursor), 50),
    await walkItems((limit, cursor) => read.staking.stakers(manager, limit, cursor), 50),
  ]);
  expect(allowed.map(({ staker }) => staker)).toEqual(addresses);
  expect(registered.map(({ staker }) => staker)).toEqual(addresses.toReversed());
  expect(stakers.map(({ staker }) => staker)).toEqual(addresses.toSorted());
});

test('lists are empty without stakes and signers', async () => {
  const [summary, positions, stakers, cycle] = await readAfter([poxBlock(null, 'nothing', [])], async (read) => [
    read.staking.summary(C),
    read.staking.positions(C, 20, null),
    read.staking.stakers(C, 20, null),
    read.rewardCycles.find('current'),
  ]);
  expect(summary).toEqual({
    stx: { locked: 0n, rewards: { accrued: 0n, claimed: 0n } },
    bonds: { count: 0, btcLocked: 0n, stxLocked: 0n, rewards: { accrued: 0n, claimed: 0n } },
  });
  expect([positions.total, stakers.total, cycle]).toEqual([0, 0, undefined]);
});
