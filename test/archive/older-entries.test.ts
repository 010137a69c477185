/** What a journal no longer has is read from the archive: each command does with it what it does with a whole journal. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentsOf } from '../../src/archive/archive.ts';
import { archivedEntries } from '../../src/archive/entries.ts';
import { SEGMENT, segmentName } from '../../src/archive/segment.ts';
import { newPrivateKey, signerOf } from '../../src/archive/signing.ts';
import { PassingError } from '../../src/base/errors.ts';
import { type AwaitedEntries, awaitedEntries } from '../../src/commands/data/archived-entries.ts';
import { runExport } from '../../src/commands/data/export.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { directoryFiles } from '../../src/places/directory.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { lastWithheldIn, openJournalReader, trimmedIn } from '../../src/store/files/journal.ts';
import { openJournalTrimming } from '../../src/store/files/journal-trim.ts';
import { lackedBy, withOlder } from '../../src/store/files/older-entries.ts';
import { rebuildIndex } from '../../src/store/ingest/rebuild.ts';
import type { Entry } from '../../src/store/log/entry.ts';
import { directHooks } from '../hooks/direct.ts';
import { definition, receiver } from '../hooks/server.ts';
import { archive, refusal, restoredFrom } from '../support/data/archive.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { wholeIndex } from '../support/data/tables.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';
import { until } from '../support/time/until.ts';

const events = [
  ...devnetEvents({ seed: 21, blocks: 30, accounts: 8, transactionsPerBlock: 2, forkEvery: 5, forkDepth: 3 }),
].map(received);

const made: DataDirectory[] = [];
afterAll(() => {
  for (const directory of made) directory[Symbol.dispose]();
});
const folder = (): string => {
  const directory = dataDirectory();
  made.push(directory);
  return directory.path;
};

/** A log with a backfill near its end, which reads blocks from its beginning, and events after it. */
async function logWithBackfill(): Promise<string> {
  const path = folder();
  await using hooks = directHooks({ directory: path });
  using target = receiver();
  for (const event of events.slice(0, -12)) hooks.ingest.receive(event);
  const uuid = await hooks.register(definition(target.url, [{ type: 'stx_transfer' }]));
  const job = await hooks.trial.backfill('default', uuid, { from: 0, to: undefined, dryRun: false } as never);
  const backfill = () => hooks.trial.getBackfill('default', uuid, job.id);
  await until(() => backfill().state === 'completed');
  expect(backfill().matched_blocks).toBeGreaterThan(10);
  for (const event of events.slice(-12)) hooks.ingest.receive(event);
  return path;
}

const source = await logWithBackfill();
const archived = join(folder(), 'archive');
await archive(source, directoryFiles(archived));
const wanted = wholeIndex(source);
const sealed = (await contentsOf(directoryFiles(archived))).segments;

let path = '';
let at = '';
/** Entries that are trimmed: in the middle of a segment. */
const TRIMMED = sealed.at(-2)!.last - 2;

function trim(directory: string, to = TRIMMED): string {
  const trimming = openJournalTrimming(directory);
  trimming.trimTo(to);
  trimming.close();
  return directory;
}

beforeEach(() => {
  path = folder();
  cpSync(source, path, { recursive: true });
  trim(path);
  at = join(folder(), 'archive');
  cpSync(archived, at, { recursive: true });
});

async function withOlderOf<T>(location: string, work: (older: AwaitedEntries) => T | Promise<T>): Promise<T> {
  await using older = awaitedEntries({ archive: location, data: path })!;
  return await work(older);
}

const rebuild = (location: string) =>
  withOlderOf(location, (older) =>
    rebuildIndex({ directory: path, chainId: null, machine: silentMachine, log: () => {}, force: false, older }),
  );

const problems = (location: string) =>
  withOlderOf(location, (older) =>
    checkAndRecount(path, { deep: silentMachine, older }).flatMap(({ problems: found }) => found),
  );

async function exported(directory: string, location: string | null): Promise<string> {
  const file = join(folder(), 'events.tsv');
  await runExport(directory, file, false, location);
  return readFileSync(file, 'utf8');
}

const entriesOf = (directory: string, location: string): Promise<Entry[]> =>
  withOlderOf(location, (older) => {
    const journal = openJournalReader(directory);
    try {
      return [...withOlder(journal, older).entriesAfter(0)];
    } finally {
      journal.close();
    }
  });

test('an entry that can’t be read now is read when it is asked for again', async () => {
  const place = directoryFiles(at);
  let attempts = 0;
  const entries = archivedEntries(
    {
      ...place,
      read(name, bounds) {
        attempts += 1;
        if (attempts % 3 === 0) throw new PassingError('the place is away', 'Try again.');
        return place.read(name, bounds);
      },
    },
    () => false,
  );
  const journal = openJournalReader(path);
  const lacked = lackedBy(journal)!;
  journal.close();
  const all = await entriesOf(source, at);
  const read: Entry[] = [];
  let refusals = 0;
  while (read.length < TRIMMED) {
    try {
      read.push(...(await entries.from(read.length + 1, lacked, SEGMENT)));
    } catch (error) {
      if (!(error instanceof PassingError)) throw error;
      refusals += 1;
    }
  }
  expect(read).toEqual(all.slice(0, TRIMMED));
  expect(refusals).toBeGreaterThan(0);
});

test('a segment is read once in a walk, and what is asked for again soon is in memory', async () => {
  const place = directoryFiles(at);
  const reads: string[] = [];
  const entries = archivedEntries(
    {
      ...place,
      read(name, bounds) {
        reads.push(name);
        return place.read(name, bounds);
      },
    },
    () => false,
  );
  const journal = openJournalReader(path);
  const lacked = lackedBy(journal)!;
  journal.close();
  let last = 0;
  while (last < TRIMMED) {
    const next = await entries.from(last + 1, lacked, { entries: 2, bytes: 1_000_000 });
    expect(next.length).toBeWithin(1, 3);
    last = next.at(-1)!.id;
  }
  expect(last).toBe(TRIMMED);
  const segments = reads.filter((name) => name.startsWith('segment'));
  // The last one is read first, since it proves that the archive is of the log.
  const names = sealed.map(segmentName).slice(0, -1);
  expect(segments).toEqual([names.at(-1)!, ...names]);
});

test('a log is longer than its journal, by several segments', () => {
  expect(trimmedIn(path)).toBe(TRIMMED);
  expect(sealed.length).toBeGreaterThan(8);
});

test('a rebuild makes the same tables, also of forks and of a backfill that reads the oldest blocks', async () => {
  rmSync(indexPath(path));
  await rebuild(at);
  expect(wholeIndex(path)).toEqual(wanted);
  expect(trimmedIn(path)).toBe(TRIMMED);
});

test('a deep check finds nothing, and what is wrong', async () => {
  expect(await problems(at)).toEqual([]);
  {
    using db = new Database(indexPath(path));
    db.run('UPDATE blocks SET burn_block_time = burn_block_time + 1 WHERE height = 3');
  }
  expect((await problems(at)).join()).toContain('differs in');
});

test('an export has the same bytes', async () => {
  expect(await exported(path, at)).toBe(await exported(source, null));
});

test('a journal that is trimmed during a walk is read on in the archive', async () => {
  const whole = folder();
  cpSync(source, whole, { recursive: true });
  const all = await entriesOf(source, at);
  await withOlderOf(at, (older) => {
    const journal = openJournalReader(whole);
    const ids: number[] = [];
    for (const { id } of withOlder(journal, older).entriesAfter(0)) {
      ids.push(id);
      if (id === 3 || id === 20) trim(whole, id + 9);
    }
    journal.close();
    expect(ids).toEqual(all.map(({ id }) => id));
  });
});

describe('refused, by name:', () => {
  /** What a rebuild, a deep check and an export say; nothing is changed. */
  async function said(location: string): Promise<string> {
    const before = wholeIndex(path);
    const rebuilt = await refusal(rebuild(location));
    expect(await refusal(problems(location))).toBe(rebuilt);
    expect(await refusal(exported(path, location))).toBe(rebuilt);
    expect(wholeIndex(path)).toEqual(before);
    return rebuilt;
  }

  test('without an archive, the first missing entry and the option', async () => {
    const options = { directory: path, chainId: null, machine: silentMachine, log: () => {}, force: false };
    const error = await Promise.try(rebuildIndex, options).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      message: `The journal in ${path} lacks the events from 1 to ${TRIMMED}: the index can't be built from it.`,
      remedy: expect.stringContaining('Name the archive of this data with --archive.'),
    });
    expect(() => checkAndRecount(path, { deep: silentMachine })).toThrow('lacks events');
  });

  test('a place without an archive', async () => {
    rmSync(at, { recursive: true });
    expect(await said(at)).toBe(`There is no archive at ${at}: it has no archive.json.`);
  });

  test('a location that is none, and one in the data directory', async () => {
    expect(await said('https://example.org/archive')).toContain('is not a location for an archive');
    expect(await said(join(path, 'archive'))).toContain('is inside the data directory');
  });

  test('a public archive, which withholds private commands that the journal had', async () => {
    const open = join(folder(), 'archive');
    await archive(source, directoryFiles(open), 'one', { signer: signerOf(newPrivateKey()) });
    expect(await said(open)).toMatch(
      /^The archive at \S+ is public, and withholds the private command that is entry \d+ of the log\.$/,
    );
    // A journal that withholds them itself lacks nothing more.
    path = join(folder(), 'new');
    await restoredFrom(directoryFiles(open), path);
    const before = wholeIndex(path);
    expect(lastWithheldIn(trim(path, sealed[1]!.last))).not.toBeNull();
    await rebuild(open);
    expect(wholeIndex(path)).toEqual(before);
  });

  test('an archive that ends too early', async () => {
    for (const range of sealed.slice(-4)) rmSync(join(at, segmentName(range)));
    const { last } = sealed.at(-5)!;
    expect(await said(at)).toBe(
      `The journal lacks the entries up to ${TRIMMED}, and the sealed segments of the archive at ${at} end with entry ${last}.`,
    );
  });

  test('the archive of another log', async () => {
    using other = ingestOf(events.map((event) => ({ ...event, receivedAt: event.receivedAt + 1 })));
    const foreign = join(folder(), 'archive');
    await archive(other.path, directoryFiles(foreign));
    expect(await said(foreign)).toBe(
      `The archive at ${foreign} is of another log: its entry ${TRIMMED} is another than that of the journal.`,
    );
  });

  test('a gap', async () => {
    const [, , , gone, next] = sealed;
    rmSync(join(at, segmentName(gone!)));
    expect(await said(at)).toMatch(
      new RegExp(`is damaged: it lacks entr.* ${gone!.first}.*, which come before ${segmentName(next!)}`),
    );
  });

  test('a rotten segment, and one with the content of another', async () => {
    const [name, other] = [segmentName(sealed[3]!), segmentName(sealed[4]!)];
    const bytes = readFileSync(join(at, name));
    writeFileSync(join(at, name), bytes.fill(7, bytes.length >> 1));
    expect(await said(at)).toContain(`${name} is no sound segment`);
    writeFileSync(join(at, name), readFileSync(join(at, other)));
    expect(await said(at)).toContain(`${name} is no sound segment: it is the segment of entries`);
  });

  test('what is read again once the archive is whole', async () => {
    const name = segmentName(sealed[3]!);
    renameSync(join(at, name), join(at, 'away'));
    await withOlderOf(at, async (older) => {
      const options = { directory: path, chainId: null, machine: silentMachine, log: () => {}, force: false, older };
      expect(await refusal(Promise.try(rebuildIndex, options))).toContain('it lacks entries');
      renameSync(join(at, 'away'), join(at, name));
      rebuildIndex(options);
    });
    expect(wholeIndex(path)).toEqual(wanted);
  });
});
