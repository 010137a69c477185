/** Objects that retention deletes from an archive, and restores after that. */
import { afterAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifiedArchive } from '../../src/archive/archive.ts';
import { basesOf, PARTS, packedManifest, partName } from '../../src/archive/base.ts';
import { verifiedBases } from '../../src/archive/base-verify.ts';
import type { MadeBase } from '../../src/archive/base-writer.ts';
import { type Retained, retain } from '../../src/archive/retention.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { directoryFiles } from '../../src/storage/directory.ts';
import type { Place } from '../../src/storage/object-store.ts';
import { archive, baseIn, refusal, restoredFrom } from '../support/data/archive.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { wholeIndex } from '../support/data/tables.ts';
import { impatientClock } from '../support/time/impatient-clock.ts';

const DAY = 86_400_000;
const NOW = 1_900_000_000_000;
const events = [...devnetEvents({ seed: 5, blocks: 24, transactionsPerBlock: 3, forkEvery: 8, forkDepth: 2 })].map(
  received,
);
const made: DataDirectory[] = [];
const kept = (directory: DataDirectory): string => {
  made.push(directory);
  return directory.path;
};
const folder = (): string => join(kept(dataDirectory()), 'new');
afterAll(() => {
  for (const directory of made) directory[Symbol.dispose]();
});
/** The journal after one third, two thirds, and all of its events. */
const [third, half, whole] = [1, 2, 3].map((part) => kept(ingestOf(events.slice(0, (part * events.length) / 3)))) as [
  string,
  string,
  string,
];

/** Archives a directory and makes a snapshot of it, dated this number of days ago. */
async function baseAgo(directory: string, place: Place, days: number): Promise<MadeBase> {
  await archive(directory, place);
  const base = await baseIn(directory, place, { clock: { ...impatientClock, now: () => NOW - days * DAY } });
  if (base === null) throw new Error('there was a base');
  return base;
}

const signal = new AbortController().signal;
const kept30 = (place: Place): Promise<Retained | null> => retain({ place, keepDays: 30, now: NOW, signal });
const names = async (place: Place): Promise<string[]> => (await basesOf(place)).map(({ name }) => name);

async function faults(place: Place): Promise<(string | null)[]> {
  const found: (string | null)[] = [];
  for await (const { fault } of verifiedArchive(place)) found.push(fault);
  for await (const { fault } of verifiedBases(place)) found.push(fault);
  return found.filter((fault) => fault !== null);
}

async function requireRestorable(place: Place, options = {}): Promise<string> {
  const into = folder();
  await restoredFrom(place, into, options);
  expect(wholeIndex(into)).toEqual(wholeIndex(whole));
  return into;
}

test('old bases are deleted except the newest, and parts are deleted after two rounds without use', async () => {
  const place = directoryFiles(folder());
  const one = await baseAgo(third, place, 90);
  expect(await kept30(place)).toEqual({ bases: 0, parts: 0 });
  const two = await baseAgo(half, place, 60);
  const before = await place.list(PARTS);
  expect(await kept30(place)).toMatchObject({ bases: 1, parts: 0 });
  expect([await names(place), await place.list(PARTS)]).toEqual([[two.name], before]);
  const three = await baseAgo(whole, place, 0);
  const retained = await kept30(place);
  expect(retained?.bases).toBe(1);
  expect(retained?.parts).toBeGreaterThan(0);
  expect(await names(place)).toEqual([three.name]);
  // The parts that only the second snapshot needs were still in use at the last look.
  const [ofOne, ofTwo, ofThree] = [one, two, three].map(
    ({ manifest }) => new Set(manifest.tables.flatMap(({ parts }) => parts.map(({ sha256 }) => partName(sha256)))),
  ) as [Set<string>, Set<string>, Set<string>];
  const left = new Set(await place.list(PARTS));
  expect(ofTwo.difference(left).size).toBe(0);
  expect(ofOne.difference(ofTwo).difference(ofThree).intersection(left).size).toBe(0);
  await kept30(place);
  expect(new Set(await place.list(PARTS))).toEqual(ofThree);
  expect(await faults(place)).toEqual([]);
  await requireRestorable(place);
});

test('an unneeded part is sent again by a base that needs it, and stays', async () => {
  const place = directoryFiles(folder());
  await baseAgo(third, place, 90);
  await baseAgo(half, place, 60);
  await kept30(place);
  const created: string[] = [];
  const noting: Place = {
    ...place,
    create(name, bytes) {
      created.push(name);
      return place.create(name, bytes);
    },
  };
  const again = (await baseIn(third, noting, { clock: { ...impatientClock, now: () => NOW - 40 * DAY } }))!;
  const unneeded = JSON.parse(
    Buffer.from((await place.read('unneeded.json', { least: 1, most: 1e6 }))!).toString(),
  ) as { parts: string[] };
  const needed = again.manifest.tables.flatMap(({ parts }) => parts.map(({ sha256 }) => partName(sha256)));
  const sent = unneeded.parts.filter((name) => needed.includes(name));
  expect(sent.length).toBeGreaterThan(0);
  expect(created).toEqual(expect.arrayContaining(sent));
  await kept30(place);
  expect(await faults(place)).toEqual([]);
});

test('parts that another host sends stay, and a base with deleted parts is not written', async () => {
  const place = directoryFiles(folder());
  await baseAgo(third, place, 90);
  await baseAgo(half, place, 60);
  await kept30(place);
  await archive(whole, place);
  // While a host without a lease makes a snapshot, another host deletes parts that the snapshot refers to.
  let isRemoved = false;
  const beside: Place = {
    ...place,
    async create(name, bytes) {
      const isNew = await place.create(name, bytes);
      if (isRemoved || !name.startsWith(PARTS)) return isNew;
      isRemoved = true;
      for (const part of await place.list(PARTS)) if (part !== name) await place.remove(part);
      return isNew;
    },
  };
  expect(await refusal(baseIn(whole, beside))).toContain('which it had at the start of the base');
  const sent = await baseIn(whole, place);
  expect(sent).not.toBeNull();
  const [newest] = await names(place);
  expect(newest).toBe(sent!.name);
  await requireRestorable(place);
  // A snapshot that appears during a retention run makes it keep everything.
  const late = directoryFiles(folder());
  await baseAgo(third, late, 90);
  await baseAgo(half, late, 60);
  await kept30(late);
  const before = await late.list(PARTS);
  let looks = 0;
  const appearing: Place = {
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
  const place = directoryFiles(path);
  const one = await baseAgo(third, place, 90);
  await baseAgo(whole, place, 0);
  const before = await place.list('');
  expect(await retain({ place, keepDays: null, now: NOW, signal })).toBeNull();
  expect(await place.list('')).toEqual(before);
  writeFileSync(join(path, one.name), 'nothing');
  expect(await kept30(place)).toBeNull();
  writeFileSync(join(path, one.name), await packedManifest({ ...one.manifest, format: 9 as 1 }));
  expect(await kept30(place)).toBeNull();
  expect(await place.list('')).toEqual(before);
});

test('a retention that is killed between any two requests leaves an archive that can be restored', async () => {
  for (let most = 1; ; most += 3) {
    const place = directoryFiles(folder());
    await baseAgo(third, place, 90);
    await baseAgo(half, place, 60);
    await kept30(place);
    await baseAgo(whole, place, 0);
    let changes = 0;
    const dying: Place = { ...place };
    for (const change of ['remove', 'write'] as const) {
      dying[change] = (async (...given: [string, Uint8Array]) => {
        if (++changes > most) throw new Error('killed');
        return (place[change] as (...given: [string, Uint8Array]) => Promise<unknown>)(...given);
      }) as never;
    }
    const isDone = await kept30(dying).then(
      () => true,
      () => false,
    );
    await requireRestorable(place);
    expect(await faults(place)).toEqual([]);
    if (isDone) break;
    await kept30(place);
    expect(await names(place)).toHaveLength(1);
  }
});
