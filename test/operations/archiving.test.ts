/** `serve --archive`: rounds of the archiver, its failures, and the host that archives. */
import { afterEach, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { IDENTITY } from '../../src/archive/archive-directory.ts';
import type { Round } from '../../src/archive/archiver.ts';
import { OperatorError, TemporaryError } from '../../src/base/errors.ts';
import { type ArchiveLease, startArchiving } from '../../src/commands/serve/archiving.ts';
import type { Environment } from '../../src/commands/serve/environment.ts';
import { startServing } from '../../src/commands/serve/serve.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { LogEvent } from '../../src/log.ts';
import { readSettings } from '../../src/settings/config.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { archive, DEVNET, refusal, restoredFrom } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { canMount, smallDisk } from '../support/data/small-disk.ts';
import { journalRows } from '../support/data/tables.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { s3Server } from '../support/servers/s3-server.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const LOG = '0123456789abcdef0123456789abcdef';

const EVERY = 5_000;

/** Starts an archiver whose results and clock the test controls. */
function startArchiver(options: { lease?: ArchiveLease; chainId?: number | null } = {}) {
  const clock = heldClock([EVERY, 10_000, 20_000, 40_000, 60_000, 2_000]);
  const log: LogEvent[] = [];
  const registry = new Registry();
  const rounds: Round[] = [];
  const world = {
    last: 0,
    base: null as number | null,
    chainId: options.chainId === undefined ? DEVNET : options.chainId,
    lease: options.lease ?? ((): ReturnType<ArchiveLease> => ({ epoch: null })),
    run: async (archived: (entry: number) => void, _signal: AbortSignal): Promise<void> => archived(world.last),
  };
  let isStopped = false;
  const { status, stop } = startArchiving({
    directory: 'data',
    location: 'place',
    seconds: EVERY / 1_000,
    host: 'one',
    clock,
    random: { number: () => 0.5 },
    registry,
    lease: () => world.lease(),
    newestBase: () => world.base,
    worker: {
      run: (work, tell, signal) => {
        if (work.kind === 'round') rounds.push(work.round);
        return world.run((entry) => tell({ kind: 'archived', entry }), signal);
      },
      stop: async () => {
        isStopped = true;
      },
    },
    ingest: { chainId: () => world.chainId, identity: () => LOG, lastEntry: () => world.last },
    log: (event) => log.push(event),
  });
  return {
    clock,
    log,
    rounds,
    world,
    status,
    stop,
    isStopped: () => isStopped,
    /** Ends a wait, and returns when the next round has finished and waits again. */
    async pass(wait = EVERY, next = EVERY): Promise<void> {
      clock.pass(wait);
      await until(() => clock.waiting(next) === 1, `a wait of ${next} ms`);
    },
    metric: async (name: string): Promise<number | null> => {
      const metric = await registry.getSingleMetric(`stackside_archive_${name}`)?.get();
      return metric?.values[0]?.value ?? null;
    },
  };
}

const refused = new OperatorError('The bucket is full: place (QuotaExceeded).', 'Make room.');

test('archives every few seconds, and metrics show the state of the archive', async () => {
  const { world, pass, metric, rounds, status, stop, isStopped } = startArchiver();
  expect(status()).toMatchObject({ entry: 0, failing: false });
  world.last = 7;
  world.base = 5;
  await pass();
  expect(rounds).toEqual([{ chainId: DEVNET, identity: LOG, host: 'one', epoch: null, base: 5 }]);
  expect([status()?.entry, await metric('behind_entries'), await metric('behind_seconds')]).toEqual([7, 0, 0]);
  world.last = 9;
  expect([status()?.entry, await metric('behind_entries'), await metric('behind_seconds')]).toEqual([7, 2, 0]);
  expect(await metric('failures_total')).toBe(0);
  await stop();
  expect(rounds).toHaveLength(2);
  expect(isStopped()).toBe(true);
});

test('retries a failure with growing waits, and logs each problem once', async () => {
  const { world, pass, metric, log, status, stop, rounds } = startArchiver();
  world.last = 3;
  await pass();
  world.last = 8;
  world.run = () => Promise.reject(refused);
  const waits = [EVERY, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000];
  for (const [index, wait] of waits.entries()) if (index > 0) await pass(waits[index - 1], wait);
  expect(log).toEqual([
    { event: 'service_failing', service: 'archive', place: 'place', reason: refused.message, remedy: refused.remedy },
  ]);
  expect([await metric('behind_entries'), await metric('failures_total')]).toEqual([5, 6]);
  expect(await metric('behind_seconds')).toBe(195);
  expect(status()).toEqual({ entry: 3, behind_entries: 5, behind_seconds: 195, failing: true });
  world.run = () => Promise.reject(new TemporaryError("place can't be reached.", 'Wait.'));
  await pass(60_000, 60_000);
  expect(log).toHaveLength(2);
  world.run = async (archived) => archived(8);
  await pass(60_000);
  expect(log.slice(2)).toEqual([{ event: 'service_resumed', service: 'archive', place: 'place', failures: 7 }]);
  expect([await metric('behind_seconds'), await metric('failures_total')]).toEqual([0, 7]);
  expect(status()).toEqual({ entry: 8, behind_entries: 0, behind_seconds: 0, failing: false });
  await stop();
  expect(rounds).toHaveLength(10);
});

test('a server does not retry a failing archive when it stops', async () => {
  const { world, pass, stop, rounds } = startArchiver();
  world.run = () => Promise.reject(refused);
  await pass(EVERY, 10_000);
  await stop();
  expect(rounds).toHaveLength(1);
});

test.each(['before', 'while'] as const)('a round that never ends is ended %s the server stops', async (when) => {
  const { world, stop, clock, rounds, isStopped } = startArchiver();
  const { promise, reject } = Promise.withResolvers<void>();
  world.run = () => promise;
  if (when === 'before') {
    clock.pass(EVERY);
    await until(() => rounds.length === 1, 'a round');
  }
  const stopped = stop();
  await until(() => clock.waiting(2_000) === 1 && rounds.length === 1);
  expect(isStopped()).toBe(false);
  clock.pass(2_000);
  // As the thread does when it is stopped.
  await until(isStopped);
  reject(refused);
  await stopped;
  expect(rounds).toHaveLength(1);
});

test('in a cluster, only the host with the lease archives, under its epoch', async () => {
  const { world, pass, rounds, status, stop } = startArchiver({ lease: () => null });
  world.last = 4;
  await pass();
  expect([rounds.length, status()]).toEqual([0, null]);
  world.lease = () => ({ epoch: 3, base: null });
  await pass();
  expect(rounds).toEqual([{ chainId: DEVNET, identity: LOG, host: 'one', epoch: 3, base: null }]);
  expect(status()).toMatchObject({ entry: 4 });
  let aborted = false;
  world.run = async (archived, signal) => {
    world.lease = () => null;
    archived(5);
    aborted = signal.aborted;
  };
  await pass();
  expect(aborted).toBe(true);
  await pass();
  expect([rounds.length, status()]).toEqual([2, null]);
  await stop();
});

test('before the chain is known, archives nothing, but reports a wrong location', async () => {
  const { world, pass, rounds, stop, log } = startArchiver({ chainId: null });
  const { run } = world;
  world.run = () => Promise.reject(refused);
  await pass(EVERY, 10_000);
  expect(log).toMatchObject([{ event: 'service_failing', service: 'archive', reason: refused.message }]);
  world.run = run;
  await pass(10_000);
  expect(log.at(-1)).toMatchObject({ event: 'service_resumed', service: 'archive' });
  let calls = 0;
  world.run = async () => {
    calls += 1;
  };
  await pass();
  expect([calls, rounds]).toEqual([0, []]);
  world.chainId = DEVNET;
  await pass();
  expect(rounds).toHaveLength(1);
  await stop();
});

describe('a server', () => {
  const events = [...devnetEvents({ seed: 6, blocks: 6, transactionsPerBlock: 2 })];
  const folder = dataDirectory();
  const replaced = { ...process.env };
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (!(name in replaced)) delete process.env[name];
    Object.assign(process.env, replaced);
  });

  const serveWith = (location: string, environment: Partial<Environment> = {}): Promise<Serving> =>
    serving({ archive: location, archiveBase: '0', hostName: 'one' }, undefined, {}, environment);
  const series = ({ api }: Serving, name: string) => metricOf(api, `stackside_archive_${name}`);
  /** Posts the events, and expects that the server stays ready although a round fails. */
  const expectReadyAfterFailure = async (server: Serving): Promise<void> => {
    await server.post(events);
    await until(async () => (await series(server, 'failures_total')) > 0, 'a round fails');
    expect((await server.get('/ready')).status).toBe(200);
  };
  const isArchived = async (server: Serving): Promise<boolean> => {
    type Status = { archive: { entry: number; behind_entries: number } };
    const { archive } = (await (await server.get('/stackside/v1/status')).json()) as Status;
    return archive.behind_entries === 0 && archive.entry > 0;
  };

  test('archives events from its node, and the rest when it stops', async () => {
    const path = join(folder.path, 'whole');
    // The time for the last round never ends, however busy the machine is.
    const server = await serveWith(path, { clock: heldClock([2_000]) });
    using copy = dataDirectory();
    await server.post(events.slice(0, 8));
    await until(() => isArchived(server), 'the first events are archived');
    await server.post(events.slice(8));
    const rows = journalRows(server.directory);
    await server[Symbol.asyncDispose]();
    const into = join(copy.path, 'restored');
    expect(await restoredFrom(directoryFiles(path), into)).toBe(rows.length);
    expect(journalRows(into)).toEqual(rows);
  });

  test('stays ready if another server wrote its archive, and writes nothing there', async () => {
    const path = join(folder.path, 'foreign');
    using other = ingestOf(events.map(received));
    await archive(other.path, directoryFiles(path), 'other');
    const before = readdirSync(path);
    await using server = await serveWith(path);
    await expectReadyAfterFailure(server);
    expect(readdirSync(path)).toEqual(before);
  });

  test.each([
    ['without credentials', {}],
    ['with a wrong key', { AWS_ACCESS_KEY_ID: 'ANOTHER' }],
    ['with a wrong secret', { AWS_SECRET_ACCESS_KEY: 'another' }],
  ])('stays ready %s for S3, and writes nothing', async (how, wrong) => {
    using s3 = s3Server('bucket');
    const { AWS_ENDPOINT_URL } = s3.variables;
    Object.assign(process.env, how === 'without credentials' ? { AWS_ENDPOINT_URL } : s3.variables, wrong);
    await using server = await serveWith('s3://bucket/archive');
    await expectReadyAfterFailure(server);
    expect(s3.objects.size).toBe(0);
  });

  test('stays ready while S3 rejects its clock, and archives when S3 accepts it', async () => {
    using s3 = s3Server('bucket');
    Object.assign(process.env, s3.variables);
    s3.fail = () => ({ status: 403, code: 'RequestTimeTooSkewed' });
    await using server = await serveWith('s3://bucket/archive');
    await expectReadyAfterFailure(server);
    s3.fail = () => null;
    await until(() => isArchived(server), 'the events are archived');
    expect([...s3.objects.keys()]).toEqual([`bucket/archive/${IDENTITY}`, 'bucket/archive/open-one.zst']);
  });

  test('stops even if its archive never answers', async () => {
    using s3 = s3Server('bucket');
    Object.assign(process.env, s3.variables);
    s3.objects.set(`bucket/archive/${IDENTITY}`, new Uint8Array(1_000));
    s3.fail = () => 'stalled';
    const server = await serveWith('s3://bucket/archive');
    await server.post(events);
    await until(() => s3.requests.length > 0, 'a request to the archive');
    await server[Symbol.asyncDispose]();
    expect([...s3.objects.keys()]).toEqual([`bucket/archive/${IDENTITY}`]);
  });

  test('in read mode archives nothing', async () => {
    using data = ingestOf(events.map(received), { views: true });
    const path = join(folder.path, 'read');
    await using server = await serving({ mode: 'read', archive: path }, data.path);
    expect((await server.get('/ready')).status).toBe(200);
    expect(await (await server.get('/metrics')).text()).not.toContain('stackside_archive');
    expect(existsSync(path)).toBe(false);
  });

  test.skipIf(!canMount)("stays ready while the archive's disk is full, and archives when there is room", async () => {
    using disk = smallDisk(4_000_000)!;
    const path = join(disk.path, 'archive');
    disk.fill();
    await using server = await serveWith(path);
    await expectReadyAfterFailure(server);
    disk.empty();
    await until(() => isArchived(server), 'the events are archived');
    expect(readdirSync(path)).toContain('open-one.zst');
  });

  test('rejects an archive inside its data directory, and an invalid location', async () => {
    const refusalOf = (archive: string): Promise<string> =>
      refusal(
        startServing(readSettings({ data: join(folder.path, 'data'), apiPort: '0', eventPort: '0', archive }, {})),
      );
    expect(await refusalOf(join(folder.path, 'data', 'archive'))).toContain('is inside the data directory');
    expect(await refusalOf('https://example.org')).toContain('is not a location for an archive');
    expect(await refusalOf('s3://bucket')).toContain('has no prefix');
    expect(existsSync(join(folder.path, 'data'))).toBe(false);
    rmSync(folder.path, { recursive: true });
  });
});
