/** Concurrent changes of hooks, and failures of the database under hooks. */
import { Database } from 'bun:sqlite';
import { expect, onTestFinished, test } from 'bun:test';
import { StoreUnavailableError } from '../../src/base/system-errors.ts';
import { HookProblem } from '../../src/hooks/problem.ts';
import type { TargetGuard } from '../../src/http/outgoing.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { until } from '../support/time/until.ts';
import { busyError, CONSUMER, type DirectHooks, directHooks } from './direct.ts';
import { definition, everything, hookServer, NOWHERE, receiver, started } from './server.ts';

const events = simulatedEvents({ seed: 3, blocks: 6, accounts: 12, transactionsPerBlock: 4, forkEvery: 0 });

/** A hook, and a guard that answers when the test decides, in the order of the requests. */
async function slowlyGuarded() {
  const waiting: (() => void)[] = [];
  const guard: TargetGuard = {
    async check(url) {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { url: new URL(url), addresses: [{ address: '127.0.0.1', family: 4 }] };
    },
  };
  /** @param count questions that have come by then */
  const answerAll = async (count: number) => {
    await until(() => waiting.length >= count);
    for (const answer of waiting.splice(0)) answer();
  };
  const direct = directHooks({ guard });
  onTestFinished(() => direct[Symbol.asyncDispose]());
  const registered = direct.register(definition(NOWHERE, everything));
  await answerAll(1);
  return { direct, answerAll, isAsked: () => waiting.length > 0, uuid: await registered };
}

test('two concurrent changes of a hook are both stored, in any order of the DNS answers', async () => {
  const { direct, answerAll, uuid } = await slowlyGuarded();
  const first = direct.managed.update(CONSUMER, uuid, { name: 'renamed' });
  const second = direct.managed.update(CONSUMER, uuid, { action: { type: 'http_post', url: `${NOWHERE}other` } });
  const third = direct.managed.update(CONSUMER, uuid, { options: { decode_clarity_values: true } });
  await answerAll(3);
  await Promise.all([first, second, third]);
  expect(direct.managed.get(CONSUMER, uuid).definition).toEqual({
    ...definition(`${NOWHERE}other`, everything),
    name: 'renamed',
    options: { decode_clarity_values: true },
  });
});

test('a change fails with "not found" if the hook is deleted during the DNS lookup', async () => {
  const { direct, answerAll, isAsked, uuid } = await slowlyGuarded();
  const changed = direct.managed.update(CONSUMER, uuid, { name: 'renamed' });
  await until(isAsked);
  await direct.managed.remove(CONSUMER, uuid);
  await answerAll(1);
  const outcome = await changed.catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(HookProblem);
  expect(outcome).toMatchObject({ status: 404, message: 'Chainhook not found' });
});

test('an unexpected error of the guard is passed on', async () => {
  const broken = new TypeError('a fault of ours');
  await using direct = directHooks({ guard: { check: () => Promise.reject(broken) } });
  expect(await direct.register(definition(NOWHERE, everything)).catch((error: unknown) => error)).toBe(broken);
});

test('a busy database returns 503 instead of "unknown block", and the log has the cause', async () => {
  await using server = await hookServer();
  server.feed(events);
  const uuid = await server.register(NOWHERE, {});
  const { history } = server.hooks;
  const { branchOf } = history;
  const index_block_hash = `0x${history.tip().indexBlockHash.toHex()}`;
  const path = `/chainhooks/me/${uuid}/evaluate`;
  const busy = busyError();
  history.branchOf = () => {
    throw busy;
  };
  expect(await server.request('POST', path, { index_block_hash })).toMatchObject({
    status: 503,
    body: { error: 'Unavailable', details: "The database can't be used now; the same request may succeed later" },
  });
  expect(server.logged).toContainEqual(expect.objectContaining({ event: 'store_unavailable', cause: busy }));
  history.branchOf = branchOf;
  expect((await server.request('POST', path, { index_block_hash })).status).toBe(204);
  expect((await server.request('POST', path, { index_block_hash: '00'.repeat(32) })).status).toBe(404);
});

test('a busy database during a payload fails the event, but not the hook', async () => {
  await using direct = directHooks();
  const uuid = await direct.register(definition(NOWHERE, everything, { ...started, decode_clarity_values: true }));
  const { candidates } = direct.tables;
  const { contractInterface } = candidates;
  const busy = busyError();
  candidates.contractInterface = () => {
    throw busy;
  };
  let failed = 0;
  for (const event of events) {
    try {
      direct.ingest.receive(event);
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect((error as Error).cause).toBe(busy);
      failed += 1;
      candidates.contractInterface = contractInterface;
      direct.ingest.receive(event);
    }
  }
  expect(failed).toBe(1);
  expect(direct.record(uuid)).toMatchObject({ status: 'streaming', stage: 'live', evaluated: 6 });
  expect(direct.deliveries(uuid).filter(({ problem }) => problem !== null)).toEqual([]);
});

test('a database error during deliveries stops neither the process nor a queue', async () => {
  await using direct = directHooks();
  using target = receiver();
  const uuid = await direct.register(definition(target.url, everything, started));
  const { deliveries } = direct.hooks.store;
  const { records } = direct.tables;
  const { head } = deliveries;
  const { delivered } = records;
  const busy = busyError();
  const faults = () => direct.logged.filter((item) => 'cause' in item && item.cause === busy).map(({ event }) => event);
  deliveries.head = () => {
    throw busy;
  };
  direct.feed(events);
  await until(() => faults().length === 1);
  expect(target.received).toEqual([]);
  deliveries.head = head;
  // The result of an attempt can't be stored, so the delivery is sent again with the same id.
  records.delivered = () => {
    throw busy;
  };
  direct.wake(uuid);
  await until(() => faults().length === 2);
  expect(faults()).toEqual(['unexpected_error', 'service_failing']);
  expect(direct.deliveries(uuid)[0]).toMatchObject({ state: 'pending', attempts: 0 });
  records.delivered = delivered;
  direct.wake(uuid);
  await until(() => direct.deliveries(uuid).every(({ state }) => state === 'delivered'));
  const ids = target.received.map(({ headers }) => headers['webhook-id']);
  expect(ids).toEqual([ids[0], ...direct.deliveries(uuid).map(({ webhookId }) => webhookId)]);
});

test.each([
  ['hooks', 'status', (direct: DirectHooks, uuid: string) => direct.managed.get(CONSUMER, uuid)],
  ['hooks', 'stage', (direct: DirectHooks, uuid: string) => direct.managed.get(CONSUMER, uuid)],
  ['hook_deliveries', 'queue', (direct: DirectHooks) => direct.hooks.store.deliveries.get(1)],
  ['hook_deliveries', 'reason', (direct: DirectHooks) => direct.hooks.store.deliveries.get(1)],
  ['hook_deliveries', 'state', (direct: DirectHooks) => direct.hooks.store.deliveries.get(1)],
  ['hook_backfills', 'state', (direct: DirectHooks, uuid: string) => direct.trial.backfills(CONSUMER, uuid)],
] as const)('an unknown number in %s.%s is reported with its row', async (table, column, read) => {
  await using direct = directHooks();
  const uuid = await direct.register(definition(NOWHERE, everything));
  direct.feed(events);
  for (const block_height of [1, 2, 3, 4, 5, 6]) await direct.managed.evaluate(CONSUMER, uuid, { block_height });
  await direct.trial.backfill(CONSUMER, uuid, { from_height: 1, to_height: 2, dry_run: true });
  expect(read(direct, uuid)).toBeDefined();
  using db = new Database(indexPath(direct.directory), { readwrite: true });
  db.run(`UPDATE ${table} SET ${column} = 9 WHERE id = 1`);
  const attempt = () => read(direct, uuid);
  expect(attempt).toThrow(`Row 1 of ${table} has ${column} 9, which this version doesn't support`);
});
