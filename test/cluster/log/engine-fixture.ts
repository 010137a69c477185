/** One PostgreSQL server for the tests of the shared log, with separate tables for each. */
import { expect } from 'bun:test';
import { engineAccess, makeTables } from '../../../src/cluster/engine-tables.ts';
import { openPostgresLog, type PostgresLog, type PostgresLogOptions } from '../../../src/cluster/postgres-log.ts';
import { LogUnavailableError, LogUnknownOutcomeError, type SharedLog } from '../../../src/cluster/shared-log.ts';
import { CHAIN_START, type Entry, type Head, nextChain, sameChain } from '../../../src/store/log/entry.ts';
import { type PostgresServer, startPostgres } from '../../support/servers/postgres.ts';
import { until } from '../../support/time/until.ts';

/** The head of an empty log. */
export const START: Head = { id: 0, chain: CHAIN_START };

/** The entry that follows another. */
export function entryAfter(head: Head, text = `{"n":${head.id}}`): Entry {
  const entry = { receivedAt: 1_700_000_000_000_000 + head.id, path: '/new_block', text };
  const id = head.id + 1;
  return { ...entry, id, chain: nextChain(head.chain, { ...entry, id: id }) };
}

/** The outcome of an append. */
export type Outcome = 'appended' | 'conflict' | 'unavailable' | 'unknown';

export async function outcomeOf(append: Promise<'appended' | 'conflict'>): Promise<Outcome> {
  try {
    return await append;
  } catch (error) {
    if (error instanceof LogUnavailableError) return 'unavailable';
    if (error instanceof LogUnknownOutcomeError) return 'unknown';
    throw error;
  }
}

export interface EngineFixture extends AsyncDisposable {
  server: PostgresServer;
  /** Makes tables. @returns their prefix */
  newTables(): Promise<string>;
  /** Opens a log at another address or as another role. */
  openAt(url: string, prefix: string, options?: PostgresLogOptions): Promise<PostgresLog>;
  /** Opens a log with its own tables. */
  newLog(options?: PostgresLogOptions): Promise<PostgresLog & AsyncDisposable>;
  /** Waits until no session of a log is left, so that nothing more can be written. */
  sessionsEnd(): Promise<void>;
}

export async function engineFixture(): Promise<EngineFixture> {
  const server = await startPostgres();
  let prefixes = 0;
  const fixture: EngineFixture = {
    server,
    async newTables() {
      prefixes += 1;
      const prefix = `t${prefixes}_`;
      const access = engineAccess(server.url, prefix, { connections: 1 });
      expect(await makeTables(access)).toBe(true);
      await access.engine.close();
      return prefix;
    },
    openAt: (url, prefix, options = {}) => openPostgresLog(url, { prefix, ...options }),
    async newLog(options) {
      const log = await fixture.openAt(server.url, await fixture.newTables(), options);
      return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() });
    },
    sessionsEnd: () =>
      until(async () => {
        const rows = await server.run("SELECT 1 FROM pg_stat_activity WHERE application_name = 'stackside'");
        return rows.length === 0;
      }, 'the end of the sessions'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return fixture;
}

/** Every entry of a log, each verified by the chain. */
export async function verifiedEntries(log: SharedLog): Promise<Entry[]> {
  const entries: Entry[] = [];
  let head: Head = START;
  for (let next = await log.read(0, 500); next.length > 0; next = await log.read(head.id, 500)) {
    for (const entry of next) {
      expect(entry.id).toBe(head.id + 1);
      expect(sameChain(entry.chain, nextChain(head.chain, { ...entry }))).toBe(true);
      entries.push(entry);
      head = entry;
    }
  }
  return entries;
}
