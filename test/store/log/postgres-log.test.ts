/** The shared log in a real PostgreSQL: what its answers mean, whatever is cut between the two. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { CHAIN_START, nextChain } from '../../../src/store/files/journal-entry.ts';
import { creationOf, tablesOf } from '../../../src/store/log/engine-tables.ts';
import { STATEMENT_MS } from '../../../src/store/log/postgres-engine.ts';
import { openPostgresLog, type PostgresLog, type PostgresLogOptions } from '../../../src/store/log/postgres-log.ts';
import {
  type LogEntry,
  type LogHead,
  LogUnavailableError,
  LogUnknownOutcomeError,
} from '../../../src/store/log/shared-log.ts';
import { type Cut, type CutProxy, cutProxy } from '../../support/cut-proxy.ts';
import { heldClock } from '../../support/held-clock.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { casesOf } from '../../support/property.ts';
import { describeWith } from '../../support/system-servers.ts';
import { until } from '../../support/until.ts';

/** The entry that follows another. */
function entryAfter(head: LogHead, text = `{"n":${head.seq}}`): LogEntry {
  const entry = { receivedAt: 1_700_000_000_000_000 + head.seq, path: '/new_block', text };
  const seq = head.seq + 1;
  return { ...entry, seq, chain: nextChain(head.chain, { ...entry, id: seq }) };
}

const START: LogHead = { seq: 0, chain: CHAIN_START };

/** What an append came to. */
type Outcome = 'appended' | 'conflict' | 'unavailable' | 'unknown';

async function outcomeOf(append: Promise<'appended' | 'conflict'>): Promise<Outcome> {
  try {
    return await append;
  } catch (error) {
    if (error instanceof LogUnavailableError) return 'unavailable';
    if (error instanceof LogUnknownOutcomeError) return 'unknown';
    throw error;
  }
}

describeWith('PostgreSQL', hasPostgres, () => {
  let server: PostgresServer;
  let prefixes = 0;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** Tables of their own. @returns their prefix */
  async function newTables(): Promise<string> {
    prefixes += 1;
    const prefix = `t${prefixes}_`;
    await server.run(creationOf(tablesOf(prefix)).join(';'));
    return prefix;
  }

  const openAt = (url: string, prefix: string, options: PostgresLogOptions = {}): Promise<PostgresLog> =>
    openPostgresLog(url, { prefix, ...options });

  async function newLog(): Promise<PostgresLog & AsyncDisposable> {
    const log = await openAt(server.url, await newTables());
    return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() });
  }

  test('entries come back as they were appended, in order and as many as asked for', async () => {
    await using log = await newLog();
    expect(await log.head()).toEqual(START);
    const first = entryAfter(START, '{"text":"\u{FEFF}ä\u0000","n":1e400}');
    const second = entryAfter(first);
    expect(await log.append(first, START)).toBe('appended');
    expect(await log.append(second, first)).toBe('appended');
    expect(await log.read(0, 10)).toEqual([first, second].map((entry) => expect.objectContaining(bytesOf(entry))));
    expect((await log.read(0, 1)).map(({ seq }) => seq)).toEqual([1]);
    expect((await log.read(1, 10)).map(({ seq }) => seq)).toEqual([2]);
    expect((await log.read(0, 10, 1)).map(({ seq }) => seq)).toEqual([1]);
    expect(await log.read(2, 10)).toEqual([]);
    expect(await log.head()).toEqual({ seq: 2, chain: Buffer.from(second.chain) });
  });

  /** Bytes come from the client as a Buffer. */
  const bytesOf = (entry: LogEntry) => ({ ...entry, chain: Buffer.from(entry.chain) });

  test('an entry is refused where another stands, where the one before is another, and behind a gap', async () => {
    await using log = await newLog();
    const first = entryAfter(START);
    await log.append(first, START);
    expect(await log.append(entryAfter(START, 'other'), START)).toBe('conflict');
    const stranger = { seq: 1, chain: new Uint8Array(32) };
    expect(await log.append(entryAfter(stranger), stranger)).toBe('conflict');
    expect(await log.append(entryAfter({ ...first, seq: 5 }), { ...first, seq: 5 })).toBe('conflict');
    expect((await log.head()).seq).toBe(1);
  });

  test('of hosts that append at once, one wins each number', async () => {
    await using log = await newLog();
    await using other = Object.assign(await openAt(server.url, prefixNow()), {
      [Symbol.asyncDispose]: () => other.close(),
    });
    let head = START;
    for (let round = 0; round < 5; round++) {
      const entries = ['a', 'b'].map((text) => entryAfter(head, text));
      const outcomes = await Promise.all([log.append(entries[0]!, head), other.append(entries[1]!, head)]);
      expect(outcomes.toSorted()).toEqual(['appended', 'conflict']);
      head = entries[outcomes.indexOf('appended')]!;
      expect(await log.head()).toEqual({ seq: head.seq, chain: Buffer.from(head.chain) });
    }
  });

  const prefixNow = (): string => `t${prefixes}_`;

  test('an event of tens of megabytes is one entry', async () => {
    await using log = await newLog();
    // At scale it is as large as a genesis block; its bytes do not compress to less than half.
    const megabytes = Math.min(80, casesOf(4));
    const text = Buffer.from(crypto.getRandomValues(new Uint8Array(65_536))).toString('hex');
    const entry = entryAfter(START, Array.from({ length: megabytes * 8 }, (_, at) => `${at}${text}`).join(''));
    expect(await log.append(entry, START)).toBe('appended');
    const [read] = await log.read(0, 1);
    expect(read!.text === entry.text).toBe(true);
  });

  test('a role that may only insert and select keeps the log', async () => {
    const prefix = await newTables();
    await server.run('CREATE ROLE host LOGIN');
    await server.run(`GRANT SELECT, INSERT ON ${prefix}stackside_log TO host`);
    await server.run(`GRANT SELECT ON ${prefix}stackside_meta TO host`);
    const log = await openAt(server.url.replace('stackside@', 'host@'), prefix);
    const first = entryAfter(START);
    expect(await log.append(first, START)).toBe('appended');
    expect(await log.append(entryAfter(first), first)).toBe('appended');
    expect((await log.read(0, 9)).length).toBe(2);
    await log.close();
  });

  test('whoever waits is told of an entry, by notification or by looking', async () => {
    const prefix = await newTables();
    const [listening, looking, appending] = await Promise.all([
      openAt(server.url, prefix),
      openAt(server.url, prefix, { listens: false }),
      openAt(server.url, prefix),
    ]);
    const never = new AbortController().signal;
    let head = START;
    for (let round = 0; round < 3; round++) {
      const waits = [listening.wait(head.seq, never), looking.wait(head.seq, never)];
      const next = entryAfter(head);
      await appending.append(next, head);
      await Promise.all(waits);
      head = next;
    }
    await Promise.all([listening.wait(head.seq, AbortSignal.abort()), listening.wait(0, never)]);
    const wait = listening.wait(head.seq, never);
    await Promise.all([listening.close(), looking.close(), appending.close()]);
    await wait;
  });

  test('tables that are missing or of another version end the start, and say what to do', async () => {
    await expect(openAt(server.url, 'none_')).rejects.toThrow('The database has no shared log under this prefix.');
    const prefix = await newTables();
    await server.run(`UPDATE ${prefix}stackside_meta SET format = 9`);
    await expect(openAt(server.url, prefix)).rejects.toThrow('The shared log has format 9');
    await expect(openAt(server.url, 'A;')).rejects.toThrow('is no prefix of table names');
    await expect(openAt('postgres://host', '')).rejects.toThrow('not one of PostgreSQL');
  });

  describe('an append whose connection is cut', () => {
    let proxy: CutProxy;
    let prefix: string;
    /** Its address is the proxy's. */
    let log: PostgresLog;
    let head = START;

    const openProxied = (options: PostgresLogOptions = {}) =>
      openAt(server.url.replace(`:${server.port}`, `:${proxy.port}`), prefix, {
        ...{ listens: false, connections: 1 },
        ...options,
      });

    beforeAll(async () => {
      proxy = cutProxy(server.port);
      prefix = await newTables();
      log = await openProxied();
    });
    afterAll(async () => {
      await log.close();
      proxy[Symbol.dispose]();
    });

    const isThere = async ({ seq }: LogEntry): Promise<boolean> =>
      (await server.run(`SELECT 1 FROM ${prefix}stackside_log WHERE seq = ${seq}`)).length === 1;

    /** Connects and prepares the statement, so that the bytes which follow are those of one append. */
    async function warmUp(): Promise<void> {
      const behindGap = { ...head, seq: head.seq + 9 };
      expect(await log.append(entryAfter(behindGap), behindGap)).toBe('conflict');
    }

    /** What an append came to whose connection is cut, in words. */
    async function tryCut(cut: Cut, log: PostgresLog): Promise<string> {
      const entry = entryAfter(head);
      proxy.cutAfter(cut);
      const outcome = await outcomeOf(log.append(entry, head));
      proxy.cutAfter(null);
      await sessionsEnd();
      const there = await isThere(entry);
      if (there) head = entry;
      return `${outcome}, ${there ? 'there' : 'not there'}`;
    }

    /** The bytes that a warm append sends and receives. */
    async function sizes(): Promise<Record<Cut['of'], number>> {
      await warmUp();
      proxy.count();
      const entry = entryAfter(head);
      await log.append(entry, head);
      head = entry;
      return proxy.count();
    }

    /** Numbers below a limit: the first and the last, and more of those between in runs at scale. */
    const sampled = (limit: number): number[] => {
      const step = Math.max(1, Math.floor(limit / casesOf(4)));
      return Array.from({ length: limit }, (_, at) => at).filter((at) => at % step === 0 || at === limit - 1);
    };

    test('within the statement: nothing is written, and nobody knows', async () => {
      for (const after of sampled((await sizes()).client)) {
        await warmUp();
        expect([after, await tryCut({ of: 'client', after }, log)]).toEqual([after, 'unknown, not there']);
      }
    });

    test('within the answer: the entry is written, and nobody knows', async () => {
      for (const after of sampled((await sizes()).server)) {
        await warmUp();
        expect([after, await tryCut({ of: 'server', after }, log)]).toEqual([after, 'unknown, there']);
      }
    });

    test('before the statement can be sent: nothing is written, and that is known', async () => {
      await warmUp();
      proxy.sever();
      await sessionsEnd();
      proxy.count();
      await warmUp();
      // More than half of these bytes prepare statements.
      const startUp = Math.floor(proxy.count().client / 4);
      const hasty = await openProxied({ connectSeconds: 0.05 });
      for (const after of sampled(startUp)) {
        proxy.sever();
        await sessionsEnd();
        expect([after, await tryCut({ of: 'client', after }, hasty)]).toEqual([after, 'unavailable, not there']);
      }
      await hasty.close();
    });

    test('or carries nothing any more: nobody knows once the time of a statement is over', async () => {
      const clock = heldClock([STATEMENT_MS]);
      const slow = await openProxied({ clock });
      const entry = entryAfter(head);
      expect(await slow.append(entry, head)).toBe('appended');
      head = entry;
      proxy.hold(true);
      proxy.count();
      const append = outcomeOf(slow.append(entryAfter(head), head));
      await until(() => proxy.count().client > 0);
      clock.pass(STATEMENT_MS);
      expect(await append).toBe('unknown');
      proxy.hold(false);
      await slow.close();
    });
  });

  describe('an append that the server ends', () => {
    /** An append that waits for a transaction which has the number. @param end ends the wait */
    async function blocked(log: PostgresLog, head: LogHead, end: string): Promise<Outcome> {
      const { log: table } = log.access.tables;
      const entry = entryAfter(head);
      await using _ = await holding(`INSERT INTO ${table} VALUES (${entry.seq}, 0, '', '', '\\x${'00'.repeat(32)}')`);
      const append = outcomeOf(log.append(entry, head));
      await until(async () => (await waiting()).length === 1, 'a session that waits for the lock');
      await server.run(`SELECT ${end}(pid) FROM pg_stat_activity WHERE ${WAITING}`);
      return await append;
    }

    const WAITING = "application_name = 'stackside' AND wait_event_type = 'Lock'";
    const waiting = () => server.run(`SELECT pid FROM pg_stat_activity WHERE ${WAITING}`);

    /** A transaction of another client that stays open. */
    async function holding(statement: string) {
      const sql = new SQL(server.url, { max: 1 });
      await sql.unsafe('BEGIN');
      await sql.unsafe(statement);
      return {
        async [Symbol.asyncDispose]() {
          await sql.unsafe('ROLLBACK');
          await sql.close();
        },
      };
    }

    test('with an error wrote nothing, and the next one is taken', async () => {
      await using log = await newLog();
      const first = entryAfter(START);
      await log.append(first, START);
      expect(await blocked(log, first, 'pg_cancel_backend')).toBe('unavailable');
      expect(await log.append(entryAfter(first), first)).toBe('appended');
    });

    test('with its session leaves the outcome unknown, and the next one is taken', async () => {
      await using log = await newLog();
      const first = entryAfter(START);
      await log.append(first, START);
      expect(await blocked(log, first, 'pg_terminate_backend')).toBe('unknown');
      expect(await log.append(entryAfter(first), first)).toBe('appended');
    });

    test('while it waits for standbys is not taken for durable', async () => {
      await using log = await newLog();
      const setStandbys = async (names: string) => {
        await server.run(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
        await server.run('SELECT pg_reload_conf()');
      };
      await setStandbys('nobody');
      let head = START;
      /** Sessions learn of the setting one after the other, so that some entries may still be taken. */
      async function appendUntilFailure(): Promise<Outcome> {
        for (;;) {
          const entry = entryAfter(head);
          const outcome = await outcomeOf(log.append(entry, head));
          if (outcome !== 'appended') return outcome;
          head = entry;
        }
      }
      const failure = appendUntilFailure();
      const SYNC = "application_name = 'stackside' AND wait_event = 'SyncRep'";
      const inSync = () => server.run(`SELECT pid FROM pg_stat_activity WHERE ${SYNC}`);
      await until(async () => (await inSync()).length === 1, 'a session that waits for a standby');
      await server.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${SYNC}`);
      expect(await failure).toBe('unknown');
      await setStandbys('');
      // The primary's own disk has the entry.
      expect((await log.read(head.seq, 1)).length).toBe(1);
    });

    test('because its role may only read wrote nothing, and the error says why', async () => {
      const prefix = await newTables();
      await server.run('CREATE ROLE reader LOGIN');
      await server.run(`GRANT SELECT ON ${prefix}stackside_log, ${prefix}stackside_meta TO reader`);
      const log = await openAt(server.url.replace('stackside@', 'reader@'), prefix);
      await expect(log.append(entryAfter(START), START)).rejects.toThrow('permission denied');
      expect(await log.head()).toEqual(START);
      await log.close();
    });

    test('because it only reads wrote nothing, and another server is looked for', async () => {
      const prefix = await newTables();
      const log = await openAt(server.url, prefix, { connections: 1 });
      const setReadOnly = (value: string) =>
        log.access.engine.read((run) => run(`SET default_transaction_read_only = ${value}`));
      await setReadOnly('on');
      expect(await outcomeOf(log.append(entryAfter(START), START))).toBe('unavailable');
      expect(await log.append(entryAfter(START), START)).toBe('appended');
      await log.close();
    });
  });

  /** Waits until no session of a log is left, so that nothing more can be written. */
  const sessionsEnd = () =>
    until(async () => {
      const rows = await server.run("SELECT 1 FROM pg_stat_activity WHERE application_name = 'stackside'");
      return rows.length === 0;
    }, 'the end of the sessions');
});
