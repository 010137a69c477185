/** A log that is filled with the journal of a data directory. */

import { expect, spyOn, test } from 'bun:test';
import { clusterStatus } from '../../../src/cluster/cluster-status.ts';
import { fillLog } from '../../../src/cluster/comparing.ts';
import { makeTables } from '../../../src/cluster/engine-tables.ts';
import { LogUnavailableError } from '../../../src/cluster/shared-log.ts';
import { reportCluster } from '../../../src/commands/cluster/cluster.ts';
import { type Journal, openJournal } from '../../../src/store/files/journal.ts';
import { CHAIN_START, compressed, nextChain } from '../../../src/store/log/entry.ts';
import { openHost } from '../../cluster/open-host.ts';
import { dataDirectory } from '../../support/data/data-directory.ts';
import { entryOf, ingestOf, simulatedEvents } from '../../support/data/ingest.ts';
import { until } from '../../support/time/until.ts';
import { type EngineFixture, entryAfter, START } from './engine-fixture.ts';

/** Appends entries to a journal, of texts of many kinds. */
function extend(journal: Journal, count: number): void {
  journal.begin();
  for (let added = 0; added < count; added++) {
    const last = journal.lastId();
    const event = {
      id: last + 1,
      receivedAt: 1_700_000_000_000_000 + last,
      path: '/new_block',
      text: `"\u{1F600}${last}"`,
    };
    journal.append({ ...event, chain: nextChain(journal.chainAt(last) ?? CHAIN_START, event) }, compressed(event.text));
  }
  journal.commit();
}

export function fillingTests(fixture: () => EngineFixture): void {
  test('fills the log from a journal, continues at its end, and rejects a journal that differs', async () => {
    await using log = await fixture().newLog();
    using directory = dataDirectory();
    const journal = openJournal(directory.path);
    // Two transactions.
    extend(journal, 2_001);
    const filled: number[] = [];
    const note = (id: number) => void filled.push(id);
    expect((await fillLog(log, journal, note)).id).toBe(2_001);
    extend(journal, 2);
    expect((await fillLog(log, journal, note)).id).toBe(2_003);
    expect((await fillLog(log, journal, note)).id).toBe(2_003);
    expect(filled).toEqual([2_000, 2_001, 2_003]);
    const entries = await log.read(0, 3_000);
    expect(entries.length).toBe(2_003);
    expect(entries.map(({ id, ...rest }) => ({ ...rest, id: id, chain: Buffer.from(rest.chain) }))).toEqual(
      [...journal.after(0)].map((entry) => ({ ...entry, chain: Buffer.from(entry.chain) })),
    );

    const next = entryAfter(await log.head());
    expect(await log.append([next], await log.head())).toBe('appended');
    await expect(fillLog(log, journal, note)).rejects.toThrow('2004 entries already, and the journal only 2003');
    extend(journal, 1);
    await expect(fillLog(log, journal, note)).rejects.toThrow('entry 2004 differs');
    const later = entryAfter(next);
    expect(await log.append([later], next)).toBe('appended');
    await expect(fillLog(log, journal, note)).rejects.toThrow('entry 2004 differs');
    journal.close();
  });

  test('cluster status prints the status before it verifies, and names the commit that no standby confirms', async () => {
    const { server } = fixture();
    const clusterPrefix = await fixture().newTables();
    const log = await fixture().openAt(server.url, clusterPrefix);
    expect(await log.append([entryAfter(START)], START)).toBe('appended');
    await log.close();
    const setStandbys = async (names: string) => {
      await server.run(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      await server.run('SELECT pg_reload_conf()');
    };
    await setStandbys('nobody');
    using out = spyOn(process.stdout, 'write').mockImplementation(() => true);
    using err = spyOn(process.stderr, 'write').mockImplementation(() => true);
    const settings = { cluster: server.url, clusterPrefix, clusterKey: null, data: '/nowhere' };
    const report = reportCluster(settings, { json: false, verify: true }).catch((error: unknown) => error);
    await until(async () => {
      await server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
      return Bun.peek.status(report) === 'fulfilled';
    }, 'the end of the wait');
    await setStandbys('');
    expect(await report).toMatchObject({
      message: expect.stringContaining('did not confirm a commit'),
      remedy: expect.stringContaining('start the standbys'),
    });
    expect(out.mock.calls.join('')).toContain('log            entry 1');
    expect(err.mock.calls.join('')).toContain('No synchronous standby is connected');
  });

  test('stops filling the log if another host appends to it', async () => {
    await using log = await fixture().newLog();
    using directory = dataDirectory();
    const journal = openJournal(directory.path);
    extend(journal, 1);
    const write = log.access.engine.write.bind(log.access.engine);
    log.access.engine.write = async (work, bytes) => {
      log.access.engine.write = write;
      await log.append([entryAfter(START)], START);
      return write(work, bytes);
    };
    await expect(fillLog(log, journal, () => {})).rejects.toThrow('Another host appended entry 1 to the shared log');
    expect((await log.read(0, 9)).map(({ text }) => text)).toEqual([entryAfter(START).text]);
    journal.close();
  });

  test('a log belongs to one chain, and its tables are created once', async () => {
    await using log = await fixture().newLog();
    expect(await makeTables(log.access)).toBe(false);
    expect(await log.chain(0x8000_0000)).toBe(0x8000_0000);
    expect(await log.chain(1)).toBe(0x8000_0000);
    expect((await clusterStatus(log)).chainId).toBe(0x8000_0000);
  });

  test('the log rejects a host of another chain before its first entry', async () => {
    const events = simulatedEvents({ seed: 5, blocks: 1 });
    const blocks = events.filter(({ path }) => path === '/new_block');
    const burnBlock = events.find(({ path }) => path === '/new_burn_block');
    const prefix = await fixture().newTables();
    const openLog = () => fixture().openAt(fixture().server.url, prefix);
    const open = async (chainId: number | null) => openHost(await openLog(), undefined, { chainId });
    const log = await openLog();
    // The log has the chain of the first host that appends, before any block names it.
    await using mainnet = await open(1);
    mainnet.host.start();
    await until(() => mainnet.host.state().reachable, 'the log');
    expect(await log.chain(null)).toBeNull();
    expect(await mainnet.host.receive(burnBlock!)).toBe('applied');
    expect(await log.chain(null)).toBe(1);
    const refusal = {
      message: expect.stringMatching(
        /^The cluster's log belongs to mainnet \(chain 0x00000001\), but this host to testnet \(chain 0x80000000\)\.$/,
      ),
      remedy: expect.stringContaining('--network 0x00000001'),
    };
    {
      // A host whose settings name another chain ends even before an event.
      await using named = await open(0x8000_0000);
      await named.follow(entryOf(1));
      expect(named.ended).toEqual([expect.objectContaining(refusal)]);
      expect(named.position()).toBe(0);
    }
    {
      // An event that comes before the first look at the log ends it as well.
      await using early = await open(0x8000_0000);
      await expect(early.host.receive(burnBlock!)).rejects.toBeInstanceOf(LogUnavailableError);
      expect(early.ended).toEqual([expect.objectContaining(refusal)]);
    }
    {
      // A host without a configured chain learns it from its node's first block with a signed transaction, too late for the block before.
      await using unnamed = await open(null);
      await unnamed.follow(entryOf(1));
      const outcomes = await Promise.allSettled(blocks.map((event) => unnamed.host.receive(event)));
      expect(outcomes.at(-1)?.status).toBe('rejected');
      expect(unnamed.ended).toEqual([expect.objectContaining(refusal)]);
      expect(unnamed.position()).toBe(entryOf(blocks.length));
    }
    await log.close();
  });

  test('a host with more entries does not restore them to a log of another chain', async () => {
    await using log = await fixture().newLog();
    expect(await log.chain(1)).toBe(1);
    using directory = ingestOf(simulatedEvents({ seed: 5, blocks: 1 }));
    await using host = openHost(log, directory.path);
    await host.follow(1);
    await until(() => host.ended.length > 0, 'the end of the host');
    expect((await log.head()).id).toBe(0);
  });
}
