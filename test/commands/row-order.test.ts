/** The order of a recording's rows, and imports of recordings with rows in another order. */
import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import type { OperatorError } from '../../src/base/errors.ts';
import { findDisorder, SeenIds } from '../../src/commands/data/recording-rows.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { importFiles, rowsOf, writeRecording } from './recordings.ts';

const events = simulatedEvents({ seed: 1, blocks: 12, accounts: 10, transactionsPerBlock: 2, forkEvery: 5 });
const inOrder = rowsOf(events);
/** As text, the ids are 1, 10, 11, …, 2, 20, … */
const asText = inOrder.toSorted();

/** Returns the positions of a block that occurs once, and of its child. */
const [parent, child] = ((): [number, number] => {
  const blocks = events.map(({ path, text }) => (path === '/new_block' ? JSON.parse(text) : {}));
  const index = blocks.findIndex(({ block_height }) => block_height === 6);
  return [index, blocks.findIndex((block) => block.parent_index_block_hash === blocks[index].index_block_hash)];
})();

test('an id is new only once, in any order of ids', () => {
  const seen = new Seen({ 'known ids': 100 });
  assertProperty(
    fc.property(fc.array(fc.nat({ max: 40 }), { maxLength: 120, size: 'max' }), (ids) => {
      const seenIds = new SeenIds();
      const known = new Set<number>();
      for (const id of ids) {
        if (known.has(id)) seen.add('known ids');
        expect(seenIds.add(id)).toBe(!known.has(id));
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

test('the highest id and the gaps between ids are known', () => {
  const ids = new SeenIds();
  expect([ids.highest, ids.hasGaps]).toEqual([-1, false]);
  ids.add(1);
  ids.add(2);
  expect([ids.highest, ids.hasGaps]).toEqual([2, false]);
  ids.add(7);
  expect([ids.highest, ids.hasGaps]).toEqual([7, true]);
});

test('finds the first row out of order, and accepts rows that repeat earlier ids', async () => {
  using directory = dataDirectory();
  const rows = (...ids: (number | string)[]) => ids.map((id) => `${id}\tx\ty\tz`);
  expect(await findDisorder(writeRecording(directory.path, rows(3, 4, 8, 4, 9, 8, 3, 20)))).toBeNull();
  expect(await findDisorder(writeRecording(directory.path, rows(1, 10, 100, 11, 2)))).toEqual({
    row: 4,
    id: 11,
    highest: 100,
  });
  expect(await findDisorder(writeRecording(directory.path, ['', ...rows(1, 'no id', 5), '\\.', ...rows(4)]))).toEqual({
    row: 6,
    id: 4,
    highest: 5,
  });
});

/** Imports a file. @returns the error */
async function errorOf(data: string, file: string, how = {}): Promise<OperatorError> {
  const { error } = await importFiles(data, [file], how);
  expect(error).not.toBeNull();
  return error!;
}

const plain = (text: string): string => text;

test.each<[string, string[], (text: string) => string | Uint8Array, string]>([
  ['sorted as text', asText, plain, 'cat'],
  ['in reverse', inOrder.toReversed(), plain, 'cat'],
  ['shuffled', new Prng('rows').shuffle([...inOrder]), plain, 'cat'],
  ['with a block before its parent', inOrder.with(parent, inOrder[child]!).with(child, inOrder[parent]!), plain, 'cat'],
  ['sorted as text, with gzip', asText, gzipSync, 'gzip -dc'],
  ['sorted as text, with zstd', asText, zstdCompressSync, 'zstd -dc'],
])('rows %s are rejected with the command that sorts them, and nothing is stored', async (_, rows, write, unpack) => {
  using directory = dataDirectory();
  const [file, data] = [join(directory.path, 'recording'), join(directory.path, 'data')];
  writeFileSync(file, write(`${rows.join('\n')}\n`));
  for (const skipBad of [false, true]) {
    const { message, remedy } = await errorOf(data, file, { skipBad });
    expect(message).toMatch(/are not in the order of their ids: row \d+ has id \d+, after id \d+\.$/);
    expect(remedy).toContain(`${unpack} ${file} | LC_ALL=C sort -n`);
    expect(everything(data).journal).toEqual([]);
  }
});

test('a recording out of order from a pipe is rejected with a hint to sort its rows', async () => {
  using directory = dataDirectory();
  const [file, pipe] = [writeRecording(directory.path, asText), join(directory.path, 'pipe')];
  Bun.spawnSync(['mkfifo', pipe]);
  const writing = Bun.spawn(['sh', '-c', `cat ${file} > ${pipe}`]);
  const { message, remedy } = await errorOf(directory.path, pipe);
  expect(message).toMatch(/^Row \d+ of .*pipe can't be imported/);
  expect(remedy).toContain('LC_ALL=C sort -n');
  await writing.exited;
});

test('an error about a block without its parent names its row', async () => {
  using directory = dataDirectory();
  const file = writeRecording(directory.path, inOrder.toSpliced(parent, 1));
  const { message, remedy } = await errorOf(directory.path, file);
  expect(message).toContain(`Row ${child} of ${file} can't be imported`);
  expect(remedy).toContain('--skip-bad');
});
