/** Blocks that are orphaned while a backfill delivers them, with the test's own clock. */
import { expect, test } from 'bun:test';
import { received } from '../support/data/ingest.ts';
import { eventsOf } from '../support/events/forked-chain.ts';
import { until } from '../support/time/until.ts';
import { CONSUMER, type DirectHooks, directHooks } from './direct.ts';
import { definition, type Received, receiver } from './server.ts';

const everything = ['stx_event', 'contract_call', 'contract_deploy', 'tenure_change', 'coinbase'].map((type) => ({
  type,
}));
const mined = { mine: 'back' as const, tenure: 'same' as const, transactions: 4 };
const grow = { ...mined, blocks: 0 };
/** Three blocks, then a rival of the second block with two more blocks, which wins. */
const forked = eventsOf({
  seed: 3,
  steps: [grow, grow, grow, { ...mined, blocks: 2 }, { ...mined, mine: 'overtake', end: 1 }],
}).map(received);
const third = 1 + forked.findIndex(({ path, text }) => path === '/new_block' && JSON.parse(text).block_height === 3);
const feed = ({ ingest }: DirectHooks, events: typeof forked) => {
  for (const event of events) ingest.receive(event);
};

const reasonOf = ({ headers }: Received) => headers['x-chainhook-reason'];
const hashesOf = (blocks: { block_identifier: { hash: string } }[]) =>
  blocks.map(({ block_identifier }) => block_identifier.hash);

/** A hook that is live from the tip of three blocks on. */
async function liveAtThree(direct: DirectHooks, ...urls: string[]): Promise<string[]> {
  const uuids: string[] = [];
  for (const url of urls) uuids.push(await direct.register(definition(url, everything)));
  feed(direct, forked.slice(0, third));
  for (const uuid of uuids) await direct.managed.setEnabled(CONSUMER, uuid, true);
  return uuids;
}

test("a backfill's pending deliveries of an orphaned block are cancelled, and the backfill ends", async () => {
  await using direct = directHooks();
  using target = receiver();
  const [uuid = ''] = await liveAtThree(direct, target.url);
  // At most two deliveries wait, so that the backfill continues only if there is room.
  const { deliveries } = direct.tables;
  const { openOfBackfill } = deliveries;
  deliveries.openOfBackfill = (id) => (openOfBackfill(id) < 2 ? 0 : 1_000);
  target.answer = () => new Response('', { status: 503 });
  const { id } = await direct.trial.backfill(CONSUMER, uuid, { from: 2, to: 3, dryRun: false });
  const job = () => direct.trial.getBackfill(CONSUMER, uuid, id);
  await until(() => direct.deliveries(uuid).length === 2 && direct.deliveries(uuid)[0]?.state === 'failed');
  expect(job().state).toBe('running');

  const accepted: Received[] = [];
  target.answer = (request) => {
    accepted.push(request);
    return new Response('');
  };
  feed(direct, forked.slice(third));
  await until(() => accepted.some(({ payload }) => payload.event.rollback.length === 2));
  direct.clock.time += 10_000;
  direct.hooks.dispatcher.wake(direct.record(uuid).id, 'backfill');
  await until(() => direct.deliveries(uuid).every(({ state }) => state === 'delivered' || state === 'cancelled'));
  expect(accepted.map(reasonOf)).not.toContain('backfill');
  expect(direct.deliveries(uuid).map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'delivered']);
  await until(() => job().state === 'completed');
  expect(job().deliveries).toEqual({ queued: 2, delivered: 0, dead: 2 });
});

test.each([200, 500])(
  "a rollback waits for the backfill's running request with that block, answered %d",
  async (status) => {
    await using direct = directHooks();
    using target = receiver();
    using other = receiver();
    const [uuid = ''] = await liveAtThree(direct, target.url, other.url);
    const requested = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Response>();
    target.answer = (request) => {
      if (reasonOf(request) !== 'backfill') return new Response('');
      requested.resolve();
      return answer.promise;
    };
    await direct.trial.backfill(CONSUMER, uuid, { from: 3, to: 3, dryRun: false });
    await requested.promise;

    feed(direct, forked.slice(third));
    // The other hook's queue comes after the queue of the waiting request.
    await until(() => other.received.length === 1);
    const [applied, rollback] = direct.deliveries(uuid);
    expect([applied?.state, rollback?.state, rollback?.attempts]).toEqual(['cancelled', 'pending', 0]);
    expect(direct.hooks.dispatcher.underWay().includes(rollback!.id)).toBe(false);
    answer.resolve(new Response('', { status }));
    await until(() => direct.deliveries(uuid)[1]?.state === 'delivered');
    expect(direct.deliveries(uuid)[0]).toMatchObject({ state: 'cancelled', attempts: 0 });
    expect(target.received.map(reasonOf)).toEqual(['backfill', 'live']);
    const [apply, correction] = target.received.map(({ payload }) => payload.event);
    expect(hashesOf(correction.rollback)).toContain(hashesOf(apply.apply)[0] as string);
  },
);

test('a redelivery of a backfill is also cancelled, and counted once', async () => {
  await using direct = directHooks();
  using target = receiver();
  const [uuid = ''] = await liveAtThree(direct, target.url);
  target.answer = () => new Response('', { status: 410 });
  const { id } = await direct.trial.backfill(CONSUMER, uuid, { from: 3, to: 3, dryRun: false });
  await until(() => direct.deliveries(uuid)[0]?.state === 'dead');
  target.answer = () => new Response('', { status: 503 });
  await direct.log.redeliver(CONSUMER, uuid, direct.deliveries(uuid)[0]!.webhookId);
  await until(() => direct.deliveries(uuid)[0]?.state === 'failed');
  feed(direct, forked.slice(third));
  expect(direct.deliveries(uuid)[0]?.state).toBe('cancelled');
  expect(direct.trial.getBackfill(CONSUMER, uuid, id).deliveries).toEqual({ queued: 1, delivered: 0, dead: 1 });
});

test('a hook that was disabled during a reorg gets the rollback once it is enabled', async () => {
  await using direct = directHooks();
  using target = receiver();
  const uuid = await direct.register(definition(target.url, everything, { enable_on_registration: true }));
  feed(direct, forked.slice(0, third));
  await until(() => direct.deliveries(uuid).every(({ state }) => state === 'delivered'));
  const applied = target.received.flatMap(({ payload }) => hashesOf(payload.event.apply));
  await direct.managed.setEnabled(CONSUMER, uuid, false);
  const count = target.received.length;
  feed(direct, forked.slice(third));
  expect(direct.deliveries(uuid)).toHaveLength(count);
  await direct.managed.setEnabled(CONSUMER, uuid, true);
  await until(() => direct.deliveries(uuid).every(({ state }) => state === 'delivered'));
  const { event } = target.received.at(-1)!.payload;
  // Blocks 3 and 2, the highest first; their replacements are skipped.
  expect([hashesOf(event.rollback), event.apply]).toEqual([applied.slice(-2).reverse(), []]);
});
