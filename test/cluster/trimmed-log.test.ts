/** A log that is trimmed: by the command, with an archive, while hosts are there, and what later hosts do. */
import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { contentsOf } from '../../src/archive/archive.ts';
import { basesOf } from '../../src/archive/base.ts';
import { initCluster, reportCluster } from '../../src/commands/cluster/cluster.ts';
import { dropFromCluster, trimCluster } from '../../src/commands/cluster/trim.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { LogEvent } from '../../src/log.ts';
import { directoryFiles } from '../../src/places/directory.ts';
import type { Place } from '../../src/places/files.ts';
import { readSettingsOf } from '../../src/settings/config.ts';
import { openJournalTrimming } from '../../src/store/files/journal-trim.ts';
import { missingEntries, writeReport } from '../../src/store/log/cluster-status.ts';
import { nextChain } from '../../src/store/log/entry.ts';
import { trimLog } from '../../src/store/log/log-trimming.ts';
import type { PostgresLog } from '../../src/store/log/postgres-log.ts';
import { LogUnavailableError } from '../../src/store/log/shared-log.ts';
import { type EngineFixture, engineFixture, entryAfter, START, verifiedEntries } from '../store/log/engine-fixture.ts';
import { archive, baseIn, DEVNET, refusal, restoredFrom } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { journalRows, wholeIndex } from '../support/data/tables.ts';
import { hasPostgres } from '../support/servers/postgres.ts';
import { serving } from '../support/servers/serving.ts';
import { describeWith } from '../support/servers/system-servers.ts';
import { until } from '../support/time/until.ts';
import { openHost } from './open-host.ts';

const events = [
  ...devnetEvents({ seed: 8, blocks: 8, accounts: 4, transactionsPerBlock: 2, forkEvery: 3, forkDepth: 1 }),
].map(received);
/** Entries that the base has, and the log when it is trimmed. */
const HELD = events.length - 6;

const home = dataDirectory();
const whole = join(home.path, 'whole');
const archived = join(home.path, 'archive');
const place = directoryFiles(archived);
/** The last entries of the sealed segments. */
let ends: number[] = [];
let baseEntry = 0;
const all = new MemoryLog();

beforeAll(async () => {
  await using host = openHost(all.client(), whole, undefined, DEVNET);
  for (const event of events.slice(0, HELD)) await host.host.receive(event);
  await host.ingest.queue.run(() => host.ingest.publish());
  await archive(whole, place);
  await baseIn(whole, place);
  for (const event of events.slice(HELD)) await host.host.receive(event);
  await host.ingest.queue.run(() => host.ingest.publish());
  await archive(whole, place);
  ends = (await contentsOf(place)).segments.map(({ last }) => last);
  baseEntry = (await basesOf(place))[0]!.id;
});
afterAll(() => home[Symbol.dispose]());

/** The last end of a segment that is no later than an entry. */
const endBefore = (entry: number): number => ends.findLast((end) => end <= entry)!;

const chunks = (label: number) => ({
  path: '/stackerdb_chunks',
  text: `{"label":${label}}`,
  receivedAt: 1_000 * label,
});

test('the chain that is used has segments after the base, and several before it', () => {
  expect(baseEntry).toBe(HELD);
  expect(ends.filter((end) => end <= baseEntry).length).toBeGreaterThan(2);
  expect(ends.at(-1)!).toBeGreaterThan(baseEntry);
});

describe('a host of a log that was trimmed', () => {
  const TRIMMED = 9;
  function trimmedLog(): MemoryLog {
    const log = new MemoryLog();
    log.entries = [...all.entries];
    log.trim(TRIMMED);
    return log;
  }

  test.each([[0], [TRIMMED - 1]])(
    'ends where the log no longer has the next entry after %s, and says what to do',
    async (last) => {
      const before = new MemoryLog();
      before.entries = all.entries.slice(0, last);
      const own = dataDirectory();
      {
        await using early = openHost(before.client(), own.path);
        await early.follow(last);
      }
      await using host = openHost(trimmedLog().client(), own.path);
      await host.follow(last + 1);
      expect(host.ended).toEqual([
        expect.objectContaining({
          message: `The cluster's log begins with entry ${TRIMMED + 1}, and this host ${last === 0 ? 'has no entry yet' : `ends with entry ${last}`}: what lies between was trimmed.`,
          remedy: expect.stringContaining('stackside restore ARCHIVE --data DIR'),
          exitCode: 1,
        }),
      ]);
      expect(host.position()).toBe(last);
      await expect(host.host.receive(events[0]!)).rejects.toBeInstanceOf(LogUnavailableError);
    },
  );

  test('goes on after the last trimmed entry, which it has, and gives back all that the log lost after it', async () => {
    const log = trimmedLog();
    using own = dataDirectory();
    cpSync(whole, own.path, { recursive: true });
    log.entries = [];
    log.chainId = DEVNET;
    await using host = openHost(log.client(), own.path);
    host.host.start();
    await until(() => log.head.id === all.head.id, 'what was lost');
    expect(log.entries).toEqual(all.entries.slice(TRIMMED));
    expect(await host.host.receive(chunks(1))).toBe('applied');
  });

  test.each([
    ['at the last trimmed entry', TRIMMED, TRIMMED],
    ['after it', TRIMMED + 3, TRIMMED + 3],
  ])('names the first entry that differs, %s', async (_, changed, named) => {
    const log = new MemoryLog();
    for (const { id, ...entry } of all.entries) {
      const made = { ...entry, receivedAt: entry.receivedAt + (id === changed ? 1 : 0) };
      const { chain } = log.head;
      log.add({ ...made, id, chain: nextChain(chain, { ...made, id }) }, log.head);
    }
    log.trim(TRIMMED);
    using own = dataDirectory();
    cpSync(whole, own.path, { recursive: true });
    await using host = openHost(log.client(), own.path);
    host.host.start();
    await until(() => host.ended.length > 0, 'the end');
    expect(host.ended[0]!.message).toBe(
      `Entry ${named} of the cluster's log differs from entry ${named} of this host's journal.`,
    );
  });
});

describeWith('PostgreSQL', hasPostgres, () => {
  let engine: EngineFixture;
  let prefix: string;
  let log: PostgresLog;

  beforeAll(async () => {
    engine = await engineFixture();
  });
  afterAll(() => engine[Symbol.asyncDispose]());
  beforeEach(async () => {
    prefix = await engine.newTables();
    log = await engine.openAt(engine.server.url, prefix);
    expect(await log.append(all.entries.slice(0, HELD), START)).toBe('appended');
    await log.chain(DEVNET);
    return async () => log.close();
  });

  const settingsAt = (url = engine.server.url, given: Record<string, string> = {}) =>
    readSettingsOf('cluster', { cluster: url, clusterPrefix: prefix, ...given }, {}).settings;

  const report = (name: string, entry: number) =>
    writeReport(log.access, { name, entry, version: 'a test', lagSeconds: 0, process: `process of ${name}` }, true);

  /** Runs a command. @returns what it printed */
  async function printed(run: () => Promise<unknown>): Promise<string> {
    let text = '';
    const out = spyOn(process.stdout, 'write').mockImplementation((part) => {
      text += String(part);
      return true;
    });
    const errors = spyOn(process.stderr, 'write').mockImplementation(() => true);
    try {
      await run();
    } finally {
      out.mockRestore();
      errors.mockRestore();
    }
    return text;
  }
  const trim = (at = settingsAt(), from = archived) => printed(() => trimCluster(at, from));
  const isSound = async (): Promise<boolean> => {
    let sound = false;
    await printed(async () => {
      sound = await reportCluster(settingsAt(), { format: 'text', verify: true });
    });
    return sound;
  };
  const firstEntry = async (): Promise<number | undefined> => (await log.read(0, 1))[0]?.id;

  /** A copy of the archive. */
  async function archiveCopy(change: (place: Place, directory: string) => unknown = () => {}) {
    const directory = dataDirectory();
    cpSync(archived, directory.path, { recursive: true });
    await change(directoryFiles(directory.path), directory.path);
    return directory;
  }

  test('nothing is trimmed before a host reported, without a base, or by the archive of another log', async () => {
    expect(await refusal(trim())).toBe(
      'No host has reported its place in the shared log, so that nothing can be trimmed.',
    );
    await report('a', HELD);
    using withoutBase = await archiveCopy(async (_, path) => {
      for (const name of readdirSync(path)) if (name.startsWith('base-')) rmSync(join(path, name));
    });
    expect(await refusal(trim(settingsAt(), withoutBase.path))).toContain('has no base');
    expect(await refusal(trim(settingsAt(), join(home.path, 'none')))).toContain('There is no archive');
    using other = ingestOf([...devnetEvents({ seed: 9, blocks: 12 })].map(received));
    using elsewhere = dataDirectory();
    const otherPlace = directoryFiles(join(elsewhere.path, 'archive'));
    await archive(other.path, otherPlace);
    await baseIn(other.path, otherPlace);
    expect(await refusal(trim(settingsAt(), join(elsewhere.path, 'archive')))).toContain('is of another log: entry');
    await engine.server.run(`UPDATE ${prefix}stackside_meta SET chain_id = 1`);
    expect(await refusal(trim())).toContain("The cluster's log is of mainnet");
    expect([await firstEntry(), (await log.trimmed()).id]).toEqual([1, 0]);
  });

  test('the log is trimmed below the host that is furthest behind, then below the newest base, and stays proven', async () => {
    await report('a', HELD);
    await report('b', HELD - 9);
    const first = endBefore(HELD - 9);
    expect(await trim()).toBe(
      `The log was trimmed from entry 1 to ${first}. What comes after entry ${HELD - 9} is held back: host b was there when it reported last, 00:00:00 ago.\n`,
    );
    expect([await firstEntry(), (await log.trimmed()).id]).toEqual([first + 1, first]);
    expect(await trim()).toStartWith(
      `Nothing was trimmed: the archive has no sealed segment that ends after entry ${first}`,
    );
    expect(await isSound()).toBe(true);
    expect(await missingEntries(log)).toEqual([]);
    // The first remaining entry is proven by the chain value of the last trimmed one.
    await engine.server.run(`UPDATE ${prefix}stackside_log SET received_at = 0 WHERE seq = ${first + 1}`);
    expect(await isSound()).toBe(false);
    await engine.server.run(
      `UPDATE ${prefix}stackside_log SET received_at = ${all.entries[first]!.receivedAt} WHERE seq = ${first + 1}`,
    );
    await report('b', HELD + 100);
    await report('a', HELD + 100);
    await log.append(all.entries.slice(HELD), all.entries[HELD - 1]!);
    const second = endBefore(baseEntry);
    expect(await trim()).toBe(
      `The log was trimmed from entry ${first + 1} to ${second}. What comes after entry ${baseEntry} is held back: the newest base of the archive is of that entry.\n`,
    );
    expect(await isSound()).toBe(true);
    expect((await log.head()).id).toBe(all.head.id);
  });

  test('a segment that is damaged or missing keeps its entries, and what comes later, in the log', async () => {
    await report('a', HELD);
    const [, second] = (await contentsOf(place)).segments;
    const named = (name: string) => name.startsWith(`segment-${String(second!.first).padStart(12, '0')}`);
    using damaged = await archiveCopy(async (of, path) => {
      const name = readdirSync(path).find(named)!;
      const bytes = await Bun.file(join(path, name)).bytes();
      bytes[bytes.length >> 1]! ^= 0xff;
      await of.write(name, bytes);
    });
    expect(await refusal(trim(settingsAt(), damaged.path))).toContain('is no sound segment');
    expect((await log.trimmed()).id).toBe(ends[0]!);
    using torn = await archiveCopy((_, path) => rmSync(join(path, readdirSync(path).find(named)!)));
    expect(await refusal(trim(settingsAt(), torn.path))).toContain(
      `it lacks entries ${second!.first} to ${second!.last}`,
    );
    expect(await firstEntry()).toBe(second!.first);
    // It goes on once the archive is whole.
    expect(await trim()).toContain(`from entry ${ends[0]! + 1} to ${endBefore(HELD)}`);
  });

  test('hosts that read and append meanwhile notice nothing', async () => {
    await using one = openHost(await engine.openAt(engine.server.url, prefix), undefined, undefined, DEVNET);
    await using two = openHost(await engine.openAt(engine.server.url, prefix), undefined, undefined, DEVNET);
    for (const host of [one, two]) host.host.start();
    await until(() => one.position() >= HELD && two.position() >= HELD, 'both hosts');
    let isTrimming = true;
    const trimming = (async () => {
      for (const end of ends.filter((last) => last <= HELD)) {
        await report('one', one.position());
        await report('two', two.position());
        expect(await trimLog(log.access, all.entries[end - 1]!)).toBeNumber();
      }
      isTrimming = false;
    })();
    for (let label = 0; isTrimming || label < 20; label++) await one.host.receive(chunks(label));
    await trimming;
    for (const event of events.slice(HELD)) await two.host.receive(event);
    const last = (await log.head()).id;
    await until(() => one.position() === last && two.position() === last, 'both hosts');
    expect(journalRows(two.directory)).toEqual(journalRows(one.directory));
    expect(wholeIndex(two.directory)).toEqual(wholeIndex(one.directory));
    expect([one.ended, two.ended]).toEqual([[], []]);
    expect(await isSound()).toBe(true);
  });

  test('what was trimmed can be neither appended again nor removed beyond a host, and trimming twice does no harm', async () => {
    await report('a', 20);
    expect(await trimLog(log.access, all.entries[20]!)).toBe('held');
    expect(await trimLog(log.access, { ...all.entries[9]!, chain: START.chain })).toBe('other');
    expect(await trimLog(log.access, all.entries[9]!)).toBe(10);
    expect(await trimLog(log.access, all.entries[9]!)).toBe(0);
    expect(await trimLog(log.access, all.entries[4]!)).toBe(0);
    expect((await log.trimmed()).id).toBe(10);
    expect(await log.append([all.entries[0]!], START)).toBe('conflict');
    expect(await log.append(all.entries.slice(5, 8), all.entries[4]!)).toBe('conflict');
    expect(await log.append([entryAfter(all.entries[8]!)], all.entries[8]!)).toBe('conflict');
    // With all removed, the last trimmed entry is the head.
    await report('a', HELD);
    expect(await trimLog(log.access, all.entries[HELD - 1]!)).toBe(HELD - 10);
    expect(await log.head()).toEqual({ id: HELD, chain: Buffer.from(all.entries[HELD - 1]!.chain) });
    expect(await log.append([all.entries[HELD]!], all.entries[HELD - 1]!)).toBe('appended');
    expect((await log.read(0, 9)).map(({ id }) => id)).toEqual([HELD + 1]);
  });

  test('a host with an empty directory and the archive begins with the base by itself; one without it ends', async () => {
    await report('a', HELD);
    await trim();
    await log.append(all.entries.slice(HELD), all.entries[HELD - 1]!);
    const said: LogEvent[] = [];
    const createLog = () => (event: LogEvent) => void said.push(event);
    const given = { cluster: engine.server.url, clusterPrefix: prefix, hostName: 'late', network: 'testnet' };
    using directory = dataDirectory();
    {
      await using late = await serving({ ...given, archive: archived }, directory.path, {}, { createLog });
      await until(async () => (await late.get('/ready')).ok, 'a host that is ready');
      expect(said.map(({ event }) => event)).toEqual(expect.arrayContaining(['host_restoring', 'host_restored']));
      await until(() => journalRows(directory.path).at(-1)?.id === all.head.id, 'all entries');
    }
    expect(wholeIndex(directory.path)).toEqual(wholeIndex(whole));
    // The next start goes on with what is there.
    said.splice(0);
    {
      await using again = await serving({ ...given, archive: archived }, directory.path, {}, { createLog });
      expect((await again.get('/health')).ok).toBe(true);
    }
    expect(said.map(({ event }) => event)).not.toContain('host_restoring');

    await using without = openHost(await engine.openAt(engine.server.url, prefix), undefined, undefined, DEVNET);
    await without.follow(1);
    expect(without.ended.map(({ message }) => message)).toEqual([
      expect.stringContaining('this host has no entry yet'),
    ]);
    // A directory that was restored by hand follows as well.
    using restored = dataDirectory();
    const into = join(restored.path, 'data');
    await restoredFrom(place, into);
    await using host = openHost(await engine.openAt(engine.server.url, prefix), into, undefined, DEVNET);
    await host.follow(all.head.id);
    expect(host.ended).toEqual([]);
    expect(await host.host.receive(chunks(1))).toBe('applied');
  });

  test('an archive of another log is not followed by the log', async () => {
    await report('a', HELD);
    await trim();
    using other = ingestOf(events.map((event) => ({ ...event, receivedAt: event.receivedAt + 1 })));
    using elsewhere = dataDirectory();
    const otherPlace = directoryFiles(join(elsewhere.path, 'archive'));
    await archive(other.path, otherPlace);
    const into = join(elsewhere.path, 'data');
    await restoredFrom(otherPlace, into);
    await using host = openHost(await engine.openAt(engine.server.url, prefix), into, undefined, DEVNET);
    host.host.start();
    await until(() => host.ended.length > 0, 'the end');
    const { id } = await log.trimmed();
    expect(host.ended[0]!.message).toBe(
      `Entry ${id} of the cluster's log differs from entry ${id} of this host's journal.`,
    );
  });

  test("an empty host whose log is away waits for it, since it can't know whether it was trimmed", async () => {
    using directory = dataDirectory();
    const start = serving(
      { cluster: 'postgres://nobody@127.0.0.1:1/none', archive: archived, network: 'testnet' },
      directory.path,
    );
    await expect(start).rejects.toMatchObject({ remedy: expect.stringContaining('once the log can be reached') });
    expect(readdirSync(directory.path)).toEqual([]);
  });

  test('an engine that was restored to before what was trimmed is healed from an archive, or by a host whose journal goes back so far, else refused by name', async () => {
    await report('a', HELD);
    const table = `${prefix}stackside_log`;
    await engine.server.run(`CREATE TABLE ${prefix}early AS SELECT * FROM ${table} WHERE seq <= 12`);
    await trim();
    await log.append(all.entries.slice(HELD), all.entries[HELD - 1]!);
    const restoreEngine = () =>
      engine.server.run(
        `TRUNCATE ${table}; INSERT INTO ${table} SELECT * FROM ${prefix}early;` +
          ` UPDATE ${prefix}stackside_trimmed SET seq = 0, chain = decode(repeat('00', 32), 'hex')`,
      );
    await restoreEngine();
    using lacking = dataDirectory();
    cpSync(whole, lacking.path, { recursive: true });
    const trimming = openJournalTrimming(lacking.path);
    trimming.trimTo(20);
    trimming.close();
    {
      await using host = openHost(await engine.openAt(engine.server.url, prefix), lacking.path, undefined, DEVNET);
      host.host.start();
      await until(() => host.ended.length > 0, 'the end');
      expect(host.ended[0]).toMatchObject({
        message:
          "The cluster's log ends at entry 12, and this host's journal lacks the entries up to 20: it can't give back what the log lost.",
        remedy: expect.stringContaining('--archive'),
      });
    }
    const expectAll = async () =>
      expect((await verifiedEntries(log)).map(({ text }) => text)).toEqual(all.entries.map(({ text }) => text));
    {
      // With the archive, it has what its journal lacks.
      const given = { cluster: engine.server.url, clusterPrefix: prefix, archive: archived, network: 'testnet' };
      await using _ = await serving(given, lacking.path);
      await until(async () => (await log.head()).id === all.head.id, 'what was lost');
      await expectAll();
    }
    await restoreEngine();
    using own = dataDirectory();
    cpSync(whole, own.path, { recursive: true });
    await using host = openHost(await engine.openAt(engine.server.url, prefix), own.path, undefined, DEVNET);
    host.host.start();
    await until(async () => (await log.head()).id === all.head.id, 'what was lost');
    await expectAll();
  });

  test('the role of hosts can neither trim nor drop, that of trimming can neither append nor change, and who lacks a right is told', async () => {
    await report('a', HELD);
    await engine.server.run('CREATE ROLE host LOGIN; CREATE ROLE trimmer LOGIN');
    const as = (role: string) => engine.server.url.replace('stackside@', `${role}@`);
    // Before any grant.
    expect(await refusal(trim(settingsAt(as('trimmer'))))).toContain('permission denied for table');
    const grants = (
      await printed(() => initCluster(settingsAt(undefined, { clusterPrefix: `${prefix}new_`, data: home.path })))
    ).match(/GRANT .*;/g)!;
    const page = readFileSync(join(import.meta.dir, '../../docs/cluster.md'), 'utf8');
    expect([...(page.match(/GRANT .*? TO (?:host|trimmer);/g) ?? [])]).toEqual(
      grants.map((grant) => grant.replaceAll(`${prefix}new_`, '')),
    );
    for (const grant of grants) await engine.server.run(grant.replaceAll(`${prefix}new_`, prefix));
    const denied = {
      message: expect.stringContaining('permission denied for table'),
      remedy: expect.stringContaining('init prints the statements'),
    };
    await expect(trim(settingsAt(as('host')))).rejects.toMatchObject(denied);
    await engine.server.run(`UPDATE ${prefix}stackside_hosts SET seen_at = now() - interval '1 hour'`);
    await expect(printed(() => dropFromCluster(settingsAt(as('host')), 'a'))).rejects.toMatchObject(denied);
    expect((await log.trimmed()).id).toBe(0);
    expect(await trim(settingsAt(as('trimmer')))).toContain('The log was trimmed from entry 1');

    const trimmer = await engine.openAt(as('trimmer'), prefix);
    const [last] = all.entries.slice(HELD - 1);
    await expect(trimmer.append([all.entries[HELD]!], last!)).rejects.toThrow(
      `permission denied for table ${prefix}stackside_log`,
    );
    const { engine: connected } = trimmer.access;
    for (const change of [
      `UPDATE ${prefix}stackside_log SET path = ''`,
      `UPDATE ${prefix}stackside_meta SET format = 1`,
    ]) {
      await expect(connected.write(({ run }) => run(change))).rejects.toThrow('permission denied');
    }
    await trimmer.close();
    const host = await engine.openAt(as('host'), prefix);
    expect(await host.append([all.entries[HELD]!], last!)).toBe('appended');
    await expect(
      host.access.engine.write(({ run }) => run(`UPDATE ${prefix}stackside_trimmed SET seq = 0`)),
    ).rejects.toThrow('permission denied');
    await host.close();
    expect(await printed(() => dropFromCluster(settingsAt(as('trimmer')), 'a'))).toContain('Host a is forgotten.');
    // A host whose role was made for a log from before trimming is told which table it may not read.
    await engine.server.run(`REVOKE SELECT ON ${prefix}stackside_trimmed FROM host`);
    await using poor = openHost(await engine.openAt(as('host'), prefix), undefined, undefined, DEVNET);
    await expect(poor.host.receive(chunks(1))).rejects.toThrow(
      `permission denied for table ${prefix}stackside_trimmed`,
    );
  });

  test('a host that runs is not dropped, and one that is gone no longer holds back trimming', async () => {
    await report('a', HELD);
    await report('gone', 3);
    const status = await printed(() => reportCluster(settingsAt(), { format: 'text', verify: false }));
    expect(status).toContain('nothing; host gone holds back what comes after entry 3');
    expect(await trim()).toContain('Nothing was trimmed');
    expect(await refusal(dropFromCluster(settingsAt(), 'other'))).toBe('No host of the name other has reported.');
    expect(await refusal(dropFromCluster(settingsAt(), 'gone'))).toMatch(/^Host gone reported \d+ s ago/);
    await engine.server.run(
      `UPDATE ${prefix}stackside_hosts SET seen_at = now() - interval '1 day' WHERE name = 'gone'`,
    );
    await printed(() => dropFromCluster(settingsAt(), 'gone'));
    expect(await trim()).toContain('The log was trimmed from entry 1');
  });
});
