/** Topics with their names in both protocols, the subscriptions of all connections, and messages to subscribers. */
import { canonicalPrincipal, MAX_ASSET_LENGTH } from '../codec/address.ts';

/** Kinds of topics, as Socket.IO names them and metrics count them. */
export const topicKinds = [
  'block',
  'microblock',
  'mempool',
  'transaction',
  'address-transaction',
  'address-stx-balance',
  'nft-event',
  'nft-asset-event',
  'nft-collection-event',
] as const;
export type TopicKind = (typeof topicKinds)[number];

export interface Topic {
  kind: TopicKind;
  /** Unique text of the topic, however a client spells it: `transaction:0x…` in lower case. */
  key: string;
  /** The name of the topic, if it is so long that the key has its digest: a client may have 10,000 topics. */
  longName?: string;
}

/** A topic without a subject, such as `block`. */
export const plainTopic = (kind: TopicKind): Topic => ({ kind, key: kind });
/** The topic of a transaction. @param txId `0x` and lower-case hex digits */
export const transactionTopic = (txId: string): Topic => ({ kind: 'transaction', key: `transaction:${txId}` });
/** A topic of one principal. @param principal in its canonical spelling */
export const principalTopic = (kind: 'address-transaction' | 'address-stx-balance', principal: string): Topic => ({
  kind,
  key: `${kind}:${principal}`,
});
/** The topic of one token instance. @param value serialized Clarity value: `0x` and lower-case hex digits */
export function nftAssetTopic(asset: string, value: string): Topic {
  const kind = 'nft-asset-event';
  const name = `${kind}:${asset}+${value}`;
  if (name.length <= MAX_KEY) return { kind, key: name };
  return { kind, key: `${kind}:${new Bun.CryptoHasher('sha256').update(name).digest('hex')}`, longName: name };
}
/** The topic of all events of a non-fungible token. @param asset identifier of the token */
export const nftCollectionTopic = (asset: string): Topic => ({
  kind: 'nft-collection-event',
  key: `nft-collection-event:${asset}`,
});

/** Maximum characters of a topic's name that is its key. Most values of tokens are shorter. */
const MAX_KEY = 400;
/** Maximum characters of a token's value in hex: room for a `(string-utf8 256)`. */
export const MAX_VALUE = 4096;
/** Characters of a transaction id: `0x` and the digits of 32 bytes. */
export const TX_ID_LENGTH = 66;
/** Maximum characters of a topic's name. Names of token topics are the longest. */
const MAX_NAME = 'nft-asset-event:'.length + MAX_ASSET_LENGTH + '+'.length + MAX_VALUE;

/**
 * Normalises hex to `0x` and lower-case digits; null if the text is not whole bytes in hex, or longer than a token's value.
 */
export function hexText(text: string): string | null {
  if (text.length > MAX_VALUE) return null;
  const digits = text.replace(/^0x/i, '');
  return /^([0-9a-fA-F]{2})+$/.test(digits) ? `0x${digits.toLowerCase()}` : null;
}

/** Normalises an asset identifier as events spell it; null if its contract is invalid. */
function assetText(text: string): string | null {
  if (text.length > MAX_ASSET_LENGTH) return null;
  const [contract = '', name, ...rest] = text.split('::');
  const principal = contract.includes('.') ? canonicalPrincipal(contract) : null;
  return principal === null || name === undefined || name === '' || rest.length > 0 ? null : `${principal}::${name}`;
}

/** Parses a Socket.IO topic name, such as `address-transaction:SP…`; null if it is invalid. */
export function topicNamed(name: string): Topic | null {
  if (name.length > MAX_NAME) return null;
  const colon = name.indexOf(':');
  const kind = colon < 0 ? name : name.slice(0, colon);
  const subject = colon < 0 ? null : name.slice(colon + 1);
  switch (kind) {
    case 'block':
    case 'microblock':
    case 'mempool':
    case 'nft-event':
      return subject === null ? plainTopic(kind) : null;
    case 'transaction': {
      const txId = hexText(subject ?? '');
      return txId === null || txId.length > TX_ID_LENGTH ? null : transactionTopic(txId);
    }
    case 'address-transaction':
    case 'address-stx-balance': {
      const principal = canonicalPrincipal(subject ?? '');
      return principal === null ? null : principalTopic(kind, principal);
    }
    case 'nft-asset-event': {
      // Asset names may have a plus; contract names and hex have none.
      const plus = (subject ?? '').lastIndexOf('+');
      const asset = plus < 0 ? null : assetText((subject ?? '').slice(0, plus));
      const value = plus < 0 ? null : hexText((subject ?? '').slice(plus + 1));
      return asset === null || value === null ? null : nftAssetTopic(asset, value);
    }
    case 'nft-collection-event': {
      const asset = assetText(subject ?? '');
      return asset === null ? null : nftCollectionTopic(asset);
    }
    default:
      return null;
  }
}

/** The topics of a subscriber. Most subscribers have one topic, which needs less memory than a set. */
type OwnTopics = Topic | Set<Topic>;

export interface Subscriber {
  /** The topics. Only {@link Subscriptions} sets them. A map of subscribers would need several times the memory. */
  topics?: OwnTopics | undefined;
  /** Sends a message to the client. @param spelled the topic as this client spelled it */
  deliver(message: Message, spelled: string): void;
}

export const MAX_SUBSCRIPTIONS = 10_000;
const TOO_MANY_SUBSCRIPTIONS = `a connection must NOT have more than ${MAX_SUBSCRIPTIONS} subscriptions`;

/** Maximum characters of a spelling that is stored for its subscriber; longer names must be spelled as the server does. */
const MAX_SPELLING = 500;
const OTHER_SPELLING = `a topic with more than ${MAX_SPELLING} characters must have a canonical address, and a value of 0x and lower-case digits`;

/** A topic with subscribers. They share its object and its key in memory. */
interface SubscribedTopic {
  topic: Topic;
  /** The topic as each subscriber spelled it. */
  spellings: Map<Subscriber, string>;
}

function withTopic(topics: OwnTopics | undefined, topic: Topic): OwnTopics {
  if (topics === undefined) return topic;
  return topics instanceof Set ? topics.add(topic) : new Set([topics, topic]);
}

/** @returns the other topics; undefined if there are none */
function withoutTopic(topics: OwnTopics, topic: Topic): OwnTopics | undefined {
  if (!(topics instanceof Set)) return topics === topic ? undefined : topics;
  topics.delete(topic);
  return topics.size === 0 ? undefined : topics;
}

/** Creates an empty set of subscriptions. */
export function createSubscriptions() {
  const byKey = new Map<string, SubscribedTopic>();
  let first = () => {};
  const refusals = new Map<TopicKind, string>();
  const counts = Object.fromEntries(topicKinds.map((kind) => [kind, 0])) as Record<TopicKind, number>;

  function subscribedTo(topic: Topic): SubscribedTopic {
    const existing = byKey.get(topic.key);
    if (existing !== undefined) return existing;
    const { kind, key, longName } = topic;
    const subscribed: SubscribedTopic = { topic: longName === undefined ? topic : { kind, key }, spellings: new Map() };
    byKey.set(key, subscribed);
    return subscribed;
  }

  /** @returns the removed topic; undefined if the subscriber didn't have it */
  function removeFromKey(key: string, subscriber: Subscriber): Topic | undefined {
    const subscribed = byKey.get(key);
    if (subscribed?.spellings.delete(subscriber) !== true) return undefined;
    const { topic, spellings } = subscribed;
    counts[topic.kind] -= 1;
    if (spellings.size === 0) byKey.delete(key);
    return topic;
  }

  return {
    /** Adds a subscription. @returns null, or the reason why it is refused */
    add(subscriber: Subscriber, requested: Topic, spelled: string): string | null {
      const refusal = refusals.get(requested.kind);
      if (refusal !== undefined) return refusal;
      const topics = subscriber.topics;
      const isNew = byKey.get(requested.key)?.spellings.has(subscriber) !== true;
      if (isNew && topics instanceof Set && topics.size >= MAX_SUBSCRIPTIONS) return TOO_MANY_SUBSCRIPTIONS;
      // Most clients spell a topic like the server. The key replaces their text, which needs less memory.
      const isUsual = spelled === requested.key || spelled === requested.longName;
      if (!isUsual && spelled.length > MAX_SPELLING) return OTHER_SPELLING;
      if (byKey.size === 0) first();
      const { topic, spellings } = subscribedTo(requested);
      if (isNew) {
        subscriber.topics = withTopic(topics, topic);
        counts[topic.kind] += 1;
      }
      spellings.set(subscriber, isUsual ? topic.key : spelled);
      return null;
    },

    /** Refuses further subscriptions to a kind of topics, for a reason. */
    refuse: (kind: TopicKind, reason: string): void => void refusals.set(kind, reason),

    remove(subscriber: Subscriber, { key }: Topic): void {
      const topic = removeFromKey(key, subscriber);
      const { topics } = subscriber;
      if (topic !== undefined && topics !== undefined) subscriber.topics = withoutTopic(topics, topic);
    },

    /** Removes all subscriptions of a connection, for example when it closes. */
    removeAll(subscriber: Subscriber): void {
      const { topics } = subscriber;
      subscriber.topics = undefined;
      if (topics === undefined) return;
      for (const { key } of topics instanceof Set ? topics : [topics]) removeFromKey(key, subscriber);
    },

    isEmpty: (): boolean => byKey.size === 0,
    /** Sets the function that is called before the first subscription is added after there was none. */
    onFirst(call: () => void): void {
      first = call;
    },

    any: (...kinds: readonly TopicKind[]): boolean => kinds.some((kind) => counts[kind] > 0),
    has: ({ key }: Topic): boolean => byKey.has(key),
    topics: (kind: TopicKind): Topic[] =>
      counts[kind] === 0 ? [] : [...byKey.values()].flatMap(({ topic }) => (topic.kind === kind ? topic : [])),

    /** Sends a message to every subscriber of its topic. @returns the number of subscribers */
    publish(message: Message): number {
      const { key, longName = key } = message.topic;
      const subscribed = byKey.get(key);
      if (subscribed === undefined) return 0;
      // A copy, since a delivery removes subscribers that it cuts off.
      const all = [...subscribed.spellings];
      for (const [subscriber, spelled] of all) subscriber.deliver(message, spelled === key ? longName : spelled);
      return all.length;
    },

    counts: (): Record<TopicKind, number> => ({ ...counts }),
  };
}
export type Subscriptions = ReturnType<typeof createSubscriptions>;

const rpcMethods: Readonly<Record<TopicKind, string>> = {
  block: 'block',
  microblock: 'microblock',
  mempool: 'mempool',
  transaction: 'tx_update',
  'address-transaction': 'address_tx_update',
  'address-stx-balance': 'address_balance_update',
  'nft-event': 'nft_event',
  'nft-asset-event': 'nft_asset_event',
  'nft-collection-event': 'nft_collection_event',
};

interface MessageContent {
  topic: Topic;
  /** JSON text of the pushed object. */
  text: string;
  /** Members before the object in JSON-RPC. */
  members?: Record<string, unknown>;
  /** Arguments before the object in Socket.IO. */
  leading?: readonly string[];
}

export class Message {
  readonly topic: Topic;
  readonly #content: MessageContent;
  #rpc: string | null = null;
  #socketIo: { event: string; text: string } | null = null;

  constructor(content: MessageContent) {
    this.topic = content.topic;
    this.#content = content;
  }

  rpc(): string {
    if (this.#rpc !== null) return this.#rpc;
    this.#rpc = `{"jsonrpc":"2.0","method":"${rpcMethods[this.topic.kind]}","params":${this.#rpcParams()}}`;
    return this.#rpc;
  }

  #rpcParams(): string {
    const { text, members } = this.#content;
    if (members === undefined) return text;
    const head = JSON.stringify(members).slice(0, -1);
    return text === '{}' ? `${head}}` : `${head},${text.slice(1)}`;
  }

  /**
   * A Socket.IO event as a text for Engine.IO.
   * @param event the topic as the client spelled it, which is mostly the same
   */
  socketIo(event: string): string {
    if (this.#socketIo?.event === event) return this.#socketIo.text;
    const { text: object, leading = [] } = this.#content;
    const words = [event, ...leading].map((word) => JSON.stringify(word)).join(',');
    const text = `2[${words},${object}]`;
    this.#socketIo = { event, text };
    return text;
  }
}
