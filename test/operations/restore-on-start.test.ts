/** `serve --from`: restores into an empty data directory, and starts with existing data. */
import { afterAll, expect, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HEAD, headBytes, readHead } from '../../src/archive/head.ts';
import { newPrivateKey, parseSigner } from '../../src/archive/signing.ts';
import { systemClock } from '../../src/base/clock.ts';
import { requireArchivable } from '../../src/commands/serve/archiving.ts';
import { restoreOnStart } from '../../src/commands/serve/restore-on-start.ts';
import type { LogEvent } from '../../src/log.ts';
import { readSettings } from '../../src/settings/config.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { archive, refusal } from '../support/data/archive.ts';
import { emptyDirectory, entryOf, ingestOf, OTHER_IDENTITY, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import { journalRows, tables } from '../support/data/tables.ts';
import { webServer } from '../support/servers/web-server.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { impatientClock } from '../support/time/impatient-clock.ts';
import { until } from '../support/time/until.ts';

const events = simulatedEvents({ seed: 21, blocks: 8, accounts: 3, transactionsPerBlock: 1, forkEvery: 3 });
const signer = parseSigner(newPrivateKey())!;
const { keep, folder } = keepToEnd();
const source = keep(ingestOf(events));
const path = folder();
await archive(source, directoryFiles(path), 'one', { signer });
const web = webServer(path);
afterAll(() => web[Symbol.dispose]());

/** Starts a server that restores from a location. @returns the logged events */
async function restoreFrom(
  location: string,
  data: string,
  flags: Record<string, unknown> = { archivePublicKey: signer.publicKey },
) {
  const logged: LogEvent[] = [];
  const settings = readSettings({ data, from: location, ...flags }, {});
  await restoreOnStart({ from: location, settings, clock: impatientClock, log: (event) => logged.push(event) });
  return logged;
}

const names = (logged: readonly LogEvent[]): string[] => logged.map(({ event }) => event);

test('restores into an empty data directory, and the same command leaves existing data unchanged', async () => {
  const data = folder();
  expect(await restoreFrom(web.url, data)).toEqual([
    { event: 'restore_begun', place: web.url, chain: '0x80000000' },
    { event: 'restored', place: web.url, entry: entryOf(events.length), height: 8 },
  ]);
  expect(tables(data)).toEqual(tables(source));
  const before = journalRows(data);
  expect(await restoreFrom(web.url, data)).toEqual([]);
  expect(journalRows(data)).toEqual(before);
});

test('logs the progress of the restore', async () => {
  let now = 0;
  const logged: LogEvent[] = [];
  const settings = readSettings({ data: folder(), from: web.url, archivePublicKey: signer.publicKey }, {});
  const clock = { ...systemClock, monotonic: () => (now += 4_000) };
  await restoreOnStart({ from: web.url, settings, clock, log: (event) => logged.push(event) });
  const progress = logged.filter((event) => event.event === 'restore_progress');
  expect(progress.length).toBeGreaterThan(1);
  expect(progress[0]).toEqual({
    event: 'restore_progress',
    entry: expect.any(Number),
    of: expect.any(Number),
    height: expect.any(Number),
    left: expect.stringMatching(/^\d+ (s|min)/),
  });
});

test('continues an interrupted restore', async () => {
  const data = folder();
  const segments = readdirSync(path).filter((name) => name.startsWith('segment-'));
  const [first, second] = segments.sort();
  web.answer = (name) => (name === second ? new Response('no', { status: 403 }) : null);
  expect(await refusal(restoreFrom(web.url, data))).toContain(`${second}, with status 403.`);
  web.answer = () => null;
  expect(existsSync(join(data, 'restore'))).toBe(true);
  const count = web.requestedNames.length;
  await restoreFrom(web.url, data);
  expect(tables(data)).toEqual(tables(source));
  expect(web.requestedNames.slice(count)).not.toContain(first!);
});

test('restores nothing without a key, except with --archive-unsigned', async () => {
  const data = folder();
  expect(await refusal(restoreFrom(web.url, data, {}))).toContain('is public, but no key is given to verify it');
  const logged = await restoreFrom(web.url, data, { archiveUnsigned: 'true' });
  expect(names(logged)).toEqual(['setup_warning', 'restore_begun', 'restored']);
  expect(logged[0]).toMatchObject({ place: web.url, problem: expect.stringContaining('is not verified') });
});

test('logs that the last entries are missing if the archive lacks its open part', async () => {
  const spoiled = folder();
  cpSync(path, spoiled, { recursive: true });
  rmSync(join(spoiled, 'open-one.zst'));
  const logged = await restoreFrom(spoiled, folder());
  expect(logged.filter(({ event }) => event === 'archive_open_part_missing')).toEqual([
    { event: 'archive_open_part_missing', place: spoiled, name: 'open-one.zst', entry: entryOf(events.length) },
  ]);
});

test('restores a private archive in a directory without a key', async () => {
  const privatePath = folder();
  await archive(source, directoryFiles(privatePath));
  const data = folder();
  expect(names(await restoreFrom(privatePath, data, {}))).toEqual(['restore_begun', 'restored']);
  expect(await restoreFrom(privatePath, data, {})).toEqual([]);
});

test('rejects data of another chain, and accepts other data of the same chain', async () => {
  const later = keep(ingestOf(events, { random: OTHER_IDENTITY }));
  const before = journalRows(later);
  expect(await restoreFrom(web.url, later)).toEqual([]);
  const mainnet = folder();
  const head = (await readHead(directoryFiles(path), signer.publicKey))!;
  const identity = { ...head.archive, chain_id: 1, network: 'mainnet' as const };
  await directoryFiles(mainnet).write(HEAD, headBytes({ ...head, archive: identity }, signer));
  expect(await refusal(restoreFrom(mainnet, later))).toBe(
    `The archive at ${mainnet} belongs to mainnet (chain 0x00000001), but the data in ${later} to chain 0x80000000.`,
  );
  expect(journalRows(later)).toEqual(before);
});

test("accepts existing data even if the archive can't be reached", async () => {
  const data = folder();
  cpSync(source, data, { recursive: true });
  using away = webServer(path);
  away.answer = () => new Response('no', { status: 503 });
  const failing = { event: 'service_failing', service: 'following', place: away.url } as const;
  const file = `${away.url}/head.json`;
  expect(await restoreFrom(away.url, data)).toEqual([
    { ...failing, reason: `${file} can't be reached: it answered 503.` },
  ]);
});

test('logs that the server waits for an archive that does not answer', async () => {
  using away = webServer(path);
  const { promise, resolve } = Promise.withResolvers<null>();
  away.answer = () => promise;
  const logged: LogEvent[] = [];
  const clock = heldClock([20_000]);
  const settings = readSettings({ data: folder(), from: away.url, archivePublicKey: signer.publicKey }, {});
  const restored = restoreOnStart({ from: away.url, settings, clock, log: (event) => logged.push(event) });
  await until(() => away.requestedNames.length > 0, 'the first request');
  clock.pass(20_000);
  expect(logged).toEqual([
    {
      event: 'service_failing',
      service: 'following',
      place: away.url,
      reason: `${away.url} has not answered for 20 s`,
    },
  ]);
  resolve(null);
  await restored;
  expect(clock.waiting(20_000)).toBe(0);
  expect(names(logged)).toEqual(['service_failing', 'restore_begun', 'restored']);
});

test('rejects a directory that contains files but no entries', async () => {
  const data = keep(emptyDirectory(true));
  openAt(data)[Symbol.dispose]();
  expect(await refusal(restoreFrom(web.url, data))).toBe(
    `${data} has data files without entries, so Stackside can't restore into it.`,
  );
});

test('rejects --from in read mode', async () => {
  expect(await refusal(restoreFrom(web.url, folder(), { archivePublicKey: signer.publicKey, mode: 'read' }))).toBe(
    '--from is given, and --mode is read.',
  );
});

test('rejects a public archive without a location', () => {
  const refused = (flags: Record<string, string>) => () => requireArchivable(readSettings(flags, {}));
  expect(refused({ archivePublic: 'true' })).toThrow('--archive-public is given, but no archive.');
  expect(refused({ archivePublic: 'true', archive: '/mnt/archive' })).not.toThrow();
});

test('rejects an invalid archive key with the name of the setting', () => {
  for (const archivePublicKey of ['ed25519:AAAA', signer.publicKey.slice(8), `${signer.publicKey}=`]) {
    expect(() => readSettings({ archivePublicKey }, {})).toThrow(
      `archivePublicKey is "${archivePublicKey}".`.replace('archivePublicKey', '--archive-public-key'),
    );
  }
  expect(readFileSync(join(path, 'head.json'), 'utf8')).toContain(signer.publicKey);
  writeFileSync(join(path, 'index.html'), 'A mirror may have other files.');
});
