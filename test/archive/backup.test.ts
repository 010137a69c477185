/** A backup updates an archive from a data directory, and a restore returns the directory's state. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'bun';
import { findEnd } from '../../src/archive/archive.ts';
import { openArchive } from '../../src/archive/open.ts';
import { newPrivateKey, parseSigner } from '../../src/archive/signing.ts';
import { systemClock } from '../../src/base/clock.ts';
import { runBackup, runRestore } from '../../src/commands/data/archive.ts';
import { readSettingsOf } from '../../src/settings/config.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { archive, objectsIn, refusal, restoredFrom } from '../support/data/archive.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { copyData } from '../support/data/copy.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { entryOf, ingestOf, OTHER_IDENTITY, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { everything, wholeIndex } from '../support/data/tables.ts';
import { mortal } from '../support/servers/failing-store.ts';

const events = simulatedEvents({ seed: 8, blocks: 12, transactionsPerBlock: 2, forkEvery: 4, forkDepth: 2 });
const half = events.length >> 1;

const source = ingestOf(events.slice(0, half));
const all = ingestOf(events);
const places = dataDirectory();
afterAll(() => {
  for (const resource of [source, all, places]) resource[Symbol.dispose]();
});
let count = 0;
/** Returns a path that doesn't exist yet. */
const fresh = (): string => {
  count += 1;
  return join(places.path, String(count));
};

/** Returns a copy of the source that accepts the following events. */
function growingData() {
  const path = fresh();
  cpSync(source.path, path, { recursive: true });
  return {
    path,
    grow(from: number, to: number): void {
      using opened = openAt(path);
      for (const event of events.slice(from, to)) opened.ingest.apply(event);
      opened.ingest.commit();
    },
  };
}

test('a restored backup equals the data, and accepts the events that follow', async () => {
  const [store, directory] = [fresh(), fresh()];
  const { entry, base } = await backupOf(source.path, store);
  expect(await restored(store, directory)).toBe(entry);
  expect(readdirSync(store)).toContain(base.name);
  expect(base.height).toBeGreaterThan(3);
  expect(everything(directory)).toEqual(everything(source.path));
  using opened = openAt(directory);
  for (const event of events.slice(half)) opened.ingest.apply(event);
  opened.ingest.commit();
  opened.ingest.close();
  expect(everything(directory)).toEqual(everything(all.path));
});

test('a repeated backup sends only new data, and nothing if there is none', async () => {
  const [store, data] = [fresh(), growingData()];
  const first = await backupOf(data.path, store);
  const before = readdirSync(store).sort();
  const second = await backupOf(data.path, store);
  expect(second).toEqual({ ...first, sent: expect.any(Number) });
  expect(readdirSync(store).sort()).toEqual(before);
  expect(second.sent).toBe(0);
  data.grow(half, half + 4);
  const next = await backupOf(data.path, store);
  expect(next.entry).toBe(first.entry + 4);
  expect(next.sent).toBeLessThan(first.sent);
  const directory = fresh();
  await restored(store, directory);
  expect(everything(directory)).toEqual(everything(data.path));
});

test('a repeated backup uploads every missing part of its base again', async () => {
  const store = fresh();
  await backupOf(all.path, store);
  const before = objectsIn(store);
  const parts = Object.keys(before).filter((name) => name.startsWith('part-'));
  expect(parts.length).toBeGreaterThan(9);
  for (const part of parts) {
    rmSync(join(store, part));
    await backupOf(all.path, store);
    expect(objectsIn(store)).toEqual(before);
  }
});

test('a backup during events contains at least all earlier events, and its base is one state of the index', async () => {
  const [store, data] = [fresh(), growingData()];
  using opened = openAt(data.path);
  let next = half;
  const target = directoryFiles(store);
  const busy: ObjectStore = {
    ...target,
    async create(name, bytes) {
      if (next < events.length) opened.ingest.apply(events[next++]!);
      return target.create(name, bytes);
    },
  };
  const { entry } = await backupOf(data.path, busy);
  expect(next).toBeGreaterThan(half + 5);
  expect(entry).toBeGreaterThanOrEqual(half);
  const directory = fresh();
  await restored(store, directory);
  using fed = ingestOf(events.slice(0, entry - entryOf(0)));
  expect(everything(directory)).toEqual(everything(fed.path));
});

test('a backup and a server can write the same archive', async () => {
  const [store, data] = [fresh(), growingData()];
  await archive(data.path, directoryFiles(store), 'server');
  await backupOf(data.path, store);
  data.grow(half, events.length);
  await archive(data.path, directoryFiles(store), 'server');
  const directory = fresh();
  await restored(store, directory);
  expect(everything(directory)).toEqual(everything(all.path));
});

test('a backup that stops at any request leaves a valid archive, and the next backup completes it', async () => {
  const whole = fresh();
  await backupOf(source.path, whole);
  const { base } = await backupOf(source.path, whole);
  for (const requests of [1, 5, 13, 34]) {
    for (const isDone of [true, false]) {
      const path = fresh();
      const dying = mortal(directoryFiles(path), { requests, isDone });
      await Promise.race([dying.died, backupOf(source.path, dying.store)]);
      const { fault } = await findEnd(directoryFiles(path));
      expect(fault).toBeNull();
      expect((await backupOf(source.path, path)).base).toEqual(base);
      const directory = fresh();
      await restored(path, directory);
      expect(wholeIndex(directory)).toEqual(wholeIndex(source.path));
    }
  }
});

test('a public backup is signed and contains no chainhook secrets and no IP addresses of faucet users', async () => {
  const [copy, store] = [fresh(), fresh()];
  copyData(source.path, copy);
  const secret = Buffer.from('a secret of this server');
  const address = '203.0.113.77 asked';
  {
    using db = new Database(indexPath(copy));
    db.run('INSERT INTO hook_secrets VALUES (?1, ?2, NULL, 0)', ['consumer', secret]);
    db.run("INSERT INTO faucet_requests VALUES ('stx', 'ST1', 0, ?1)", [address]);
  }
  const holds = (root: string): boolean[] => {
    const packed = readdirSync(root).filter((name) => name.endsWith('.zst'));
    const text = packed.map((name) => zstdDecompressSync(readFileSync(join(root, name))).toString('latin1')).join();
    return [text.includes(secret.toHex().toUpperCase()), text.includes(address)];
  };
  await backupOf(copy, `${store}-not`);
  expect(holds(`${store}-not`)).toEqual([true, true]);
  const signer = parseSigner(newPrivateKey())!;
  const { base } = await backupOf(copy, store, { signer });
  expect(holds(store)).toEqual([false, false]);
  const trust = { archivePublicKey: signer.publicKey, archiveUnsigned: false };
  const signed = await openArchive({ location: store, directory: null, trust, clock: systemClock, lacks: () => {} });
  // The head names the snapshot, so a reader starts with it.
  expect(await signed.list('base-')).toEqual([base.name]);
  const directory = fresh();
  await restoredFrom(signed, directory);
  openAt(directory)[Symbol.dispose]();
});

test('a backup of empty or inconsistent data is rejected without waiting for missing entries', async () => {
  using empty = ingestOf([]);
  expect(await refusal(backupOf(empty.path, fresh()))).toContain("doesn't contain a block yet");
  const older = fresh();
  copyData(all.path, older);
  copyData(source.path, `${older}-older`);
  cpSync(join(`${older}-older`, 'journal.db'), join(older, 'journal.db'));
  expect(await refusal(backupOf(older, fresh()))).toContain(`its journal ends at event ${entryOf(half)}`);
  const nowhere = fresh();
  expect(await refusal(backupOf(nowhere, fresh()))).toContain(nowhere);
});

test("a backup to another server's archive is rejected and changes nothing", async () => {
  const store = fresh();
  using other = ingestOf(events.slice(0, 9), { random: OTHER_IDENTITY });
  await backupOf(other.path, store);
  const before = objectsIn(store);
  expect(await refusal(backupOf(source.path, store))).toContain('belongs to the log ');
  const signer = parseSigner(newPrivateKey())!;
  expect(await refusal(backupOf(other.path, store, { signer }))).toContain('is private, and');
  expect(objectsIn(store)).toEqual(before);
});

test('bases older than the chosen days are removed, except for the newest', async () => {
  const [store, data] = [fresh(), growingData()];
  const keepDays = 1;
  const day = (n: number) => ({ ...systemClock, now: () => Date.UTC(2026, 0, n), after: systemClock.after });
  await backupOf(data.path, store, { keepDays, clock: day(1) });
  data.grow(half, half + 6);
  await backupOf(data.path, store, { keepDays, clock: day(2) });
  data.grow(half + 6, events.length);
  const { base } = await backupOf(data.path, store, { keepDays, clock: day(9) });
  expect(readdirSync(store).filter((name) => name.startsWith('base-'))).toEqual([base.name]);
  const directory = fresh();
  await restored(store, directory);
  expect(everything(directory)).toEqual(everything(all.path));
});

test.each(['ftp://host/backup', 'https://host/backup', 'S4://bucket/key'])(
  'a backup to %s is rejected, and so is a restore from neither a path nor a URL',
  async (location) => {
    using directory = dataDirectory();
    const problem = `${location} is not a location for an archive.`;
    const settings = readSettingsOf('backup', { data: directory.path }, {}).settings;
    expect(await refusal(runBackup(settings, location, false))).toBe(problem);
    if (location.startsWith('https:')) return;
    const restoring = readSettingsOf('restore', { data: directory.path }, {}).settings;
    expect(await refusal(runRestore(restoring, location))).toBe(problem);
  },
);
