/** docs/logs.md explains every log event, at its level, and no other. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { levelOf } from '../src/log.ts';

const ROW = /^\| (`[a-z_]+` \| (?:debug|info|warn|error)) \| \S/gm;

test('docs/logs.md lists every log event with its level', () => {
  const page = readFileSync(join(import.meta.dir, '../docs/logs.md'), 'utf8');
  const explained = [...page.matchAll(ROW)].map(([, cells]) => cells);
  const declared = Object.entries(levelOf).map(([event, level]) => `\`${event}\` | ${level}`);
  expect(explained.sort()).toEqual(declared.sort());
});
