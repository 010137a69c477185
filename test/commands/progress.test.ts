import { expect, test } from 'bun:test';
import { progressReport } from '../../src/commands/progress.ts';

const wait = async (ms: number) => Bun.sleep(ms);

test('on a terminal one line is drawn again, with rate, height, share and time left', async () => {
  const written: string[] = [];
  const report = progressReport('a.tsv', { isTTY: true, write: (text) => written.push(text) });
  await wait(210);
  report.update({ rows: 500, height: 12, read: 250, size: 1000 });
  report.done();
  expect(written[0]).toStartWith('\r\u001b[Ka.tsv: 500 rows, ');
  expect(written[0]).toMatch(/ \d+ rows\/s, height 12, 25\.0%, ETA 00:00:0\d$/);
  expect(written[1]).toBe('\n');
});

test('elsewhere nothing is written until some seconds are over', async () => {
  const written: string[] = [];
  const report = progressReport('-', { write: (text) => written.push(text) });
  await wait(210);
  report.update({ rows: 500, height: 12, read: 0, size: null });
  report.done();
  expect(written).toEqual([]);
});
