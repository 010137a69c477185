/** Behavior of the server itself, over a socket. */
import { afterAll, expect, test } from 'bun:test';
import { startApi } from '../../src/http/listener.ts';
import { testApp } from '../api/test-app.ts';

const start = () =>
  startApi({ app: testApp().app, hostname: '127.0.0.1', port: 0, bodyLimit: 1_000_000, log: () => {} });
const server = await start();
afterAll(() => server.stop());

/** Sends one request as it is written, to a host with a short name, and returns the complete response. */
async function exchange(head: string): Promise<string> {
  const { hostname, port } = new URL(server.url);
  let received = '';
  const { promise, resolve } = Promise.withResolvers<void>();
  await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: (socket) => void socket.write(`${head}\r\nHost: x\r\nConnection: close\r\n\r\n`),
      data: (_, bytes) => {
        received += bytes.toString('latin1');
      },
      close: () => resolve(),
    },
  });
  await promise;
  return received;
}

test('returns 431 for headers of more than 16 KiB', async () => {
  expect(await exchange(`GET /extended?x=${'a'.repeat(20_000)} HTTP/1.1`)).toStartWith('HTTP/1.1 431 ');
});

test('a stopped server refuses connections', async () => {
  const { url, stop } = await start();
  expect((await fetch(`${url}/extended`)).status).toBe(200);
  await stop();
  expect(fetch(`${url}/extended`)).rejects.toThrow();
});

/** A body of two megabytes, in one chunk without a length. */
const inChunks = (): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(2_000_000));
      controller.close();
    },
  });

const DECLARED = 'No request may have a body of more than 1000000 bytes';

test.each([
  ['that declares its length', () => new Uint8Array(2_000_000), DECLARED, null],
  ['far above the limit, and closes the connection', () => new Uint8Array(5_000_000), DECLARED, 'close'],
  ['without a length', inChunks, 'The body must not be longer than 1048576 bytes', null],
])('returns 413 as JSON for a long body %s', async (_, body, message, connection) => {
  const response = await fetch(`${server.url}/stackside/v1/principals/balances`, { method: 'POST', body: body() });
  expect([response.status, await response.json()]).toEqual([
    413,
    { statusCode: 413, error: 'Payload Too Large', message },
  ]);
  const { headers } = response;
  expect([headers.get('connection'), headers.get('access-control-allow-origin')]).toEqual([connection, '*']);
});
