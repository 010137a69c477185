/** A log with a command of a newer program: nothing after it is applied, and the refusal names it, however the log is read. */
import { expect, test } from 'bun:test';
import { openJournal } from '../../src/store/files/journal.ts';
import { COMMAND_PATH } from '../../src/store/ingest/commands.ts';
import { compressed, type Entry, type Head, headAfter } from '../../src/store/log/entry.ts';
import { ingestOf, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { journalRows, wholeIndex } from '../support/data/tables.ts';

const events = simulatedEvents({ seed: 2, blocks: 3, transactionsPerBlock: 1 });

/** Returns the entry of a command that no version supports. */
function unknownAfter(head: Head): Entry {
  const text = JSON.stringify({ uuid: crypto.randomUUID(), type: 'moon.land', args: {} });
  const event = { receivedAt: events.at(-1)!.receivedAt, path: COMMAND_PATH, text };
  return { ...event, ...headAfter(head, event) };
}

const NAMED = "The log contains the command moon.land, which this version doesn't support.";

test('a host that follows a log stops before an unknown command', async () => {
  using directory = ingestOf(events);
  using opened = openAt(directory.path);
  const before = opened.ingest.position();
  const following = opened.ingest.entries.follow([unknownAfter(before)], 'each', true, async () => {});
  await expect(following).rejects.toThrow(NAMED);
  expect(opened.ingest.position()).toEqual(before);
});

test('a start and a rebuild reject a journal with an unknown command, and change nothing', () => {
  using directory = ingestOf(events);
  const index = wholeIndex(directory.path);
  const journal = openJournal(directory.path);
  const id = journal.lastId();
  const { text, ...entry } = unknownAfter({ id, chain: journal.chainAt(id)! });
  journal.begin();
  journal.append(entry, compressed(text));
  journal.commit();
  journal.close();
  const rows = journalRows(directory.path);
  for (const run of [() => openAt(directory.path), () => rebuildIndex({ directory: directory.path })]) {
    expect(run).toThrow(NAMED);
    expect(run).toThrow(expect.objectContaining({ remedy: expect.stringContaining('--until-entry') }));
  }
  expect([wholeIndex(directory.path), journalRows(directory.path)]).toEqual([index, rows]);
});
