import { expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import type { LogEvent } from '../../src/log.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { tipHeight } from '../e2e/stackside.ts';
import { rebuild } from '../support/data/rebuild.ts';
import { serving } from '../support/servers/serving.ts';
import { manualClock } from '../support/time/manual-clock.ts';
import { until } from '../support/time/until.ts';

const events = [...devnetEvents({ seed: 5, blocks: 12, accounts: 6, transactionsPerBlock: 2, forkEvery: 4 })];
const half = events.length >> 1;

test('a server keeps its addresses when it switches to a rebuilt index', async () => {
  const seen: LogEvent[] = [];
  const { every, tick } = manualClock();
  const environment = { clock: { ...systemClock, every }, createLog: () => (event: LogEvent) => void seen.push(event) };
  await using server = await serving({ logLevel: 'info' }, undefined, {}, environment);
  await server.post(events.slice(0, half));
  const [height, file] = [await tipHeight(server), statSync(indexPath(server.directory)).ino];
  const { isInstalled } = rebuild(server.directory, { beside: true });
  expect(isInstalled).toBe(false);
  tick();
  await until(() => seen.filter(({ event }) => event === 'started').length === 2);
  expect(statSync(indexPath(server.directory)).ino).not.toBe(file);
  expect(seen.map(({ event }) => event)).toContain('new_index');
  expect(await tipHeight(server)).toBe(height);
  await server.post(events.slice(half));
  expect(await tipHeight(server)).toBeGreaterThan(height);
});
