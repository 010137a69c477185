/** A lease that one host holds at a time, and the reports of hosts. */

import { describe, expect, test } from 'bun:test';
import { readHosts, writeReport } from '../../../src/cluster/cluster-status.ts';
import type { EngineAccess } from '../../../src/cluster/engine-tables.ts';
import { type LeaseOptions, postgresLeases, readLeases } from '../../../src/cluster/leases.ts';
import { LogUnavailableError, LogUnknownOutcomeError } from '../../../src/cluster/shared-log.ts';
import { casesOf } from '../../support/property.ts';
import { type Cut, cutProxy } from '../../support/servers/cut-proxy.ts';
import type { EngineFixture } from './engine-fixture.ts';

/** One hour, so that the lease never expires by the engine's clock during a test. */
const SECONDS = 3_600;
/** Minimum bytes of a request and of an answer. */
const MIN_BYTES = 35;
const options = (holder: string): LeaseOptions => ({ name: 'delivery', holder, seconds: SECONDS, epochSeen: 0 });
const ask = (access: EngineAccess, holder: string) => postgresLeases(access).give(options(holder));
const set = (access: EngineAccess, holder: string, epoch: number, seconds: number): Promise<boolean> =>
  postgresLeases(access).setUntil({ name: 'delivery', holder, epoch }, seconds);

/** Requests a lease that nobody else holds. @returns its epoch */
async function acquire(access: EngineAccess, holder: string): Promise<number> {
  const answer = await ask(access, holder);
  if (!('newEpoch' in answer)) throw new Error(`${answer.holder} holds it`);
  return answer.newEpoch;
}

export function leaseTests(fixture: () => EngineFixture): void {
  describe('a lease', () => {
    test('belongs to one host at a time, and each new holder has a higher epoch', async () => {
      await using log = await fixture().newLog();
      const { access } = log;
      expect(await acquire(access, 'a')).toBe(1);
      expect(await ask(access, 'b')).toEqual({ holder: 'a', epoch: 1 });
      expect(await set(access, 'a', 1, SECONDS)).toBe(true);
      expect(await set(access, 'b', 1, SECONDS)).toBe(false);
      expect(await set(access, 'a', 1, 0)).toBe(true);
      expect(await set(access, 'a', 1, SECONDS)).toBe(false);
      expect(await acquire(access, 'b')).toBe(2);
      expect(await readLeases(access)).toEqual([
        { name: 'delivery', holder: 'b', epoch: 2, seconds_left: expect.any(Number) },
      ]);
    });

    test('is independent of leases with other names', async () => {
      await using log = await fixture().newLog();
      const leases = postgresLeases(log.access);
      const give = (name: string, holder: string) => leases.give({ ...options(holder), name });
      expect(await give('delivery', 'a')).toEqual({ newEpoch: 1 });
      expect(await leases.give({ ...options('b'), name: 'filling', epochSeen: 4 })).toEqual({ newEpoch: 5 });
      expect(await give('delivery', 'c')).toEqual({ holder: 'a', epoch: 1 });
      expect(await give('filling', 'c')).toEqual({ holder: 'b', epoch: 5 });
    });

    test('is granted to one of several hosts that request it at once', async () => {
      await using log = await fixture().newLog();
      const answers = await Promise.all(['a', 'b', 'c'].map((holder) => ask(log.access, holder)));
      expect(answers.filter((answer) => 'newEpoch' in answer)).toHaveLength(1);
    });

    test('has an epoch above all that the host has seen, even if the engine lost them', async () => {
      await using log = await fixture().newLog();
      const leases = postgresLeases(log.access);
      expect(await leases.give({ ...options('a'), epochSeen: 7 })).toEqual({ newEpoch: 8 });
      await leases.setUntil({ name: 'delivery', holder: 'a', epoch: 8 }, 0);
      expect(await leases.give({ ...options('b'), epochSeen: 5 })).toEqual({ newEpoch: 9 });
      await leases.setUntil({ name: 'delivery', holder: 'b', epoch: 9 }, 0);
      expect(await leases.give({ ...options('a'), epochSeen: 20 })).toEqual({ newEpoch: 21 });
    });

    test("that has ended doesn't return to its holder, even if nobody else took it", async () => {
      await using log = await fixture().newLog();
      expect(await acquire(log.access, 'a')).toBe(1);
      await fixture().server.run(`UPDATE ${log.access.tables.lease} SET until = clock_timestamp()`);
      expect(await set(log.access, 'a', 1, SECONDS)).toBe(false);
      expect(await acquire(log.access, 'b')).toBe(2);
    });

    test('is granted to the same host again, but to no other host, if the answer was lost', async () => {
      using proxy = cutProxy(fixture().server.port);
      const prefix = await fixture().newTables();
      const url = fixture().server.url.replace(`:${fixture().server.port}`, `:${proxy.port}`);
      const [cut, other] = await Promise.all([
        fixture().openAt(url, prefix, { connections: 1 }),
        fixture().openAt(fixture().server.url, prefix),
      ]);
      let epoch = 0;
      for (let round = 0; round < casesOf(3); round++) {
        // Connects, and prepares nothing.
        await cut.head();
        const where: Cut = { side: round % 2 === 0 ? 'server' : 'client', after: (7 * round) % MIN_BYTES };
        proxy.cutAfter(where);
        const failure = await ask(cut.access, 'a').catch((error: unknown) => error);
        proxy.cutAfter(null);
        expect(failure instanceof LogUnknownOutcomeError || failure instanceof LogUnavailableError).toBe(true);
        const next = await acquire(cut.access, 'a');
        expect(next).toBeGreaterThan(epoch);
        epoch = next;
        expect(await ask(other.access, 'b')).toEqual({ holder: 'a', epoch });
      }
      await Promise.all([cut.close(), other.close()]);
    });
  });

  test('hosts report their positions', async () => {
    await using log = await fixture().newLog();
    await writeReport(log.access, { name: 'b', entry: 3, version: '1', lagSeconds: 0, process: 'process of b' }, true);
    await writeReport(log.access, { name: 'a', entry: 7, version: '1', lagSeconds: 0, process: 'process of a' }, true);
    await writeReport(log.access, { name: 'b', entry: 4, version: '2', lagSeconds: 0, process: 'process of b' }, true);
    await writeReport(log.access, { name: 'a', entry: 7, version: '1', lagSeconds: 0, process: 'process of a' }, true);
    const seconds = expect.any(Number);
    expect(await readHosts(log.access)).toEqual([
      { name: 'a', entry: 7, version: '1', seen_seconds_ago: seconds, lag_seconds: 0 },
      { name: 'b', entry: 4, version: '2', seen_seconds_ago: seconds, lag_seconds: 0 },
    ]);
    // The lag is the host's own measurement: an old event may come late, and clocks may differ.
    const behind = { name: 'a', entry: 1, version: '1', lagSeconds: 3_600, process: 'process of a' };
    expect(await writeReport(log.access, behind, false)).toBe(false);
    const [lagging, level] = await readHosts(log.access);
    expect(Math.floor(lagging!.lag_seconds / 60)).toBe(60);
    expect(level!.lag_seconds).toBe(0);
    // Another process of that name is news to a process that reported before.
    const namesake = { ...behind, process: 'another' };
    expect(await writeReport(log.access, namesake, true)).toBe(false);
    expect(await writeReport(log.access, behind, false)).toBe(true);
  });
}
