/** What the page for operators says of chains of several lengths: as measured, and beyond that as it would go on. */
import { type Cell, kept, spread, tableLines } from '../results.ts';
import { medianAt } from './goals.ts';
import { lineChart } from './picture.ts';

const LENGTHS = [1_000_000, 10_000_000, 50_000_000];

/** An import as far as a row of the table. */
interface Step {
  transactions: number;
  /** Since the step before. */
  rate: number;
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

const steps = (): Step[] =>
  (kept('long')?.sections[0]?.tables[0]?.rows ?? []).map((row) => {
    const [transactions, , rate, microseconds, , writtenKilobytes, index, journal, logs, memory] = row.map(numberOf);
    return { transactions, rate, microseconds, writtenKilobytes, index, journal, logs, memory } as Step;
  });

/** Processor seconds of an import of so many transactions; beyond what was measured, at the rate of the end. */
function processorSeconds(all: readonly Step[], transactions: number): number {
  let [done, seconds] = [0, 0];
  for (const step of all) {
    const more = Math.min(step.transactions, transactions) - done;
    if (more <= 0) break;
    seconds += (more * step.microseconds) / 1e6;
    done += more;
  }
  return seconds + ((transactions - done) * all.at(-1)!.microseconds) / 1e6;
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

const gigabytes = (bytes: number): string => `${about(bytes / 1e9)} GB`;
const millions = (count: number): string => `${count / 1e6} million`;

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
      duration(processorSeconds(all, length)),
      `${about(1e6 / step.microseconds)}`,
      `${about(step.memory)} MB`,
    ];
  });
  const names = [
    'figures',
    'index',
    'journal',
    'disk to plan: both files, and as much again for a backup or a rebuild',
    'first import, processor time of one core',
    'transactions/s at that length, if the core does nothing else',
    'memory of the import',
  ];
  return tableLines({
    head: ['transactions', ...LENGTHS.map(millions)],
    rows: names.map((name, row) => [name, ...columns.map((column) => column[row]!)]),
  });
}

/** What the finished index costs. */
function filesLines(): string[] {
  const value = (row: string): number => medianAt({ result: 'long', row, column: 'value' });
  const checked = 'check of the last 1,000 blocks, seconds';
  const cpu = (route: string): string => about(medianAt({ result: 'long', row: route, column: 'CPU µs' }));
  const routes = [
    ['one transaction by its id', '/extended/v3/transactions/{tx_id}'],
    ['STX balance of an account', '/extended/v3/principals/{principal}/balances/stx'],
    ['first page of all transactions', '/extended/v3/transactions'],
    ["first page of the busiest account's transactions", '/extended/v3/principals/{principal}/transactions'],
    ['the same in v1, with all its fields', '/extended/v1/address/{principal}/transactions'],
  ] as const;
  return tableLines({
    head: [`${about(value('transactions'))} transactions`, ''],
    rows: [
      ['from spawn to ready', `${about(medianAt({ result: 'long', row: 'the ready line' }))} ms`],
      ['check of the last 1,000 blocks (`stackside check --since`)', duration(value(checked))],
      ['backup of both files', duration(value('backup, seconds'))],
      ...routes.map(([name, route]) => [
        name,
        `${cpu(route)} µs of processor time, so up to ${about(1e6 / Number(cpu(route).replaceAll(',', '')))} requests/s on one core`,
      ]),
    ],
  });
}

/** Where and when the chain was measured. */
function placeLines(): string[] {
  const result = kept('long')!;
  const longest = steps().at(-1)!.transactions.toLocaleString('en-US');
  return [
    `The chain of ${longest} transactions was measured on ${result.date.slice(0, 10)} at commit ${result.commit}, on a machine with ${result.machine}, ${result.runtime}.`,
  ];
}

export const sizingLines = { plan: planLines, files: filesLines, place: placeLines };

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
