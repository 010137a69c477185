/** Connections that fail in their handler, and silent connections. */
import { describe, expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import {
  type ConnectionEvent,
  type ConnectionMetrics,
  connectionGuard,
  type EndReason,
  MessageError,
  PING,
  PONG,
} from '../../src/live/connection.ts';
import { heartbeat } from '../../src/live/realtime.ts';
import { type IoSocketData, socketIo } from '../../src/live/socket-io.ts';
import { createSubscriptions, Message, plainTopic } from '../../src/live/subscriptions.ts';
import { RpcConnection } from '../../src/live/websocket.ts';
import { openWebSocket } from '../support/servers/raw-web-socket.ts';

function countMetrics() {
  const counted: string[] = [];
  const count = (name: string) => () => void counted.push(name);
  const metrics: ConnectionMetrics = {
    connected: () => {},
    disconnected: () => {},
    sent: () => {},
    cutOff: count('cut off'),
    refused: count('refused'),
    failed: count('failed'),
  };
  return { counted, metrics };
}

function openGuard() {
  const { counted, metrics } = countMetrics();
  const logged: ConnectionEvent[] = [];
  const guard = connectionGuard('websocket', metrics, (event) => void logged.push(event));
  return { counted, metrics, logged, guard };
}

const failing = (cause: unknown) => (): never => {
  throw cause;
};

describe('a handler', () => {
  test('that fails ends its connection, and is logged and counted', () => {
    const { guard, counted, logged } = openGuard();
    const ends: EndReason[] = [];
    const cause = new RangeError('deep');
    guard(failing(cause), (reason) => void ends.push(reason));
    expect(ends).toEqual(['failed']);
    expect(counted).toEqual(['failed']);
    expect(logged).toEqual([{ event: 'unexpected_error', part: 'realtime', protocol: 'websocket', cause }]);
  });

  test("that rejects a client's message ends its connection, and counts as rejected", () => {
    const { guard, counted, logged } = openGuard();
    const ends: EndReason[] = [];
    guard(failing(new MessageError('too deep')), (reason) => void ends.push(reason));
    expect(ends).toEqual(['refused']);
    expect(counted).toEqual(['refused']);
    expect(logged).toEqual([{ event: 'client_message_refused', protocol: 'websocket', reason: 'too deep' }]);
  });

  test('that fails twice throws nothing', () => {
    const { guard, counted } = openGuard();
    guard(failing(new Error('one')), failing(new Error('two')));
    expect(counted).toEqual(['failed', 'failed']);
  });
});

/** Returns a connection over a fake socket, and the calls to that socket. */
function connection(send: () => number = () => 1, count = () => {}) {
  const { counted, metrics, guard } = openGuard();
  const all = createSubscriptions();
  const rpc = new RpcConnection({ subscriptions: all, metrics, guard }, count);
  const done: string[] = [];
  const socket = {
    send,
    ping: () => void done.push('ping'),
    close: (code: number) => void done.push(`close ${code}`),
    terminate: () => void done.push('terminate'),
  };
  rpc.opened(socket as unknown as Bun.ServerWebSocket<RpcConnection>);
  return { rpc, all, done, counted };
}

test('a connection with failing handlers is closed with 1011, and others still get messages', () => {
  const broken = connection(failing(new Error('socket')));
  const whole = connection();
  broken.rpc.received('{}');
  expect([broken.done, broken.counted]).toEqual([['close 1011'], ['failed']]);
  const { all } = broken;
  const topic = plainTopic('block');
  const pushed: string[] = [];
  all.add(broken.rpc, topic, '');
  all.add({ deliver: (message) => void pushed.push(message.topic.key) }, topic, '');
  all.publish(new Message({ topic, text: '{}' }));
  expect(pushed).toEqual(['block']);
  expect(whole.done).toEqual([]);
});

test('a failing Socket.IO handler closes only the connection that failed', async () => {
  const { counted, metrics, guard, logged } = openGuard();
  const cause = new Error('subscriptions');
  const { handle, opened, received, closed } = socketIo({
    subscriptions: { ...createSubscriptions(), add: failing(cause) },
    metrics,
    guard,
    pingIntervalMs: 10_000,
    pingTimeoutMs: 10_000,
    maxBacklog: 10_000,
    clock: systemClock,
  });
  using server = Bun.serve<IoSocketData>({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, to) => handle(request, to, () => {}),
    websocket: { open: opened, message: received, close: closed },
  });
  const socket = await openWebSocket(`${server.url.origin.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`);
  const ended = new Promise((resolve) => {
    socket.onclose = resolve;
  });
  for (const packet of ['40', '42["subscribe","block"]']) socket.send(packet);
  await ended;
  expect(counted).toEqual(['failed']);
  expect(logged).toEqual([{ event: 'unexpected_error', part: 'realtime', protocol: 'websocket', cause }]);
});

describe('a silent client', () => {
  test('stays connected if it answers or sends anything', () => {
    const { rpc, done } = connection();
    rpc.checkAlive(false);
    rpc.receivedControlFrame(PONG);
    rpc.checkAlive(false);
    rpc.received('{}');
    rpc.checkAlive(false);
    rpc.receivedControlFrame(PING);
    rpc.checkAlive(false);
    expect(done).toEqual(['ping', 'ping', 'ping', 'ping']);
  });

  test('has its control frames counted as messages, except the answer to a ping', () => {
    let messages = 0;
    const { rpc } = connection(undefined, () => void messages++);
    rpc.receivedControlFrame(PONG);
    rpc.receivedControlFrame(PING);
    expect(messages).toBe(2);
    rpc.checkAlive(false);
    rpc.receivedControlFrame(PONG);
    expect(messages).toBe(2);
    rpc.receivedControlFrame(PONG);
    expect(messages).toBe(3);
  });

  test('is pinged again if the server was too busy to read the answer', () => {
    const { rpc, done } = connection();
    rpc.checkAlive(false);
    rpc.checkAlive(true);
    expect(done).toEqual(['ping', 'ping']);
    rpc.checkAlive(false);
    expect(done).toEqual(['ping', 'ping', 'terminate']);
  });
});

test('a late heartbeat reports that it is late, and the next counts from it', () => {
  let time = 500;
  const late: boolean[] = [];
  const now = () => time;
  const beat = heartbeat(1000, now, (isLate) => void late.push(isLate));
  for (const passed of [1000, 1400, 1501, 1000, 60_000, 1000]) {
    time += passed;
    beat();
  }
  expect(late).toEqual([false, false, true, false, true, false]);
});
