/** One run: a server in its world, from its first event until it is idle, and the laws at the end. */
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { SNAPSHOT_LIMIT_MS } from '../../src/store/read/snapshots.ts';
import { faults } from '../faults/fault-store.ts';
import { journalRows } from '../support/data/tables.ts';
import { lastEntryOf } from './archive.ts';
import type { Case, Disturbance, Moment } from './case.ts';
import { Clients } from './clients.ts';
import { heldSnapshot } from './held-snapshot.ts';
import {
  deliveredAllTheSame,
  deliveredTheWinningChain,
  filesAreClean,
  holdsTheWinningChain,
  idsNameBodies,
  inOrder,
  journalIsOrdered,
  leavesNoOrphans,
  logAgrees,
  logIsBounded,
  signedAsAsked,
} from './laws.ts';
import { Node } from './node.ts';
import { type Hook, type Logged, Operator } from './operator.ts';
import { hearsEachBlock, pushedBlocks } from './push-laws.ts';
import { Readers } from './readers.ts';
import { Receivers } from './receivers.ts';
import { LOG_RETENTION_MS, NoAnswer, Server } from './server.ts';
import { holdingSnapshot } from './slow-reads.ts';
import { World } from './world.ts';

/** Milliseconds of the world within which everything must be idle. */
const PATIENCE = 600_000;
/** Milliseconds between two looks whether the server has recovered. */
const RETRY = 400;
/** Milliseconds until the server has checked its WALs, and logged the reads that hold them. */
const UPKEEP = 2_500;
/** URL of a slow request. */
const LONG_REQUEST = '/extended/v1/block?limit=30';

const streams = new Map<string, NodeEvent[]>();

/** Returns the same list for the same chain, so that data derived from it is computed once. */
function streamOf({ stream, quarters }: Case): NodeEvent[] {
  const key = `${stream}/${quarters}`;
  const cached = streams.get(key);
  if (cached !== undefined) return cached;
  const options = { blocks: 6 + (stream % 8), accounts: 6, transactionsPerBlock: 2, forkEvery: 2, forkDepth: 3 };
  const events = [...devnetEvents({ seed: stream, ...options })];
  const part = events.slice(0, Math.ceil((events.length * quarters) / 4));
  streams.set(key, part);
  return part;
}

type Log = readonly Logged[];

class Run {
  readonly #events: readonly NodeEvent[];
  readonly world: World;
  readonly #receivers: Receivers;
  readonly server: Server;
  readonly #operator: Operator;
  readonly #node: Node;
  readonly #clients: Clients;
  readonly #readers: Readers;
  readonly #case: Case;
  #isDisturbed = true;
  /** Snapshots that others hold. */
  #held = 0;
  /** Requests that take long. */
  #long = 0;
  /** Machines that are about to be lost. */
  #losing = 0;

  constructor(testCase: Case) {
    this.#events = streamOf(testCase);
    this.#case = testCase;
    this.world = new World(testCase.seed);
    this.#receivers = new Receivers(this.world);
    this.server = new Server(this.world, this.#receivers, testCase);
    this.#operator = new Operator(this.world, this.server);
    this.#node = new Node(this.world, this.server, this.#events);
    const addresses = addressesOf(this.#events);
    this.#clients = new Clients(this.world, this.server, testCase.clients, addresses);
    this.#readers = new Readers(this.world, this.server, { events: this.#events, addresses });
  }

  /** Runs until the node's last event is acknowledged and all disturbances are over. */
  async runDisturbed(): Promise<void> {
    await this.server.start();
    this.#operator.do({ operate: 'register', filters: this.world.seed });
    this.#readers.start(this.#case.readers);
    void this.#disturb();
    void this.#node.run();
    const isOver = () => this.#node.isDone && !this.#isDisturbed && this.#losing === 0 && this.#operator.isDone;
    await this.world.until(isOver, PATIENCE, 'the last 200');
  }

  /** Ends all disturbances, so that everybody gets all deliveries. @returns the log of each remaining hook */
  async calm(): Promise<Map<Hook, Log>> {
    this.world.calm();
    this.#node.calm();
    this.server.calm();
    this.#receivers.calm();
    this.#readers.calm();
    this.#clients.calm();
    await this.world.outcome(this.#recovered(), PATIENCE, 'the end of failures');
    const logs = await this.world.outcome(
      this.#operator.deliverAll().then(() => this.#operator.logs()),
      PATIENCE,
      'rest',
    );
    const isUnread = () => this.#readers.isDone && this.#held === 0 && !this.server.archive.isMakingBase;
    await this.world.until(isUnread, PATIENCE, 'the end of the readers');
    // Requests that take longer hold no snapshot by then.
    const longest = this.#long > 0 ? SNAPSHOT_LIMIT_MS : 0;
    await this.world.outcome(this.world.pause(longest + UPKEEP), PATIENCE, 'the upkeep');
    await this.world.until(() => this.#clients.isAtRest, PATIENCE, 'what is pushed');
    logIsBounded(this.server.disk.path, this.#case.walLimitBytes);
    if (this.#case.archived === true) await this.world.until(() => this.#isArchived(), PATIENCE, 'the archive');
    await this.world.until(() => this.#long === 0, PATIENCE, 'the end of requests that take long');
    return logs;
  }

  async stop(): Promise<void> {
    await this.world.until(() => this.server.isUp, PATIENCE, 'its start');
    await this.world.outcome(this.server.stop(), PATIENCE, 'the end');
    await this.world.until(() => this.server.isCleanedUp, PATIENCE, 'the end of the crashed processes');
  }

  holdLaws(logs: Map<Hook, Log>): void {
    const { arrived } = this.#receivers;
    const { path } = this.server.disk;
    holdsTheWinningChain(path, this.#events);
    journalIsOrdered(path, this.#events);
    filesAreClean(path);
    this.server.logsHoldTheirLaws();
    idsNameBodies(arrived);
    signedAsAsked(arrived, this.#operator.signed);
    const pushed = pushedBlocks(this.#events);
    for (const session of this.#clients.sessions) hearsEachBlock(session, pushed);
    for (const hook of this.#operator.hooks) {
      const received = arrived.filter(({ hook: uuid }) => uuid === hook.uuid);
      const accepted = hook.restored ? [] : inOrder(received);
      const log = logs.get(hook);
      if (log === undefined) continue;
      if (hook.restored) {
        deliveredAllTheSame(hook, received, this.#events);
        continue;
      }
      deliveredTheWinningChain(hook, accepted, this.#events);
      leavesNoOrphans(hook, received, this.#events);
      logAgrees(hook, log, accepted, { mayForget: this.world.age > LOG_RETENTION_MS });
    }
  }

  /** Waits until the index is at the head of the journal: before that, the expected deliveries are unknown. */
  async #recovered(): Promise<void> {
    for (;;) {
      try {
        const response = await this.server.request('The API', '/ready', { method: 'GET' });
        const { state } = (await response.json()) as { state: string };
        if (state !== 'cannot_write') return;
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
      }
      await this.world.pause(RETRY);
    }
  }

  async #askForBase(): Promise<void> {
    try {
      const { status } = await this.server.request('The API', '/stackside/v1/archive/base', { method: 'POST' });
      this.world.note(`a base is requested: ${status}`);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
  }

  /** Reports whether the archive has every entry. Nothing is archived while the chain is unknown. */
  readonly #isArchived = (): boolean =>
    this.server.archive.last === lastEntryOf(this.server.disk.path) || !this.server.knowsChain();

  /** The world stands still until the machine that is lost has a successor. */
  #loseSoon(back: number): void {
    this.#losing += 1;
    this.world.after(0, async () => {
      try {
        await this.#lose(back);
      } catch (error) {
        this.world.wrong('a restore failed', error);
      }
      this.#losing -= 1;
    });
  }

  /** The machine is lost, and another one restores the archive. */
  async #lose(back: number): Promise<void> {
    const { archive } = this.server;
    await this.server.lose(async (directory, lostDirectory) => {
      await archive.restoreLost(directory, lostDirectory, back);
      const restored = new Set(journalRows(directory).map(({ path, text }) => `${path} ${text}`));
      const next = this.#events.findIndex(({ path, body }) => !restored.has(`${path} ${body}`));
      this.#node.returnTo(next < 0 ? this.#events.length : next);
      this.#operator.restored();
      this.#readers.forget();
    });
  }

  async #disturb(): Promise<void> {
    for (const disturbance of this.#case.disturbances) {
      await this.world.pause(disturbance.after);
      this.world.note(JSON.stringify(disturbance));
      this.#befall(disturbance);
    }
    this.#isDisturbed = false;
  }

  #hold(directory: string, milliseconds: number): void {
    const snapshot = heldSnapshot(directory);
    if (snapshot === null) return;
    this.#held += 1;
    this.world.after(milliseconds, () => {
      this.#held -= 1;
      if (!snapshot.end()) this.world.wrong('a snapshot changed');
    });
  }

  /** A request that is answered, or refused since its snapshot was cut off. */
  async #requestFor(milliseconds: number): Promise<void> {
    this.#long += 1;
    try {
      const request = () => this.server.request('The API', LONG_REQUEST, { method: 'GET' });
      const { status } = await holdingSnapshot(milliseconds, request);
      this.world.note(`a request of ${milliseconds} ms ${status}`);
      if (status !== 200 && status !== 503) this.world.wrong(`a request that takes long is answered with ${status}`);
    } catch (error) {
      if (!(error instanceof NoAnswer)) this.world.wrong('a request that takes long failed', error);
    } finally {
      this.#long -= 1;
    }
  }

  /** Reports an error of an action on the process. */
  #manage(action: string, promise: Promise<void>): void {
    promise.catch((error) => this.world.wrong(`${action} failed`, error));
  }

  #at(moment: Moment, befall: () => void): void {
    if (moment === 'now') befall();
    else this.#node.atNextBlock(befall);
  }

  #befall(disturbance: Disturbance): void {
    const { disk } = this.server;
    switch (disturbance.befalls) {
      case 'restart':
        this.#manage('a restart', this.server.restart());
        break;
      case 'rebuild':
        this.#manage('a rebuild', this.server.rebuild());
        break;
      case 'rebuild_beside':
        this.#manage('a rebuild beside the server', this.server.rebuildBeside());
        break;
      case 'key':
        this.#manage('a change of the key', this.server.changeKey(disturbance.key));
        break;
      case 'crash_between':
        this.world.afterSteps(disturbance.steps, () => this.server.crash(disturbance.kept));
        break;
      case 'held_snapshot':
        this.#hold(disk.path, disturbance.milliseconds);
        break;
      case 'long_request':
        void this.#requestFor(disturbance.milliseconds);
        break;
      case 'crash':
        this.#at(disturbance.at, () => this.server.stopAfter(disturbance.calls, disturbance.kept));
        break;
      case 'crash_at_delivery':
        this.#receivers.atNext(() => this.server.crash(disturbance.kept));
        break;
      case 'failed_commit':
        this.#at(disturbance.at, () => this.server.disk.failCommit(faults[disturbance.fault]!));
        break;
      case 'fault':
        this.#at(disturbance.at, () => this.server.disk.failAfter(disturbance.calls, faults[disturbance.fault]!));
        break;
      case 'full_disk':
        disk.fill(true);
        this.world.after(disturbance.milliseconds, () => disk.recover());
        break;
      case 'archive_down':
        this.server.archive.setAway(true);
        this.world.after(disturbance.milliseconds, () => this.server.archive.setAway(false));
        break;
      case 'base':
        this.#manage('a request for a base', this.#askForBase());
        break;
      case 'lost_machine':
        if (this.#case.archived === true) this.#loseSoon(disturbance.back);
        break;
      case 'mood':
        this.#receivers.setMood(`/${disturbance.path}`, disturbance.mood);
        break;
      case 'operation':
        this.#operator.do(disturbance.operation);
        break;
    }
  }
}

/** Returns the addresses that received STX, in the order of their first receipt. */
const addressesOf = (events: readonly NodeEvent[]): string[] => [
  ...new Set(
    events.flatMap(({ body }) => [...body.matchAll(/"recipient":"(S[0-9A-Z]+)"/g)].map(([, address = '']) => address)),
  ),
];

/** Runs a case. @returns its trace, in order @throws if a law doesn't hold */
export async function run(testCase: Case): Promise<string[]> {
  const simulation = new Run(testCase);
  try {
    await simulation.runDisturbed();
    const logs = await simulation.calm();
    await simulation.stop();
    simulation.holdLaws(logs);
    if (testCase.archived === true) await simulation.server.archive.holdsItsLaws(simulation.server.disk.path);
    return simulation.world.trace;
  } finally {
    simulation.server.disk.remove();
    simulation.server.archive.remove();
  }
}
