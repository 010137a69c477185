import { expect, test } from 'bun:test';
import { progressLines, progressReport, secondaryIndexReport, sizeText } from '../../src/commands/cli/progress.ts';

/** Its lines after so many milliseconds. */
function written(milliseconds: number, isTTY: boolean, size: number | null): string[] {
  let now = 0;
  const lines: string[] = [];
  const report = progressReport('a.tsv', { isTTY, write: (text) => lines.push(text) }, () => now);
  now += milliseconds;
  report.update({ rows: 500, height: 12, read: 250, size });
  report.done();
  return lines;
}

test('on a terminal one line is drawn again, with rate, height, share and time left', () => {
  expect(written(2_000, true, 1000)).toEqual([
    '\r\u001b[Ka.tsv: 500 rows, 250 rows/s, height 12, 25.0%, ETA 00:00:06',
    '\n',
  ]);
  expect(written(199, true, 1000)).toEqual([]);
});

test('elsewhere a line is written every five seconds', () => {
  expect(written(4_999, false, null)).toEqual([]);
  expect(written(5_000, false, null)).toEqual(['a.tsv: 500 rows, 100 rows/s, height 12\n']);
});

test('each step that can draw nothing until it ends has a line', () => {
  let now = 0;
  const written: string[] = [];
  const lines = progressLines({ write: (text) => written.push(text) }, () => now);
  for (now of [1, 2]) lines.begin(`step at ${now}`);
  expect(written).toEqual(['step at 1\n', 'step at 2\n']);
});

test('the indexes of a small file are made without a word, those of a large one are named', () => {
  const written: string[] = [];
  const { making } = secondaryIndexReport({ write: (text) => written.push(text) });
  const step = { index: 'transactions_by_fee', number: 8, of: 34 } as const;
  making({ ...step, bytes: 199_999_999 });
  making({ ...step, bytes: 200_000_000 });
  expect(written).toEqual(['index 8 of 34: transactions_by_fee\n']);
});

test('shows a number of bytes in its largest unit', () => {
  expect([0, 999, 1_000, 16_777_216, 2e15].map(sizeText)).toEqual([
    '0 bytes',
    '999 bytes',
    '1.0 KB',
    '16.8 MB',
    '2000.0 TB',
  ]);
});
