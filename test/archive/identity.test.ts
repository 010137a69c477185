/** One archive stores one history: data restored to an earlier point has a new identity and needs another archive. */

import { beforeEach, expect, test } from 'bun:test';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ArchiveDamagedError } from '../../src/archive/archive.ts';
import { IDENTITY } from '../../src/archive/archive-directory.ts';
import { signedArchive } from '../../src/archive/open.ts';
import { newPrivateKey, parseSigner } from '../../src/archive/signing.ts';
import { systemClock } from '../../src/base/clock.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { dataStateOf } from '../../src/store/files/status.ts';
import { archive, archiverOf, baseIn, faultsIn, objectsIn, refusal, restoredFrom } from '../support/data/archive.ts';
import { copyData } from '../support/data/copy.ts';
import { entryOf, ingestOf, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { everything, journalRows } from '../support/data/tables.ts';
import { failureOf } from '../support/failure.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';

const events = simulatedEvents({ seed: 6, blocks: 12, transactionsPerBlock: 2 });
const { keep, folder } = keepToEnd();
const random = { uuid: () => crypto.randomUUID() };
const HALF = 20;
const half = keep(ingestOf(events.slice(0, HALF), { random }));
const last = entryOf(HALF);
const identityOf = (directory: string): string => dataStateOf(directory).identity ?? '';

let path = '';
let store: ObjectStore;
beforeEach(async () => {
  path = folder();
  store = directoryFiles(path);
  await archive(half, store);
});

const namedIdentity = (root = path): string => JSON.parse(readFileSync(join(root, IDENTITY), 'utf8')).identity;

function goOn(directory: string, later = events.slice(HALF, HALF + 6)): void {
  using open = openAt(directory);
  for (const event of later) open.ingest.apply(event);
  open.ingest.commit();
}

/** Requires that the archiver rejects the journal, changes nothing, and suggests a separate location. */
async function expectRefused(
  directory: string,
  message = /belongs to the log [0-9a-f]{32}, but this server has the log/,
) {
  const before = objectsIn(path);
  using archiver = archiverOf(directory, store);
  const { message: problem, remedy } = await failureOf(OperatorError, archiver.round());
  expect(problem).toMatch(message);
  expect(remedy).toContain(`${path}-${identityOf(directory).slice(0, 8)}`);
  expect(objectsIn(path)).toEqual(before);
}

test('a restore to the end keeps the identity in archive.json and can continue the archive', async () => {
  expect(namedIdentity()).toBe(identityOf(half));
  const into = folder();
  await restoredFrom(store, into);
  expect(identityOf(into)).toBe(identityOf(half));
  goOn(into);
  await archive(into, store, 'two');
  expect(await faultsIn(store)).toEqual([]);
  const second = folder();
  await restoredFrom(store, second);
  expect(everything(second)).toEqual(everything(into));
});

test("data restored with --until writes nothing to the original archive, even at the archive's last entry", async () => {
  for (const entry of [entryOf(1), last - 1, last]) {
    const into = folder();
    expect(await restoredFrom(store, into, { until: { entry } })).toBe(entry + 1);
    expect(identityOf(into)).not.toBe(identityOf(half));
    await expectRefused(into);
    goOn(into, events.slice(entry - entryOf(0), entry + 5));
    await expectRefused(into);
  }
});

test('data restored to an earlier point can be archived elsewhere, and restored from there with its identity', async () => {
  const into = folder();
  await restoredFrom(store, into, { until: { entry: last - 3 } });
  goOn(into, events.slice(HALF - 3, HALF + 8));
  const other = folder();
  await archive(into, directoryFiles(other));
  await baseIn(into, directoryFiles(other));
  expect(namedIdentity(other)).toBe(identityOf(into));
  expect(await faultsIn(directoryFiles(other))).toEqual([]);
  for (const base of [null, 'none'] as const) {
    const second = folder();
    await restoredFrom(directoryFiles(other), second, { base });
    expect(everything(second)).toEqual(everything(into));
  }
  expect(checkAndRecount(into, { deep: silentMachine }).flatMap(({ problems }) => problems)).toEqual([]);
  // An earlier point of the second history starts a third one, even if it is before the second one's start.
  for (const entry of [last - 5, last + 2]) {
    const third = folder();
    await restoredFrom(directoryFiles(other), third, { until: { entry } });
    expect([identityOf(half), identityOf(into)]).not.toContain(identityOf(third));
  }
});

test('two restores to the same point have different identities', async () => {
  const [first, second] = [folder(), folder()];
  for (const into of [first, second]) await restoredFrom(store, into, { until: { entry: last - 2 } });
  expect(identityOf(first)).not.toBe(identityOf(second));
  const shared = folder();
  await archive(first, directoryFiles(shared));
  await archive(first, directoryFiles(shared), 'another host');
  expect(await refusal(archive(second, directoryFiles(shared)))).toContain('belongs to the log');
});

test('an archive replaced by another history rejects the original server', async () => {
  const into = folder();
  await restoredFrom(store, into, { until: { entry: last } });
  rmSync(path, { recursive: true });
  await archive(into, store);
  await expectRefused(half);
});

test("an archive without archive.json can't be written or restored", async () => {
  const into = folder();
  await restoredFrom(store, into, { until: { entry: last } });
  const named = readFileSync(join(path, IDENTITY));
  rmSync(join(path, IDENTITY));
  for (const directory of [into, half]) await expectRefused(directory, /has entries, but no archive\.json/);
  expect(await refusal(restoredFrom(store, folder()))).toContain('No archive found at');
  writeFileSync(join(path, IDENTITY), named);
  await archive(half, store);
});

test('verify and restore report an archive.json of another journal', async () => {
  const content = JSON.parse(readFileSync(join(path, IDENTITY), 'utf8'));
  writeFileSync(join(path, IDENTITY), JSON.stringify({ ...content, identity: 'ab'.repeat(16) }));
  const message = `archive.json names the log ${'ab'.repeat(16)}, but the entries belong to the log ${identityOf(half)}`;
  expect(await faultsIn(store)).toEqual([expect.stringContaining(message)]);
  expect(await refusal(restoredFrom(store, folder()))).toContain(message);
});

test('a restore of an unfinished upload advises to restore the archive that the data came from', async () => {
  const until = { entry: last - 2 };
  const into = folder();
  await restoredFrom(store, into, { until });
  const other = folder();
  const stop = new AbortController();
  // The machine is lost after the first segment.
  using archiver = archiverOf(into, directoryFiles(other), { archived: () => stop.abort() });
  await archiver.round('one', {}, stop.signal);
  expect(namedIdentity(other)).toBe(identityOf(into));
  const [fault] = await faultsIn(directoryFiles(other));
  expect(fault).toContain("an upload of restored data hasn't finished");
  const error = await failureOf(OperatorError, restoredFrom(directoryFiles(other), folder()));
  expect(error).not.toBeInstanceOf(ArchiveDamagedError);
  expect(error.message).toContain(fault!);
  expect(error.remedy).toContain('restore the archive that the data came from');
  const second = folder();
  await restoredFrom(store, second, { until });
  expect(journalRows(second).slice(0, -1)).toEqual(journalRows(into).slice(0, -1));
  // The server that still has the data finishes the upload.
  await archive(into, directoryFiles(other));
  expect(await faultsIn(directoryFiles(other))).toEqual([]);
  const finished = folder();
  await restoredFrom(directoryFiles(other), finished);
  expect(everything(finished)).toEqual(everything(into));
});

test('a restore that was killed at any moment has one new identity when it completes', async () => {
  const until = { entry: last - 2 };
  const killed = folder();
  const copies: string[] = [];
  const turn = async (): Promise<void> => {
    const copy = folder();
    cpSync(killed, copy, { recursive: true });
    copies.push(copy);
  };
  await restoredFrom(store, killed, { until, clock: { ...systemClock, turn } });
  expect(copies.length).toBeGreaterThan(3);
  for (const copy of copies) {
    rmSync(join(copy, 'writer.lock'), { force: true });
    const marked = JSON.parse(readFileSync(join(copy, 'restore', 'manifest.json'), 'utf8')).identity;
    expect(await restoredFrom(store, copy, { until })).toBe(until.entry + 1);
    expect(identityOf(copy)).toBe(marked);
    expect(identityOf(copy)).toBe(identityOf(killed));
    expect(existsSync(join(copy, 'restore'))).toBe(false);
    expect(journalRows(copy).length).toBe(until.entry + 1);
  }
});

test('a restore from a public archive keeps the identity, and a restore to an earlier point changes it', async () => {
  const signer = parseSigner(newPrivateKey())!;
  const open = folder();
  await archive(half, directoryFiles(open), 'one', { signer });
  const signed = () =>
    signedArchive({ source: directoryFiles(open), key: signer.publicKey, lacks: () => {}, seen: null, saw: () => {} });
  const [whole, earlier] = [folder(), folder()];
  await restoredFrom(await signed(), whole);
  expect(identityOf(whole)).toBe(identityOf(half));
  await restoredFrom(await signed(), earlier, { until: { entry: last } });
  expect(identityOf(earlier)).not.toBe(identityOf(half));
  expect(await refusal(archive(earlier, directoryFiles(open), 'one', { signer }))).toContain('belongs to the log');
  goOn(whole);
  await archive(whole, directoryFiles(open), 'one', { signer });
  const ownArchive = folder();
  await archive(earlier, directoryFiles(ownArchive), 'one', { signer });
  expect(namedIdentity(ownArchive)).toBe(identityOf(earlier));
  expect(await faultsIn(directoryFiles(ownArchive))).toEqual([]);
});

test('an older copy of the data has the same identity, and the archive rejects its entries', async () => {
  const copy = folder();
  copyData(half, copy);
  const newer = folder();
  await restoredFrom(store, newer);
  goOn(newer);
  await archive(newer, store);
  await expectRefused(copy, /doesn't match this log: \S+ ends with entry \d+, and the log with entry \d+/);
  goOn(copy, events.slice(HALF + 1, HALF + 2));
  expect(await refusal(archive(copy, store))).toContain("doesn't match this log");
});
