/** Two servers on one data directory, after the first server's lock was removed. */
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { journalRows, tables } from '../support/data/tables.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { type Server, startServer } from './stackside.ts';

const ofNode = [...devnetEvents({ seed: 12, blocks: 40, transactionsPerBlock: 3, forkEvery: 10 })];
/** Each event once: a server may answer an event that is already in the journal. */
const events = [...new Map(ofNode.map((event) => [`${event.path} ${event.body}`, event])).values()];

/** Posts an event. @returns the status, or null if the server has ended */
async function post({ events: url }: Server, { path, body }: NodeEvent): Promise<number | null> {
  const headers = { 'content-type': 'application/json' };
  try {
    return (await fetch(url + path, { method: 'POST', body, headers })).status;
  } catch {
    return null;
  }
}

const start = (data: string): Promise<Server> =>
  startServer('serve', '--data', data, '--network', 'testnet', '--log-level', 'error');

/** The entries of a log after its identity, which is random. */
const journalOf = (data: string): string[] =>
  journalRows(data)
    .slice(1)
    .map(({ path, text }) => `${path} ${text}`);

test('a server stops if its lock file is deleted, and accepts no events while another server runs', async () => {
  using data = dataDirectory();
  const first = await start(data.path);
  let second: Server | null = null;
  try {
    const [before, after] = [events.slice(0, 30), events.slice(30)];
    for (const event of before) expect(await post(first, event)).toBe(200);
    rmSync(join(data.path, 'writer.lock'));
    // Two nodes post to two servers. Each server accepted some of the events before.
    second = await start(data.path);
    for (const event of after) {
      expect(await post(first, event)).toBeOneOf([503, null]);
      expect(await post(second, event)).toBe(200);
    }
    expect(await first.ended).toBe(1);
    expect(await first.log()).toContain('writer.lock was removed or replaced while Stackside held its lock');
  } finally {
    await first.stop();
    await second?.stop();
  }
  using expected = ingestOf(events.map(received));
  expect(journalOf(data.path)).toEqual(journalOf(expected.path));
  expect(tables(data.path)).toEqual(tables(expected.path));
  expect(problemsIn(data.path)).toEqual([]);
});

test('a server stops if its lock file is removed, even if no event arrives', async () => {
  using data = dataDirectory();
  const server = await start(data.path);
  for (const event of events.slice(0, 5)) expect(await post(server, event)).toBe(200);
  rmSync(join(data.path, 'writer.lock'));
  expect(await server.ended).toBe(1);
  const second = await start(data.path);
  for (const event of events.slice(5, 10)) expect(await post(second, event)).toBe(200);
  expect(await second.stop()).toBe(0);
  expect(journalOf(data.path)).toHaveLength(10);
});
