/** Damaged, outdated or hostile manifests are refused before a file is written. */
import { afterAll, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Manifest, manifestBytes, partName, partsOf, readManifest } from '../../src/backup/manifest.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';

const source = ingestOf([...devnetEvents({ seed: 5, blocks: 3, transactionsPerBlock: 2 })].map(received));
const places = dataDirectory();
afterAll(() => places[Symbol.dispose]());
const place = join(places.path, 'backup');
const made = await backupOf(source.path, place, { partBytes: 65_536 });
source[Symbol.dispose]();
const text = readFileSync(join(place, 'manifest.json'));

test('it says what the backup is of, and where its parts belong', () => {
  expect(readManifest('here', text)).toEqual(made);
  expect(made).toMatchObject({ format: 1, height: 3, network: 'testnet', compression: 'zstd', public: false });
  const parts = partsOf(made);
  expect(parts.map(({ number }) => existsSync(join(place, partName(number))))).toEqual(parts.map(() => true));
  expect(parts.reduce((sum, { length }) => sum + length, 0)).toBe(made.bytes);
});

test('any byte of it that turns is noticed', () => {
  for (let at = 0; at < text.length; at++) {
    const turned = Buffer.from(text);
    turned[at] = turned[at]! ^ (1 << (at % 8));
    let read: Manifest;
    try {
      read = readManifest('here', turned);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      continue;
    }
    // Blanks between the values mean nothing.
    expect(read).toEqual(made);
  }
});

test('half of it is no manifest', () => {
  expect(() => readManifest('here', text.subarray(0, text.length / 2))).toThrow(
    'manifest of the backup at here is damaged',
  );
});

const [index, journal] = made.files as [Manifest['files'][0], Manifest['files'][0]];
const lies: readonly [what: string, lie: object, says: RegExp][] = [
  ['of a later format', { format: 2 }, /has format 2; this program reads format 1/],
  ['of a later schema', { schema: { ...made.schema, index: 999 } }, /written by a newer Stackside/],
  ['of a later journal', { schema: { ...made.schema, journal: 999 } }, /written by a newer Stackside/],
  ['with a file elsewhere', { files: [{ ...index, name: '../index.db' }, journal] }, /damaged: files\.0\.name/],
  ['with a path', { files: [index, { ...journal, name: '/etc/passwd' }] }, /damaged: files\.1\.name/],
  ['with one file twice', { files: [index, index] }, /damaged: files must be/],
  ['without the index', { files: [journal] }, /damaged: files must NOT have fewer/],
  ['with a part missing', { files: [{ ...index, parts: index.parts.slice(1) }, journal] }, /another number of parts/],
  [
    'with a part too many',
    { files: [index, { ...journal, parts: [...journal.parts, ...index.parts] }] },
    /another number/,
  ],
  [
    'with a longer file',
    { files: [{ ...index, bytes: index.bytes + 10_000_000 }, journal] },
    /another number of parts/,
  ],
  [
    'with a part of all bytes',
    { files: [{ ...index, parts: index.parts.map((part) => ({ ...part, bytes: 1e12 })) }, journal] },
    /part 1 is longer/,
  ],
  ['with parts of all bytes', { part_bytes: 2 ** 40 }, /damaged: part_bytes must be <= /],
  ['with another sum', { bytes: 1 }, /bytes is not the sum/],
  ['without the journal', { files: [index] }, /damaged: files/],
  ['of no size', { files: [{ ...index, bytes: -1 }, journal] }, /damaged: files\.0\.bytes/],
  ['with text for a size', { files: [{ ...index, bytes: 'all' }, journal] }, /damaged: files\.0\.bytes/],
];

test.each(lies)('one %s makes nothing', async (_, lie, says) => {
  using folder = dataDirectory();
  writeFileSync(join(folder.path, 'manifest.json'), manifestBytes({ ...made, ...lie } as Manifest));
  const data = join(folder.path, 'data');
  await expect(restored(folder.path, data)).rejects.toThrow(says);
  expect(existsSync(join(data, 'restore'))).toBe(false);
  openAt(data)[Symbol.dispose]();
});

const contradictions: readonly [what: string, lie: Partial<Manifest>, says: RegExp][] = [
  ['the event', { position: made.position + 1 }, /its index is at event/],
  ['the chain of events', { chain: 'ab'.repeat(32) }, /its index is at event/],
  ['the chain', { chain_id: 1 }, /its index is of another chain/],
  ['the version of the index', { schema: { ...made.schema, index: 0 } }, /its files are of other versions/],
  ['the version of the journal', { schema: { ...made.schema, journal: 0 } }, /its files are of other versions/],
];

test.each(contradictions)('one that errs in %s leaves no data directory', async (_, lie, says) => {
  using folder = dataDirectory();
  for (const { number } of partsOf(made)) {
    writeFileSync(join(folder.path, partName(number)), readFileSync(join(place, partName(number))));
  }
  writeFileSync(join(folder.path, 'manifest.json'), manifestBytes({ ...made, ...lie }));
  const data = join(folder.path, 'data');
  await expect(restored(folder.path, data)).rejects.toThrow(says);
  expect(existsSync(indexPath(data))).toBe(false);
  expect(() => openAt(data)).toThrow('A restore into');
});
