/** Realtime clients: they connect, subscribe, receive, disconnect in several ways, and connect again. */
import type { Prng } from '../../src/devnet/prng.ts';
import { type Body, protocols } from './protocols.ts';
import { pushedBlock } from './push-laws.ts';
import { NoAnswer, type Server } from './server.ts';
import { CUT, type SimulatedSocket, type SocketClient } from './simulated-socket.ts';
import type { World } from './world.ts';

/** `slow` reads little at a time, `silent` doesn't answer pings, `restless` disconnects, or its network does. */
export type Manner = 'steady' | 'slow' | 'silent' | 'restless';

export interface ClientPlan {
  /** Milliseconds until the client connects. */
  after: number;
  protocol: keyof typeof protocols;
  manner: Manner;
  /** Index of the client's account in the list of addresses. */
  account: number;
}

/** Messages that a client received from one subscription until the connection ended. */
export interface Session {
  /** Number of accepted blocks when the client's subscription was confirmed; null before. */
  since: number | null;
  /** Result of {@link pushedBlock} for each block, in the order of arrival. */
  blocks: string[];
  /** Whether the connection is still open. */
  open: boolean;
}

/** Milliseconds. */
const RETRY = 300;
const SLOW_PACE = 150;
const STAYS = 3_000;
/** Characters that may wait for a slow client: in the world, its messages are long. */
const SLOW_ROOM = 6_000;
/** Per cent of pushed resources that are read at once. */
const ASKED = 30;

/** The last pushed block: pushes about addresses belong to it. */
interface LastBlock {
  hash: string;
  transactions: Set<string>;
}

class Client implements SocketClient {
  readonly sessions: Session[] = [];
  calm = false;
  readonly #plan: ClientPlan;
  readonly #world: World;
  readonly #server: Server;
  readonly #prng: Prng;
  readonly #topics: readonly string[];
  #socket: SimulatedSocket | null = null;
  #session: Session = { since: null, blocks: [], open: false };
  #lastBlock: LastBlock | null = null;
  /** Whether the client or the network ended the connection. */
  #expected = false;

  constructor(plan: ClientPlan, world: World, server: Server, { name, address }: { name: string; address: string }) {
    this.#plan = plan;
    this.#world = world;
    this.#server = server;
    this.#prng = world.prng(name);
    this.#topics = ['block', 'mempool', `address-transaction:${address}`];
  }

  get pace(): number {
    return this.#isNow('slow') ? SLOW_PACE : 0;
  }
  get room(): number {
    return this.#isNow('slow') ? SLOW_ROOM : Number.POSITIVE_INFINITY;
  }
  get answers(): boolean {
    return !this.#isNow('silent');
  }
  /** Whether the client is subscribed and no message to it is in flight. */
  get isAtRest(): boolean {
    return this.#session.open && this.#session.since !== null && this.#socket?.isDrained === true;
  }

  #isNow(manner: Manner): boolean {
    return !this.calm && this.#plan.manner === manner;
  }

  async connect(): Promise<void> {
    const { path, greeting } = protocols[this.#plan.protocol];
    this.#session = { since: null, blocks: [], open: true };
    this.#lastBlock = null;
    this.#expected = false;
    try {
      this.#socket = await this.#server.connect(path, this, this.#prng);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      this.#world.after(RETRY, () => this.connect());
      return;
    }
    this.sessions.push(this.#session);
    for (const text of greeting(this.#topics)) this.#socket.send(text);
    if (this.#isNow('restless')) this.#world.after(this.#prng.below(STAYS), () => this.#leave());
  }

  #leave(): void {
    if (this.calm) return;
    this.#expected = true;
    if (this.#prng.chance(0.5)) this.#socket?.close();
    else this.#socket?.cut();
  }

  closed(code: number): void {
    this.#session.open = false;
    // The server must not cut off a client that answers and reads.
    const isServers = !this.#expected && this.#socket?.isAbandoned === false;
    // A server that restarts closes every connection.
    const isLeave = code !== CUT && this.#server.startedAnew;
    if (isServers && !isLeave && (code !== CUT || this.#plan.manner === 'steady')) {
      this.#world.wrong(`a ${this.#plan.manner} client was cut off with ${code}`);
    }
    this.#world.after(this.#prng.below(RETRY), () => this.connect());
  }

  received(text: string): void {
    const heard = protocols[this.#plan.protocol].read(text, this.#topics);
    switch (heard?.heard) {
      case 'subscribed':
        this.#session.since = this.#server.blocksAccepted();
        break;
      case 'asked':
        this.#socket?.send(heard.answer);
        break;
      case 'push':
        this.#pushed(heard.topic, heard.body);
        break;
    }
  }

  #pushed(topic: string, body: Body): void {
    this.#world.note(`pushed ${topic} ${body.index_block_hash ?? body.tx_id ?? body.tx.tx_id}`);
    if (topic === 'block') {
      this.#session.blocks.push(pushedBlock(body.index_block_hash, body.canonical));
      this.#lastBlock = { hash: body.hash, transactions: new Set() };
      this.#canBeRead(`/extended/v1/block/${body.hash}`);
    } else if (topic === 'mempool') this.#canBeRead(`/extended/v1/tx/${body.tx_id}`);
    else this.#ofAddress(body.tx);
  }

  #ofAddress({ tx_id, block_hash }: Body): void {
    // The client may have subscribed while the block was pushed.
    const last = this.#lastBlock;
    if (last !== null) {
      if (last.hash !== block_hash) this.#world.wrong(`${tx_id} was pushed outside of its block`);
      if (last.transactions.has(tx_id)) this.#world.wrong(`${tx_id} was pushed twice`);
      last.transactions.add(tx_id);
    }
    this.#canBeRead(`/extended/v1/tx/${tx_id}`);
  }

  #canBeRead(path: string): void {
    if (this.#prng.below(100) >= ASKED) return;
    this.#server.request('The API', path, { method: 'GET' }).then(
      ({ status }) => {
        if (status !== 200) this.#world.wrong(`${path} was pushed, and is answered with ${status}`);
      },
      (error) => {
        if (!(error instanceof NoAnswer)) this.#world.wrong(`${path} could not be requested`, error);
      },
    );
  }
}

export class Clients {
  readonly #all: Client[];

  /** @param addresses of the chain */
  constructor(world: World, server: Server, plans: readonly ClientPlan[], addresses: readonly string[]) {
    this.#all = plans.map((plan, number) => {
      const address = addresses[plan.account % addresses.length] ?? '';
      const client = new Client(plan, world, server, { name: `client ${number}`, address });
      world.after(plan.after, () => client.connect());
      return client;
    });
  }

  /** Makes every client stay, read at once and answer pings from now on. */
  calm(): void {
    for (const client of this.#all) client.calm = true;
  }

  get isAtRest(): boolean {
    return this.#all.every(({ isAtRest }) => isAtRest);
  }

  get sessions(): Session[] {
    return this.#all.flatMap(({ sessions }) => sessions);
  }
}
