/** Import from another server's journal: entries are verified, get the same numbers if possible, and are never imported twice. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, spyOn, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalPage } from '../../src/api/stackside/journal.ts';
import { OperatorError } from '../../src/base/errors.ts';
import { importJournal } from '../../src/commands/data/import-journal.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { readAdminKey } from '../../src/hooks/access/keys.ts';
import { readSettingsOf } from '../../src/settings/config.ts';
import { journalPath } from '../../src/store/files/database.ts';
import { openJournalTrimming } from '../../src/store/files/journal-trim.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { everything, tables } from '../support/data/tables.ts';
import { type Serving, serving } from '../support/servers/serving.ts';

const events = [...devnetEvents({ seed: 12, blocks: 8, transactionsPerBlock: 2, forkEvery: 3, forkDepth: 2 })].map(
  received,
);
const half = events.length >> 1;

const filled = ingestOf(events);
const whole = everything(filled.path);
/** A directory that holds the first half of them, as one that was restored from a backup. */
const backup = ingestOf(events.slice(0, half));
const peer = await serving({}, filled.path);
const key = readAdminKey(filled.path) ?? '';
afterAll(async () => {
  await peer[Symbol.asyncDispose]();
  for (const directory of [filled, backup]) directory[Symbol.dispose]();
});

/** Imports from there. @returns what it printed */
async function importFrom(from: string, directory: string, peerKey = key): Promise<string> {
  const variables = { STACKSIDE_PEER_KEY: peerKey, STACKSIDE_EVENT_BODY_LIMIT: '1000000' };
  const { settings } = readSettingsOf('import', { data: directory, logLevel: 'silent' }, variables);
  let printed = '';
  const write = spyOn(process.stdout, 'write').mockImplementation(((text: string) => {
    printed += text;
    return true;
  }) as never);
  try {
    await importJournal(settings, from);
    return printed;
  } finally {
    write.mockRestore();
  }
}

/** What the import is refused with. */
async function refusal(from: string, directory: string, peerKey = key): Promise<OperatorError> {
  const error = await importFrom(from, directory, peerKey).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof OperatorError) return error;
  throw new Error('it is no error for the operator', { cause: error });
}

function copyOf(directory: DataDirectory): DataDirectory {
  const copy = dataDirectory();
  cpSync(directory.path, copy.path, { recursive: true });
  return copy;
}

test.each([
  ['a server', () => peer.api],
  ['the journal of a server', () => `${peer.api}/stackside/v1/journal`],
  ['a data directory', () => filled.path],
])('from %s come the events that are missing, and the journals are equal', async (_, from) => {
  using restored = copyOf(backup);
  const printed = await importFrom(from(), restored.path);
  expect(printed).toMatch(/: \d+ events after event \d+; tip at height 8\n$/);
  expect(everything(restored.path)).toEqual(whole);
  expect(await importFrom(from(), restored.path)).toContain(': 0 events after event');
});

test('an empty directory takes all', async () => {
  using empty = dataDirectory();
  await importFrom(filled.path, empty.path);
  expect(everything(empty.path)).toEqual(whole);
});

test('a directory that took other events meanwhile takes what it lacks, like a recording', async () => {
  using restored = copyOf(backup);
  const own = events.slice(half).filter(({ path }) => path === '/new_mempool_tx');
  {
    using opened = openAt(restored.path);
    for (const event of own) opened.ingest.receive({ ...event, receivedAt: event.receivedAt + 5 });
  }
  const from = everything(backup.path).journal.length;
  expect(await importFrom(peer.api, restored.path)).toContain(` events after event ${from};`);
  expect(tables(restored.path)).toEqual(tables(filled.path));
});

test('journals without an event in common are refused, and nothing changes', async () => {
  using other = ingestOf(events.slice(0, half).map((event) => ({ ...event, receivedAt: event.receivedAt + 1 })));
  const before = everything(other.path);
  expect((await refusal(peer.api, other.path)).message).toContain('has no event in common');
  expect(everything(other.path)).toEqual(before);
});

test('a journal that was trimmed says what it lacks, and an entry that is damaged is named', async () => {
  using bad = copyOf(filled);
  const [mark, rotten] = [half + 5, half + 15];
  const trimming = openJournalTrimming(bad.path);
  trimming.trimTo(mark);
  trimming.close();
  {
    using db = new Database(journalPath(bad.path));
    db.run('UPDATE events SET received_at = received_at + 1 WHERE id = ?1', [rotten]);
  }
  await using server = await serving({}, bad.path);
  const badKey = readAdminKey(bad.path) ?? '';
  using restored = copyOf(backup);
  const from = everything(restored.path).journal.length;
  for (const place of [bad.path, server.api]) {
    expect((await refusal(place, restored.path, badKey)).message).toBe(
      `The journal of ${place} lacks event ${from + 1}.`,
    );
  }
  const answer = await server.get(`/stackside/v1/journal?after=${from}`, { headers: { 'x-api-key': badKey } });
  expect([answer.status, await answer.json()]).toEqual([
    410,
    expect.objectContaining({ code: 'JOURNAL_TRIMMED', message: expect.stringContaining(`up to number ${mark}`) }),
  ]);
  using further = ingestOf(events.slice(0, half + 8));
  expect((await refusal(server.api, further.path, badKey)).message).toBe(
    `Entry ${rotten} of the journal of ${server.api} is damaged.`,
  );
  // What came before it stays.
  expect(everything(further.path).journal).toEqual(whole.journal.slice(0, rotten - 1));
  await importFrom(peer.api, further.path);
  expect(everything(further.path)).toEqual(whole);
  // It has taken another event at last, so that the two journals are compared from the mark on.
  const own = { path: '/stackerdb_chunks', text: '{"contract_id":"x","modified_slots":[]}', receivedAt: 5 };
  using other = ingestOf([...events.slice(0, half + 8), own]);
  expect((await refusal(server.api, other.path, badKey)).message).toContain(`Entry ${rotten} of`);
});

const page = async (server: Serving, query: string): Promise<JournalPage> => {
  const response = await server.get(`/stackside/v1/journal${query}`, { headers: { 'x-api-key': key } });
  expect([query, response.status]).toEqual([query, 200]);
  return (await response.json()) as JournalPage;
};

test('pages follow each other, and the one after the end is empty', async () => {
  const { journal } = whole;
  const first = await page(peer, '?limit=10');
  const second = await page(peer, '?limit=10&after=10');
  expect([...first.entries, ...second.entries].map(({ id }) => id)).toEqual(journal.slice(0, 20).map(({ id }) => id));
  expect(second.chain).toBe(first.entries.at(-1)!.chain);
  expect(second.last).toBe(journal.length);
  expect((await page(peer, `?after=${journal.length}`)).entries).toEqual([]);
  expect(await page(peer, `?after=${journal.length + 9}`)).toMatchObject({ chain: null, entries: [] });
  expect((await peer.get('/stackside/v1/journal')).status).toBe(401);
  expect((await peer.get('/stackside/v1/journal?limit=0', { headers: { 'x-api-key': key } })).status).toBe(400);
});

/** A server whose journal holds one event. */
function peerOfOne(text: string, received_at: number) {
  const payload = Bun.zstdCompressSync(text).toBase64();
  const entries = [{ id: 1, received_at, path: '/new_block', chain: `0x${'ab'.repeat(32)}`, payload }];
  const content = { after: 0, chain: `0x${'00'.repeat(32)}`, last: 1, entries };
  return Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json(content) });
}

test('an event that is longer than the limit is refused before it fills the memory', async () => {
  using directory = dataDirectory();
  using peer = peerOfOne(' '.repeat(1_000_001), 1);
  const { message, remedy } = await refusal(peer.url.href, directory.path);
  expect(message).toBe(`Entry 1 of the journal of ${peer.url.origin} has more than 1000000 bytes.`);
  expect(remedy).toContain('--event-body-limit');
});

test('an answer without a journal is reported', async () => {
  using directory = dataDirectory();
  expect((await refusal(peer.api, directory.path, 'wrong')).message).toBe(`${peer.api} does not accept the key.`);
  using none = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('no', { status: 404 }) });
  expect((await refusal(none.url.href, directory.path)).message).toBe(`${none.url.origin} has no journal.`);
  using other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json({ entries: 'none' }) });
  expect((await refusal(other.url.href, directory.path)).message).toContain('sent an answer that is not a journal');
  // Times that no row holds exactly.
  for (const received_at of [2 ** 60, 1e300, -1]) {
    using odd = peerOfOne(whole.journal[0]!.text, received_at);
    expect((await refusal(odd.url.href, directory.path)).message).toContain('sent an answer that is not a journal');
  }
  expect((await refusal('http://', directory.path)).message).toBe('http:// is no URL.');
  const nothing = join(directory.path, 'none');
  expect(await refusal(nothing, directory.path)).toMatchObject({
    message: `--from names ${nothing}, which has no journal.`,
    remedy: 'Give another data directory, or the URL of the API of another Stackside.',
  });
});
