/**
 * A loss of power rolls back commits of the index that were not synced, and they are replayed from the journal. A delivery
 * can't be recalled: none is sent before the journal has the entries that it was made from, and an id always has the same
 * body.
 */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { truncateSync } from 'node:fs';
import { indexPath } from '../../src/store/files/database.ts';
import type { HookRecord } from '../../src/store/hooks/model.ts';
import { decompressed } from '../../src/store/log/entry.ts';
import { CONSUMER } from '../hooks/direct.ts';
import { followed } from '../hooks/follow.ts';
import { filtersOf, type HookServer, hookServer, NOWHERE, type Received, receiver, started } from '../hooks/server.ts';
import { image } from '../support/data/crash-image.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { openAt, simulatedEvents } from '../support/data/ingest.ts';
import { until } from '../support/time/until.ts';

const chain = { seed: 11, blocks: 24, accounts: 12, transactionsPerBlock: 3, forkEvery: 4, forkDepth: 3 };
const events = simulatedEvents(chain);
const half = Math.floor(events.length / 2);
const lastBlock = events.slice(0, half).findLast(({ path }) => path === '/new_block');

/** Returns the files after a power loss: the journal is synced at each commit, and the index's WAL never is. */
function afterPowerLoss(directory: string): DataDirectory {
  const after = image(directory);
  truncateSync(`${indexPath(after.path)}-wal`, 0);
  return after;
}

const start = (directory: string) => hookServer({}, directory, { deliveryRules: { retryCapMs: 10 } });

/** Waits until all hooks have delivered everything up to the tip. */
const untilDelivered = ({ ingest, hooks: { store } }: HookServer): Promise<void> => {
  const isAtTip = ({ stage, cursor }: HookRecord) => stage === 'live' && cursor.height === ingest.tipHeight();
  const isDone = () => store.deliveries.waitingOfAll().count === 0 && store.records.all(CONSUMER).every(isAtTip);
  return until(isDone, 'the end of the queue');
};

/** The body that a directory has under an id, once the journal has brought its index back. */
function bodyIn(directory: string, id: string): string | undefined {
  openAt(directory)[Symbol.dispose]();
  using db = new Database(indexPath(directory), { readwrite: true });
  const row = db
    .query<{ body: Uint8Array }, [string]>(
      'SELECT body FROM hook_bodies JOIN hook_deliveries d ON d.id = delivery_id WHERE webhook_id = ?1',
    )
    .get(id);
  return row === null ? undefined : decompressed(row.body);
}

const allFilters = filtersOf('tenure_change', 'stx_event', 'contract_call', 'coinbase');

test('every sent delivery is on the disk, and after a power loss one id still has one body and every fork is delivered', async () => {
  using directory = dataDirectory();
  using target = receiver();
  let crash: { disk: DataDirectory; delivered: number } | null = null;
  const missing: string[] = [];
  target.answer = ({ headers, text }: Received) => {
    const id = headers['webhook-id']!;
    using disk = afterPowerLoss(directory.path);
    if (bodyIn(disk.path, id) !== text) missing.push(id);
    return new Response('');
  };
  {
    await using server = await start(directory.path);
    for (const event of events.slice(0, 2)) server.ingest.receive(event);
    await server.register(target.url, started, allFilters);
    for (const event of events.slice(2, half)) {
      server.ingest.receive(event);
      // The power fails before this event's queued deliveries are synced.
      if (event === lastBlock) crash = { disk: afterPowerLoss(directory.path), delivered: target.received.length };
      await untilDelivered(server);
    }
  }
  expect(target.received.length).toBeGreaterThan(5);
  expect(missing).toEqual([]);

  target.answer = () => new Response('');
  if (crash === null) throw new Error('there was no block');
  const { disk, delivered } = crash as { disk: DataDirectory; delivered: number };
  using crashed = disk;
  target.received.length = delivered;
  {
    await using server = await start(crashed.path);
    // The node repeats the unanswered event, and continues.
    for (const event of events) server.ingest.receive(event);
    await untilDelivered(server);
  }
  const bodies = new Map<string, string>();
  for (const { headers, text } of target.received) {
    const id = headers['webhook-id']!;
    expect(text).toBe(bodies.get(id) ?? text);
    bodies.set(id, text);
  }
  expect(target.received.length).toBeGreaterThan(delivered);
  followed([...bodies.values()].map((text) => JSON.parse(text)));
});

test('answers about a hook describe data that is on the disk', async () => {
  using directory = dataDirectory();
  await using server = await start(directory.path);
  for (const event of events.slice(0, 2)) server.ingest.receive(event);
  await server.register(NOWHERE, {}, allFilters);
  using disk = afterPowerLoss(directory.path);
  openAt(disk.path)[Symbol.dispose]();
  using db = new Database(indexPath(disk.path), { readwrite: true });
  expect(db.query('SELECT consumer FROM hooks').all()).toEqual([{ consumer: CONSUMER }]);
});
