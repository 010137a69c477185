/**
 * HEAD returns the headers of GET without the body: on every GET route of the OpenAPI document, the document itself, and the
 * console.
 */
import { Database } from 'bun:sqlite';
import { afterAll, expect, spyOn, test } from 'bun:test';
import { pagePaths } from '../../src/console/page-paths.ts';
import { consoleFiles } from '../../src/console/routes.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { startApi } from '../../src/http/listener.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { appOf } from '../support/api/app.ts';
import { getRoutes, randomUrl, Subjects } from '../support/api/random-urls.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { casesOf, firstSeed } from '../support/property.ts';

const closing = new DisposableStack();
const subjects = new Subjects();
const prng = new Prng(`HEAD ${firstSeed}`);

/** Adds enough subdomains to a name to make the server send their list in parts. */
function manySubdomains(directory: string): void {
  using db = new Database(indexPath(directory));
  db.run("INSERT INTO old_names VALUES ('many.btc', 'btc', 'owner', zeroblob(20), NULL, NULL)");
  const add = db.prepare("INSERT INTO old_names VALUES (?1, 'many.btc', 'owner', zeroblob(20), '', '')");
  db.transaction(() => {
    for (let index = 0; index < 20_000; index++) add.run(`s${index}.many.btc`);
  })();
}

const events = [...devnetEvents({ seed: 7, blocks: 44, accounts: 4, transactionsPerBlock: 20, staking: 30 })];
for (const event of events) subjects.add(event);
const { path } = closing.use(ingestOf(events.map(received)));
manySubdomains(path);
const snapshots = openSnapshots(path);
closing.defer(snapshots.close);
const app = appOf({ snapshots });
const server = await startApi({ app, hostname: '127.0.0.1', port: 0, bodyLimit: 1_000_000, log: () => {} });
afterAll(async () => {
  await server.stop();
  closing.dispose();
});

/** Status and headers of an answer, without headers for the time, the connection or a random number. */
async function answerOf(method: string, url: string, headers: Readonly<Record<string, string>>) {
  const answer = await fetch(server.url + url, { method, headers, redirect: 'manual', decompress: false });
  const named = Object.fromEntries(answer.headers);
  const { date, connection, 'transfer-encoding': coding, 'content-length': length, ...others } = named;
  delete others['content-security-policy'];
  const head = { url, status: answer.status, ...others, policy: policyOf(answer) };
  return { head, length, isChunked: coding === 'chunked', body: await answer.bytes() };
}

const policyOf = ({ headers }: Response) => headers.get('content-security-policy')?.replace(/'nonce-.*?'/, "'nonce'");

/**
 * Returns true if the response has no length for HEAD, because the server sends the body in parts: histories and long
 * responses.
 */
const isInParts = (url: string, bytes: number): boolean => /\/principals\/.*\/history\b/.test(url) || bytes > 250_000;

/** Sends HEAD and GET. @returns the status, and whether GET sends the body in chunks */
async function asGet(url: string, headers: Readonly<Record<string, string>> = {}) {
  const [get, head] = [await answerOf('GET', url, headers), await answerOf('HEAD', url, headers)];
  expect(head.head).toEqual(get.head);
  expect(head.body.length).toBe(0);
  // If the body is complete before the server sends the head, the runtime sets its length.
  if (head.isChunked) expect([url, isInParts(url, get.body.length)]).toEqual([url, true]);
  else expect([url, head.length]).toEqual([url, get.length]);
  if (get.isChunked) expect([url, head.isChunked]).toEqual([url, true]);
  return { status: get.head.status, inParts: head.isChunked };
}

test('HEAD returns the status and headers of GET on every documented route', async () => {
  const routes = getRoutes(await (await fetch(`${server.url}/docs/json`)).json());
  const seen = { statuses: new Set<number>(), found: 0 };
  for (const route of routes) {
    for (let count = 0; count < casesOf(3); count++) {
      const { status } = await asGet(randomUrl(route, subjects, prng));
      seen.statuses.add(status);
      seen.found += Number(status === 200);
    }
  }
  expect([...seen.statuses]).toEqual(expect.arrayContaining([200, 400, 404]));
  expect(seen.found).toBeGreaterThan(routes.length);
});

test('HEAD equals GET for cached answers, the console, the docs and unknown routes', async () => {
  const target = '/extended/v3/transactions?limit=50';
  for (let round = 0; round < 3; round++) expect(await asGet(target)).toEqual({ status: 200, inParts: false });
  const { headers } = await fetch(server.url + target);
  expect((await asGet(target, { 'if-none-match': headers.get('etag') ?? '' })).status).toBe(304);
  const html = { accept: 'text/html' };
  for (const path of Object.values(pagePaths)) await asGet(path.replace(/\{.*?\}/g, '1'), html);
  expect(await asGet('/', { accept: 'application/json' })).toEqual({ status: 301, inParts: false });
  for (const coding of ['br', 'gzip', 'identity']) {
    const accepted = { 'accept-encoding': coding };
    for (const name of (await consoleFiles()).byName.keys()) {
      expect((await asGet(`/console/${name}`, accepted)).status).toBe(200);
    }
    await asGet('/docs/json', accepted);
  }
  expect((await asGet('/console/none.js')).status).toBe(404);
  // The message names the method.
  const [unknown, got] = [await answerOf('HEAD', '/extended/none', {}), await answerOf('GET', '/extended/none', {})];
  expect(unknown.head).toEqual(got.head);
});

test("HEAD of a streamed answer doesn't read the data", async () => {
  const reads = [spyOn(snapshots, 'read'), spyOn(snapshots, 'readLong')];
  const count = () => reads.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  for (const principal of [...subjects.principals].slice(0, 3)) {
    for (const format of ['json', 'csv']) {
      const path = `/stackside/v1/principals/${principal}/history?format=${format}`;
      expect(await asGet(path)).toEqual({ status: 200, inParts: true });
      for (const read of reads) read.mockClear();
      await answerOf('HEAD', path, {});
      expect(count()).toBe(1);
      await answerOf('GET', path, {});
      expect(count()).toBeGreaterThan(2);
    }
  }
  for (const read of reads) read.mockRestore();
});

test('HEAD of an answer sent in chunks lacks a length, like GET', async () => {
  expect(await asGet('/v1/names/many.btc/subdomains')).toEqual({ status: 200, inParts: true });
});
