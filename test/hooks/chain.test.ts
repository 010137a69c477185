/** Deliveries of a chain with forks: live, after catching up, by backfill, in a preview. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { everyDelivery } from '../../src/store/hooks/delivery-log.ts';
import { received } from '../support/data/ingest.ts';
import { eventsOf, type Forks, forks } from '../support/events/forked-chain.ts';
import { canonicalHashes } from '../support/events/from-anywhere.ts';
import { winningChain } from '../support/events/winning-chain.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { until } from '../support/time/until.ts';
import { followed, withoutCanonical } from './follow.ts';
import { payloadMistake } from './schemas.ts';
import { allOptions, filtersOf, type HookServer, hookServer, NOWHERE, receiver, started } from './server.ts';

/** Matches nearly everything, and shows all of it. */
const allKinds = filtersOf(
  ...['stx_event', 'ft_event', 'nft_event', 'contract_call', 'contract_deploy', 'contract_log', 'coinbase'],
  'tenure_change',
);
const withAll = { ...allOptions, ...started };

// biome-ignore lint/suspicious/noExplicitAny: payloads are looked into
type Payload = any;

/** All that was ever queued for a hook, in order. */
function bodies(server: HookServer, uuid: string, queue = 'live'): Payload[] {
  const { records, deliveries } = server.hooks.store;
  const record = records.find(uuid, 'default');
  if (record === undefined) throw new Error('no such hook');
  return deliveries
    .inOrder(record.id, everyDelivery, 0, 100_000)
    .filter((row) => row.queue === queue)
    .map((row) => JSON.parse(deliveries.body(row.id) ?? 'null'));
}

const register = (server: HookServer) => server.register(NOWHERE, withAll, allKinds);

const feed = (server: HookServer, events: readonly NodeEvent[]): void => server.feed(events.map(received));

/** Two blocks, then a rival of one of them, which wins. @param back blocks that the rival replaces */
const rivals = (seed: number, back: number): Forks => {
  const mined = { mine: 'back' as const, tenure: 'same' as const, transactions: 4 };
  const grow = { ...mined, blocks: 0 };
  return { seed, steps: [grow, grow, { ...mined, blocks: back }, { ...mined, mine: 'overtake', end: 1 }] };
};
/** Random chains also have winning forks, but not in every run of the test. */
const overtaken = rivals(0, 1);

test('a receiver ends with the same transactions as on the canonical chain, for any forks', async () => {
  const seen = new Seen({ 'payloads with rollbacks': 1 });
  await assertProperty(
    fc.asyncProperty(forks(), async (generated) => {
      const events = eventsOf(generated);
      await using server = await hookServer();
      await using straight = await hookServer();
      const uuid = await register(server);
      const other = await register(straight);
      feed(server, events);
      feed(straight, winningChain(events));
      const payloads = bodies(server, uuid);
      const standing = followed(payloads);
      expect([...standing.values()]).toEqual([...followed(bodies(straight, other)).values()]);
      const chain = new Set(canonicalHashes(server.ingest));
      expect([...standing.keys()].filter((hash) => !chain.has(hash))).toEqual([]);
      if (payloads.some(({ event }) => event.rollback.length > 0)) seen.add('payloads with rollbacks');
      const status = await server.status(uuid);
      const delivered = payloads.reduce((sum, { event }) => sum + event.apply.length, 0);
      expect([status.occurrence_count, status.lag_blocks]).toEqual([delivered, 0]);
      expect(status.evaluated_block_count).toBeGreaterThanOrEqual(delivered);
    }),
    { seen, cases: 1, shrink: false, examples: [[overtaken]] },
  );
});

test('an interrupted hook catches up to the same payloads as an uninterrupted one', async () => {
  const seen = new Seen({ payloads: 3 });
  await assertProperty(
    fc.asyncProperty(forks(), fc.double({ min: 0, max: 1, noNaN: true }), async (generated, share) => {
      const events = eventsOf(generated);
      const cut = Math.floor(share * events.length);
      await using live = await hookServer();
      await using away = await hookServer();
      const [first, second] = [await register(live), await register(away)];
      feed(live, events);
      feed(away, events.slice(0, cut));
      const { commands, store } = away.hooks;
      const record = store.records.find(second, 'default');
      if (record === undefined) throw new Error('no hook');
      const task = { of: 'catch_up', hook: record.id, most: 1 } as const;
      await commands.run('hook.fail', { task, reason: 'for a test' });
      feed(away, events.slice(cut));
      const interrupted = { status: 'interrupted', enabled: false, interrupted_reason: 'for a test' };
      expect(await away.status(second)).toMatchObject(interrupted);
      await away.setEnabled(second, true);
      await until(async () => (await away.status(second)).lag_blocks === 0);
      await until(() => store.records.find(second, 'default')?.stage === 'live');
      seen.add('payloads', bodies(away, second).length);
      expect([...followed(bodies(away, second)).values()]).toEqual([...followed(bodies(live, first)).values()]);
    }),
    { seen, cases: 1, shrink: false },
  );
});

test('orphaned blocks from block 1 on are rolled back as delivered, with contract names from block 0', async () => {
  let named = 0;
  for (const seed of [0, 1, 2, 3]) {
    await using server = await hookServer();
    const uuid = await register(server);
    let blocks = 0;
    for (const event of eventsOf(rivals(seed, 2))) {
      server.ingest.receive(received(event));
      if (event.path === '/new_block') blocks += 1;
      const record = server.hooks.store.records.find(uuid, 'default');
      if (blocks !== 3 || record === undefined) continue;
      const task = { of: 'catch_up', hook: record.id, most: 1 } as const;
      await server.hooks.commands.run('hook.fail', { task, reason: 'for a test' });
    }
    await server.setEnabled(uuid, true);
    await until(() => server.hooks.store.records.find(uuid, 'default')?.stage === 'live');
    const payloads = bodies(server, uuid);
    followed(payloads);
    const operations = payloads
      .flatMap(({ event }) => event.rollback)
      .flatMap(({ transactions }) => transactions)
      .flatMap((transaction: Payload) => transaction.operations);
    named += operations.filter(
      ({ type, metadata }: Payload) =>
        type === 'contract_call' &&
        metadata.contract_identifier.startsWith('ST000000000000000000002AMW42H.') &&
        metadata.args.every(({ name }: Payload) => name !== ''),
    ).length;
  }
  expect(named).toBeGreaterThan(0);
});

const chain = [
  ...devnetEvents({ seed: 5, blocks: 40, accounts: 12, transactionsPerBlock: 6, forkEvery: 6, forkDepth: 3 }),
];

test('one chain gives the same payloads live, by backfill, by evaluation and in previews', async () => {
  await using server = await hookServer();
  using target = receiver();
  const uuid = await register(server);
  feed(server, chain);
  const live = followed(bodies(server, uuid));
  const blocks = live.size;
  expect(blocks).toBeGreaterThan(30);

  const job = await server.request('POST', `/chainhooks/me/${uuid}/backfills`, { from_height: 0 });
  expect(job.status).toBe(202);
  await server.request('PATCH', `/chainhooks/me/${uuid}`, { action: { type: 'http_post', url: target.url } });
  const state = async () => (await server.request('GET', `/chainhooks/me/${uuid}/backfills/${job.body.id}`)).body;
  await until(async () => (await state()).deliveries.delivered === blocks);
  expect(await state()).toMatchObject({
    state: 'completed',
    matched_blocks: blocks,
    next_height: 41,
    deliveries: { queued: blocks, delivered: blocks, dead: 0 },
  });
  const backfilled = bodies(server, uuid, 'backfill');
  expect(backfilled.map(({ event }) => withoutCanonical(event.apply[0]))).toEqual([...live.values()]);
  const got = target.received.filter(({ headers }) => headers['x-chainhook-reason'] === 'backfill');
  expect(got.map(({ payload }) => payload)).toEqual(backfilled);

  const previewed: unknown[] = [];
  for (let start = 1; start <= 40; start += 5) {
    const { body } = await server.request('POST', '/chainhooks/preview', {
      filters: { events: allKinds },
      options: allOptions,
      from_height: start,
      to_height: start + 4,
    });
    expect(body.payloads).toHaveLength(body.matched_blocks);
    previewed.push(...body.payloads.map(({ event }: Payload) => withoutCanonical(event.apply[0])));
  }
  expect(previewed).toEqual([...live.values()]);

  const seventh = [...live.values()][6] as Payload;
  const { index, hash } = seventh.block_identifier;
  await server.request('POST', `/chainhooks/me/${uuid}/evaluate`, { block_height: index, index_block_hash: hash });
  expect(bodies(server, uuid, 'evaluate').map(({ event }) => withoutCanonical(event.apply[0]))).toEqual([seventh]);
  for (const payload of [...bodies(server, uuid), ...backfilled]) expect(payloadMistake(payload)).toBeNull();
});

test('a backfill of a hook with principals reads only the blocks with them, and misses none', async () => {
  await using server = await hookServer();
  const full = await register(server);
  feed(server, chain);
  const calls = new Map<string, number>();
  for (const { event } of bodies(server, full)) {
    for (const { operations } of event.apply.flatMap(({ transactions }: Payload) => transactions)) {
      for (const { type, metadata } of operations) {
        if (type === 'contract_log') {
          calls.set(metadata.contract_identifier, (calls.get(metadata.contract_identifier) ?? 0) + 1);
        }
      }
    }
  }
  const [contract] = [...calls].sort((a, b) => b[1] - a[1])[0] ?? [''];
  const filters = { events: [{ type: 'contract_log', contract_identifier: contract }] };
  const whole = { filters: { events: [{ type: 'contract_log' }, ...filters.events] }, from_height: 1, to_height: 40 };
  const narrow = await server.request('POST', '/chainhooks/preview', { filters, from_height: 1, to_height: 40 });
  const more = await server.request('POST', '/chainhooks/preview', whole);
  const delivered = [...followed(bodies(server, full)).values()] as Payload[];
  const expected = delivered.filter(({ transactions }) =>
    transactions.some(({ operations }: Payload) =>
      operations.some(
        ({ type, metadata }: Payload) => type === 'contract_log' && metadata.contract_identifier === contract,
      ),
    ),
  );
  expect([narrow.status, narrow.body]).toEqual([200, expect.anything()]);
  expect(narrow.body.matched_blocks).toBe(expected.length);
  expect(more.body.matched_blocks).toBeGreaterThanOrEqual(expected.length);
  expect(expected.length).toBeGreaterThan(0);
});
