/** Routes for the admin key, and the recorded last hour of a server. */
import { afterAll, expect, test } from 'bun:test';
import { Registry } from 'prom-client';
import type { InspectionsState, SystemLog, SystemState } from '../../src/api/stackside/system.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { OwnProcess } from '../../src/commands/cli/this-program.ts';
import { inspections } from '../../src/commands/serve/own-processes.ts';
import { recentLog, systemLog } from '../../src/commands/serve/recent-log.ts';
import { alertsState } from '../../src/commands/serve/server-readings.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readAdminKey } from '../../src/hooks/access/keys.ts';
import { watchAlerts } from '../../src/metrics/alerts.ts';
import { eventMetrics } from '../../src/metrics/events.ts';
import { diskSpace, lastHour, RequestCounts } from '../../src/metrics/last-hour.ts';
import { tableSizes } from '../../src/store/check/tables.ts';
import { fileSizes } from '../../src/store/files/status.ts';
import { serving, startOwnProcess } from '../support/servers/serving.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

/** The password in two settings: a secret, and a URL. */
const PASSWORD = 'hunter2';
const WITH_PASSWORDS = {
  STACKSIDE_BTC_RPC: `http://user:${PASSWORD}@127.0.0.1:1`,
  STACKSIDE_HOOK_ALERT: `https://user:${PASSWORD}@127.0.0.1/`,
};
/** Contracts whose decoded values are indexed. One of them doesn't exist. */
const INDEXED = 'ST000000000000000000002AMW42H.bns ST000000000000000000002AMW42H.later:name';
/** Processes of inspections end only after this. */
const released = Promise.withResolvers<void>();
const startHeld: typeof startOwnProcess = (...args) => {
  const process = startOwnProcess(...args);
  return { ...process, ended: released.promise.then(() => process.ended) };
};
const server = await serving({ logIndex: INDEXED, callIndex: INDEXED }, undefined, WITH_PASSWORDS, {
  startOwnProcess: startHeld,
});
const admin = readAdminKey(server.directory) ?? '';
await server.post(devnetEvents({ seed: 3, blocks: 12, transactionsPerBlock: 2 }));
afterAll(() => {
  released.resolve();
  return server[Symbol.asyncDispose]();
});

async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await server.get(path, {
    ...init,
    headers: { 'x-api-key': admin, 'content-type': 'application/json' },
  });
  expect([path, response.status]).toEqual([path, 200]);
  return (await response.json()) as T;
}

test.each([
  ['GET', '/stackside/v1/system'],
  ['GET', '/stackside/v1/log'],
  ['GET', '/stackside/v1/alerts'],
  ['GET', '/stackside/v1/inspections'],
  ['POST', '/stackside/v1/inspections'],
  ['DELETE', '/stackside/v1/inspections'],
])('%s %s is for the operator only', async (method, path) => {
  const response = await server.get(path, { method });
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({
    code: 'ADMIN_KEY',
    message: expect.stringContaining('send the admin key as X-API-Key: it is in admin.key in the data directory'),
  });
});

test('settings are shown with their sources, but without secrets', async () => {
  const { settings, listeners, journal, data } = await ask<SystemState>('/stackside/v1/system');
  const settingNamed = (name: string) => settings.find((setting) => setting.name === name);
  expect(settingNamed('data')).toMatchObject({ value: server.directory });
  expect(settingNamed('hook_retention')).toMatchObject({ source: 'default', source_name: null });
  expect(settingNamed('btc_rpc')).toMatchObject({ value: 'http://user:***@127.0.0.1:1' });
  expect(settingNamed('hook_alert')).toMatchObject({ value: '<set>' });
  expect(JSON.stringify(settings)).not.toContain(PASSWORD);
  expect(listeners.map(({ url }) => url).sort()).toEqual([server.api, server.events].sort());
  expect(journal?.entries).toBeGreaterThan(12);
  expect(data.files.map(({ name }) => name)).toContain('index.db');
});

test('indexes of decoded values are shown with their progress, and the log contains an event when they are complete', async () => {
  const readIndexes = async () => (await ask<SystemState>('/stackside/v1/system')).value_indexes;
  await until(async () => (await readIndexes()).every(({ state }) => state === 'complete'));
  const contract_id = 'ST000000000000000000002AMW42H';
  expect(await readIndexes()).toEqual(
    (['logs', 'calls'] as const).flatMap((kind) => [
      { of: kind, contract_id: `${contract_id}.bns`, field: null, state: 'complete', from_height: 0 },
      { of: kind, contract_id: `${contract_id}.later`, field: 'name', state: 'complete', from_height: 0 },
    ]),
  );
  const { recent } = await ask<SystemLog>('/stackside/v1/log');
  expect(recent.filter(({ event }) => event === 'value_index_changed').length).toBe(4);
});

test('the log contains the latest events', async () => {
  const { recent } = await ask<SystemLog>('/stackside/v1/log');
  expect(recent.filter(({ event }) => event === 'block_applied').length).toBe(12);
  // This server's log prints nothing, and the server keeps debug events only if it prints them.
  expect(recent.find(({ event }) => event === 'block_applied')).toMatchObject({ level: 'info' });
  expect(recent.find(({ level }) => level === 'debug')).toBeUndefined();
});

test("many info events don't push out warnings, and long values are cut", () => {
  const passed: string[] = [];
  let time = 0;
  const now = () => (time += 1_000);
  const { log, read } = recentLog(({ event }) => passed.push(event), 'info', now);
  const path = `/${'x'.repeat(5_000)}`;
  log({ event: 'unexpected_error', part: 'request', method: 'GET', path, cause: new Error('why') } as never);
  for (let height = 0; height < 300; height++) log({ event: 'block_applied', height, transactions: 1 });
  log({ event: 'event_accepted' } as never);
  const recent = read();
  expect(passed.length).toBe(302);
  expect(recent.length).toBe(101);
  expect(recent[0]).toMatchObject({ event: 'block_applied', level: 'info', fields: '{"height":299,"transactions":1}' });
  expect(recent.at(-1)?.fields).toContain('Error: why');
  expect(recent.at(-1)?.fields.length).toBeLessThan(1_200);
  expect(recent.find(({ event }) => event === 'event_accepted')).toBeUndefined();
});

const ignore = () => {};
const silentLog = (now: () => number) => recentLog(ignore, 'info', now);

test('events of the same second are sorted newest first', () => {
  const { log, read } = silentLog(() => 1_000);
  log({ event: 'block_applied', height: 1, transactions: 1 });
  log({ event: 'read_timed_out' } as never);
  log({ event: 'block_applied', height: 2, transactions: 1 });
  expect(read().map(({ event, fields }) => [event, fields])).toEqual([
    ['block_applied', '{"height":2,"transactions":1}'],
    ['read_timed_out', '{}'],
    ['block_applied', '{"height":1,"transactions":1}'],
  ]);
});

test('the log contains the events of all threads that answer', () => {
  let time = 0;
  const now = () => (time += 1_000);
  const [main, other] = [silentLog(now), silentLog(now)];
  main.log({ event: 'block_applied', height: 1, transactions: 1 });
  other.log({ event: 'client_message_refused' } as never);
  other.log({ event: 'read_timed_out' } as never);
  main.log({ event: 'read_timed_out' } as never);
  const { recent } = systemLog([main.read(), null, other.read()]);
  expect(recent.map(({ at, thread, event }) => [at, thread, event])).toEqual([
    [3, 0, 'read_timed_out'],
    [2, 2, 'read_timed_out'],
    [1, 0, 'block_applied'],
  ]);
});

test('the index is checked in another process, with one inspection at a time', async () => {
  const path = '/stackside/v1/inspections';
  const begin = { method: 'POST', body: JSON.stringify({ kind: 'check' }) };
  expect((await ask<InspectionsState>(path, begin)).check?.state).toBe('running');
  const headers = { 'x-api-key': admin, 'content-type': 'application/json' };
  expect((await server.get(path, { ...begin, headers })).status).toBe(409);
  released.resolve();
  let { check } = await ask<InspectionsState>(path);
  await until(async () => {
    ({ check } = await ask<InspectionsState>(path));
    return check?.state !== 'running';
  }, 'the end of the check');
  expect(check).toMatchObject({ state: 'done', problem: null, progress: null });
  expect(check?.findings).toHaveLength(7);
  expect(check?.findings.flatMap(({ problems }) => problems)).toEqual([]);
});

/** A process whose output and end the test controls. */
function scriptedProcess() {
  const lines: string[] = [];
  let wake = () => {};
  const { promise: ended, resolve: end } = Promise.withResolvers<Awaited<OwnProcess['ended']>>();
  let over = false;
  const finish = (code: number | null, errors = '') => {
    over = true;
    end({ code, errors });
    wake();
  };
  async function* printed() {
    for (;;) {
      const line = lines.shift();
      if (line !== undefined) yield line;
      else if (over) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  return {
    process: { lines: printed(), ended, kill: () => finish(null) } satisfies OwnProcess,
    print(line: unknown) {
      lines.push(typeof line === 'string' ? line : JSON.stringify(line));
      wake();
    },
    finish,
  };
}

function startInspections() {
  const child = scriptedProcess();
  const inspection = inspections({ directory: '/data', clock: { now: () => 5_000 }, start: () => child.process });
  return { child, inspection };
}

test('an inspection shows its progress, and can be cancelled', async () => {
  const { child, inspection } = startInspections();
  expect([inspection.cancel(), inspection.start('tables'), inspection.start('check')]).toEqual([false, true, false]);
  child.print({ at: { number: 1, of: 2, name: 'blocks', detail: '' } });
  child.print({ found: { name: 'blocks', kind: 'table', table: 'blocks', bytes: 4096 } });
  await until(() => inspection.state().tables?.sizes.length === 1);
  expect(inspection.state().tables?.progress).toEqual({ number: 1, of: 2, name: 'blocks', detail: '' });
  expect(inspection.cancel()).toBe(true);
  await inspection.stop();
  expect(inspection.state().tables).toMatchObject({ state: 'cancelled', ended_at: 5, progress: null, problem: null });
});

test.each([
  ['fails', 1, [], 'The index is not there.'],
  ['prints what is not known', 0, ['{"found":{"name":5}}'], 'printed an unexpected line'],
  ['prints no JSON', 0, ['Segmentation fault'], 'printed an unexpected line'],
])('an inspection whose process %s shows the problem', async (_, code, lines, problem) => {
  const { child, inspection } = startInspections();
  inspection.start('check');
  for (const line of lines) child.print(line);
  child.finish(code, 'The index is not there.\n');
  await until(() => inspection.state().check?.state !== 'running');
  expect(inspection.state().check).toMatchObject({ state: 'failed', problem: expect.stringContaining(problem) });
  expect(inspection.start('check')).toBe(true);
});

test('the sizes of tables and indexes add up to at most the file and its WAL', () => {
  const sizes = [...tableSizes(server.directory, () => {})];
  const file = fileSizes(server.directory).get('index.db') ?? 0;
  const wal = fileSizes(server.directory).get('index.db-wal') ?? 0;
  const sum = sizes.reduce((total, { bytes }) => total + bytes, 0);
  expect(sizes.find(({ name }) => name === 'blocks_by_time')).toMatchObject({ kind: 'index', table: 'blocks' });
  expect(sum).toBeGreaterThan(100_000);
  expect(sum).toBeLessThanOrEqual(file + wal);
});

test('events are counted only by paths that nodes post to', async () => {
  const registry = new Registry();
  const [inFlight, now] = [() => 0, () => 7_000];
  const { answered } = eventMetrics(registry, inFlight, now);
  for (const outcome of ['applied', 'repeated', 'applied'] as const) answered('/new_block', outcome, 3);
  answered('/new_burn_block', 'rejected', 60);
  answered('/made/up', 'rejected', 1);
  const lines = (await registry.metrics()).split('\n');
  expect(lines.filter((line) => line.startsWith('stackside_events_total{'))).toEqual([
    'stackside_events_total{event="/new_block",outcome="applied"} 2',
    'stackside_events_total{event="/new_block",outcome="repeated"} 1',
    'stackside_events_total{event="/new_burn_block",outcome="rejected"} 1',
  ]);
  expect(lines).toContain('stacks_event_ingestion_timers_sum{event="/new_block"} 9');
  expect(lines.filter((line) => line.startsWith('stacks_last_event_timestamps{'))).toEqual([
    'stacks_last_event_timestamps{event="/new_block"} 7000',
    'stacks_last_event_timestamps{event="/new_burn_block"} 7000',
  ]);
});

test('the durations of slow requests add up exactly', () => {
  const counts = new RequestCounts();
  const record = counts.around({ route: () => () => {} }).route('GET', '/');
  for (const milliseconds of [4_000_000.25, 1_000_000.5]) record(200, milliseconds);
  expect(counts.take()).toEqual({ requests: 2, milliseconds: 5_000_000.75 });
  expect(counts.take()).toEqual({ requests: 0, milliseconds: 0 });
});

test('the last hour is recorded in intervals of ten seconds', () => {
  let milliseconds = 0;
  let cpuMicroseconds = 0;
  const requests = new RequestCounts();
  const hour = lastHour({
    clock: { now: () => milliseconds, monotonic: () => milliseconds } as never,
    requests,
    resources: () => ({ memoryBytes: 7, cpuMicroseconds }),
  });
  const hooks = { delivered: 10, failed: 1 };
  hour.follow(() => hooks);
  const events = hour.aroundEvents({ answered() {} });
  const timers = hour.aroundTimers({ evaluated() {}, attempted() {} });
  const record = new RequestCounts(requests.memory).around({ route: () => () => {} }).route('GET', '/');
  for (let event = 0; event < 20; event++) events.answered('/new_block', 'taken' as never, 1);
  for (const time of [5, 15]) timers.attempted(time);
  for (const time of [1, 2, 3]) record(200, time);
  hooks.delivered += 1;
  hooks.failed += 1;
  milliseconds = 10_000;
  cpuMicroseconds = 5_000_000;
  hour.sample();
  expect(hour.samples()).toEqual([
    {
      time: 10,
      eventsPerSecond: 2,
      requestsPerSecond: 0.3,
      requestMs: 2,
      delivered: 1,
      failed: 1,
      deliveryMs: 10,
      slowestDeliveryMs: 15,
      memoryBytes: 7,
      cpuShare: 0.5,
    },
  ]);
  // The next interval starts at the end of this one.
  for (let event = 0; event < 5; event++) events.answered('/new_block', 'taken' as never, 1);
  hooks.delivered += 3;
  hooks.failed += 2;
  milliseconds += 10_000;
  cpuMicroseconds += 1_000_000;
  hour.sample();
  expect(hour.samples()[1]).toMatchObject({ time: 20, eventsPerSecond: 0.5, delivered: 3, failed: 2, cpuShare: 0.1 });
  for (let interval = 0; interval < 400; interval++) {
    milliseconds += 10_000;
    hour.sample();
  }
  expect(hour.samples().length).toBe(360);
  expect(hour.samples().at(-1)).toMatchObject({ eventsPerSecond: 0, requestMs: null, delivered: 0, deliveryMs: null });
});

test('the time until the disk is full follows from its loss in a day, and is null in the first hour', () => {
  let [seconds, free] = [0, 100_000_000_000 as number | null];
  const clock = { ...systemClock, monotonic: () => seconds * 1_000 };
  const space = diskSpace(clock, () => free);
  const measure = (time: number, bytes: number | null) => {
    [seconds, free] = [time, bytes];
    space.sample();
    return space.growth();
  };
  for (const [time, bytes, growth] of [
    [0, 100_000_000_000, null],
    [3_599, 99_000_000_000, null],
    [3_600, null, null],
    [7_200, 98_000_000_000, { seconds: 7_200, bytesPerDay: 24_000_000_000, fullInSeconds: 352_800 }],
    [14_400, 101_000_000_000, { seconds: 14_400, bytesPerDay: -6_000_000_000, fullInSeconds: null }],
  ] as const) {
    expect([time, measure(time, bytes)]).toEqual([time, growth]);
  }
  // A day later, older values no longer count.
  for (let time = 15_000; time <= 15_000 + 86_400; time += 300) measure(time, 50_000_000_000);
  expect(space.growth()).toEqual({ seconds: 86_400, bytesPerDay: 0, fullInSeconds: null });
});

test('the event latency covers the last thousand events', () => {
  const hour = lastHour({ clock: systemClock, requests: new RequestCounts() });
  const { answered } = hour.aroundEvents({ answered: () => {} });
  expect(hour.eventTimes()).toBeNull();
  for (let index = 0; index < 500; index++) answered('/new_block', 'applied', 9_999);
  for (let milliseconds = 1; milliseconds <= 1_000; milliseconds++) answered('/new_block', 'applied', milliseconds);
  expect(hour.eventTimes()).toEqual({ events: 1_000, medianMs: 500, p99Ms: 990 });
});

test("alerts are evaluated each minute over the server's metrics", async () => {
  const writable = (value: number) => [{ name: 'stackside_store_writable', labels: {}, value }];
  let metrics = async () => writable(1);
  const failures: unknown[] = [];
  let seconds = 100;
  const clock = heldClock([60_000], () => seconds * 1_000);
  const minute = async () => {
    await until(() => clock.waiting(60_000) === 1);
    clock.pass(60_000);
  };
  const [readMetrics, failed] = [() => metrics(), (cause: unknown) => failures.push(cause)];
  const watched = watchAlerts(clock, readMetrics, failed);
  expect(alertsState(watched.last())).toEqual({ evaluated_at: null, alerts: [] });
  await minute();
  await until(() => watched.last()?.at === 100);
  expect(watched.last()?.alerts.map(({ state }) => state)).not.toContain('pending');
  metrics = async () => writable(0);
  seconds = 160;
  await minute();
  await until(() => watched.last()?.at === 160);
  expect(alertsState(watched.last()).alerts[0]).toMatchObject({
    name: 'StacksideCannotWrite',
    state: 'pending',
    since: 160,
    summaries: ["Stackside on this server can't write events"],
  });
  metrics = () => Promise.reject(new Error('no metrics'));
  await minute();
  await until(() => failures.length === 1);
  expect(watched.last()?.at).toBe(160);
  await watched.stop();
});
