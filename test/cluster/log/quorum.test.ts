/** The shared log over several PostgreSQL servers: the loss of the primary loses nothing acknowledged. */

import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClusterStatus, clusterStatus, writeReport } from '../../../src/cluster/cluster-status.ts';
import { engineAccess, grantStatements, makeTables, tableNames } from '../../../src/cluster/engine-tables.ts';
import { postgresLeases } from '../../../src/cluster/leases.ts';
import { STATEMENT_MS, WAITING_COMMIT } from '../../../src/cluster/postgres-engine.ts';
import { openPostgresLog, PostgresLog } from '../../../src/cluster/postgres-log.ts';
import { LogUnavailableError } from '../../../src/cluster/shared-log.ts';
import { clusterLines, initCluster, reportCluster } from '../../../src/commands/cluster/cluster.ts';
import { loadOrCreateSealing, secretsKeyFile } from '../../../src/hooks/delivery/sealing.ts';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';
import { openHost } from '../../cluster/open-host.ts';
import { clusterTests } from '../../e2e/cluster-tests.ts';
import { stackside } from '../../e2e/stackside.ts';
import { directHooks } from '../../hooks/direct.ts';
import { definition } from '../../hooks/server.ts';
import { dataDirectory } from '../../support/data/data-directory.ts';
import { entryOf, ingestOf, simulatedEvents } from '../../support/data/ingest.ts';
import { hasPostgres, type PostgresQuorum, startQuorum } from '../../support/servers/postgres.ts';
import { describeWith } from '../../support/servers/system-servers.ts';
import { heldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';
import { entryAfter, outcomeOf, START } from './engine-fixture.ts';

describeWith('PostgreSQL', hasPostgres, () => {
  let quorum: PostgresQuorum;

  beforeAll(async () => {
    quorum = await startQuorum();
  });
  afterAll(() => quorum[Symbol.asyncDispose]());

  async function newLog(prefix: string): Promise<PostgresLog> {
    const access = engineAccess(quorum.url, prefix, { connections: 1 });
    await makeTables(access);
    await access.engine.close();
    return openPostgresLog(quorum.url, { prefix });
  }

  test('cluster init fills the log with a journal, and cluster status shows log, host, lease and servers', async () => {
    const events = simulatedEvents({ seed: 5, blocks: 4 });
    using directory = ingestOf(events);
    const args = ['--cluster', quorum.url, '--cluster-prefix', 'init_'];
    const grants = grantStatements(tableNames('init_'))
      .map((grant) => `  ${grant}\n`)
      .join('');
    expect(await stackside('cluster', 'init', ...args, '--data', directory.path)).toEqual({
      code: 0,
      stdout: `Created the tables of the shared log.\nIf the hosts use another role, grant it these rights:\n${grants}Created a key for signing secrets in ${secretsKeyFile(directory.path)}.\nThe log now has the ${entryOf(events.length)} entries of the journal in ${directory.path}.\nSigning secrets are encrypted with the key in ${secretsKeyFile(directory.path)}. Copy this file to the data directory of each other host, or name it there with --cluster-key.\n`,
      stderr: '',
    });
    const access = engineAccess(quorum.url, 'init_');
    await writeReport(access, { name: 'host-1', entry: 2, version: '1.2.3', lagSeconds: 0, process: 'a' }, true);
    await postgresLeases(access).give({ name: 'delivery', holder: 'host-1', seconds: 60, epochSeen: 0 });
    await access.engine.close();

    const { stdout, stderr, code } = await stackside('cluster', 'status', '--json', ...args);
    expect([code, stderr]).toEqual([0, '']);
    const synchronous = expect.stringContaining('ANY 1');
    const standby = { name: expect.any(String), state: 'streaming', sync: 'quorum' };
    expect(JSON.parse(stdout)).toEqual({
      chain_id: 0x8000_0000,
      head: { entry: entryOf(events.length), chain: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
      log_bytes: expect.any(Number),
      hosts: [
        {
          name: 'host-1',
          entry: 2,
          behind: entryOf(events.length) - 2,
          version: '1.2.3',
          lag_seconds: expect.any(Number),
          seen_seconds_ago: expect.any(Number),
        },
      ],
      leases: [{ name: 'delivery', holder: 'host-1', epoch: 1, seconds_left: expect.any(Number) }],
      engine: {
        server: `127.0.0.1:${quorum.primary().port}`,
        version: expect.any(String),
        synchronous_standby_names: synchronous,
        standbys: [standby, standby],
      },
      warnings: [],
    });
  });

  test('cluster status --verify names missing and damaged entries, and cluster init fills holes', async () => {
    using directory = ingestOf(simulatedEvents({ seed: 5, blocks: 2 }));
    const settings = { cluster: quorum.url, clusterPrefix: 'verified_', clusterKey: null, data: directory.path };
    using written = spyOn(process.stdout, 'write').mockImplementation(() => true);
    const printed = () => written.mock.calls.join('');
    async function verify() {
      written.mockClear();
      const isSound = await reportCluster(settings, { json: true, verify: true });
      return { isSound, ...(JSON.parse(printed()) as { head: { entry: number }; verification: unknown }) };
    }
    await initCluster(settings);
    const { isSound, verification, head } = await verify();
    const { entry } = head;
    expect([isSound, verification]).toEqual([true, { verified: entry, faults: [] }]);
    const table = 'verified_stackside_log';
    await quorum.primary().run(`DELETE FROM ${table} WHERE seq IN (2, 3, 5)`);
    await quorum.primary().run(`UPDATE ${table} SET payload = '\\x00' WHERE seq = 6`);
    await quorum.primary().run(`UPDATE ${table} SET received_at = 0 WHERE seq = 8`);
    const args = ['--cluster', quorum.url, '--cluster-prefix', 'verified_'];
    const torn = await stackside('cluster', 'status', '--verify', '--json', ...args);
    expect([torn.code, JSON.parse(torn.stdout).verification]).toEqual([
      2,
      {
        verified: entry,
        faults: [
          { first: 2, last: 3, fault: 'is missing' },
          { first: 5, last: 5, fault: 'is missing' },
          { first: 6, last: 6, fault: "is damaged: its payload can't be decompressed" },
          { first: 8, last: 8, fault: 'is damaged: its chain value is wrong' },
        ],
      },
    ]);
    await expect(initCluster(settings)).rejects.toMatchObject({
      message: expect.stringContaining("Entry 6 of the cluster's log is damaged"),
      remedy: expect.stringContaining('Or delete a damaged row'),
    });
    await quorum.primary().run(`DELETE FROM ${table} WHERE seq IN (6, 8)`);
    await initCluster(settings);
    expect(printed()).toContain('Restored entries 5 to 6 of the log from the journal.');
    expect((await verify()).isSound).toBe(true);
  });

  test('rejects a log of another chain, and a missing log', async () => {
    const settings = { cluster: quorum.url, clusterPrefix: 'mainnet_', clusterKey: null, data: '/nowhere' };
    await expect(reportCluster(settings, { json: true, verify: false })).rejects.toThrow(
      "doesn't contain a shared log with this prefix",
    );
    const access = engineAccess(quorum.url, 'mainnet_');
    await makeTables(access);
    await new PostgresLog(access).chain(1);
    await access.engine.close();
    using directory = ingestOf(simulatedEvents({ seed: 5, blocks: 1 }));
    using _ = spyOn(process.stdout, 'write').mockImplementation(() => true);
    await expect(initCluster({ ...settings, data: directory.path })).rejects.toThrow(
      "The cluster's log belongs to mainnet (chain 0x00000001)",
    );
    await expect(initCluster({ ...settings, cluster: null })).rejects.toThrow(
      'This command needs the URL of a shared log.',
    );
    const away = { ...settings, cluster: 'postgres://nobody@127.0.0.1:1,127.0.0.1:2/none' };
    await expect(reportCluster(away, { json: false, verify: false })).rejects.toThrow(
      'No server of the shared log accepts writes',
    );
  });

  test.each([
    [
      'a database that does not exist',
      (url: string) => url.replaceAll(/\/[a-z]+(?=$|\?)/g, '/nowhere'),
      '3D000',
      'Create the database',
    ],
    ['a role that does not exist', (url: string) => url.replace(/\/\/[^@]*@/, '//nobody@'), '28000', 'Check the user'],
  ])('%s ends a host and cluster status with code 75', async (_, change, state, remedy) => {
    const cluster = change(quorum.url);
    expect(cluster).not.toBe(quorum.url);
    const refusal = {
      exitCode: 75,
      message: expect.stringContaining(`(${state})`),
      remedy: expect.stringContaining(remedy),
    };
    await expect(openPostgresLog(cluster)).rejects.toMatchObject(refusal);
    const settings = { cluster, clusterPrefix: '', clusterKey: null, data: '/nowhere' };
    await expect(reportCluster(settings, { json: true, verify: false })).rejects.toMatchObject(refusal);
    // The server that can't be reached may be the one that takes writes.
    const [first = ''] = cluster.split(',');
    const others = `${first.replace(/\/[a-z]*$/, '')},127.0.0.1:1/${cluster.slice(cluster.lastIndexOf('/') + 1)}`;
    await expect(reportCluster({ ...settings, cluster: others }, { json: true, verify: false })).rejects.toMatchObject({
      exitCode: 75,
    });
  });

  test('cluster init copies chainhooks with their sealed secrets, and names the key file', async () => {
    using directory = ingestOf(simulatedEvents({ seed: 5, blocks: 2 }));
    const data = directory.path;
    const sealing = loadOrCreateSealing({ data, clusterKey: null });
    let secret: string | null;
    {
      await using single = directHooks({ directory: data, sealing });
      await single.register(definition('http://127.0.0.1:9/', [{ type: 'coinbase' }]));
      ({ secret } = await single.managed.rotateSecret('default'));
    }
    const clusterKey = join(data, 'other.key');
    writeFileSync(clusterKey, 'short', { mode: 0o600 });
    const settings = { cluster: quorum.url, clusterPrefix: 'hooks_', data };
    using out = spyOn(process.stdout, 'write').mockImplementation(() => true);
    using err = spyOn(process.stderr, 'write').mockImplementation(() => true);
    await expect(initCluster({ ...settings, clusterKey })).rejects.toThrow('fewer than 32 characters');
    const log = await openPostgresLog(quorum.url, { prefix: 'hooks_' });
    expect((await log.head()).id).toBe(0);
    await initCluster({ ...settings, clusterKey: null });
    expect(out.mock.calls.join('')).toContain(`encrypted with the key in ${secretsKeyFile(data)}. Copy this file to`);
    expect(err.mock.calls.join('')).not.toContain('Warning');
    const { id } = await log.head();
    await using host = openHost(log, data);
    expect(host.ingest.position().id).toBe(id);
    await host.follow(id);
    expect(host.ingest.hooks.records.all('default')).toHaveLength(1);
    const stored = host.ingest.hooks.secrets.find('default')!.secret;
    expect(sealing.open('default', stored)?.toHex()).toBe(secret ?? '');
  });

  test('cluster init without a journal names the key file that a directory has', async () => {
    using directory = dataDirectory();
    const data = directory.path;
    const settings = { cluster: quorum.url, clusterPrefix: 'empty_', clusterKey: null, data };
    using out = spyOn(process.stdout, 'write').mockImplementation(() => true);
    await initCluster(settings);
    expect(out.mock.calls.join('')).toContain('openssl rand');
    loadOrCreateSealing(settings);
    out.mockClear();
    await initCluster(settings);
    expect(out.mock.calls.join('')).toContain(`encrypted with the key in ${secretsKeyFile(data)}`);
    expect(out.mock.calls.join('')).not.toContain('openssl rand');
  });

  test("cluster init makes a missing key, and names the secrets that it can't open", async () => {
    using directory = ingestOf(simulatedEvents({ seed: 5, blocks: 2 }));
    const data = directory.path;
    {
      await using single = directHooks({ directory: data });
      await single.managed.rotateSecret('default');
    }
    using out = spyOn(process.stdout, 'write').mockImplementation(() => true);
    using err = spyOn(process.stderr, 'write').mockImplementation(() => true);
    const settings = { cluster: quorum.url, clusterPrefix: 'lost_', clusterKey: null, data };
    const created = `Created a key for signing secrets in ${secretsKeyFile(data)}.\n`;
    await initCluster(settings);
    expect(out.mock.calls.flat()).toContain(created);
    out.mockClear();
    await initCluster(settings);
    expect(out.mock.calls.flat()).not.toContain(created);
    expect(statSync(secretsKeyFile(data)).mode & 0o777).toBe(0o600);
    expect(err.mock.calls.join('')).toContain('does not open the signing secrets of 1 consumer.');
  });

  clusterTests(() => quorum);

  test("an entry that only the primary's disk has is neither acknowledged nor followed", async () => {
    await (await newLog('alone_')).close();
    const clock = heldClock([STATEMENT_MS]);
    const open = async () => openHost(await openPostgresLog(quorum.url, { prefix: 'alone_', clock }));
    await using other = await open();
    const [first, second] = simulatedEvents({ seed: 5, blocks: 1 });
    const WAITING = "application_name = 'stackside' AND (wait_event = 'SyncRep' OR wait_event_type = 'Lock')";
    const waiting = () => quorum.primary().run(`SELECT 1 FROM pg_stat_activity WHERE ${WAITING}`);
    /** The outcome of an event if each wait for a standby times out. */
    async function answerOf({ host }: typeof other, event: ReceivedEvent): Promise<unknown> {
      const answer = host.receive(event).catch((error: unknown) => error);
      const isAnswered = () => Bun.peek.status(answer) === 'fulfilled';
      await until(async () => {
        if (!isAnswered() && (await waiting()).length > 0) clock.pass(STATEMENT_MS);
        return isAnswered();
      }, 'the answer');
      return answer;
    }
    async function expectUnavailable(...hosts: (typeof other)[]): Promise<void> {
      for (const host of hosts) {
        expect(await answerOf(host, second!)).toBeInstanceOf(LogUnavailableError);
        expect(host.position()).toBe(entryOf(1));
      }
    }
    {
      await using taking = await open();
      expect(await taking.host.receive(first!)).toBe('applied');
      await other.follow(entryOf(1));
      await Promise.all(quorum.standbys().map((standby) => standby.kill()));
      const accepted = taking.host.receive(second!).catch((error: unknown) => error);
      await until(async () => (await waiting()).length > 0, 'an append that waits for a standby');
      await quorum.primary().run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${WAITING}`);
      await until(async () => (await quorum.primary().run('SELECT 1 FROM alone_stackside_log')).length === entryOf(2));
      await expectUnavailable(taking, other);
      expect(await accepted).toBeInstanceOf(LogUnavailableError);
      await quorum.primary().kill();
      await quorum.primary().restart();
      await expectUnavailable(taking, other);
      await quorum.primary().kill();
    }
    await Promise.all(quorum.standbys().map((standby) => standby.restart()));
    await quorum.failOver();
    await quorum.replace();
    const rows = await quorum.primary().run('SELECT 1 FROM alone_stackside_log WHERE seq = 3');
    expect(rows).toEqual([]);
    const accepted = ['applied', 'repeated'];
    const isAccepted = async () => accepted.includes(String(await other.host.receive(second!).catch(() => null)));
    await until(isAccepted, 'a log that can be reached');
    expect((await quorum.primary().run('SELECT 1 FROM alone_stackside_log')).length).toBe(entryOf(2));
  });

  test('commits that wait for a standby block no other host', async () => {
    const [standby] = quorum.standbys();
    await expect(standby!.run(WAITING_COMMIT)).rejects.toThrow('during recovery');
    const prefix = 'together_';
    await (await newLog(prefix)).close();
    const open = () => openPostgresLog(quorum.url, { prefix });
    const [first, second] = [await open(), await open()];
    expect(await first.append([entryAfter(START)], START)).toBe('appended');
    await first.access.engine.write(async ({ run }) => {
      // The first host's commit is not done as long as its transaction is open.
      await run('BEGIN');
      await run(WAITING_COMMIT);
      expect(await second.read(0, 1)).toHaveLength(1);
      await run('COMMIT');
    });
    await Promise.all([first.close(), second.close()]);
  });

  test('hosts switch from a primary that was cut off, but still runs, to the promoted one', async () => {
    const clock = heldClock([STATEMENT_MS]);
    const log = await newLog('cut_');
    await log.close();
    const cutLog = await openPostgresLog(quorum.url, { prefix: 'cut_', clock });
    const first = entryAfter(START);
    expect(await cutLog.append([first], START)).toBe('appended');
    const old = await quorum.cutOff();
    // The old primary writes the entry, and waits for a standby that it has lost.
    const append = outcomeOf(cutLog.append([entryAfter(first)], first));
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'stackside'";
    await until(async () => (await old.run(waiting)).length === 1, 'an append without a standby');
    clock.pass(STATEMENT_MS);
    expect(await append).toBe('unknown');
    expect((await cutLog.access.engine.writable()).server.name).toBe(`127.0.0.1:${quorum.primary().port}`);
    expect(await cutLog.append([entryAfter(first)], first)).toBe('appended');
    const warnings = async () => (await clusterStatus(cutLog)).warnings;
    expect(await warnings()).toEqual([expect.stringContaining(`stop the server at 127.0.0.1:${old.port}`)]);
    await old[Symbol.asyncDispose]();
    expect(await warnings()).toEqual([]);
    await cutLog.close();
    // A server with two names isn't two servers that accept writes.
    const { port } = quorum.primary();
    const names = quorum.url.replace(`127.0.0.1:${port}`, `127.0.0.1:${port},localhost:${port}`);
    const namedTwice = await openPostgresLog(names, { prefix: 'cut_' });
    expect((await clusterStatus(namedTwice)).warnings).toEqual([]);
    await namedTwice.close();
  });
});

test('cluster status prints one line for the log and for each host, lease and server', () => {
  const status: ClusterStatus = {
    chainId: 1,
    head: { id: 12, chain: new Uint8Array(32) },
    bytes: 1_234_567,
    hosts: [
      { name: 'a', entry: 12, version: 'stackside v1', seen_seconds_ago: 0.25, lag_seconds: 0 },
      { name: 'bcd', entry: 9, version: 'stackside v1', seen_seconds_ago: 9.5, lag_seconds: 130.5 },
      { name: 'busy', entry: 10, version: 'stackside v1', seen_seconds_ago: 2, lag_seconds: 0 },
      { name: 'dead', entry: 9, version: 'stackside v1', seen_seconds_ago: 12.2, lag_seconds: 0 },
      { name: 'odd', entry: 15, version: 'stackside v1', seen_seconds_ago: 1, lag_seconds: 7 },
    ],
    leases: [
      { name: 'deliveries', holder: 'a/5f0c', epoch: 3, seconds_left: 4.5 },
      { name: 'other', holder: 'b', epoch: 1, seconds_left: 0 },
    ],
    engine: {
      server: 'db1:5432',
      version: '15.4',
      synchronous_standby_names: '',
      standbys: [
        { name: 'db2', state: 'streaming', sync: 'async' },
        { name: 'db3', state: null, sync: null },
      ],
    },
    warnings: [],
  };
  expect(clusterLines(status)).toEqual([
    'chain          0x00000001',
    `log            entry 12, chain value 0x${'00'.repeat(32)}, 1.2 MB`,
    'host           a     entry 12, up to date, stackside v1, seen 0.3 s ago',
    'host           bcd   entry 9, 3 behind for 2 minutes 11 seconds, stackside v1, seen 9.5 s ago',
    'host           busy  entry 10, up to date, stackside v1, seen 2.0 s ago',
    'host           dead  entry 9, 3 behind, stackside v1, not seen for 12 seconds',
    'host           odd   entry 15, 3 above the log, stackside v1, seen 1.0 s ago',
    'lease          deliveries: epoch 3, held by a, expires in 4.5 s unless renewed',
    'lease          other: epoch 1, free',
    'postgresql     15.4, written at db1:5432',
    'synchronous    no',
    'standby        db2  streaming, async',
    'standby        db3  not visible to this role without: GRANT pg_read_all_stats TO …',
  ]);
});
