/** Several hosts: the shared log in PostgreSQL, with and without synchronous standbys. */
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { say } from './harness.ts';
import { appendTimes, type Bulk, bulkRates, lagTimes, TEXT_BYTES } from './parts/shared-log.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    appends: { type: 'string', default: '500' },
    entries: { type: 'string', default: '20000' },
  },
});
const [repeat, appends, entries] = [Number(values.repeat), Number(values.appends), Number(values.entries)];

// Data of servers stand on a disk, since a commit waits for it.
process.env.TMPDIR ??= tmpdir();
const { hasPostgres, startPostgres, startQuorum } = await import('../test/support/postgres.ts');
if (!hasPostgres) {
  say('PostgreSQL is not installed.');
  process.exit(1);
}

/** The value below which a share of the values lies. */
const percentile = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]!;

interface Round {
  single: number[];
  quorum: number[];
  listening: number[];
  polling: number[];
  bulk: Bulk;
}

async function round(): Promise<Round> {
  await using single = await startPostgres();
  await using quorum = await startQuorum();
  return {
    single: await appendTimes(single.url, appends),
    quorum: await appendTimes(quorum.url, appends),
    listening: await lagTimes(quorum.url, appends / 5, true),
    polling: await lagTimes(quorum.url, appends / 5, false),
    bulk: await bulkRates(quorum.url, entries),
  };
}

const rounds: Round[] = [];
for (let n = 0; n < repeat; n++) rounds.push(await round());

const times = (name: string, of: (one: Round) => number[]): Cell[] => [
  name,
  figure(
    rounds.map((one) => percentile(of(one), 0.5)),
    2,
  ),
  figure(
    rounds.map((one) => percentile(of(one), 0.99)),
    2,
  ),
];
const rate = (name: string, of: (one: Round) => number): Cell[] => [name, figure(rounds.map(of))];

publish(
  [
    {
      title: 'Several hosts',
      notes: [
        `entries of ${TEXT_BYTES} bytes of JSON that is mostly hex; servers and clients share the machine and its disk`,
        'quorum: three servers, and a commit waits until one of two standbys has it on its disk',
        `${repeat} rounds: median (least to greatest) of each round's figure`,
      ],
      tables: [
        {
          head: ['milliseconds', 'median', 'p99'],
          rows: [
            times('append, one server', ({ single }) => single),
            times('append, quorum', ({ quorum }) => quorum),
            times('lag of a follower that listens', ({ listening }) => listening),
            times('lag of a follower that polls', ({ polling }) => polling),
          ],
        },
        {
          head: ['entries/s', 'value'],
          rows: [
            rate('filling the log from a journal', ({ bulk }) => bulk.filled),
            rate('reading the log', ({ bulk }) => bulk.read),
          ],
        },
      ],
    },
  ],
  { pinned: false },
);
