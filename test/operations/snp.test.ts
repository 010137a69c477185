/** A server that receives its events from stacks-node-publisher. */
import { expect, test } from 'bun:test';
import { simulatedEvents } from '../support/data/ingest.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { hasRedis, startRedis } from '../support/servers/redis.ts';
import { serving } from '../support/servers/serving.ts';
import { SnpBroker } from '../support/servers/snp-broker.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { until } from '../support/time/until.ts';

const events = simulatedEvents({ seed: 5, blocks: 2, transactionsPerBlock: 1 });

describeWith('Redis', hasRedis, () => {
  test('has no event port, is ready with the last block, and reports the reason if Redis is down', async () => {
    await using redis = await startRedis();
    const broker = new SnpBroker(redis.url, 'mainnet:');
    await broker.start();
    broker.keep(events);
    await using server = await serving({ snp: redis.url, snpKeyPrefix: 'mainnet' });
    const ready = async () => (await (await server.get('/ready')).json()) as { ready: boolean; state: string };
    expect(server.events).toBe('');
    await until(async () => (await ready()).ready);
    const status = (await (await server.get('/stackside/v1/status')).json()) as { events: { endpoint: string } };
    expect(status.events.endpoint).toBe(`127.0.0.1:${redis.port}`);
    const series = (name: string) => metricOf(server.api, name);
    await until(async () => (await series('stackside_snp_sequence')) === events.length);
    expect(await series('stackside_snp_handshakes_total{reason="start"}')).toBe(1);
    expect(await series('stackside_events_total{event="/new_block",outcome="applied"}')).toBeGreaterThan(0);
    await broker.stop();
    await redis.kill();
    await until(async () => !(await ready()).ready);
    expect(await ready()).toMatchObject({
      state: 'stale',
      reason: `No events arrive: Redis at 127.0.0.1:${redis.port} can't be reached, refuses the login, or closed the connection.`,
    });
    // The server still answers from its index.
    expect((await server.get('/extended/v2/blocks')).status).toBe(200);
  });

  test('without an API uses its event port for health and metrics', async () => {
    await using redis = await startRedis();
    await using server = await serving({ snp: redis.url, mode: 'write' });
    expect((await fetch(`${server.events}/health`)).status).toBe(200);
    expect(await (await fetch(`${server.events}/ready`)).json()).toMatchObject({
      state: 'waiting_for_the_first_event',
    });
  });
});
