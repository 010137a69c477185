/** Withheld entries: the proof of their hashes, and the gaps of published data. */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { newPrivateKey, parseSigner } from '../../src/archive/signing.ts';
import { runExport } from '../../src/commands/data/export.ts';
import { readDefinition } from '../../src/hooks/definition/definition.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { journalPath } from '../../src/store/files/database.ts';
import { openJournalReader } from '../../src/store/files/journal.ts';
import { COMMAND_PATH } from '../../src/store/ingest/commands.ts';
import { CHAIN_START, compressed, type Entry, nextChain, withheld } from '../../src/store/log/entry.ts';
import { definition, hookServer, receiver } from '../hooks/server.ts';
import { backupOf, restored } from '../support/data/backup.ts';
import { copyFile, withholdEntries } from '../support/data/copy.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { openAt, simulatedEvents } from '../support/data/ingest.ts';
import { MemoryLog } from '../support/data/memory-log.ts';
import { opening } from '../support/data/opened-log.ts';
import { rebuild } from '../support/data/rebuild.ts';
import { tables, wholeIndex } from '../support/data/tables.ts';
import { addOldNames } from '../support/events/old-names.ts';
import { assertProperty, character } from '../support/property.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { serving } from '../support/servers/serving.ts';
import { until } from '../support/time/until.ts';
import { openFollower, openHost } from './open-host.ts';

const events = simulatedEvents({ seed: 8, blocks: 6, accounts: 3, transactionsPerBlock: 1, forkEvery: 3 });
const half = events.length >> 1;
const uuid = crypto.randomUUID();
const ENABLED = { enable_on_registration: true };
const body = {
  ...definition('http://127.0.0.1:9/receiver-of-nobody-else', [{ type: 'coinbase' }], ENABLED),
  name: 'a secret name',
};

const entriesOf = (directory: string): Entry[] => {
  const journal = openJournalReader(directory);
  try {
    return [...journal.after(0)];
  } finally {
    journal.close();
  }
};

const folder = dataDirectory();
/** A log with commands among the events, data that hold all of it, and data of a public backup of them. */
const log = new MemoryLog();
const whole = join(folder.path, 'whole');
const published = join(folder.path, 'published');
const signer = parseSigner(newPrivateKey())!;

beforeAll(async () => {
  await using host = openHost(log.client(), whole);
  host.host.start();
  for (const event of events.slice(0, half)) await host.host.receive(event);
  await host.hooks.run('hook.register', { uuid, consumer: 'me', definition: readDefinition(body, null) });
  await host.faucets.run('faucet.add', { currency: 'stx', address: 'ST1', ip: '203.0.113.77 asked' });
  for (const event of events.slice(half, -4)) await host.host.receive(event);
  await backupOf(whole, join(folder.path, 'backup'), { signer });
  await restored(join(folder.path, 'backup'), published);
});
afterAll(() => folder[Symbol.dispose]());

test('a withheld entry has the chain value of the whole entry, and different hashes do not', () => {
  const entry = fc.record({
    id: fc.integer({ min: 1 }),
    receivedAt: fc.maxSafeInteger(),
    path: fc.string({ minLength: 1, unit: character }),
    text: fc.string({ unit: character }),
  });
  assertProperty(
    fc.property(entry, fc.nat(127), (original, place) => {
      const chain = nextChain(CHAIN_START, original);
      const redacted = withheld({ ...original, chain });
      expect(redacted).toMatchObject({ id: original.id, receivedAt: original.receivedAt, path: '', chain });
      expect(nextChain(CHAIN_START, redacted)).toEqual(chain);
      expect(withheld(redacted)).toEqual(redacted);
      const digit = redacted.text[place] === '0' ? '1' : '0';
      const forged = { ...redacted, text: redacted.text.slice(0, place) + digit + redacted.text.slice(place + 1) };
      expect(nextChain(CHAIN_START, forged)).not.toEqual(chain);
      for (const text of [redacted.text.toUpperCase(), `${redacted.text} `, redacted.text.slice(1), original.text]) {
        if (text !== redacted.text) expect(nextChain(CHAIN_START, { ...redacted, text })).not.toEqual(chain);
      }
    }),
    { always: 'each entry can be withheld and forged' },
  );
});

function expectSound(directory: string): void {
  expect(problemsIn(directory, { deep: silentMachine })).toEqual([]);
}

/** A rebuild from the journal makes the same index. */
function expectRebuilt(directory: string): void {
  const before = wholeIndex(directory);
  rebuild(directory);
  expect(wholeIndex(directory)).toEqual(before);
}

test('a recording of restored public data equals a recording of the original data', async () => {
  using _ = spyOn(process.stderr, 'write').mockImplementation(() => true);
  const exported = async (directory: string) => {
    const file = `${directory}.tsv`;
    await runExport(directory, file, true);
    return readFileSync(file, 'utf8');
  };
  expect(await exported(published)).toBe(await exported(whole));
});

test('events that follow make the same tables in published data as in the data that it was published from', () => {
  const tablesAfter = (directory: string) => {
    using copy = dataDirectory();
    cpSync(directory, copy.path, { recursive: true });
    {
      using open = openAt(copy.path);
      for (const event of events.slice(-4)) expect(open.ingest.receive(event)).toBe('applied');
    }
    return tables(copy.path);
  };
  expect(tablesAfter(published)).toEqual(tablesAfter(whole));
});

test('a host follows a log with withheld entries, and ends at one whose hashes differ', async () => {
  const entries = entriesOf(whole);
  const logOf = (change: (entry: Entry) => Entry): MemoryLog => {
    const copy = new MemoryLog();
    for (const entry of entries) copy.add(entry.path === COMMAND_PATH ? change(entry) : entry, copy.head);
    return copy;
  };
  const sound = logOf(withheld);
  await using host = await openFollower(sound);
  expect(host.ended).toEqual([]);
  expect(tables(host.directory)).toEqual(tables(whole));
  expect(entriesOf(host.directory).filter(({ path }) => path === '').length).toBeGreaterThan(1);

  const forged = logOf((entry) => ({ ...withheld(entry), text: withheld({ ...entry, text: '{}' }).text }));
  await using other = await openFollower(forged);
  const first = entries.find(({ path }) => path === COMMAND_PATH)!.id;
  expect(other.ended.map(({ message }) => message)).toEqual([
    `Entry ${first} of the cluster's log is damaged: its chain value is wrong.`,
  ]);
  expect(other.position()).toBe(first - 1);
});

test('the published data of a host with chainhooks equal a rebuild from their journal', async () => {
  const lived = join(folder.path, 'lived');
  using target = receiver();
  const chain = simulatedEvents({ seed: 8, blocks: 12, accounts: 3, transactionsPerBlock: 1, forkEvery: 3 });
  {
    await using server = await hookServer({}, lived);
    const hook = definition(target.url, [{ type: 'coinbase' }, { type: 'stx_event' }], ENABLED);
    const { uuid: first } = (await server.request('POST', '/chainhooks/me', hook)).body;
    const status = async () => (await server.request('GET', `/chainhooks/me/${first}`)).body.status;
    await server.request('POST', '/chainhooks/me/secret');
    for (const event of chain.slice(0, chain.length >> 1)) server.ingest.receive(event);
    await until(async () => (await status()).pending_deliveries === 0, 'the end of the queue');
    await server.request('POST', `/chainhooks/me/${first}/backfills`, { from_height: 1, to_height: 3 });
    target.answer = () => new Response('', { status: 503 });
    for (const event of chain.slice(chain.length >> 1)) server.ingest.receive(event);
    await until(async () => (await status()).consecutive_failures > 0, 'a failure');
    await server.request('POST', '/chainhooks/me', hook);
    await server.request('DELETE', `/chainhooks/me/${first}`);
  }
  await addOldNames(lived, async function* () {
    yield { kind: 'name', name: 'alice.id', owner: 'SP1', zonefileHash: new Uint8Array(20) };
  });
  const before = wholeIndex(lived);
  expect([before.hooks!.length, before.hook_attempts!.length > 1, before.old_names!.length]).toEqual([2, true, 1]);
  await backupOf(lived, join(folder.path, 'of-lived'), { signer });
  const restoredData = join(folder.path, 'left');
  await restored(join(folder.path, 'of-lived'), restoredData);
  expectSound(restoredData);
  expectRebuilt(restoredData);
  // A chainhook that is registered there from now on is an ordinary entry.
  {
    await using server = await hookServer({}, restoredData);
    const hook = definition(target.url, [{ type: 'coinbase' }], ENABLED);
    expect((await server.request('POST', '/chainhooks/me', hook)).status).toBe(200);
  }
  expectSound(restoredData);
});

test('hashes that are changed in the file are found', () => {
  using copy = dataDirectory();
  const journal = openJournalReader(published);
  copyFile(journalPath(published), journalPath(copy.path));
  const id = journal.lastWithheld()!;
  const { text } = journal.read(id)!;
  journal.close();
  {
    using db = new Database(journalPath(copy.path));
    const damaged = text.slice(0, 127) + (text.endsWith('0') ? '1' : '0');
    db.run('UPDATE events SET payload = ?2 WHERE id = ?1', [id, compressed(damaged)]);
  }
  expect(() => entriesOf(copy.path)).toThrow(`Entry ${id} of ${journalPath(copy.path)} is damaged`);
  // Only entries with a proof are withheld.
  expect(() => withholdEntries(copy.path, '')).toThrow(`Entry ${id} of`);
});

test("data of a public backup can't join the log that has the commands", async () => {
  const joining = serving({ cluster: 'postgres://127.0.0.1/none' }, published, {}, { openLog: opening(log) });
  await expect(joining).rejects.toThrow('come from a public backup, which lacks the private commands');
});
