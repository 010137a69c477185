/** A client of Socket.IO: what it says in the namespace, and what it is told there. */
import type { Clock } from '../base/clock.ts';
import { excerpt, MessageError } from './client-message.ts';
import type { Guard } from './guard.ts';
import {
  answerPacket,
  type IoPacket,
  joinedPacket,
  LEFT_PACKET,
  NAMESPACE,
  readPacket,
  refusedPacket,
  topicNames,
} from './io-packets.ts';
import type { Message } from './message.ts';
import type { ConnectionMetrics } from './metrics.ts';
import { type Subscriber, type Subscriptions, TOO_MANY_SUBSCRIPTIONS } from './subscriptions.ts';
import { type Topic, topicNamed } from './topics.ts';

/** What all connections share. */
export interface IoConnectionOptions {
  subscriptions: Subscriptions;
  metrics: ConnectionMetrics;
  /** Runs every handler. */
  guard: Guard;
  /** Characters that may wait for a client. */
  maxBacklog: number;
  clock: Clock;
}

/** The client as Engine.IO has it, whichever way its packets go. */
export interface EngineConnection {
  /** The client's first request. */
  readonly request: { readonly url: string };
  write(text: string): unknown;
  close(): void;
}

/** Milliseconds in which a client must have joined the namespace. */
export const JOIN_MS = 45_000;

type Named = { name: string; topic: Topic };

/** Topics by name. @returns the names that are none, where there are any */
function topicsOf(names: readonly string[]): { topics: Named[]; invalid: string[] } {
  const topics: Named[] = [];
  const invalid: string[] = [];
  for (const name of names) {
    const topic = topicNamed(name);
    if (topic === null) invalid.push(name);
    else topics.push({ name, topic });
  }
  return { topics, invalid };
}

const invalidTopics = (names: readonly string[]): string => `Invalid topic: ${excerpt(names.join(', '))}`;

/** The topics that a client names in the address it connects to, with commas or repeated. */
function namesInUrl(url: string): string[] {
  const given = new URL(url, 'http://localhost').searchParams.getAll('subscriptions');
  return given.flatMap((names) => names.split(',')).filter((name) => name !== '');
}

/** One client, from its first request on. */
export class IoConnection implements Subscriber {
  topics: Subscriber['topics'];
  readonly #engine: EngineConnection;
  readonly #options: IoConnectionOptions;
  /** Keeps the connection from its end, which comes where the client joins nothing; null once it has joined. */
  #inTime: (() => void) | null;
  /** Whether it asked to join the namespace, and has not left it since. */
  #asked = false;
  /** Whether it is in the namespace. */
  #joined = false;
  /** Characters that were written since the transport took the last of what was. */
  #waiting = 0;
  #ended = false;

  constructor(engine: EngineConnection, options: IoConnectionOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#inTime = options.clock.after(JOIN_MS, () => this.guard(() => this.end()));
  }

  /** Runs a handler of this connection. */
  guard(work: () => void): void {
    this.#options.guard(work, () => this.end());
  }

  /** Takes what a packet of Engine.IO carries. @throws MessageError where it breaks a rule */
  received(data: unknown): void {
    const packet = readPacket(data);
    if (packet.type === 'connect' && packet.namespace === NAMESPACE) this.#ask();
    this.guard(() => this.#perform(packet));
  }

  #ask(): void {
    if (this.#asked) throw new MessageError('a connection must NOT join a namespace twice');
    this.#asked = true;
  }

  #perform(packet: IoPacket): void {
    if (packet.type === 'connect') {
      if (packet.namespace === NAMESPACE) this.#join();
      else this.#engine.write(refusedPacket(packet.namespace, 'Invalid namespace'));
    } else if (packet.namespace !== NAMESPACE || !this.#joined) this.end();
    else if (packet.type === 'disconnect') this.#leave();
    else this.#answer(packet);
  }

  #join(): void {
    const { topics, invalid } = topicsOf(namesInUrl(this.#engine.request.url));
    if (invalid.length > 0) {
      this.#engine.write(refusedPacket(NAMESPACE, invalidTopics(invalid)));
      return;
    }
    this.#stopWaiting();
    this.#joined = true;
    this.#options.metrics.connected();
    this.#engine.write(joinedPacket(crypto.randomUUID()));
    this.#add(topics);
  }

  #stopWaiting(): void {
    this.#inTime?.();
    this.#inTime = null;
  }

  #answer({ id, name, args }: Extract<IoPacket, { type: 'event' }>): void {
    if (name === 'unsubscribe') this.#unsubscribe(args.flatMap((one) => topicNames(one) ?? []));
    if (name !== 'subscribe') return;
    const names = topicNames(args[0]);
    const refused = names === null ? invalidTopics(['it must be a text or a list of texts']) : this.#subscribe(names);
    if (id !== '') this.#engine.write(answerPacket(id, refused));
  }

  /** Subscribes to topics by name. @returns the reason why it failed, or null */
  #subscribe(names: readonly string[]): string | null {
    const { topics, invalid } = topicsOf(names);
    return this.#add(topics) ?? (invalid.length === 0 ? null : invalidTopics(invalid));
  }

  /** Subscribes to topics. @returns the reason why it failed, or null */
  #add(topics: readonly Named[]): string | null {
    const { subscriptions } = this.#options;
    const isEvery = topics.every(({ name, topic }) => subscriptions.add(this, topic, name));
    return isEvery ? null : TOO_MANY_SUBSCRIPTIONS;
  }

  #unsubscribe(names: readonly string[]): void {
    for (const { topic } of topicsOf(names).topics) this.#options.subscriptions.remove(this, topic);
  }

  #leave(): void {
    this.#asked = false;
    if (!this.#joined) return;
    this.#joined = false;
    this.#options.subscriptions.removeAll(this);
    this.#options.metrics.disconnected();
  }

  deliver(message: Message, spelled: string): void {
    this.guard(() => {
      // The text is a whole packet already, so that it is made once for all clients.
      this.#engine.write(message.socketIo(spelled));
      if (!this.#ended) this.#options.metrics.sent(message.topic.kind);
    });
  }

  /** Counts characters to be written; with long polling they wait for the client's next request. */
  queued(characters: number): void {
    this.#waiting += characters;
    if (this.#waiting <= this.#options.maxBacklog || this.#ended) return;
    this.#options.metrics.cutOff();
    this.end();
  }

  /** Called when the transport has taken everything that waited. */
  drained(): void {
    this.#waiting = 0;
  }

  /** Closes the connection. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#joined) this.#engine.write(LEFT_PACKET);
    this.#leave();
    this.#engine.close();
  }

  /** Called when the connection is gone, whoever closed it. */
  closed(): void {
    this.#ended = true;
    this.#stopWaiting();
    this.#leave();
  }
}
