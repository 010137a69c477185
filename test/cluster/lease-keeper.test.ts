/**
 * Hosts that keep a lease of an engine in memory, in a world that a seed draws: processes end, are halted and stop, answers
 * are lost or late, and the engine is away. STACKSIDE_RUNS sets how many seeds are tried.
 */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { StoreUnavailableError } from '../../src/base/system-errors.ts';
import { ASK_MS, LACKING_MS, LEASE_SECONDS, LeaseKeeper } from '../../src/cluster/lease-keeper.ts';
import { World } from '../simulation/world.ts';
import type { MemoryLeases } from '../support/data/memory-leases.ts';
import { directWay, MemoryLog, type Way } from '../support/data/memory-log.ts';
import { assertSeeds, Seen } from '../support/property.ts';
import { LossyWay } from './lossy-way.ts';

const NAME = 'deliveries';
/** A dead holder is replaced within this time. */
const REPLACED_MS = 10_000;
const PATIENCE = 60_000;

interface HostOptions {
  way?: Way;
  isFit?: () => boolean;
  lacks?: () => string | null;
  epochSeen?: () => number;
  caughtUp?: () => Promise<void>;
  start?: () => void;
  /** Milliseconds that the work takes to end, at most. */
  endsWithin?: number;
  /** Sends nothing, so it never checks the lease. */
  isIdle?: boolean;
}

/** A process that keeps the lease and works while it has it. */
class Host {
  readonly keeper: LeaseKeeper;
  /** Entries that the keeper logged: whether it got or lost the lease, or couldn't reach the log. */
  readonly reports: (boolean | 'failing')[] = [];
  /** The epoch of each delivery. */
  readonly sent: number[] = [];
  /** The epoch of the running work; null if there is none. */
  working: number | null = null;
  isAlive = true;
  /** The process is halted until this time. */
  #haltedUntil = 0;

  constructor(
    readonly world: World,
    readonly leases: MemoryLeases,
    readonly name: string,
    { way = directWay, start, endsWithin = 300, isIdle = false, ...options }: HostOptions = {},
  ) {
    this.keeper = new LeaseKeeper({
      leases: leases.client(way, () => this.isAlive),
      clock: { ...world.clock, after: (milliseconds, call) => this.#after(milliseconds, call) },
      random: world.random,
      name: NAME,
      host: name,
      process: 'process',
      isFit: () => true,
      caughtUp: async () => {},
      epochSeen: () => 0,
      ...options,
      say: (event) => this.reports.push(event.event === 'delivery_lease_changed' ? event.held : 'failing'),
    });
    this.keeper.start({
      start: (epoch) => {
        expect(this.working).toBeNull();
        start?.();
        this.working = epoch;
        if (!isIdle) this.#send(epoch);
      },
      stop: async () => {
        const epoch = this.working;
        // Running work takes a moment to end, and sends nothing during that time.
        await world.pause(world.prng(`${name} ${epoch}`).below(endsWithin));
        this.working = null;
      },
      lacks: () => options.lacks?.() ?? null,
    });
  }

  get holder(): string {
    return `${this.name}/process`;
  }

  halt(milliseconds: number): void {
    this.#haltedUntil = Math.max(this.#haltedUntil, this.world.time + milliseconds);
  }

  #after(milliseconds: number, call: () => void): () => void {
    let cancel = () => {};
    const run = () => {
      if (!this.isAlive) return;
      const halted = this.#haltedUntil - this.world.time;
      if (halted > 0) cancel = this.world.after(halted, run);
      else call();
    };
    cancel = this.world.after(milliseconds, run);
    return () => cancel();
  }

  /** Sends at intervals, and checks the lease each time. */
  #send(epoch: number): void {
    if (!this.isAlive || this.working !== epoch) return;
    if (this.keeper.hasLease()) {
      this.sent.push(epoch);
      // By the engine's clock nobody else has the lease, so nobody else sends.
      if (this.leases.holder(NAME) !== this.holder) {
        this.world.wrong(`${this.name} sends, but ${this.leases.holder(NAME)} has the lease`);
      }
    }
    this.#after(37, () => this.#send(epoch));
  }
}

const cases = fc.record({
  seed: fc.noShrink(fc.nat(1_000_000_000)),
  lostInHundred: fc.constantFrom(0, 10, 40),
  /** Hosts that can't do all of the work. */
  lacking: fc.subarray([0, 1, 2]),
  disturbances: fc.array(
    fc.oneof(
      fc.record({ after: fc.nat(9_000), host: fc.nat(2), befalls: fc.constantFrom('crash' as const, 'stop' as const) }),
      fc.record({
        after: fc.nat(9_000),
        host: fc.nat(2),
        befalls: fc.constantFrom('halt' as const, 'away' as const),
        milliseconds: fc.nat(15_000),
      }),
    ),
    { maxLength: 8 },
  ),
});

type Case = typeof cases extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** A world in which time passes even while everything waits for an answer. */
function worldOf(seed: number): World {
  const world = new World(seed);
  world.clock.every(50, () => {});
  return world;
}

/**
 * Runs three hosts; each that ends is followed by another process of its name.
 * @returns the number of epochs with deliveries
 */
async function run({ seed, lostInHundred, lacking, disturbances }: Case): Promise<number> {
  const world = worldOf(seed);
  const engine = new MemoryLog(() => world.time);
  const { leases } = engine;
  const ways = [0, 1, 2].map((host) => new LossyWay(world, `host ${host}`, lostInHundred));
  const allHosts: Host[] = [];
  const place = (index: number, life: number): Host => {
    const lacks = () => (lacking.includes(index) ? 'it lacks something' : null);
    const host = new Host(world, leases, `host ${index}.${life}`, { way: ways[index]!, endsWithin: 5_000, lacks });
    allHosts.push(host);
    return host;
  };
  const hosts = ways.map((_, index) => place(index, 0));
  for (const [life, { after, host: index, ...disturbance }] of disturbances.entries()) {
    await world.until(pastIn(world, after), PATIENCE, 'time');
    const host = hosts[index]!;
    if (disturbance.befalls === 'halt') host.halt(disturbance.milliseconds);
    else if (disturbance.befalls === 'away') {
      engine.isAway = true;
      world.after(disturbance.milliseconds, () => {
        engine.isAway = false;
      });
    } else {
      if (disturbance.befalls === 'crash') host.isAlive = false;
      else void host.keeper.stop();
      hosts[index] = place(index, life + 1);
    }
  }
  engine.isAway = false;
  for (const way of ways) way.calm();
  const calm = world.time;
  for (const host of hosts) host.halt(0);
  await world.until(() => hosts.some(({ working }) => working !== null), PATIENCE, 'a holder');
  // A halted host may still have the lease until it ends.
  expect(world.time - calm).toBeLessThan(15_000 + REPLACED_MS);
  const epochs = allHosts.map(({ sent }) => new Set(sent));
  const sending = epochs.reduce((sum, { size }) => sum + size, 0);
  expect(sending).toBe(new Set(epochs.flatMap((set) => [...set])).size);
  for (const host of hosts) void host.keeper.stop();
  return sending;
}

/** Whether so much time has passed from now on. */
function pastIn(world: World, milliseconds: number): () => boolean {
  const end = world.time + milliseconds;
  world.after(milliseconds, () => {});
  return () => world.time >= end;
}

test('under any disturbances, no host sends while another may have the lease, and one has it in the end', async () => {
  const seen = new Seen({ 'epochs with deliveries': 10 });
  await assertSeeds(
    fc.asyncProperty(cases, async (example) => seen.add('epochs with deliveries', await run(example))),
    { seen, cases: 20 },
  );
});

test('if the holder dies, another host takes over within ten seconds', async () => {
  for (let seed = 0; seed < 12; seed++) {
    const world = worldOf(seed);
    const prng = world.prng('death');
    const { leases } = new MemoryLog(() => world.time);
    const way = new LossyWay(world, 'all', 0);
    const hosts = ['a', 'b', 'c'].map((name) => new Host(world, leases, name, { way }));
    await world.until(() => hosts.some(({ working }) => working !== null), PATIENCE, 'a holder');
    await world.until(pastIn(world, prng.below(9_000)), PATIENCE, 'time');
    const dead = hosts.find(({ working }) => working !== null)!;
    dead.isAlive = false;
    const others = hosts.filter((host) => host !== dead);
    await world.until(() => others.some(({ working }) => working !== null), REPLACED_MS, 'another holder');
    expect(leases.rows.get(NAME)?.epoch).toBe(2);
  }
});

/** A world with an engine and hosts. */
function scene() {
  const world = worldOf(1);
  const engine = new MemoryLog(() => world.time);
  const { leases } = engine;
  return {
    world,
    engine,
    leases,
    host: (name: string, options?: HostOptions) => new Host(world, leases, name, options),
    /** Lets time pass. */
    pass: (milliseconds: number) => world.until(pastIn(world, milliseconds), milliseconds + PATIENCE, 'time'),
    working: (host: Host, within = PATIENCE) => world.until(() => host.working !== null, within, 'work'),
    idle: (host: Host, within = PATIENCE) => world.until(() => host.working === null, within, 'the end of the work'),
  };
}

test('a host that stops ends its work first, and another host gets the lease with its next request', async () => {
  const { world, leases, host, pass, working } = scene();
  const first = host('one');
  await working(first);
  const second = host('two');
  await pass(3 * ASK_MS);
  expect(second.working).toBeNull();
  expect([first.keeper.status(), second.keeper.status()]).toEqual([
    { isHeld: true, holder: 'one', epoch: 1 },
    { isHeld: false, holder: 'one', epoch: 1 },
  ]);
  const stopped = first.keeper.stop();
  expect(first.keeper.hasLease()).toBe(false);
  await world.outcome(stopped, PATIENCE, 'the end');
  expect([first.working, leases.holder(NAME)]).toEqual([null, null]);
  await world.until(() => second.working === 2, ASK_MS + 100, 'the next holder');
  // A stop doesn't count as a loss.
  expect(first.reports).toEqual([true]);
});

test('while the engine is away, no host names a holder beyond the end of the lease', async () => {
  const { engine, host, pass, working } = scene();
  const first = host('one');
  await working(first);
  const second = host('two');
  await pass(3 * ASK_MS);
  engine.isAway = true;
  await pass(ASK_MS);
  expect(second.keeper.status()).toMatchObject({ isHeld: false, holder: 'one' });
  await pass(LEASE_SECONDS * 1000);
  for (const { keeper } of [first, second]) {
    expect(keeper.status()).toMatchObject({ isHeld: false, holder: null, epoch: 1 });
  }
});

test('a host that was halted beyond the end of its lease stops before it sends anything', async () => {
  const { world, host, working, idle } = scene();
  const first = host('one');
  await working(first);
  first.halt(2 * LEASE_SECONDS * 1000);
  const second = host('two');
  await world.until(() => second.working === 2, REPLACED_MS, 'the next holder');
  const { length } = first.sent;
  await world.until(() => first.reports.includes(false), PATIENCE, 'a loss');
  await idle(first);
  expect(first.sent.length).toBe(length);
});

test('a holder without a key passes the lease to a host with the key, and gets it back if no host has the key', async () => {
  const { world, host, pass, working } = scene();
  let lacking: string | null = 'it lacks the key';
  const first = host('one', { lacks: () => lacking });
  await working(first);
  const second = host('two');
  await world.until(() => second.working !== null, LACKING_MS + REPLACED_MS, 'the host that can');
  expect(first.working).toBeNull();
  await pass(2 * LACKING_MS);
  expect([first.working, second.working]).toEqual([null, 2]);
  second.isAlive = false;
  // Without another host, it works as far as it can, with short breaks.
  await world.until(() => first.working === 3, REPLACED_MS, 'the host that is left');
  await world.until(() => first.working === 4, LACKING_MS + REPLACED_MS, 'the next lease');
  lacking = null;
  await pass(2 * LACKING_MS);
  expect(first.working).toBe(4);
});

/** A connection whose answers wait for the test. */
function gatedWay() {
  let gate = Promise.resolve();
  return {
    ...directWay,
    travel: () => gate,
    /** @returns the function that releases all calls */
    close(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = Promise.resolve();
        resolve();
      };
    },
  };
}

test.each([true, false])('an answer after the end of the lease changes nothing (idle work: %p)', async (isIdle) => {
  const { host, pass, working, idle } = scene();
  const way = gatedWay();
  let open = way.close();
  const first = host('one', { way, isIdle });
  await pass((LEASE_SECONDS + 1) * 1000);
  expect(first.keeper.hasLease()).toBe(false);
  // The request and its answer arrive seven seconds late.
  open();
  await working(first);
  expect(first.working).toBe(2);
  open = way.close();
  await idle(first, LEASE_SECONDS * 1000 + 500);
  open();
  await working(first);
  expect(first.working).toBe(3);
});

test('the time of a renewed lease starts at the request, however late the answer is', async () => {
  const { world, host, pass, working, idle } = scene();
  let [requests, travels] = [0, 0];
  const way: Way = {
    ...directWay,
    fate: () => {
      requests += 1;
      return requests <= 2 ? 'done' : 'unavailable';
    },
    travel: () => {
      travels += 1;
      // The answer of the renewal, which the engine has at once.
      return travels === 4 ? world.pause(3_000) : Promise.resolve();
    },
  };
  const first = host('one', { way });
  await working(first);
  await pass(LEASE_SECONDS * 1000 + 500);
  expect([first.working, requests > 2]).toEqual([1, true]);
  await idle(first, ASK_MS);
});

test('a host that stops during its lease request releases the lease', async () => {
  const { world, leases, host, pass } = scene();
  const way = gatedWay();
  const open = way.close();
  const first = host('one', { way });
  await pass(100);
  const stopped = first.keeper.stop();
  open();
  await world.outcome(stopped, PATIENCE, 'the end');
  expect([leases.rows.get(NAME)?.epoch, leases.holder(NAME), first.working]).toEqual([1, null, null]);
});

test('an engine that does not answer does not delay a stop', async () => {
  const { world, host, working } = scene();
  const way = gatedWay();
  const first = host('one', { way });
  await working(first);
  way.close();
  await world.outcome(first.keeper.stop(), ASK_MS + 500, 'the end');
});

test('while the engine is unavailable, the lease lasts its time; then the work ends, and continues with a higher epoch', async () => {
  const { world, engine, host, pass, working, idle } = scene();
  const first = host('one');
  await working(first);
  engine.isAway = true;
  await pass((LEASE_SECONDS - 3) * 1000);
  expect(first.working).toBe(1);
  await idle(first, LEASE_SECONDS * 1000);
  engine.isAway = false;
  await world.until(() => first.working === 2, PATIENCE, 'work');
  // The failure is logged once, however often the lease is requested.
  expect(first.reports).toEqual([true, 'failing', false, true]);
});

test("a host that is behind or can't write requests no lease, and gives up the one it has", async () => {
  const { world, host, pass, working } = scene();
  let isFit = false;
  const first = host('one', { isFit: () => isFit });
  await pass(3 * ASK_MS);
  expect(first.keeper.status()).toEqual({ isHeld: false, holder: null, epoch: null });
  isFit = true;
  await working(first);
  const second = host('two');
  isFit = false;
  await world.until(() => second.working !== null, 2 * ASK_MS + 500, 'the other host');
  expect(first.working).toBeNull();
});

test("a host gives up the lease if its work can't start", async () => {
  const { world, host } = scene();
  const first = host('one', {
    start: () => {
      throw new StoreUnavailableError('io_error', null);
    },
  });
  await world.until(() => first.reports.includes(false), PATIENCE, 'a loss');
  const second = host('two');
  await world.until(() => second.working !== null, PATIENCE, 'the other host');
});

test("a new holder starts work after it has the previous holder's entries, with a higher epoch", async () => {
  const { world, host, pass, working } = scene();
  const caughtUp = Promise.withResolvers<void>();
  let epoch = 0;
  const first = host('one', { caughtUp: () => caughtUp.promise, epochSeen: () => epoch });
  await world.until(() => first.keeper.hasLease(), PATIENCE, 'the lease');
  await pass(3 * ASK_MS);
  expect([first.keeper.hasLease(), first.working]).toEqual([true, null]);
  // An engine that was restored gives epochs again that it gave before.
  epoch = 5;
  caughtUp.resolve();
  await working(first);
  expect(first.working).toBe(6);
});

test('a host stops at once if it reads a higher epoch', async () => {
  const { world, host } = scene();
  let epoch = 0;
  const first = host('one', { epochSeen: () => epoch });
  await world.until(() => first.working === 1, PATIENCE, 'work');
  epoch = 5;
  expect(first.keeper.hasLease()).toBe(false);
  await world.until(() => first.working === 6, PATIENCE, 'work with an epoch above all that it knows');
});
