/** The position in the source of events is stored with each event: the two agree at any moment. */
import { expect, test } from 'bun:test';
import { PayloadError } from '../../src/chain/payload-reader.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { UnknownParentError } from '../../src/store/ingest/known-blocks.ts';
import { imagesAtCommits } from '../support/data/crash-image.ts';
import { entryOf, openAt, openNew, simulatedEvents } from '../support/data/ingest.ts';

const SOURCE = 'a stream';
const events = simulatedEvents({ seed: 13, blocks: 2, transactionsPerBlock: 2, forkEvery: 0 });

/** An event of a source that numbers its events from 1. */
const withNumber = (event: ReceivedEvent, number: number): ReceivedEvent => ({
  ...event,
  read: { source: SOURCE, upTo: { rows: number, digest: `${number}-0` } },
});

test('a crash leaves event and position, or neither', async () => {
  using open = openNew();
  const outcomes = new Set<string>();
  for (const [index, event] of events.entries()) {
    const number = index + 1;
    const images = await imagesAtCommits(open.directory, () => open.ingest.receive(withNumber(event, number)));
    for (const [image, directory] of images.entries()) {
      using crashed = directory;
      using reopened = openAt(crashed.path);
      const { rows } = reopened.ingest.imported(SOURCE);
      expect([number - 1, number]).toContain(rows);
      expect(reopened.ingest.receive(event)).toBe(rows === number ? 'repeated' : 'applied');
      outcomes.add(`${image}: ${rows - number}`);
    }
  }
  // The journal commits first, and an image is taken before and after each commit.
  expect([...outcomes].sort()).toEqual(['0: -1', '1: 0', '2: 0', '3: 0']);
});

test('an event that changes nothing moves the position all the same', () => {
  using open = openNew();
  const [first, second] = [events[0]!, events[1]!];
  for (const [index, event] of [first, second].entries()) open.ingest.receive(withNumber(event, index + 1));
  // The event that was accepted last, and one from before.
  for (const [event, number] of [
    [second, 3],
    [first, 4],
  ] as const) {
    expect(open.ingest.receive(withNumber(event, number))).toBe('repeated');
    expect(open.ingest.imported(SOURCE)).toEqual({ rows: number, digest: `${number}-0` });
  }
  open.ingest.close();
  using reopened = openAt(open.directory);
  expect(reopened.ingest.imported(SOURCE).rows).toBe(4);
});

test("a rejected event doesn't change the position", () => {
  using open = openNew();
  open.ingest.receive(withNumber(events[0]!, 1));
  const malformed = { path: '/new_block', text: '{}', receivedAt: 0 };
  expect(() => open.ingest.receive(withNumber(malformed, 2))).toThrow(PayloadError);
  expect(open.ingest.imported(SOURCE).rows).toBe(1);
});

test('a rejected event keeps the positions of the events that commit with it', () => {
  using open = openNew();
  const { ingest } = open;
  const malformed = { path: '/new_block', text: '{}', receivedAt: 0 };
  ingest.apply(withNumber(events[0]!, 1));
  ingest.setImported('a recording', { rows: 7, digest: 'seven' });
  expect(() => ingest.apply(withNumber(malformed, 2))).toThrow(PayloadError);
  // A parent that is missing is found while the event is applied, in the transaction.
  expect(() => ingest.apply(withNumber(events.at(-1)!, 3))).toThrow(UnknownParentError);
  ingest.commit();
  expect(ingest.position().id).toBe(entryOf(1));
  expect(ingest.imported(SOURCE)).toEqual({ rows: 1, digest: '1-0' });
  expect(ingest.imported('a recording')).toEqual({ rows: 7, digest: 'seven' });

  // A repeated event makes no entry, so the transaction has only its position.
  expect(ingest.apply(withNumber(events[0]!, 4))).toBe('repeated');
  expect(() => ingest.apply(withNumber(events.at(-1)!, 5))).toThrow(UnknownParentError);
  ingest.commit();
  expect(ingest.imported(SOURCE)).toEqual({ rows: 4, digest: '4-0' });
});
