/** Several hosts share one archive: the holder of the lease writes it, and the next holder continues. */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { findEnd, listContents, verifySegments } from '../../src/archive/archive.ts';
import { systemClock } from '../../src/base/clock.ts';
import { restoreOnStart } from '../../src/commands/serve/restore-on-start.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readSettings } from '../../src/settings/config.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { lastEntryOf } from '../simulation/archive.ts';
import { restoredFrom } from '../support/data/archive.ts';
import { backupOf } from '../support/data/backup.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { opening } from '../support/data/opened-log.ts';
import { journalRows } from '../support/data/tables.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { until } from '../support/time/until.ts';

const CLUSTER = 'postgres://nobody@127.0.0.1:1/log';
const events = [...devnetEvents({ seed: 5, blocks: 6, accounts: 4, transactionsPerBlock: 1, forkEvery: 0 })];

interface Status {
  cluster: { deliveries: { held: boolean } };
}
const isHeld = ({ cluster }: Status): boolean => cluster.deliveries.held;

test('the host with the lease archives, and the next holder continues where it stopped', async () => {
  const log = new MemoryLog();
  using folder = dataDirectory();
  const path = join(folder.path, 'archive');
  const store = directoryFiles(path);
  const host = (hostName: string): Promise<Serving> =>
    serving({ cluster: CLUSTER, hostName, archive: path }, undefined, {}, { openLog: opening(log) });
  const lastArchived = async (): Promise<number> => {
    const { last, part } = await findEnd(store);
    return part?.last ?? last.id;
  };
  const first = await host('one');
  await until(async () => isHeld((await (await first.get('/stackside/v1/status')).json()) as Status), 'the lease');
  await using two = await host('two');
  const half = events.length >> 1;
  await two.post(events.slice(0, half));
  await until(async () => (await lastArchived()) === log.head.id, 'the first half is archived');
  expect((await listContents(store)).open).toEqual(['open-one-1.zst']);
  await first[Symbol.asyncDispose]();
  await two.post(events.slice(half));
  await until(async () => (await lastArchived()) === log.head.id, 'the second half is archived');
  expect((await listContents(store)).open).toEqual(['open-one-1.zst', 'open-two-2.zst']);
  for await (const { fault } of verifySegments(store)) expect(fault).toBeNull();
  const into = join(folder.path, 'restored');
  expect(await restoredFrom(store, into)).toBe(log.head.id);
  expect(journalRows(into)).toEqual(journalRows(two.directory));
});

test('a new host restores the archive of the log with --from, and follows the log from there', async () => {
  const log = new MemoryLog();
  using folder = dataDirectory();
  const path = join(folder.path, 'archive');
  const openLog = opening(log);
  await using first = await serving({ cluster: CLUSTER, hostName: 'one' }, undefined, {}, { openLog });
  const half = events.length >> 1;
  await first.post(events.slice(0, half));
  await backupOf(first.directory, path);
  await first.post(events.slice(half, -1));
  const data = join(folder.path, 'two');
  const logged: string[] = [];
  const settings = readSettings({ data, cluster: CLUSTER, from: path }, {});
  await restoreOnStart({ from: path, settings, clock: systemClock, log: ({ event }) => logged.push(event) });
  expect(logged).toContain('restored');
  expect(lastEntryOf(data)).toBeLessThan(log.head.id);
  {
    await using two = await serving({ cluster: CLUSTER, hostName: 'two' }, data, {}, { openLog });
    await two.post(events.slice(-1));
  }
  expect(journalRows(data)).toEqual(log.entries.map(({ chain: _, ...row }) => row));
});
