/** A test plays stacks-node-publisher: it keeps all events, and makes a stream for each client that shakes hands. */
import { RedisClient } from 'bun';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';

/** The handshake fields that a client sends. */
export type Handshake = Readonly<Record<string, string>>;

interface StoredMessage {
  sequence: number;
  event: ReceivedEvent;
}

interface StreamReply {
  [stream: string]: [id: string, fields: string[]][];
}

const offline = { autoReconnect: false, enableOfflineQueue: false } as const;

const indexHashOf = ({ path, text }: ReceivedEvent): string | null =>
  path === '/new_block' ? (JSON.parse(text) as { index_block_hash: string }).index_block_hash : null;

export class SnpBroker {
  /** All handshakes, in order. */
  readonly handshakes: Handshake[] = [];
  /** Messages that are lost: they are in no stream. */
  readonly lost = new Set<number>();
  readonly #url: string;
  readonly #prefix: string;
  readonly #kept: StoredMessage[] = [];
  #clients: string[] = [];
  #connection: { commands: RedisClient; listening: RedisClient; done: Promise<void> } | null = null;
  #heard = '0-0';
  /** Publishing and backfilling take turns, so that each stream is in order. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(url: string, prefix: string) {
    this.#url = url;
    this.#prefix = prefix;
  }

  /** Connects, and answers handshakes from now on. */
  async start(): Promise<void> {
    const [commands, listening] = [new RedisClient(this.#url, offline), new RedisClient(this.#url, offline)];
    await Promise.all([commands.connect(), listening.connect()]);
    this.#connection = { commands, listening, done: this.#listen(listening) };
  }

  /** Ends, as it does when Redis is gone. */
  async stop(): Promise<void> {
    this.#connection?.listening.close();
    await this.#connection?.done;
    await this.#turn.catch(() => {});
    this.#connection?.commands.close();
    this.#connection = null;
  }

  /** Keeps an event, and sends it to the clients. @param skip how many numbers are left out before it */
  async publish(event: ReceivedEvent, skip = 0): Promise<number> {
    const sequence = (this.#kept.at(-1)?.sequence ?? 0) + 1 + skip;
    this.#kept.push({ sequence, event });
    await this.#inTurn(async () => {
      if (this.#connection === null) return;
      for (const client of this.#clients) await this.#send(client, { sequence, event });
    });
    return sequence;
  }

  /** Keeps events that no client is sent, as if they came while the broker was away. */
  keep(events: readonly ReceivedEvent[]): void {
    for (const event of events) this.#kept.push({ sequence: (this.#kept.at(-1)?.sequence ?? 0) + 1, event });
  }

  /** Sends the clients a message again. */
  repeat(sequence: number): Promise<void> {
    const original = this.#kept.find((message) => message.sequence === sequence)!;
    const copy = { ...original, sequence: (this.#kept.at(-1)?.sequence ?? 0) + 1 };
    this.#kept.push(copy);
    return this.#inTurn(async () => {
      for (const client of this.#clients) await this.#send(client, copy);
    });
  }

  /** Deletes all streams, and forgets the clients. */
  dropStreams(): Promise<void> {
    return this.#inTurn(async () => {
      for (const client of this.#clients) await this.#run('DEL', this.#streamOf(client));
      this.#clients = [];
    });
  }

  /** Renumbers all events. @param first number of the first event */
  renumber(first: number): void {
    for (const [index, message] of this.#kept.entries()) message.sequence = first + index;
  }

  /** Returns the number of messages in the newest stream, read or not. */
  async waiting(): Promise<number> {
    return Number(await this.#run('XLEN', this.#streamOf(this.handshakes.at(-1)!.client_id!)));
  }

  /** Returns the number of messages that were read but not acknowledged. */
  async unacknowledged(): Promise<number> {
    const pending = await this.#run('XPENDING', this.#streamOf(this.handshakes.at(-1)!.client_id!), 'primary_group');
    return Number((pending as unknown[])[0]);
  }

  #streamOf(client: string): string {
    return `${this.#prefix}client:${client}`;
  }

  #run(command: string, ...values: string[]): Promise<unknown> {
    return this.#connection!.commands.send(command, values);
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #send(client: string, { sequence, event: { path, text, receivedAt } }: StoredMessage): Promise<void> {
    if (this.lost.has(sequence)) return;
    const timestamp = String(receivedAt / 1_000);
    const values = [this.#streamOf(client), `${sequence}-0`, 'timestamp', timestamp, 'path', path, 'body', text];
    await this.#run('XADD', ...values);
  }

  /** Returns the position at which a client's stream starts, from its handshake. */
  #startOf({ last_message_id: id, last_index_block_hash: hash }: Handshake): number {
    const byMessage = this.#kept.findIndex(({ sequence }) => `${sequence}-0` === id);
    const byBlock = hash === '' ? -1 : this.#kept.findIndex(({ event }) => indexHashOf(event) === hash);
    return byMessage >= 0 ? byMessage + 1 : byBlock + 1;
  }

  async #listen(connection: RedisClient): Promise<void> {
    const stream = `${this.#prefix}connection_stream`;
    for (;;) {
      let reply: StreamReply | null;
      try {
        reply = await connection.send('XREAD', ['BLOCK', '0', 'STREAMS', stream, this.#heard]);
      } catch {
        // Redis is gone, or the test stops.
        return;
      }
      for (const [id, fields] of reply?.[stream] ?? []) {
        this.#heard = id;
        await this.#welcome(
          Object.fromEntries(
            Array.from({ length: fields.length / 2 }, (_, index) => [fields[2 * index], fields[2 * index + 1]]),
          ),
        ).catch(() => {});
      }
    }
  }

  #welcome(handshake: Handshake): Promise<void> {
    return this.#inTurn(async () => {
      this.handshakes.push(handshake);
      const client = handshake.client_id!;
      for (const message of this.#kept.slice(this.#startOf(handshake))) await this.#send(client, message);
      this.#clients.push(client);
    });
  }
}
