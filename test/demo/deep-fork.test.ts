/** Chainhooks of a devnet, whose commands can orphan blocks that no chain would orphan. */
import { expect, test } from 'bun:test';
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { demo } from './demo.ts';

/** Milliseconds between two runs of the chainhooks' retention. */
const RETENTION_MS = 60_000;

interface Delivery {
  event: Record<'apply' | 'rollback', { block_identifier: { hash: string } }[]>;
}

test('a revert of more than 150 Bitcoin blocks is delivered as a rollback, even after the retention has run', async () => {
  const deliveries: Delivery[] = [];
  await using receiver = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      deliveries.push((await request.json()) as Delivery);
      return new Response(null, { status: 204 });
    },
  });
  const clock = heldClock([RETENTION_MS]);
  await using server = await demo({}, { ...realEnvironment, clock });
  const { status } = await server.post('/chainhooks/me', {
    name: 'transfers',
    version: '1',
    chain: 'stacks',
    network: 'testnet',
    filters: { events: [{ type: 'stx_transfer' }] },
    options: { enable_on_registration: true },
    action: { type: 'http_post', url: `${receiver.url}` },
  });
  expect(status).toBe(200);
  await server.steer('snapshot');
  const { block } = await server.steer('fund', {
    address: 'ST1SJ3DTE5DN7X54YDH5D64R3BCB6A2AG2ZQ8YPD5',
    amount: '1000',
  });
  await until(() => deliveries.length === 1, 'the delivery of the payment');
  await server.steer('bitcoin', { count: 200 });
  const waiting = clock.waiting(RETENTION_MS);
  clock.pass(RETENTION_MS);
  await until(() => clock.waiting(RETENTION_MS) === waiting, 'the retention');
  await server.steer('revert', { snapshot: 'default' });
  await until(() => deliveries.some(({ event }) => event.rollback.length > 0), 'the delivery of the rollback');
  const hashes = deliveries.flatMap(({ event }) => event.rollback.map((orphan) => orphan.block_identifier.hash));
  expect(hashes).toContain(block.index_block_hash);
});
