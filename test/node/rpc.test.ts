/** How long the client keeps the node's tip. */
import { expect, setSystemTime, test } from 'bun:test';
import { nodeRpc } from '../../src/node/rpc.ts';
import { standInNode } from '../support/servers/stand-in-node.ts';

test('a wall clock that is set back by an hour does not keep an old height', async () => {
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
