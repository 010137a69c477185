/** The identity of a log: the entry that comes before the first event or command, together with it or not at all. */
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { StoreUnavailableError } from '../../src/base/system-errors.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { COMMAND_PATH, LOG_IDENTITY } from '../../src/store/ingest/commands.ts';
import type { Outcome } from '../../src/store/ingest/event.ts';
import { openHost } from '../cluster/open-host.ts';
import { faultStore, never } from '../faults/fault-store.ts';
import { imagesAtCommits } from '../support/data/crash-image.ts';
import { emptyDirectory, entryOf, ingestOf, openAt, openNew, simulatedEvents } from '../support/data/ingest.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { everything, journalRows, wholeIndex } from '../support/data/tables.ts';

const events = simulatedEvents({ seed: 5, blocks: 4, transactionsPerBlock: 1 });
const [first, second] = events;
/** An event that changes nothing. */
const emptyEvent = { path: '/new_mempool_tx', text: '[]', receivedAt: 1_000 };
const random = { uuid: () => crypto.randomUUID() };

function outcomeOf(receive: () => Outcome): Outcome | 'unavailable' {
  try {
    return receive();
  } catch (error) {
    expect(error).toBeInstanceOf(StoreUnavailableError);
    return 'unavailable';
  }
}

interface Named {
  path: string;
  text: string;
}
/** The identities among entries. */
const identitiesIn = (entries: readonly Named[]): string[] =>
  entries.flatMap(({ path, text }) => {
    const command = path === COMMAND_PATH ? JSON.parse(text) : null;
    return command?.type === LOG_IDENTITY ? [command.args.identity] : [];
  });

/** The identity in the index of a directory. */
const storedIn = (directory: string): string | undefined =>
  /log_identity=0x(\w+)/.exec(String(wholeIndex(directory).progress?.[0]))?.[1];

/** Requires that a log has one identity, as its first entry, and that the index has it. */
function expectIdentity(directory: string, entries: number): string {
  const rows = journalRows(directory);
  const [identity, ...others] = identitiesIn(rows);
  expect([rows.length, others, identitiesIn(rows.slice(0, 1))]).toEqual([entries, [], [identity!]]);
  expect(identity).toMatch(/^[0-9a-f]{32}$/);
  expect(storedIn(directory)).toBe(identity);
  return identity!;
}

test('the first event of an empty log follows a random identity, which was received at the same time', () => {
  using host1 = openNew({ random });
  using host2 = openNew({ random });
  for (const { ingest } of [host1, host2]) {
    expect(ingest.receive(first!)).toBe('applied');
    expect(ingest.receive(second!)).toBe('applied');
  }
  const identities = [host1, host2].map(({ directory }) => expectIdentity(directory, entryOf(2)));
  expect(identities[0]).not.toBe(identities[1]);
  const rows = journalRows(host1.directory);
  expect(rows[0]!.receivedAt).toBe(first!.receivedAt);
  expect(rows[1]).toMatchObject({ id: entryOf(1), path: first!.path, text: first!.text });
});

test('the first command of an empty log follows an identity', async () => {
  using open = openNew({ random });
  const commander = open.ingest.commander(systemClock);
  await commander.run({ type: 'faucet.add', args: { currency: 'stx', address: 'ST1', ip: '203.0.113.7' } });
  expectIdentity(open.directory, entryOf(1));
});

test('an event or a command that changes nothing, or fails, leaves an empty log empty', async () => {
  using open = openNew({ random });
  const before = everything(open.directory);
  expect(open.ingest.receive(emptyEvent)).toBe('repeated');
  expect(() => open.ingest.receive({ ...first!, text: '{}' })).toThrow();
  const commander = open.ingest.commander(systemClock);
  await commander.run({ type: 'hook.delete_consumer', args: { consumer: 'nobody' } }).catch(() => {});
  expect(everything(open.directory)).toEqual(before);
  expect(open.ingest.receive(first!)).toBe('applied');
  expectIdentity(open.directory, entryOf(1));
});

test('an import has one identity, also after an event that fails', () => {
  using open = openNew({ random });
  expect(open.ingest.apply(emptyEvent)).toBe('repeated');
  expect(() => open.ingest.apply({ ...first!, text: '{}' })).toThrow();
  for (const event of events) open.ingest.apply(event);
  open.ingest.commit();
  expectIdentity(open.directory, entryOf(events.length));
});

test('a kill at any commit leaves an empty log, or one with the identity and the first event', async () => {
  using open = openNew({ random });
  const images = await imagesAtCommits(open.directory, () => open.ingest.receive(first!));
  const lengths = images.map(({ path }) => journalRows(path).length);
  expect(new Set(lengths)).toEqual(new Set([0, entryOf(1)]));
  for (const image of images) {
    using killed = image;
    {
      using reopened = openAt(killed.path, { random });
      reopened.ingest.receive(first!);
      reopened.ingest.receive(second!);
    }
    expectIdentity(killed.path, entryOf(2));
  }
});

test('a journal that fails while it takes the identity or the first event has neither, and the next try has both', () => {
  let isStruck = true;
  for (let failing = 0; isStruck; failing++) {
    isStruck = false;
    using directory = emptyDirectory();
    const store = faultStore();
    using open = openAt(directory.path, { random: random, connect: store.connect });
    let calls = 0;
    store.follow(({ path }) => {
      if (path !== journalPath(directory.path) || calls++ !== failing) return null;
      isStruck = true;
      return { code: 'io', effect: 'rolled_back' };
    });
    const outcome = outcomeOf(() => open.ingest.receive(first!));
    store.follow(never);
    expect(outcome).toBe(isStruck ? 'unavailable' : 'applied');
    expect([0, entryOf(1)]).toContain(journalRows(directory.path).length);
    open.ingest.receive(first!);
    open.ingest.receive(second!);
    open.ingest.publish();
    expectIdentity(directory.path, entryOf(2));
  }
});

test('a follower and a rebuild have the identity of the entries, and add none', async () => {
  using source = ingestOf(events, { random });
  const identity = expectIdentity(source.path, entryOf(events.length));
  using follower = openNew({ random });
  {
    using open = openAt(source.path);
    await follower.ingest.entries.follow([...open.ingest.entries.after(0)], 'each', true, async () => {});
  }
  expect(expectIdentity(follower.directory, entryOf(events.length))).toBe(identity);
  rmSync(indexPath(source.path));
  rebuildIndex({ directory: source.path, random, force: true });
  expect(expectIdentity(source.path, entryOf(events.length))).toBe(identity);
});

test('if two empty hosts start at once, both end with the same identity', async () => {
  const log = new MemoryLog();
  const arrived = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  /** Both hosts have applied their first event before either appends. */
  const client = (index: number) => {
    const ownClient = log.client();
    return {
      ...ownClient,
      append: async (...parameters: Parameters<typeof ownClient.append>) => {
        arrived[index]!.resolve();
        await Promise.all(arrived.map(({ promise }) => promise));
        return ownClient.append(...parameters);
      },
    };
  };
  await using host1 = openHost(client(0));
  await using host2 = openHost(client(1));
  const outcomes = await Promise.all([host1.host.receive(first!), host2.host.receive(second!)]);
  expect(outcomes).toEqual(['applied', 'applied']);
  await Promise.all([host1.follow(entryOf(2)), host2.follow(entryOf(2))]);
  const identities = [host1, host2].map(({ directory }) => expectIdentity(directory, entryOf(2)));
  expect(identities[0]).toBe(identities[1]!);
  expect(wholeIndex(host1.directory)).toEqual(wholeIndex(host2.directory));
  const appended = [...host1.entries, ...host2.entries].sort();
  expect(appended).toEqual([1, entryOf(1)]);
});
