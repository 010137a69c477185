/** `serve --archive-base`: the times of snapshots, the host that makes them, and failures. */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { listBases } from '../../src/archive/base.ts';
import { OperatorError, TemporaryError } from '../../src/base/errors.ts';
import type { ArchiveNews, BaseSummary } from '../../src/commands/serve/archive-client.ts';
import { type ArchiveLease, startBases } from '../../src/commands/serve/archiving.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readAdminKey } from '../../src/hooks/access/keys.ts';
import type { LogEvent } from '../../src/log.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { noting, restoredFrom } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { journalRows, wholeIndex } from '../support/data/tables.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const LOOK = 5_000;
const HOUR = 3_600_000;
const NOW = 1_760_000_000_000;

/** Runs the snapshot loop with results and a clock that the test controls. */
function bases(options: { hours?: number; newest?: BaseSummary | null; lease?: ArchiveLease } = {}) {
  let time = NOW;
  const clock = heldClock([LOOK, 10_000, 20_000, 40_000], () => time);
  const log: LogEvent[] = [];
  const registry = new Registry();
  const runs: boolean[] = [];
  const world = {
    newest: options.newest ?? null,
    lease: options.lease ?? ((): ReturnType<ArchiveLease> => ({ epoch: null })),
    archive: { entry: 9, behind_seconds: 0, failing: false } as ReturnType<Parameters<typeof startBases>[0]['archive']>,
    /** Error that reading the journal ends with, as on a full disk. */
    fault: null as Error | null,
    run: async (make: boolean, tell: (news: ArchiveNews) => void, _signal: AbortSignal): Promise<void> => {
      tell({ kind: 'newest', base: world.newest });
      if (!make) return;
      tell({ kind: 'step', step: { table: 'blocks', number: 1, total: 2, sentBytes: 5 } });
      world.newest = { entry: world.archive?.entry ?? 0, height: 3, madeAt: clock.now() };
      tell({ kind: 'made', base: world.newest, sentParts: 2, sentBytes: 70 });
    },
  };
  const started = startBases({
    directory: 'data',
    location: 'place',
    hours: options.hours ?? 24,
    clock,
    random: { number: () => 0.5 },
    registry,
    lease: () => world.lease(),
    archive: () => {
      if (world.fault !== null) throw world.fault;
      return world.archive;
    },
    keepDays: null,
    worker: {
      run: (work, tell, signal) => {
        const make = work.kind === 'base' && work.make;
        runs.push(make);
        return world.run(make, tell, signal);
      },
      stop: async () => {},
    },
    log: (event) => log.push(event),
  });
  return {
    ...started,
    log,
    runs,
    world,
    /** Moves the clock without resuming any wait. */
    advance(milliseconds: number): void {
      time += milliseconds;
    },
    /** Ends a wait, and returns at the next one. */
    async pass(wait = LOOK, next = LOOK): Promise<void> {
      clock.pass(wait);
      await until(() => clock.waiting(next) === 1, `a wait of ${next} ms`);
    },
    metric: async (name: string): Promise<number | null> => {
      const metric = await registry.getSingleMetric(`stackside_archive_base_${name}`)?.get();
      return metric?.values[0]?.value ?? null;
    },
  };
}

test("if the journal can't be read, the failure is logged and a base is made later", async () => {
  const started = bases();
  started.world.fault = Object.assign(new Error('full'), { name: 'SQLiteError', code: 'SQLITE_FULL', errno: 13 });
  await started.pass(LOOK, 10_000);
  expect(started.log).toEqual([expect.objectContaining({ event: 'service_failing', service: 'bases' })]);
  expect(started.log[0]).toMatchObject({ reason: expect.stringContaining('The disk of data') });
  started.world.fault = null;
  await started.pass(10_000, LOOK);
  expect(started.runs).toEqual([false, true]);
  await started.stop();
});

test('makes no base after a stop, even if one is due', async () => {
  const { runs, stop } = bases();
  await stop();
  expect(runs).toEqual([]);
});

test('makes the first base immediately, and the next when it is due', async () => {
  const { world, pass, runs, advance, state, log, metric, stop } = bases();
  expect(state().entry).toBeNull();
  await pass();
  expect(runs).toEqual([false, true]);
  expect(state()).toMatchObject({ entry: 9, height: 3, making: null, failing: false, overdue_seconds: 0 });
  expect(log).toMatchObject([{ event: 'archive_base_made', entry: 9, sent_parts: 2, sent_bytes: 70 }]);
  await pass();
  expect(runs).toHaveLength(2);
  world.archive = { entry: 10, behind_seconds: 0, failing: false };
  advance(24 * HOUR - 1);
  await pass();
  expect([runs.length, await metric('overdue_seconds')]).toEqual([2, 0]);
  advance(60_001);
  expect([await metric('seconds'), await metric('overdue_seconds')]).toEqual([86_460, 60]);
  await pass();
  expect(runs.slice(2)).toEqual([true]);
  await stop();
});

test('makes no base while the newest one includes the last entry', async () => {
  const { world, pass, runs, advance, metric, stop } = bases();
  await pass();
  expect(runs).toEqual([false, true]);
  advance(25 * HOUR);
  for (let look = 0; look < 3; look++) await pass();
  expect([runs.length, await metric('overdue_seconds')]).toEqual([2, 0]);
  world.archive = { entry: 10, behind_seconds: 0, failing: false };
  await pass();
  expect(runs).toEqual([false, true, true]);
  await stop();
});

test('retries with growing waits while the index is too old for a base', async () => {
  const { world, pass, runs, request, stop } = bases();
  world.run = async (_make, tell) => tell({ kind: 'newest', base: null });
  await pass(LOOK, 10_000);
  await pass(10_000, 20_000);
  await pass(20_000, 40_000);
  expect(runs).toEqual([false, true, true, true]);
  expect(request()).toBeNull();
  await until(() => runs.length === 5, 'the requested base');
  await stop();
});

test('counts bases from another host, an earlier start or a clock that is ahead', async () => {
  for (const hours of [-1, 23, 25, -30]) {
    const { pass, runs, stop } = bases({ newest: { entry: 4, height: 2, madeAt: NOW - hours * HOUR } });
    await pass();
    expect(runs).toEqual(Math.abs(hours) < 24 ? [false] : [false, true]);
    await stop();
  }
});

test('with 0 hours, makes a base only if the operator requests it', async () => {
  const { pass, request, runs, state, stop, advance } = bases({ hours: 0 });
  await pass();
  expect(runs).toEqual([false]);
  advance(1_000 * HOUR);
  await pass();
  expect([runs.length, state().overdue_seconds]).toEqual([1, 0]);
  expect(request()).toBeNull();
  await until(() => runs.length === 2);
  expect(runs).toEqual([false, true]);
  await stop();
});

test('makes no base while the archive is behind, fails or belongs to another host', async () => {
  const { world, pass, runs, request, stop } = bases();
  for (const archive of [
    null,
    { entry: 0, behind_seconds: 0, failing: false },
    { entry: 5, behind_seconds: 61, failing: false },
    { entry: 5, behind_seconds: 0, failing: true },
  ]) {
    world.archive = archive;
    await pass();
  }
  world.archive = { entry: 5, behind_seconds: 3, failing: false };
  world.lease = () => null;
  await pass();
  expect([runs.length, request()]).toEqual([
    0,
    'only the host that delivers chainhooks writes the archive; stackside cluster status names it',
  ]);
  world.lease = () => ({ epoch: 4 });
  await pass();
  expect(runs).toEqual([false, true]);
  await stop();
});

test('a host that loses its lease aborts its base, and reads the newest base when it has a lease again', async () => {
  let epoch: number | null = 1;
  const { world, pass, runs, state, stop } = bases({ lease: () => (epoch === null ? null : { epoch }) });
  let isAborted = false;
  world.run = async (make, tell, signal) => {
    if (!make) return tell({ kind: 'newest', base: null });
    epoch = null;
    tell({ kind: 'step', step: { table: 'blocks', number: 1, total: 2, sentBytes: 5 } });
    isAborted = signal.aborted;
  };
  await pass();
  expect([runs, isAborted]).toEqual([[false, true], true]);
  await pass();
  expect(state().entry).toBeNull();
  epoch = 3;
  world.run = async (_make, tell) => tell({ kind: 'newest', base: { entry: 7, height: 2, madeAt: NOW } });
  await pass();
  expect(runs.slice(2)[0]).toBe(false);
  expect(state().entry).toBe(7);
  await stop();
});

test('retries a failed base with growing waits, and logs each problem once', async () => {
  const { world, pass, log, state, runs, stop } = bases();
  const full = new OperatorError('The bucket is full.', 'Make room.');
  world.run = () => Promise.reject(full);
  await pass(LOOK, 10_000);
  await pass(10_000, 20_000);
  world.run = () => Promise.reject(new TemporaryError('The bucket is away.', 'Wait.'));
  await pass(20_000, 40_000);
  expect(log.map((event) => 'reason' in event && event.reason)).toEqual(['The bucket is full.', 'The bucket is away.']);
  expect(state().failing).toBe(true);
  world.run = async (make, tell) => {
    tell({ kind: 'newest', base: null });
    if (make) tell({ kind: 'made', base: { entry: 9, height: 3, madeAt: NOW }, sentParts: 1, sentBytes: 1 });
  };
  await pass(40_000);
  expect([state().failing, runs.at(-1)]).toEqual([false, true]);
  await stop();
});

describe('a server', () => {
  const events = [...devnetEvents({ seed: 6, blocks: 8, transactionsPerBlock: 2 })];
  const ask = ({ directory, get }: Serving) =>
    get('/stackside/v1/archive/base', { method: 'POST', headers: { 'x-api-key': readAdminKey(directory) ?? '' } });

  test('makes a base if the operator requests it, and a restore starts from that base', async () => {
    using folder = dataDirectory();
    const path = join(folder.path, 'archive');
    await using server = await serving({ archive: path, archiveBase: '0', hostName: 'one' });
    await server.post(events);
    type Status = { archive: { entry: number; base: Record<string, unknown> } | null };
    const archive = async () => ((await (await server.get('/stackside/v1/status')).json()) as Status).archive;
    await until(async () => ((await archive())?.entry ?? 0) > 0, 'the archive has entries');
    expect((await ask(server)).status).toBe(200);
    await until(async () => typeof (await archive())?.base.entry === 'number', 'a base');
    const into = join(folder.path, 'restored');
    const { store, names: read } = noting(directoryFiles(path), 'read');
    await restoredFrom(store, into);
    expect(read.some((name) => name.startsWith('part-'))).toBe(true);
    expect(await listBases(store)).toHaveLength(1);
    expect(journalRows(into)).toEqual(journalRows(server.directory));
    expect(wholeIndex(into)).toEqual(wholeIndex(server.directory));
  });

  test('without an archive refuses to make a base', async () => {
    await using server = await serving({});
    expect((await ask(server)).status).toBe(409);
  });
});
