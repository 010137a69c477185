/** A lease that one host holds at a time, and the positions that hosts tell. */
import { describe, expect, test } from 'bun:test';
import { readHosts, tellPosition } from '../../../src/store/log/cluster-hosts.ts';
import { acquireLease, type HeldLease, type LeaseOptions, type TakenLease } from '../../../src/store/log/leases.ts';
import { postgresLeases, readLeases } from '../../../src/store/log/postgres-leases.ts';
import type { EngineAccess } from '../../../src/store/log/postgres-log.ts';
import { LogUnavailableError, LogUnknownOutcomeError } from '../../../src/store/log/shared-log.ts';
import { type Cut, cutProxy } from '../../support/cut-proxy.ts';
import { heldClock } from '../../support/held-clock.ts';
import { casesOf } from '../../support/property.ts';
import type { EngineFixture } from './engine-fixture.ts';

/** An hour: whatever a test does, the lease has not ended by the engine's clock. */
const SECONDS = 3_600;
/** Bytes that what is sent and what is answered has at least. */
const SHORTEST = 35;
const of = (holder: string): LeaseOptions => ({ name: 'delivery', holder, seconds: SECONDS, epochSeen: 0 });
const ask = (access: EngineAccess, holder: string): Promise<HeldLease | TakenLease> =>
  acquireLease(postgresLeases(access), of(holder), access.clock);

/** Asks for a lease that nobody else holds. */
async function acquire(access: EngineAccess, holder: string): Promise<HeldLease> {
  const lease = await ask(access, holder);
  if (!('renew' in lease)) throw new Error(`${lease.holder} holds it`);
  return lease;
}
const isHeld = (lease: HeldLease): boolean => lease.remaining() > 0;

export function leaseTests(fixture: () => EngineFixture): void {
  describe('a lease', () => {
    test('is held by one host at a time, and by each with a higher epoch', async () => {
      await using log = await fixture().newLog();
      const { access } = log;
      const first = await acquire(access, 'a');
      expect([first.epoch, isHeld(first)]).toEqual([1, true]);
      expect(await ask(access, 'b')).toEqual({ holder: 'a', epoch: 1 });
      expect(await first.renew()).toBe(true);
      await first.release();
      expect([isHeld(first), await first.renew()]).toEqual([false, false]);
      const second = await acquire(access, 'b');
      expect(second.epoch).toBe(2);
      expect(await readLeases(access)).toEqual([
        { name: 'delivery', holder: 'b', epoch: 2, seconds: expect.any(Number) },
      ]);
    });

    test('is given to one of those who ask at once', async () => {
      await using log = await fixture().newLog();
      const answers = await Promise.all(['a', 'b', 'c'].map((holder) => ask(log.access, holder)));
      expect(answers.filter((answer) => 'renew' in answer)).toHaveLength(1);
    });

    test('has an epoch above all that who asks has seen, though the engine has forgotten them', async () => {
      await using log = await fixture().newLog();
      const leases = postgresLeases(log.access);
      expect(await leases.give({ ...of('a'), epochSeen: 7 })).toEqual({ given: 8 });
      await leases.setUntil({ name: 'delivery', holder: 'a', epoch: 8 }, 0);
      expect(await leases.give({ ...of('b'), epochSeen: 5 })).toEqual({ given: 9 });
      await leases.setUntil({ name: 'delivery', holder: 'b', epoch: 9 }, 0);
      expect(await leases.give({ ...of('a'), epochSeen: 20 })).toEqual({ given: 21 });
    });

    test('that has ended is lost for its holder, even where nobody else took it', async () => {
      await using log = await fixture().newLog();
      const first = await acquire(log.access, 'a');
      await fixture().server.run(`UPDATE ${log.access.tables.lease} SET until = clock_timestamp()`);
      expect(await first.renew()).toBe(false);
      expect(isHeld(first)).toBe(false);
      expect((await acquire(log.access, 'b')).epoch).toBe(2);
    });

    test('ends for its holder by the time since it was asked for, whatever the engine says', async () => {
      const clock = heldClock([]);
      let now = 0;
      clock.monotonic = () => now;
      const log = await fixture().openAt(fixture().server.url, await fixture().newTables(), { clock });
      const lease = await acquire(log.access, 'a');
      now = SECONDS * 1000 - 1;
      expect(lease.remaining()).toBe(1);
      now += 1;
      expect(lease.remaining()).toBe(0);
      // By the engine's clock no time has passed.
      expect(await lease.renew()).toBe(true);
      expect(lease.remaining()).toBe(SECONDS * 1000);
      await log.close();
    });

    test('whose answer was cut off is had again by asking again, and by nobody else', async () => {
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
        const where: Cut = { of: round % 2 === 0 ? 'server' : 'client', after: (7 * round) % SHORTEST };
        proxy.cutAfter(where);
        const failure = await ask(cut.access, 'a').catch((error: unknown) => error);
        proxy.cutAfter(null);
        expect(failure instanceof LogUnknownOutcomeError || failure instanceof LogUnavailableError).toBe(true);
        const lease = await acquire(cut.access, 'a');
        expect(lease.epoch).toBeGreaterThan(epoch);
        epoch = lease.epoch;
        expect(await ask(other.access, 'b')).toEqual({ holder: 'a', epoch });
      }
      await Promise.all([cut.close(), other.close()]);
    });
  });

  test('hosts tell where they are', async () => {
    await using log = await fixture().newLog();
    await tellPosition(log.access, { name: 'b', seq: 3, version: '1', lagSeconds: 0, process: 'process of b' }, true);
    await tellPosition(log.access, { name: 'a', seq: 7, version: '1', lagSeconds: 0, process: 'process of a' }, true);
    await tellPosition(log.access, { name: 'b', seq: 4, version: '2', lagSeconds: 0, process: 'process of b' }, true);
    await tellPosition(log.access, { name: 'a', seq: 7, version: '1', lagSeconds: 0, process: 'process of a' }, true);
    const seconds = expect.any(Number);
    expect(await readHosts(log.access)).toEqual([
      { name: 'a', seq: 7, version: '1', seconds, lagSeconds: 0 },
      { name: 'b', seq: 4, version: '2', seconds, lagSeconds: 0 },
    ]);
    // The lag is what the host knows: an old event may come late, and clocks may differ.
    const behind = { name: 'a', seq: 1, version: '1', lagSeconds: 3_600, process: 'process of a' };
    const { isNameShared, now } = await tellPosition(log.access, behind, false);
    expect([isNameShared, Number.isFinite(now)]).toEqual([false, true]);
    const [lagging, level] = await readHosts(log.access);
    expect(Math.floor(lagging!.lagSeconds / 60)).toBe(60);
    expect(level!.lagSeconds).toBe(0);
    // Another process of that name is news to a process that told of itself before.
    const namesake = { ...behind, process: 'another' };
    expect((await tellPosition(log.access, namesake, true)).isNameShared).toBe(false);
    expect((await tellPosition(log.access, behind, false)).isNameShared).toBe(true);
  });
}
