/**
 * What a page of logs by decoded values costs, by how many logs there are, and what the index of these values costs; and what one of
 * logs of several contracts costs, beside one of all logs of one contract.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { onCore, ROOT, run, script, withDirectory } from './harness.ts';
import type { Making, TimedQuestion } from './parts/log-times.ts';
import { type Cell, figure, publish, reportOptions, spread } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    /** Logs of the contract, in thousands of whole blocks; the ratios are to the smallest number's. */
    sizes: { type: 'string', default: '10000,1000000' },
    repeat: { type: 'string', default: '5' },
    /** How often a page is read in a round. */
    repetitions: { type: 'string', default: '200' },
    limit: { type: 'string', default: '20' },
  },
});
const sizes = values.sizes
  .split(',')
  .map(Number)
  .sort((a, b) => a - b)
  .map(String);

interface Measured {
  logs: number;
  making: Making;
  questions: TimedQuestion[];
}

const measured: Measured[] = await withDirectory(async (directory) => {
  const part = join(ROOT, 'bench', 'parts', 'log-times.ts');
  const command = script(part, directory, values.repeat, values.repetitions, values.limit, ...sizes);
  return JSON.parse((await run(onCore(0, command))).stdout);
});

const base = measured[0]!;
const [ofOne, ofSeveral] = [false, true].map((isOfSeveral) =>
  base.questions.flatMap((one, number) => (one.isOfSeveral === isOfSeveral ? [number] : [])),
) as [number[], number[]];
const rows = ofOne.map((number) => {
  const { name, microseconds: shortest } = base.questions[number]!;
  const times = measured.map(({ questions }) => questions[number]!.microseconds);
  // By round, as a busy machine slows down all.
  const ratios = times.slice(1).map((of): Cell => figure([spread(of.map((time, n) => time / shortest[n]!)).median], 2));
  return [name, ...times.map((of) => figure(of)), ...ratios];
});

/** Each beside the first question of the same index and round: all logs of one contract. */
const rowsOfSeveral = ofSeveral.map((number) => [
  base.questions[number]!.name,
  ...measured.flatMap(({ questions }) => {
    const [of, one] = [questions[number]!.microseconds, questions[0]!.microseconds];
    return [figure(of), figure([spread(of.map((time, n) => time / one[n]!)).median], 2)];
  }),
]);

const thousands = (logs: number): string => logs.toLocaleString('en-US');

publish([
  {
    title: 'Logs by decoded values',
    notes: [
      'data: logs of one contract, 1,000 in each block, with an index of all four fields of the printed tuples, and 100 logs in each block of the contracts of each of three deployers',
      `pages of ${values.limit} logs; ${values.repeat} rounds, the median of ${values.repetitions} times a page in each; median of the rounds (least to greatest)`,
    ],
    tables: [
      {
        head: [
          'logs',
          'index of values made in, s',
          'processor time, s',
          'logs a second of it',
          'file before, MB',
          'file after, MB',
          'bytes a log',
          'bytes an entry',
        ],
        rows: measured.map(({ logs, making: { seconds, cpuSeconds, bytesBefore, bytesAfter } }) => [
          figure([logs]),
          figure([seconds], 1),
          figure([cpuSeconds], 1),
          figure([logs / cpuSeconds]),
          figure([bytesBefore / 1e6]),
          figure([bytesAfter / 1e6]),
          figure([(bytesAfter - bytesBefore) / logs]),
          figure([(bytesAfter - bytesBefore) / logs / 4]),
        ]),
      },
      {
        head: [
          'question',
          ...measured.map(({ logs }) => `${thousands(logs)} logs, µs`),
          ...measured.slice(1).map(() => 'ratio'),
        ],
        rows,
      },
      {
        head: [
          'logs of several contracts',
          ...measured.flatMap(({ logs }) => [`${thousands(logs)} logs, µs`, 'ratio to all logs of one contract']),
        ],
        rows: rowsOfSeveral,
      },
    ],
  },
]);
