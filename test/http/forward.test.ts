import { expect, test } from 'bun:test';
import { forwardTo } from '../../src/http/forward.ts';
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
