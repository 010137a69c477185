/** A Socket.IO client in its namespace, over a simulated connection. */
import { fullGC } from 'bun:jsc';
import { expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { connectionGuard, MessageError } from '../../src/live/connection.ts';
import { IoConnection, type IoSocketData, JOIN_MS, socketIo } from '../../src/live/socket-io.ts';
import { createSubscriptions, Message, plainTopic } from '../../src/live/subscriptions.ts';
import { heldClock } from '../support/time/held-clock.ts';

const MAX_BACKLOG = 1_000;

function sharedOptions(clock = systemClock) {
  const counted: string[] = [];
  const count = (name: string) => () => void counted.push(name);
  const metrics = {
    connected: count('connected'),
    disconnected: count('disconnected'),
    sent: () => {},
    cutOff: count('cut off'),
    refused: count('refused'),
    failed: count('failed'),
  };
  const guard = connectionGuard('socket_io', metrics, () => {});
  return { counted, options: { subscriptions: createSubscriptions(), metrics, guard, maxBacklog: MAX_BACKLOG, clock } };
}

/** A connection, and the calls it received. */
function connection({ query = '', clock = systemClock } = {}) {
  const { counted, options } = sharedOptions(clock);
  const done: string[] = [];
  const engine = {
    request: { url: `http://localhost/socket.io/?EIO=4${query}` },
    write: (text: string) => void done.push(text.replace(/"sid":"[^"]+"/, '"sid"')),
    close: () => void done.push('closed'),
  };
  return { client: new IoConnection(engine, options), subscribed: options.subscriptions, counted, done };
}
const block = new Message({ topic: plainTopic('block'), text: '{}' });

test('a client joins, subscribes, gets messages, leaves, and rejoins with the topics of its URL', () => {
  const { client, subscribed, counted, done } = connection({ query: '&subscriptions=mempool' });
  for (const packet of ['0', '27["subscribe",["block"]]']) client.received(packet);
  subscribed.publish(block);
  client.received('1');
  expect([subscribed.isEmpty(), subscribed.publish(block)]).toEqual([true, 0]);
  client.received('0');
  expect(subscribed.has(plainTopic('mempool'))).toBe(true);
  client.closed();
  expect(subscribed.isEmpty()).toBe(true);
  expect(done).toEqual(['0{"sid"}', '37[null]', '2["block",{}]', '0{"sid"}']);
  expect(counted).toEqual(['connected', 'disconnected', 'connected', 'disconnected']);
});

test('a client that left and rejoined is disconnected at the backlog limit like any other', () => {
  const { client, counted, done } = connection();
  for (const packet of ['0', '1', '0']) client.received(packet);
  client.queued(MAX_BACKLOG);
  expect(done.at(-1)).toBe('0{"sid"}');
  client.queued(1);
  expect(done.slice(-2)).toEqual(['1', 'closed']);
  expect(counted).toEqual(['connected', 'disconnected', 'connected', 'cut off', 'disconnected']);
});

test("a client that doesn't join in time is closed, and one that joins is not", () => {
  const clock = heldClock([JOIN_MS]);
  const [idle, late, gone] = [connection({ clock }), connection({ clock }), connection({ clock })];
  late.client.received('0');
  gone.client.closed();
  clock.pass(JOIN_MS);
  expect([idle.done, late.done, gone.done]).toEqual([['closed'], ['0{"sid"}'], []]);
});

test('a client outside the namespace may only join it', () => {
  for (const packet of ['2["subscribe","block"]', '1', '1/other,', '2/other,["x"]']) {
    const { client, done, counted } = connection();
    client.received(packet);
    expect([packet, done, counted]).toEqual([packet, ['closed'], []]);
  }
  const { client, done } = connection({ query: '&subscriptions=nope' });
  for (const packet of ['0/other,', '0']) client.received(packet);
  expect(done).toEqual(['4/other,{"message":"Invalid namespace"}', '4{"message":"Invalid topic: nope"}']);
  expect(() => client.received('0')).toThrow(MessageError);
});

test("nothing of a client's first request stays in memory", async () => {
  const many = 30;
  /** Requests and their headers, as long as the server refers to them. */
  const requests: WeakRef<object>[] = [];
  const { handle, opened, received, closed } = socketIo({
    ...sharedOptions().options,
    pingIntervalMs: 60_000,
    pingTimeoutMs: 60_000,
  });
  using server = Bun.serve<IoSocketData>({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, server) {
      requests.push(new WeakRef(request), new WeakRef(request.headers));
      return handle(request, server, () => {});
    },
    websocket: { open: opened, message: received, close: closed },
  });
  const url = `${server.url.origin.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`;
  const connect = async () => {
    const socket = new WebSocket(url);
    await new Promise((resolve) => {
      socket.onmessage = resolve;
    });
    return socket;
  };
  const clients = await Promise.all(Array.from({ length: many }, connect));
  expect(requests.length).toBe(2 * many);
  fullGC();
  // The collector may take some values on the stack for objects.
  expect(requests.filter((request) => request.deref() !== undefined).length).toBeLessThan(many / 2);
  for (const client of clients) client.close();
});

test('a late client affects no other connection if its close fails', () => {
  const clock = heldClock([JOIN_MS]);
  const { counted, options } = sharedOptions(clock);
  const close = () => {
    throw new Error("it can't be closed");
  };
  new IoConnection({ request: { url: 'http://localhost/socket.io/?EIO=4' }, write: () => {}, close }, options);
  clock.pass(JOIN_MS);
  expect(counted).toEqual(['failed']);
});
