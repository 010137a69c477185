/** Entries that were read ahead and are replayed into a new index, in groups. */
import { expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openJournalReader } from '../../src/store/files/journal.ts';
import type { PreparedEntry } from '../../src/store/ingest/event.ts';
import { ingestOf, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { wholeIndex } from '../support/data/tables.ts';

const events = simulatedEvents({ seed: 6, blocks: 10, transactionsPerBlock: 2, forkEvery: 4 });

function preparedEntriesOf(directory: string): PreparedEntry[] {
  const journal = openJournalReader(directory);
  try {
    return Array.from(journal.after(0), ({ text, ...entry }) => ({ ...entry, length: text.length, content: { text } }));
  } finally {
    journal.close();
  }
}

/** Opens an empty index next to a directory's index. */
function openStaging(directory: string) {
  const staging = join(directory, 'staging');
  mkdirSync(staging);
  return { staging, open: openAt(directory, { staging, load: 'bulk', replayTo: 0 }) };
}

test('groups of entries continue one transaction, which others read once it is published', () => {
  using directory = ingestOf(events);
  const entries = preparedEntriesOf(directory.path);
  const { staging, open } = openStaging(directory.path);
  const empty = wholeIndex(staging);
  for (let index = 0; index < entries.length; index += 4) open.ingest.replay(entries.slice(index, index + 4));
  expect(open.ingest.position().id).toBe(entries.length);
  expect(wholeIndex(staging)).toEqual(empty);
  open.ingest.publish();
  expect(wholeIndex(staging)).toEqual(wholeIndex(directory.path));
  open.ingest.close();
});

test('an index that is closed between two groups continues after the last published one', () => {
  using directory = ingestOf(events);
  const entries = preparedEntriesOf(directory.path);
  const half = Math.floor(entries.length / 2);
  const { staging, open } = openStaging(directory.path);
  open.ingest.replay(entries.slice(0, half));
  open.ingest.close();
  using resumed = openAt(directory.path, { staging, load: 'bulk', replayTo: 0 });
  expect(resumed.ingest.position().id).toBe(half);
  resumed.ingest.replay(entries.slice(half));
  resumed.ingest.catchUp();
  expect(wholeIndex(staging)).toEqual(wholeIndex(directory.path));
});

test('a group that skips an entry is refused, and the entries before it are replayed again from the journal', () => {
  using directory = ingestOf(events);
  const entries = preparedEntriesOf(directory.path);
  const { staging, open } = openStaging(directory.path);
  open.ingest.replay(entries.slice(0, 5));
  expect(() => open.ingest.replay(entries.slice(6))).toThrow(/^Entry \d+ .*is missing/);
  open.ingest.catchUp();
  expect(wholeIndex(staging)).toEqual(wholeIndex(directory.path));
  open.ingest.close();
});
