/** Imports and rebuilds that read ahead on threads produce the same data as with one thread. */

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lazy } from '../../src/base/cache.ts';
import { TemporaryError } from '../../src/base/errors.ts';
import { recordingRow } from '../../src/chain/recording.ts';
import type { ImportOptions } from '../../src/commands/data/import.ts';
import { preparedEntries, readAhead } from '../../src/commands/data/read-ahead.ts';
import { runRebuild } from '../../src/commands/data/rebuild.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readSettings } from '../../src/settings/config.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { copyOf, type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { received, simulatedEvents } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';
import { importFiles, rowsOf, writeRecording } from './recordings.ts';

/** Long enough for ten batches of rows, with forks. */
const events = simulatedEvents({ seed: 11, blocks: 42, accounts: 12, transactionsPerBlock: 2, forkEvery: 7 });
const rows = rowsOf(events);

const folder = dataDirectory();
afterAll(() => folder[Symbol.dispose]());

/** Runs a command, and discards its output. */
async function quietly(work: () => Promise<void>): Promise<void> {
  using _ = spyOn(process.stdout, 'write').mockImplementation(() => true);
  await work();
}

async function importFile(
  data: string,
  file: string,
  threads: number,
  how: Partial<ImportOptions> = {},
): Promise<void> {
  const { error } = await importFiles(data, [file], { aheadFrom: 0, threads, ...how });
  if (error !== null) throw error;
}

/** A new directory into which a recording was imported. */
async function importOf(file: string, threads: number, how: Partial<ImportOptions> = {}): Promise<DataDirectory> {
  const directory = dataDirectory();
  await importFile(directory.path, file, threads, how);
  return directory;
}

const problemOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    ({ name, message, remedy, exitCode }) => ({ name, message, remedy, exitCode }),
  );

const whole = writeRecording(folder.path, rows, 'whole.tsv');
const alone = await importOf(whole, 0);
afterAll(() => alone[Symbol.dispose]());
const expected = lazy(() => everything(alone.path));
/** A directory with an unfinished import. */
const partial = await importOf(writeRecording(folder.path, rows.slice(0, 100), 'begun.tsv'), 0);
afterAll(() => partial[Symbol.dispose]());

describe('an import that reads ahead on threads', () => {
  test('produces the same journal and tables', async () => {
    using directory = await importOf(whole, 2);
    expect(everything(directory.path)).toEqual(expected());
  });

  test('skips the same bad rows without undoing the rows before them', async () => {
    const block = events.findLast(({ path }) => path === '/new_block')!;
    const orphan = JSON.parse(block.text);
    orphan.index_block_hash = `0x${'ab'.repeat(32)}`;
    orphan.parent_index_block_hash = `0x${'cd'.repeat(32)}`;
    const bad = [
      recordingRow({ ...block, id: 141, text: JSON.stringify(orphan) }),
      recordingRow({ ...block, id: 142, text: '{"block_height": "high"}' }),
      'no row',
    ];
    const later = events.slice(140).map((event, index) => recordingRow({ ...event, id: 143 + index }));
    const file = writeRecording(folder.path, [...rows.slice(0, 140), ...bad, ...later, rows[3]!], 'bad.tsv');
    using first = await importOf(file, 0, { skipBad: true });
    using second = await importOf(file, 1, { skipBad: true });
    expect(everything(second.path)).toEqual(everything(first.path));
  });

  test.each([
    ['a row that is none', [...rows.slice(0, 60), 'no row', ...rows.slice(60)]],
    [
      'a block without a field',
      [...rows.slice(0, 60), recordingRow({ ...events[0]!, id: 9_000, path: '/new_block', text: '{}' })],
    ],
    [
      'rows of two formats',
      [
        ...rows.slice(0, 100),
        '9001\t2022-09-13 00:12:27+00\t/proposal_response\t"a \\"b\\""',
        '9002\t2022-09-13 00:12:27+00\t/proposal_response\t"a \\\\"b\\\\""',
      ],
    ],
    [
      'another chain',
      [
        ...rows,
        ...[...devnetEvents({ seed: 12, blocks: 3, forkEvery: 0 })].map((event, index) =>
          recordingRow({ ...received(event), id: rows.length + index + 1 }),
        ),
      ],
    ],
  ])('rejects %s with the same error as without threads', async (_, lines) => {
    const file = writeRecording(folder.path, lines, 'refused.tsv');
    const problems: unknown[] = [];
    for (const threads of [0, 1]) {
      using directory = copyOf(partial);
      problems.push(await problemOf(importFile(directory.path, file, threads)));
    }
    expect(problems[0]).not.toBeNull();
    expect(problems[1]).toEqual(problems[0]);
  });

  test('fails with the error of a truncated file', async () => {
    const file = join(folder.path, 'cut.tsv.gz');
    const packed = Bun.gzipSync(rows.join('\n'));
    writeFileSync(file, packed.subarray(0, packed.length - 500));
    using directory = dataDirectory();
    await expect(importFile(directory.path, file, 1)).rejects.toThrow('cut.tsv.gz is truncated or damaged');
  });

  test('fails with a temporary error if a thread dies, and succeeds when repeated', async () => {
    const dying = new URL('../support/data/dying-thread.ts', import.meta.url);
    const source = { file: whole, format: null, prepareFrom: 0 };
    const batches = readAhead({ source, chainId: null }, 2, dying);
    await expect(Array.fromAsync(batches)).rejects.toThrow(TemporaryError);
    using directory = dataDirectory();
    await expect(importFile(directory.path, whole, 1, { thread: dying })).rejects.toThrow(TemporaryError);
    await importFile(directory.path, whole, 1);
    expect(everything(directory.path)).toEqual(expected());
  });
});

const contentOf = (file: string) => {
  using db = new Database(file, { readonly: true });
  return db
    .query('SELECT p.*, b.* FROM progress p LEFT JOIN blocks b ON b.height = (SELECT max(height) FROM blocks)')
    .get();
};

/** Rebuilds an index, and returns all of its data. */
async function rebuilt(directory: string, threads: number) {
  const settings = readSettings({ data: directory, logLevel: 'silent' }, {});
  await quietly(() => runRebuild(settings, { force: false, beside: false, threads }));
  return everything(directory);
}

describe('a rebuild that reads ahead on threads', () => {
  test('produces the same tables', async () => {
    using directory = copyOf(alone);
    expect(await rebuilt(directory.path, 2)).toEqual(expected());
  });

  test.each([
    ['is damaged', 'UPDATE events SET payload = zeroblob(4) WHERE id = 100'],
    ['has another text', 'UPDATE events SET payload = (SELECT payload FROM events WHERE id = 99) WHERE id = 100'],
    ['is missing', 'DELETE FROM events WHERE id = 100'],
  ])('reports an entry that %s with the same error as without threads, and keeps the index', async (_, damage) => {
    using directory = copyOf(alone);
    const before = contentOf(indexPath(directory.path));
    {
      using db = new Database(journalPath(directory.path));
      db.run(damage);
    }
    const problems = [await problemOf(rebuilt(directory.path, 0)), await problemOf(rebuilt(directory.path, 1))];
    expect(problems[0]).toMatchObject({ message: expect.stringContaining('Entry 100 of ') });
    expect(problems[1]).toEqual(problems[0]);
    expect(contentOf(indexPath(directory.path))).toEqual(before);
  });

  test('gives each thread every n-th batch, and all threads together every entry once, in order', () => {
    const count = 3;
    const source = { directory: alone.path, upTo: events.length - 20 };
    const shares = Array.from({ length: count }, (_, index) => [
      ...preparedEntries(
        source,
        () => null,
        (batch) => batch % count === index,
      ),
    ]);
    const inTurn = shares[0]!.flatMap((_, turn) => shares.map((share) => share[turn] ?? [])).flat();
    const { length } = expected().journal;
    expect(inTurn.map(({ id }) => id)).toEqual(
      Array.from({ length: Math.min(length, source.upTo) }, (_, index) => index + 1),
    );
  });
});
