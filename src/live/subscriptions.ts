/** The subscriptions of all connections. */
import type { Message } from './message.ts';
import { type Topic, type TopicKind, topicKinds } from './topics.ts';

/** A client's connection, of either protocol. */
export interface Subscriber {
  /** Sends a message to the client. @param spelled the topic as this client named it */
  deliver(message: Message, spelled: string): void;
}

/** Subscriptions that one connection may have. */
export const MOST_SUBSCRIPTIONS = 10_000;
/** The rule, as a client is told that it would break it. */
export const TOO_MANY_SUBSCRIPTIONS = `a connection must NOT have more than ${MOST_SUBSCRIPTIONS} subscriptions`;

export interface Subscriptions {
  /** Adds a subscription. @returns false where the connection has reached its limit */
  add(subscriber: Subscriber, topic: Topic, spelled: string): boolean;
  remove(subscriber: Subscriber, topic: Topic): void;
  /** Removes every subscription of a connection, for example when it closes. */
  removeAll(subscriber: Subscriber): void;
  /** Whether nobody is subscribed to anything. */
  isEmpty(): boolean;
  /** Calls a function whenever the first subscription comes after there was none, before that one is added. */
  onFirst(call: () => void): void;
  /** Whether any subscription has one of these kinds of topics. */
  any(...kinds: readonly TopicKind[]): boolean;
  has(topic: Topic): boolean;
  /** Sends a message to every subscriber of its topic. @returns the number of subscribers */
  publish(message: Message): number;
  /** The number of subscriptions, by kind of topic. */
  counts(): Record<TopicKind, number>;
}

/** An empty set of subscriptions. */
export function subscriptions(): Subscriptions {
  const byKey = new Map<string, Map<Subscriber, string>>();
  const bySubscriber = new Map<Subscriber, Map<string, Topic>>();
  let first = () => {};
  const counts = Object.fromEntries(topicKinds.map((kind) => [kind, 0])) as Record<TopicKind, number>;

  function removeFromKey({ key, kind }: Topic, subscriber: Subscriber): void {
    const subscribed = byKey.get(key);
    if (subscribed?.delete(subscriber) !== true) return;
    counts[kind] -= 1;
    if (subscribed.size === 0) byKey.delete(key);
  }

  return {
    add(subscriber, topic, spelled) {
      let own = bySubscriber.get(subscriber);
      if (own === undefined) {
        if (bySubscriber.size === 0) first();
        own = new Map();
        bySubscriber.set(subscriber, own);
      }
      if (!own.has(topic.key)) {
        if (own.size >= MOST_SUBSCRIPTIONS) return false;
        own.set(topic.key, topic);
        counts[topic.kind] += 1;
      }
      let subscribed = byKey.get(topic.key);
      if (subscribed === undefined) {
        subscribed = new Map();
        byKey.set(topic.key, subscribed);
      }
      subscribed.set(subscriber, spelled);
      return true;
    },

    remove(subscriber, topic) {
      const own = bySubscriber.get(subscriber);
      if (own?.delete(topic.key) !== true) return;
      if (own.size === 0) bySubscriber.delete(subscriber);
      removeFromKey(topic, subscriber);
    },

    removeAll(subscriber) {
      const own = bySubscriber.get(subscriber);
      if (own === undefined) return;
      bySubscriber.delete(subscriber);
      for (const topic of own.values()) removeFromKey(topic, subscriber);
    },

    isEmpty: () => bySubscriber.size === 0,
    onFirst(call) {
      first = call;
    },

    any: (...kinds) => kinds.some((kind) => counts[kind] > 0),
    has: ({ key }) => byKey.has(key),

    publish(message) {
      const subscribed = byKey.get(message.topic.key);
      if (subscribed === undefined) return 0;
      // Those who are cut off while it is sent leave the list.
      const all = [...subscribed];
      for (const [subscriber, spelled] of all) subscriber.deliver(message, spelled);
      return all.length;
    },

    counts: () => ({ ...counts }),
  };
}
