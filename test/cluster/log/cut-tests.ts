/** The outcome of an append whose connection is cut, or whose session ends. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { STATEMENT_MS } from '../../../src/cluster/postgres-engine.ts';
import type { PostgresLog, PostgresLogOptions } from '../../../src/cluster/postgres-log.ts';
import { LogUnavailableError } from '../../../src/cluster/shared-log.ts';
import type { Entry, Head } from '../../../src/store/log/entry.ts';
import { casesOf } from '../../support/property.ts';
import { type Cut, type CutProxy, cutProxy } from '../../support/servers/cut-proxy.ts';
import { heldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';
import { type EngineFixture, entryAfter, type Outcome, outcomeOf, START } from './engine-fixture.ts';

export function cutTests(fixture: () => EngineFixture): void {
  describe('an append whose connection is cut', () => {
    let proxy: CutProxy;
    let prefix: string;
    /** Its address is the proxy's. */
    let log: PostgresLog;
    let head = START;

    const openProxied = (options: PostgresLogOptions = {}) =>
      fixture().openAt(fixture().server.url.replace(`:${fixture().server.port}`, `:${proxy.port}`), prefix, {
        connections: 1,
        ...options,
      });

    beforeAll(async () => {
      proxy = cutProxy(fixture().server.port);
      prefix = await fixture().newTables();
      log = await openProxied();
    });
    afterAll(async () => {
      await log.close();
      proxy[Symbol.dispose]();
    });

    const isThere = async ({ id }: Entry): Promise<boolean> =>
      (await fixture().server.run(`SELECT 1 FROM ${prefix}stackside_log WHERE seq = ${id}`)).length === 1;

    /** Connects and prepares the statement, so that the next bytes belong to one append. */
    async function warmUp(): Promise<void> {
      const behindGap = { ...head, id: head.id + 9 };
      expect(await log.append([entryAfter(behindGap)], behindGap)).toBe('conflict');
    }

    /** Returns the outcome of an append whose connection is cut, in words. */
    async function tryCut(cut: Cut, log: PostgresLog): Promise<string> {
      const entry = entryAfter(head);
      proxy.cutAfter(cut);
      const outcome = await outcomeOf(log.append([entry], head));
      proxy.cutAfter(null);
      await fixture().sessionsEnd();
      const isStored = await isThere(entry);
      if (isStored) head = entry;
      return `${outcome}, ${isStored ? 'there' : 'not there'}`;
    }

    /** The bytes that a warm append sends and receives. */
    async function sizes(): Promise<Record<Cut['side'], number>> {
      await warmUp();
      proxy.count();
      const entry = entryAfter(head);
      await log.append([entry], head);
      head = entry;
      return proxy.count();
    }

    /** Numbers below a limit: the first and the last, and more of those between in runs at scale. */
    const sampled = (limit: number, cases = 4): number[] => {
      const step = Math.max(1, Math.floor(limit / casesOf(cases)));
      return Array.from({ length: limit }, (_, n) => n).filter((n) => n % step === 0 || n === limit - 1);
    };

    test('within the statement writes nothing, and its outcome is unknown', async () => {
      for (const after of sampled((await sizes()).client)) {
        await warmUp();
        expect([after, await tryCut({ side: 'client', after }, log)]).toEqual([after, 'unknown, not there']);
      }
    });

    test('within the answer writes the entry, and its outcome is unknown', async () => {
      for (const after of sampled((await sizes()).server)) {
        await warmUp();
        expect([after, await tryCut({ side: 'server', after }, log)]).toEqual([after, 'unknown, there']);
      }
    });

    test('with several entries writes all or none of them', async () => {
      const several = () => {
        const first = entryAfter(head, 'one of two');
        return [first, entryAfter(first, 'two of two')];
      };
      await warmUp();
      proxy.count();
      const uncut = several();
      expect(await log.append(uncut, head)).toBe('appended');
      head = uncut[1]!;
      const { client, server } = proxy.count();
      const cuts = [
        ...sampled(client, 2).map((after): Cut => ({ side: 'client', after })),
        ...sampled(server, 2).map((after): Cut => ({ side: 'server', after })),
      ];
      for (const cut of cuts) {
        await warmUp();
        const entries = several();
        proxy.cutAfter(cut);
        const outcome = await outcomeOf(log.append(entries, head));
        proxy.cutAfter(null);
        await fixture().sessionsEnd();
        const isStored = await Promise.all(entries.map(isThere));
        expect([cut, outcome, isStored]).toEqual([cut, 'unknown', isStored[0] ? [true, true] : [false, false]]);
        if (isStored[0]) head = entries[1]!;
      }
    });

    test('before the statement is sent writes nothing, and the log is unavailable', async () => {
      await warmUp();
      proxy.sever();
      await fixture().sessionsEnd();
      proxy.count();
      await warmUp();
      // Most of these bytes prepare statements.
      const startUp = Math.floor(proxy.count().client / 8);
      const hasty = await openProxied({ connectSeconds: 0.05 });
      for (const after of sampled(startUp)) {
        proxy.sever();
        await fixture().sessionsEnd();
        expect([after, await tryCut({ side: 'client', after }, hasty)]).toEqual([after, 'unavailable, not there']);
      }
      await hasty.close();
    });

    test('or stalled has an unknown outcome after the time limit of a statement', async () => {
      const clock = heldClock([STATEMENT_MS]);
      const slow = await openProxied({ clock });
      const entry = entryAfter(head);
      expect(await slow.append([entry], head)).toBe('appended');
      head = entry;
      proxy.hold(true);
      proxy.count();
      const append = outcomeOf(slow.append([entryAfter(head)], head));
      await until(() => proxy.count().client > 0);
      clock.pass(STATEMENT_MS);
      expect(await append).toBe('unknown');
      proxy.hold(false);
      await slow.close();
    });
  });

  describe('an append that the server ends', () => {
    /** An append that waits for a transaction which has the number. @param end ends the wait */
    async function blocked(log: PostgresLog, head: Head, end: string): Promise<Outcome> {
      const { log: table } = log.access.tables;
      const entry = entryAfter(head);
      await using _ = await holding(`INSERT INTO ${table} VALUES (${entry.id}, 0, '', '', '\\x${'00'.repeat(32)}')`);
      const append = outcomeOf(log.append([entry], head));
      await until(async () => (await waiting()).length === 1, 'a session that waits for the lock');
      await fixture().server.run(`SELECT ${end}(pid) FROM pg_stat_activity WHERE ${WAITING}`);
      return await append;
    }

    const WAITING = "application_name = 'stackside' AND wait_event_type = 'Lock'";
    const waiting = () => fixture().server.run(`SELECT pid FROM pg_stat_activity WHERE ${WAITING}`);

    /** A transaction of another client that stays open. */
    async function holding(statement: string) {
      const sql = new SQL(fixture().server.url, { max: 1 });
      await sql.unsafe('BEGIN');
      await sql.unsafe(statement);
      return {
        async [Symbol.asyncDispose]() {
          await sql.unsafe('ROLLBACK');
          await sql.close();
        },
      };
    }

    test.each([
      ['with an error writes nothing', 'pg_cancel_backend', 'unavailable'],
      ['with its session leaves the outcome unknown', 'pg_terminate_backend', 'unknown'],
    ] as const)('%s, and the next append succeeds', async (_, end, outcome) => {
      await using log = await fixture().newLog();
      const first = entryAfter(START);
      await log.append([first], START);
      expect(await blocked(log, first, end)).toBe(outcome);
      expect(await log.append([entryAfter(first)], first)).toBe('appended');
    });

    test('is ended by the server if its client went away while it waited for a lock', async () => {
      const clock = heldClock([STATEMENT_MS]);
      await using log = await fixture().newLog({ clock });
      const { log: table } = log.access.tables;
      const entry = entryAfter(START);
      await using _ = await holding(`INSERT INTO ${table} VALUES (${entry.id}, 0, '', '', '\\x${'00'.repeat(32)}')`);
      const append = outcomeOf(log.append([entry], START));
      await until(async () => (await waiting()).length === 1, 'a session that waits for the lock');
      clock.pass(STATEMENT_MS);
      expect(await append).toBe('unknown');
      await until(async () => (await waiting()).length === 0, 'the end of the session');
    });

    test('while it waits for standbys does not count as durable', async () => {
      const clock = heldClock([STATEMENT_MS]);
      await using log = await fixture().newLog({ clock });
      const setStandbys = async (names: string) => {
        await fixture().server.run(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
        await fixture().server.run('SELECT pg_reload_conf()');
      };
      await setStandbys('nobody');
      let head = START;
      /** Sessions learn of the setting one after the other, so that some entries may still be taken. */
      async function appendUntilFailure(): Promise<Outcome> {
        for (;;) {
          const entry = entryAfter(head);
          const outcome = await outcomeOf(log.append([entry], head));
          if (outcome !== 'appended') return outcome;
          head = entry;
        }
      }
      const failure = appendUntilFailure();
      const SYNC = "application_name = 'stackside' AND wait_event = 'SyncRep'";
      const inSync = () => fixture().server.run(`SELECT pid FROM pg_stat_activity WHERE ${SYNC}`);
      await until(async () => (await inSync()).length === 1, 'a session that waits for a standby');
      await fixture().server.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${SYNC}`);
      expect(await failure).toBe('unknown');
      // The primary's own disk has the entry, and nothing else.
      const { log: table } = log.access.tables;
      expect((await fixture().server.run(`SELECT 1 FROM ${table} WHERE seq > ${head.id}`)).length).toBe(1);
      const reading = log.read(head.id, 1).catch((error: unknown) => error);
      await until(async () => (await inSync()).length === 1, 'a session that waits for a standby');
      // However much may be read, a standby is waited for as long as it is for an append.
      expect(clock.waiting(STATEMENT_MS)).toBe(1);
      clock.pass(STATEMENT_MS);
      expect(await reading).toBeInstanceOf(LogUnavailableError);
      await setStandbys('');
      expect((await log.read(head.id, 1)).length).toBe(1);
    });

    test('writes nothing if the role may only read, and the error gives the reason', async () => {
      const prefix = await fixture().newTables();
      await fixture().server.run('CREATE ROLE reader LOGIN');
      const tables = ['log', 'meta'].map((name) => `${prefix}stackside_${name}`);
      await fixture().server.run(`GRANT SELECT ON ${tables.join(', ')} TO reader`);
      const log = await fixture().openAt(fixture().server.url.replace('stackside@', 'reader@'), prefix);
      await expect(log.append([entryAfter(START)], START)).rejects.toThrow(
        `permission denied for table ${prefix}stackside_log`,
      );
      expect(await log.head()).toMatchObject({ id: 0 });
      await log.close();
    });

    test('because it is read-only writes nothing, and the host looks for another server', async () => {
      const prefix = await fixture().newTables();
      const log = await fixture().openAt(fixture().server.url, prefix, { connections: 1 });
      const setReadOnly = (value: string) =>
        log.access.engine.read((run) => run(`SET default_transaction_read_only = ${value}`));
      await setReadOnly('on');
      expect(await outcomeOf(log.append([entryAfter(START)], START))).toBe('unavailable');
      expect(await log.append([entryAfter(START)], START)).toBe('appended');
      await log.close();
    });
  });
}
