/** Storage locations of archives: a directory and S3 store, list and reject files in the same way. */
import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DiskFullError, OperatorError } from '../../src/base/errors.ts';
import { directoryFiles, objectStoreAt } from '../../src/storage/location.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { s3Objects } from '../../src/storage/remote.ts';
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
const inBucket = (key: string): ObjectStore =>
  s3Objects({ url: `s3://bucket/${key}`, variables, clock: impatientClock });
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const bounds = { min: 0, max: 1_000 };

async function textOf(store: ObjectStore, name: string): Promise<string | null> {
  const content = await store.read(name, bounds);
  return content === null ? null : new TextDecoder().decode(content);
}

describe.each([
  ['a directory', () => directoryFiles(join(folder.path, 'some archive'))],
  ['S3', () => inBucket('a folder/ünïcode+1(2)')],
] as const)('%s', (_, open) => {
  const store = open();

  test('is empty at first', async () => {
    expect(await store.list('')).toEqual([]);
    expect(await textOf(store, 'one')).toBeNull();
    await store.remove('one');
  });

  test('can be checked without writing', async () => {
    await store.check();
    expect(await store.list('')).toEqual([]);
  });

  test('creates a file once, and keeps it if it is created again', async () => {
    expect(await store.create('one', bytes('first'))).toBe(true);
    expect(await store.create('one', bytes('second'))).toBe(false);
    expect(await textOf(store, 'one')).toBe('first');
  });

  test('replaces an existing file, and removes a file', async () => {
    await store.write('two', bytes('first'));
    await store.write('two', bytes('second'));
    expect(await textOf(store, 'two')).toBe('second');
    expect(await store.list('')).toEqual(['one', 'two']);
    await store.remove('two');
    expect(await store.list('')).toEqual(['one']);
  });

  test('lists names by prefix, in order, over several pages', async () => {
    const names = Array.from({ length: 25 }, (_, index) => `many-${String(24 - index).padStart(3, '0')}`);
    for (const name of names) await store.write(name, bytes(name));
    expect(await store.list('many-')).toEqual(names.toSorted());
    expect(await store.list('many-01')).toHaveLength(10);
  });
});

test('sends an upload again if the server rejects it as truncated', async () => {
  const store = inBucket('torn');
  let torn = 0;
  server.fail = ({ method }) => (method === 'PUT' && torn++ === 0 ? 'torn' : null);
  expect(await store.create('one', bytes('the whole text'))).toBe(true);
  server.fail = () => null;
  expect(torn).toBe(2);
  expect(await textOf(store, 'one')).toBe('the whole text');
});

test('retries if S3 reports a conflict with another request', async () => {
  const store = inBucket('conflict');
  let conflicts = 0;
  server.fail = () => (conflicts++ < 2 ? { status: 409, code: 'ConditionalRequestConflict' } : null);
  expect(await store.create('one', bytes('first'))).toBe(true);
  server.fail = () => null;
  expect(conflicts).toBe(3);
});

test('if the response to an upload is lost, the object is kept and not created again', async () => {
  const store = inBucket('unanswered');
  let uploads = 0;
  server.fail = ({ method }) => (method === 'PUT' && uploads++ === 0 ? 'unanswered' : null);
  expect(await store.create('one', bytes('first'))).toBe(false);
  server.fail = () => null;
  expect(await textOf(store, 'one')).toBe('first');
});

test('a directory is created for its owner only, and only if its parent exists', async () => {
  const path = join(folder.path, 'private');
  await directoryFiles(path).write('one', bytes('first'));
  expect(statSync(path).mode & 0o077).toBe(0);
  expect(statSync(join(path, 'one')).mode & 0o077).toBe(0);
  const missing = join(folder.path, 'not mounted', 'archive');
  await expect(directoryFiles(missing).write('one', bytes('first'))).rejects.toThrow(
    `The directory ${join(folder.path, 'not mounted')} doesn't exist.`,
  );
  expect(existsSync(join(folder.path, 'not mounted'))).toBe(false);
});

test('the check rejects a location that can never be written', async () => {
  const file = join(folder.path, 'a file');
  writeFileSync(file, '');
  await expect(directoryFiles(file).check()).rejects.toBeInstanceOf(OperatorError);
  await expect(directoryFiles(join(file, 'archive')).check()).rejects.toThrow('a part of the path is a file');
  await expect(directoryFiles(join(folder.path, 'none', 'archive')).check()).rejects.toThrow("none doesn't exist");
  const withoutKeys = s3Objects({ url: 's3://bucket/archive', variables: {}, clock: impatientClock });
  await expect(withoutKeys.check()).rejects.toThrow('The credentials for S3 are missing.');
});

test('a public directory and its files are readable by others, whatever the umask', async () => {
  const path = join(folder.path, 'public');
  const store = directoryFiles(path, true);
  const umask = process.umask(0o077);
  try {
    await store.create('one', bytes('text'));
    await store.write('two', bytes('text'));
  } finally {
    process.umask(umask);
  }
  const modes = [path, join(path, 'one'), join(path, 'two')].map((name) => statSync(name).mode & 0o777);
  expect(modes).toEqual([0o755, 0o644, 0o644]);
});

test('the partial file of a killed process is not part of the directory', async () => {
  const path = join(folder.path, 'killed');
  mkdirSync(path);
  writeFileSync(join(path, 'one.partial'), 'fir');
  const store = directoryFiles(path);
  expect(await store.create('one', bytes('first'))).toBe(true);
  expect(readdirSync(path)).toEqual(['one']);
});

test.skipIf(!canMount)('a full disk is reported, and no part of the file remains', async () => {
  using disk = smallDisk(131_072)!;
  const store = directoryFiles(join(disk.path, 'archive'));
  await store.create('one', bytes('first'));
  disk.fill();
  const failure = await store.create('two', new Uint8Array(40_000)).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(DiskFullError);
  expect(await store.list('')).toEqual(['one']);
  disk.empty();
  expect(await store.create('two', new Uint8Array(40_000))).toBe(true);
});

test('a location must be a path outside the data directory, or an S3 URL with a prefix', () => {
  expect(() => objectStoreAt(join(folder.path, 'data', 'archive'), join(folder.path, 'data'))).toThrow(
    'is inside the data',
  );
  expect(() => objectStoreAt('https://example.org/archive', null)).toThrow('not a location for an archive');
  expect(() => objectStoreAt('s3://bucket', null)).toThrow('has no prefix');
  expect(objectStoreAt('s3://bucket/archive', null).location).toBe('s3://bucket/archive');
});
