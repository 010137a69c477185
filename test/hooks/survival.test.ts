/** Hooks survive failures of the process and the index: every delivery is sent exactly once. */
import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { emptyDirectory, openAt, simulatedEvents } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { wholeIndex } from '../support/data/tables.ts';
import { until } from '../support/time/until.ts';
import { followed } from './follow.ts';
import { filtersOf, type HookServer, hookServer, receiver, started, upTo } from './server.ts';

const world = { accounts: 12, transactionsPerBlock: 4, forkEvery: 4, forkDepth: 3 };
const events = simulatedEvents({ seed: 11, blocks: 24, ...world });
const third = Math.floor(events.length / 3);
const options = { ...started, decode_clarity_values: true };
const filters = filtersOf('tenure_change', 'stx_event', 'contract_call', 'coinbase');
const register = (server: HookServer, url: string) => server.register(url, options, filters);

const untilDelivered = async (server: HookServer, uuid: string) => {
  await until(async () => (await server.status(uuid)).lag_blocks === 0, 'the tip');
  await server.untilDrained(uuid);
};
const rebuild = (directory: string) => rebuildIndex({ directory });
/** The deliveries of a server that is never disturbed. */
async function runUndisturbed() {
  await using server = await hookServer();
  using target = receiver();
  const uuid = await register(server, target.url);
  server.feed(events);
  await untilDelivered(server, uuid);
  const payloads = target.received.map(({ payload }) => payload);
  return { standing: followed(payloads), deliveries: payloads.map(({ event }) => event) };
}
const expected = await runUndisturbed();

test('a rebuild restores hooks, queue, deliveries and secrets, and repeats no delivery', async () => {
  using directory = emptyDirectory();
  using target = receiver();
  let uuid: string;
  {
    await using server = await hookServer({}, directory.path);
    uuid = await register(server, target.url);
    await server.request('POST', '/chainhooks/me/secret');
    server.feed(events.slice(0, third));
    await untilDelivered(server, uuid);
    // These wait while it is rebuilt.
    target.answer = () => new Response('', { status: 503 });
    server.feed(events.slice(third, 2 * third));
    await until(async () => (await server.status(uuid)).consecutive_failures > 0);
  }
  const earlier = wholeIndex(directory.path);
  expect(earlier.hook_deliveries?.length).toBeGreaterThan(0);
  rebuild(directory.path);
  expect(wholeIndex(directory.path)).toEqual(earlier);
  rebuild(directory.path);
  expect(wholeIndex(directory.path)).toEqual(earlier);
  expect(existsSync(`${directory.path}/rebuild`)).toBe(false);

  const received = target.received.length;
  target.answer = () => new Response('');
  await using server = await hookServer({}, directory.path);
  await untilDelivered(server, uuid);
  server.feed(events.slice(2 * third));
  await untilDelivered(server, uuid);
  const bySequence = new Map(
    target.received.map(({ headers, payload }) => [Number(headers['x-chainhook-sequence']), payload]),
  );
  const ordered = [...bySequence].sort(([a], [b]) => a - b).map(([, payload]) => payload);
  expect(ordered.map(({ event }) => event)).toEqual(expected.deliveries);
  // No accepted delivery came again.
  const repeated = target.received.slice(received).map(({ headers }) => Number(headers['x-chainhook-sequence']));
  const first = target.received.findIndex(({ headers }, index) => index > 0 && headers['x-chainhook-attempt'] !== '1');
  expect(Math.min(...repeated)).toBeGreaterThanOrEqual(
    Number(target.received[first - 1]?.headers['x-chainhook-sequence']),
  );
});

test('blocks that were imported without a server are delivered once when a server runs', async () => {
  using directory = emptyDirectory();
  using target = receiver();
  let uuid: string;
  {
    await using server = await hookServer({}, directory.path);
    uuid = await register(server, target.url);
    server.feed(events.slice(0, third));
  }
  {
    using open = openAt(directory.path);
    for (const event of events) open.ingest.apply(event);
    open.ingest.commit();
  }
  {
    await using server = await hookServer({}, directory.path);
    await untilDelivered(server, uuid);
    expect([...followed(target.received.map(({ payload }) => payload)).values()]).toEqual([
      ...expected.standing.values(),
    ]);
  }
  const count = target.received.length;
  await using server = await hookServer({}, directory.path);
  server.feed(events);
  await untilDelivered(server, uuid);
  expect(target.received).toHaveLength(count);
});

test('past blocks are not delivered to a new hook, even after a replay', async () => {
  using directory = emptyDirectory();
  using target = receiver();
  {
    await using server = await hookServer({}, directory.path);
    server.feed(events);
    const uuid = await register(server, target.url);
    expect(await server.status(uuid)).toMatchObject({ status: 'new', enabled: true, lag_blocks: 0 });
  }
  rebuild(directory.path);
  await using server = await hookServer({}, directory.path);
  const [hook] = (await server.request('GET', '/chainhooks/me')).body.results;
  // It has nothing to catch up with and an empty queue, and running requests end with the server.
  expect((await server.request('GET', `/chainhooks/me/${hook.uuid}/deliveries`)).body.total).toBe(0);
  await server.stop();
  expect(target.received).toHaveLength(0);
  expect(hook.status).toMatchObject({ status: 'new', evaluated_block_count: 0, lag_blocks: 0 });
});

test('an expired hook still gets the rollback of its blocks', async () => {
  await using server = await hookServer();
  using target = receiver();
  const limits = upTo(12);
  const uuids: string[] = [];
  for (const expire_after_evaluations of limits) {
    uuids.push(await server.register(target.url, { ...started, expire_after_evaluations }, filters));
  }
  server.feed(events);
  const { history } = server.ingest;
  const canonical = (height: number) => `0x${history.hashAt(height)?.toHex()}`;
  let rollbacks = 0;
  for (const [index, uuid] of uuids.entries()) {
    expect(await server.status(uuid)).toMatchObject({ status: 'expired', evaluated_block_count: limits[index] });
    await server.untilDrained(uuid);
    const payloads = target.received.map(({ payload }) => payload).filter(({ chainhook }) => chainhook.uuid === uuid);
    for (const block of followed(payloads).values()) {
      const { hash, index: height } = (block as { block_identifier: { hash: string; index: number } }).block_identifier;
      expect(hash).toBe(canonical(height));
    }
    rollbacks += payloads.filter(({ event }) => event.apply.length === 0).length;
  }
  expect(rollbacks).toBeGreaterThan(0);
});
