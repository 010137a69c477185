import { expect, test } from 'bun:test';
import { forwardedBody, forwardTo } from '../../src/http/forward.ts';
import { standInNode } from '../support/servers/stand-in-node.ts';

test('a body over the limit is rejected before it is forwarded', async () => {
  using server = standInNode();
  const forward = forwardTo(server.url, 10);
  const response = await forward(new Request('http://api/x', { method: 'POST', body: '12345678901' }));
  expect([response.status, await response.json()]).toEqual([
    413,
    { statusCode: 413, error: 'Payload Too Large', message: 'The body must not be longer than 10 bytes' },
  ]);
  expect(server.requests).toEqual([]);
});

test('a disconnected client is not an error, but an unreachable server is', async () => {
  const nobody = forwardTo('http://127.0.0.1:1', 10);
  const gone = await nobody(new Request('http://api/x', { signal: AbortSignal.abort() }));
  expect(gone.status).toBe(400);
  await expect(nobody(new Request('http://api/x'))).rejects.toThrow();
});

/** A request whose body a test sends in parts. */
function unfinished() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  return { request: new Request('http://api/v2/x', { method: 'POST', body: readable }), writer };
}

test('a large body is rejected while unfinished bodies use too much memory, and accepted afterwards', async () => {
  const part = new Uint8Array(9_000_000);
  const clients = Array.from({ length: 12 }, unfinished);
  const bodies = clients.map(({ request }) => forwardedBody(request).catch((error: unknown) => error));
  await Promise.all(clients.map(({ writer }) => writer.write(part).catch(() => {})));
  const rejected = await Promise.race(bodies);
  expect(rejected).toMatchObject({ status: 503, message: 'Too many large request bodies are being received; retry' });
  const another = new Request('http://api/v2/x', { method: 'POST', body: part });
  const fromThread = await forwardTo('http://127.0.0.1:1', 10_000_000)(another);
  expect([fromThread.status, fromThread.headers.get('retry-after')]).toEqual([503, '1']);
  const small = await forwardedBody(new Request('http://api/v2/x', { method: 'POST', body: 'a transaction' }));
  expect(small?.length).toBe(13);
  for (const { writer } of clients) void writer.close().catch(() => {});
  const outcomes = await Promise.all(bodies);
  expect(outcomes.filter((outcome) => outcome instanceof Uint8Array)).toHaveLength(11);
  const body = await forwardedBody(new Request('http://api/v2/x', { method: 'POST', body: part }));
  expect(body?.length).toBe(part.length);
});

test('a body that is not complete in its time is rejected', async () => {
  let time = 0;
  const { request, writer } = unfinished();
  const body = forwardedBody(request, () => time).catch((error: unknown) => error);
  await writer.write(new Uint8Array(1));
  time = 60_001;
  void writer.write(new Uint8Array(1)).catch(() => {});
  expect(await body).toMatchObject({ status: 400, message: 'The body was not complete after 60 s' });
});
