/** A full disk as a node and an operator see it over HTTP, until there is room again. */
import { Database } from 'bun:sqlite';
import { expect, spyOn, test } from 'bun:test';
import { probeWrites } from '../../src/commands/serve/writable-index.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { metricOf } from '../support/servers/metrics.ts';
import { serving } from '../support/servers/serving.ts';
import { errorOf } from './fault-store.ts';

/** Makes every write transaction fail until it is disposed of. */
function fullDisk(): Disposable {
  const run = Database.prototype.run;
  const spy = spyOn(Database.prototype, 'run').mockImplementation(function (
    this: Database,
    ...parameters: Parameters<typeof run>
  ) {
    if (parameters[0] === 'BEGIN IMMEDIATE') throw errorOf('full');
    return run.apply(this, parameters);
  } as typeof run);
  return { [Symbol.dispose]: () => spy.mockRestore() };
}

test.each(['0', '1'])(
  'with %s threads: a full disk is 503 with the reason to the node and at /ready, and both are 200 when there is room',
  async (threads) => {
    // Blocks from the future are never old.
    const chain = { seed: 5, blocks: 4, transactionsPerBlock: 2, forkEvery: 0, startTime: 4_000_000_000 };
    const events = [...devnetEvents(chain)];
    const [last] = events.splice(-1);
    await using server = await serving({ threads });
    await server.post(events);
    const send = async () => {
      const response = await fetch(server.events + last!.path, { method: 'POST', body: last!.body });
      return { status: response.status, body: await response.json() };
    };
    const ready = async () => {
      const response = await server.get('/ready');
      return { status: response.status, body: await response.json() };
    };
    expect(await ready()).toMatchObject({ status: 200, body: { ready: true, reason: null } });
    {
      using _full = fullDisk();
      for (const _ of [1, 2, 3]) {
        expect(await send()).toEqual({ status: 503, body: { error: 'disk is full' } });
      }
      expect(await ready()).toMatchObject({
        status: 503,
        body: { ready: false, reason: 'Nothing can be written: disk is full.' },
      });
      expect(await metricOf(server.events, 'stackside_store_writable')).toBe(0);
      const failures = await metricOf(server.events, 'stackside_store_failures_total{reason="full"}');
      expect(failures).toBeGreaterThanOrEqual(3);
    }
    expect(await send()).toEqual({ status: 200, body: { result: 'ok' } });
    expect(await ready()).toMatchObject({ status: 200, body: { ready: true, reason: null } });
    expect(await metricOf(server.events, 'stackside_store_writable')).toBe(1);
  },
);

test('a server tries by itself, again and again, whether it can write', () => {
  let tick = () => {};
  let ended = false;
  let probes = 0;
  const end = probeWrites({ probe: () => probes++ }, (_, action) => {
    tick = action;
    return () => {
      ended = true;
    };
  });
  tick();
  tick();
  expect(probes).toBe(2);
  end();
  expect(ended).toBe(true);
});
