/** The shared log over several PostgreSQL servers, of which one is written: nothing acknowledged dies with it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { nextChain, sameChain } from '../../../src/store/files/journal-entry.ts';
import { makeTables } from '../../../src/store/log/engine-tables.ts';
import { STATEMENT_MS } from '../../../src/store/log/postgres-engine.ts';
import { engineAccess, openPostgresLog, type PostgresLog } from '../../../src/store/log/postgres-log.ts';
import type { LogEntry, LogHead } from '../../../src/store/log/shared-log.ts';
import { heldClock } from '../../support/held-clock.ts';
import { moment } from '../../support/moment.ts';
import { hasPostgres, type PostgresQuorum, startQuorum } from '../../support/postgres.ts';
import { casesOf } from '../../support/property.ts';
import { describeWith } from '../../support/system-servers.ts';
import { until } from '../../support/until.ts';
import { entryAfter, outcomeOf, START } from './engine-fixture.ts';

describeWith('PostgreSQL', hasPostgres, () => {
  let quorum: PostgresQuorum;

  beforeAll(async () => {
    quorum = await startQuorum();
  });
  afterAll(() => quorum[Symbol.asyncDispose]());

  async function newLog(prefix: string): Promise<PostgresLog> {
    const { engine, tables } = engineAccess(quorum.url, { prefix, connections: 1 });
    await makeTables(engine, tables);
    await engine.close();
    return openPostgresLog(quorum.url, { prefix });
  }

  /** Every entry, each verified by the chain. */
  async function verified(log: PostgresLog): Promise<LogEntry[]> {
    const entries: LogEntry[] = [];
    let head: LogHead = START;
    for (let next = await log.read(0, 500); next.length > 0; next = await log.read(head.seq, 500)) {
      for (const entry of next) {
        expect(entry.seq).toBe(head.seq + 1);
        expect(sameChain(entry.chain, nextChain(head.chain, { ...entry, id: entry.seq }))).toBe(true);
        entries.push(entry);
        head = entry;
      }
    }
    return entries;
  }

  /** Whoever appends texts of its own, one after the other, each exactly once. */
  async function appendTexts(log: PostgresLog, texts: Iterable<string>, acknowledged: string[]): Promise<void> {
    let head: LogHead = START;
    /** Follows the log. @returns whether a text is in what came */
    async function follow(text: string): Promise<boolean> {
      const entries = await log.read(head.seq, 500).catch(() => moment(5).then(() => []));
      head = entries.at(-1) ?? head;
      return entries.some((entry) => entry.text === text);
    }
    for (const text of texts) {
      for (let isThere = false; !isThere; isThere ||= await follow(text)) {
        const entry = entryAfter(head, text);
        isThere = (await outcomeOf(log.append(entry, head))) === 'appended';
        if (isThere) head = entry;
      }
      acknowledged.push(text);
    }
  }

  test('what was appended while primaries were killed is there once, in one order', async () => {
    const logs = await Promise.all(['load_', 'load_'].map((prefix) => newLog(prefix)));
    const acknowledged: string[] = [];
    const kills = casesOf(1);
    let isOver = false;
    function* textsOf(name: number): Generator<string> {
      for (let count = 0; !isOver; count++) yield `${name}-${count}`;
    }
    const loads = logs.map((log, name) => appendTexts(log, textsOf(name), acknowledged));
    for (let kill = 0; kill < kills; kill++) {
      const before = acknowledged.length;
      await until(() => acknowledged.length > before + 20, 'entries before the kill');
      await quorum.failOver();
      await quorum.replace();
      const after = acknowledged.length;
      await until(() => acknowledged.length > after + 20, 'entries after the kill');
    }
    isOver = true;
    await Promise.all(loads);
    const texts = (await verified(logs[0]!)).map(({ text }) => text);
    expect(texts.toSorted()).toEqual(acknowledged.toSorted());
    await Promise.all(logs.map((log) => log.close()));
  });

  test('a primary that was cut off and lives on is left for the one that was promoted', async () => {
    const clock = heldClock([STATEMENT_MS]);
    const log = await newLog('cut_');
    await log.close();
    const held = await openPostgresLog(quorum.url, { prefix: 'cut_', clock });
    const first = entryAfter(START);
    expect(await held.append(first, START)).toBe('appended');
    const old = await quorum.cutOff();
    // The old primary takes the entry, and waits for a standby that it has no more.
    const append = outcomeOf(held.append(entryAfter(first), first));
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'stackside'";
    await until(async () => (await old.run(waiting)).length === 1, 'an append without a standby');
    clock.pass(STATEMENT_MS);
    expect(await append).toBe('unknown');
    expect((await held.access.engine.writable()).server.name).toBe(`127.0.0.1:${quorum.primary().port}`);
    expect(await held.append(entryAfter(first), first)).toBe('appended');
    await held.close();
    await old[Symbol.asyncDispose]();
    await quorum.replace();
  });
});
