/** Retention of chainhooks: the rows that are deleted, and the rows that must stay. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { retention } from '../../src/hooks/retention.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { DeliveryState } from '../../src/store/rows/enums.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { CONSUMER, type DirectHooks, directHooks } from './direct.ts';
import { definition, everything, NOWHERE, receiver, started } from './server.ts';

/** Milliseconds between two runs. */
const EVERY = 60_000;
const DAY = 24 * 3_600_000;
const RETENTION = 7 * DAY;
const events = simulatedEvents({ seed: 5, blocks: 20, accounts: 12, transactionsPerBlock: 4, forkEvery: 0 });
const feed = ({ ingest, clock }: DirectHooks) => {
  // Deliveries have the time of their event.
  for (const event of events) ingest.receive({ ...event, receivedAt: clock.time * 1_000 });
};
const hasBody = ({ hooks }: DirectHooks, id: number) => hooks.store.deliveries.hasBody(id);

/** Registers a hook that is live, and feeds the chain. */
async function live(direct: DirectHooks): Promise<string> {
  const uuid = await direct.register(definition(NOWHERE, everything, started));
  feed(direct);
  return uuid;
}

/** Sets the states of a hook's deliveries, in order. */
function setStates(direct: DirectHooks, uuid: string, states: readonly DeliveryState[]) {
  const deliveries = direct.deliveries(uuid).slice(0, states.length);
  expect(deliveries).toHaveLength(states.length);
  for (const [index, { id }] of deliveries.entries()) direct.tables.deliveries.setState(id, states[index]!);
  return deliveries;
}

test('delivered and cancelled deliveries expire, first their bodies and then their rows; others stay', async () => {
  await using direct = directHooks();
  const uuid = await live(direct);
  const deliveries = setStates(direct, uuid, ['delivered', 'cancelled', 'failed', 'pending', 'dead']);
  const bodies = () => deliveries.map(({ id }) => hasBody(direct, id));
  const rows = () => deliveries.map(({ id }) => direct.hooks.store.deliveries.get(id) !== undefined);
  const [all, withoutTwo] = [Array(5).fill(true), [false, false, true, true, true]];
  for (const [passed, withBody, withRow] of [
    [0, all, all],
    [RETENTION, all, all],
    [1, withoutTwo, all],
    [4 * RETENTION, withoutTwo, withoutTwo],
  ] as const) {
    direct.clock.time += passed;
    await direct.hooks.upkeep.run();
    expect({ passed, bodies: bodies(), rows: rows() }).toEqual({ passed, bodies: withBody, rows: withRow });
  }
});

test('upkeep runs periodically while the hooks run', async () => {
  const clock = heldClock([EVERY]);
  await using direct = directHooks({ after: clock.after });
  const uuid = await live(direct);
  const [first, second] = setStates(direct, uuid, ['delivered', 'pending']);
  direct.clock.time += RETENTION + 1;
  clock.pass(EVERY);
  await until(() => clock.waiting(EVERY) === 1, 'the next wait');
  expect([hasBody(direct, first!.id), hasBody(direct, second!.id)]).toEqual([false, true]);
  await direct.stop();
  expect(clock.waiting(EVERY)).toBe(0);
  expect(direct.logged.filter(({ event }) => event === 'unexpected_error')).toEqual([]);
});

test('a hook keeps the bodies of its newest delivered deliveries, and all undelivered bodies', async () => {
  await using direct = directHooks();
  const uuid = await live(direct);
  const deliveries = setStates(direct, uuid, ['pending', 'delivered', 'delivered', 'dead', 'delivered', 'delivered']);
  const { store, commands, clock } = direct.hooks;
  const upkeep = retention({ store, commands, log: () => {}, clock, retentionMs: RETENTION, maxBodies: 2 });
  await upkeep.run();
  expect(deliveries.map(({ id }) => hasBody(direct, id))).toEqual([true, false, false, true, true, true]);
  direct.tables.deliveries.setState(deliveries[0]!.id, 'delivered');
  direct.tables.deliveries.setState(direct.deliveries(uuid)[6]!.id, 'delivered');
  await upkeep.run();
  expect(deliveries.map(({ id }) => hasBody(direct, id))).toEqual([true, false, false, true, false, true]);
});

test('ledger rows of deep blocks are deleted, except for orphaned blocks that wait for a rollback', async () => {
  await using direct = directHooks();
  const uuid = await live(direct);
  const { history, store } = direct.hooks;
  const { id } = direct.record(uuid);
  const [canonical, orphan] = [history.hashAt(15)!, new Uint8Array(32).fill(7)];
  direct.tables.ledger.add(orphan, id, 15, 0, [0]);
  expect(direct.tables.ledger.ofBlock(canonical)).toHaveLength(1);
  await direct.hooks.upkeep.run();
  expect(direct.tables.ledger.ofBlock(canonical)).toHaveLength(1);
  // The tip is so far above that no reorganization reaches down to the block.
  const { burnBlockHeight } = history.block(canonical);
  store.candidates.tipBurnHeight = () => burnBlockHeight + 150;
  await direct.hooks.upkeep.run();
  expect(direct.tables.ledger.ofBlock(canonical)).toHaveLength(1);
  store.candidates.tipBurnHeight = () => burnBlockHeight + 151;
  // A devnet can revert to any block in memory.
  const { commands, clock } = direct.hooks;
  const onDevnet = { store, commands, log: () => {}, clock, retentionMs: RETENTION, lowestFork: () => lowest };
  let lowest = burnBlockHeight;
  await retention(onDevnet).run();
  expect(direct.tables.ledger.ofBlock(canonical)).toHaveLength(1);
  lowest += 1;
  await retention(onDevnet).run();
  expect(direct.tables.ledger.ofBlock(canonical)).toHaveLength(0);
  expect(direct.tables.ledger.ofBlock(orphan).map(({ height }) => height)).toEqual([15]);
});

test('a deleted hook is removed with all its deliveries and backfills', async () => {
  await using direct = directHooks();
  const uuid = await direct.register(definition(NOWHERE, everything, started));
  const other = await direct.register(definition(NOWHERE, everything, started));
  feed(direct);
  setStates(direct, uuid, ['delivered', 'dead']);
  await direct.trial.backfill(CONSUMER, uuid, { from_height: 1, to_height: 5, dry_run: true });
  const { id } = direct.record(uuid);
  const others = direct.deliveries(other).length;
  await direct.managed.remove(CONSUMER, uuid);
  direct.clock.time += 4 * RETENTION;
  await direct.hooks.upkeep.run();
  using db = new Database(indexPath(direct.directory), { readonly: true });
  const counts = () => {
    const count = (table: string, column: string) =>
      db.query<{ n: number }, [number]>(`SELECT count(*) AS n FROM ${table} WHERE ${column} = ?`).get(id)?.n;
    return [count('hooks', 'id'), count('hook_deliveries', 'hook_id'), count('hook_backfills', 'hook_id')];
  };
  expect(counts()).toEqual([1, expect.any(Number), 1]);
  direct.clock.time += 1;
  await direct.hooks.upkeep.run();
  expect(counts()).toEqual([0, 0, 0]);
  expect(direct.deliveries(other)).toHaveLength(others);
});

test('retention deletes in several batches, and logs failures', async () => {
  const clock = heldClock([EVERY]);
  await using direct = directHooks({ after: clock.after });
  using target = receiver();
  const uuid = await direct.register(definition(target.url, everything));
  feed(direct);
  const { store } = direct.hooks;
  const { id } = direct.record(uuid);
  const many = 5_001;
  const kind = { queue: 'evaluate', reason: 'evaluate', sequence: null, problem: null, backfillId: null } as const;
  const content = { hookId: id, blocks: { apply: [], rollback: [] }, body: '{}' };
  await direct.ingest.local(() => {
    for (let number = 0; number < many; number++) {
      const row = { webhookId: `evt_${number}`, ...content, ...kind };
      direct.tables.deliveries.setState(direct.tables.deliveries.add(row, direct.clock.time), 'cancelled');
    }
  });
  direct.clock.time += 4 * RETENTION + 1;
  const { tipBurnHeight } = store.candidates;
  const cause = new Error('for a test');
  store.candidates.tipBurnHeight = () => {
    throw cause;
  };
  clock.pass(EVERY);
  await until(() => clock.waiting(EVERY) === 1, 'the next wait');
  expect(direct.logged).toContainEqual({ event: 'unexpected_error', part: 'chainhook', cause });
  store.candidates.tipBurnHeight = tipBurnHeight;
  await direct.hooks.upkeep.run();
  expect(direct.deliveries(uuid)).toEqual([]);
});

test('a stopping server waits only for the current step of upkeep', async () => {
  await using direct = directHooks();
  const { store } = direct.hooks;
  const timers = heldClock([EVERY]);
  const names: string[] = [];
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const commands = {
    async run(name: string) {
      names.push(name);
      started.resolve();
      await finish.promise;
      // There is more to forget, and an end of it.
      if (names.length > 20) return name === 'upkeep.deleted_hook' ? null : { count: 0, last: null };
      return name === 'upkeep.rows' || name === 'upkeep.ledger'
        ? 2_000
        : { count: 2_000, last: 1, whole: false, hook: 1 };
    },
  } as unknown as Parameters<typeof retention>[0]['commands'];
  const upkeep = retention({ store, commands, log: () => {}, clock: timers, retentionMs: RETENTION, maxBodies: 2 });
  upkeep.start();
  timers.pass(EVERY);
  await started.promise;
  const stopped = upkeep.stop();
  finish.resolve();
  await stopped;
  expect(names).toEqual(['upkeep.aged_bodies']);
});
