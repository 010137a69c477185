/**
 * Public archives: the private commands they omit, the contents of their head, and the hosts that may write to them.
 */
import { beforeAll, expect, test } from 'bun:test';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'bun';
import { IDENTITY } from '../../src/archive/archive-directory.ts';
import { packManifest } from '../../src/archive/base.ts';
import { HEAD, HEAD_TYPE, headBytes, readHead } from '../../src/archive/head.ts';
import { signedArchive } from '../../src/archive/open.ts';
import { parseSegmentName } from '../../src/archive/segment.ts';
import { newPrivateKey, parseSigner } from '../../src/archive/signing.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { hashOfPart, type ObjectStore } from '../../src/storage/object-store.ts';
import { privateContentIn } from '../../src/store/base/snapshot.ts';
import { openJournal } from '../../src/store/files/journal.ts';
import { COMMAND_PATH, isPrivateCommand, LOG_IDENTITY, publicEntry } from '../../src/store/ingest/commands.ts';
import { compressed, type Entry, nextChain, withheld } from '../../src/store/log/entry.ts';
import {
  archive,
  archiverOf,
  baseIn,
  faultsIn,
  noting,
  objectsIn,
  refusal,
  restoredFrom,
} from '../support/data/archive.ts';
import { copyData, withholdEntries } from '../support/data/copy.ts';
import { openAt } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { logWithCommands, PRIVATE } from '../support/data/log-with-commands.ts';
import { journalRows, tables, wholeIndex } from '../support/data/tables.ts';

const events = [...devnetEvents({ seed: 12, blocks: 10, accounts: 3, transactionsPerBlock: 1, forkEvery: 4 })];
const signer = parseSigner(newPrivateKey())!;
const { keep, folder } = keepToEnd();

let source: string;
let path: string;
let store: ObjectStore;
beforeAll(async () => {
  source = keep(await logWithCommands(events));
  path = folder();
  store = directoryFiles(path);
  await archive(source, store, 'one', { signer });
});

/** A public archive that a test may change. */
async function published(directory = source): Promise<{ place: string; ownStore: ObjectStore }> {
  const place = folder();
  const ownStore = directoryFiles(place);
  await archive(directory, ownStore, 'one', { signer });
  return { place, ownStore };
}

/** A private archive, as anybody could publish it: it claims to be public. */
async function disguised(directory = source): Promise<{ place: string; ownStore: ObjectStore }> {
  const place = folder();
  const ownStore = directoryFiles(place);
  await archive(directory, ownStore);
  const identity = join(place, IDENTITY);
  writeFileSync(identity, JSON.stringify({ ...JSON.parse(readFileSync(identity, 'utf8')), public: true }));
  return { place, ownStore };
}

/** An archive as its readers see it. */
const signedBy = (source: ObjectStore) =>
  signedArchive({ source, key: signer.publicKey, seen: null, saw: () => {}, lacks: () => {} });

/** The objects' contents: zstd is decompressed, and payloads are decoded from base64. */
const contents = (directory: string): Buffer =>
  Buffer.concat(
    readdirSync(directory).map((name) => {
      const bytes = readFileSync(join(directory, name));
      if (name.endsWith('.zst')) return Buffer.from(zstdDecompressSync(bytes));
      return name === HEAD
        ? Buffer.concat([bytes, Buffer.from(JSON.parse(bytes.toString()).payload, 'base64')])
        : bytes;
    }),
  );

test('a public archive contains no private commands, and proves every entry', async () => {
  const plain = folder();
  await archive(source, directoryFiles(plain));
  const [open, whole] = [contents(path), contents(plain)];
  for (const text of PRIVATE) expect([whole.includes(text), open.includes(text)]).toEqual([true, false]);
  const rows = journalRows(source);
  const commands = rows.filter((row) => row.path === COMMAND_PATH);
  expect(commands.length).toBeGreaterThan(2);
  for (const { text } of commands) {
    const { uuid, type } = JSON.parse(text);
    expect(open.includes(uuid)).toBe(type === LOG_IDENTITY);
  }
  expect(await faultsIn(store)).toEqual([]);
  const hashed = (row: { path: string; text: string }) => {
    const { path, text } = withheld({ ...row, id: 1, receivedAt: 0, chain: new Uint8Array() });
    return { path, text };
  };
  const into = folder();
  await restoredFrom(store, into);
  expect(journalRows(into)).toEqual(
    rows.map((row) => (row.path === COMMAND_PATH && isPrivateCommand(row.text) ? { ...row, ...hashed(row) } : row)),
  );
  expect(tables(into)).toEqual(tables(source));
  const index = wholeIndex(into);
  expect([index.hooks, index.hook_secrets, index.faucet_requests]).toEqual([[], [], []]);
});

test('commands about tokens are published, and all others are withheld', () => {
  const entry = (type: string): Entry => ({
    id: 1,
    receivedAt: 0,
    path: COMMAND_PATH,
    chain: new Uint8Array(32),
    text: JSON.stringify({ uuid: 'one', type, args: {} }),
  });
  const [refresh, unknown] = [entry('tokens.refresh'), entry('of.a.later.version')];
  expect(publicEntry(refresh)).toBe(refresh);
  expect(publicEntry(unknown)).toEqual(withheld(unknown));
  const invalid = { ...refresh, text: 'no command' };
  expect(publicEntry(invalid)).toEqual(withheld(invalid));
});

test('a journal with commands and a journal that withholds them make the same objects', async () => {
  const copy = folder();
  copyData(source, copy);
  openAt(copy)[Symbol.dispose]();
  withholdEntries(copy, COMMAND_PATH, isPrivateCommand);
  const [first, second] = [objectsIn(path), objectsIn((await published(copy)).place)];
  expect({ ...second, [HEAD]: '' }).toEqual({ ...first, [HEAD]: '' });
});

test('the head lists every object, and is signed with its payload type', async () => {
  const rows = journalRows(source);
  const head = await readHead(store, signer.publicKey);
  const names = readdirSync(path).sort();
  expect(head).toEqual({
    format: 1,
    archive: JSON.parse(readFileSync(join(path, IDENTITY), 'utf8')),
    written_at: expect.stringMatching(/^20\d\d-.*Z$/),
    entry: rows.length,
    chain: expect.any(String),
    base: null,
    segments: names.filter((name) => name.startsWith('segment-')),
    open: 'open-one.zst',
  });
  expect(names).toEqual([IDENTITY, HEAD, ...head!.segments, 'open-one.zst'].sort());
  expect(JSON.parse(readFileSync(join(path, HEAD), 'utf8')).payloadType).toBe(HEAD_TYPE);
});

test('the head is written last, and only if something is new', async () => {
  const { store: noted, names: written } = noting(directoryFiles(folder()), 'create', 'write');
  using archiver = archiverOf(source, noted, { signer });
  await archiver.round();
  expect(written.at(-1)).toBe(HEAD);
  expect(written.filter((name) => name === HEAD)).toHaveLength(1);
  const count = written.length;
  await archiver.round();
  expect(written).toHaveLength(count);
});

test('a private writer rejects a public archive, and a public writer a private archive', async () => {
  const before = objectsIn(path);
  expect(await refusal(archive(source, store))).toBe(
    `The archive at ${path} is public, and --archive-public is not given.`,
  );
  expect(objectsIn(path)).toEqual(before);
  const place = folder();
  await archive(source, directoryFiles(place));
  const private_ = objectsIn(place);
  expect(await refusal(archive(source, directoryFiles(place), 'one', { signer }))).toBe(
    `The archive at ${place} is private, and --archive-public is given.`,
  );
  expect(objectsIn(place)).toEqual(private_);
});

test('rejects a host with another key until the head is removed', async () => {
  const { place, ownStore } = await published();
  const other = parseSigner(newPrivateKey())!;
  expect(await refusal(archive(source, ownStore, 'two', { signer: other }))).toBe(
    `${HEAD} of the archive at ${place} is signed with ${signer.publicKey}, not with ${other.publicKey}.`,
  );
  await ownStore.remove(HEAD);
  await archive(source, ownStore, 'two', { signer: other });
  expect((await readHead(ownStore, other.publicKey))!.open).toBe('open-two.zst');
});

test('the next round replaces a truncated head', async () => {
  const { place, ownStore } = await published();
  writeFileSync(join(place, HEAD), readFileSync(join(place, HEAD)).subarray(0, 100));
  await archive(source, ownStore, 'one', { signer });
  expect((await readHead(ownStore, signer.publicKey))!.entry).toBe(journalRows(source).length);
});

test('a public base is signed, omits private commands, and starts a new server', async () => {
  const { place, ownStore } = await published();
  const whole = folder();
  cpSync(place, whole, { recursive: true });
  const base = (await baseIn(source, ownStore, {}, true))!;
  await baseIn(source, directoryFiles(whole));
  const [open, raw] = [contents(place), contents(whole)];
  for (const text of PRIVATE) {
    const forms = [text, Buffer.from(text).toString('hex').toUpperCase(), text.toUpperCase()];
    expect([text, forms.some((form) => open.includes(form))]).toEqual([text, false]);
  }
  expect(PRIVATE.filter((text) => raw.includes(text) || raw.includes(text.toUpperCase())).length).toBeGreaterThan(2);
  // The first head's writer hasn't seen the snapshot. The next writer has.
  await archive(source, ownStore, 'one', { signer });
  const head = (await readHead(ownStore, signer.publicKey))!;
  expect(head.base).toEqual({ name: base.name, sha256: hashOfPart(readFileSync(join(place, base.name))) });
  expect(parseSegmentName(head.segments[0]!)!.first).toBe(1);
  const loading: string[] = [];
  const signed = signedBy(ownStore);
  const into = folder();
  expect(await restoredFrom(signed, into, { loading: ({ name }) => loading.push(name) })).toBe(
    journalRows(source).length,
  );
  expect(new Set(loading)).toEqual(new Set([base.name]));
  expect(tables(into)).toEqual(tables(source));
  const index = wholeIndex(into);
  expect([index.hooks, index.hook_secrets, index.faucet_requests]).toEqual([[], [], []]);
  // The result equals a replay of the entries, so nobody can tell how a server started.
  const replayed = folder();
  await restoredFrom(signed, replayed, { base: 'none' });
  expect(wholeIndex(into)).toEqual(wholeIndex(replayed));
});

test('a restore and a verification reject a public archive with private commands, and rows of them', async () => {
  const { place, ownStore } = await disguised();
  const commands = journalRows(source).findIndex((row) => row.path === COMMAND_PATH && isPrivateCommand(row.text)) + 1;
  const entryFault = `The archive at ${place} is public, but entry ${commands} is a private or invalid command, which public archives omit.`;
  expect(await refusal(restoredFrom(ownStore, folder()))).toBe(entryFault);
  expect(await faultsIn(ownStore)).toContain(
    `entry ${commands} is a private or invalid command, which public archives omit`,
  );
  await baseIn(source, ownStore);
  expect(await refusal(restoredFrom(ownStore, folder()))).toBe(entryFault);
  // The entries are withheld now, and the rows of the base remain.
  const { ownStore: mixed } = await published();
  await baseIn(source, mixed);
  expect(await refusal(restoredFrom(mixed, folder()))).toMatch(
    /^The archive at .* is public, but part-[0-9a-f]{64}\.zst has rows of faucet_requests, which public archives omit\.$/,
  );
  const faults = await faultsIn(mixed);
  expect(faults.filter((fault) => !fault.endsWith(', which public archives omit'))).toEqual([]);
  expect(faults).toContainEqual(expect.stringMatching(/^part-[0-9a-f]{64}\.zst has rows of hooks,/));
});

test('a restore and a verification of a public archive name an entry that is an invalid command', async () => {
  const directory = folder();
  copyData(source, directory);
  withholdEntries(directory, COMMAND_PATH, isPrivateCommand);
  const journal = openJournal(directory);
  const { id, chain } = journal.head();
  const entry = { id: id + 1, path: COMMAND_PATH, receivedAt: 1, text: '{}' };
  journal.begin();
  journal.append({ ...entry, chain: nextChain(chain, entry) }, compressed(entry.text));
  journal.commit();
  journal.close();
  const { place, ownStore } = await disguised(directory);
  const fault = `entry ${entry.id} is a private or invalid command, which public archives omit`;
  expect(await faultsIn(ownStore)).toEqual([fault]);
  expect(await refusal(restoredFrom(ownStore, folder()))).toBe(`The archive at ${place} is public, but ${fault}.`);
});

test('a public base of a schema without the column hooks_epoch has no private content', () => {
  expect(privateContentIn({ name: 'progress', columns: ['journal_id'] }, [[1]])).toBe(null);
  expect(privateContentIn({ name: 'progress', columns: ['hooks_epoch'] }, [[1]])).toBe(
    'a value for progress.hooks_epoch',
  );
});

test("the head of an archive that isn't public is rejected", async () => {
  const { place, ownStore } = await published();
  const { archive: identity, ...head } = (await readHead(ownStore, signer.publicKey))!;
  const { public: _, ...privateIdentity } = identity;
  writeFileSync(join(place, HEAD), headBytes({ ...head, archive: privateIdentity }, signer));
  expect(await refusal(readHead(ownStore, signer.publicKey))).toBe(
    `The archive at ${place} is damaged: ${HEAD} names an archive that isn't public.`,
  );
});

test('the next round signs a new base, even without new entries', async () => {
  const ownStore = directoryFiles(folder());
  using archiver = archiverOf(source, ownStore, { signer });
  await archiver.round();
  const before = (await readHead(ownStore, signer.publicKey))!;
  const base = (await baseIn(source, ownStore, {}, true))!;
  await archiver.round('one', { base: base.manifest.position });
  const after = (await readHead(ownStore, signer.publicKey))!;
  expect([before.base, after.base?.name, after.entry]).toEqual([null, base.name, before.entry]);
});

test('a base that differs from the signed base is rejected with its name', async () => {
  const { place, ownStore } = await published();
  const { name, manifest } = (await baseIn(source, ownStore, {}, true))!;
  await archive(source, ownStore, 'one', { signer });
  await ownStore.write(name, await packManifest({ ...manifest, created_at: 'another time' }));
  const signed = signedBy(ownStore);
  expect(await refusal(restoredFrom(signed, folder()))).toBe(
    `The archive at ${place} is damaged: ${name} is not the base that was signed.`,
  );
});
