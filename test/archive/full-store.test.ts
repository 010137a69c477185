/** Full storage: no existing object is damaged or replaced, and archiving continues once there is space. */
import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { operatorErrorOf } from '../../src/base/system-errors.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { archive, baseIn, faultsIn, refusal, restoredFrom } from '../support/data/archive.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { canMount, smallDisk } from '../support/data/small-disk.ts';
import { everything } from '../support/data/tables.ts';

const events = simulatedEvents({ seed: 8, blocks: 8, transactionsPerBlock: 2, forkEvery: 6 });
const source = ingestOf(events);
afterAll(() => source[Symbol.dispose]());

/** Archives everything, and makes a snapshot. */
async function archiveAll(store: ObjectStore): Promise<void> {
  await archive(source.path, store);
  await baseIn(source.path, store);
}

const sizeOf = (path: string): number =>
  readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0);

async function expectRestored(store: ObjectStore): Promise<void> {
  using into = dataDirectory();
  const path = join(into.path, 'new');
  await restoredFrom(store, path);
  expect(everything(path)).toEqual(everything(source.path));
}

test('a store that fills up repeatedly never has damaged objects, and each object is sent once', async () => {
  using folder = dataDirectory();
  const [whole, path] = [join(folder.path, 'whole'), join(folder.path, 'archive')];
  await archiveAll(directoryFiles(whole));
  const step = Math.ceil(sizeOf(whole) / 6);
  const files = directoryFiles(path);
  const created: string[] = [];
  let room = 0;
  /** @throws OperatorError as a full file system does */
  const require = (name: string, { length }: Uint8Array): void => {
    room -= length;
    if (room >= 0) return;
    const cause = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    throw operatorErrorOf(cause, join(path, name));
  };
  const store: ObjectStore = {
    ...files,
    async create(name, bytes) {
      require(name, bytes);
      const isNew = await files.create(name, bytes);
      if (isNew) created.push(name);
      return isNew;
    },
    async write(name, bytes) {
      require(name, bytes);
      await files.write(name, bytes);
    },
  };
  let refusals = 0;
  for (; ; refusals++) {
    room += step;
    const error: unknown = await archiveAll(store).catch((thrown: unknown) => thrown);
    if (error === undefined) break;
    expect(await refusal(Promise.reject(error))).toMatch(/^The disk of \S+ is full\.$/);
  }
  expect(await faultsIn(files)).toEqual([]);
  expect(refusals).toBeGreaterThan(3);
  expect(created).toEqual([...new Set(created)]);
  expect(readdirSync(path).sort()).toEqual(readdirSync(whole).sort());
  await expectRestored(store);
});

describe.skipIf(!canMount)('a file system of a few megabytes', () => {
  test('that fills up during a write keeps no partial file, and the archive continues when there is space', async () => {
    using disk = smallDisk(4 * 1024 * 1024)!;
    const path = join(disk.path, 'archive');
    const store = directoryFiles(path);
    await archive(source.path, store);
    // Each time, there is space for some parts and a piece of the next one.
    let refusals = 0;
    for (let base: unknown = null; base === null; refusals++) {
      disk.empty();
      disk.fill(60_000);
      base = await baseIn(source.path, store).catch(async (error: unknown) => {
        expect(await refusal(Promise.reject(error))).toMatch(/^The disk of \S+ is full\.$/);
        return null;
      });
      expect(await faultsIn(store)).toEqual([]);
      expect(readdirSync(path).filter((name) => !/\.(zst|json)$/.test(name))).toEqual([]);
    }
    expect(refusals).toBeGreaterThan(1);
    disk.empty();
    await expectRestored(store);
  });
});
