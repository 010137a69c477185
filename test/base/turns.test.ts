/** Clients of one thread take turns: a client waits for one message of each other client, never for all of them. */
import { describe, expect, test } from 'bun:test';
import { Registry } from 'prom-client';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { atMost, TURN_MS, Turns, WORK_MS } from '../../src/base/turns.ts';
import { listenHttp, stopGracefully } from '../../src/http/listener.ts';
import { inboxesOf, MAX_TEXT, MAX_WAITING } from '../../src/live/connection.ts';
import { type RealtimeEvent, startRealtime } from '../../src/live/realtime.ts';
import { MAX_SUBSCRIPTIONS } from '../../src/live/subscriptions.ts';
import { liveMetrics } from '../../src/metrics/requests.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { openWebSocket } from '../support/servers/raw-web-socket.ts';
import { until } from '../support/time/until.ts';

/** A clock with turns that end when the test decides. */
class TurnClock {
  #waiting: (() => void)[] = [];
  #now = 0;
  readonly clock: Clock = {
    ...systemClock,
    monotonic: () => this.#now,
    turn: () => new Promise((resolve) => this.#waiting.push(resolve)),
  };

  /** Handling a message takes this many milliseconds. */
  works(milliseconds: number): void {
    this.#now += milliseconds;
  }

  isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Runs everything that waits for the next turn of the event loop.
   * @throws Error if nothing waits: a loop until an event happens would never end
   */
  async turn(): Promise<void> {
    if (!this.isAwaited()) throw new Error('Nobody waits for a turn.');
    for (const resolve of this.#waiting.splice(0)) {
      resolve();
      await new Promise((done) => setImmediate(done));
    }
  }
}

/**
 * Runs clients whose messages each take a given part of a turn.
 * @returns the order in which their messages were handled
 */
function clients(part: number) {
  const time = new TurnClock();
  const turns = new Turns(time.clock);
  const handled: string[] = [];
  const handle = (name: string): void => {
    time.works(part * TURN_MS);
    handled.push(name);
  };
  const inboxes = inboxesOf<{ name: string }>(turns, (_, message) => handle(String(message)));
  return {
    time,
    turns,
    handled,
    connection: (name: string) => {
      const connection = { name };
      return { send: (text: string) => inboxes.receive(connection, text), leave: () => inboxes.drop(connection) };
    },
    /** An HTTP request. */
    async request(name: string): Promise<void> {
      await turns.next();
      handle(name);
    },
  };
}

const numbered = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name}${n}`);

describe('turns', () => {
  test('messages in one turn are handled at once while time remains', () => {
    const { connection, handled } = clients(0.1);
    const a = connection('a');
    for (const message of numbered('a', 10)) a.send(message);
    expect(handled).toEqual(numbered('a', 10));
  });

  test('waiting requests continue together while time remains', async () => {
    const { handled, request, time, turns } = clients(0.05);
    // Another client uses up the turn's time.
    expect(turns.next()).toBeUndefined();
    time.works(TURN_MS);
    const answered = numbered('request', 10).map(request);
    // One turn for the first, and one for all others.
    await time.turn();
    await time.turn();
    expect(handled).toEqual(numbered('request', 10));
    await Promise.all(answered);
  });

  test('a new client waits for one message of each client, not for all', async () => {
    const { connection, handled, request, time } = clients(1);
    const [a, b] = [connection('a'), connection('b')];
    for (const message of numbered('a', 100)) a.send(message);
    for (const message of numbered('b', 100)) b.send(message);
    const answered = request('request');
    expect(handled).toEqual(['a0']);
    while (!handled.includes('request')) await time.turn();
    await answered;
    expect(handled).toEqual(['a0', 'a1', 'b0', 'request']);
  });

  test('all messages are handled, in order for each client', async () => {
    const { connection, handled, time } = clients(0.4);
    const [a, b] = [connection('a'), connection('b')];
    for (const message of numbered('a', 50)) a.send(message);
    for (const message of numbered('b', 50)) b.send(message);
    while (handled.length < 100) await time.turn();
    expect(handled.filter((name) => name.startsWith('a'))).toEqual(numbered('a', 50));
    expect(handled.filter((name) => name.startsWith('b'))).toEqual(numbered('b', 50));
  });

  test("a message's follow-up work finishes before the client's next message", async () => {
    const time = new TurnClock();
    const turns = new Turns(time.clock);
    const order: string[] = [];
    const connection = {};
    const inboxes = inboxesOf<object>(turns, (_, message) => {
      order.push(`${String(message)} begins`);
      // As Socket.IO's library joins a namespace.
      void Promise.resolve().then(() => process.nextTick(() => order.push(`${String(message)} ends`)));
    });
    // Another client uses up the turn's time.
    expect(turns.next()).toBeUndefined();
    time.works(TURN_MS);
    for (const message of ['a', 'b', 'c']) inboxes.receive(connection, message);
    while (order.length < 6) await time.turn();
    expect(order).toEqual(['a', 'b', 'c'].flatMap((message) => [`${message} begins`, `${message} ends`]));
  });

  test('a request waits for only one step of any amount of long work, and all of it is finished', async () => {
    const { handled, request, time, turns } = clients(0.5);
    const [WORKS, STEPS, REQUESTS] = [20, 3, 5];
    const works = numbered('work', WORKS).map(async (name) => {
      const pause = turns.longWork();
      for (let step = 0; step < STEPS; step++) {
        time.works(WORK_MS);
        handled.push(name);
        await pause();
      }
    });
    const isWork = (name: string): boolean => name.startsWith('work');
    for (const name of numbered('request', REQUESTS)) {
      const before = handled.length;
      void request(name);
      while (!handled.includes(name)) await time.turn();
      expect(handled.slice(before).filter(isWork).length).toBeLessThanOrEqual(2);
    }
    while (handled.length < WORKS * STEPS + REQUESTS) await time.turn();
    expect(handled.filter(isWork)).toEqual(Array(STEPS).fill(numbered('work', WORKS)).flat());
    for (let left = WORKS; left > 0; left--) await time.turn();
    await Promise.all(works);
  });

  test('a limited number of tasks run at a time, and the others start in order', async () => {
    const run = atMost(2);
    const started: string[] = [];
    const holds = new Map<string, PromiseWithResolvers<void>>();
    const work = (name: string): Promise<void> =>
      run(() => {
        started.push(name);
        const hold = Promise.withResolvers<void>();
        holds.set(name, hold);
        return hold.promise;
      });
    const works = ['a', 'b', 'c', 'd'].map(work);
    expect(started).toEqual(['a', 'b']);
    holds.get('b')?.reject(new Error('b fails'));
    await expect(works[1]).rejects.toThrow('b fails');
    expect(started).toEqual(['a', 'b', 'c']);
    // A new client doesn't overtake the waiting ones.
    works.push(work('e'));
    for (const name of ['a', 'c', 'd', 'e']) {
      holds.get(name)?.resolve();
      await works['abcde'.indexOf(name)];
    }
    expect(started).toEqual(['a', 'b', 'c', 'd', 'e']);
    const last = work('f');
    expect(started.at(-1)).toBe('f');
    holds.get('f')?.resolve();
    await last;
  });

  test('waiting messages of a disconnected client are dropped', async () => {
    const { connection, handled, request, time } = clients(1);
    const a = connection('a');
    for (const message of numbered('a', 100)) a.send(message);
    a.leave();
    const answered = request('request');
    while (!handled.includes('request')) await time.turn();
    await answered;
    expect(handled).toEqual(['a0', 'request']);
  });

  test("a client's waiting messages have a limit", () => {
    const { connection } = clients(1);
    const a = connection('a');
    const send = (text: string, times: number) => () => {
      for (let n = 0; n < times; n++) a.send(text);
    };
    // All its subscriptions, one per message.
    expect(send('x'.repeat(250), MAX_SUBSCRIPTIONS)).not.toThrow();
    expect(send('', MAX_WAITING)).toThrow('a client must NOT send messages faster than they are handled');
  });
});

test('a client may send any number of messages while few are waiting', async () => {
  const { connection, handled, time } = clients(1);
  const a = connection('a');
  const text = 'x'.repeat(MAX_TEXT);
  for (let sent = 0; sent * MAX_TEXT < 3 * MAX_WAITING; sent++) {
    a.send(text);
    // One of them waits the whole time.
    if (sent >= 2) await time.turn();
  }
  expect(handled.length * MAX_TEXT).toBeGreaterThan(2 * MAX_WAITING);
});

const noAnswer = () => new Response('', { status: 500 });
const where = { what: 'The test', hostname: '127.0.0.1', port: 0, bodyLimit: 0, idleSeconds: 0 };
const local = { ...where, fetch: noAnswer, refuse: noAnswer, log: noAnswer };

/** Turns that count the requests for one. */
class CountedTurns extends Turns {
  count = 0;

  override next(): Promise<void> | undefined {
    this.count++;
    return super.next();
  }
}

test('requests over new connections wait for their turn', async () => {
  const time = new TurnClock();
  const turns = new CountedTurns(time.clock);
  let handled = 0;
  const answer = () => {
    handled++;
    time.works(TURN_MS);
    return new Response('');
  };
  using server = listenHttp({ ...local, turns, fetch: answer });
  const requests = Array.from({ length: 6 }, () => fetch(server.url, { keepalive: false }));
  await until(() => turns.count === requests.length);
  expect(handled).toBe(1);
  while (handled < requests.length) await time.turn();
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(requests.map(() => 200));
});

test('a stopping server answers the requests that wait for their turn', async () => {
  const time = new TurnClock();
  const turns = new CountedTurns(time.clock);
  let handled = 0;
  const answer = async (request: Request) => {
    time.works(TURN_MS);
    handled++;
    return new Response(await request.text());
  };
  using server = listenHttp({ ...local, bodyLimit: 100, turns, fetch: answer });
  const bodies = numbered('event', 6);
  const requests = bodies.map((body) => fetch(server.url, { method: 'POST', body }));
  await until(() => turns.count === requests.length);
  expect(handled).toBe(1);
  const stopped = stopGracefully(server, systemClock);
  while (handled < requests.length) await time.turn();
  expect(await Promise.all(requests.map(async (request) => (await request).text()))).toEqual(bodies);
  await stopped;
});

test('a realtime client that sends faster than its messages are handled is disconnected, and others are served', async () => {
  const time = new TurnClock();
  const turns = new Turns(time.clock);
  const logged: RealtimeEvent[] = [];
  const realtime = startRealtime({
    // Without subscribers, the feed reads only the start of the index.
    snapshots: memoryIndex([]),
    metrics: liveMetrics(new Registry()),
    limits: { pingIntervalMs: 1_000_000 },
    limiter: null,
    clientAddress: () => '',
    isCounted: () => false,
    turns,
    log: (event) => void logged.push(event),
  });
  using server = listenHttp({ ...local, turns, routes: realtime.routes, websocket: realtime.websocket });
  const connect = async (path: string) => {
    const socket = await openWebSocket(server.url.href.replace('http', 'ws') + path);
    const answers: string[] = [];
    socket.onmessage = ({ data }) => void answers.push(String(data));
    return { socket, answers, closed: () => socket.readyState === WebSocket.CLOSED };
  };
  const calm = await connect('extended/v1/ws');
  const floods = [await connect('extended/v1/ws'), await connect('socket.io/?EIO=4&transport=websocket')];
  // From here on, every request waits.
  time.works(TURN_MS);
  calm.socket.send('{"jsonrpc":"2.0","id":1,"method":"none"}');
  for (const { socket } of floods)
    for (let n = 0; n * MAX_TEXT <= MAX_WAITING + MAX_TEXT; n++) socket.send('x'.repeat(MAX_TEXT));
  await until(() => floods.every(({ closed }) => closed()), 'the end of both connections');
  // In addition to the greeting of Socket.IO.
  expect(floods.flatMap(({ answers }) => answers).filter((text) => !text.startsWith('0{'))).toEqual([]);
  const reason = 'a client must NOT send messages faster than they are handled';
  expect(logged).toHaveLength(2);
  for (const protocol of ['websocket', 'socket_io'] as const) {
    expect(logged).toContainEqual({ event: 'client_message_refused', protocol, reason });
  }
  await until(async () => {
    if (time.isAwaited()) await time.turn();
    return calm.answers.length > 0;
  });
  expect(calm.answers.join()).toContain('"id":1');
  calm.socket.close();
  await realtime.stop();
});
