/** A host in a simulated world: its process may end at any call or await, its disk may fail, its log may be unavailable. */

import type { OperatorError } from '../../src/base/errors.ts';
import { unavailable } from '../../src/base/system-errors.ts';
import type { ClusterEvent } from '../../src/cluster/events.ts';
import { ClusterHost } from '../../src/cluster/host.ts';
import { deliveryLease } from '../../src/cluster/lease-keeper.ts';
import { LogUnavailableError } from '../../src/cluster/shared-log.ts';
import type { Prng } from '../../src/devnet/prng.ts';
import { type HookCommands, type HookMachine, openWithHooks } from '../../src/hooks/machine.ts';
import { HookProblem } from '../../src/hooks/problem.ts';
import { type Chainhooks, startChainhooks } from '../../src/hooks/service.ts';
import { commandsOf } from '../../src/store/ingest/commands.ts';
import type { ReceivedEvent } from '../../src/store/ingest/event.ts';
import type { FaucetCommands } from '../../src/store/ingest/faucet-requests.ts';
import type { Ingest } from '../../src/store/ingest/ingest.ts';
import { UnknownParentError } from '../../src/store/ingest/known-blocks.ts';
import { Disk } from '../simulation/disk.ts';
import type { Receivers } from '../simulation/receivers.ts';
import type { World } from '../simulation/world.ts';
import { type MemoryLog, type Way, whileAlive } from '../support/data/memory-log.ts';
import { sealing } from '../support/data/sealing.ts';
import { sendSome } from './commands.ts';
import { askSome, enableAll, rules } from './delivering.ts';

/** Milliseconds until somebody starts a host again that ended. */
const RESTART_MS = 300;

interface Life {
  ingest: Ingest;
  machine: HookMachine;
  host: ClusterHost;
  /** Null if nothing is delivered. */
  hooks: Chainhooks | null;
  /** Nothing that it does from now on reaches anybody. */
  ended: boolean;
}

/** Answer to a node's event; `none` if the connection was cut. */
export type Answer = 'accepted' | 'later' | 'none';

export class SimulatedHost {
  disk: Disk;
  #life: Life | null = null;
  #remains = 0;
  /** How often it appended several entries together. */
  groups = 0;
  readonly logged: ClusterEvent['event'][] = [];

  constructor(
    readonly name: string,
    readonly world: World,
    readonly log: MemoryLog,
    readonly way: Way,
    /** The receiver of deliveries; null if nothing is delivered. */
    readonly receivers: Receivers | null,
  ) {
    this.disk = new Disk(world);
  }

  get isUp(): boolean {
    return this.#life !== null;
  }
  get isCleanedUp(): boolean {
    return this.#remains === 0;
  }
  get state() {
    return this.#life?.host.state() ?? null;
  }
  /** The tables of its hooks; null while it is down. */
  get store() {
    return this.#life?.ingest.hooks ?? null;
  }

  start(): void {
    if (this.#life !== null) return;
    const { world, disk } = this;
    world.note(`${this.name} starts`);
    const life: Partial<Life> & { ended: boolean } = { ended: false };
    try {
      const { connect } = disk;
      const { ingest, machine } = openWithHooks({
        directory: disk.path,
        chainId: null,
        log: () => {},
        connect,
        views: false,
        random: world.random,
      });
      life.ingest = ingest;
      life.machine = machine;
    } catch (error) {
      if (unavailable(error) === null) throw error;
      world.note(`${this.name} could not start`);
      this.#startSoon();
      return;
    }
    const { ingest } = life;
    life.host = new ClusterHost({
      log: whileAlive(this.log.client(this.way), () => !life.ended),
      entries: ingest.entries,
      queue: ingest.queue,
      chainId: ingest.chainId,
      clock: world.clock,
      say: ({ event, ...rest }) => {
        this.logged.push(event);
        if (!life.ended) world.note(`${this.name} ${event} ${JSON.stringify(rest)}`);
      },
      metrics: {
        appended: (_, entries) => {
          if (entries > 1) this.groups += 1;
        },
      },
      random: world.random,
      failed: (error: OperatorError) => {
        if (!life.ended) world.wrong(`${this.name} ended`, error);
      },
    });
    life.hooks = this.receivers === null ? null : this.#deliver(life as Life, this.receivers);
    life.host.start();
    this.#life = life as Life;
  }

  #deliver(life: Life, receivers: Receivers): Chainhooks {
    const { world, name } = this;
    const { clock, random } = world;
    const { ingest, host, machine } = life;
    const leases = this.log.leases.client(this.way, () => !life.ended);
    const note = ({ event, ...rest }: ClusterEvent) => {
      if (!life.ended) world.note(`${name} ${event} ${JSON.stringify(rest)}`);
    };
    return startChainhooks({
      ingest,
      machine,
      commander: host.commander,
      rules,
      clock,
      random,
      sealing,
      userAgent: 'a test',
      lease: deliveryLease({ leases, host, name, ingest, clock, random, say: note }),
      guard: { check: async (url) => ({ url: new URL(url), addresses: [] }) },
      send: (options) => (life.ended ? Promise.reject(new Error('nobody sends')) : receivers.answer(options)),
      log: (event) => {
        if (life.ended) return;
        world.note(`${name} ${event.event}`);
        const isExpected = event.event !== 'unexpected_error' || unavailable(event.cause) !== null;
        if (!isExpected) world.wrong(`${name} logged ${event.event}`, event.cause);
      },
    });
  }

  /** Posts an event as a node does. */
  async post(event: ReceivedEvent): Promise<Answer> {
    const life = this.#life;
    if (life === null) return 'none';
    try {
      const outcome = await life.host.receive(event);
      if (!life.ended) this.world.note(`${this.name} ${event.path} ${outcome}`);
      return life.ended ? 'none' : 'accepted';
    } catch (error) {
      const isExpected =
        error instanceof LogUnavailableError || error instanceof UnknownParentError || unavailable(error) !== null;
      if (!isExpected && !life.ended) this.world.wrong(`${this.name} refused an event`, error);
      return life.ended ? 'none' : 'later';
    }
  }

  /** Sends commands that chance draws. */
  command(prng: Prng): Promise<boolean> {
    const { world } = this;
    return this.#ask(({ host, ingest }) => {
      const [hooks, faucets] = [commandsOf<HookCommands>(host.commander), commandsOf<FaucetCommands>(host.commander)];
      const tools = { world, prng, hooks, store: ingest.hooks, tip: ingest.history.tip().height };
      return this.receivers === null ? sendSome({ ...tools, faucets }) : askSome(tools);
    });
  }

  /** Enables all hooks. @returns whether they are */
  enableAll(): Promise<boolean> {
    return this.#ask(({ host, ingest }) => enableAll(commandsOf<HookCommands>(host.commander), ingest.hooks));
  }

  /** @returns whether the host accepted the request */
  async #ask(action: (life: Life) => Promise<void>): Promise<boolean> {
    const life = this.#life;
    if (life === null) return false;
    try {
      await action(life);
      return !life.ended;
    } catch (error) {
      const isExpected =
        error instanceof LogUnavailableError || error instanceof HookProblem || unavailable(error) !== null;
      if (!isExpected && !life.ended) this.world.wrong(`${this.name} refused a command`, error);
      return false;
    }
  }

  /** Stops it as a signal does. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (life === null) return;
    this.#life = null;
    this.world.note(`${this.name} stops`);
    await this.#close(life);
    life.ended = true;
  }

  async restart(): Promise<void> {
    if (this.#life === null) return;
    const { disk } = this;
    this.#remains += 1;
    await this.stop();
    this.#remains -= 1;
    if (disk === this.disk) this.#startSoon();
    else disk.remove();
  }

  /** Ends the process at once. @param kept the unsynced writes that survive, as in {@link Disk.image} */
  crash(kept: number): void {
    const life = this.#life;
    if (life === null) return;
    this.world.note(`${this.name} crashes, ${kept} kept`);
    const old = this.disk;
    this.disk = old.image(kept);
    life.ended = true;
    this.#life = null;
    this.#remains += 1;
    // Not at once: it may be in the middle of a transaction.
    this.world.after(1, () => {
      old.calm();
      void this.#close(life).then(() => {
        old.remove();
        this.#remains -= 1;
      });
    });
    this.#startSoon();
  }

  #startSoon(): void {
    this.world.after(RESTART_MS, () => this.start());
  }

  async #close({ host, ingest, hooks }: Life): Promise<void> {
    await hooks?.stop();
    await host.stop();
    await ingest.queue.run(ingest.close);
  }
}
