/** Requests to a server: rate, waits, size limits and retries. */
import { afterAll, expect, test } from 'bun:test';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { TemporaryError } from '../../src/base/errors.ts';
import { ANSWER_MS, NoAnswer, Server, type ServerOptions } from '../../src/commands/compare/server.ts';
import { MAX_ANSWER_BYTES } from '../../src/http/direct-fetch.ts';
import { failureOf } from '../support/failure.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

/** Returns a clock whose waits end at once and move its time. It never makes a response late. */
function quickClock(): Clock & { waits: number[] } {
  let time = 0;
  const waits: number[] = [];
  return {
    ...systemClock,
    waits,
    now: () => time,
    monotonic: () => time,
    after(milliseconds, call) {
      if (milliseconds !== ANSWER_MS) {
        waits.push(milliseconds);
        time += milliseconds;
        queueMicrotask(call);
      }
      return () => {};
    },
  };
}

const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
});

/** Returns a server, and the requests that it received. */
function serverOf(answer: (request: Request, number: number) => Response | Promise<Response>) {
  const requests: { method: string; headers: Headers }[] = [];
  const listener = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch(request) {
      requests.push({ method: request.method, headers: new Headers(request.headers) });
      return answer(request, requests.length);
    },
  });
  stops.push(() => listener.stop(true));
  return { url: `http://127.0.0.1:${listener.port}`, requests };
}

const clientOf = (url: string, clock: Clock, options: Partial<ServerOptions> = {}): Server =>
  new Server({ url, clock, rate: null, key: null, userAgent: 'stackside v0 compare', ...options });

const refusal = (asking: Promise<unknown>) => failureOf(TemporaryError, asking);

test('requests keep to the rate and send the program name and the API key', async () => {
  const clock = quickClock();
  const { url, requests } = serverOf(() => Response.json({ a: 1 }));
  const server = clientOf(url, clock, { rate: 4, key: 'the key' });
  for (let i = 0; i < 3; i++) expect(await server.ask('/a?b=c')).toMatchObject({ status: 200, body: { a: 1 } });
  expect(clock.waits).toEqual([250, 250]);
  expect(server.requests).toBe(3);
  expect(requests.map(({ method, headers }) => [method, headers.get('user-agent'), headers.get('x-api-key')])).toEqual(
    Array(3).fill(['GET', 'stackside v0 compare', 'the key']),
  );
});

test('waits as long as 429 and 503 responses require, and does not wait for hours', async () => {
  const clock = quickClock();
  const busy = serverOf((_, number) =>
    number < 3
      ? new Response('', { status: number === 1 ? 429 : 503, headers: { 'retry-after': '17' } })
      : Response.json(1),
  );
  expect(await clientOf(busy.url, clock).ask('/')).toMatchObject({ status: 200 });
  expect(clock.waits).toEqual([17_000, 17_000]);
  for (const status of [429, 503]) {
    const closed = serverOf(() => new Response('', { status, headers: { 'retry-after': '3600' } }));
    const { message } = await refusal(clientOf(closed.url, quickClock()).ask('/'));
    expect(message).toBe(`${closed.url} is too busy: it returned ${status} with Retry-After 3,600 seconds.`);
    expect(closed.requests.length).toBe(1);
  }
});

test('a 429 that stays after the retries stops the command', async () => {
  const { url, requests } = serverOf(() => new Response('', { status: 429 }));
  const { message } = await refusal(clientOf(url, quickClock()).ask('/'));
  expect(message).toBe(`${url} is too busy: it returned 429.`);
  expect(requests.length).toBe(4);
});

test('gives up on a request that a busy server never answers; five in a row stop the command', async () => {
  const clock = quickClock();
  const { url, requests } = serverOf(() => new Response('', { status: 503 }));
  const server = clientOf(url, clock);
  for (let i = 0; i < 4; i++)
    expect(await server.ask('/')).toEqual(new NoAnswer(`${url} is too busy: it returned 503`));
  expect(clock.waits.slice(0, 3)).toEqual([1_000, 4_000, 16_000]);
  expect((await refusal(server.ask('/'))).message).toBe(`${url} is too busy: it returned 503.`);
  expect(requests.length).toBe(20);
});

test('retries a 500, and returns a 502 that stays after the retries', async () => {
  const passing = serverOf((_, number) => (number === 1 ? new Response('', { status: 500 }) : Response.json(1)));
  expect(await clientOf(passing.url, quickClock()).ask('/')).toMatchObject({ status: 200 });
  const staying = serverOf(() => new Response('no', { status: 502 }));
  expect(await clientOf(staying.url, quickClock()).ask('/')).toMatchObject({ status: 502, body: 'no' });
  expect(staying.requests.length).toBe(4);
});

test('does not retry a server that returns HISTORY_INCOMPLETE', async () => {
  const { url, requests } = serverOf(() => Response.json({ code: 'HISTORY_INCOMPLETE' }, { status: 503 }));
  expect(await clientOf(url, quickClock()).ask('/')).toMatchObject({ status: 503 });
  expect(requests.length).toBe(1);
});

test('stops reading an endless body without a retry; five in a row stop the command', async () => {
  const chunk = new Uint8Array(1_000_000);
  const { url, requests } = serverOf(
    () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) })),
  );
  const server = clientOf(url, quickClock());
  for (let i = 0; i < 4; i++) {
    expect(await server.ask('/')).toEqual(new NoAnswer(`${url}'s answer is longer than ${MAX_ANSWER_BYTES} bytes`));
  }
  expect((await refusal(server.ask('/'))).message).toContain("'s answer is longer than");
  expect(requests.length).toBe(5);
});

test('gives up on a response after 30 seconds', async () => {
  const clock = heldClock([ANSWER_MS]);
  const { url, requests } = serverOf(() => new Promise<Response>(() => {}));
  const answer = clientOf(url, clock).ask('/');
  await until(() => requests.length === 1, 'the request');
  clock.pass(ANSWER_MS);
  expect(await answer).toEqual(new NoAnswer(`${url} did not answer in time`));
});

test('retries a response that breaks off, if the server has responded before', async () => {
  let requests = 0;
  const half = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf';
  const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n1';
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        requests += 1;
        socket.end(requests % 2 === 0 ? half : whole);
      },
    },
  });
  stops.push(async () => server.stop(true));
  const client = clientOf(`http://127.0.0.1:${server.port}`, quickClock());
  for (let i = 0; i < 2; i++) expect(await client.ask('/')).toMatchObject({ status: 200, body: 1 });
  expect(requests).toBe(3);
});

test('a refused connection stops the command', async () => {
  const error = await refusal(clientOf('http://127.0.0.1:1', quickClock()).ask('/'));
  expect(error.message).toBe("http://127.0.0.1:1 can't be reached.");
});

test('returns a redirect and does not follow it', async () => {
  const elsewhere = serverOf(() => Response.json('elsewhere'));
  const { url } = serverOf(() => Response.redirect(`${elsewhere.url}/x`));
  expect(await clientOf(url, quickClock(), { key: 'the key' }).ask('/away')).toMatchObject({ status: 302 });
  expect(elsewhere.requests.length).toBe(0);
});

test('large numbers keep their digits, and a body that is not JSON is returned as text', async () => {
  const bodies = ['{"a":12345678901234567890}', '{"a":12345678901234567891}', 'nonsense', '['.repeat(100_000)];
  const { url } = serverOf((_, number) => new Response(bodies[number - 1]));
  const server = clientOf(url, quickClock());
  const answers = [];
  for (const _ of bodies) answers.push(await server.ask('/'));
  const [first, second, text, deep] = answers.map((answer) => (answer instanceof NoAnswer ? null : answer.body));
  expect(first).not.toEqual(second);
  expect(text).toBe('nonsense');
  expect(deep).toBe(bodies[3]!);
});
