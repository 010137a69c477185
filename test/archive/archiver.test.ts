/** Writing an archive: the uploaded objects, continued archives and rejected archives. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listContents } from '../../src/archive/archive.ts';
import { IDENTITY } from '../../src/archive/archive-directory.ts';
import { openName, readSegment, SEGMENTS } from '../../src/archive/segment.ts';
import { systemClock } from '../../src/base/clock.ts';
import { TemporaryError } from '../../src/base/errors.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { archive, archiverOf, DEVNET, faultsIn, objectsIn, refusal, restoredFrom } from '../support/data/archive.ts';
import { withholdEntries } from '../support/data/copy.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { entryOf, ingestOf, OTHER_IDENTITY, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { journalRows } from '../support/data/tables.ts';

const events = simulatedEvents({ seed: 3, blocks: 12, transactionsPerBlock: 2 });
const source = ingestOf(events);
afterAll(() => source[Symbol.dispose]());
const total = journalRows(source.path).length;
const { keep, folder } = keepToEnd();
/** Returns a copy of the journal's first events, with the same entries. */
const copyUpTo = (count: number): string => keep(ingestOf(events.slice(0, count)));

/** Returns data with the journal's first events, and with others after them. */
function changedAfter(count: number): string {
  const directory = copyUpTo(count);
  using open = openAt(directory);
  for (const event of events.slice(count)) open.ingest.apply({ ...event, receivedAt: event.receivedAt + 1 });
  open.ingest.commit();
  return directory;
}

let path = '';
let store: ObjectStore;
beforeEach(() => {
  path = folder();
  store = directoryFiles(path);
});

const objects = (root = path): Record<string, string> => objectsIn(root);

test('an archive contains every journal entry: consecutive segments and an open part', async () => {
  using archiver = archiverOf(source.path, store);
  await archiver.round();
  const { segments, open } = await listContents(store);
  expect(segments.length).toBeGreaterThan(3);
  expect(open).toEqual([openName('one', null)]);
  expect(archiver.archived).toEqual([...segments.map(({ last }) => last), total]);
  expect(await faultsIn(store)).toEqual([]);
  const part = await readSegment(readFileSync(join(path, open[0]!)), null);
  expect([part.first, part.last]).toEqual([segments.at(-1)!.last + 1, total]);
});

test('two hosts with the same journal write the same objects, however often they archive', async () => {
  await archive(source.path, store);
  const directory = keep(ingestOf([]));
  const second = join(keep(dataDirectory()), 'archive');
  for (const event of events) {
    using open = openAt(directory);
    open.ingest.apply(event);
    open.ingest.commit();
    open.ingest.close();
    if (event.path === '/new_block') await archive(directory, directoryFiles(second));
  }
  await archive(directory, directoryFiles(second));
  expect(objects(second)).toEqual(objects());
});

test("a sealed segment replaces the open part, even another host's", async () => {
  await archive(copyUpTo(4), store, 'dead');
  const dead = openName('dead', null);
  expect((await listContents(store)).open).toEqual([dead]);
  await archive(source.path, store, 'one');
  expect((await listContents(store)).open).toEqual([openName('one', null)]);
});

test('a round without new entries writes nothing, and a round with few writes only the open part', async () => {
  const directory = copyUpTo(4);
  using archiver = archiverOf(directory, store);
  await archiver.round();
  const before = objects();
  await archiver.round();
  expect(objects()).toEqual(before);
  using open = openAt(directory);
  open.ingest.receive(events[4]!);
  await archiver.round();
  const changed = Object.entries(objects()).filter(([name, bytes]) => before[name] !== bytes);
  expect(changed.map(([name]) => name)).toEqual([openName('one', null)]);
});

test('archiving continues at the end of the archive, and fills in a missing segment', async () => {
  using first = archiverOf(source.path, store, {
    archived: (entry) => {
      if (entry > 10) ending.abort();
    },
  });
  const ending = new AbortController();
  await first.round('one', {}, ending.signal);
  const early = await listContents(store);
  expect(early.open).toEqual([]);
  expect(early.segments.at(-1)!.last).toBeLessThan(total);
  using second = archiverOf(source.path, store);
  await second.round();
  expect(second.archived[0]).toBeGreaterThan(early.segments.at(-1)!.last);
  const whole = objects();
  const { segments } = await listContents(store);
  const missing = Object.keys(whole).find((name) => name.includes(String(segments[1]!.first).padStart(12, '0')))!;
  await store.remove(missing);
  await archive(source.path, store);
  expect(objects()).toEqual(whole);
});

test('the first archive of a long journal waits between segments', async () => {
  const waits: number[] = [];
  using archiver = archiverOf(source.path, store, {
    clock: {
      ...systemClock,
      after(milliseconds, call) {
        waits.push(milliseconds);
        queueMicrotask(call);
        return () => {};
      },
    },
  });
  await archiver.round();
  expect(waits).toEqual((await listContents(store)).segments.map(() => 100));
});

test('an outdated list changes nothing in the archive', async () => {
  await archive(copyUpTo(20), store);
  const late = await store.list('');
  await archive(source.path, store);
  const whole = objects();
  using archiver = archiverOf(source.path, {
    ...store,
    list: async (text) => late.filter((name) => name.startsWith(text)),
  });
  await archiver.round();
  expect(objects()).toEqual(whole);
});

describe('the archiver writes nothing and reports the reason if', () => {
  /**
   * Archives data that the archiver must reject, and requires that the archive stays unchanged.
   * @returns the error's text
   */
  async function refusedIn(directory: string, chainId = DEVNET): Promise<string> {
    const before = objects();
    using archiver = archiverOf(directory, store);
    const message = await refusal(archiver.round('two', { chainId }));
    expect(objects()).toEqual(before);
    return message;
  }

  test.each<[string, directory: () => string, message: RegExp, chainId: number]>([
    [
      'the archive belongs to another chain',
      () => source.path,
      / belongs to testnet \(chain 0x80000000\), but this log belongs to mainnet \(chain 0x00000001\)\.$/,
      1,
    ],
    [
      "the archive belongs to another server's journal",
      () => keep(ingestOf(events, { random: OTHER_IDENTITY })),
      / belongs to the log 1de27171\w+, but this server has the log 07e400e4\w+\. Data restored/,
      DEVNET,
    ],
    [
      'the journal has different entries since',
      () => changedAfter(12),
      / doesn't match this log: segment-\S+ has another entry \d+ than the log\.$/,
      DEVNET,
    ],
  ])('%s', async (_, directory, message, chainId) => {
    await archive(source.path, store);
    expect(await refusedIn(directory(), chainId)).toMatch(message);
  });

  test('the archive has a newer format or an unreadable archive.json', async () => {
    await archive(source.path, store);
    writeFileSync(join(path, IDENTITY), '{"format":2}');
    expect(await refusedIn(source.path)).toBe(
      `The archive at ${path} has format 2; this version reads formats up to 1.`,
    );
    writeFileSync(join(path, IDENTITY), '{"format":1,"chain');
    expect(await refusedIn(source.path)).toBe(
      `The archive at ${path} is damaged: ${IDENTITY} doesn't identify the log that the archive belongs to.`,
    );
  });

  test('the journal ends before the open part', async () => {
    await archive(copyUpTo(5), store);
    expect(await refusedIn(copyUpTo(3))).toMatch(/ open-one.zst ends with entry 6, and the log with entry 4\.$/);
  });
});

test('a store that replaces existing objects is rejected in each round, and stays empty', async () => {
  const replacing: ObjectStore = {
    ...store,
    async create(name, bytes) {
      await store.write(name, bytes);
      return true;
    },
  };
  using archiver = archiverOf(source.path, replacing);
  for (let round = 0; round < 2; round++) {
    expect(await refusal(archiver.round())).toBe(
      `The server of ${path} ignores If-None-Match: it replaces objects that exist.`,
    );
    expect(await store.list('')).toEqual([]);
  }
});

test('a store that replaces existing objects is rejected also if it failed when it was first asked', async () => {
  let creates = 0;
  let hasOther = false;
  const replacing: ObjectStore = {
    ...store,
    async create(name, bytes) {
      creates += 1;
      if (creates === 2) throw new TemporaryError('The store does not answer.', 'Wait.');
      await store.write(name, bytes);
      return true;
    },
    list: async (prefix) =>
      hasOther && creates >= 5 && 'open-other.zst'.startsWith(prefix) ? ['open-other.zst'] : store.list(prefix),
  };
  using archiver = archiverOf(source.path, replacing);
  await expect(archiver.round()).rejects.toThrow('does not answer');
  expect(await refusal(archiver.round())).toContain('ignores If-None-Match');
  expect(await store.list('')).toEqual([]);
  // The identity stays if another host has written entries since.
  hasOther = true;
  expect(await refusal(archiver.round())).toContain('ignores If-None-Match');
  expect(await store.list('')).toEqual(['archive.json']);
});

test('a store that lost archive.json after it was read does not count as replacing objects', async () => {
  let losses = 0;
  const forgetful: ObjectStore = {
    ...store,
    async create(name, bytes) {
      // Somebody removes the object between its first creation and the check.
      if (name === IDENTITY && existsSync(join(path, name)) && losses++ === 0) await store.remove(name);
      return store.create(name, bytes);
    },
  };
  using archiver = archiverOf(source.path, forgetful);
  await archiver.round();
  expect(losses).toBe(2);
  expect(archiver.archived.at(-1)).toBe(total);
  expect(await faultsIn(store)).toEqual([]);
});

test('a conflicting segment is found even if the list is older than the segment', async () => {
  await archive(copyUpTo(8), store);
  const list = await store.list('');
  await archive(changedAfter(8), store, 'foreign');
  const whole = objects();
  using late = archiverOf(source.path, {
    ...store,
    list: async (text) => (/\d/.test(text) ? store.list(text) : list.filter((name) => name.startsWith(text))),
  });
  expect(await refusal(late.round('late'))).toMatch(
    / doesn't match this log: it has segment-\S+, and the log has segment-/,
  );
  expect(objects()).toEqual(whole);
});

test('an object with the same name and other content is not replaced', async () => {
  await archive(source.path, store);
  const { segments } = await listContents(store);
  const name = readdirSync(path).find((file) => file.includes(`-${String(segments[1]!.last).padStart(12, '0')}-`))!;
  const [list, torn] = [await store.list(''), readFileSync(join(path, name)).subarray(0, 300)];
  writeFileSync(join(path, name), torn);
  const without = {
    ...store,
    list: async (text: string) => (text === SEGMENTS ? [] : list.filter((name) => name.startsWith(text))),
  };
  using archiver = archiverOf(source.path, without);
  expect(await refusal(archiver.round())).toBe(
    `${name} of the archive at ${path} exists, but its content differs from the log.`,
  );
  expect(readFileSync(join(path, name))).toEqual(torn);
});

test('withheld entries are archived by their hashes, and verification succeeds', async () => {
  const directory = keep(ingestOf(events));
  withholdEntries(directory, '/new_burn_block');
  await archive(directory, store);
  expect(await faultsIn(store)).toEqual([]);
  const restored = join(keep(dataDirectory()), 'restored');
  await restoredFrom(store, restored);
  expect(journalRows(restored)).toEqual(journalRows(directory));
  expect(journalRows(restored).some((row) => row.path === '')).toBe(true);
});

test('keeps a damaged open part of another host, and replaces its own damaged open part', async () => {
  await archive(copyUpTo(4), store);
  await store.write(openName('two', null), new Uint8Array([1, 2, 3]));
  await store.write(openName('one', null), new Uint8Array([1, 2, 3]));
  await archive(copyUpTo(5), store);
  expect(objects()[openName('two', null)]).toBe('010203');
  expect((await readSegment(readFileSync(join(path, openName('one', null))), null)).last).toBe(entryOf(5));
});
