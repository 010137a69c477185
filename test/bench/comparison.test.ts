/** Benchmark runs at two revisions: their numbers together, and side by side. */
import { expect, test } from 'bun:test';
import { exceeded, merged, pairsOf } from '../../bench/parts/comparison.ts';
import { type Cell, figure, type Report, textOf } from '../../bench/results.ts';

const reportOf = (...rows: Cell[][]): Report => ({
  date: '2026-11-22',
  commit: 'none',
  machine: 'any',
  runtime: 'Bun',
  sections: [{ title: 'A bench', notes: [], tables: [{ head: ['route', 'requests/s', 'bytes'], rows }] }],
});

test('a figure shows its median and its spread', () => {
  expect(textOf(figure([3, 1234.5, 2]))).toBe('3 (2 to 1,235)');
  expect(textOf(figure([0.126], 2, '%'))).toBe('0.13 %');
  expect(figure([])).toBe('');
});

test('figures of several runs are merged, and an empty cell takes the figure of a later run', () => {
  const [section] = merged([reportOf(['/a', figure([1]), '']), reportOf(['/a', figure([2]), figure([7])])]);
  expect(section?.tables[0]?.rows).toEqual([['/a', figure([1, 2]), figure([7])]]);
});

test('runs with different rows are not merged', () => {
  const [one, two] = [reportOf(['/a', figure([1]), '']), reportOf()];
  expect(() => merged([one, two])).toThrow('different rows');
});

test('the figures of two revisions are paired by their place', () => {
  const now = reportOf(['/a', figure([1]), figure([2])], ['/b', figure([3]), '']);
  const reference = reportOf(['/a', figure([10]), ''], ['/b', figure([30]), '']).sections;
  expect(pairsOf({ now, reference })).toEqual([
    { name: '/a: requests/s', reference: [10], now: [1] },
    { name: '/b: requests/s', reference: [30], now: [3] },
  ]);
});

test('a figure exceeds a limit if the median of its ratios does and its name has the text of the limit', () => {
  const now = reportOf(['/a', figure([11, 16, 17]), figure([90])], ['/b', figure([9, 14, 99]), figure([90])]);
  const reference = reportOf(['/a', figure([10, 10, 10]), figure([1])], ['/b', figure([10, 10, 10]), figure([1])]);
  const comparison = { now, reference: reference.sections };
  expect(exceeded(comparison, [{ text: 'requests/s', ratio: 1.5 }])).toEqual([
    { name: '/a: requests/s', ratio: 1.6, limit: 1.5 },
  ]);
});
