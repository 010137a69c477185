/** Subscriptions compared to a plain model: the topics of each subscriber, and their spelling. */
import { fullGC } from 'bun:jsc';
import { expect, test } from 'bun:test';
import { Prng } from '../../src/devnet/prng.ts';
import {
  createSubscriptions,
  MAX_SUBSCRIPTIONS,
  type Message,
  type Subscriber,
  topicNamed,
} from '../../src/live/subscriptions.ts';

function topic(name: string) {
  const parsed = topicNamed(name);
  if (parsed === null) throw new Error(`${name} is no topic`);
  return parsed;
}
const hash = (index: number): string => `0x${index.toString(16).padStart(64, '0')}`;
const messageOf = (name: string) => ({ topic: topic(name) }) as unknown as Message;

test("each topic reaches exactly its subscribers, in each subscriber's spelling", () => {
  const random = new Prng('subscriptions');
  const below = (limit: number): number => random.below(limit);
  const heard: [number, string][] = [];
  const clients = Array.from(
    { length: 3 },
    (_, index): Subscriber => ({ deliver: (_, spelled) => void heard.push([index, spelled]) }),
  );
  const names = ['block', 'mempool', ...[1, 10, 11].map((number) => `transaction:${hash(number)}`)];
  const spelled = (name: string): string => (below(2) === 0 ? name : name.replaceAll('a', 'A'));
  const all = createSubscriptions();
  const model = clients.map(() => new Map<string, string>());
  let firsts = 0;
  let expectedFirsts = 0;
  all.onFirst(() => {
    firsts += 1;
  });
  for (let step = 0; step < 3_000; step++) {
    const index = below(clients.length);
    const [client, expected] = [clients[index]!, model[index]!];
    const name = names[below(names.length)]!;
    const action = below(20);
    if (action < 7) {
      if (model.every(({ size }) => size === 0)) expectedFirsts += 1;
      const spelling = spelled(name);
      expect(all.add(client, topic(name), spelling)).toBeNull();
      expected.set(name, spelling);
    } else if (action < 15) {
      all.remove(client, topic(name));
      expected.delete(name);
    } else {
      all.removeAll(client);
      expected.clear();
    }
    const notified = model.flatMap((topics, client) => (topics.has(name) ? [[client, topics.get(name)!]] : []));
    heard.length = 0;
    expect(all.publish(messageOf(name))).toBe(notified.length);
    expect(heard.toSorted(([a], [b]) => a - b) as unknown[]).toEqual(notified);
    expect(all.has(topic(name))).toBe(notified.length > 0);
    expect(all.isEmpty()).toBe(model.every(({ size }) => size === 0));
    const sum = Object.values(all.counts()).reduce((total, count) => total + count, 0);
    expect(sum).toBe(model.reduce((total, { size }) => total + size, 0));
  }
  expect(firsts).toBe(expectedFirsts);
  expect(firsts).toBeGreaterThan(1);
});

test('a subscriber that leaves during a delivery prevents no delivery to others', () => {
  const all = createSubscriptions();
  let deliveries = 0;
  const leaving: Subscriber = { deliver: () => all.removeAll(leaving) };
  all.add(leaving, topic('block'), 'block');
  all.add({ deliver: () => void deliveries++ }, topic('block'), 'block');
  all.publish(messageOf('block'));
  expect(deliveries).toBe(1);
});

test("a connection can't exceed its subscription limit, but may repeat a subscription", () => {
  const all = createSubscriptions();
  const client: Subscriber = { deliver: () => {} };
  const nth = (index: number) => topic(`transaction:${hash(index)}`);
  const rejections = Array.from({ length: MAX_SUBSCRIPTIONS }, (_, index) => all.add(client, nth(index), ''));
  expect(rejections.filter((rejection) => rejection !== null)).toEqual([]);
  expect(all.add(client, nth(MAX_SUBSCRIPTIONS), '')).toContain('10000');
  expect(all.has(nth(MAX_SUBSCRIPTIONS))).toBe(false);
  expect(all.add(client, nth(0), '')).toBeNull();
  const other: Subscriber = { deliver: () => {} };
  expect(all.add(other, nth(MAX_SUBSCRIPTIONS), '')).toBeNull();
  for (const each of [client, other]) all.removeAll(each);
  expect(all.isEmpty()).toBe(true);
  expect(all.has(nth(0))).toBe(false);
});

test('10,000 topics with long names take less than 10 MB, and reach their subscriber', () => {
  const all = createSubscriptions();
  const spellings: string[] = [];
  const client: Subscriber = { deliver: (_, spelled) => void spellings.push(spelled) };
  const nth = (index: number): string =>
    `nft-asset-event:ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG.nft::card+0x${index.toString(16).padStart(4_000, '0')}`;
  const before = fullGC();
  for (let index = 0; index < MAX_SUBSCRIPTIONS; index++) {
    const name = nth(index);
    all.add(client, topic(name), name);
  }
  expect(fullGC() - before).toBeLessThan(10_000_000);
  expect(Object.values(all.counts()).reduce((sum, count) => sum + count, 0)).toBe(MAX_SUBSCRIPTIONS);
  all.publish(messageOf(nth(7)));
  expect(spellings).toEqual([nth(7)]);
  all.remove(client, topic(nth(8)));
  const other = `${nth(8)}`.replace('+0x', '+0X');
  expect(all.add(client, topic(other), other)).toStartWith('a topic with more than 500 characters must have');
  expect(all.has(topic(nth(8)))).toBe(false);
});

test('a subscriber of a shared topic takes less than 100 bytes', () => {
  const many = 10_000;
  const all = createSubscriptions();
  const clients = Array.from({ length: many }, (): Subscriber => ({ deliver: () => {} }));
  const before = fullGC();
  for (const client of clients) {
    const shared = topic(`transaction:${hash(1)}`);
    all.add(client, shared, shared.key);
  }
  // A map entry takes about 67 bytes. A second entry made it 135, and a separate topic, key and map made it 530.
  expect((fullGC() - before) / many).toBeLessThan(100);
  expect(Object.values(all.counts()).reduce((total, count) => total + count, 0)).toBe(many);
});
