/** Measures several hosts: the shared log in PostgreSQL, with and without synchronous standbys. */
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { PostgresServer } from '../test/support/servers/postgres.ts';
import { devnetRecording, importInto, SEED } from './dataset.ts';
import { say, withDirectory } from './harness.ts';
import { type HostRound, hostRound } from './parts/cluster-hosts.ts';
import { type Filling, fillings, postedRate } from './parts/log-rates.ts';
import { appendTimes, type Bulk, bulkRates, lagTimes, TEXT_BYTES } from './parts/shared-log.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    appends: { type: 'string', default: '500' },
    entries: { type: 'string', default: '20000' },
    blocks: { type: 'string', default: '300' },
    hosts: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
  },
});
const [repeat, appends, entries] = [Number(values.repeat), Number(values.appends), Number(values.entries)];
const blocks = Number(values.blocks);
const [hosts, seconds] = [Number(values.hosts), Number(values.seconds)];

// The servers' data is on a disk, because a commit waits for its sync.
process.env.TMPDIR ??= tmpdir();
const { hasPostgres, startPostgres, startQuorum } = await import('../test/support/servers/postgres.ts');
if (!hasPostgres) {
  say('PostgreSQL is not installed.');
  process.exit(1);
}

/** Returns a percentile of values. @param share between 0 and 1 */
const percentile = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]!;

interface Round {
  single: number[];
  quorum: number[];
  lag: number[];
  bulk: Bulk;
  /** Entries per second, by the number of nodes that post to one host. */
  posted: number[];
  filling: Filling;
  hosts: HostRound;
}

/** Syncs earlier writes, so that they don't delay the measurement. */
async function flush(...servers: readonly PostgresServer[]): Promise<void> {
  for (const server of servers) await server.run('CHECKPOINT');
  Bun.spawnSync(['sync']);
}

/** Numbers of nodes that post to one host. */
const NODES = [1, 2, 4, 16];

async function postedRates(url: string): Promise<number[]> {
  const rates: number[] = [];
  for (const nodes of NODES) rates.push(await postedRate(url, nodes, appends));
  return rates;
}

async function runRound(source: string, scratch: string): Promise<Round> {
  await using single = await startPostgres();
  await using quorum = await startQuorum();
  await flush(single, quorum.primary());
  return {
    single: await appendTimes(single.url, appends),
    quorum: await appendTimes(quorum.url, appends),
    lag: await lagTimes(quorum.url, appends / 5),
    bulk: await bulkRates(quorum.url, entries),
    posted: await postedRates(quorum.url),
    filling: await fillings(quorum.url, blocks),
    hosts: await hostRound({ url: quorum.url, source, scratch }, hosts, seconds),
  };
}

const load = Math.round(loadavg()[0]!);
const rounds: Round[] = [];
await withDirectory(async (directory) => {
  const source = join(directory, 'source');
  await importInto(source, await devnetRecording(blocks));
  for (let n = 0; n < repeat; n++) rounds.push(await withDirectory((scratch) => runRound(source, scratch)));
});

const times = (name: string, value: (round: Round) => number[]): Cell[] => [
  name,
  figure(
    rounds.map((round) => percentile(value(round), 0.5)),
    2,
  ),
  figure(
    rounds.map((round) => percentile(value(round), 0.99)),
    2,
  ),
];
const rate = (name: string, value: (round: Round) => number): Cell[] => [name, figure(rounds.map(value))];
const requests = (count: number): Cell[] => {
  const answers = rounds.map(({ hosts: { answered } }) => answered[count - 1]!);
  return [String(count), figure(answers.map(({ perSecond }) => perSecond)), figure(answers.map(({ cpu }) => cpu))];
};

publish(
  [
    {
      title: 'Several hosts',
      notes: [
        `entries of ${TEXT_BYTES} bytes of JSON that is mostly hex; servers and clients share the machine and its disk`,
        'quorum: three servers, and a commit waits until one of two standbys has it on its disk',
        `hosts: ${values.blocks} blocks of the simulated chain of seed ${SEED}; first pages of transactions, each URL once`,
        `load of the machine when the benchmark began: ${load}`,
        `${repeat} rounds: median (least to greatest) of each round's figure`,
      ],
      tables: [
        {
          head: ['milliseconds', 'median', 'p99'],
          rows: [
            times('append, one server', ({ single }) => single),
            times('append, quorum', ({ quorum }) => quorum),
            times('lag of a follower that listens', ({ lag }) => lag),
          ],
        },
        {
          head: ['per second', 'value'],
          rows: [
            rate('entries that fill the log from a journal', ({ bulk }) => bulk.filled),
            rate('entries that one client reads', ({ bulk }) => bulk.read),
            rate('entries that a new host applies', ({ hosts: { caughtUp } }) => caughtUp.entries / caughtUp.seconds),
            rate('the same in transactions', ({ hosts: { caughtUp } }) => caughtUp.transactions / caughtUp.seconds),
            rate('the same by processor time', ({ hosts: { caughtUp } }) => caughtUp.transactions / caughtUp.cpu),
          ],
        },
        {
          head: ['nodes that post to one host', 'entries/s', 'times one node'],
          rows: NODES.map((nodes, index) => [
            String(nodes),
            figure(rounds.map(({ posted }) => posted[index]!)),
            figure(
              rounds.map(({ posted }) => posted[index]! / posted[0]!),
              1,
            ),
          ]),
        },
        {
          head: ['a chain becomes entries', 'seconds', 'times faster than a node'],
          rows: [
            [
              'posted by a node',
              figure(
                rounds.map(({ filling }) => filling.posted),
                1,
              ),
              figure([1], 1),
            ],
            [
              'imported, then cluster init',
              figure(
                rounds.map(({ filling }) => filling.imported + filling.filled),
                1,
              ),
              figure(
                rounds.map(({ filling }) => filling.posted / (filling.imported + filling.filled)),
                1,
              ),
            ],
            [
              'only cluster init',
              figure(
                rounds.map(({ filling }) => filling.filled),
                1,
              ),
              figure(
                rounds.map(({ filling }) => filling.posted / filling.filled),
                1,
              ),
            ],
          ],
        },
        {
          head: ['hosts', 'requests/s', 'CPU µs of a host for each'],
          rows: Array.from({ length: hosts }, (_, host) => requests(host + 1)),
        },
      ],
    },
  ],
  { pinned: false },
);
