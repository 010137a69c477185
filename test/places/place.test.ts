/** The places of archives: a directory and S3 keep, list and refuse files alike. */
import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DiskFullError } from '../../src/base/errors.ts';
import { directoryFiles } from '../../src/places/directory.ts';
import type { Place } from '../../src/places/files.ts';
import { placeAt } from '../../src/places/place.ts';
import { s3Objects } from '../../src/places/remote.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { canMount, smallDisk } from '../support/data/small-disk.ts';
import { s3Server } from '../support/servers/s3-server.ts';
import { impatientClock } from '../support/time/impatient-clock.ts';

const folder = dataDirectory();
const server = s3Server('bucket');
afterAll(() => {
  folder[Symbol.dispose]();
  server[Symbol.dispose]();
});

const { variables } = server;
const inBucket = (key: string): Place => s3Objects({ url: `s3://bucket/${key}`, variables, clock: impatientClock });
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const bounds = { least: 0, most: 1_000 };

async function textOf(place: Place, name: string): Promise<string | null> {
  const found = await place.read(name, bounds);
  return found === null ? null : new TextDecoder().decode(found);
}

describe.each([
  ['a directory', () => directoryFiles(join(folder.path, 'some archive'))],
  ['S3', () => inBucket('a folder/ünïcode+1(2)')],
] as const)('%s', (_, open) => {
  const place = open();

  test('has nothing at first', async () => {
    expect(await place.list('')).toEqual([]);
    expect(await textOf(place, 'one')).toBeNull();
    await place.remove('one');
  });

  test('creates a file once, and keeps it as it is', async () => {
    expect(await place.create('one', bytes('first'))).toBe(true);
    expect(await place.create('one', bytes('second'))).toBe(false);
    expect(await textOf(place, 'one')).toBe('first');
  });

  test('replaces a file that is written, and removes one', async () => {
    await place.write('two', bytes('first'));
    await place.write('two', bytes('second'));
    expect(await textOf(place, 'two')).toBe('second');
    expect(await place.list('')).toEqual(['one', 'two']);
    await place.remove('two');
    expect(await place.list('')).toEqual(['one']);
  });

  test('lists names by their beginning, in their order, however many there are', async () => {
    const names = Array.from({ length: 25 }, (_, at) => `many-${String(24 - at).padStart(3, '0')}`);
    for (const name of names) await place.write(name, bytes(name));
    expect(await place.list('many-')).toEqual(names.toSorted());
    expect(await place.list('many-01')).toHaveLength(10);
  });
});

test('an upload that is torn is refused by the server, and sent again', async () => {
  const place = inBucket('torn');
  let torn = 0;
  server.fail = ({ method }) => (method === 'PUT' && torn++ === 0 ? 'torn' : null);
  expect(await place.create('one', bytes('the whole text'))).toBe(true);
  server.fail = () => null;
  expect(torn).toBe(2);
  expect(await textOf(place, 'one')).toBe('the whole text');
});

test('a conflict with another request for an object passes', async () => {
  const place = inBucket('conflict');
  let conflicts = 0;
  server.fail = () => (conflicts++ < 2 ? { status: 409, code: 'ConditionalRequestConflict' } : null);
  expect(await place.create('one', bytes('first'))).toBe(true);
  server.fail = () => null;
  expect(conflicts).toBe(3);
});

test('where the answer is lost, the object is there and not created again', async () => {
  const place = inBucket('unanswered');
  let lost = 0;
  server.fail = ({ method }) => (method === 'PUT' && lost++ === 0 ? 'unanswered' : null);
  expect(await place.create('one', bytes('first'))).toBe(false);
  server.fail = () => null;
  expect(await textOf(place, 'one')).toBe('first');
});

test('a directory is made for its owner alone, and only where its parent exists', async () => {
  const path = join(folder.path, 'private');
  await directoryFiles(path).write('one', bytes('first'));
  expect(statSync(path).mode & 0o077).toBe(0);
  expect(statSync(join(path, 'one')).mode & 0o077).toBe(0);
  const missing = join(folder.path, 'not mounted', 'archive');
  await expect(directoryFiles(missing).write('one', bytes('first'))).rejects.toThrow('does not exist');
  expect(existsSync(join(folder.path, 'not mounted'))).toBe(false);
});

test('what a killed process left of a file is no file of the directory', async () => {
  const path = join(folder.path, 'killed');
  mkdirSync(path);
  writeFileSync(join(path, 'one.partial'), 'fir');
  const place = directoryFiles(path);
  expect(await place.create('one', bytes('first'))).toBe(true);
  expect(readdirSync(path)).toEqual(['one']);
});

test.skipIf(!canMount)('a full disk is said, and leaves no part of a file', async () => {
  using disk = smallDisk(131_072)!;
  const place = directoryFiles(join(disk.path, 'archive'));
  await place.create('one', bytes('first'));
  disk.fill();
  const failure = await place.create('two', new Uint8Array(40_000)).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(DiskFullError);
  expect(await place.list('')).toEqual(['one']);
  disk.empty();
  expect(await place.create('two', new Uint8Array(40_000))).toBe(true);
});

test('a place is a path outside the data directory, or a key of S3', () => {
  expect(() => placeAt(join(folder.path, 'data', 'archive'), join(folder.path, 'data'))).toThrow('is inside the data');
  expect(() => placeAt('https://example.org/archive', null)).toThrow('not a location for an archive');
  expect(() => placeAt('s3://bucket', null)).toThrow('names no key');
  expect(placeAt('s3://bucket/archive', null).location).toBe('s3://bucket/archive');
});
