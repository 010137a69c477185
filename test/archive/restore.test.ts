/** Restoring an archive: to its last entry or an earlier one, and rejected archives. */
import { beforeAll, describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { verifySegments } from '../../src/archive/archive.ts';
import { IDENTITY } from '../../src/archive/archive-directory.ts';
import { openName, parseSegmentName, readSegment, segmentContent } from '../../src/archive/segment.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { compressPart, type ObjectStore } from '../../src/storage/object-store.ts';
import { journalPath } from '../../src/store/files/database.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { lastIdentityIn } from '../../src/store/ingest/log-identity.ts';
import { beginRebuild } from '../../src/store/ingest/rebuild.ts';
import { nextChain } from '../../src/store/log/entry.ts';
import { archive, archiverOf, DEVNET, refusal, restoredFrom } from '../support/data/archive.ts';
import { entryOf, ingestOf, OTHER_IDENTITY, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { everything, journalRows } from '../support/data/tables.ts';

const events = simulatedEvents({ seed: 8, blocks: 12, transactionsPerBlock: 2, forkEvery: 5, forkDepth: 2 });
const { keep, folder } = keepToEnd();
const source = keep(ingestOf(events));
const rows = journalRows(source);
const original = folder();
beforeAll(() => archive(source, directoryFiles(original)));

/** Returns the state after the first entries of the journal. */
const stateAt = (entry: number) =>
  everything(
    keep(
      ingestOf(
        rows.slice(entryOf(0), entry).map(({ id: _, ...event }) => event),
        { chainId: DEVNET },
      ),
    ),
  );

/**
 * Returns the state without the new identity that a restore to an earlier entry adds. `at` is the entry before the
 * identity.
 */
function restoredUntil(directory: string): { entry: number; state: ReturnType<typeof everything> } {
  const { index, journal } = everything(directory);
  const last = journal.pop()!;
  expect(lastIdentityIn([last])).toMatch(/^[0-9a-f]{32}$/);
  expect(lastIdentityIn([last])).not.toBe(lastIdentityIn(journal));
  return { entry: journal.length, state: { index: { ...index, progress: [] }, journal } };
}
const stateUntil = (entry: number): ReturnType<typeof everything> => {
  const { index, journal } = stateAt(entry);
  return { index: { ...index, progress: [] }, journal };
};

/** Returns a copy of the archive that a test can damage. */
function copy(): { path: string; store: ObjectStore; segments: string[] } {
  const path = folder();
  cpSync(original, path, { recursive: true });
  return {
    path,
    store: directoryFiles(path),
    segments: readdirSync(path)
      .filter((name) => name.startsWith('segment-'))
      .sort(),
  };
}
const OPEN = openName('one', null);

test('a restore equals the state at the last entry, table by table', async () => {
  const into = folder();
  const reported: number[] = [];
  const last = await restoredFrom(directoryFiles(original), into, { report: ({ entry }) => reported.push(entry) });
  expect(last).toBe(rows.length);
  expect(existsSync(join(into, 'restore'))).toBe(false);
  expect(everything(into)).toEqual(everything(source));
  expect(reported.at(-1)).toBe(rows.length);
  expect(reported.length).toBe(readdirSync(original).length - 1);
});

test('a restored server continues the archive with its own open part', async () => {
  const { path, store } = copy();
  const into = folder();
  await archive(keep(ingestOf(events.slice(0, 30))), directoryFiles(path.replace(/new$/, 'short')));
  const short = directoryFiles(path.replace(/new$/, 'short'));
  await restoredFrom(short, into);
  {
    using open = openAt(into);
    for (const event of events.slice(30)) open.ingest.apply(event);
    open.ingest.commit();
  }
  await archive(into, short, 'two');
  expect(await short.list('segment-')).toEqual(await store.list('segment-'));
  expect(await short.list('open-')).toEqual([openName('two', null)]);
});

describe('a restore to an earlier end', () => {
  const store = directoryFiles(original);
  const lastHeight = Math.max(
    ...rows.filter(({ path }) => path === '/new_block').map(({ text }) => JSON.parse(text).block_height),
  );

  test('stops at an entry anywhere in a segment', async () => {
    for (const entry of [entryOf(1), 20, rows.length]) {
      const into = folder();
      expect(await restoredFrom(store, into, { until: { entry } })).toBe(entry + 1);
      expect(restoredUntil(into)).toEqual({ entry: entry, state: stateUntil(entry) });
    }
  });

  test("stops at the archive's last entry if nothing comes after the end, and still changes the identity", async () => {
    for (const until of [{ height: lastHeight }, { height: lastHeight + 1 }, { time: 2 ** 52 }]) {
      const into = folder();
      expect(await restoredFrom(store, into, { until })).toBe(rows.length + 1);
      expect(restoredUntil(into)).toEqual({ entry: rows.length, state: stateUntil(rows.length) });
    }
  });

  test('stops at the last entry before a higher block', async () => {
    const into = folder();
    await restoredFrom(store, into, { until: { height: 7 } });
    const { entry, state } = restoredUntil(into);
    const next = rows[entry]!;
    expect([next.path, JSON.parse(next.text).block_height]).toEqual(['/new_block', 8]);
    expect(state).toEqual(stateUntil(entry));
  });

  test('stops at the last entry received by a given time', async () => {
    const into = folder();
    const time = rows[24]!.receivedAt;
    await restoredFrom(store, into, { until: { time } });
    const { entry } = restoredUntil(into);
    expect(rows[entry - 1]!.receivedAt).toBe(time);
    expect(rows[entry]!.receivedAt).toBeGreaterThan(time);
  });

  test('stops at an entry before a damaged or missing segment', async () => {
    const { path, store: spoiled, segments } = copy();
    const entry = parseSegmentName(segments[2]!)!.last;
    rmSync(join(path, segments[3]!));
    writeFileSync(join(path, OPEN), 'nothing');
    const into = folder();
    await restoredFrom(spoiled, into, { until: { entry } });
    expect(restoredUntil(into)).toEqual({ entry: entry, state: stateUntil(entry) });
  });

  test('rejects an entry that the archive lacks, and creates nothing', async () => {
    const into = folder();
    expect(await refusal(restoredFrom(store, into, { until: { entry: rows.length + 1 } }))).toContain(
      `ends with entry ${rows.length}, before entry ${rows.length + 1}`,
    );
    expect(existsSync(join(into, 'restore'))).toBe(false);
  });

  test('rejects a time before the first entry, and creates nothing', async () => {
    const into = folder();
    const time = Date.parse('2020-01-01T00:00:00Z') * 1_000;
    expect(await refusal(restoredFrom(store, into, { until: { time } }))).toContain(
      `begins at ${new Date(rows[0]!.receivedAt / 1_000).toISOString()}, after 2020-01-01T00:00:00.000Z`,
    );
    expect(existsSync(join(into, 'restore'))).toBe(false);
    await restoredFrom(store, into, { until: { time: rows[0]!.receivedAt } });
    expect(restoredUntil(into).entry).toBeGreaterThan(0);
  });
});

/** Starts a rebuild of a directory. */
const rebuildAt = (directory: string) =>
  beginRebuild({ directory, chainId: null, machine: silentMachine, log: () => {}, force: true });

test('a restore that stopped anywhere continues, and nothing else opens its directory', async () => {
  const into = folder();
  const store = directoryFiles(original);
  let reads = 0;
  const names = await store.list('segment-');
  for (let limit = 1; limit <= names.length; limit += 2) {
    reads = 0;
    const stopping: ObjectStore = {
      ...store,
      async read(name, bounds) {
        if (name.startsWith('segment-') && ++reads > limit) throw new OperatorError('The place is away.', '');
        return store.read(name, bounds);
      },
    };
    await restoredFrom(stopping, into).catch((error: unknown) => expect(error).toBeInstanceOf(OperatorError));
    if (!existsSync(join(into, 'restore'))) break;
    for (const open of [openAt, openJournalReader, rebuildAt])
      expect(() => open(into)).toThrow(`${into} contains an unfinished restore.`);
  }
  await restoredFrom(store, into).catch((error: OperatorError) =>
    expect(error.message).toContain('holds data already'),
  );
  expect(everything(into)).toEqual(everything(source));
});

test('a restore that stopped before its marker continues, and nothing else opens its directory', async () => {
  const into = folder();
  mkdirSync(join(into, 'restore'), { recursive: true });
  for (const open of [openAt, openJournalReader, rebuildAt])
    expect(() => open(into)).toThrow(`${into} contains an unfinished restore.`);
  // SQLite would replay the log of a deleted index into the restored one.
  writeFileSync(join(into, 'index.db-wal'), 'a log');
  expect(await refusal(restoredFrom(directoryFiles(original), into))).toContain('holds data already');
  rmSync(join(into, 'index.db-wal'));
  await restoredFrom(directoryFiles(original), into);
  expect(everything(into)).toEqual(everything(source));
  // The last step removes the staging directory; a crash may leave it.
  mkdirSync(join(into, 'restore'));
  openAt(into).ingest.close();
  expect(existsSync(join(into, 'restore'))).toBe(false);
});

test('a restore that loses its lock installs nothing, and the next restore finishes it', async () => {
  const into = folder();
  const store = directoryFiles(original);
  const making = () => rmSync(join(into, 'writer.lock'), { force: true });
  expect(await refusal(restoredFrom(store, into, { making }))).toContain('writer.lock was removed or replaced');
  expect(existsSync(journalPath(into))).toBe(false);
  await restoredFrom(store, into);
  expect(everything(into)).toEqual(everything(source));
});

test('an unfinished restore rejects another end or another archive', async () => {
  const { path, store, segments } = copy();
  rmSync(join(path, segments[2]!));
  const into = folder();
  await refusal(restoredFrom(store, into));
  expect(await refusal(restoredFrom(store, into, { until: { entry: 3 } }))).toContain('an unfinished restore');
  const foreign = folder();
  await archive(keep(ingestOf(events, { random: OTHER_IDENTITY })), directoryFiles(foreign));
  expect(await refusal(restoredFrom(directoryFiles(foreign), into))).toContain('an unfinished restore');
});

test('a restore rejects a missing archive, another chain and a newer format', async () => {
  const { path, store } = copy();
  expect(await refusal(restoredFrom(directoryFiles(folder()), folder()))).toContain('No archive found at');
  expect(await refusal(restoredFrom(store, folder(), { chainId: 1 }))).toBe(
    `The archive at ${path} belongs to testnet (chain 0x80000000), but --network is chain 0x00000001.`,
  );
  writeFileSync(join(path, IDENTITY), '{"format":2}');
  expect(await refusal(restoredFrom(store, folder()))).toContain('has format 2');
});

test('a restore rejects an archive without entries', async () => {
  const path = folder();
  mkdirSync(path);
  copyFileSync(join(original, IDENTITY), join(path, IDENTITY));
  expect(await refusal(restoredFrom(directoryFiles(path), folder()))).toBe(`The archive at ${path} is still empty.`);
});

describe('restore and verify report the same damage if', () => {
  /** Requires that verify reports the same fault as restore. @returns the fault */
  async function faultOf(store: ObjectStore): Promise<string> {
    const into = folder();
    const message = await refusal(restoredFrom(store, into));
    const faults: (string | null)[] = [];
    for await (const { fault } of verifySegments(store)) faults.push(fault);
    const fault = message.replace(/^The archive at \S+ is damaged: |\.$/g, '');
    expect(faults).toContain(fault);
    return fault;
  }

  test.each<[string, (path: (nth: number) => string) => void, RegExp]>([
    ['a segment is missing', (path) => rmSync(path(3)), /^it lacks entries \d+ to \d+, which come before SEGMENT$/],
    [
      'the first segment is missing',
      (path) => rmSync(path(0)),
      /^it lacks entries 1 to \d+, which come before SEGMENT$/,
    ],
    [
      'the last segment is missing',
      (path) => rmSync(path(-1)),
      /^open-one.zst begins with entry \d+, and the sealed segments end with entry \d+$/,
    ],
    ['a segment is truncated', (path) => truncateSync(path(2), 200), /^SEGMENT is a damaged segment: /],
    [
      'a bit of a segment is flipped',
      (path) => {
        const bytes = readFileSync(path(1));
        bytes[bytes.length >> 1]! ^= 1;
        writeFileSync(path(1), bytes);
      },
      /^SEGMENT is a damaged segment: /,
    ],
  ])('%s', async (_, damage, fault) => {
    const { path, store, segments } = copy();
    const damaged: number[] = [];
    damage((nth) => {
      damaged.push(nth);
      return join(path, segments.at(nth)!);
    });
    const named = segments[damaged[0]! + (existsSync(join(path, segments.at(damaged[0]!)!)) ? 0 : 1)]!;
    expect((await faultOf(store)).replace(named, 'SEGMENT')).toMatch(fault);
  });

  test('two segments are swapped', async () => {
    const { path, store, segments } = copy();
    const pathOf = (index: number) => join(path, segments[index]!);
    renameSync(pathOf(1), join(path, 'aside'));
    renameSync(pathOf(2), pathOf(1));
    renameSync(join(path, 'aside'), pathOf(2));
    expect(await faultOf(store)).toMatch(
      new RegExp(`^${segments[1]} is a damaged segment: .* which doesn't match its name$`),
    );
  });

  test('a segment belongs to another journal', async () => {
    const { path, store, segments } = copy();
    const foreign = folder();
    await archive(
      keep(ingestOf(events.map((event) => ({ ...event, receivedAt: event.receivedAt + 1 })))),
      directoryFiles(foreign),
    );
    const other = readdirSync(foreign)
      .sort()
      .find((name) => name.startsWith(segments[2]!.slice(0, 21)))!;
    cpSync(join(foreign, other), join(path, other));
    rmSync(join(path, segments[2]!));
    expect(await faultOf(store)).toMatch(
      new RegExp(`^${other} belongs to another log: it doesn't follow the chain value of entry \\d+$`),
    );
    cpSync(join(original, segments[2]!), join(path, segments[2]!));
    expect(await faultOf(store)).toMatch(
      / begins with entry \d+, and another segment has the entries up to \d+$|belongs to another log/,
    );
  });

  test('the open part is damaged or belongs to another journal', async () => {
    const { path, store } = copy();
    const bytes = readFileSync(join(path, OPEN));
    truncateSync(join(path, OPEN), 50);
    expect(await faultOf(store)).toStartWith(`${OPEN} is a damaged segment: `);
    const { entries } = await readSegment(bytes, null);
    const before = new Uint8Array(32).fill(7);
    let chain: Uint8Array = before;
    const forged = entries.map((entry) => {
      chain = nextChain(chain, entry);
      return { ...entry, chain };
    });
    writeFileSync(join(path, OPEN), await compressPart(segmentContent(before, forged)));
    expect(await faultOf(store)).toMatch(
      /^open-one.zst belongs to another log: it doesn't follow the chain value of entry \d+$/,
    );
  });

  test('two open parts belong to different journals', async () => {
    const { path, store } = copy();
    const part = await readSegment(readFileSync(join(path, OPEN)), null);
    const first = { ...part.entries[0]!, receivedAt: 1 };
    const chain = nextChain(part.previousChain, first);
    writeFileSync(
      join(path, 'open-two.zst'),
      await compressPart(segmentContent(part.previousChain, [{ ...first, chain }])),
    );
    expect(await faultOf(store)).toBe(`open-two.zst and ${OPEN} belong to two logs: they differ at entry ${first.id}`);
  });
});

test("a restore uses the open part with the most entries, and ignores an earlier writer's", async () => {
  const { path, store } = copy();
  const part = await readSegment(readFileSync(join(path, OPEN)), null);
  writeFileSync(
    join(path, 'open-late-3.zst'),
    await compressPart(segmentContent(part.previousChain, part.entries.slice(0, 1))),
  );
  const first = await readSegment(readFileSync(join(path, (await store.list('segment-'))[0]!)), null);
  writeFileSync(
    join(path, 'open-early-1.zst'),
    await compressPart(segmentContent(first.previousChain, first.entries.slice(0, 2))),
  );
  const into = folder();
  expect(await restoredFrom(store, into)).toBe(rows.length);
  using archiver = archiverOf(into, store);
  await archiver.round('four', { epoch: 4 });
  expect(await store.list('open-')).toEqual(['open-early-1.zst', 'open-four-4.zst', 'open-late-3.zst', OPEN]);
});
