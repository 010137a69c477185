/** Three hosts over three PostgreSQL servers: whatever is killed under load, all hosts end equal and nothing is lost. */
import { expect, test } from 'bun:test';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { checkDirectory } from '../../src/store/check/check.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { makeTables } from '../../src/store/log/engine-tables.ts';
import { engineAccess, openPostgresLog } from '../../src/store/log/postgres-log.ts';
import { verifiedEntries } from '../store/log/engine-fixture.ts';
import { dataDirectory } from '../support/data-directory.ts';
import { moment } from '../support/moment.ts';
import type { PostgresQuorum } from '../support/postgres.ts';
import { casesOf, firstSeed, timeout } from '../support/property.ts';
import { journalRows, type Tables, wholeIndex } from '../support/tables.ts';
import { until } from '../support/until.ts';
import { ClusterHost, type Posting, postTo } from './cluster-hosts.ts';

const PREFIX = 'hosts_';
const HOSTS = 3;

/** Hosts and primaries are killed in turn. */
const KILLS = casesOf(2);
const events: NodeEvent[] = [
  ...devnetEvents({ seed: firstSeed, blocks: 4 + 3 * KILLS, accounts: 6, transactionsPerBlock: 2, forkEvery: 4 }),
];
/** What nodes post at each kill, and in the end. */
const portions = Array.from({ length: KILLS + 1 }, (_, portion) => {
  const [from, to] = [portion, portion + 1].map((at) => Math.floor((at * events.length) / (KILLS + 1)));
  return events.slice(from, to);
});
/** Entries that the log loses before the last portion, and gets back. */
const LOST = 15;
/** A kill comes so many milliseconds after its events begin, at most. */
const LATEST_KILL_MS = 60;

/** The newest entry of a data directory's journal. */
function lastEntry(directory: string): number {
  const journal = openJournalReader(directory);
  const last = journal?.lastId() ?? 0;
  journal?.close();
  return last;
}

/** Every table, but for how far a host has looked for chainhooks, which are its own. */
const indexOf = (directory: string): Tables =>
  wholeIndex(
    directory,
    ['evaluated', 'cursor_height', 'cursor_hash', 'evaluated_at'].map((column) => `hook_progress.${column}`),
  );

/** The hashes of the blocks among events. */
const blocksOf = (posted: readonly { path: string; text: string }[]): string[] =>
  posted
    .filter(({ path }) => path === '/new_block')
    .map(({ text }) => (JSON.parse(text) as { index_block_hash: string }).index_block_hash);

/** Ends what a test that failed left. */
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

/** Takes from the log its last entries, which every host has, as a backup that is restored does. */
async function loseEntries(quorum: PostgresQuorum, hosts: readonly ClusterHost[]): Promise<void> {
  const log = `${PREFIX}stackside_log`;
  const [newest] = await quorum.primary().run<{ seq: string }>(`SELECT max(seq) AS seq FROM ${log}`);
  const seq = Number(newest?.seq);
  await until(() => hosts.every(({ directory }) => lastEntry(directory) === seq), 'all entries on all hosts');
  await quorum.primary().run(`DELETE FROM ${log} WHERE seq > ${seq - LOST}`);
}

export function clusterTests(quorum: () => PostgresQuorum): void {
  test(
    'hosts and primaries are killed while two nodes post, and the log loses entries: all hosts end equal, and nothing is lost',
    async () => {
      const { engine, tables } = engineAccess(quorum().url, { prefix: PREFIX });
      await makeTables(engine, tables);
      await engine.close();
      using scratch = dataDirectory();
      const flags = ['--cluster', quorum().url, '--cluster-prefix', PREFIX];
      const hosts = Array.from({ length: HOSTS }, (_, host) => {
        return new ClusterHost(`host-${host}`, `${scratch.path}/${host}`, flags);
      });
      await using _ = { [Symbol.asyncDispose]: () => endAll(hosts) };
      await Promise.all(hosts.map((host) => host.start()));

      const prng = new Prng(`cluster/${firstSeed}`);
      const postings = [0, 1].map((): Posting => ({ taken: [], longestWait: 0 }));
      for (const [kill, portion] of portions.entries()) {
        if (kill === KILLS) await loseEntries(quorum(), hosts);
        const nodes = Promise.all(postings.map((posting, node) => postTo(hosts, node, portion, posting)));
        await moment(prng.below(LATEST_KILL_MS));
        if (kill < KILLS) await (kill % 2 === 0 ? restart(hosts[(kill >> 1) % HOSTS]!) : replacePrimary(quorum()));
        await nodes;
      }

      const log = await openPostgresLog(quorum().url, { prefix: PREFIX });
      const haveAll = async () => {
        const { seq } = await log.head();
        return hosts.every(({ directory }) => lastEntry(directory) === seq);
      };
      await until(haveAll, 'the last entry on all hosts, and in the log');
      expect(await Promise.all(hosts.map((host) => host.stop()))).toEqual([0, 0, 0]);
      const entries = (await verifiedEntries(log)).map(({ seq: id, receivedAt, path, text }) => ({
        ...{ id, receivedAt, path, text },
      }));
      await log.close();
      const index = indexOf(hosts[0]!.directory);
      for (const { directory } of hosts) {
        expect(journalRows(directory)).toEqual(entries);
        expect(indexOf(directory)).toEqual(index);
      }
      expect(checkDirectory(hosts[0]!.directory).flatMap(({ problems }) => problems)).toEqual([]);
      // What both nodes posted, again after each lost answer, is there once.
      const posted = blocksOf(events.map(({ path, body }) => ({ path, text: body })));
      expect(blocksOf(entries).toSorted()).toEqual([...new Set(posted)].toSorted());
      const longest = Math.max(...postings.map(({ longestWait }) => longestWait));
      process.stderr.write(
        `cluster: ${Math.ceil(KILLS / 2)} hosts and ${KILLS >> 1} primaries killed, ${entries.length} entries; ` +
          `the longest wait of a node was ${longest.toFixed(1)} s\n`,
      );
    },
    timeout,
  );
}
