/**
 * A server without a node that follows a public archive over HTTP. It is killed repeatedly while it reads the events,
 * and ends with the data of a server that has all of them.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newPrivateKey, parseSigner } from '../../src/archive/signing.ts';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { directoryFiles } from '../../src/storage/location.ts';
import { definition, type Receiver, receiver, started } from '../hooks/server.ts';
import { archive } from '../support/data/archive.ts';
import { type DataDirectory, dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';
import { tables } from '../support/data/tables.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { NO_NODE } from '../support/servers/serving.ts';
import { type WebServer, webServer } from '../support/servers/web-server.ts';
import { until } from '../support/time/until.ts';
import { type Server, stackside, startServer, tipHeight } from './stackside.ts';

const events = [...devnetEvents({ seed: 31, blocks: 40, accounts: 6, transactionsPerBlock: 2, forkEvery: 9 })];
const heightOf = ({ path, body }: NodeEvent): number => (path === '/new_block' ? JSON.parse(body).block_height : 0);
const TIP = Math.max(...events.map(heightOf));
/** Events in the archive when the server starts. */
const early = events.slice(0, events.indexOf(events.find((event) => heightOf(event) === 12)!));
/** Shares of the later segments that are available when the server is killed. */
const KILLED_AT = [0.3, 0.6, 0.9];

const signer = parseSigner(newPrivateKey())!;
let folder: DataDirectory;
let whole: DataDirectory;
let web: WebServer;
let target: Receiver;
const pathOf = (name: string): string => join(folder.path, name);

beforeAll(async () => {
  folder = dataDirectory();
  whole = ingestOf(events.map(received));
  using first = ingestOf(early.map(received));
  await archive(first.path, directoryFiles(pathOf('archive')), 'one', { signer });
  web = webServer(pathOf('archive'));
  target = receiver();
});
afterAll(() => {
  for (const resource of [target, web, whole, folder]) resource[Symbol.dispose]();
});

const startFollower = (): Promise<Server> =>
  startServer(
    ...(['serve', '--data', pathOf('data'), '--from', web.url, '--archive-public-key', signer.publicKey] as const),
    ...['--node-rpc', NO_NODE, '--hook-targets', 'loopback', '--log-level', 'silent'],
  );

/** Posts a block whose parent is missing. The server then reads the archive without waiting for a silent node. */
async function postRefused({ events: url }: Server): Promise<void> {
  const last = events.findLast((event) => heightOf(event) === TIP)!;
  expect((await fetch(`${url}/new_block`, { method: 'POST', body: last.body })).status).toBe(500);
}

interface DeliveredBlock {
  apply: { block_identifier: { hash: string } }[];
  rollback: { block_identifier: { hash: string } }[];
}

/** Applies deliveries in the order of their ids. @returns the blocks on the chain, lowest first */
function heights(): string[] {
  const chain: string[] = [];
  const ids = new Set<string>();
  for (const { headers, payload } of target.received) {
    const id = headers['webhook-id'] ?? '';
    // If a server was killed before it recorded the response, it sends the delivery again with the same id.
    if (ids.has(id)) continue;
    ids.add(id);
    const { apply, rollback } = payload.event as DeliveredBlock;
    for (const { block_identifier: block } of rollback) expect(chain.pop()).toBe(block.hash);
    for (const { block_identifier: block } of apply) {
      expect(chain).not.toContain(block.hash);
      chain.push(block.hash);
    }
  }
  return chain;
}

test('a follower that is killed while it applies events loses and repeats none, also for chainhooks and realtime', async () => {
  const first = await startFollower();
  const start = await tipHeight(first);
  writeFileSync(pathOf('hook.json'), JSON.stringify(definition(target.url, [{ type: 'coinbase' }], started)));
  const added = await stackside('hooks', 'add', pathOf('hook.json'), '--url', first.api, '--data', pathOf('data'));
  expect([added.code, added.stderr]).toEqual([0, expect.any(String)]);
  expect(await first.stop()).toBe(0);
  const had = new Set(readdirSync(pathOf('archive')));
  await archive(whole.path, directoryFiles(pathOf('archive')), 'one', { signer });
  const later = readdirSync(pathOf('archive'))
    .filter((name) => name.startsWith('segment-') && !had.has(name))
    .sort();

  const reached = [start];
  for (const share of KILLED_AT) {
    const stopped = Promise.withResolvers<void>();
    const minimum = Math.floor(share * later.length);
    const requested = new Set<string>();
    web.answer = (name) => {
      requested.add(name);
      // The server finds the first entry with requests for single segments, and reads the following segments in order.
      const place = later.indexOf(name);
      if (place < minimum || !requested.has(later[place - 1]!)) return null;
      stopped.resolve();
      return new Promise<Response>(() => {});
    };
    const server = await startFollower();
    await postRefused(server);
    await stopped.promise;
    // The server reads ahead while it applies events.
    await until(async () => (await tipHeight(server)) > reached.at(-1)!, 'a block of the archive');
    reached.push(await tipHeight(server));
    expect(await server.stop('SIGKILL')).toBe(137);
  }
  expect(reached.at(-1)).toBeLessThan(TIP);

  const pushed: { height: number; hash: string }[] = [];
  const subscribed = Promise.withResolvers<void>();
  // The server must not reach the end of the archive before the subscription.
  web.answer = async (name) => {
    if (later.includes(name)) await subscribed.promise;
    return null;
  };
  const last = await startFollower();
  const socket = new WebSocket(`${last.api.replace('http', 'ws')}/extended/v1/ws`);
  socket.addEventListener('open', () =>
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscribe', params: { event: 'block' } })),
  );
  socket.addEventListener('message', ({ data }) => {
    const { method, params } = JSON.parse(String(data));
    if (method === 'block') pushed.push(params);
    else subscribed.resolve();
  });
  // Blocks before the answer to the subscription are not pushed.
  await subscribed.promise;
  const since = await tipHeight(last);
  await until(async () => (await tipHeight(last)) === TIP, 'the end of the archive');
  await until(() => pushed.some((block) => block.height === TIP), 'the push of the last block');
  const hashes = pushed.map(({ hash }) => hash);
  expect(new Set(hashes).size).toBe(hashes.length);
  const { results: blocks } = (await (await fetch(`${last.api}/extended/v2/blocks?limit=30`)).json()) as {
    results: { height: number; hash: string; index_block_hash: string }[];
  };
  expect(hashes).toEqual(expect.arrayContaining(blocks.filter((row) => row.height > since).map(({ hash }) => hash)));

  const { results } = (await (await fetch(`${last.api}/extended/v1/tx?type=coinbase&limit=50`)).json()) as {
    results: { block_height: number }[];
  };
  const tenures = new Set(results.map(({ block_height }) => block_height));
  const expected = blocks
    .filter((row) => row.height > start && tenures.has(row.height))
    .map(({ index_block_hash }) => index_block_hash);
  expect(expected.length).toBeGreaterThan(3);
  await until(() => heights().length >= expected.length && heights().at(-1) === expected[0], 'the last delivery');
  expect(heights()).toEqual(expected.toReversed());
  socket.close();
  expect(await last.stop()).toBe(0);
  expect(tables(pathOf('data'))).toEqual(tables(whole.path));
  expect(problemsIn(pathOf('data'), { deep: silentMachine })).toEqual([]);
});
