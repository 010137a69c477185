/** A WebSocket of the simulated network: messages of either end arrive later, in order, until it is closed or cut. */
import type { Prng } from '../../src/devnet/prng.ts';
import type { World } from './world.ts';

/** Close codes of a connection that nobody closed (RFC 6455, 7.4.1), and of one that was closed without a code. */
export const CUT = 1006;
const NO_CODE = 1005;

const OPEN = 1;
const CLOSED = 3;
/** Milliseconds that a message takes at most. */
const DELAY = 30;
/** The ping of Engine.IO (protocol version 4). */
const SOCKET_IO_PING = '2';

/** The client's end. */
export interface SocketClient {
  /** Milliseconds that the client takes for a message. */
  readonly pace: number;
  /** Bytes that may wait for the client. */
  readonly room: number;
  /** Whether the client answers pings. */
  readonly answers: boolean;
  received(text: string): void;
  closed(code: number): void;
}

export interface SocketOptions<Data> {
  world: World;
  prng: Prng;
  client: SocketClient;
  /** The server's handlers of the connection, and its data. */
  handlers: Bun.WebSocketHandler<Data>;
  data: Data;
}

export class SimulatedSocket<Data = unknown> {
  readonly #options: SocketOptions<Data>;
  #open = true;
  /** Messages under way are lost with a connection that is cut. */
  #cut = false;
  /** Whether the server's process runs. */
  #served = true;
  #lastDown = 0;
  #lastUp = 0;
  #waiting = 0;
  readonly #socket: Bun.ServerWebSocket<Data>;

  constructor(options: SocketOptions<Data>) {
    this.#options = options;
    this.#socket = {
      data: options.data,
      readyState: OPEN,
      send: (text: string) => this.#push(text),
      ping: () => this.#ask(),
      close: (code = NO_CODE) => this.#end(code),
      terminate: () => this.cut(),
    } as unknown as Bun.ServerWebSocket<Data>;
    void options.handlers.open?.(this.#socket);
  }

  /** Whether the connection ended with the server's process. */
  get isAbandoned(): boolean {
    return !this.#served;
  }
  /** Whether no message to the client is in flight. */
  get isDrained(): boolean {
    return this.#waiting === 0;
  }

  /** Sends a message from the client. */
  send(text: string): void {
    this.#up(() => this.#options.handlers.message?.(this.#socket, text));
  }

  /** Closes the connection from the client. */
  close(): void {
    this.#end(NO_CODE);
  }

  /** Cuts the connection, as the network or the server does. */
  cut(): void {
    this.#cut = true;
    this.#end(CUT);
  }

  /** Ends the connection with the server's process. */
  abandon(): void {
    this.#served = false;
    this.cut();
  }

  #push(text: string): number {
    const { client, handlers, world } = this.#options;
    if (!this.#open || !this.#served) return 0;
    // The Socket.IO library pings by the machine's clock. A client that hears it takes a turn that no seed controls.
    if (text === SOCKET_IO_PING) return text.length;
    if (this.#waiting + text.length > client.room) {
      if (handlers.closeOnBackpressureLimit === true) this.cut();
      return 0;
    }
    this.#waiting += text.length;
    this.#lastDown = Math.max(this.#lastDown + client.pace, world.time + this.#delay());
    world.after(this.#lastDown - world.time, () => {
      this.#waiting -= text.length;
      if (!this.#cut) client.received(text);
    });
    return text.length;
  }

  #ask(): number {
    if (this.#options.client.answers) this.#up(() => this.#options.handlers.pong?.(this.#socket, Buffer.alloc(0)));
    return 1;
  }

  #up(arrive: () => unknown): void {
    const { world } = this.#options;
    this.#lastUp = Math.max(this.#lastUp, world.time + this.#delay());
    world.after(this.#lastUp - world.time, () => {
      if (this.#open && this.#served) arrive();
    });
  }

  #end(code: number): void {
    if (!this.#open) return;
    this.#open = false;
    const { world, handlers, client } = this.#options;
    (this.#socket as { readyState: number }).readyState = CLOSED;
    world.after(0, () => {
      if (this.#served) handlers.close?.(this.#socket, code, '');
    });
    world.after(Math.max(0, this.#lastDown - world.time), () => client.closed(code));
  }

  #delay(): number {
    return this.#options.prng.below(DELAY);
  }
}
