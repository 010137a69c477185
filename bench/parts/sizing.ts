/** What the page for operators says of chains of several lengths: as measured, and beyond that as it would go on. */
import { type Cell, kept, spread, tableLines } from '../results.ts';
import { medianAt } from './goals.ts';
import { lineChart } from './picture.ts';

const LENGTHS = [1_000_000, 10_000_000, 50_000_000];

/** An import as far as a row of the table. */
interface Step {
  transactions: number;
  /** A transaction, since the step before. */
  microseconds: number;
  writtenKilobytes: number;
  /** Of all transactions so far. */
  index: number;
  journal: number;
  logs: number;
  memory: number;
}

const numberOf = (cell: Cell | undefined): number => {
  if (cell === undefined) throw new Error('the growth of a long chain has fewer columns');
  return typeof cell === 'string' ? Number(cell.replaceAll(',', '')) : spread(cell.values).median;
};

/** The steps, each with its share of what is done at the end of an import. */
function steps(): Step[] {
  const [growth, end] = kept('long')?.sections[0]?.tables ?? [];
  if (growth === undefined || end === undefined) return [];
  const rows = growth.rows.map((row) => row.map(numberOf));
  const [, seconds = 0, writtenGigabytes = 0, indexes = 0] = end.rows.map(([, value]) => numberOf(value));
  const all = rows.at(-1)?.[0] ?? 1;
  return rows.map((row) => {
    const [transactions, , , microseconds = 0, , written = 0, index = 0, journal, logs, memory] = row;
    return {
      ...{ transactions, journal, logs, memory },
      microseconds: microseconds + (seconds * 1e6) / all,
      writtenKilobytes: written + (writtenGigabytes * 1e6) / all,
      index: index + indexes,
    } as Step;
  });
}

/** The step that shows a chain of so many transactions best. */
const stepAt = (all: readonly Step[], transactions: number): Step =>
  all.find((step) => step.transactions >= transactions * 0.9) ?? all.at(-1)!;

const about = (value: number): string => Number(value.toPrecision(2)).toLocaleString('en-US');

/** Seconds in the unit that reads best. */
function duration(seconds: number): string {
  if (seconds < 90) return `${about(seconds)} s`;
  return seconds < 5400 ? `${about(seconds / 60)} min` : `${about(seconds / 3600)} h`;
}

const gigabytes = (bytes: number): string => (bytes < 1e12 ? `${about(bytes / 1e9)} GB` : `${about(bytes / 1e12)} TB`);
const millions = (count: number): string => `${count / 1e6} million`;

/**
 * Sums the costs of transactions, each with the cost of its step.
 * @param all in order; transactions after the last step cost as much as those in it
 */
function sumOverSteps(all: readonly Step[], transactions: number, cost: (step: Step) => number): number {
  let [done, sum] = [0, 0];
  for (const step of all) {
    const more = Math.max(0, Math.min(step.transactions, transactions) - done);
    sum += more * cost(step);
    done += more;
  }
  return sum + (transactions - done) * cost(all.at(-1)!);
}

/** The table of what to plan. */
function planLines(): string[] {
  const all = steps();
  const longest = all.at(-1)!.transactions;
  const columns = LENGTHS.map((length) => {
    const step = stepAt(all, length);
    const files = (step.index + step.journal) * length;
    return [
      length <= longest * 1.1 ? 'measured' : 'extrapolated',
      gigabytes(step.index * length),
      gigabytes(step.journal * length),
      gigabytes(2 * files + step.logs * 1e6),
      `${about(step.memory)} MB`,
      duration(sumOverSteps(all, length, ({ microseconds }) => microseconds / 1e6)),
      gigabytes(sumOverSteps(all, length, ({ writtenKilobytes }) => writtenKilobytes * 1e3)),
    ];
  });
  const names = [
    'figures',
    'index',
    'journal',
    'disk to plan: both files, and as much again for a rebuild',
    'memory of the first import',
    'its processor time, of one core',
    'what it writes to the disk in all',
  ];
  return tableLines({
    head: ['transactions', ...LENGTHS.map(millions)],
    rows: names.map((name, row) => [name, ...columns.map((column) => column[row]!)]),
  });
}

/** What is asked for, and its row of the results. */
const ROUTES = [
  ['one transaction by its id', '/extended/v3/transactions/{tx_id}'],
  ['STX balance of an account', '/extended/v3/principals/{principal}/balances/stx'],
  ['first page of all transactions', '/extended/v3/transactions'],
  ["first page of an account's transactions", '/extended/v3/principals/{principal}/transactions'],
  ['first page of a block', '/extended/v3/blocks/{height}/transactions'],
] as const;

/** Requests on a short chain, and how they compare with the empty route there and on the long one. */
function requestLines(): string[] {
  const longest = steps().at(-1)!.transactions.toLocaleString('en-US');
  return tableLines({
    head: [
      'request',
      'requests/s on one core',
      'processor µs',
      'times an empty request',
      `the same, ${longest} transactions`,
    ],
    rows: ROUTES.map(([name, row]) => {
      const at = (result: string, column: string): number => medianAt({ result, row, column });
      const times = (result: string): string => about(100 / at(result, 'the empty one / its'));
      return [
        name,
        about(at('http-distinct', 'requests/s')),
        about(at('http-distinct', 'CPU µs')),
        times('http-distinct'),
        times('long'),
      ];
    }),
  });
}

/** Where and when the chain was measured. */
function placeLines(): string[] {
  const result = kept('long')!;
  const longest = steps().at(-1)!.transactions.toLocaleString('en-US');
  return [
    `The longest chain that was measured has ${longest} transactions (${result.date.slice(0, 10)}, commit ${result.commit}; ${result.machine}; ${result.runtime}).`,
  ];
}

export const sizingLines = { plan: planLines, requests: requestLines, place: placeLines };

const SHORT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });
const short = (value: number): string => SHORT.format(value);

export function sizingPictures(): [name: string, picture: string][] {
  const all = steps();
  if (all.length === 0) return [];
  const line = (name: string, of: (step: Step) => number) => ({
    name,
    points: all.map((step) => [step.transactions, of(step)] as const),
  });
  return [
    [
      'import.svg',
      lineChart({
        title: 'Processor time of an import, µs a transaction, by transactions in the index',
        series: [line('µs a transaction', ({ microseconds }) => microseconds)],
        shownX: short,
        shownY: short,
      }),
    ],
    [
      'bytes.svg',
      lineChart({
        title: 'Bytes a transaction, by transactions in the index',
        series: [line('index', ({ index }) => index), line('journal', ({ journal }) => journal)],
        shownX: short,
        shownY: short,
      }),
    ],
  ];
}
