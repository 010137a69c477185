/** A host that was restored from a backup, and follows the log from there. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { type Entry, nextChain } from '../../src/store/log/entry.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { journalRows, wholeIndex } from '../support/data/tables.ts';
import { openHost } from './open-host.ts';

const chain = { seed: 4, blocks: 5, accounts: 3, transactionsPerBlock: 1, forkEvery: 2, forkDepth: 1 };
const events = simulatedEvents(chain);
/** Events that the backup holds. */
const BACKUP_EVENTS = events.length - 6;

const home = dataDirectory();
const places = { whole: join(home.path, 'whole'), backup: join(home.path, 'backup'), made: join(home.path, 'made') };
const fullLog = new MemoryLog();

beforeAll(async () => {
  await using whole = openHost(fullLog.client(), places.whole);
  for (const event of events.slice(0, BACKUP_EVENTS)) await whole.host.receive(event);
  await backupOf(places.whole, places.backup);
  await restored(places.backup, places.made);
  for (const event of events.slice(BACKUP_EVENTS)) await whole.host.receive(event);
});
afterAll(() => home[Symbol.dispose]());

/** Copies the restored directory. */
function restoredCopy() {
  const copy = dataDirectory();
  cpSync(places.made, copy.path, { recursive: true });
  return copy;
}

function logOf(entries: readonly Entry[]): MemoryLog {
  const log = new MemoryLog();
  log.entries = [...entries];
  return log;
}

test('a restored host follows the log to the same tables, and gives back the entries that the log lost', async () => {
  using directory = restoredCopy();
  const log = logOf(fullLog.entries);
  {
    await using host = openHost(log.client(), directory.path);
    expect(host.position()).toBeLessThan(log.head.id);
    await host.follow(log.head.id);
  }
  expect(wholeIndex(directory.path)).toEqual(wholeIndex(places.whole));
  expect(journalRows(directory.path)).toEqual(journalRows(places.whole));
  log.entries.splice(4);
  await using host = openHost(log.client(), directory.path);
  host.host.start();
  expect(await host.host.receive({ path: '/stackerdb_chunks', text: '{"of":"a node"}', receivedAt: 1 })).toBe(
    'applied',
  );
  expect(log.entries.slice(0, -1)).toEqual(fullLog.entries);
});

test('a log of another history is detected by its first entry', async () => {
  using directory = restoredCopy();
  const entries: Entry[] = [];
  for (const { id, ...entry } of fullLog.entries) {
    const changed = { ...entry, receivedAt: entry.receivedAt + 1 };
    const chain = nextChain(entries.at(-1)?.chain ?? new Uint8Array(32), { ...changed, id: id });
    entries.push({ ...changed, id, chain });
  }
  await using host = openHost(logOf(entries).client(), directory.path);
  await host.follow(fullLog.head.id);
  expect(host.ended.map(({ message }) => message)).toEqual([
    "Entry 1 of the cluster's log differs from entry 1 of this host's journal.",
  ]);
});
