/** Hosts of this version and of the next one on one log, with a kind of entry that only the next one knows. */

import { expect, spyOn, test } from 'bun:test';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordingRow } from '../../src/chain/recording.ts';
import { runExport } from '../../src/commands/data/export.ts';
import { nextChain } from '../../src/store/log/entry.ts';
import { importFiles } from '../commands/recordings.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { rebuild } from '../support/data/rebuild.ts';
import { journalRows, tables, wholeIndex } from '../support/data/tables.ts';
import { openFollower, openHost } from './open-host.ts';

const events = simulatedEvents({ seed: 6, blocks: 3, accounts: 3, transactionsPerBlock: 1, forkEvery: 2 });
/** An entry of the next version, which changes no table. */
const NEXT = '/stackside/next';

/** Appends an entry as a host of the next version does. */
function appendNext(log: MemoryLog, index: number): void {
  const { id, chain } = log.head;
  const entry = { receivedAt: 1_000 + index, path: NEXT, text: `{"of":"the next version","index":${index}}` };
  log.add({ ...entry, id: id + 1, chain: nextChain(chain, { ...entry, id: id + 1 }) }, { id, chain });
}

test('every host keeps the numbers of entries that only the next version supports, and a recording omits them', async () => {
  const log = new MemoryLog();
  using here = dataDirectory();
  using there = dataDirectory();
  {
    await using old = openHost(log.client(), here.path);
    await using next = openHost(log.client(), there.path);
    for (const [index, event] of events.entries()) {
      if (index % 3 === 0) appendNext(log, index);
      await (index % 2 === 0 ? old : next).host.receive(event);
    }
    appendNext(log, events.length);
    for (const each of [old, next]) await each.follow(log.head.id);
    expect([...old.ended, ...next.ended]).toEqual([]);
  }
  const [journal, index] = [journalRows(there.path), wholeIndex(there.path)];
  expect(journal.filter(({ path }) => path === NEXT).length).toBeGreaterThan(3);
  expect(journal.map(({ id }) => id)).toEqual(log.entries.map(({ id }) => id));
  expect([journalRows(here.path), wholeIndex(here.path)]).toEqual([journal, index]);

  // The host is upgraded: it continues, or rebuilds its index.
  rebuild(here.path);
  {
    await using upgraded = openHost(log.client(), here.path);
    appendNext(log, 0);
    await upgraded.follow(log.head.id);
    await using _ = await openFollower(log, there.path);
  }
  expect([journalRows(here.path), wholeIndex(here.path)]).toEqual([journalRows(there.path), wholeIndex(there.path)]);

  using importing = dataDirectory();
  using _ = spyOn(process.stderr, 'write').mockImplementation(() => true);
  const file = join(importing.path, 'events.tsv');
  await runExport(here.path, file, false);
  expect(readFileSync(file, 'utf8')).not.toContain(NEXT);
  // One of a program that left them in is passed over.
  appendFileSync(file, `${recordingRow({ id: 1_000, receivedAt: 1, path: NEXT, text: '{}' })}\n`);
  expect((await importFiles(join(importing.path, 'data'), [file])).error).toBeNull();
  expect(tables(join(importing.path, 'data'))).toEqual(tables(here.path));
});
