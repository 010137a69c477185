/** A backup is one state of the data, and a restore is complete or can be continued. */

import { Database } from 'bun:sqlite';
import { afterAll, expect, spyOn, test } from 'bun:test';
import * as files from 'node:fs';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'bun';
import { directorySource, directoryTarget } from '../../src/backup/directory.ts';
import { type BackupSource, MANIFEST, partName, partsOf } from '../../src/backup/manifest.ts';
import type { SizeBounds } from '../../src/backup/transfer.ts';
import { PassingError } from '../../src/base/errors.ts';
import { runBackup, runRestore } from '../../src/commands/data/backup.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { copyData } from '../../src/store/files/backup.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import { newestBackup, noteBackup, noteMadeBackup } from '../../src/store/files/newest-backup.ts';
import { directoryStatus } from '../../src/store/files/status.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';

const PART = 131_072;
const events = [...devnetEvents({ seed: 8, blocks: 9, transactionsPerBlock: 2, forkEvery: 4, forkDepth: 2 })].map(
  received,
);
const half = events.length >> 1;

const source = ingestOf(events.slice(0, half));
const places = dataDirectory();
afterAll(() => {
  source[Symbol.dispose]();
  places[Symbol.dispose]();
});
const place = join(places.path, 'backup');
const manifest = await backupOf(source.path, place, { partBytes: PART });
const parts = partsOf(manifest);
const whole = everything(source.path);

test('a restored directory is what was saved, and takes the events that follow', async () => {
  using folder = dataDirectory();
  const { found } = await restored(place, folder.path);
  expect(found).toBe(0);
  expect(everything(folder.path)).toEqual(whole);
  expect(
    readdirSync(folder.path)
      .filter((name) => !/\.db|-(wal|shm)$/.test(name))
      .sort(),
  ).toEqual(['snapshot.json', 'writer.lock']);
  const known = { location: place, position: manifest.position, chain: manifest.chain };
  expect([newestBackup(folder.path), newestBackup(source.path)]).toEqual([known, known]);
  using opened = openAt(folder.path);
  for (const event of events.slice(half)) opened.ingest.apply(event);
  opened.ingest.commit();
  opened.ingest.close();
  using fed = ingestOf(events);
  expect(everything(folder.path)).toEqual(everything(fed.path));
});

/** A source that has `after` called with the names of what was read of it. */
const watched = (after: (name: string) => void): BackupSource => {
  const { location, read } = directorySource(place);
  return {
    location,
    async read(name, bounds) {
      const bytes = await read(name, bounds);
      after(name);
      return bytes;
    },
  };
};

test('a restore that was killed at any part goes on from there', async () => {
  using folder = dataDirectory();
  const images: DataDirectory[] = [];
  await restored(
    watched(() => {
      const image = dataDirectory();
      cpSync(folder.path, image.path, { recursive: true });
      images.push(image);
    }),
    folder.path,
  );
  expect(images.length).toBe(parts.length + 1);
  for (const [at, image] of images.entries()) {
    using _ = image;
    // The first was taken before anything was made.
    if (at > 0) for (const open of [openAt, directoryStatus]) expect(() => open(image.path)).toThrow('A restore into');
    const read: string[] = [];
    const { found } = await restored(
      watched((name) => read.push(name)),
      image.path,
    );
    expect(everything(image.path)).toEqual(whole);
    expect({ at, fresh: found > 0 || at < 6 }).toEqual({ at, fresh: true });
    // Parts are fetched four at a time.
    expect(read.length).toBeLessThanOrEqual(parts.length + 1 - Math.max(0, at - 5));
  }
});

test('a restore that was left alone by its server goes on, and another backup does not come between', async () => {
  using folder = dataDirectory();
  let reads = 0;
  const failing = watched(() => {
    reads += 1;
    if (reads > 6) throw new PassingError('The server is gone.', 'Try again.');
  });
  await expect(restored(failing, folder.path)).rejects.toThrow('The server is gone.');
  const other = join(places.path, 'other');
  await backupOf(source.path, other, { partBytes: PART });
  await expect(restored(other, folder.path)).rejects.toThrow('A restore of another backup');
  const { found } = await restored(place, folder.path);
  expect(found).toBeGreaterThan(0);
  expect(everything(folder.path)).toEqual(whole);
});

test('bits that turned in any part are noticed, and nothing of the part is used', async () => {
  using copy = dataDirectory();
  cpSync(place, copy.path, { recursive: true });
  for (const { number, file, offset, length } of parts) {
    using folder = dataDirectory();
    const path = join(copy.path, partName(number));
    const bytes = readFileSync(path);
    const turned = Buffer.from(bytes);
    // One bit in a thousand means nothing to zstd.
    for (let bit = 0; bit < 8; bit++)
      turned[(turned.length >> 1) + bit] = turned[(turned.length >> 1) + bit]! ^ (1 << bit);
    writeFileSync(path, turned);
    const damage = `${partName(number)} of the backup at ${copy.path} is damaged`;
    await expect(restored(copy.path, folder.path)).rejects.toThrow(damage);
    const there = readFileSync(join(folder.path, 'restore', file)).subarray(offset, offset + length);
    expect(there.every((byte) => byte === 0)).toBe(true);
    writeFileSync(path, bytes);
    if (number !== 3) continue;
    await restored(copy.path, folder.path);
    expect(everything(folder.path)).toEqual(whole);
  }
});

test('a part that is missing, short or of another backup is named', async () => {
  using copy = dataDirectory();
  cpSync(place, copy.path, { recursive: true });
  const [first, second] = [partName(1), partName(2)].map((name) => join(copy.path, name)) as [string, string];
  using folder = dataDirectory();
  cpSync(second, first);
  await expect(restored(copy.path, folder.path)).rejects.toThrow('part-000001.zst of the backup');
  writeFileSync(first, readFileSync(join(place, partName(1))).subarray(1));
  await expect(restored(copy.path, folder.path)).rejects.toThrow('it has');
  writeFileSync(first, Buffer.concat([readFileSync(join(place, partName(1))), Buffer.alloc(9)]));
  await expect(restored(copy.path, folder.path)).rejects.toThrow('says that it has no more than');
});

test('a directory that holds data is left as it is, and one of another chain is not made', async () => {
  using copy = dataDirectory();
  cpSync(source.path, copy.path, { recursive: true });
  await expect(restored(place, copy.path)).rejects.toThrow('holds data already');
  expect(everything(copy.path)).toEqual(whole);
  for (const name of ['index.db-journal', 'journal.db-journal', 'journal.db-wal']) {
    using stale = dataDirectory();
    writeFileSync(join(stale.path, name), 'of another file');
    await expect(restored(place, stale.path)).rejects.toThrow('holds data already');
  }
  using folder = dataDirectory();
  await expect(restored(place, folder.path, 1)).rejects.toThrow(
    'is of chain 0x80000000, but the setting names 0x00000001',
  );
  await expect(restored(join(places.path, 'nowhere'), folder.path)).rejects.toThrow('There is no backup at');
  expect(readdirSync(folder.path)).toEqual(['writer.lock']);
});

test('a disk without room for the backup is reported before anything is fetched', async () => {
  using folder = dataDirectory();
  const full = spyOn(files, 'statfsSync').mockImplementation((() => ({ bavail: 10, bsize: 4_096 })) as never);
  try {
    const read: string[] = [];
    const needs = `has 40960 bytes free, and the backup needs ${manifest.bytes} more`;
    await expect(
      restored(
        watched((name) => read.push(name)),
        folder.path,
      ),
    ).rejects.toThrow(needs);
    expect(read).toEqual([MANIFEST]);
  } finally {
    full.mockRestore();
  }
});

test('a backup while events come holds exactly the events that its manifest says', async () => {
  using folder = dataDirectory();
  // The index is committed later than the journal, and the test never lets the time pass.
  using opened = openAt(folder.path, { after: () => () => {} });
  let next = 0;
  const feed = (count: number) => {
    for (const event of events.slice(next, next + count)) opened.ingest.receive(event);
    next += count;
  };
  feed(20);
  const target = directoryTarget(join(folder.path, 'backup'));
  const made = await backupOf(folder.path, '', {
    partBytes: PART,
    target: {
      ...target,
      async begin() {
        feed(10);
        await target.begin();
      },
      write(name, bytes) {
        feed(3);
        return target.write(name, bytes);
      },
    },
  });
  expect(next).toBeGreaterThan(40);
  using fresh = dataDirectory();
  await restored(join(folder.path, 'backup'), fresh.path);
  using fed = ingestOf(events.slice(0, 30));
  expect(everything(fresh.path)).toEqual(everything(fed.path));
  expect(made.position).toBe(everything(fed.path).journal.length);
});

test('what is read back must be what was written, else there is no backup', async () => {
  const path = join(places.path, 'forgetful');
  const target = directoryTarget(path);
  const forgetful = {
    ...target,
    async read(name: string, bounds: SizeBounds) {
      const bytes = await target.read(name, bounds);
      if (name === partName(3)) bytes![9] = bytes![9]! ^ 1;
      return bytes;
    },
  };
  await expect(backupOf(source.path, '', { partBytes: PART, target: forgetful })).rejects.toThrow(
    'is not what was written',
  );
  expect(readdirSync(places.path).filter((name) => name.startsWith('forgetful'))).toEqual([]);
});

test('a public backup has no chainhooks, no secrets, and nobody who asked a faucet', async () => {
  using copy = dataDirectory();
  copyData(source.path, copy.path);
  const secret = Buffer.from('a secret that nobody else may know');
  const address = '203.0.113.77 asked';
  {
    using db = new Database(indexPath(copy.path));
    db.run('INSERT INTO hook_secrets VALUES (?1, ?2, NULL, 0)', ['consumer', secret]);
    db.run("INSERT INTO faucet_requests VALUES ('stx', 'ST1', 0, ?1)", [address]);
  }
  const path = join(places.path, 'public');
  const holds = (from: string): boolean[] => {
    const bytes = Buffer.concat(
      readdirSync(from)
        .filter((name) => name !== MANIFEST)
        .sort()
        .map((name) => zstdDecompressSync(readFileSync(join(from, name)))),
    );
    return [bytes.includes(secret), bytes.includes(address)];
  };
  await backupOf(copy.path, `${path}-not`, { partBytes: PART });
  expect(holds(`${path}-not`)).toEqual([true, true]);
  await backupOf(copy.path, path, { partBytes: PART, public: true });
  expect(holds(path)).toEqual([false, false]);
  using folder = dataDirectory();
  await restored(path, folder.path);
  expect(newestBackup(folder.path)).toBeNull();
  expect(existsSync(journalPath(folder.path))).toBe(true);
  openAt(folder.path)[Symbol.dispose]();
});

test.skipIf(!existsSync('/dev/zero'))('a backup whose files are links to devices is refused, not read', async () => {
  using hostile = dataDirectory();
  using folder = dataDirectory();
  symlinkSync('/dev/zero', join(hostile.path, MANIFEST));
  await expect(restored(hostile.path, folder.path)).rejects.toThrow(`${join(hostile.path, MANIFEST)} is no file.`);
});

test('a backup removes the partial backup beside it, and nothing else', async () => {
  const path = join(places.path, 'beside');
  const partial = `${path}.partial`;
  mkdirSync(join(partial, 'copy'), { recursive: true });
  writeFileSync(join(partial, partName(1)), 'left by a backup');
  writeFileSync(join(partial, 'letter.txt'), 'precious');
  expect(() => directoryTarget(path)).toThrow(`${partial} holds letter.txt, which is of no backup`);
  expect(readFileSync(join(partial, 'letter.txt'), 'utf8')).toBe('precious');
  files.rmSync(join(partial, 'letter.txt'));
  await backupOf(source.path, path);
  expect(existsSync(partial)).toBe(false);
});

test('a backup is noted in place of one of other data, however far that is, and not in place of a newer one', async () => {
  const foreign = { location: 'elsewhere', position: manifest.position + 1_000, chain: 'ab'.repeat(32) };
  using folder = dataDirectory();
  noteBackup(folder.path, foreign);
  await restored(place, folder.path);
  expect(newestBackup(folder.path)?.location).toBe(place);
  noteBackup(folder.path, foreign);
  const made = join(places.path, 'noted');
  const newest = { location: made, position: manifest.position, chain: manifest.chain };
  await backupOf(folder.path, made);
  expect(newestBackup(folder.path)).toEqual(newest);
  noteMadeBackup(folder.path, { ...newest, location: 'older', position: manifest.position - 1 });
  expect(newestBackup(folder.path)).toEqual(newest);
});

test.each(['ftp://host/backup', 'https://host/backup', 'S4://bucket/key'])(
  'a backup to %s is refused, and so is a restore of what is neither a path nor a URL',
  async (location) => {
    using directory = dataDirectory();
    const problem = `${location} is not a location for a backup.`;
    const backup = runBackup({ data: directory.path } as never, location, false);
    await expect(backup).rejects.toMatchObject({ message: problem, remedy: expect.stringContaining('Give a path') });
    if (location.startsWith('https:')) return;
    const restore = runRestore({ data: directory.path, archiveKey: null } as never, location);
    await expect(restore).rejects.toMatchObject({ message: problem, remedy: expect.stringContaining('Give a path') });
  },
);
