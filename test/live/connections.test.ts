/** Connections over real sockets: frames, heartbeats, and clients that read too slowly. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { io, type Socket } from 'socket.io-client';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { GRACE_MS } from '../../src/http/listener.ts';
import { RpcConnection } from '../../src/live/websocket.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { beginnings } from '../support/events/beginning.ts';
import { alice, announcement, block, transfer } from '../support/events/handmade.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { rawExchange } from '../support/servers/raw-http.ts';
import { openWebSocket, rawFrame, rawWebSocket } from '../support/servers/raw-web-socket.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const ADDRESS = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
/** Milliseconds between two pings to a client. */
const PING_MS = 1_000;
/** The server pings WebSockets with it, and Socket.IO clients with a separate timer. */
const clock = heldClock([PING_MS]);
const clientLimits = { pingIntervalMs: PING_MS, maxBacklog: 65_536 };
const server = await serving({}, undefined, {}, { clock, clientLimits });
const wsUrl = server.api.replace('http', 'ws');
await server.post([...devnetEvents({ seed: 2, blocks: 3 })]);
afterAll(() => server[Symbol.asyncDispose]());

const connect = (query: Record<string, string> = {}, transports = ['websocket'], to = server): Socket =>
  io(to.api, { transports, query, forceNew: true, reconnection: false });
/** Returns the reason for a rejection, or null. */
const untilConnected = (socket: Socket) =>
  new Promise<string | null>((resolve) => {
    socket.on('connect', () => resolve(null));
    socket.on('connect_error', ({ message }) => resolve(message));
  });

const metric = (name: string, source = server) => metricOf(source.api, name);

describe('/extended/v1/ws', () => {
  test('accepts a WebSocket on exactly that path', async () => {
    expect((await rawWebSocket('/extended/v1/ws?x=1', server)).answer).toStartWith('HTTP/1.1 101 ');
    expect((await rawWebSocket('/extended/v1/ws/', server)).answer).toStartWith('HTTP/1.1 400 ');
    const plain = await server.get('/extended/v1/ws');
    expect([plain.status, await plain.json()]).toMatchObject([426, { error: 'Upgrade Required' }]);
  });

  test('answers text and binary frames', async () => {
    const socket = await openWebSocket(`${wsUrl}/extended/v1/ws`);
    const got: string[] = [];
    socket.onmessage = ({ data }) => void got.push(String(data));
    const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscribe', params: { event: 'microblock' } });
    socket.send(request);
    socket.send(new TextEncoder().encode(request));
    await until(() => got.length === 2);
    expect(got).toEqual(Array(2).fill('{"jsonrpc":"2.0","id":1,"result":{}}'));
    // The next test counts the pongs of all clients.
    const closed = new Promise((resolve) => {
      socket.onclose = resolve;
    });
    socket.close();
    await closed;
  });

  test("disconnects only a client that doesn't answer pings", async () => {
    const silent = await rawWebSocket('/extended/v1/ws', server);
    const live = await openWebSocket(`${wsUrl}/extended/v1/ws`);
    const answer = () =>
      new Promise((resolve, reject) => {
        live.onmessage = resolve;
        live.onclose = reject;
        live.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscribe', params: { event: 'microblock' } }));
      });
    // Messages also count as a sign of life; this client sends none between pings.
    using pongs = spyOn(RpcConnection.prototype, 'receivedControlFrame');
    clock.pass(PING_MS);
    await until(() => pongs.mock.calls.length === 1, 'the pong');
    expect(silent.isClosed()).toBe(false);
    clock.pass(PING_MS);
    await until(() => silent.isClosed(), 'the end of the silent one');
    await answer();
    live.onclose = null;
    live.close();
  });
});

describe('Socket.IO', () => {
  test('sends the expected first frames of a WebSocket', async () => {
    const frames: string[] = [];
    let pings = 0;
    const socket = new WebSocket(`${wsUrl}/socket.io/?EIO=4&transport=websocket&subscriptions=block,mempool`);
    // The server pings with a separate timer, so a ping may arrive between any two frames.
    socket.onmessage = ({ data }) => {
      if (data === '2') pings++;
      else frames.push(String(data));
    };
    await until(() => frames.length === 1);
    expect(JSON.parse(frames[0]!.slice(1))).toMatchObject({
      upgrades: [],
      pingInterval: 1000,
      pingTimeout: 300_000,
      maxPayload: 1_000_000,
    });
    socket.send('40');
    await until(() => frames.length === 2);
    expect(frames[1]).toMatch(/^40\{"sid":"/);
    socket.send('420["subscribe","block"]');
    await until(() => frames.includes('430[null]'));
    await until(() => pings > 0);
    socket.close();
  });

  test('rejects requests that violate the protocol', async () => {
    const cases: [path: string, code: number, message: string][] = [
      ['/socket.io/?EIO=4&transport=pigeon', 0, 'Transport unknown'],
      ['/socket.io/?EIO=4&transport=polling&sid=unknown', 1, 'Session ID unknown'],
      ['/socket.io/?EIO=3&transport=polling', 5, 'Unsupported protocol version'],
    ];
    for (const [path, code, message] of cases) {
      const response = await server.get(path);
      expect([response.status, await response.json()]).toEqual([400, { code, message }]);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
    }
    const posted = await server.get('/socket.io/?EIO=4&transport=polling', { method: 'POST', body: '' });
    expect(await posted.json()).toEqual({ code: 2, message: 'Bad handshake method' });
  });

  test('returns 400 for an upgrade without its key', async () => {
    const lines = ['GET /socket.io/?EIO=4&transport=websocket HTTP/1.1', 'Host: localhost', 'Upgrade: websocket'];
    const { status } = await rawExchange(server.api, `${lines.join('\r\n')}\r\nConnection: Upgrade\r\n\r\n`);
    expect(status).toBe(400);
  });

  test.each([[['websocket']], [['polling']]])('checks the topics in the URL, with %p', async (transports) => {
    const good = connect({ subscriptions: `block,address-transaction:${ADDRESS}` }, transports);
    expect(await untilConnected(good)).toBeNull();
    const bad = connect({ subscriptions: 'block,nope,transaction:0x1' }, transports);
    expect(await untilConnected(bad)).toBe('Invalid topic: nope, transaction:0x1');
    const empty = connect({ subscriptions: '' }, transports);
    expect(await untilConnected(empty)).toBeNull();
    for (const socket of [good, bad, empty]) socket.disconnect();
  });

  test('subscribe rejects an unknown topic, and accepts lists', async () => {
    const socket = connect();
    await untilConnected(socket);
    expect(await socket.emitWithAck('subscribe', 'nope')).toBe('Invalid topic: nope');
    expect(await socket.emitWithAck('subscribe', ['block', 'mempool'])).toBeNull();
    expect(await socket.emitWithAck('subscribe', { not: 'a topic' })).toStartWith('Invalid topic: ');
    expect(await metric('stackside_subscriptions{topic="mempool"}')).toBe(1);
    socket.disconnect();
    await until(async () => (await metric('stackside_subscriptions{topic="mempool"}')) === 0);
  });

  test("sends a topic under the client's own spelling", async () => {
    const transaction = transfer(alice, 0, 300);
    const spelled = `transaction:${transaction.id.slice(2).toUpperCase()}`;
    const socket = connect({ subscriptions: spelled });
    await untilConnected(socket);
    const pushed = new Promise<{ tx_id: string }>((resolve) => socket.on(spelled, resolve));
    await post(announcement([transaction]));
    expect((await pushed).tx_id).toBe(transaction.id);
    socket.disconnect();
  });

  test('sends nothing for topics that the client unsubscribed from', async () => {
    const socket = connect({ subscriptions: 'mempool,block' });
    await untilConnected(socket);
    const heard: unknown[] = [];
    socket.on('mempool', (message) => void heard.push(message));
    socket.emit('unsubscribe', 'mempool', 'block');
    await socket.emitWithAck('subscribe', 'microblock');
    const other = connect({ subscriptions: 'mempool' });
    await untilConnected(other);
    const pushed = new Promise((resolve) => other.once('mempool', resolve));
    await post(announcement([transfer(alice, 1, 300)]));
    await pushed;
    // Everything sent to the client arrived before this answer.
    await socket.emitWithAck('subscribe', 'microblock');
    expect(heard).toEqual([]);
    for (const client of [socket, other]) client.disconnect();
  });
});

const post = ({ path, text }: ReceivedEvent, to = server) => to.post([{ path, body: text, time: 0 }]);

/** Starts a server that disconnects a client with more than 64 KB of unread messages. */
const withBacklog = () => serving({}, undefined, {}, { clientLimits: { maxBacklog: 65_536 } });

test('a client that reads nothing is disconnected at the backlog limit, while others still get messages', async () => {
  await using patient = await withBacklog();
  const first = block(null, 'first');
  await post(first.event, patient);
  const subscribe = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscribe', params: { event: 'mempool' } });
  const slow = await rawWebSocket('/extended/v1/ws', patient);
  slow.send(rawFrame('TEXT', subscribe));
  const quick = await openWebSocket(`${patient.api.replace('http', 'ws')}/extended/v1/ws`);
  let count = 0;
  quick.onmessage = () => void count++;
  quick.send(subscribe);
  await until(() => count === 1);
  slow.pause();
  let nonce = 0;
  await until(async () => {
    const some = Array.from({ length: 200 }, () => transfer(alice, nonce++, 400));
    await post(announcement(some), patient);
    return (await metric('websocket_cut_off_total', patient)) === 1;
  });
  await until(() => count === nonce + 1);
  expect(await metric('websocket_connections', patient)).toBe(1);
  quick.close();
});

const PATHS = { websocket: '/extended/v1/ws', socket_io: '/socket.io/?EIO=4&transport=websocket' };

describe.each(['websocket', 'socket_io'] as const)('a client of %s', (protocol) => {
  let attacked: Serving;
  beforeAll(async () => {
    attacked = await withBacklog();
  });
  afterAll(() => attacked[Symbol.asyncDispose]());

  test.each(['PING', 'PONG'] as const)(
    'is disconnected if it sends %s frames faster than the server handles them',
    async (frame) => {
      const before = await metric(`${protocol}_refused_total`, attacked);
      const hostile = await rawWebSocket(PATHS[protocol], attacked);
      const bytes = rawFrame(frame);
      expect(hostile.send(...Array(200_000).fill(bytes)) / bytes.length).toBeGreaterThan(100_000);
      await until(() => hostile.isClosed(), 'the end of the connection');
      expect(await metric(`${protocol}_refused_total`, attacked)).toBe(before + 1);
    },
  );

  test('is disconnected if it sends PINGs and reads no PONGs', async () => {
    const before = await metric(`${protocol}_cut_off_total`, attacked);
    const slow = await rawWebSocket(PATHS[protocol], attacked);
    slow.pause();
    const pings = Buffer.concat(Array(200).fill(rawFrame('PING', 'x'.repeat(125))));
    while (!slow.isClosed() && slow.send(pings) === pings.length) {
      // The server handles at least one waiting frame per turn.
      for (let turn = 0; turn < 500; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => slow.isClosed(), 'the end of the connection');
    expect(await metric(`${protocol}_cut_off_total`, attacked)).toBe(before + 1);
    slow.end();
  });
});

test.each(['websocket', 'polling'])(
  'a client with %s that keeps reading gets more than the backlog limit',
  async (transport) => {
    await using patient = await withBacklog();
    await post(block(null, 'first').event, patient);
    const client = connect({ subscriptions: 'mempool' }, [transport], patient);
    await untilConnected(client);
    let count = 0;
    let characters = 0;
    client.on('mempool', (message) => {
      count++;
      characters += JSON.stringify(message).length;
    });
    let nonce = 0;
    while (characters < 2 * 65_536) {
      await post(announcement(Array.from({ length: 30 }, () => transfer(alice, nonce++, 400))), patient);
      await until(() => count === nonce);
    }
    expect(await metric('socket_io_cut_off_total', patient)).toBe(0);
    client.disconnect();
  },
);

test('a client that stops polling is disconnected at the backlog limit', async () => {
  await using patient = await withBacklog();
  await post(block(null, 'first').event, patient);
  const query = '/socket.io/?EIO=4&transport=polling';
  const ask = async (path: string, init?: RequestInit) => (await patient.get(path, init)).text();
  const { sid } = JSON.parse((await ask(query)).slice(1)) as { sid: string };
  await ask(`${query}&sid=${sid}`, { method: 'POST', body: '40' });
  expect(await ask(`${query}&sid=${sid}`)).toStartWith('40');
  await ask(`${query}&sid=${sid}`, { method: 'POST', body: '420["subscribe","mempool"]' });
  expect(await ask(`${query}&sid=${sid}`)).toBe('430[null]');
  await post(announcement(Array.from({ length: 200 }, (_, nonce) => transfer(alice, nonce, 400))), patient);
  await until(async () => (await metric('socket_io_cut_off_total', patient)) === 1);
  // The client may still fetch the waiting messages, and then the connection ends.
  const rest = await ask(`${query}&sid=${sid}`);
  expect(rest.length).toBeGreaterThan(10_000);
  expect(rest.length).toBeLessThan(2 * 65_536);
  expect((await patient.get(`${query}&sid=${sid}`)).status).toBe(400);
  expect(await metric('socket_io_connections', patient)).toBe(0);
});

test("a stopping server notifies its clients, and doesn't wait for them", async () => {
  // The time that it would give its clients never passes.
  const stopping = await serving({}, undefined, {}, { clock: heldClock([GRACE_MS]) });
  const socket = await openWebSocket(`${stopping.api.replace('http', 'ws')}/extended/v1/ws`);
  const closed = new Promise<number>((resolve) => {
    socket.onclose = ({ code }) => resolve(code);
  });
  const polling = connect({}, ['polling'], stopping);
  await untilConnected(polling);
  await stopping[Symbol.asyncDispose]();
  expect(await closed).toBe(1001);
  polling.disconnect();
});

test('a server with partial history rejects address-stx-balance with a reason', async () => {
  const events = [...devnetEvents({ seed: 2, blocks: 4, mempool: false })];
  const [beginning] = beginnings(events).filter(({ height }) => height === 3);
  using directory = ingestOf((beginning?.events ?? []).map(received));
  await using late = await serving({}, directory.path);
  const reason = 'address-stx-balance needs older blocks: the history of this server begins at block 3';
  expect(await (await late.get('/stackside/v1/status')).json()).toMatchObject({
    index: { height: 4, chain_id: 0x8000_0000, history_from: 3 },
    node: { height: null, chain_id: null },
  });

  const socket = new WebSocket(`${late.api.replace('http', 'ws')}/extended/v1/ws`);
  const got: unknown[] = [];
  socket.onmessage = ({ data }) => got.push(JSON.parse(data));
  socket.onopen = () => {
    for (const event of ['address_balance_update', 'address_tx_update']) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscribe', params: { event, address: ADDRESS } }));
    }
  };
  await until(() => got.length === 2);
  expect(got).toMatchObject([{ error: { message: 'Invalid params', data: reason } }, { result: { address: ADDRESS } }]);
  socket.close();

  const refused = connect({ subscriptions: `block,address-stx-balance:${ADDRESS}` }, ['websocket'], late);
  expect(await untilConnected(refused)).toBe(reason);
  const client = connect({ subscriptions: `block,address-transaction:${ADDRESS}` }, ['websocket'], late);
  expect(await untilConnected(client)).toBeNull();
  expect(await client.emitWithAck('subscribe', `address-stx-balance:${ADDRESS}`)).toBe(reason);
  for (const each of [refused, client]) each.close();
});
