/** The client of the node: how long it caches the tip, and the responses that it rejects. */
import { expect, setSystemTime, test } from 'bun:test';
import { infoOrReason, NodeUnreachableError, nodeRpc } from '../../src/node/rpc.ts';
import { standInNode } from '../support/servers/stand-in-node.ts';

test('a wall clock set back by an hour does not keep an old height', async () => {
  using node = standInNode();
  let height = 7;
  node.answer('/v2/info', () => Response.json({ network_id: 1, stacks_tip_height: height++, burn_block_height: 100 }));
  let time = 0;
  const rpc = nodeRpc(node.url, { monotonic: () => time });
  setSystemTime(new Date('2026-01-01T12:00:00Z'));
  try {
    expect((await rpc.info()).height).toBe(7);
    setSystemTime(new Date('2026-01-01T11:00:00Z'));
    expect((await rpc.info()).height).toBe(7);
    time += 201;
    expect((await rpc.info()).height).toBe(8);
  } finally {
    setSystemTime();
  }
});

test('an endless response is rejected with any status', async () => {
  using node = standInNode();
  const part = new Uint8Array(1_000_000);
  const endless = () => new ReadableStream({ pull: (controller) => controller.enqueue(part) });
  for (const status of [200, 500]) {
    node.answer('/v2/info', () => new Response(endless(), { status }));
    const rpc = nodeRpc(node.url);
    for (const ask of [() => rpc.request('/v2/info'), () => rpc.json('/v2/info'), rpc.info]) {
      await expect(ask()).rejects.toThrow(new NodeUnreachableError("the node's answer is longer than 20000000 bytes"));
    }
  }
});

test('a response without a body keeps its status and headers', async () => {
  using node = standInNode();
  node.answer('/v2/nothing', () => new Response(null, { status: 204, headers: { 'x-of-node': 'yes' } }));
  const answer = await nodeRpc(node.url).request('/v2/nothing');
  expect([answer.status, answer.headers.get('x-of-node'), await answer.text()]).toEqual([204, 'yes', '']);
});

test.each<[string, () => Response, string]>([
  ['404', () => new Response('Not found', { status: 404 }), 'has status 404'],
  ['a page', () => new Response('<html></html>'), 'is not a JSON object'],
  ['a list', () => Response.json([]), 'is not a JSON object'],
  ['no height', () => Response.json({ network_id: 1, burn_block_height: 1 }), 'has no valid stacks_tip_height'],
])('a server that answers /v2/info with %s is reported as no Stacks node', async (_, answer, reason) => {
  using node = standInNode();
  node.answer('/v2/info', answer);
  expect(await infoOrReason(nodeRpc(node.url))).toEqual({
    info: null,
    reason: `no Stacks node answers at ${node.url}: the answer to /v2/info ${reason}`,
  });
});
