import { expect, test } from 'bun:test';
import { progressReport } from '../../src/commands/progress.ts';

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
