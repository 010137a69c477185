/** One run: a server in its world, from its first event to its rest, and the laws at the end. */
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { faults } from '../faults/fault-store.ts';
import type { Case, Disturbance, Moment } from './case.ts';
import {
  filesAreClean,
  holdsTheWinningChain,
  idsNameBodies,
  inOrder,
  journalIsOrdered,
  leavesNoOrphans,
  logAgrees,
  toldTheWinningChain,
} from './laws.ts';
import { Node } from './node.ts';
import { type Hook, type Logged, Operator } from './operator.ts';
import { Receivers } from './receivers.ts';
import { LOG_RETENTION_MS, Server } from './server.ts';
import { World } from './world.ts';

/** Milliseconds of the world within which all must come to rest. */
const PATIENCE = 600_000;

const streams = new Map<string, NodeEvent[]>();

/** The same list for the same chain, so that what is made of it is made once. */
function streamOf({ stream, quarters }: Case): NodeEvent[] {
  const key = `${stream}/${quarters}`;
  const known = streams.get(key);
  if (known !== undefined) return known;
  const options = { blocks: 6 + (stream % 8), accounts: 6, transactionsPerBlock: 2, forkEvery: 2, forkDepth: 3 };
  const all = [...devnetEvents({ seed: stream, ...options })];
  const made = all.slice(0, Math.ceil((all.length * quarters) / 4));
  streams.set(key, made);
  return made;
}

type Log = readonly Logged[];

class Run {
  readonly #events: readonly NodeEvent[];
  readonly #disturbances: readonly Disturbance[];
  readonly world: World;
  readonly #receivers: Receivers;
  readonly server: Server;
  readonly #operator: Operator;
  readonly #node: Node;
  #isDisturbed = true;

  constructor(one: Case) {
    this.#events = streamOf(one);
    this.#disturbances = one.disturbances;
    this.world = new World(one.seed);
    this.#receivers = new Receivers(this.world);
    this.server = new Server(this.world, this.#receivers, one.journal);
    this.#operator = new Operator(this.world, this.server);
    this.#node = new Node(this.world, this.server);
  }

  /** Until the node is told of its last event that it is taken, and nothing more befalls the server. */
  async disturbed(): Promise<void> {
    await this.server.start();
    this.#operator.do({ operate: 'register', filters: this.world.seed });
    void this.#disturb();
    void this.#node.run(this.#events);
    const isOver = () => this.#node.isDone && !this.#isDisturbed && this.#operator.isDone;
    await this.world.until(isOver, PATIENCE, 'the last 200');
  }

  /** All is well from now on: everybody gets what is owed. @returns the log of each hook that is left */
  async calm(): Promise<Map<Hook, Log>> {
    this.server.disk.calm();
    this.#receivers.calm();
    return this.world.outcome(
      this.#operator.settle().then(() => this.#operator.logs()),
      PATIENCE,
      'rest',
    );
  }

  async stop(): Promise<void> {
    await this.world.until(() => this.server.isUp, PATIENCE, 'its start');
    await this.world.outcome(this.server.stop(), PATIENCE, 'the end');
    await this.world.until(() => this.server.isSettled, PATIENCE, 'the end of those that crashed');
  }

  holdLaws(logs: Map<Hook, Log>): void {
    const { arrived } = this.#receivers;
    const { path } = this.server.disk;
    holdsTheWinningChain(path, this.#events);
    journalIsOrdered(path, this.#events);
    filesAreClean(path);
    idsNameBodies(arrived);
    for (const hook of this.#operator.hooks) {
      const own = arrived.filter(({ hook: uuid }) => uuid === hook.uuid);
      const taken = inOrder(own);
      const log = logs.get(hook);
      if (log === undefined) continue;
      toldTheWinningChain(hook, taken, this.#events);
      leavesNoOrphans(hook, own, this.#events);
      logAgrees(hook, log, taken, { mayForget: this.world.age > LOG_RETENTION_MS });
    }
  }

  async #disturb(): Promise<void> {
    for (const one of this.#disturbances) {
      await this.world.pause(one.after);
      this.world.note(JSON.stringify(one));
      this.#befall(one);
    }
    this.#isDisturbed = false;
  }

  #at(moment: Moment, befall: () => void): void {
    if (moment === 'now') befall();
    else this.#node.atNextBlock(befall);
  }

  #befall(one: Disturbance): void {
    const { disk } = this.server;
    switch (one.befalls) {
      case 'restart':
        void this.server.restart();
        break;
      case 'crash':
        this.#at(one.at, () => this.server.stopAfter(one.calls, one.kept));
        break;
      case 'crash_at_delivery':
        this.#receivers.atNext(() => this.server.crash(one.kept));
        break;
      case 'failed_commit':
        this.#at(one.at, () => this.server.disk.failCommit(faults[one.fault]!));
        break;
      case 'fault':
        this.#at(one.at, () => this.server.disk.failAfter(one.calls, faults[one.fault]!));
        break;
      case 'full_disk':
        disk.fill(true);
        this.world.after(one.milliseconds, () => disk.recover());
        break;
      case 'mood':
        this.#receivers.setMood(`/${one.path}`, one.mood);
        break;
      case 'operation':
        this.#operator.do(one.operation);
        break;
    }
  }
}

/** @returns what happened, in order @throws where a law doesn't hold */
export async function run(one: Case): Promise<string[]> {
  const made = new Run(one);
  try {
    await made.disturbed();
    const logs = await made.calm();
    await made.stop();
    made.holdLaws(logs);
    return made.world.trace;
  } finally {
    made.server.disk.remove();
  }
}
