/**
 * A log that was restored to an earlier point: hooks are paused until somebody enables or disables them, and then they miss
 * nothing.
 */
import { expect, test } from 'bun:test';
import type { Lease, LeasedWork } from '../../src/cluster/lease-keeper.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import type { Answer, SendOptions } from '../../src/http/outgoing.ts';
import { identityEntry, newIdentity } from '../../src/store/ingest/log-identity.ts';
import { problemsIn } from '../support/recounts/recounts.ts';
import { until } from '../support/time/until.ts';
import { CONSUMER, type DirectHooks, directHooks } from './direct.ts';
import { definition, everything, NOWHERE, started, straightChain } from './server.ts';

const BLOCKS = 6;
const blocks = straightChain(BLOCKS, 1).filter(({ path }) => path === '/new_block');

/** A lease that starts when the test decides. */
function laterLease(): { lease: Lease; gain: () => void } {
  let work: LeasedWork | null = null;
  let isHeld = false;
  return {
    lease: {
      start: (job) => {
        work = job;
      },
      hasLease: () => isHeld,
      stop: async () => work?.stop(),
    },
    gain() {
      isHeld = true;
      work?.start(1);
    },
  };
}

/** A network that answers at once, and its requests. */
function answeringNetwork() {
  const sent: { id: string; hook: string; heights: number[] }[] = [];
  const answer: Answer = { status: 200, headers: {}, body: Buffer.alloc(0) };
  return {
    sent,
    send: async ({ headers, body }: SendOptions): Promise<Answer> => {
      const { event } = JSON.parse(new TextDecoder().decode(Buffer.from(body ?? '')));
      const heights = event.apply.map((block: { block_identifier: { index: number } }) => block.block_identifier.index);
      sent.push({ id: headers['webhook-id'] ?? '', hook: headers['x-chainhook-uuid'] ?? '', heights });
      return answer;
    },
  };
}

const begin = (direct: DirectHooks): Promise<void> =>
  direct.ingest.entries.follow(
    [identityEntry(direct.ingest.position(), 1_000, newIdentity())],
    'each',
    true,
    async () => {},
  );

test('hooks pause with their queues and backfills, and continue where they stopped once enabled', async () => {
  const { lease, gain } = laterLease();
  const { sent, send } = answeringNetwork();
  await using direct = directHooks({ lease, send });
  const { managed, trial } = direct;
  const live = await direct.register(definition(NOWHERE, everything, started));
  const idle = await direct.register(definition(NOWHERE, everything));
  const untouched = await direct.register(definition(NOWHERE, everything));
  direct.feed(blocks.slice(0, 3));
  await trial.backfill(CONSUMER, idle, { from_height: 1, dry_run: false });
  await begin(direct);
  const stages = () => [live, idle, untouched].map((uuid) => direct.record(uuid).stage);
  expect(stages()).toEqual(['paused', 'paused_idle', 'idle']);
  const { status } = managed.get(CONSUMER, live);
  expect(status).toMatchObject({ enabled: false, status: 'streaming', paused_reason: 'log_restored' });
  expect(status.pending_deliveries).toBeGreaterThan(0);
  expect(managed.get(CONSUMER, untouched).status.paused_reason).toBeNull();

  const fresh = await direct.register(definition(NOWHERE, everything, started));
  gain();
  direct.feed(blocks.slice(3));
  const ofFresh = () => sent.filter(({ hook }) => hook === fresh);
  await until(() => ofFresh().length === blocks.length - 3);
  await until(() => direct.hooks.store.backfills.next().length === 0, 'the backfill queues its matches');
  expect(sent).toEqual(ofFresh());

  expect(await managed.setManyEnabled(CONSUMER, true, { paused: true })).toEqual([live, idle]);
  const heights = (uuid: string) => sent.filter(({ hook }) => hook === uuid).flatMap((delivery) => delivery.heights);
  const allHeights = blocks.map((_, height) => height).slice(1);
  await until(() => heights(live).length === allHeights.length && heights(idle).length > 0);
  expect(heights(live)).toEqual(allHeights);
  await until(() => direct.hooks.store.deliveries.openQueues().length === 0);
  expect(heights(idle)).toEqual(allHeights.slice(0, 2));
  await until(() => direct.record(live).stage === 'live');
  expect(stages()).toEqual(['live', 'idle', 'idle']);
  await direct.stop();
  expect(problemsIn(direct.directory, { deep: silentMachine })).toEqual([]);
});

test('an expired hook sends its queue once it is disabled, and evaluates nothing', async () => {
  const { lease, gain } = laterLease();
  const { sent, send } = answeringNetwork();
  await using direct = directHooks({ lease, send });
  const { managed } = direct;
  const expiring = { ...started, expire_after_occurrences: 2 };
  const expired = await direct.register(definition(NOWHERE, everything, expiring));
  direct.feed(blocks.slice(0, 4));
  expect(managed.get(CONSUMER, expired).status.status).toBe('expired');
  await begin(direct);
  gain();
  const fresh = await direct.register(definition(NOWHERE, everything, started));
  direct.feed(blocks.slice(4));
  await until(() => sent.filter(({ hook }) => hook === fresh).length === blocks.length - 4);
  expect(sent.filter(({ hook }) => hook === expired)).toEqual([]);
  await managed.setEnabled(CONSUMER, expired, false);
  await until(() => sent.filter(({ hook }) => hook === expired).length === 2);
  expect(managed.get(CONSUMER, expired).status).toMatchObject({ status: 'expired', paused_reason: null });
});

test("a waiting delivery keeps its webhook id, and new deliveries get ids that the old log didn't have", async () => {
  /** The deliveries of one hook, which two of its hosts would number equally. */
  async function deliveriesOf(isRestored: boolean): Promise<string[]> {
    const { lease, gain } = laterLease();
    await using direct = directHooks({ lease, send: answeringNetwork().send });
    const uuid = '00000000-0000-4000-8000-000000000001';
    await direct.hooks.commands.run('hook.register', {
      uuid,
      consumer: CONSUMER,
      definition: definition(NOWHERE, everything, started) as never,
    });
    direct.feed(blocks.slice(0, 3));
    const ids = direct.deliveries(uuid).map(({ webhookId }) => webhookId);
    if (isRestored) {
      await begin(direct);
      await direct.managed.setManyEnabled(CONSUMER, true, { paused: true });
    }
    expect(direct.deliveries(uuid).map(({ webhookId }) => webhookId)).toEqual(ids);
    direct.feed(blocks.slice(3));
    gain();
    await until(() => direct.deliveries(uuid).length === BLOCKS, 'the hook has caught up');
    return direct.deliveries(uuid).map(({ webhookId }) => webhookId);
  }
  const [old, restored] = [await deliveriesOf(false), await deliveriesOf(true)];
  // The hook was registered before the first block, and isn't notified of that block: two deliveries waited.
  expect(restored.slice(0, 2)).toEqual(old.slice(0, 2));
  expect(restored.filter((id) => old.includes(id))).toHaveLength(2);
  expect(await deliveriesOf(false)).toEqual(old);
});
