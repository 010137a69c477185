/**
 * Timelines of an archive: a log that was restored to an earlier entry goes on beside what is there, and each timeline can be
 * restored to any of its entries.
 */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chosenTimeline, contentsOf, endOf, timelinesIn, verifiedArchive } from '../../src/archive/archive.ts';
import { verifiedBases } from '../../src/archive/base-verify.ts';
import { openName, segmentName } from '../../src/archive/segment.ts';
import { originName, timelineName } from '../../src/archive/timeline.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { directoryFiles } from '../../src/places/directory.ts';
import type { Place } from '../../src/places/files.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { leaveIn } from '../../src/store/ingest/timelines.ts';
import { archive, archiverOf, baseIn, refusal, restoredFrom } from '../support/data/archive.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { everything, journalRows } from '../support/data/tables.ts';
import { timeout } from '../support/property.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';

const events = [...devnetEvents({ seed: 6, blocks: 12, transactionsPerBlock: 2 })].map(received);
const made: DataDirectory[] = [];
afterAll(() => {
  for (const directory of made) directory[Symbol.dispose]();
});
const kept = (directory: DataDirectory): string => {
  made.push(directory);
  return directory.path;
};
const folder = (): string => join(kept(dataDirectory()), 'new');
const source = kept(ingestOf(events));
const all = journalRows(source).length;

let path = '';
let place: Place;
beforeEach(() => {
  path = folder();
  place = directoryFiles(path);
});

/** All objects with their bytes. */
const objects = (): Map<string, string> =>
  new Map(readdirSync(path).map((name) => [name, readFileSync(join(path, name)).toString('hex')]));

/** Goes on with events as a node would post them, at another time than before. */
function goOn(directory: string, later: readonly ReceivedEvent[], by = 1): void {
  using open = openAt(directory);
  for (const event of later) open.ingest.apply({ ...event, receivedAt: event.receivedAt + by });
  open.ingest.commit();
}

/** Name of the timeline that begins with an entry of a directory. */
function timelineAt(directory: string, entry: number): string {
  const journal = openJournalReader(directory);
  try {
    return timelineName(journal.read(entry)!);
  } finally {
    journal.close();
  }
}

/** Restores up to an entry, and goes on. @returns the directory, and the name of its timeline */
async function branch(until: number, { timeline = null as string | null, events: more = 4, by = 1 } = {}) {
  const directory = folder();
  expect(await restoredFrom(place, directory, { until: { entry: until }, timeline })).toBe(until + 1);
  const known = journalRows(directory).filter(({ path: at }) => at !== '/stackside/command').length;
  goOn(directory, events.slice(known, known + more), by);
  return { directory, name: timelineAt(directory, until + 1) };
}

async function faults(): Promise<string[]> {
  const found: string[] = [];
  for await (const { fault } of verifiedArchive(place)) if (fault !== null) found.push(fault);
  return found;
}

/** Requires that a timeline, the newest one by default, is restored as the directory is. */
async function expectRestored(directory: string, timeline: string | null = null): Promise<void> {
  const into = folder();
  await restoredFrom(place, into, { timeline });
  expect(everything(into)).toEqual(everything(directory));
}

/** The ends of the segments of the first timeline. */
const sealedEnds = async (): Promise<number[]> => (await contentsOf(place)).segments.map(({ last }) => last);

test('a writer whose list lacks a segment that a timeline shares seals it again, and both are the same to a reader', async () => {
  await archive(source, place);
  const [first = 0, second = 0] = await sealedEnds();
  const { directory, name } = await branch(second + 2);
  await archive(directory, place);
  const stale = async (beginning: string): Promise<string[]> =>
    (await place.list(beginning)).filter((found) => !found.startsWith('segment-000000000001-'));
  await archive(directory, { ...place, list: stale }, 'two');
  const { timelines } = await timelinesIn(place);
  expect(timelines.map((timeline) => timeline.name)).toEqual(['first', name]);
  expect(
    readdirSync(path).filter((found) => found.includes(`-segment-000000000001-${String(first).padStart(12, '0')}-`)),
  ).toHaveLength(1);
  expect(await faults()).toEqual([]);
  await expectRestored(directory);
});

test('a restore begins with a base of its own timeline, and each timeline has bases', async () => {
  await archive(source, place);
  const [, second = 0] = await sealedEnds();
  await baseIn(source, place);
  const { directory, name } = await branch(second + 2);
  await archive(directory, place, 'two');
  const skipped: string[] = [];
  const into = folder();
  await restoredFrom(place, into, { skipped: (_, why) => skipped.push(why) });
  expect(skipped.length).toBe(1);
  expect(everything(into)).toEqual(everything(directory));
  const own = await baseIn(directory, place);
  const loaded: string[] = [];
  const again = folder();
  await restoredFrom(place, again, { loading: ({ name: base }) => loaded.push(base) });
  expect([...new Set(loaded)]).toEqual([own!.name]);
  expect(everything(again)).toEqual(everything(directory));
  const first = folder();
  await restoredFrom(place, first, { timeline: 'first' });
  expect(everything(first)).toEqual(everything(source));
  expect(timelineAt(again, second + 3)).toBe(name);
  for await (const { fault } of verifiedBases(place)) expect(fault).toBeNull();
  expect(await faults()).toEqual([]);
});

test(
  'a log that was restored to an earlier entry goes on beside the other, wherever it leaves it',
  async () => {
    await archive(source, place);
    const [, second = 0, third = 0] = await sealedEnds();
    // In the middle of a segment, at its end, after its first entry, in the open part, and at the end of all.
    const ends = [third - 2, second, second + 1, all - 1, all];
    let last = '';
    for (const until of ends) {
      const before = objects();
      const { directory, name } = await branch(until, { timeline: 'first', by: until });
      await archive(directory, place, 'two');
      const after = objects();
      for (const [object, bytes] of before) expect(after.get(object)).toBe(bytes);
      const added = [...after.keys()].filter((object) => !before.has(object));
      expect(added.every((object) => object.startsWith(`timeline-${name}`))).toBe(true);
      expect(await faults()).toEqual([]);
      await expectRestored(directory);
      last = directory;
    }
    await expectRestored(source, 'first');
    expect(checkAndRecount(last, { deep: silentMachine }).filter(({ problems }) => problems.length > 0)).toEqual([]);
    const { timelines } = await timelinesIn(place);
    expect(timelines.map(({ origin }) => origin?.left.id ?? 0)).toEqual([0, ...ends]);
  },
  timeout,
);

test('two restores to one entry are two timelines, and a timeline may leave another', async () => {
  await archive(source, place);
  const [first = 0] = await sealedEnds();
  const one = await branch(first + 2, { events: 12 });
  await archive(one.directory, place);
  const two = await branch(first + 2, { timeline: 'first', by: 2 });
  await archive(two.directory, place);
  expect(two.name).not.toBe(one.name);
  const child = await branch(first + 6, { timeline: one.name, by: 3 });
  await archive(child.directory, place);
  const { timelines } = await timelinesIn(place);
  expect(timelines.map(({ name, origin }) => [name, origin?.parent ?? null])).toEqual([
    ['first', null],
    [one.name, 'first'],
    [two.name, 'first'],
    [child.name, one.name],
  ]);
  expect(await faults()).toEqual([]);
  for (const { directory, name } of [one, two, child]) await expectRestored(directory, name);
  await expectRestored(child.directory);
  // An entry that a timeline shares with the one before is left there.
  const shared = await branch(first + 1, { timeline: child.name, by: 4 });
  await archive(shared.directory, place);
  expect((await chosenTimeline(place, shared.name)).origin?.parent).toBe('first');
});

test('each host goes on with its own timeline, also the old machine that comes back', async () => {
  const half = kept(ingestOf(events.slice(0, 20)));
  await archive(half, place);
  const { directory, name } = await branch(15);
  using two = archiverOf(directory, place);
  await two.round('one');
  const ofTimeline = [...objects()].filter(([object]) => object.startsWith('timeline-'));
  goOn(half, events.slice(20), 0);
  await archive(half, place);
  for (const [object, bytes] of ofTimeline) expect(objects().get(object)).toBe(bytes);
  goOn(directory, events.slice(18, 30), 1);
  await two.round('one');
  await archive(directory, place, 'three');
  expect(await faults()).toEqual([]);
  await expectRestored(half, 'first');
  await expectRestored(directory, name);
  expect((await endOf(place)).part?.name).toBe(openName('one', null));
  const { open } = await contentsOf(place, await chosenTimeline(place, null));
  expect(open.every((one) => one.startsWith(`timeline-${name}-open-`))).toBe(true);
});

test('two hosts of a timeline make the same objects, also where both begin it', async () => {
  await archive(source, place);
  const { directory } = await branch(17, { events: 15 });
  // The second one listed the archive before the first one wrote.
  const before = await place.list('');
  let lists = 0;
  const late: Place = {
    ...place,
    list: async (text) => (++lists <= 3 ? before.filter((name) => name.startsWith(text)) : place.list(text)),
  };
  await archive(directory, place);
  const whole = objects();
  using second = archiverOf(directory, late);
  await second.round('one');
  expect(objects()).toEqual(whole);
});

test('a list that is too old hides nothing that the timeline before would lose', async () => {
  const half = kept(ingestOf(events.slice(0, 20)));
  await archive(half, place);
  const { directory, name } = await branch(18);
  const before = objects();
  const stale: Place = {
    ...place,
    list: async (text) => (await place.list(text)).filter((object) => !object.startsWith('open-')),
  };
  for (const host of ['one', 'two']) {
    using archiver = archiverOf(directory, stale);
    await archiver.round(host);
  }
  for (const [object, bytes] of before) expect(objects().get(object)).toBe(bytes);
  expect(await place.list('open-')).toEqual([openName('one', null)]);
  expect(await faults()).toEqual([]);
  await expectRestored(half, 'first');
  await expectRestored(directory, name);
});

test('a log that began two timelines before it is archived leaves both', async () => {
  await archive(source, place);
  const [one, two] = [await branch(10, { events: 8 }), folder()];
  const elsewhere = directoryFiles(folder());
  await archive(one.directory, elsewhere);
  await restoredFrom(elsewhere, two, { until: { entry: 15 } });
  goOn(two, events.slice(14, 20), 3);
  await archive(two, place);
  const { timelines } = await timelinesIn(place);
  expect(timelines.map(({ origin }) => [origin?.parent, origin?.left.id])).toEqual([
    [undefined, undefined],
    ['first', 10],
    [one.name, 15],
  ]);
  expect(await faults()).toEqual([]);
  await expectRestored(two);
});

test('a restore that ends before the archive, and is stopped anywhere, begins one timeline', async () => {
  await archive(source, place);
  const into = folder();
  const { segments } = await contentsOf(place);
  const until = { entry: segments[4]!.last - 1 };
  for (let most = 0; most <= 5; most++) {
    let reads = 0;
    const stopping: Place = {
      ...place,
      async read(name, bounds) {
        if (name.startsWith('segment-') && ++reads > most) throw new OperatorError('The place is away.', '');
        return place.read(name, bounds);
      },
    };
    await refusal(restoredFrom(stopping, into, { until, making: () => {} })).catch(() => {});
  }
  // It is stopped after the timeline began, before the files are in their place.
  const ended = folder();
  const making = () => {
    throw new OperatorError('The disk is full.', '');
  };
  expect(await refusal(restoredFrom(place, ended, { until, making }))).toBe('The disk is full.');
  expect(await restoredFrom(place, ended, { until })).toBe(until.entry + 1);
  for (const directory of [into, ended]) {
    const rows = journalRows(directory);
    expect(rows.slice(0, -1)).toEqual(journalRows(source).slice(0, until.entry));
    expect(rows).toHaveLength(until.entry + 1);
  }
});

test('a timeline is never older than the one that it leaves, whatever the clock says', async () => {
  await archive(source, place);
  const directory = folder();
  await restoredFrom(place, directory, { until: { entry: 12 }, now: () => 0 });
  const [before, begins] = journalRows(directory).slice(-2);
  expect(begins?.receivedAt).toBe(before?.receivedAt);
  await archive(directory, place);
  expect((await chosenTimeline(place, null)).name).toBe(timelineAt(directory, 13));
});

describe('nothing is written, and by name it says why:', () => {
  async function refused(directory: string): Promise<string> {
    const before = objects();
    using archiver = archiverOf(directory, place);
    const said = await refusal(archiver.round());
    expect(objects()).toEqual(before);
    return said;
  }

  test('the log went another way before it began a timeline', async () => {
    await archive(source, place);
    const other = folder();
    const elsewhere = directoryFiles(folder());
    const away = kept(ingestOf(events.slice(0, 10)));
    goOn(away, events.slice(10, 30), 5);
    await archive(away, elsewhere);
    await restoredFrom(elsewhere, other, { until: { entry: 20 } });
    expect(await refused(other)).toMatch(/ is of another log: segment-\S+ /);
  });

  test('the log may be on a timeline that is damaged', async () => {
    await archive(source, place);
    const { directory, name } = await branch(12);
    await archive(directory, place);
    writeFileSync(join(path, originName(name)), '{}');
    expect(await refused(directory)).toContain(`${originName(name)} doesn't say where the timeline leaves another`);
    // The first one goes on.
    await archive(source, place);
  });
});

describe('a timeline that is damaged is found by verify, and not restored:', () => {
  let one: { directory: string; name: string };
  let child: { directory: string; name: string };
  beforeEach(async () => {
    await archive(source, place);
    one = await branch(12, { events: 20 });
    await archive(one.directory, place);
    child = await branch(24, { timeline: one.name, by: 2 });
    await archive(child.directory, place);
  });

  /** What is wrong, by verify and by a restore of the timeline. */
  async function said(timeline: string): Promise<string> {
    const message = await refusal(restoredFrom(place, folder(), { timeline }));
    const fault = message.replace(/^The archive at \S+ is damaged: |\.$/g, '');
    expect(await faults()).toContain(fault);
    return fault;
  }
  const write = (name: string, change: (origin: { begins: object }) => void): void => {
    const origin = JSON.parse(readFileSync(join(path, name), 'utf8'));
    change(origin);
    writeFileSync(join(path, name), JSON.stringify(origin));
  };

  test('where it leaves another is not known', async () => {
    rmSync(join(path, originName(one.name)));
    expect(await said(one.name)).toBe(`it has objects of the timeline ${one.name}, but lacks ${originName(one.name)}`);
    expect(await said(child.name)).toBe(`it lacks the timeline ${one.name}, which the timeline ${child.name} leaves`);
    expect(await refusal(restoredFrom(place, folder()))).toContain('So it is open which timeline is the newest.');
    await expectRestored(source, 'first');
  });

  test('it says that it leaves another entry, or began at another time', async () => {
    const lies: ((origin: { begins: object }) => void)[] = [
      (origin) => Object.assign(origin, { entry: 11 }),
      (origin) => Object.assign(origin, { chain: '00'.repeat(32) }),
      (origin) => Object.assign(origin.begins, { received_at: 1 }),
    ];
    const whole = readFileSync(join(path, originName(one.name)));
    for (const lie of lies) {
      write(originName(one.name), lie);
      expect(await said(one.name)).toBe(`${originName(one.name)} is of another timeline, or names another entry`);
    }
    writeFileSync(join(path, originName(one.name)), whole);
    expect(await faults()).toEqual([]);
  });

  test('two are swapped', async () => {
    renameSync(join(path, originName(child.name)), join(path, 'aside'));
    renameSync(join(path, originName(one.name)), join(path, originName(child.name)));
    renameSync(join(path, 'aside'), join(path, originName(one.name)));
    expect(await said(one.name)).toEndWith('is of another timeline, or names another entry');
    expect(await said(child.name)).toEndWith('is of another timeline, or names another entry');
  });

  test('it says that it leaves another timeline than it does', async () => {
    write(originName(child.name), (origin) => Object.assign(origin, { parent: 'first' }));
    const name = originName(child.name);
    const fault = `${name} is of another log: the timeline first has another entry 24 than it says`;
    expect(await faults()).toContain(fault);
    expect(await said(child.name)).toContain('is of another log: ');
    write(name, (origin) => Object.assign(origin, { parent: child.name }));
    expect(await said(child.name)).toBe(`it lacks the timeline ${child.name}, which the timeline ${child.name} leaves`);
  });

  test('it says that its segments begin elsewhere', async () => {
    write(originName(one.name), (origin) => Object.assign(origin, { first: 1 }));
    expect(await said(one.name)).toMatch(/^it lacks entries 1 to \d+, which come before timeline-/);
    write(originName(one.name), (origin) => Object.assign(origin, { first: 14 }));
    expect(await said(one.name)).toContain('after its own first one');
  });

  test('a segment is of another timeline', async () => {
    const other = await branch(12, { timeline: 'first', events: 20 });
    await archive(other.directory, place);
    const { segments } = await contentsOf(place, await chosenTimeline(place, other.name));
    const [foreign] = segments.filter(({ timeline }) => timeline === other.name);
    const own = (await contentsOf(place, await chosenTimeline(place, one.name))).segments;
    const [replaced] = own.filter(({ timeline }) => timeline === one.name);
    rmSync(join(path, segmentName(replaced!)));
    const name = segmentName({ ...foreign!, timeline: one.name });
    writeFileSync(join(path, name), readFileSync(join(path, segmentName(foreign!))));
    expect(await said(one.name)).toBe(`${name} is of another timeline: its entry 13 is another`);
  });

  test('a segment that it shares is missing', async () => {
    const [shared] = (await contentsOf(place)).segments;
    rmSync(join(path, segmentName(shared!)));
    expect(await said(one.name)).toMatch(/^it lacks entries 1 to \d+, which come before /);
  });

  test('no timeline has the name, and an entry that none has is refused', async () => {
    const unknown = `000000000013-${'ab'.repeat(32)}`;
    expect(await refusal(restoredFrom(place, folder(), { timeline: unknown }))).toContain(
      `has no timeline ${unknown}.`,
    );
    const { last, part } = await endOf(place, await chosenTimeline(place, one.name));
    const end = part?.last ?? last.id;
    const beyond = restoredFrom(place, folder(), { timeline: one.name, until: { entry: end + 1 } });
    expect(await refusal(beyond)).toContain(`ends with entry ${end}, before entry ${end + 1}`);
  });
});

test('a timeline that has no entries yet is not the newest, and one that leaves the first block is none', async () => {
  await archive(source, place);
  const { directory, name } = await branch(12);
  const dying: Place = {
    ...place,
    write: () => Promise.reject(new OperatorError('The place is away.', '')),
    create: async (object, bytes) => {
      if (object.endsWith('.json')) return place.create(object, bytes);
      throw new OperatorError('The place is away.', '');
    },
  };
  expect(await refusal(archive(directory, dying))).toBe('The place is away.');
  expect((await place.list('timeline-')).length).toBe(1);
  expect((await chosenTimeline(place, null)).name).toBe('first');
  expect(await faults()).toEqual([]);
  await archive(directory, place);
  expect((await chosenTimeline(place, null)).name).toBe(name);
  const nothing = folder();
  expect(await restoredFrom(place, nothing, { timeline: 'first', until: { time: 0 } })).toBe(0);
  const journal = openJournalReader(directory);
  expect(leaveIn(journal.read(13)!)).toMatchObject({ entry: 12 });
  journal.close();
});
