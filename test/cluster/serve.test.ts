/** `stackside serve` as a host of a cluster, over a log in memory. */
import { expect, spyOn, test } from 'bun:test';
import { cpSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { ASK_MS } from '../../src/cluster/lease-keeper.ts';
import { LogUnavailableError } from '../../src/cluster/shared-log.ts';
import { joinCluster, type OpenLog } from '../../src/commands/cluster/host.ts';
import { reportStatus } from '../../src/commands/data/check.ts';
import { realEnvironment } from '../../src/commands/serve/environment.ts';
import { serveUntilSignal, startServing } from '../../src/commands/serve/serve.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readAdminKey } from '../../src/hooks/access/keys.ts';
import type { SendOptions } from '../../src/http/outgoing.ts';
import type { LogEvent } from '../../src/log.ts';
import { readSettings } from '../../src/settings/config.ts';
import { definition } from '../hooks/server.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { entryOf, openAt } from '../support/data/ingest.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { opening } from '../support/data/opened-log.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { NO_NODE, type Serving, serving } from '../support/servers/serving.ts';
import { type HeldClock, heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const CLUSTER = 'postgres://nobody@127.0.0.1:1/log';
const events = [...devnetEvents({ seed: 5, blocks: 4, accounts: 4, transactionsPerBlock: 1, forkEvery: 0 })];

const host = (log: MemoryLog, flags: Record<string, string> = {}, clock: Clock = systemClock): Promise<Serving> =>
  serving({ cluster: CLUSTER, ...flags }, undefined, {}, { openLog: opening(log), clock });

interface Delivery {
  by: string;
  id: string;
  secret: string | undefined;
}

/** Hosts that deliver. @returns a function that starts a host, and everything that the hosts sent and logged */
function deliverers(log: MemoryLog) {
  const sent: Delivery[] = [];
  const logged: Record<string, LogEvent['event'][]> = {};
  const start = (by: string, { clock = systemClock, flags = {}, directory }: DelivererOptions = {}) => {
    const events: LogEvent['event'][] = [];
    logged[by] = events;
    const send = async ({ headers }: SendOptions) => {
      sent.push({ by, id: headers['webhook-id'] ?? '', secret: headers['x-chainhook-consumer-secret'] });
      return { status: 200, headers: {}, body: Buffer.alloc(0), ended: 'whole' as const };
    };
    const settings = { cluster: CLUSTER, hostName: by, ...HOOKS, ...flags };
    const createLog = () => (line: LogEvent) => void events.push(line.event);
    return serving(settings, directory, {}, { openLog: opening(log), clock, send, createLog });
  };
  return { sent, logged, start };
}

interface DelivererOptions {
  clock?: Clock;
  flags?: Record<string, string>;
  directory?: string;
}

const HOOKS = { hookAccess: 'open', hookTargets: '127.0.0.0/8' };

/** Registers a chainhook. @returns its UUID */
async function register(server: Serving, filters: object[]): Promise<string> {
  const response = await server.get('/chainhooks/me', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(definition('https://127.0.0.1:9/hook', filters, { enable_on_registration: true })),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { uuid: string }).uuid;
}

const clusterOf = async (server: Serving) => (await json(server, '/stackside/v1/status')).cluster;
const isHeld = async (server: Serving) => (await clusterOf(server)).deliveries.held;
const statusAt = async (server: Serving, uuid: string) => (await json(server, `/chainhooks/me/${uuid}`)).status;
const isDone = (server: Serving, uuid: string) => async () => (await statusAt(server, uuid)).pending_deliveries === 0;

/** Lets a host ask for the lease. */
async function ask(clock: HeldClock): Promise<void> {
  await until(() => clock.waiting(ASK_MS) > 0, 'the wait for the next question');
  clock.pass(ASK_MS);
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
const json = async (server: Serving, path: string): Promise<any> => (await server.get(path)).json();

/** Returns the lines of `stackside status` about the cluster. */
async function clusterLines({ api, directory }: Serving): Promise<string[]> {
  using written = spyOn(process.stdout, 'write').mockImplementation(() => true);
  await reportStatus({ url: api, data: directory }, false);
  const lines = written.mock.calls.join('').split('\n');
  return lines.filter((line) => line.startsWith('cluster') || line.startsWith('deliveries'));
}

const series = ({ api }: Serving, name: string) => metricOf(api, name);

test('a follower serves the events of another host; while the log is unavailable, reads continue and events get 503', async () => {
  const log = new MemoryLog();
  const clock = heldClock([75_000]);
  await using first = await host(log, { hostName: 'one' }, clock);
  await using follower = await host(log, { mode: 'read' });
  expect(follower.events).toBe('');
  await first.post(events);
  await until(async () => (await json(follower, '/ready')).height === 4);
  for (const server of [first, follower]) {
    expect(await json(server, '/ready')).toMatchObject({ ready: true, height: 4 });
    expect(await series(server, 'stackside_log_position')).toBe(log.head.id);
    expect(await series(server, 'stackside_log_lag_seconds')).toBe(0);
  }
  expect(await series(first, 'stackside_log_append_seconds_count')).toBe(log.head.id - entryOf(0));
  expect(await (await first.get('/metrics')).text()).toContain('stackside_host_info{host="one"} 1');
  const operator = { headers: { 'x-api-key': readAdminKey(first.directory) ?? '' } };
  const hosts = async () => (await first.get('/stackside/v1/hosts', operator)).json();
  const { id } = log.head;
  const level = { name: 'one', entry: id, head: id, lag_seconds: 0, reachable: true, conflicts: 0, healed: 0 };
  expect(await hosts()).toMatchObject({
    host: level,
    log: { head: { entry: id }, hosts: [{ name: 'other', entry: 1, behind: id - 1, seen_seconds_ago: 2 }] },
    problem: null,
  });
  expect((await first.get('/stackside/v1/hosts')).status).toBe(401);
  expect((await json(first, '/stackside/v1/status')).cluster).toMatchObject(level);
  // A follower manages no chainhooks, gives nothing and never delivers.
  expect((await follower.get('/chainhooks/me')).status).toBe(503);
  expect((await json(follower, '/stackside/v1/status')).cluster.deliveries).toBeNull();
  expect(await series(follower, 'stackside_delivery_lease_held')).toBeNaN();

  log.isAway = true;
  log.wake();
  const post = () =>
    fetch(`${first.events}/stackerdb_chunks`, {
      method: 'POST',
      body: '{"of":"a node"}',
      headers: { 'content-type': 'application/json' },
    });
  const refused = await post();
  expect([refused.status, await refused.json()]).toEqual([503, { error: 'the log is away' }]);
  expect((await first.get('/extended/v2/blocks/latest')).status).toBe(200);
  expect((await first.get('/ready')).status).toBe(200);
  expect(await series(first, 'stackside_log_reachable')).toBe(0);
  expect(await clusterLines(first)).toContain(`cluster        host one, entry ${id}, the shared log accepts nothing`);
  expect(await hosts()).toMatchObject({ host: { reachable: false }, log: null, problem: 'the log is away' });
  // The host can no longer know how far it is behind.
  clock.pass(75_000);
  expect((await first.get('/ready')).status).toBe(503);
  const reason = "The cluster's log has accepted nothing for 1 minute 15 seconds: the log is away.";
  expect(await json(first, '/ready')).toMatchObject({ state: 'cannot_write', reason });
  expect(await series(first, 'stackside_log_lag_seconds')).toBe(75);
  log.isAway = false;
  expect((await post()).status).toBe(200);
  expect((await first.get('/ready')).status).toBe(200);
  expect(await series(first, 'stackside_log_lag_seconds')).toBe(0);
});

test('one host at a time delivers the chainhooks of all hosts, and another continues when it stops', async () => {
  const log = new MemoryLog();
  const { sent, start } = deliverers(log);
  const half = events.length >> 1;
  await using first = await start('one');
  await until(() => isHeld(first));
  const clock = heldClock([ASK_MS]);
  await using second = await start('two', { clock });
  const uuid = await register(second, [{ type: 'coinbase' }]);
  await second.post(events.slice(0, half));
  await until(isDone(second, uuid));
  await until(async () => (await clusterOf(second)).deliveries.holder === 'one');
  const before = sent.length;
  expect(before).toBeGreaterThan(0);
  expect(await clusterOf(second)).toMatchObject({
    name: 'two',
    entry: log.head.id,
    head: log.head.id,
    deliveries: { held: false, holder: 'one', epoch: 1 },
  });
  expect(await clusterLines(second)).toEqual([
    `cluster        host two, entry ${log.head.id}, up to date`,
    'deliveries     host one',
  ]);
  expect(await series(first, 'stackside_delivery_lease_held')).toBe(1);
  expect(await (await second.get('/metrics')).text()).toContain('stackside_delivery_lease_info{holder="one"} 1');

  await first[Symbol.asyncDispose]();
  await ask(clock);
  await until(() => isHeld(second));
  await second.post(events.slice(half));
  await until(isDone(second, uuid));
  expect(sent.map(({ by }) => by)).toEqual(sent.map((_, index) => (index < before ? 'one' : 'two')));
  expect(new Set(sent.map(({ id }) => id)).size).toBe(sent.length);
  expect(sent.length).toBeGreaterThan(before);
});

test('a host is not ready before it reaches the log, or while it lags by more than 100 entries', async () => {
  const log = new MemoryLog();
  {
    await using first = await host(log);
    await first.post(devnetEvents({ seed: 5, blocks: 60, accounts: 4, transactionsPerBlock: 1, forkEvery: 0 }));
  }
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const reads: number[] = [];
  const client = log.client();
  // One entry for each read; the second read waits.
  const read = async (after: number) => {
    reads.push(after);
    await (reads.length === 1 ? reached : goOn).promise;
    return client.read(after, 1);
  };
  let passed = 0;
  const clock = { ...systemClock, monotonic: () => passed };
  const environment = { openLog: opening(log, { read }), clock };
  await using joining = await serving({ cluster: CLUSTER }, undefined, {}, environment);
  await until(() => reads.length === 1);
  const readiness = () => json(joining, '/ready');
  const reason = "This host has not reached the cluster's log yet.";
  expect(await readiness()).toMatchObject({ state: 'catching_up', ready: false, reason });
  passed = 11_000;
  expect(await readiness()).toMatchObject({ state: 'cannot_write', ready: false, reason });
  reached.resolve();
  await until(() => reads.length === 2);
  const { id } = log.head;
  expect((await clusterLines(joining))[0]).toBe(
    `cluster        host ${hostname()}, entry 1, ${id - 1} behind for 11 seconds`,
  );
  expect(await readiness()).toMatchObject({
    state: 'catching_up',
    reason: `This host is at entry 1 of the cluster's log; the newest entry is ${id}.`,
  });
  expect((await joining.get('/ready')).status).toBe(503);
  goOn.resolve();
  await until(async () => (await joining.get('/ready')).status === 200);
});

/** Serves until the host ends. @returns its error, and its log */
async function endOf(flags: Record<string, string>, openLog: OpenLog): Promise<{ ended: unknown; logged: LogEvent[] }> {
  const logged: LogEvent[] = [];
  const environment = { ...realEnvironment, createLog: () => (event: LogEvent) => void logged.push(event), openLog };
  const settings = readSettings({ cluster: CLUSTER, apiPort: '0', eventPort: '0', nodeRpc: NO_NODE, ...flags }, {});
  const presenter = { environment, log: environment.createLog(), ready: async () => {}, end() {} };
  const ended = await serveUntilSignal(
    presenter,
    await startServing(settings, environment),
    new Promise(() => {}),
  ).catch((error: unknown) => error);
  return { ended, logged };
}

test("a host of another chain than the log's ends before its first entry, and names both chains", async () => {
  const log = new MemoryLog();
  await using testnet = await host(log, { network: 'testnet' });
  await testnet.post(events.slice(0, 1));
  expect(log.chainId).toBe(0x8000_0000);
  const { id } = log.head;
  const refusal = {
    exitCode: 1,
    message: "The cluster's log belongs to testnet (chain 0x80000000), but this host to mainnet (chain 0x00000001).",
    remedy: expect.stringContaining('--network 0x80000000'),
  };
  const mainnet = host(log, { network: 'mainnet' });
  await expect(mainnet).rejects.toBeInstanceOf(OperatorError);
  await expect(mainnet).rejects.toMatchObject(refusal);
  // A log that is away when the host starts is read as soon as it answers.
  using directory = dataDirectory();
  const client = log.client();
  let reads = 0;
  const chain: typeof client.chain = async (named) => {
    reads += 1;
    if (reads === 1) throw new LogUnavailableError('the log is away');
    return client.chain(named);
  };
  const { ended, logged } = await endOf({ data: directory.path, network: 'mainnet' }, opening(log, { chain }));
  expect(ended).toMatchObject(refusal);
  expect(logged.map(({ event }) => event)).toContain('host_ended');
  expect(log.head.id).toBe(id);
});

test('a host without a network setting uses the chain of the log', async () => {
  const log = new MemoryLog();
  log.chainId = 1;
  await using first = await host(log);
  const post = ({ path, body }: NodeEvent) => fetch(`${first.events}${path}`, { method: 'POST', body });
  expect((await post(events[0]!)).status).toBe(200);
  const refused = await post(events.filter(({ path }) => path === '/new_block')[1]!);
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('0x80000000')]);
});

test('a host logs that another has its name', async () => {
  const logged: LogEvent[] = [];
  const openLog: OpenLog = async (...options) => ({
    ...(await opening(new MemoryLog())(...options)),
    report: async () => true,
  });
  const createLog = () => (event: LogEvent) => void logged.push(event);
  await using _ = await serving({ cluster: CLUSTER, hostName: 'db-1' }, undefined, {}, { openLog, createLog });
  const warnings = () => logged.filter(({ event }) => event === 'setup_warning');
  await until(() => warnings().length > 0, 'the warning');
  expect(warnings()).toMatchObject([{ problem: expect.stringContaining('the name db-1') }]);
});

test('a killed host gets its claim again when it restarts, and another host gets it after a minute', async () => {
  let now = 0;
  const log = new MemoryLog(() => now);
  using directory = dataDirectory();
  using opened = openAt(directory.path);
  const { ingest } = opened;
  await using ending = new AsyncDisposableStack();
  const hostNamed = async (hostName: string) => {
    const settings = readSettings({ cluster: CLUSTER, hostName, data: directory.path }, {});
    const common = { clock: systemClock, random: realEnvironment.random, registry: new Registry(), log: () => {} };
    const joined = await joinCluster({ settings, ingest, openLog: opening(log), ...common });
    ending.defer(() => joined?.stop());
    return joined!;
  };
  const [killed, other] = [await hostNamed('a'), await hostNamed('b')];
  expect(await killed.claim('fill')).not.toBeNull();
  expect(await other.claim('fill')).toBeNull();
  const restarted = await hostNamed('a');
  expect(await restarted.claim('fill')).not.toBeNull();
  now = 60_000;
  expect(await other.claim('fill')).not.toBeNull();
});

test('a host that may not join closes the log, which would keep its process from the end', async () => {
  using directory = dataDirectory();
  {
    using alone = openAt(directory.path, { chainId: 0x8000_0000 });
    expect(alone.ingest.chainId()).toBe(0x8000_0000);
  }
  const log = new MemoryLog();
  await log.client().chain(1);
  let closed = 0;
  const close = async () => {
    closed += 1;
  };
  const joining = serving({ cluster: CLUSTER }, directory.path, {}, { openLog: opening(log, { close }) });
  await expect(joining).rejects.toThrow("The cluster's log belongs to mainnet");
  expect(closed).toBe(1);
});

test("a host without the key follows like the others, and keeps back deliveries that it can't sign", async () => {
  const log = new MemoryLog();
  using files = dataDirectory();
  const clusterKey = join(files.path, 'secrets.key');
  writeFileSync(clusterKey, 'k'.repeat(64), { mode: 0o600 });
  const { sent, logged, start } = deliverers(log);
  const clock = heldClock([ASK_MS]);
  const third = events.length / 3;
  await using first = await start('one', { flags: { clusterKey } });
  await until(() => isHeld(first));
  await using second = await start('two', { clock });
  expect(logged.two).toContain('hook_key_unusable');
  const uuid = await register(second, [{ type: 'stx_event' }, { type: 'coinbase' }]);
  expect((await second.get('/chainhooks/me/secret', { method: 'POST' })).status).toBe(409);
  const answer = await first.get('/chainhooks/me/secret', { method: 'POST' });
  const { secret } = (await answer.json()) as { secret: string };
  await second.post(events.slice(0, third));
  await until(isDone(second, uuid), 'deliveries of the host with the key');
  expect(await statusAt(second, uuid)).toMatchObject({ paused_reason: null, enabled: true });
  expect(await series(second, 'chainhooks_secrets_unreadable')).toBe(1);
  expect(await series(first, 'chainhooks_secrets_unreadable')).toBe(0);
  const before = sent.length;

  await first[Symbol.asyncDispose]();
  await ask(clock);
  await until(() => isHeld(second), 'the lease');
  await second.post(events.slice(third));
  const { pending_deliveries: waiting, paused_reason: reason } = await statusAt(second, uuid);
  expect([waiting > 0, reason]).toEqual([true, 'secret_unreadable']);
  expect(logged.two).toContain('hook_secrets_unreadable');
  await second[Symbol.asyncDispose]();
  expect(sent).toHaveLength(before);

  // The key in the data directory counts without a flag.
  using place = dataDirectory();
  cpSync(clusterKey, join(place.path, 'secrets.key'));
  await using three = await start('three', { directory: place.path });
  await until(() => sent.length === before + waiting, 'what waited');
  await until(isDone(three, uuid), 'the last delivery result');
  expect(new Set(sent.map(({ id }) => id)).size).toBe(sent.length);
  expect(sent.every((delivery) => delivery.secret === secret)).toBe(true);
  // A host that leaves the cluster continues with its key, and warns in case it left by mistake.
  await three[Symbol.asyncDispose]();
  const lines: LogEvent[] = [];
  const createLog = () => (line: LogEvent) => void lines.push(line);
  await using alone = await serving(HOOKS, place.path, {}, { createLog });
  const left = { event: 'setup_warning', problem: expect.stringContaining('--cluster is not set') };
  expect(lines).toContainEqual(expect.objectContaining(left));
  expect((await json(alone, '/chainhooks/me/secret')).secret).toBe(secret);
});
