/** The operators' page explains every log event, at its level, and no other. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { levelOf } from '../src/log.ts';
import { operatorsPage } from './support/settings-table.ts';

const ROW = /^\| (`[a-z_]+` \| (?:debug|info|warn|error)) \| \S/gm;

test("every log event stands on the operators' page with its level", () => {
  const explained = [...readFileSync(operatorsPage, 'utf8').matchAll(ROW)].map(([, cells]) => cells);
  const declared = Object.entries(levelOf).map(([event, level]) => `\`${event}\` | ${level}`);
  expect(explained.sort()).toEqual(declared.sort());
});
