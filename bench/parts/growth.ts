/** The progress of an import while the index grows. */
import { type Cell, figure, type Section } from '../results.ts';

/** A sample of an import. Sizes are in bytes, times in seconds since its start. */
export interface Sample {
  seconds: number;
  userSeconds: number;
  systemSeconds: number;
  transactions: number;
  height: number;
  memory: number;
  /** Bytes that the process wrote to the disk. */
  written: number;
  index: number;
  journal: number;
  /** Bytes of the write-ahead logs. */
  logs: number;
}

const MEGABYTE = 1e6;
const GIGABYTE = 1e9;
const KILOBYTE = 1e3;
const MICROSECONDS_PER_SECOND = 1e6;

/** Returns the last sample of each `every` transactions, and the last one. */
function stepsOf(samples: readonly Sample[], every: number): Sample[] {
  const steps: Sample[] = [];
  for (const [n, sample] of samples.entries()) {
    const next = samples[n + 1];
    const isLast = next === undefined;
    if (isLast || Math.floor(next.transactions / every) > Math.floor(sample.transactions / every)) steps.push(sample);
  }
  return steps.filter(({ transactions }) => transactions > every / 2);
}

const NOTHING: Sample = {
  seconds: 0,
  userSeconds: 0,
  systemSeconds: 0,
  transactions: 0,
  height: 0,
  memory: 0,
  written: 0,
  index: 0,
  journal: 0,
  logs: 0,
};

function rowOf(sample: Sample, previous: Sample): Cell[] {
  const transactions = sample.transactions - previous.transactions;
  const system = sample.systemSeconds - previous.systemSeconds;
  const processor = sample.userSeconds - previous.userSeconds + system;
  return [
    sample.transactions.toLocaleString('en-US'),
    figure([sample.height]),
    figure([transactions / (sample.seconds - previous.seconds)]),
    figure([(processor / transactions) * MICROSECONDS_PER_SECOND]),
    figure([(system / processor) * 100]),
    figure([(sample.written - previous.written) / transactions / KILOBYTE]),
    figure([sample.index / sample.transactions]),
    figure([sample.journal / sample.transactions]),
    figure([sample.logs / MEGABYTE]),
    figure([sample.memory / MEGABYTE]),
  ];
}

/** Returns the costs of the end of the import, which makes the secondary indexes. */
function endRows(loaded: Sample, end: Sample): Cell[][] {
  const processor = end.userSeconds + end.systemSeconds - loaded.userSeconds - loaded.systemSeconds;
  return [
    ['seconds', figure([end.seconds - loaded.seconds])],
    ['processor seconds', figure([processor])],
    ['written, GB', figure([(end.written - loaded.written) / GIGABYTE], 2)],
    ['bytes of these indexes per transaction', figure([(end.index - loaded.index) / end.transactions])],
    ['write-ahead logs, MB', figure([end.logs / MEGABYTE])],
    ['memory, MB', figure([end.memory / MEGABYTE])],
  ];
}

/** Makes the section of an import. @param every transactions per row */
export function growthSection(samples: readonly Sample[], every: number): Section {
  const end = samples.at(-1) ?? NOTHING;
  const loading = samples.filter(({ transactions }, n) => samples[n - 1]?.transactions !== transactions);
  const loaded = loading.at(-1) ?? NOTHING;
  const steps = stepsOf(loading, every);
  return {
    title: 'A long chain: its import',
    notes: [
      'simulated chain with 40 transactions per block on average and one account per 5,000 transactions; another program makes its recording at the same time',
      'rates, processor time and written bytes since the previous row; bytes of files divided by all transactions; the second table covers the work after the last transaction',
    ],
    tables: [
      {
        head: [
          'transactions',
          'blocks',
          'transactions/s',
          'processor µs per transaction',
          'of it the system, %',
          'written, KB per transaction',
          'index, bytes per transaction',
          'journal, bytes per transaction',
          'write-ahead logs, MB',
          'memory, MB',
        ],
        rows: steps.map((sample, n) => rowOf(sample, steps[n - 1] ?? NOTHING)),
      },
      { head: ['secondary indexes, made at the end', 'value'], rows: endRows(loaded, end) },
    ],
  };
}
