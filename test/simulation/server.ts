/** The server under test: `serve` as it is, in a world that may take away its process, its power or its connections. */
import type { Environment } from '../../src/commands/environment.ts';
import { type Running, startServing } from '../../src/commands/serve.ts';
import type { HttpListenerOptions, Listen } from '../../src/http/listener.ts';
import type { LogEvent } from '../../src/log.ts';
import { readSettings } from '../../src/settings/config.ts';
import { unavailable } from '../../src/store/files/store-failure.ts';
import { Disk } from './disk.ts';
import type { Receivers } from './receivers.ts';
import type { World } from './world.ts';

/** Milliseconds until somebody starts a server again that ended. */
const RESTART_MS = 500;

/** Milliseconds that bodies of deliveries are kept: less than a setting may say. The log is kept four times as long. */
const RETENTION_MS = 60_000;
export const LOG_RETENTION_MS = 4 * RETENTION_MS;
const DAY_MS = 86_400_000;

const settingsOf = (data: string, journal: boolean) => ({
  ...readSettings(
    {
      data,
      journal,
      logLevel: 'silent',
      hookAccess: 'open',
      hookTargets: '10.0.0.0/8',
      hookTimeout: '3',
      hookRetryCap: '2',
      hookBudget: '0.005',
      hookConcurrency: '3',
    },
    {},
  ),
  hookRetention: RETENTION_MS / DAY_MS,
});

type Handler = HttpListenerOptions<unknown>['fetch'];

/** A process, from its start to its end. */
interface Life {
  running: Running | null;
  /** By what listens: `The API`, `The event receiver`. */
  handlers: Map<string, Handler>;
  /** Nothing that it does from now on is seen by anybody. */
  ended: boolean;
}

/** What was asked and got no answer: the connection was cut, or nobody listened. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** What a server says when something failed that it did not expect. */
const unexpected = new Set<LogEvent['event']>([
  'crashed',
  'event_failed',
  'request_failed',
  'hook_task_failed',
  'hook_payload_failed',
  'hook_backfill_failed',
  'hook_cursor_lost',
  'push_failed',
]);

export class Server {
  readonly #world: World;
  readonly #receivers: Receivers;
  readonly #journal: boolean;
  #disk: Disk;
  #life: Life | null = null;
  /** The files of a process that was told to stop and has not yet. */
  #stopping: Disk | null = null;
  /** Processes that ended and have not put away yet what they had. */
  #remains = 0;
  /** How often it ended, however. */
  ends = 0;

  constructor(world: World, receivers: Receivers, journal: boolean) {
    this.#world = world;
    this.#receivers = receivers;
    this.#journal = journal;
    this.#disk = new Disk(world);
  }

  get disk(): Disk {
    return this.#disk;
  }

  get isUp(): boolean {
    return this.#life?.running != null;
  }

  /** Nothing is left to be put away. */
  get isSettled(): boolean {
    return this.#remains === 0;
  }

  /** Starts it, and again later where the disk doesn't let it. @throws what it should never throw */
  async start(): Promise<void> {
    if (this.#life !== null) return;
    const life: Life = { running: null, handlers: new Map(), ended: false };
    const disk = this.#disk;
    this.#life = life;
    this.#world.note('start');
    try {
      life.running = await startServing(settingsOf(disk.path, this.#journal), this.#environment(life));
    } catch (error) {
      if (unavailable(error) === null) throw error;
      this.#world.note('start failed');
      if (life.ended) return disk.remove();
      this.#life = null;
      this.#startSoon();
      return;
    }
    if (life.ended) this.#putAway(life.running, disk);
  }

  /** Stops it as a signal does, and starts it again. */
  async restart(): Promise<void> {
    const [life, disk] = [this.#life, this.#disk];
    if (life?.running == null) return;
    this.#world.note('restart');
    this.#end();
    this.#remains += 1;
    this.#stopping = disk;
    await life.running.stop();
    this.#remains -= 1;
    this.#stopping = null;
    // It may have ended otherwise meanwhile.
    if (disk === this.#disk) this.#startSoon();
    else disk.remove();
  }

  /**
   * Its process ends at once, between two calls of SQLite; then somebody starts it again.
   * @param calls how many calls from now
   * @param kept of what the disk was not made to keep, as {@link Disk.image} has it
   */
  stopAfter(calls: number, kept: number): void {
    const disk = this.#disk;
    this.#disk.stopAfter(calls, () => {
      // It may have been restarted meanwhile: what runs now is what ends.
      if (disk === this.#disk) this.crash(kept);
    });
  }

  /** Stops it for good. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (life?.running == null) throw new Error('it does not run');
    this.#life = null;
    await life.running.stop();
    life.ended = true;
  }

  /** @throws NoAnswer */
  async request(to: 'The API' | 'The event receiver', path: string, init: RequestInit): Promise<Response> {
    const life = this.#life;
    const handler = life?.handlers.get(to);
    if (life?.running == null || handler === undefined) throw new NoAnswer('nobody listens');
    const headers = { 'content-type': 'application/json', host: '127.0.0.1:3999' };
    const request = new Request(`http://127.0.0.1:3999${path}`, { headers, ...init });
    const response = await handler(request, {} as Bun.Server<unknown>);
    if (life.ended || response === undefined) throw new NoAnswer('the connection was cut');
    return response;
  }

  /** Its process ends at once. @param kept as {@link Disk.image} has it */
  crash(kept: number): void {
    if (this.#life === null && this.#stopping !== this.#disk) return;
    this.#world.note(`crash, ${kept} kept`);
    const [running, old] = [this.#life?.running, this.#disk];
    this.#disk = old.image(kept);
    old.recover();
    this.#end();
    if (running != null) this.#putAway(running, old);
    this.#startSoon();
  }

  #end(): void {
    this.ends += 1;
    if (this.#life !== null) this.#life.ended = true;
    this.#life = null;
  }

  #startSoon(): void {
    this.#world.after(RESTART_MS, () => this.start());
  }

  /** A process that is gone goes on in files that nobody looks at, until it has closed them. */
  #putAway(running: Running, disk: Disk): void {
    this.#remains += 1;
    // Not at once: it may be in the middle of a transaction.
    this.#world.after(1, () => {
      void running.stop().then(() => {
        disk.remove();
        this.#remains -= 1;
      });
    });
  }

  #environment(life: Life): Environment {
    const { clock, chance } = this.#world;
    const listen = ((options: HttpListenerOptions<unknown>) => {
      life.handlers.set(options.what, options.fetch);
      return {
        url: new URL('http://127.0.0.1:3999'),
        pendingRequests: 0,
        requestIP: () => null,
        stop: async () => {},
      } as unknown as Bun.Server<unknown>;
    }) as Listen;
    return {
      clock,
      chance,
      connect: this.#disk.connect,
      sync: this.#disk.sync,
      listen,
      post: (options) => (life.ended ? Promise.reject(new Error('nobody sends')) : this.#receivers.take(options)),
      createLog: () => (event) => {
        if (life.ended) return;
        this.#world.note(event.event);
        if (!unexpected.has(event.event)) return;
        const cause = 'cause' in event ? event.cause : event;
        if (unavailable(cause) === null) this.#world.wrong(`the server said ${event.event}`, cause);
      },
    };
  }
}
