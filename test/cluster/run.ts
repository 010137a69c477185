/** One run: hosts that share a log, the nodes that feed them, failures, and the laws at the end. */
import { expect } from 'bun:test';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import type { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { HookRecord } from '../../src/store/hooks/model.ts';
import { faults } from '../faults/fault-store.ts';
import { Receivers } from '../simulation/receivers.ts';
import { World } from '../simulation/world.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { rebuild } from '../support/data/rebuild.ts';
import { journalRows, wholeIndex } from '../support/data/tables.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import type { Case, Disturbance } from './case.ts';
import { holdDeliveryLaws, isAtRest } from './delivering.ts';
import { LATE, LossyWay } from './lossy-way.ts';
import { SimulatedHost } from './simulated-host.ts';

/** Milliseconds of the world within which all must come to rest. */
const PATIENCE = 60_000;
const RETRY_MS = 60;
const MICROSECONDS = 1_000;

const streams = new Map<number, NodeEvent[]>();

/** The events of a chain with forks, and such as only the journal keeps. */
function streamOf(stream: number): NodeEvent[] {
  const cached = streams.get(stream);
  if (cached !== undefined) return cached;
  const options = { blocks: 5 + (stream % 5), accounts: 5, transactionsPerBlock: 2, forkEvery: 2, forkDepth: 3 };
  const events = [...devnetEvents({ seed: stream, ...options })].flatMap((event, index) =>
    index % 6 === 1
      ? [event, { path: '/stackerdb_chunks', body: `{"contract_id":"ST.chunks-${index}"}`, time: event.time }]
      : [event],
  );
  streams.set(stream, events);
  return events;
}

/** Number of nodes that post to a host; events that wait for an append are appended together. */
const NODES = 2;

/** The events that a node posts: most of them are posted by every node. */
function shareOf(events: readonly NodeEvent[], node: number, nodes: number, prng: Prng): NodeEvent[] {
  // One node is sure to post each event. Other hosts get it through the log.
  return events.filter((_, index) => index % nodes === node || prng.chance(0.7));
}

/** The key of an event that must be in the journal once; null for one that may change nothing. */
function keyOf(path: string, text: string): string | null {
  if (path === '/stackerdb_chunks') return text;
  if (path !== '/new_block') return null;
  const { index_block_hash }: { index_block_hash: string } = JSON.parse(text);
  return index_block_hash;
}

class Run {
  readonly world: World;
  readonly log: MemoryLog;
  readonly hosts: SimulatedHost[] = [];
  /** Null if nothing is delivered. */
  readonly receivers: Receivers | null;
  readonly #case: Case;
  readonly #events: readonly NodeEvent[];
  readonly #ways: LossyWay[] = [];
  #isDisturbed = true;
  #feeding = 0;
  #commanding = 0;
  /** The hooks at the end, if they are delivered. */
  records: HookRecord[] = [];
  /** Events that were acknowledged to nodes. */
  readonly acknowledged: NodeEvent[] = [];

  constructor(example: Case) {
    this.#case = example;
    this.#events = streamOf(example.stream);
    this.world = new World(example.seed);
    this.log = new MemoryLog(() => this.world.time);
    this.receivers = example.delivering ? new Receivers(this.world) : null;
    for (let host = 0; host < example.hosts; host++) {
      const name = `host ${host}`;
      const way = new LossyWay(this.world, name, example.lostInHundred);
      this.#ways.push(way);
      this.hosts.push(new SimulatedHost(name, this.world, this.log, way, this.receivers));
    }
  }

  async toRest(): Promise<void> {
    const { hosts, late } = this.#case;
    const late_ = late ? this.hosts.at(-1) : undefined;
    for (const host of this.hosts) if (host !== late_) host.start();
    for (const [index, host] of this.hosts.entries()) {
      if (host === late_) continue;
      const nodes = NODES * (late ? hosts - 1 : hosts);
      for (let node = NODES * index; node < NODES * (index + 1); node++) {
        void this.#feed(host, node, shareOf(this.#events, node, nodes, this.world.prng(`share ${node}`)));
      }
    }
    for (const host of this.hosts) void this.#command(host);
    void this.#disturb();
    const isAtRest = () => this.#feeding === 0 && this.#commanding === 0 && !this.#isDisturbed;
    await this.world.until(isAtRest, PATIENCE, 'the last answer');
    this.world.calm();
    for (const way of this.#ways) way.calm();
    this.log.isAway = false;
    for (const host of this.hosts) host.disk.calm();
    this.world.note('calm');
    // A command whose answer was lost may still become an entry.
    await this.world.outcome(this.world.pause(LATE), PATIENCE, 'the last late append');
    late_?.start();
    if (this.receivers !== null) await this.#deliverAll(this.receivers);
    await this.#untilAll((host) => this.#hasAll(host), 'the same entries on all hosts');
    // The last host that stops may leave the world with nothing that could happen, and takes a moment all the same.
    const end = this.world.clock.every(RETRY_MS, () => {});
    for (const host of this.hosts) await this.world.outcome(host.stop(), PATIENCE, 'the end');
    await this.#untilAll(({ isCleanedUp }) => isCleanedUp, 'the end of the crashed hosts');
    end();
  }

  holdLaws(): void {
    const first = this.hosts[0]!;
    const journal = journalRows(first.disk.path);
    const index = wholeIndex(first.disk.path);
    const inLog = this.log.entries.map(({ id, receivedAt, path, text }) => ({ id, receivedAt, path, text }));
    expect(journal).toEqual(inLog);
    for (const host of this.hosts.slice(1)) {
      expect(journalRows(host.disk.path)).toEqual(journal);
      expect(wholeIndex(host.disk.path)).toEqual(index);
    }
    expect(problemsIn(first.disk.path)).toEqual([]);
    // The index is a function of the entries, including chainhooks and faucet payouts.
    rebuild(first.disk.path);
    expect(wholeIndex(first.disk.path)).toEqual(index);
    if (this.receivers !== null) holdDeliveryLaws(this.records, journal, this.receivers.arrived);
    // Acknowledged, and so there; posted by several nodes and again after each failure, and so there once.
    const entriesByKey = Map.groupBy(
      journal.map(({ path, text }) => keyOf(path, text)).filter((key) => key !== null),
      (key) => key,
    );
    const acknowledged = new Set(
      this.acknowledged.map(({ path, body }) => keyOf(path, body)).filter((key) => key !== null),
    );
    expect([...acknowledged].filter((key) => entriesByKey.get(key)?.length !== 1)).toEqual([]);
  }

  remove(): void {
    for (const host of this.hosts) host.disk.remove();
  }

  /** Lets all deliveries be made and accepted. */
  async #deliverAll(receivers: Receivers): Promise<void> {
    receivers.calm();
    const [first] = this.hosts;
    await this.#untilAll((host) => this.#hasAll(host), 'the same entries everywhere');
    const enable = async (): Promise<void> => {
      while (!(await first!.enableAll())) await this.world.pause(RETRY_MS);
    };
    await this.world.outcome(enable(), PATIENCE, 'an answer');
    const isDelivered = ({ store }: SimulatedHost) => store !== null && isAtRest(store);
    await this.#untilAll((host) => this.#hasAll(host) && isDelivered(host), 'the last delivery');
    this.records = first!.store?.records.all('default') ?? [];
  }

  #untilAll(holds: (host: SimulatedHost) => boolean, what: string): Promise<void> {
    return this.world.until(() => this.hosts.every(holds), PATIENCE, what);
  }

  #hasAll(host: SimulatedHost): boolean {
    const state = host.state;
    return state !== null && state.position === this.log.head.id && state.position === state.head;
  }

  async #feed(host: SimulatedHost, node: number, events: readonly NodeEvent[]): Promise<void> {
    const prng = this.world.prng(`node ${node}`);
    this.#feeding += 1;
    for (const event of events) {
      await this.world.pause(prng.below(40));
      while (!(await this.#post(host, event, prng))) await this.world.pause(RETRY_MS);
      this.acknowledged.push(event);
    }
    this.#feeding -= 1;
  }

  /** @returns whether the event was acknowledged to the node */
  async #post(host: SimulatedHost, { path, body }: NodeEvent, prng: Prng): Promise<boolean> {
    // Each host has a separate clock, which may be behind the others.
    const skew = host.name.length * 7 + prng.below(3_000);
    const receivedAt = Math.floor(this.world.time - skew) * MICROSECONDS;
    const answer = await host.post({ path, text: body, receivedAt });
    return answer === 'accepted' && !prng.chance(0.03);
  }

  /** Commands reach a host for as long as nodes post. */
  async #command(host: SimulatedHost): Promise<void> {
    const prng = this.world.prng(`commands of ${host.name}`);
    this.#commanding += 1;
    while (this.#feeding > 0) {
      await this.world.pause(prng.below(100));
      await host.command(prng);
    }
    this.#commanding -= 1;
  }

  async #disturb(): Promise<void> {
    for (const disturbance of this.#case.disturbances) {
      await this.world.pause(disturbance.after);
      this.world.note(JSON.stringify(disturbance));
      this.#befall(disturbance, this.hosts[disturbance.host % this.hosts.length]!);
    }
    this.#isDisturbed = false;
  }

  /** Entries that every host has on its disk: a fail-over that loses only these heals, whichever host comes first. */
  #hadByAll(): number {
    return Math.min(...this.hosts.map((host) => journalRows(host.disk.path).length));
  }

  #befall(disturbance: Disturbance, host: SimulatedHost): void {
    switch (disturbance.befalls) {
      case 'restart':
        host.restart().catch((error) => this.world.wrong('a restart failed', error));
        break;
      case 'crash':
        host.crash(disturbance.kept);
        break;
      case 'crash_at_call': {
        const { disk } = host;
        disk.stopAfter(disturbance.calls, () => {
          if (disk === host.disk) host.crash(disturbance.kept);
        });
        break;
      }
      case 'crash_between':
        this.world.afterSteps(disturbance.steps, () => host.crash(disturbance.kept));
        break;
      case 'fault':
        host.disk.failAfter(disturbance.calls, faults[disturbance.fault]!);
        break;
      case 'failed_commit':
        host.disk.failCommit(faults[disturbance.fault]!);
        break;
      case 'full_disk': {
        const { disk } = host;
        disk.fill(true);
        this.world.after(disturbance.milliseconds, () => disk.recover());
        break;
      }
      case 'log_away':
        this.log.isAway = true;
        this.world.after(disturbance.milliseconds, () => {
          this.log.isAway = false;
          this.log.wake();
        });
        break;
      case 'lease_lost':
        for (const lease of this.log.leases.rows.values()) lease.until = this.world.time;
        break;
      case 'fail_over': {
        const safe = this.log.head.id <= this.#hadByAll() ? disturbance.entries : 0;
        if (safe > 0) this.log.lose(safe);
        break;
      }
    }
  }
}

interface RunResult {
  /** Trace of the run, in order. */
  trace: string[];
  /** How often a host appended several entries together. */
  groups: number;
}

/** @throws if a law doesn't hold */
export async function run(example: Case): Promise<RunResult> {
  const running = new Run(example);
  try {
    await running.toRest();
    running.holdLaws();
    return { trace: running.world.trace, groups: running.hosts.reduce((sum, { groups }) => sum + groups, 0) };
  } finally {
    running.remove();
  }
}
