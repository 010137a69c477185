import { expect, test } from 'bun:test';
import { eventMeanings, levelOf } from '../src/log.ts';
import { logPage, pageWithLogEvents } from './support/generate/log-table.ts';

test('every log event has one meaning', () => {
  const explained = Object.values(eventMeanings).flatMap((meanings) => Object.keys(meanings));
  expect(explained.sort()).toEqual(Object.keys(levelOf).sort());
});

test('docs/logs.md lists the current log events (bun run generate writes them)', async () => {
  expect(await pageWithLogEvents()).toBe(await Bun.file(logPage).text());
});
