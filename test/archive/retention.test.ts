/** Objects that retention deletes from an archive, and restores after that. */
import { expect, test } from 'bun:test';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listBases, PARTS, packManifest, partName } from '../../src/archive/base.ts';
import { type NewBase, type RetentionResult, retain } from '../../src/archive/base-writer.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { archive, baseIn, faultsIn, noting, refusal, restoredFrom } from '../support/data/archive.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { wholeIndex } from '../support/data/tables.ts';
import { impatientClock } from '../support/time/impatient-clock.ts';

const DAY = 86_400_000;
const NOW = 1_900_000_000_000;
const events = simulatedEvents({ seed: 5, blocks: 24, transactionsPerBlock: 3, forkEvery: 8, forkDepth: 2 });
const { keep, folder } = keepToEnd();
/** The journal after one third, two thirds, and all of its events. */
const [third, half, whole] = [1, 2, 3].map((part) => keep(ingestOf(events.slice(0, (part * events.length) / 3)))) as [
  string,
  string,
  string,
];

/** Archives a directory and makes a snapshot of it, dated this number of days ago. */
async function baseAgo(directory: string, store: ObjectStore, days: number): Promise<NewBase> {
  await archive(directory, store);
  const base = await baseIn(directory, store, { clock: { ...impatientClock, now: () => NOW - days * DAY } });
  if (base === null) throw new Error('there was a base');
  return base;
}

const signal = new AbortController().signal;
const kept30 = (store: ObjectStore): Promise<RetentionResult | null> =>
  retain({ store, keepDays: 30, now: NOW, signal });

/** An archive after a retention: with the base of 60 days ago, and the parts of the base of 90 days ago. */
const aged = folder();
await baseAgo(third, directoryFiles(aged), 90);
await baseAgo(half, directoryFiles(aged), 60);
await kept30(directoryFiles(aged));
/** Copies an archive. @returns the path of the copy */
function copyOf(archived: string): string {
  const path = folder();
  cpSync(archived, path, { recursive: true });
  return path;
}

const names = async (store: ObjectStore): Promise<string[]> => (await listBases(store)).map(({ name }) => name);

async function requireRestorable(store: ObjectStore, options = {}): Promise<string> {
  const into = folder();
  await restoredFrom(store, into, options);
  expect(wholeIndex(into)).toEqual(wholeIndex(whole));
  return into;
}

test('old bases are deleted except the newest, and parts are deleted after two rounds without use', async () => {
  const store = directoryFiles(folder());
  const oldest = await baseAgo(third, store, 90);
  expect(await kept30(store)).toEqual({ bases: 0, parts: 0 });
  const middle = await baseAgo(half, store, 60);
  const before = await store.list(PARTS);
  expect(await kept30(store)).toMatchObject({ bases: 1, parts: 0 });
  expect([await names(store), await store.list(PARTS)]).toEqual([[middle.name], before]);
  const newest = await baseAgo(whole, store, 0);
  const retained = await kept30(store);
  expect(retained?.bases).toBe(1);
  expect(retained?.parts).toBeGreaterThan(0);
  expect(await names(store)).toEqual([newest.name]);
  // The parts that only the second snapshot needs were still in use at the last look.
  const [ofOne, ofTwo, ofThree] = [oldest, middle, newest].map(
    ({ manifest }) => new Set(manifest.tables.flatMap(({ parts }) => parts.map(({ sha256 }) => partName(sha256)))),
  ) as [Set<string>, Set<string>, Set<string>];
  const remaining = new Set(await store.list(PARTS));
  expect(ofTwo.difference(remaining).size).toBe(0);
  expect(ofOne.difference(ofTwo).difference(ofThree).intersection(remaining).size).toBe(0);
  await kept30(store);
  expect(new Set(await store.list(PARTS))).toEqual(ofThree);
  expect(await faultsIn(store)).toEqual([]);
  await requireRestorable(store);
});

test('a base uploads an unneeded part again if it needs the part, and the part stays', async () => {
  const store = directoryFiles(copyOf(aged));
  const { store: noted, names: created } = noting(store, 'create');
  const rebuilt = (await baseIn(third, noted, { clock: { ...impatientClock, now: () => NOW - 40 * DAY } }))!;
  const unneeded = JSON.parse(Buffer.from((await store.read('unneeded.json', { min: 1, max: 1e6 }))!).toString()) as {
    parts: string[];
  };
  const needed = rebuilt.manifest.tables.flatMap(({ parts }) => parts.map(({ sha256 }) => partName(sha256)));
  const sent = unneeded.parts.filter((name) => needed.includes(name));
  expect(sent.length).toBeGreaterThan(0);
  expect(created).toEqual(expect.arrayContaining(sent));
  await kept30(store);
  expect(await faultsIn(store)).toEqual([]);
});

test('parts that another host sends stay, and a base with deleted parts is not written', async () => {
  const store = directoryFiles(copyOf(aged));
  await archive(whole, store);
  // While a host without a lease makes a snapshot, another host deletes parts that the snapshot refers to.
  let isRemoved = false;
  const racing: ObjectStore = {
    ...store,
    async create(name, bytes) {
      const isNew = await store.create(name, bytes);
      if (isRemoved || !name.startsWith(PARTS)) return isNew;
      isRemoved = true;
      for (const part of await store.list(PARTS)) if (part !== name) await store.remove(part);
      return isNew;
    },
  };
  expect(await refusal(baseIn(whole, racing))).toContain('which it had at the start of the base');
  const sent = await baseIn(whole, store);
  expect(sent).not.toBeNull();
  const [newest] = await names(store);
  expect(newest).toBe(sent!.name);
  await requireRestorable(store);
  // A snapshot that appears during a retention run makes it keep everything.
  const late = directoryFiles(copyOf(aged));
  const before = await late.list(PARTS);
  let looks = 0;
  const appearing: ObjectStore = {
    ...late,
    async list(beginning) {
      if (beginning === 'base-' && ++looks === 2) await baseAgo(whole, late, 0);
      return late.list(beginning);
    },
  };
  expect((await kept30(appearing))?.parts).toBe(0);
  for (const name of before) expect(await late.list(PARTS)).toContain(name);
});

test("nothing is deleted while a base can't be read, or without the setting", async () => {
  const path = folder();
  const store = directoryFiles(path);
  const oldest = await baseAgo(third, store, 90);
  await baseAgo(whole, store, 0);
  const before = await store.list('');
  expect(await retain({ store, keepDays: null, now: NOW, signal })).toBeNull();
  expect(await store.list('')).toEqual(before);
  writeFileSync(join(path, oldest.name), 'nothing');
  expect(await kept30(store)).toBeNull();
  writeFileSync(join(path, oldest.name), await packManifest({ ...oldest.manifest, format: 9 as 1 }));
  expect(await kept30(store)).toBeNull();
  expect(await store.list('')).toEqual(before);
});

test('a retention that is killed between any two requests leaves an archive that can be restored', async () => {
  const prepared = copyOf(aged);
  await baseAgo(whole, directoryFiles(prepared), 0);
  for (let limit = 1; ; limit += 7) {
    const store = directoryFiles(copyOf(prepared));
    let changes = 0;
    const dying: ObjectStore = { ...store };
    for (const change of ['remove', 'write'] as const) {
      dying[change] = (async (...args: [string, Uint8Array]) => {
        if (++changes > limit) throw new Error('killed');
        return (store[change] as (...args: [string, Uint8Array]) => Promise<unknown>)(...args);
      }) as never;
    }
    const isDone = await kept30(dying).then(
      () => true,
      () => false,
    );
    await requireRestorable(store);
    expect(await faultsIn(store)).toEqual([]);
    if (isDone) break;
    await kept30(store);
    expect(await names(store)).toHaveLength(1);
  }
});
