import { expect, test } from 'bun:test';
import { tsvRow } from '../../src/devnet/tsv.ts';

test('a row has id, time, path and body between tabs', () => {
  const event = { path: '/new_block', body: '{"a":1}', time: Date.UTC(2022, 8, 13, 0, 12, 27, 103) };
  expect(tsvRow(8, event)).toBe('8\t2022-09-13 00:12:27.103+00\t/new_block\t{"a":1}');
});

test('backslashes, tabs and line ends of the body are escaped as by COPY', () => {
  const body = JSON.stringify({ text: 'a\\b\n"c"' });
  expect(tsvRow(1, { path: '/x', body, time: 0 }).split('\t')[3]).toBe('{"text":"a\\\\\\\\b\\\\n\\\\"c\\\\""}');
  const raw = tsvRow(1, { path: '/x', body: '[\t\n\r]', time: 0 });
  expect(raw).toBe('1\t1970-01-01 00:00:00.000+00\t/x\t[\\t\\n\\r]');
});
