import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { durationInWords } from '../../src/base/format.ts';
import { askHealth, READ_TIMEOUT_MS } from '../../src/commands/cli/client.ts';
import { reportStatus } from '../../src/commands/data/check.ts';
import { runChecks } from '../../src/commands/doctor/checks.ts';
import { gatherFacts } from '../../src/commands/doctor/facts.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readAdminKey } from '../../src/hooks/access/keys.ts';
import { observerToml } from '../../src/node/node-config.ts';
import { nodeRpc } from '../../src/node/rpc.ts';
import { readSettings } from '../../src/settings/config.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { dataStateOf } from '../../src/store/files/status.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { metricsPage, pageWithMetrics } from '../support/generate/metrics-table.ts';
import { NO_NODE, type Serving, serving } from '../support/servers/serving.ts';
import { standInNode, TESTNET_INFO } from '../support/servers/stand-in-node.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const events = [...devnetEvents({ seed: 5, blocks: 12, transactionsPerBlock: 4 })];
const node = standInNode();
const server = await serving({ nodeRpc: node.url });
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  node[Symbol.dispose]();
});

/** The value of each series, by its name with its labels. */
async function metrics(base = server.api): Promise<Map<string, number>> {
  const response = await fetch(`${base}/metrics`);
  expect(response.headers.get('content-type')).toStartWith('text/plain');
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

async function ready() {
  const response = await server.get('/ready');
  return { status: response.status, body: (await response.json()) as { node_height?: number | null } };
}

test('before the first event, /ready returns the next step with the observer section, and /health is 200', async () => {
  const { host } = new URL(server.events);
  const standing = {
    ready: false,
    state: 'waiting_for_the_first_event',
    reason: 'The node is at block 0, and no event has arrived yet.',
    next: "Add this section to the node's configuration, and restart the node.",
    observer: observerToml(host),
  };
  expect(await ready()).toMatchObject({ status: 503, body: standing });
  expect(await (await server.get('/stackside/v1/status')).json()).toMatchObject({
    ...standing,
    index: { height: null, chain_id: TESTNET_INFO.network_id },
    node: { height: 0, chain_id: TESTNET_INFO.network_id },
  });
  const health = await server.get('/health');
  expect([health.status, await health.json()]).toEqual([200, { status: 'alive' }]);
  const seen = await metrics();
  expect([seen.get('stacks_block_height'), seen.get('stackside_tip_age_seconds')]).toEqual([0, undefined]);
});

test('stackside status --alive and --ready query /health and /ready, and fail with the reason', async () => {
  expect(await askHealth(server.api, 'alive')).toBe('alive');
  const refused = {
    message: `${server.api} is not ready. The node is at block 0, and no event has arrived yet.`,
    remedy: "Add this section to the node's configuration, and restart the node.",
    exitCode: 1,
  };
  expect(await askHealth(server.api, 'ready').catch((error: unknown) => error)).toMatchObject(refused);
  // Another program that listens on the port.
  using other = standInNode();
  other.answer('/health', () => new Response('Not found', { status: 404 }));
  await expect(askHealth(other.url, 'alive')).rejects.toThrow(`${other.url} is not alive. /health answers 404.`);
  await expect(askHealth(NO_NODE, 'alive')).rejects.toThrow(`No Stackside answers at ${NO_NODE}.`);
});

test('stackside status reports a server that does not answer in time, even without an index', async () => {
  using directory = dataDirectory();
  await using hung = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Promise<Response>(() => {}) });
  const url = hung.url.origin;
  using written = spyOn(process.stdout, 'write').mockImplementation(() => true);
  const clock = heldClock([READ_TIMEOUT_MS]);
  const report = reportStatus({ url, data: directory.path }, false, clock);
  await until(() => clock.waiting(READ_TIMEOUT_MS) === 1);
  clock.pass(READ_TIMEOUT_MS);
  await report;
  expect(written.mock.calls.join('')).toStartWith(
    `server         ${url} did not answer in time; read that server's log\ndata           no index in `,
  );
});

test('stackside status of a server whose index was deleted prints the state, and then names stackside rebuild', async () => {
  using directory = ingestOf(simulatedEvents({ seed: 5, blocks: 2 }));
  for (const suffix of ['', '-wal', '-shm']) rmSync(indexPath(directory.path) + suffix, { force: true });
  using written = spyOn(process.stdout, 'write').mockImplementation(() => true);
  await expect(reportStatus({ url: server.api, data: directory.path }, false)).rejects.toMatchObject({
    message: `The index ${indexPath(directory.path)} is missing, but ${directory.path} contains a journal.`,
    remedy: 'Rebuild the index from its journal: stackside rebuild.',
  });
  expect(written.mock.calls.join('')).toMatch(/^server +\S.*\nnext +\S.*\n/);
  expect(written.mock.calls.join('')).not.toContain('no index in');
});

test('docs/logs.md lists the current metrics (bun run generate writes them)', async () => {
  const served = await (await server.get('/metrics')).text();
  expect(await pageWithMetrics(served)).toBe(await Bun.file(metricsPage).text());
});

describe('over a chain', () => {
  beforeAll(() => server.post(events));

  test('/ready reports the heights of the index and of its node', async () => {
    const infoWith = (height: number) =>
      node.answer('/v2/info', () => Response.json({ ...TESTNET_INFO, stacks_tip_height: height }));
    infoWith(50);
    await until(async () => (await ready()).body.node_height === 50);
    expect(await ready()).toMatchObject({
      status: 503,
      body: {
        ready: false,
        state: 'catching_up',
        reason: expect.stringMatching(/^The index is at block 12, and the node is at block 50[,.]/),
        height: 12,
        node_height: 50,
      },
    });
    expect((await metrics()).get('stackside_blocks_behind_node')).toBe(38);
    infoWith(13);
    await until(async () => (await ready()).body.node_height === 13);
    expect(await ready()).toMatchObject({ status: 200, body: { ready: true, node_height: 13 } });
    expect(await askHealth(server.api, 'ready')).toBe('ready');
  });

  test('/metrics contains heights, events by path, pending transactions and sizes', async () => {
    const seen = await metrics();
    const blocks = events.filter(({ path }) => path === '/new_block').length;
    expect(seen.get('stacks_block_height')).toBe(12);
    expect(seen.get('burn_block_height')).toBeGreaterThan(0);
    expect(seen.get('stackside_tip_age_seconds')).toBeGreaterThan(0);
    expect(seen.get('stackside_node_reachable')).toBe(1);
    const countOf = (outcome: string) =>
      seen.get(`stackside_events_total{event="/new_block",outcome="${outcome}"}`) ?? 0;
    expect(countOf('applied')).toBeGreaterThan(11);
    expect(countOf('applied') + countOf('repeated')).toBe(blocks);
    expect(seen.get('stacks_event_ingestion_timers_count{event="/new_block"}')).toBe(blocks);
    expect(seen.get('stackside_events_in_flight')).toBe(0);
    expect(seen.get('stackside_file_bytes{file="index.db"}')).toBeGreaterThan(0);
    expect(seen.get('stackside_file_bytes{file="journal.db-wal"}')).toBeGreaterThan(0);
    expect(seen.get('process_resident_memory_bytes')).toBeGreaterThan(1e6);
    const waiting = (await (await server.get('/extended/v3/mempool/transactions')).json()) as { total: number };
    const byType = [...seen].filter(([name]) => name.startsWith('mempool_tx_count{'));
    expect(byType.reduce((sum, [, count]) => sum + count, 0)).toBe(waiting.total);
    expect(waiting.total).toBeGreaterThan(0);
  });

  test('/metrics measures requests by route and status, not by path', async () => {
    const key = (status: number) =>
      `http_request_duration_seconds_count{method="GET",route="/extended/v3/transactions/{tx_id}",status_code="${status}"}`;
    const before = await metrics();
    for (const id of ['1', '2', '3']) await server.get(`/extended/v3/transactions/0x${id.repeat(64)}`);
    await server.get('/extended/v3/transactions/nonsense');
    const after = await metrics();
    expect((after.get(key(404)) ?? 0) - (before.get(key(404)) ?? 0)).toBe(3);
    expect((after.get(key(400)) ?? 0) - (before.get(key(400)) ?? 0)).toBe(1);
    await server.get('/no/such/route');
    expect([...(await metrics()).keys()].filter((name) => name.includes('/no/such'))).toEqual([]);
  });

  test('a rejected event is counted as rejected', async () => {
    await fetch(`${server.events}/new_block`, { method: 'POST', body: '{}' });
    expect((await metrics()).get('stackside_events_total{event="/new_block",outcome="rejected"}')).toBe(1);
  });

  test('the event port also serves /metrics, /health and /ready', async () => {
    const seen = await metrics(server.events);
    expect(seen.get('stacks_block_height')).toBe(12);
    // No event arrives, and the request for the metrics doesn't count as one.
    expect(seen.get('stackside_events_in_flight')).toBe(0);
    expect((await fetch(`${server.events}/health`)).status).toBe(200);
    expect((await fetch(`${server.events}/ready`)).status).toBe(200);
  });
});

test.each(['mainnet', 'testnet'] as const)(
  "if the node of %s can't be reached, the server is stale half an hour after the last event, also after a restart",
  async (network) => {
    using directory = dataDirectory();
    const time = { now: 1_800_000_000_000 };
    const last = time.now;
    let passed = 0;
    const monotonic = () => {
      passed = Math.max(passed, time.now - last);
      return systemClock.monotonic() + passed;
    };
    const clock = { ...systemClock, now: () => time.now, monotonic };
    const readyAt = async ({ get }: Serving, seconds: number) => {
      time.now = last + seconds * 1_000;
      const response = await get('/ready');
      return { status: response.status, body: await response.json() };
    };
    const stale = {
      status: 503,
      body: {
        state: 'stale',
        reason: `No event has arrived for 30 minutes, and no node answers at ${NO_NODE}.`,
        node_height: null,
      },
    };
    {
      await using alone = await serving({}, directory.path, {}, { clock });
      await alone.post([...devnetEvents({ network, seed: 5, blocks: 3, startTime: last / 1_000 })]);
      expect((await readyAt(alone, 0)).status).toBe(200);
      expect(await readyAt(alone, 1_799)).toMatchObject({
        status: 200,
        body: { ready: true, state: 'live', reason: null },
      });
      expect(await readyAt(alone, 1_800)).toMatchObject(stale);
      const seen = await metrics(alone.api);
      expect(seen.get('stackside_node_reachable')).toBe(0);
      expect(seen.has('stackside_blocks_behind_node')).toBe(false);
      // The clock was set back.
      expect((await readyAt(alone, -last / 1_000)).status).toBe(200);
    }
    await using restarted = await serving({}, directory.path, {}, { clock });
    expect(await readyAt(restarted, 1_799)).toMatchObject({ status: 200, body: { state: 'live' } });
    expect(await readyAt(restarted, 1_800)).toMatchObject(stale);
  },
);

test.each([
  [0, '0 seconds'],
  [1, '1 second'],
  [3_599, '59 minutes 59 seconds'],
  [7_200, '2 hours'],
  [90_061, '1 day 1 hour'],
])('%d seconds are %s', (seconds, text) => {
  expect(durationInWords(seconds)).toBe(text);
});

test('a stopping server answers open requests, and accepts no new ones', async () => {
  using slow = standInNode();
  const [requested, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  slow.answer('/v2/slow', async () => {
    requested.resolve();
    await released.promise;
    return new Response('late');
  });
  const stopping = await serving({ nodeRpc: slow.url });
  const inHand = stopping.get('/v2/slow');
  await requested.promise;
  const posted = stopping.post(events.slice(0, 1));
  const stopped = stopping[Symbol.asyncDispose]();
  released.resolve();
  const answer = await inHand;
  expect([answer.status, await answer.text()]).toEqual([200, 'late']);
  await Promise.all([posted, stopped]);
  expect(fetch(`${stopping.api}/extended`)).rejects.toThrow();
});

test('the state and doctor report a server that is no Stacks node', async () => {
  using other = standInNode();
  other.answer('/v2/info', undefined);
  await using lost = await serving({ nodeRpc: other.url });
  const failure = `no Stacks node answers at ${other.url}: the answer to /v2/info has status 404.`;
  expect(await (await lost.get('/ready')).json()).toMatchObject({
    state: 'waiting_for_the_node',
    reason: `No event has arrived, and ${failure}`,
  });
  const settings = readSettings({ data: lost.directory, apiPort: new URL(lost.api).port, nodeRpc: other.url }, {});
  const checks = runChecks(await gatherFacts(settings, nodeRpc(other.url), systemClock));
  expect(checks[0]).toMatchObject({ name: 'node', message: failure.replace('no', 'No') });
});

test("no page shows the password of the node's URL", async () => {
  const url = 'http://user:s3cretpw@127.0.0.1:1/x';
  await using shy = await serving({ nodeRpc: url, logLevel: 'info' });
  const pages = ['/ready', '/stackside/v1/status', '/stackside/v1/log', '/stackside/v1/system'];
  const key = readAdminKey(shy.directory) ?? '';
  const texts = await Promise.all(
    pages.map(async (page) => (await shy.get(page, { headers: { 'x-api-key': key } })).text()),
  );
  expect(texts.filter((text) => text.includes('s3cretpw'))).toEqual([]);
  expect(texts.filter((text) => text.includes('http://user:***@127.0.0.1:1/x'))).toEqual(texts);
});

test("a server uses its node's chain if neither data nor settings name one", async () => {
  node.answer('/v2/info', () => Response.json(TESTNET_INFO));
  using directory = dataDirectory();
  {
    await using _server = await serving({ nodeRpc: node.url }, directory.path);
  }
  expect(dataStateOf(directory.path).chainId).toBe(0x8000_0000);
});
