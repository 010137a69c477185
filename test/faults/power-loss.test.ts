/**
 * A loss of power takes back what the index committed and the disk doesn't have yet. What was sent can't be taken back:
 * nothing is sent before it is on the disk, and one id names one body, whatever is lost.
 */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync, existsSync, statSync, truncateSync } from 'node:fs';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { targetGuard } from '../../src/hooks/delivery/target.ts';
import { management } from '../../src/hooks/management.ts';
import { startChainhooks } from '../../src/hooks/service.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { decompressed } from '../../src/store/files/journal-entry.ts';
import type { FileSync } from '../../src/store/ingest/durability.ts';
import { openIngest } from '../../src/store/ingest/ingest.ts';
import { loopback } from '../hooks/direct.ts';
import { followed } from '../hooks/follow.ts';
import { definition, type Received, receiver } from '../hooks/server.ts';
import { type DataDirectory, dataDirectory } from '../support/data-directory.ts';
import { received } from '../support/ingest.ts';
import { sealing } from '../support/sealing.ts';
import { until } from '../support/until.ts';

const events = [
  ...devnetEvents({ seed: 11, blocks: 24, accounts: 12, transactionsPerBlock: 3, forkEvery: 4, forkDepth: 3 }),
].map(received);
const half = Math.floor(events.length / 2);
const lastBlock = events.slice(0, half).findLast(({ path }) => path === '/new_block');

/** Knows how much of the index's log is on the disk; the disk takes nothing by itself. */
class Disk implements FileSync {
  synced = 0;
  now(path: string): void {
    this.synced = statSync(path).size;
  }
  async soon(path: string): Promise<void> {
    const { size } = statSync(path);
    await Promise.resolve();
    this.synced = size;
  }

  /** What is there when the power comes back. The journal is synced at each commit. */
  afterPowerLoss(directory: string): DataDirectory {
    const image = dataDirectory();
    for (const path of [indexPath, journalPath]) {
      for (const suffix of ['', '-wal']) {
        if (existsSync(path(directory) + suffix)) copyFileSync(path(directory) + suffix, path(image.path) + suffix);
      }
    }
    truncateSync(`${indexPath(image.path)}-wal`, this.synced);
    return image;
  }
}

function start(directory: string, disk: Disk) {
  const log = () => {};
  const ingest = openIngest({ directory, chainId: null, log, sync: disk });
  const targets = { allowed: loopback, plainHttp: false };
  const hooks = startChainhooks({
    ingest,
    rules: {
      targets,
      alertUrl: null,
      timeoutMs: 60_000,
      connectTimeoutMs: 60_000,
      budgetMs: 3_600_000,
      retryCapMs: 10,
      concurrency: 4,
      retentionMs: 3_600_000,
    },
    log,
    sealing,
    userAgent: 'stackside/test',
    guard: targetGuard(targets),
  });
  return {
    ingest,
    hooks,
    managed: management(hooks, null),
    settled: () =>
      until(
        () =>
          hooks.store.deliveries.waitingAtAll().count === 0 &&
          hooks.store.records
            .all('me')
            .every(({ stage, cursor }) => stage === 'live' && cursor.height === ingest.tipHeight()),
        'the end of the queue',
      ),
    async [Symbol.asyncDispose]() {
      await hooks.stop();
      ingest.close();
    },
  };
}

/** The body that a directory has under an id. */
function bodyIn(directory: string, id: string): string | undefined {
  using db = new Database(indexPath(directory), { readwrite: true });
  const row = db
    .query<{ body: Uint8Array }, [string]>(
      'SELECT body FROM hook_bodies JOIN hook_deliveries d ON d.id = delivery_id WHERE webhook_id = ?1',
    )
    .get(id);
  return row === null ? undefined : decompressed(row.body);
}

const all = [{ type: 'tenure_change' }, { type: 'stx_event' }, { type: 'contract_call' }, { type: 'coinbase' }];

test('whatever is sent is on the disk, and after a loss of power one id still names one body and every fork is told', async () => {
  using directory = dataDirectory();
  using target = receiver();
  const disk = new Disk();
  let crash: { image: DataDirectory; told: number } | null = null;
  const missing: string[] = [];
  target.answer = ({ headers, text }: Received) => {
    const id = headers['webhook-id']!;
    using image = disk.afterPowerLoss(directory.path);
    if (bodyIn(image.path, id) !== text) missing.push(id);
    return new Response('');
  };
  {
    await using server = start(directory.path, disk);
    for (const event of events.slice(0, 2)) server.ingest.receive(event);
    await server.managed.register('me', definition(target.url, all, { enable_on_registration: true }));
    for (const event of events.slice(2, half)) {
      server.ingest.receive(event);
      // The power goes before what this event queued is synced.
      if (event === lastBlock) crash = { image: disk.afterPowerLoss(directory.path), told: target.received.length };
      await server.settled();
    }
  }
  expect(target.received.length).toBeGreaterThan(5);
  expect(missing).toEqual([]);

  target.answer = () => new Response('');
  if (crash === null) throw new Error('there was no block');
  const { image, told } = crash as { image: DataDirectory; told: number };
  using crashed = image;
  target.received.length = told;
  {
    await using server = start(crashed.path, new Disk());
    // The node sends what it had no answer to, and goes on.
    for (const event of events) server.ingest.receive(event);
    await server.settled();
  }
  const bodies = new Map<string, string>();
  for (const { headers, text } of target.received) {
    const id = headers['webhook-id']!;
    expect(text).toBe(bodies.get(id) ?? text);
    bodies.set(id, text);
  }
  expect(target.received.length).toBeGreaterThan(told);
  followed([...bodies.values()].map((text) => JSON.parse(text)));
});

test('what a consumer is answered about a hook is on the disk', async () => {
  using directory = dataDirectory();
  const disk = new Disk();
  await using server = start(directory.path, disk);
  for (const event of events.slice(0, 2)) server.ingest.receive(event);
  await server.managed.register('me', definition('http://127.0.0.1:9/', all));
  using image = disk.afterPowerLoss(directory.path);
  using db = new Database(indexPath(image.path), { readwrite: true });
  expect(db.query('SELECT consumer FROM hooks').all()).toEqual([{ consumer: 'me' }]);
});
