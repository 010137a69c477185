/**
 * Three hosts with three PostgreSQL servers. Under load, processes are killed. All hosts still end with equal data,
 * nothing is lost, and a chainhook receives every occurrence in order.
 */

import { expect, test } from 'bun:test';
import { type EngineAccess, engineAccess, makeTables } from '../../src/cluster/engine-tables.ts';
import { hostOf } from '../../src/cluster/lease-keeper.ts';
import { readLeases } from '../../src/cluster/leases.ts';
import { openPostgresLog } from '../../src/cluster/postgres-log.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { verifiedEntries } from '../cluster/log/engine-fixture.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { journalRows, wholeIndex } from '../support/data/tables.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import type { PostgresQuorum } from '../support/servers/postgres.ts';
import { moment } from '../support/time/moment.ts';
import { until } from '../support/time/until.ts';
import { ClusterHost, type Posting, postTo } from './cluster-hosts.ts';
import { ClusterReceiver, hookFlags } from './cluster-receiver.ts';

const PREFIX = 'hosts_';
const HOSTS = 3;

/** Hosts and primaries are killed in turn. */
const KILLS = casesOf(2);
const events: NodeEvent[] = [
  ...devnetEvents({ seed: firstSeed, blocks: 4 + 3 * KILLS, accounts: 6, transactionsPerBlock: 2, forkEvery: 4 }),
];
/** The events that nodes post at each kill and at the end. */
const portions = Array.from({ length: KILLS + 1 }, (_, portion) => {
  const [from, to] = [portion, portion + 1].map((part) => Math.floor((part * events.length) / (KILLS + 1)));
  return events.slice(from, to);
});
/** Entries that the log loses before the last portion, and gets back. */
const LOST = 15;
/** Latest time of a kill, in milliseconds after the posting of its events starts. */
const LATEST_KILL_MS = 60;

/** The newest entry of a data directory's journal. */
function lastEntry(directory: string): number {
  const journal = openJournalReader(directory);
  const last = journal?.lastId() ?? 0;
  journal?.close();
  return last;
}

/** The hashes of the blocks among events. */
const blocksOf = (posted: readonly { path: string; text: string }[]): string[] =>
  posted.filter(({ path }) => path === '/new_block').map(({ text }) => hashOf(text));

const hashOf = (text: string): string => (JSON.parse(text) as { index_block_hash: string }).index_block_hash;

/** Returns the time of each block's first acknowledgement to a node, by the block's hash. */
function acknowledgedAt(postings: readonly Posting[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const posting of postings) {
    for (const { path, body } of posting.acknowledged) {
      if (path !== '/new_block') continue;
      const time = posting.acknowledgedAt.get(body) ?? Number.POSITIVE_INFINITY;
      first.set(hashOf(body), Math.min(time, first.get(hashOf(body)) ?? time));
    }
  }
  return first;
}

/** Returns the host that delivers, or the first host if none does. */
async function deliverer(access: EngineAccess, hosts: readonly ClusterHost[]): Promise<ClusterHost> {
  const [lease] = await readLeases(access);
  const holder = lease === undefined || lease.seconds_left === 0 ? null : hostOf(lease.holder);
  return hosts.find(({ name }) => name === holder) ?? hosts[0]!;
}

/** Kills the processes of a failed test. */
async function endAll(hosts: readonly ClusterHost[]): Promise<void> {
  await Promise.all(hosts.map((host) => host.kill()));
}

async function restart(host: ClusterHost): Promise<void> {
  await host.kill();
  await host.start();
}

async function replacePrimary(quorum: PostgresQuorum): Promise<void> {
  await quorum.failOver();
  await quorum.replace();
}

/** Removes the last entries, which every host has, from the shared log, as if it were restored from a backup. */
async function loseEntries(quorum: PostgresQuorum, hosts: readonly ClusterHost[]): Promise<void> {
  const log = `${PREFIX}stackside_log`;
  await until(async () => {
    const seq = lastEntry(hosts[0]!.directory);
    if (hosts.some(({ directory }) => lastEntry(directory) !== seq)) return false;
    const lost = await quorum
      .primary()
      .run(`DELETE FROM ${log} WHERE seq > ${seq - LOST} AND ${seq} = (SELECT max(seq) FROM ${log}) RETURNING seq`);
    return lost.length === LOST;
  }, 'all entries on all hosts');
}

export function clusterTests(quorum: () => PostgresQuorum): void {
  test('hosts and primaries are killed while two nodes post, and the log loses entries: all hosts end equal, and nothing is lost', async () => {
    const access = engineAccess(quorum().url, PREFIX);
    await makeTables(access);
    using receiver = new ClusterReceiver();
    using scratch = dataDirectory();
    const flags = ['--cluster', quorum().url, '--cluster-prefix', PREFIX, ...hookFlags];
    const hosts = Array.from({ length: HOSTS }, (_, host) => {
      return new ClusterHost(`host-${host}`, `${scratch.path}/${host}`, flags);
    });
    await using _ = { [Symbol.asyncDispose]: () => endAll(hosts) };
    await Promise.all(hosts.map((host) => host.start()));

    /** Every second killed host is the one that delivers. Its deliveries are completed before the next kill. */
    const isDeliverer = (kill: number): boolean => kill % 4 === 0;
    const victim = async (kill: number) => (isDeliverer(kill) ? deliverer(access, hosts) : hosts[(kill >> 1) % HOSTS]!);
    const prng = new Prng(`cluster/${firstSeed}`);
    const postings = [0, 1].map((): Posting => ({ acknowledged: [], longestWait: 0, acknowledgedAt: new Map() }));
    await receiver.register(hosts[1]!.api ?? '');
    const isDelivered = async () =>
      (await Promise.all(hosts.map(({ api }) => receiver.isDone(api ?? '')))).every(Boolean);
    for (const [kill, portion] of portions.entries()) {
      if (kill === KILLS) {
        await until(isDelivered, 'all deliveries');
        await loseEntries(quorum(), hosts);
      }
      const nodes = Promise.all(postings.map((posting, node) => postTo(hosts, node, portion, posting)));
      await moment(prng.below(LATEST_KILL_MS));
      if (kill < KILLS) await (kill % 2 === 1 ? replacePrimary(quorum()) : restart(await victim(kill)));
      await nodes;
      if (isDeliverer(kill) && kill < KILLS) await until(isDelivered, 'the deliveries of another host');
    }

    const log = await openPostgresLog(quorum().url, { prefix: PREFIX });
    const haveAll = async () => {
      const { id } = await log.head();
      return hosts.every(({ directory }) => lastEntry(directory) === id);
    };
    await until(isDelivered, 'all deliveries');
    await until(haveAll, 'the last entry on all hosts, and in the log');
    expect(await Promise.all(hosts.map((host) => host.stop()))).toEqual([0, 0, 0]);
    const entries = (await verifiedEntries(log)).map(({ chain: _, ...entry }) => entry);
    await Promise.all([log.close(), access.engine.close()]);
    const index = wholeIndex(hosts[0]!.directory);
    for (const { directory } of hosts) {
      expect(journalRows(directory)).toEqual(entries);
      expect(wholeIndex(directory)).toEqual(index);
    }
    expect(problemsIn(hosts[0]!.directory)).toEqual([]);
    // Events that both nodes posted, some of them twice, are stored once.
    const posted = blocksOf(events.map(({ path, body }) => ({ path, text: body })));
    expect(blocksOf(entries).toSorted()).toEqual([...new Set(posted)].toSorted());
    const hook = receiver.holdLaws(
      entries.map(({ path, text: body }) => ({ path, body, time: 0 })),
      acknowledgedAt(postings),
    );
    const longest = Math.max(...postings.map(({ longestWait }) => longestWait));
    process.stderr.write(
      `cluster: ${Math.ceil(KILLS / 2)} hosts and ${KILLS >> 1} primaries killed, ${entries.length} entries; ` +
        `the longest wait of a node was ${longest.toFixed(1)} s; ${hook.deliveries} deliveries, ${hook.repeated} of them ` +
        `again, and the longest wait of a hook was ${hook.longestWait.toFixed(1)} s\n`,
    );
  });
}
