/** JSON-RPC 2.0 over WebSocket at `/extended/v1/ws`: connections, subscriptions, responses and notifications. */

import { isObject } from '../base/json.ts';
import { canonicalPrincipal, MAX_ASSET_LENGTH } from '../codec/address.ts';
import {
  type ConnectionMetrics,
  type ControlFrame,
  type CountMessages,
  closeCodes,
  excerpt,
  type Guard,
  MessageError,
  PONG,
  parsedMessage,
} from './connection.ts';
import {
  hexText,
  MAX_VALUE,
  type Message,
  nftAssetTopic,
  nftCollectionTopic,
  plainTopic,
  principalTopic,
  type Subscriber,
  type Subscriptions,
  type Topic,
  TX_ID_LENGTH,
  transactionTopic,
} from './subscriptions.ts';

/** The WebSocket close code of a server that stops (RFC 6455, 7.4.1). */
const GOING_AWAY = 1001;

type Socket = Bun.ServerWebSocket<RpcConnection>;

interface RpcConnectionOptions {
  subscriptions: Subscriptions;
  metrics: ConnectionMetrics;
  guard: Guard;
}

/** A JSON-RPC connection over WebSocket; the data of its socket. */
export class RpcConnection implements Subscriber {
  topics: Subscriber['topics'];
  readonly #options: RpcConnectionOptions;
  #socket: Socket | null = null;
  /** Whether the client sent anything since the last ping. */
  #isAlive = true;
  /** Whether the next pong answers a ping of the server. */
  #isPinged = false;

  readonly #count: CountMessages;

  /**
   * Creates a connection without a socket yet.
   * @param count counts messages of the client; throws MessageError beyond its limit
   */
  constructor(options: RpcConnectionOptions, count: CountMessages) {
    this.#options = options;
    this.#count = count;
  }

  opened(socket: Socket): void {
    this.#guardWork(() => {
      this.#socket = socket;
      this.#options.metrics.connected();
    });
  }

  #guardWork(work: () => void): void {
    this.#options.guard(work, (reason) => this.#socket?.close(closeCodes[reason]));
  }

  received(message: string | Buffer): void {
    this.#guardWork(() => {
      this.#isAlive = true;
      this.#count(1);
      const text = typeof message === 'string' ? message : message.toString('utf8');
      const answer = rpcAnswer(
        text,
        (method, subscription) => this.#perform(method, subscription),
        (requests) => this.#count(requests - 1),
      );
      if (answer !== null) this.#send(answer);
    });
  }

  #perform(method: 'subscribe' | 'unsubscribe', { topic }: Subscription): string | null {
    if (method === 'unsubscribe') {
      this.#options.subscriptions.remove(this, topic);
      return null;
    }
    return this.#options.subscriptions.add(this, topic, topic.key);
  }

  deliver(message: Message): void {
    this.#guardWork(() => {
      if (this.#send(message.rpc())) this.#options.metrics.sent(message.topic.kind);
    });
  }

  /** Sends a text. @returns false if the client's backlog was full, and the client was disconnected */
  #send(text: string): boolean {
    // 0: dropped, since the backlog is full; -1: queued within the limit.
    if (this.#socket === null || this.#socket.send(text) !== 0) return this.#socket !== null;
    this.#cutOff();
    return false;
  }

  #cutOff(): void {
    this.#options.metrics.cutOff();
    // A close frame would wait behind the data that the client doesn't read.
    this.#socket?.terminate();
  }

  /** Handles a control frame. It counts as a message, unless it answers a ping of the server. */
  receivedControlFrame(frame: ControlFrame): void {
    this.#guardWork(() => {
      this.#isAlive = true;
      if (frame === PONG && this.#isPinged) this.#isPinged = false;
      else this.#count(1);
    });
  }

  /**
   * Pings the client. A client that did not answer the last ping is disconnected, so that it can connect again.
   * @param late whether this ping is so late that the last pong may not have been read yet
   */
  checkAlive(late: boolean): void {
    this.#guardWork(() => {
      if (!this.#isAlive && !late) {
        this.#cutOff();
        return;
      }
      this.#isAlive = false;
      this.#isPinged = true;
      this.#socket?.ping();
    });
  }

  close(): void {
    this.#socket?.close(GOING_AWAY, 'The server stops');
  }

  closed(): void {
    this.#guardWork(() => {
      this.#options.subscriptions.removeAll(this);
      this.#socket = null;
      this.#options.metrics.disconnected();
    });
  }
}

interface Subscription {
  topic: Topic;
  result: Record<string, string>;
}

/** Subscribes or unsubscribes. @returns null, or the reason of the failure */
export type Perform = (method: 'subscribe' | 'unsubscribe', subscription: Subscription) => string | null;

const MAX_REQUESTS = 1_000;
/** Maximum characters of an id, since responses repeat it. */
const MAX_ID = 128;

interface RpcError {
  message: string;
  code: number;
  data?: unknown;
}

type Id = string | number | null;

const failure = (id: Id, error: RpcError) => ({ jsonrpc: '2.0', id, error });
const refusedRequest = (data: unknown) => failure(null, { message: 'Invalid request', code: -32600, data });
/** The error for an invalid request, with the beginning of the message. */
function invalidRequest(message: unknown) {
  const text = JSON.stringify(message);
  const part = excerpt(text);
  return refusedRequest(part === text ? message : part);
}
const invalidParams = (id: Id, data: string) => failure(id, { message: 'Invalid params', code: -32602, data });

const longerThan = (name: string, limit: number): string => `${name} must NOT have more than ${limit} characters`;
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The subscription in the parameters, or the error text. */
function parseSubscription(params: unknown): Subscription | string {
  const event = isObject(params) ? params.event : undefined;
  if (!isObject(params) || typeof event !== 'string' || event === '') {
    return 'subscription requests must include an event name';
  }
  switch (event) {
    case 'block':
    case 'microblock':
    case 'mempool':
      return { topic: plainTopic(event), result: {} };
    case 'nft_event':
      return { topic: plainTopic('nft-event'), result: {} };
    case 'tx_update': {
      const txId = hexText(textOf(params.tx_id));
      if (txId?.length !== TX_ID_LENGTH) return 'invalid tx_id';
      return { topic: transactionTopic(txId), result: { tx_id: txId } };
    }
    case 'address_tx_update':
    case 'address_balance_update': {
      const address = textOf(params.address);
      const principal = canonicalPrincipal(address);
      if (principal === null) return 'invalid address';
      const kind = event === 'address_tx_update' ? 'address-transaction' : 'address-stx-balance';
      // Clients compare notifications with this, so both have the canonical spelling.
      return { topic: principalTopic(kind, principal), result: { address: principal } };
    }
    case 'nft_asset_event': {
      const asset_identifier = textOf(params.asset_identifier);
      const value = textOf(params.value);
      if (asset_identifier.length > MAX_ASSET_LENGTH) return longerThan('asset_identifier', MAX_ASSET_LENGTH);
      if (value.length > MAX_VALUE) return longerThan('value', MAX_VALUE);
      const emitted = hexText(value) ?? value;
      return { topic: nftAssetTopic(asset_identifier, emitted), result: { asset_identifier, value: emitted } };
    }
    case 'nft_collection_event': {
      const asset_identifier = textOf(params.asset_identifier);
      if (asset_identifier.length > MAX_ASSET_LENGTH) return longerThan('asset_identifier', MAX_ASSET_LENGTH);
      return { topic: nftCollectionTopic(asset_identifier), result: { asset_identifier } };
    }
    default:
      return 'subscription request must use a valid event name';
  }
}

/** The response to a message; undefined for a notification, which has none. */
function answerRequest(message: unknown, perform: Perform): object | undefined {
  if (!isObject(message) || message.jsonrpc !== '2.0') return invalidRequest(message);
  if ('result' in message && 'id' in message) return refusedRequest('unexpected success msg from client');
  if ('error' in message && 'id' in message) return refusedRequest('unexpected error msg from client');
  const { id, method, params } = message;
  if (typeof method !== 'string') return invalidRequest(message);
  if (!('id' in message)) return undefined;
  if (typeof id !== 'string' && !(typeof id === 'number' && Number.isInteger(id))) {
    return refusedRequest('"id" must be provided, a string or an integer.');
  }
  if (typeof id === 'string' && id.length > MAX_ID) return refusedRequest(longerThan('id', MAX_ID));
  if (method !== 'subscribe' && method !== 'unsubscribe') {
    return failure(id, { message: 'Method not found', code: -32601 });
  }
  const subscription = parseSubscription(params);
  if (typeof subscription === 'string') return invalidParams(id, subscription);
  const refusal = perform(method, subscription);
  return refusal === null ? { jsonrpc: '2.0', id, result: subscription.result } : invalidParams(id, refusal);
}

/** Parses a JSON text, or returns the error response. */
function messageIn(text: string): { value: unknown } | { refusal: object } {
  try {
    return { value: parsedMessage(text) };
  } catch (error) {
    if (error instanceof MessageError) return { refusal: refusedRequest(error.message) };
    if (!(error instanceof SyntaxError)) throw error;
    return { refusal: failure(null, { message: 'Parse error', code: -32700, data: excerpt(text) }) };
  }
}

/**
 * The response to a client's text; null if there is none, as for notifications.
 * @param countBatch called with the number of requests of a batch before they are performed
 */
export function rpcAnswer(text: string, perform: Perform, countBatch: CountMessages): string | null {
  const message = messageIn(text);
  if ('refusal' in message) return JSON.stringify(message.refusal);
  const { value } = message;
  if (!Array.isArray(value) || value.length === 0) {
    const answer = answerRequest(value, perform);
    return answer === undefined ? null : JSON.stringify(answer);
  }
  if (value.length > MAX_REQUESTS) {
    return JSON.stringify(refusedRequest(`a batch must NOT have more than ${MAX_REQUESTS} requests`));
  }
  countBatch(value.length);
  const answers = value.map((request) => answerRequest(request, perform)).filter((answer) => answer !== undefined);
  // JSON-RPC 2.0, 6: a batch of notifications has no response, not even an empty list.
  return answers.length === 0 ? null : JSON.stringify(answers);
}
