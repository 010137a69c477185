/** The order of a recording's rows, and imports of recordings with rows in another order. */
import { expect, spyOn, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { OperatorError } from '../../src/base/errors.ts';
import { recordingRow } from '../../src/chain/recording.ts';
import { BATCH_ROWS, runImport } from '../../src/commands/data/import.ts';
import { disorderIn, SeenIds } from '../../src/commands/data/row-order.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readSettings } from '../../src/settings/config.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { received, SAME_IDENTITY } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';
import { assertProperty, Seen } from '../support/property.ts';

const events = [...devnetEvents({ seed: 1, blocks: 12, accounts: 10, transactionsPerBlock: 2, forkEvery: 5 })].map(
  received,
);
const inOrder = events.map((event, at) => recordingRow({ id: at + 1, ...event }));
/** As text, the ids are 1, 10, 11, …, 2, 20, … */
const asText = inOrder.toSorted();
const options = { skipBad: false, restart: false };

/** Returns the positions of a block that occurs once, and of its child. */
const [parent, child] = ((): [number, number] => {
  const blocks = events.map(({ path, text }) => (path === '/new_block' ? JSON.parse(text) : {}));
  const at = blocks.findIndex(({ block_height }) => block_height === 6);
  return [at, blocks.findIndex((one) => one.parent_index_block_hash === blocks[at].index_block_hash)];
})();

test('an id is new only once, in any order of ids', () => {
  const seen = new Seen({ 'known ids': 100 });
  assertProperty(
    fc.property(fc.array(fc.nat({ max: 40 }), { maxLength: 120, size: 'max' }), (ids) => {
      const all = new SeenIds();
      const known = new Set<number>();
      for (const id of ids) {
        if (known.has(id)) seen.add('known ids');
        expect(all.add(id)).toBe(!known.has(id));
        known.add(id);
      }
    }),
    { seen },
  );
});

test('a million consecutive ids need only one range', () => {
  const seen = new SeenIds();
  for (let id = 1; id <= 1_000_000; id++) seen.add(id);
  expect(seen.ranges).toBe(1);
  expect(seen.add(500_000)).toBe(false);
});

test('a copy of ids keeps its gaps and highest id when the original changes', () => {
  const ids = new SeenIds();
  expect([ids.highest, ids.hasGaps]).toEqual([-1, false]);
  ids.add(1);
  ids.add(2);
  const copy = ids.copy();
  ids.add(3);
  ids.add(7);
  expect([copy.highest, copy.hasGaps, copy.has(2), copy.has(3)]).toEqual([2, false, true, false]);
  expect([ids.highest, ids.hasGaps, ids.has(3), ids.has(5)]).toEqual([7, true, true, false]);
});

const written = (directory: DataDirectory, rows: readonly string[], name = 'recording.tsv'): string => {
  const file = join(directory.path, name);
  writeFileSync(file, `${rows.join('\n')}\n`);
  return file;
};

test('finds the first row out of order, and accepts rows that repeat earlier ids', async () => {
  using directory = dataDirectory();
  const rows = (...ids: (number | string)[]) => ids.map((id) => `${id}\tx\ty\tz`);
  expect(await disorderIn(written(directory, rows(3, 4, 8, 4, 9, 8, 3, 20)))).toBeNull();
  expect(await disorderIn(written(directory, rows(1, 10, 100, 11, 2)))).toEqual({ row: 4, id: 11, after: 100 });
  expect(await disorderIn(written(directory, ['', ...rows(1, 'no id', 5), '\\.', ...rows(4)]))).toEqual({
    row: 6,
    id: 4,
    after: 5,
  });
});

interface Imported {
  error: unknown;
  /** Lines on stderr. */
  said: string;
}

async function imported(data: string, file: string, how: Partial<Parameters<typeof runImport>[2]> = {}) {
  let said = '';
  using _ = spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  using __ = spyOn(process.stdout, 'write').mockImplementation(() => true);
  const settings = readSettings({ data, logLevel: 'silent' }, {});
  const error = await runImport(settings, [file], { ...options, random: SAME_IDENTITY, ...how }).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { error, said } satisfies Imported;
}

/** Returns the state after an import of the rows in order. */
async function expectedState(): Promise<ReturnType<typeof everything>> {
  using directory = dataDirectory();
  expect((await imported(directory.path, written(directory, inOrder))).error).toBeNull();
  return everything(directory.path);
}

test.each<[string, string[]]>([
  ['sorted as text', asText],
  ['in reverse', inOrder.toReversed()],
  ['shuffled', new Prng('rows').shuffle([...inOrder])],
  ['with a block before its parent', inOrder.with(parent, inOrder[child]!).with(child, inOrder[parent]!)],
])('rows %s are imported in the order of their ids', async (_, rows) => {
  const expected = await expectedState();
  for (const skipBad of [false, true]) {
    using directory = dataDirectory();
    const file = written(directory, rows);
    const { error, said } = await imported(directory.path, file, { skipBad });
    expect(error).toBeNull();
    expect(said).toMatch(
      /recording\.tsv: row \d+ has id \d+, after id \d+; importing the rows in the order of their ids/,
    );
    expect(everything(directory.path)).toEqual(expected);
    // A second import finds the rows already imported.
    expect((await imported(directory.path, file, { skipBad })).error).toBeNull();
    expect(everything(directory.path)).toEqual(expected);
  }
});

test('a compressed recording out of order is rejected with its rows and the command that sorts it, and nothing is stored', async () => {
  for (const [compress, unpack] of [
    [gzipSync, 'gzip -dc'],
    [zstdCompressSync, 'zstd -dc'],
  ] as const) {
    using directory = dataDirectory();
    const file = join(directory.path, 'recording');
    writeFileSync(file, compress(`${asText.join('\n')}\n`));
    const { error } = await imported(join(directory.path, 'data'), file);
    expect(error).toBeInstanceOf(OperatorError);
    const { message, remedy } = error as OperatorError;
    expect(message).toMatch(/are not in the order of their ids: row \d+ has id \d+, after id \d+\.$/);
    expect(remedy).toContain(`${unpack} ${file} | LC_ALL=C sort -n`);
    expect(everything(join(directory.path, 'data')).journal).toEqual([]);
  }
});

test('a recording out of order from a pipe is rejected with a hint to sort its rows', async () => {
  using directory = dataDirectory();
  const [file, pipe] = [written(directory, asText), join(directory.path, 'pipe')];
  Bun.spawnSync(['mkfifo', pipe]);
  const writing = Bun.spawn(['sh', '-c', `cat ${file} > ${pipe}`]);
  const { error } = await imported(directory.path, pipe);
  const { message, remedy } = error as OperatorError;
  expect(message).toMatch(/^Row \d+ of .*pipe can't be imported/);
  expect(remedy).toContain('LC_ALL=C sort -n');
  await writing.exited;
});

test('an error about a block without its parent names the row of a sorted recording', async () => {
  using directory = dataDirectory();
  const file = written(directory, inOrder.toSpliced(parent, 1));
  const { error } = await imported(directory.path, file);
  const { message, remedy } = error as OperatorError;
  expect(message).toContain(`Row ${child} of ${file} can't be imported`);
  expect(remedy).toContain('--skip-bad');
});

test('an error about a bad row in an unsorted recording names its row number in the file', async () => {
  using directory = dataDirectory();
  const last = inOrder.length;
  const rows = [...asText.filter((row) => !row.startsWith(`${last}\t`)), `${last}\tno time\t/x\t{}`];
  const { error } = await imported(directory.path, written(directory, rows));
  expect((error as OperatorError).message).toMatch(new RegExp(`^Row ${rows.length} of .* is not a time`));
});

/** Rows of a batch that becomes durable: of announcements that are repeated. @param firstId id of the first of them */
const durableBatch = (firstId: number): string[] => {
  const announced = events.find(({ path }) => path === '/new_burn_block')!;
  return Array.from({ length: BATCH_ROWS }, (_, at) => recordingRow({ id: firstId + at, ...announced }));
};

test('rows stored before the first row out of order are not imported twice', async () => {
  const half = events.findIndex(({ path, text }) => path === '/new_block' && text.includes('"block_height":6,'));
  const rows = [
    ...events.slice(0, half).map((event, at) => recordingRow({ id: at + 1, ...event })),
    ...durableBatch(half + 1),
  ];
  const rest = events.slice(half).map((event, at) => recordingRow({ id: rows.length + 1 + at, ...event }));
  using directory = dataDirectory();
  using ordered = dataDirectory();
  const file = written(directory, [...rows, ...rest.toReversed()]);
  const { error, said } = await imported(directory.path, file);
  expect(error).toBeNull();
  expect(said).toContain('importing the rows in the order of their ids');
  expect((await imported(ordered.path, written(ordered, [...rows, ...rest]))).error).toBeNull();
  expect(everything(directory.path)).toEqual(everything(ordered.path));
  expect((await imported(directory.path, file)).error).toBeNull();
  expect(everything(directory.path)).toEqual(everything(ordered.path));
});

test('a recording is rejected with both ids if its later rows are already stored', async () => {
  const late = durableBatch(inOrder.length + 1);
  const rows = [...inOrder.slice(0, parent), ...late, inOrder[child]!, inOrder[parent]!];
  using directory = dataDirectory();
  const { error } = await imported(directory.path, written(directory, rows));
  const { message, remedy } = error as OperatorError;
  expect(message).toMatch(new RegExp(`and id \\d{4} was imported before id ${parent + 1}\\.$`));
  expect(remedy).toContain('empty --data directory');
});
