/** The server under test: `serve` itself, in a world that may end its process, its power or its connections. */

import { Database } from 'bun:sqlite';
import { rmSync, writeFileSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { LossyOutput } from '../../src/base/lossy-output.ts';
import type { Environment } from '../../src/commands/serve/environment.ts';

// Loaded by the server when the first client comes: by then it is there in every run, so that all take the same turns.
import '../../src/live/socket-io.ts';
import { unavailable } from '../../src/base/system-errors.ts';
import { startServing } from '../../src/commands/serve/serve.ts';
import type { ServerInfo } from '../../src/commands/terminal/presenter.ts';
import type { Prng } from '../../src/devnet/prng.ts';
import { secretsKeyFile } from '../../src/hooks/delivery/sealing.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import type { HttpListenerOptions, Listen } from '../../src/http/listener.ts';
import type { LogEvent } from '../../src/log.ts';
import { type NodeRpc, NodeUnreachableError } from '../../src/node/rpc.ts';
import { readSettings } from '../../src/settings/config.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { RebuildOptions } from '../../src/store/ingest/rebuild.ts';
import { LossyWay } from '../cluster/lossy-way.ts';
import { MemoryLog, whileAlive } from '../support/data/memory-log.ts';
import { openedLog } from '../support/data/opened-log.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { Archive, LOCATION } from './archive.ts';
import { Disk } from './disk.ts';
import { LogFile } from './log-file.ts';
import type { Receivers } from './receivers.ts';
import { SimulatedSocket, type SocketClient } from './simulated-socket.ts';
import { slowReads } from './slow-reads.ts';
import type { World } from './world.ts';

/** Milliseconds until somebody starts a server again that ended. */
const RESTART_MS = 500;

/** Retention of delivery bodies, in milliseconds: less than the settings allow. The log is kept four times as long. */
const RETENTION_MS = 60_000;
export const LOG_RETENTION_MS = 4 * RETENTION_MS;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Milliseconds between two bases of the archive, and until one is removed. */
const BASE_MS = 3_000;
const BASE_KEEP_MS = 12_000;

const BOOT = 'ST000000000000000000002AMW42H';
/** Value indexes that successive starts request: none, then some, then others. */
const indexed = [
  { logIndex: '', callIndex: '' },
  { logIndex: `${BOOT}.bns ${BOOT}.pox-4`, callIndex: `${BOOT}.bns` },
  { logIndex: `${BOOT}.bns:attachment ${BOOT}.pox-4`, callIndex: `${BOOT}.pox-4:stack-stx` },
];

/** @param starts how often it was started before */
const settingsOf = (data: string, { shared = false, archived = false }: ServerSettings, starts: number) => ({
  ...readSettings(
    {
      data,
      ...(archived ? { archive: LOCATION } : {}),
      ...(shared ? { cluster: 'postgres://127.0.0.1/log' } : {}),
      ...indexed[starts % indexed.length],
      logLevel: 'silent',
      // The node of the simulation answers no reads of contracts.
      tokenMetadata: 'off',
      hookAccess: 'open',
      hookTargets: '10.0.0.0/8',
      hookBudget: '0.005',
    },
    {},
  ),
  hookRetention: RETENTION_MS / DAY_MS,
  ...(archived ? { archiveBase: BASE_MS / HOUR_MS, archiveKeep: BASE_KEEP_MS / DAY_MS } : {}),
});

/** A key of signing secrets that no server made. */
const OTHER_KEY = 'f'.repeat(64);

type Listener = 'The API' | 'The event receiver';

export interface ServerSettings {
  /** Bytes above which it empties a write-ahead log. */
  walLimitBytes: number;
  /** Whether the server is a cluster host, whose shared log is only sometimes reachable. */
  shared?: boolean;
  /** Whether it archives its log. */
  archived?: boolean;
}

/** A process, from its start to its end. */
interface Life {
  running: ServerInfo | null;
  /** Listener options by listener name: `The API`, `The event receiver`. */
  listeners: Map<Listener, HttpListenerOptions<unknown>>;
  sockets: Set<SimulatedSocket>;
  /** Number of snapshots that the server reads from. */
  snapshots: number;
  /** Requests that are not answered yet. */
  pending: number;
  /** Nothing that it does from now on is seen by anybody. */
  ended: boolean;
}

/** Error for a request without an answer: the connection was cut, or nobody listened. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

function requestFor(path: string, { headers, ...init }: RequestInit): Request {
  const defaults = { 'content-type': 'application/json', host: '127.0.0.1:3999' };
  return new Request(`http://127.0.0.1:3999${path}`, { ...init, headers: { ...defaults, ...(headers as object) } });
}

/** Fails every request to the node: a request to a real address would take real time, which no seed controls. */
const noAnswer = (): Promise<never> => Promise.reject(new NodeUnreachableError('the node does not answer'));
const silentNode: NodeRpc = { location: 'http://node', request: noAnswer, json: noAnswer, info: noAnswer };

/** Log events of unexpected failures. */
const unexpected = new Set<LogEvent['event']>([
  'crashed',
  'event_failed',
  'unexpected_error',
  'hook_backfill_failed',
  'hook_cursor_lost',
]);

export class Server {
  readonly #world: World;
  readonly #receivers: Receivers;
  readonly #settings: ServerSettings;
  readonly #log: MemoryLog;
  #disk: Disk;
  #life: Life | null = null;
  /** The files of a process that is stopping. */
  #stopping: Disk | null = null;
  /** Number of ended processes that haven't closed their files yet. */
  #remains = 0;
  /** How often it was started. */
  #starts = 0;
  /** The log of each process. */
  readonly #logs: LogFile[] = [];
  #isCalm = false;
  /** Whether a process replaced its index with a new one. */
  startedAnew = false;
  /** How often it ended, however. */
  ends = 0;
  /** How it reaches the log that it shares. */
  readonly way: LossyWay;
  readonly archive: Archive;

  constructor(world: World, receivers: Receivers, settings: ServerSettings) {
    this.#world = world;
    this.#receivers = receivers;
    this.#settings = settings;
    this.#disk = new Disk(world);
    this.#log = new MemoryLog(() => world.time);
    this.way = new LossyWay(world, 'the server', 8);
    this.archive = new Archive(world);
  }

  get disk(): Disk {
    return this.#disk;
  }

  /** From now on nothing fails of its files and of its way to the log that it shares. */
  calm(): void {
    this.#isCalm = true;
    this.#disk.calm();
    this.way.calm();
    this.archive.calm();
    for (const log of this.#logs) log.calm();
  }

  /** The log of each process that there was holds its laws. */
  logsHoldTheirLaws(): void {
    for (const log of this.#logs) log.holdsItsLaws();
  }

  get isUp(): boolean {
    return this.#life?.running != null;
  }

  /** Nothing is left to be put away. */
  get isCleanedUp(): boolean {
    return this.#remains === 0;
  }

  /** Starts the server, and retries later if the disk fails. @throws unexpected errors */
  async start(): Promise<void> {
    if (this.#life !== null) return;
    const life: Life = {
      running: null,
      listeners: new Map(),
      sockets: new Set(),
      snapshots: 0,
      pending: 0,
      ended: false,
    };
    const disk = this.#disk;
    this.#life = life;
    this.#world.note('start');
    try {
      const settings = settingsOf(disk.path, this.#settings, this.#starts++);
      life.running = await startServing(settings, this.#environment(life));
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
  restart(): Promise<void> {
    return this.#pauseFor('restart', () => {});
  }

  /** Stops it, changes the key of signing secrets, and starts it again. */
  changeKey(key: 'gone' | 'other' | 'damaged'): Promise<void> {
    return this.#pauseFor(`key ${key}`, ({ path }) => {
      const file = secretsKeyFile(path);
      if (key === 'gone') rmSync(file, { force: true });
      else writeFileSync(file, key === 'other' ? OTHER_KEY : 'short', { mode: 0o600 });
    });
  }

  /** Stops the server for a while. @param work runs on its files during the pause */
  async #pauseFor(reason: string, work: (disk: Disk) => void): Promise<void> {
    const [life, disk] = [this.#life, this.#disk];
    if (life?.running == null) return;
    this.#world.note(reason);
    this.#end();
    this.#remains += 1;
    this.#stopping = disk;
    await life.running.stop();
    // A process that has ended reads nothing.
    while (life.snapshots > 0) await this.#world.pause(1);
    work(disk);
    this.#remains -= 1;
    this.#stopping = null;
    // The process may have ended for another reason.
    if (disk === this.#disk) this.#startSoon();
    else disk.remove();
  }

  /** Stops the server, rebuilds its index, and starts it again. If something fails, either the old or the new index is there. */
  async rebuild(): Promise<void> {
    await this.#pauseFor('rebuild', (disk) => this.#makeAnew(disk));
  }

  /** Rebuilds the index in another process while this one serves. The server switches to it at its next check. */
  async rebuildBeside(): Promise<void> {
    if (this.isUp) this.#makeAnew(this.#disk, { beside: true, free: () => null });
  }

  #makeAnew({ connect, path: directory }: Disk, options: Partial<RebuildOptions> = {}): void {
    const settings = { directory, chainId: null, force: false, log: () => {}, connect, machine: silentMachine };
    try {
      rebuildIndex({ ...settings, ...options });
      this.#world.note('rebuilt');
    } catch (error) {
      if (unavailable(error) === null) throw error;
      this.#world.note('rebuild failed');
    }
  }

  /**
   * Ends the server's process at once, between two SQLite calls, then starts it again.
   * @param calls how many calls from now
   * @param share part of the unsynced data that survives, as in {@link Disk.image}
   */
  stopAfter(calls: number, share: number): void {
    const disk = this.#disk;
    this.#disk.stopAfter(calls, () => {
      // The server may have restarted: end only the same process.
      if (disk === this.#disk) this.crash(share);
    });
  }

  /** Stops it for good. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (life?.running == null) throw new Error('it does not run');
    this.#life = null;
    for (const socket of life.sockets) socket.abandon();
    await life.running.stop();
    life.ended = true;
  }

  /** @throws NoAnswer */
  async request(to: Listener, path: string, init: RequestInit): Promise<Response> {
    const life = this.#life;
    const listener = life?.listeners.get(to);
    if (life?.running == null || listener === undefined) throw new NoAnswer('nobody listens');
    life.pending += 1;
    try {
      const response = await listener.fetch(requestFor(path, init), {} as Bun.Server<unknown>);
      if (life.ended || response === undefined) throw new NoAnswer('the connection was cut');
      const sent = response.body === null ? null : await response.arrayBuffer();
      if (life.ended) throw new NoAnswer('the connection was cut');
      return new Response(sent, response);
    } finally {
      life.pending -= 1;
    }
  }

  /** Opens a WebSocket to the API. @throws NoAnswer */
  async connect(path: string, client: SocketClient, prng: Prng): Promise<SimulatedSocket> {
    const life = this.#life;
    const listener = life?.listeners.get('The API');
    if (life?.running == null || listener?.websocket === undefined) throw new NoAnswer('nobody listens');
    const { websocket: handlers, routes = {} } = listener;
    const request = requestFor(path, { headers: { upgrade: 'websocket' } });
    const upgraded: SimulatedSocket[] = [];
    const upgrade = (_: Request, { data }: { data: unknown }): boolean =>
      upgraded.push(new SimulatedSocket({ world: this.#world, prng, client, handlers, data })) > 0;
    await routes[new URL(request.url).pathname]?.(request, { upgrade } as Bun.Server<unknown>);
    const [socket] = upgraded;
    if (socket === undefined) throw new Error(`${path} isn't the address of a WebSocket`);
    if (life.ended) socket.abandon();
    life.sockets.add(socket);
    return socket;
  }

  /** Returns the number of blocks in the index, on the chain or not. */
  blocksAccepted(): number {
    using db = new Database(indexPath(this.#disk.path), { readonly: true });
    return db.query<{ n: number }, []>('SELECT count(*) AS n FROM block_payloads').get()?.n ?? 0;
  }

  /** Reports whether the index knows its chain, which an archive records first. Block 0 doesn't identify the chain. */
  knowsChain(): boolean {
    using db = new Database(indexPath(this.#disk.path), { readonly: true });
    return db.query('SELECT 1 FROM progress WHERE chain_id IS NOT NULL').get() !== null;
  }

  /** Ends the process at once. @param share as {@link Disk.image} has it */
  crash(share: number): void {
    if (this.#life === null && this.#stopping !== this.#disk) return;
    this.#world.note(`crash, ${share} kept`);
    const [running, old] = [this.#life?.running, this.#disk];
    this.#disk = old.image(share);
    old.recover();
    this.#end();
    if (running != null) this.#putAway(running, old);
    this.#startSoon();
  }

  /**
   * Loses the machine with its disk. Another machine gets the address, and the world waits until that machine has its data.
   * @param restore makes the data of the new directory, and may look at the one that is lost
   */
  async lose(restore: (directory: string, lost: string) => Promise<void>): Promise<void> {
    if (this.#life === null && this.#stopping !== this.#disk) return;
    this.#world.note('lost');
    const [running, old] = [this.#life?.running, this.#disk];
    this.#disk = new Disk(this.#world);
    if (this.#isCalm) this.#disk.calm();
    old.recover();
    this.#end();
    await restore(this.#disk.path, old.path);
    if (running != null) this.#putAway(running, old);
    this.#startSoon();
  }

  #end(): void {
    this.ends += 1;
    if (this.#life !== null) {
      this.#life.ended = true;
      for (const socket of this.#life.sockets) socket.abandon();
    }
    this.#life = null;
  }

  #startSoon(): void {
    this.#world.after(RESTART_MS, () => this.start());
  }

  /** Lets an ended process continue on files that nobody reads, until it has closed them. */
  #putAway(running: ServerInfo, disk: Disk): void {
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
    const { clock, random } = this.#world;
    const disk = this.#disk;
    const file = new LogFile(this.#world.prng(`log ${this.#starts}`), () => disk.isFull);
    if (this.#isCalm) file.calm();
    this.#logs.push(file);
    const listen = ((options: HttpListenerOptions<unknown>) => {
      life.listeners.set(options.what as Listener, options);
      return {
        url: new URL(`http://127.0.0.1:${options.what === 'The API' ? 3999 : 3700}`),
        get pendingRequests() {
          return life.pending;
        },
        requestIP: () => null,
        async stop() {
          life.listeners.delete(options.what as Listener);
        },
      } as unknown as Bun.Server<unknown>;
    }) as Listen;
    return {
      // The world's time stops while a server starts, so waits for a turn end at once.
      clock: { ...clock, turn: () => (life.running === null ? systemClock.turn() : clock.turn()) },
      random,
      cores: 1,
      connect: this.#disk.connect,
      walLimitBytes: this.#settings.walLimitBytes,
      threadLines: null,
      openSnapshots: slowReads(this.#world, {
        isSlow: () => life.running !== null,
        isOver: () => life.ended,
        inUse: (change) => {
          life.snapshots += change;
        },
      }),
      listen,
      // The Socket.IO library waits by the machine's clock, and its pings reach no client.
      clientLimits: { pingIntervalMs: 1_000, pingTimeoutMs: 3_600_000 },
      deliveryRules: { timeoutMs: 3_000, retryCapMs: 2_000, concurrency: 3 },
      nodeRpc: () => silentNode,
      openLog: async () => {
        const isAlive = () => !life.ended;
        return openedLog(whileAlive(this.#log.client(this.way), isAlive), this.#log.leases.client(this.way, isAlive));
      },
      send: (options) => (life.ended ? Promise.reject(new Error('nobody sends')) : this.#receivers.answer(options)),
      clarityEngine: () => {
        throw new Error('no chain has contracts of a project');
      },
      startOwnProcess: () => {
        throw new Error('nobody inspects');
      },
      archiveSeconds: 1,
      archiveWorker: ({ directory }) => this.archive.worker(directory, () => !life.ended),
      outputs: { stdout: new LossyOutput({ write: ({ length }) => length, wait: () => {} }), stderr: file.output },
      createLog: () => (event) => {
        if (life.ended) return;
        file.log(event);
        this.#world.note(event.event);
        if (event.event === 'new_index' && event.outcome === 'ready') this.startedAnew = true;
        if (!unexpected.has(event.event)) return;
        const cause = 'cause' in event ? event.cause : event;
        if (unavailable(cause) === null) this.#world.wrong(`the server logged ${event.event}`, cause);
      },
    };
  }
}
