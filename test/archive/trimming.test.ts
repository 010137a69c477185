/** The journal is trimmed below what the archive has in sealed segments, as they are read back; the archive goes on after it. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentsOf, verifiedArchive } from '../../src/archive/archive.ts';
import { sealedUpTo } from '../../src/archive/entries.ts';
import { type SegmentRange, segmentName } from '../../src/archive/segment.ts';
import { newPrivateKey, signerOf } from '../../src/archive/signing.ts';
import { PassingError } from '../../src/base/errors.ts';
import { archiveHolding } from '../../src/commands/serve/archive-holding.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { directoryFiles } from '../../src/places/directory.ts';
import type { Place } from '../../src/places/files.ts';
import { dataStateOf } from '../../src/store/files/data-state.ts';
import { trimmedIn } from '../../src/store/files/journal.ts';
import { type RetentionEvent, startRetention } from '../../src/store/ingest/retention.ts';
import { archive, archiverOf, refusal, restoredFrom } from '../support/data/archive.ts';
import { imagesAtCommits } from '../support/data/crash-image.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { logWithCommands } from '../support/data/log-with-commands.ts';
import { journalRows, wholeIndex } from '../support/data/tables.ts';
import { manualClock } from '../support/time/manual-clock.ts';

const chain = [...devnetEvents({ seed: 9, blocks: 24, transactionsPerBlock: 1, forkEvery: 5, forkDepth: 2 })];
const all = chain.map(received);
const events = all.slice(0, -30);
const later = all.slice(-30);
const BLOCKS = 6;
const BATCH = 5;
const MINUTE = 60_000;

const filled = ingestOf(events);
const archived = dataDirectory();
const made: DataDirectory[] = [filled, archived];
afterAll(() => {
  for (const directory of made) directory[Symbol.dispose]();
});
await archive(filled.path, directoryFiles(join(archived.path, 'archive')));
const folder = (): string => {
  const directory = dataDirectory();
  made.push(directory);
  return directory.path;
};

let path = '';
let at = '';
let place: Place;
let segments: SegmentRange[];
beforeEach(async () => {
  path = folder();
  cpSync(filled.path, path, { recursive: true });
  at = join(folder(), 'archive');
  cpSync(join(archived.path, 'archive'), at, { recursive: true });
  place = directoryFiles(at);
  ({ segments } = await contentsOf(place));
});

interface Trimming {
  /** Called before each tick with its number. */
  before?: (tick: number) => Promise<void> | void;
  ticks?: number;
  place?: Place;
  /** Milliseconds of the monotonic clock from one tick to the next. */
  step?: number;
}

/** Trims, and lets each reading of the archive end before the next batch. @returns what was said */
async function trim({ before = () => {}, ticks = 60, place: from = place, step = 1_000 }: Trimming = {}) {
  const said: RetentionEvent[] = [];
  const clock = manualClock();
  let now = 0;
  let reading: Promise<unknown> = Promise.resolve();
  const holder = archiveHolding(
    {
      location: at,
      sealedUpTo(first, last) {
        const read = sealedUpTo(from, () => false, first, last);
        reading = read.catch(() => {});
        return read;
      },
    },
    { monotonic: () => now },
  );
  const stop = startRetention({
    ...{ directory: path, days: 0, archive: holder, blocks: BLOCKS },
    ...{ batch: { entries: BATCH, bytes: 1e9 }, log: (event) => said.push(event), now: () => 2e12, every: clock.every },
  });
  for (let tick = 0; tick < ticks; tick++) {
    await before(tick);
    now += step;
    clock.tick();
    await reading;
  }
  stop();
  return said;
}

/** The last entry that forks don't need, by batches. */
function wholly(): number {
  const other = folder();
  cpSync(filled.path, other, { recursive: true });
  const { position } = dataStateOf(other);
  const clock = manualClock();
  const stop = startRetention({
    ...{ directory: other, days: 0, archive: { location: 'elsewhere', held: () => position }, blocks: BLOCKS },
    ...{ batch: { entries: BATCH, bytes: 1e9 }, log: () => {}, now: () => 2e12, every: clock.every },
  });
  for (let tick = 0; tick < 60; tick++) clock.tick();
  stop();
  return trimmedIn(other);
}
const ALL = wholly();

test('what sealed segments have is removed in batches, and what forks may need stays', async () => {
  const before = journalRows(path);
  expect(await trim()).toEqual([{ event: 'journal_trimmed', entries: ALL, up_to: ALL, archive: at }]);
  expect(ALL).toBeGreaterThan(3 * BATCH);
  expect(journalRows(path)).toEqual(before.slice(ALL));
});

test('no more is removed than the sealed segments have: an open part may be replaced', async () => {
  const beyond = segments.find(({ last }) => last > 22)!;
  for (const range of segments.filter(({ first }) => first >= beyond.first)) rmSync(join(at, segmentName(range)));
  await trim();
  expect(trimmedIn(path)).toBe(Math.floor((beyond.first - 1) / BATCH) * BATCH);
});

describe('nothing more is removed, and it is said why:', () => {
  const reasons = (said: readonly RetentionEvent[]): string[] =>
    said.flatMap((event) => (event.event === 'journal_not_trimmed' ? [event.reason] : []));

  test('the archive is of another log', async () => {
    const other = ingestOf(events.map((event) => ({ ...event, receivedAt: event.receivedAt + 1 })));
    made.push(other);
    rmSync(at, { recursive: true });
    await archive(other.path, place);
    const [reason, ...others] = reasons(await trim());
    expect(reason).toMatch(new RegExp(`^the archive at ${at} is of another log: its entry \\d+ is another$`));
    expect([others, trimmedIn(path)]).toEqual([[], 0]);
  });

  test('there is none', async () => {
    rmSync(at, { recursive: true });
    expect(reasons(await trim())).toEqual([`There is no archive at ${at}: it has no archive.json.`]);
    expect(trimmedIn(path)).toBe(0);
  });

  test('it is public, and withholds private commands that the journal has', async () => {
    const log = await logWithCommands(chain);
    made.push(log);
    path = log.path;
    rmSync(at, { recursive: true });
    await archive(path, place, 'one', { signer: signerOf(newPrivateKey()) });
    const [reason = '', ...others] = reasons(await trim());
    const [, entry] =
      /^The archive at \S+ is public, and withholds .* that is entry (\d+) of the log\.$/.exec(reason) ?? [];
    expect(others).toEqual([]);
    expect(trimmedIn(path)).toBeLessThan(Number(entry));
  });

  test('it is emptied later', async () => {
    const said = await trim({
      step: MINUTE / 2,
      before(tick) {
        if (tick === 4) rmSync(at, { recursive: true });
      },
    });
    expect(reasons(said)).toEqual([`There is no archive at ${at}: it has no archive.json.`]);
    expect(trimmedIn(path)).toBeWithin(1, ALL);
  });

  test('it loses a segment below what was trimmed', async () => {
    const [first, second] = segments;
    const said = await trim({
      step: MINUTE / 2,
      before() {
        if (trimmedIn(path) >= first!.last) rmSync(join(at, segmentName(first!)), { force: true });
      },
    });
    expect(reasons(said).join()).toContain(`which come before ${segmentName(second!)}`);
    expect(trimmedIn(path)).toBeWithin(first!.last, ALL - 1);
  });

  test('a segment is rotten', async () => {
    const rotten = segments.find(({ first }) => first > 2 * BATCH)!;
    const file = join(at, segmentName(rotten));
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(7, bytes.length >> 1));
    expect(reasons(await trim()).join()).toContain(`${segmentName(rotten)} is no sound segment`);
    expect(trimmedIn(path)).toBeWithin(1, rotten.first);
  });

  test('it is away, until it can be read again', async () => {
    let isAway = true;
    const away: Place = {
      ...place,
      list: (text) => (isAway ? Promise.reject(new PassingError(`${at} is away.`, 'Wait.')) : place.list(text)),
    };
    const said = await trim({
      place: away,
      step: MINUTE / 2,
      before(tick) {
        if (tick < 10) expect(trimmedIn(path)).toBe(0);
        else isAway = false;
      },
    });
    expect(reasons(said)).toEqual([`${at} is away.`]);
    expect(trimmedIn(path)).toBe(ALL);
  });
});

test('a slow archive holds up no batch of other work: what it has is known later', async () => {
  const asked: number[] = [];
  const never: Place = { ...place, list: () => new Promise(() => {}) };
  const holder = archiveHolding(
    {
      location: at,
      sealedUpTo(first, last) {
        asked.push(last);
        return sealedUpTo(never, () => false, first, last);
      },
    },
    { monotonic: () => 0 },
  );
  for (let call = 0; call < 5; call++) expect(holder.held(1, 5)).toBe('reading');
  expect(asked).toEqual([5]);
});

test('the archive goes on after the journal was trimmed, and is restored whole', async () => {
  await trim();
  {
    using open = openAt(path);
    for (const event of later) open.ingest.apply(event);
    open.ingest.commit();
  }
  await archive(path, place);
  await archive(path, place, 'another');
  for await (const { fault } of verifiedArchive(place)) expect(fault).toBeNull();
  using fed = ingestOf(all);
  using restored = dataDirectory();
  const last = await restoredFrom(place, join(restored.path, 'data'));
  expect(last).toBe(dataStateOf(path).position.id);
  expect(wholeIndex(join(restored.path, 'data'))).toEqual(wholeIndex(fed.path));
  expect(wholeIndex(path)).toEqual(wholeIndex(fed.path));
});

test('an emptied archive gets nothing of a trimmed journal, by name', async () => {
  await trim();
  rmSync(at, { recursive: true });
  using archiver = archiverOf(path, place);
  expect(await refusal(archiver.round())).toBe(`The journal lacks entry 1, and so does the archive at ${at}.`);
});

test('whatever the moment of a crash, the archive has what the journal lacks', async () => {
  const images = await imagesAtCommits(path, () => trim({ ticks: 8 }));
  expect(images.length).toBeGreaterThan(5);
  for (const image of images) {
    using _ = image;
    openAt(image.path)[Symbol.dispose]();
    const lacked = trimmedIn(image.path);
    const { last } = (await contentsOf(place)).segments.at(-1)!;
    expect(last).toBeGreaterThanOrEqual(lacked);
    expect(journalRows(image.path)[0]!.id).toBe(lacked + 1);
  }
});
