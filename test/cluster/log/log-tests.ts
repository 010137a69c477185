/** The log without failures. */

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterStatus, writeReport } from '../../../src/cluster/cluster-status.ts';
import { tableNames } from '../../../src/cluster/engine-tables.ts';
import { postgresLeases } from '../../../src/cluster/leases.ts';
import { LOOK_MS } from '../../../src/cluster/postgres-log.ts';
import { LogUnavailableError } from '../../../src/cluster/shared-log.ts';
import { type Entry, type Head, nextChain } from '../../../src/store/log/entry.ts';
import { casesOf } from '../../support/property.ts';
import { heldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';
import { type EngineFixture, entryAfter, type Outcome, outcomeOf, START, verifiedEntries } from './engine-fixture.ts';

export function logTests(fixture: () => EngineFixture): void {
  test('a read returns the requested number of entries, in order and as they were appended', async () => {
    await using log = await fixture().newLog();
    expect(await log.head()).toEqual(START);
    const first = entryAfter(START, '{"text":"\u{FEFF}ä\u0000","n":1e400}');
    const second = entryAfter(first);
    expect(await log.append([first], START)).toBe('appended');
    expect(await log.append([second], first)).toBe('appended');
    expect(await log.read(0, 10)).toEqual([first, second].map((entry) => expect.objectContaining(bytesOf(entry))));
    expect((await log.read(0, 1)).map(({ id }) => id)).toEqual([1]);
    expect((await log.read(1, 10)).map(({ id }) => id)).toEqual([2]);
    expect((await log.read(0, 10, 1)).map(({ id }) => id)).toEqual([1]);
    expect(await log.read(2, 10)).toEqual([]);
    expect(await log.head()).toEqual({ id: 2, chain: Buffer.from(second.chain) });
  });

  test('entries that are appended together have any path and text', async () => {
    await using log = await fixture().newLog();
    const sent = [
      ['', '{"withheld":true}'],
      ['/{a,b},"c"\\ NULL', ''],
      ['NULL', '\u0000'],
      ["/ä\n'", JSON.stringify('x'.repeat(100_000))],
    ] as const;
    const entries: Entry[] = [];
    let head = START;
    for (const [path, text] of sent) {
      const event = { id: head.id + 1, receivedAt: 1 - head.id, path, text };
      head = { ...event, chain: nextChain(head.chain, event) };
      entries.push(head as Entry);
    }
    expect(await log.append(entries, START)).toBe('appended');
    expect(await log.read(0, 10)).toEqual(entries.map((entry) => expect.objectContaining(bytesOf(entry))));
  });

  /** Bytes come from the client as a Buffer. */
  const bytesOf = (entry: Entry) => ({ ...entry, chain: Buffer.from(entry.chain) });

  test('an entry is rejected if its number is taken, if the previous entry differs, or after a gap', async () => {
    await using log = await fixture().newLog();
    const first = entryAfter(START);
    await log.append([first], START);
    expect(await log.append([entryAfter(START, 'other')], START)).toBe('conflict');
    const stranger = { id: 1, chain: new Uint8Array(32) };
    expect(await log.append([entryAfter(stranger)], stranger)).toBe('conflict');
    expect(await log.append([entryAfter({ ...first, id: 5 })], { ...first, id: 5 })).toBe('conflict');
    expect((await log.head()).id).toBe(1);
  });

  test('if hosts append at once, each number goes to only one of them', async () => {
    await using log = await fixture().newLog();
    const other = await fixture().openAt(fixture().server.url, log.access.tables.log.replace('stackside_log', ''));
    let head = START;
    for (let round = 0; round < 5; round++) {
      const entries = ['a', 'b'].map((text) => entryAfter(head, text));
      const outcomes = await Promise.all([log.append([entries[0]!], head), other.append([entries[1]!], head)]);
      expect(outcomes.toSorted()).toEqual(['appended', 'conflict']);
      head = entries[outcomes.indexOf('appended')]!;
      expect(await log.head()).toEqual({ id: head.id, chain: Buffer.from(head.chain) });
    }
    await other.close();
  });

  test('a batch is appended as a whole, and only if the entry before it is the head', async () => {
    await using log = await fixture().newLog();
    const other = await fixture().openAt(fixture().server.url, log.access.tables.log.replace('stackside_log', ''));
    const following = (head: Head, count: number, text?: string): Entry[] => {
      const [next, rest] = [entryAfter(head, text), count - 1];
      return rest === 0 ? [next] : [next, ...following(next, rest, text)];
    };
    const first = following(START, 3);
    expect(await log.append(first, START)).toBe('appended');
    expect(await verifiedEntries(log)).toHaveLength(3);
    // The log already has one of them, and a later entry.
    expect(await log.append(following(first[0]!, 4), first[0]!)).toBe('conflict');
    const stranger = { id: 3, chain: new Uint8Array(32) };
    expect(await log.append(following(stranger, 2), stranger)).toBe('conflict');
    expect(await log.append(following({ ...first[2]!, id: 5 }, 2), { ...first[2]!, id: 5 })).toBe('conflict');
    // If two try at once, one appends its whole batch.
    const tries = [
      { by: log, entries: following(first[2]!, 400, '"a"') },
      { by: other, entries: following(first[2]!, 300, '"b"') },
    ];
    const outcomes = await Promise.all(tries.map(({ by, entries }) => by.append(entries, first[2]!)));
    expect(outcomes.toSorted()).toEqual(['appended', 'conflict']);
    const winner = tries[outcomes.indexOf('appended')]!;
    expect((await verifiedEntries(log)).slice(3).map(({ text }) => text)).toEqual(
      winner.entries.map(({ text }) => text),
    );
    await other.close();
  });

  test('an event of tens of megabytes is one entry', async () => {
    await using log = await fixture().newLog();
    // At scale it is as large as a genesis block; its bytes do not compress to less than half.
    const megabytes = Math.min(80, casesOf(4));
    const text = Buffer.from(crypto.getRandomValues(new Uint8Array(65_536))).toString('hex');
    const entry = entryAfter(START, Array.from({ length: megabytes * 8 }, (_, index) => `${index}${text}`).join(''));
    expect(await log.append([entry], START)).toBe('appended');
    const [read] = await log.read(0, 1);
    expect(read!.text === entry.text).toBe(true);
  });

  test('a role with the rights of docs/cluster.md does all that a host does, and changes no entry', async () => {
    const prefix = await fixture().newTables();
    const page = readFileSync(join(import.meta.dir, '../../../docs/cluster.md'), 'utf8');
    const grants = page.match(/GRANT .*? TO host;/g) ?? [];
    await fixture().server.run('CREATE ROLE host LOGIN');
    for (const grant of grants) await fixture().server.run(grant.replaceAll('stackside_', `${prefix}stackside_`));
    const log = await fixture().openAt(fixture().server.url.replace('stackside@', 'host@'), prefix, { isHost: true });
    const first = entryAfter(START);
    expect(await log.append([first], START)).toBe('appended');
    expect(await log.append([entryAfter(first)], first)).toBe('appended');
    expect((await log.read(0, 9)).length).toBe(2);
    const { engine, tables } = log.access;
    expect(await log.chain(1)).toBe(1);
    await writeReport(log.access, { name: 'a', entry: 1, version: '1', lagSeconds: 0, process: 'process of a' }, true);
    await writeReport(log.access, { name: 'a', entry: 2, version: '1', lagSeconds: 0, process: 'process of a' }, true);
    const lease = { name: 'delivery', holder: 'a', seconds: 60, epochSeen: 0 };
    expect(await postgresLeases(log.access).give(lease)).toEqual({ newEpoch: 1 });
    expect(await postgresLeases(log.access).setUntil({ ...lease, epoch: 1 }, 60)).toBe(true);
    expect((await clusterStatus(log)).hosts.length).toBe(1);
    for (const change of [`DELETE FROM ${tables.log}`, `UPDATE ${tables.log} SET path = ''`]) {
      await expect(engine.write(({ run }) => run(change))).rejects.toThrow('permission denied');
    }
    await log.close();
  });

  test('a role that lacks rights is refused with the missing rights and the statements that grant them', async () => {
    const prefix = await fixture().newTables();
    const { log, lease, meta, hosts } = tableNames(prefix);
    await fixture().server.run('CREATE ROLE partial LOGIN');
    const url = fixture().server.url.replace('stackside@', 'partial@');
    await fixture().server.run(
      `GRANT SELECT, INSERT ON ${log} TO partial; GRANT SELECT ON ${lease}, ${hosts}, ${meta} TO partial`,
    );
    const refused = await fixture()
      .openAt(url, prefix, { isHost: true })
      .catch((error: unknown) => error);
    const missing = [
      `INSERT ON ${lease}`,
      `UPDATE ON ${lease}`,
      `INSERT ON ${hosts}`,
      `UPDATE ON ${hosts}`,
      `UPDATE ON ${meta}`,
    ];
    expect(refused).toMatchObject({
      message: `The role partial of --cluster lacks rights on the shared log: ${missing.join(', ')}.`,
      remedy: `Run as the owner of the tables: ${missing.map((grant) => `GRANT ${grant} TO "partial";`).join(' ')}`,
    });
    for (const grant of missing) await fixture().server.run(`GRANT ${grant} TO partial`);
    await (await fixture().openAt(url, prefix, { isHost: true })).close();
  });

  test('a session waits for standbys without a limit, even if its role sets one', async () => {
    const prefix = await fixture().newTables();
    await fixture().server.run('CREATE ROLE hasty LOGIN SUPERUSER');
    await fixture().server.run('ALTER ROLE hasty SET synchronous_commit = off');
    await fixture().server.run('ALTER ROLE hasty SET statement_timeout = 5');
    const log = await fixture().openAt(fixture().server.url.replace('stackside@', 'hasty@'), prefix);
    const settings =
      "SELECT current_setting('synchronous_commit') AS commit, current_setting('statement_timeout') AS time";
    const [row] = await log.access.engine.read((run) => run<{ commit: string; time: string }>(settings));
    expect([row?.commit, row?.time]).toEqual(['on', '0']);
    await log.close();
  });

  test('a waiting client is notified of an entry, and continues by itself after a while', async () => {
    const prefix = await fixture().newTables();
    const clock = heldClock([LOOK_MS]);
    const [waiting, appending] = await Promise.all([
      fixture().openAt(fixture().server.url, prefix, { clock }),
      fixture().openAt(fixture().server.url, prefix),
    ]);
    const never = new AbortController().signal;
    let head = START;
    for (let round = 0; round < 3; round++) {
      const wait = waiting.wait(head.id, never);
      const next = entryAfter(head);
      await appending.append([next], head);
      await wait;
      head = next;
    }
    await Promise.all([waiting.wait(head.id, AbortSignal.abort()), waiting.wait(0, never)]);
    // Nobody is notified of an entry that the log lost.
    const looking = waiting.wait(head.id, never);
    await until(() => clock.waiting(LOOK_MS) > 0, 'a wait');
    clock.pass(LOOK_MS);
    await looking;
    const wait = waiting.wait(head.id, never);
    await until(() => clock.waiting(LOOK_MS) > 0, 'a wait');
    await Promise.all([waiting.close(), appending.close()]);
    await wait;
  });

  test.each([
    // The connection failed, or the outcome of a statement is unknown.
    ...'08000 08003 08006 08P01 40003'.split(' ').map((state) => [state, 'unknown']),
    ...'40001 40P01 23514 25006 42501 53100 57014 58030 XX000'.split(' ').map((state) => [state, 'unavailable']),
  ])('an append that PostgreSQL refuses with %s has the outcome: %s', async (state, outcome) => {
    const { server, newLog } = fixture();
    await using log = await newLog();
    const table = log.access.tables.log;
    const refuse = `${table}_refuse`;
    await server.run(
      `CREATE FUNCTION ${refuse}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${state}'; END $$`,
    );
    await server.run(`CREATE TRIGGER refuse BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION ${refuse}()`);
    expect(await outcomeOf(log.append([entryAfter(START)], START))).toBe(outcome as Outcome);
    await server.run(`DROP TRIGGER refuse ON ${table}`);
    expect(await log.head()).toEqual(START);
    expect(await outcomeOf(log.append([entryAfter(START)], START))).toBe('appended');
  });

  test('a log opens while its engine is away: each call fails with the reason, and waits end', async () => {
    const log = await fixture().openAt('postgres://nobody@127.0.0.1:1,127.0.0.1:2/none', '');
    await expect(log.head()).rejects.toThrow(LogUnavailableError);
    await expect(log.read(0, 1)).rejects.toThrow('127.0.0.1:2: Failed to connect');
    expect(await outcomeOf(log.append([entryAfter(START)], START))).toBe('unavailable');
    await log.wait(0, new AbortController().signal);
    await log.close();
    await expect(log.head()).rejects.toThrow('The shared log is closed.');
  });

  test("a log that opened while its engine was away checks the tables' format before its first call", async () => {
    const { server, newTables, openAt } = fixture();
    const prefix = await newTables();
    await server.run('CREATE ROLE late LOGIN CONNECTION LIMIT 0 IN ROLE stackside');
    const log = await openAt(server.url.replace('stackside@', 'late@'), prefix);
    await expect(log.head()).rejects.toThrow('too many connections for role');
    await server.run(`UPDATE ${prefix}stackside_meta SET format = 9`);
    await server.run('ALTER ROLE late CONNECTION LIMIT -1');
    for (const call of [() => log.head(), () => log.read(0, 1), () => log.append([entryAfter(START)], START)]) {
      await expect(call()).rejects.toThrow('The shared log has format 9');
    }
    await log.close();
  });

  test('missing tables, or tables of another version, end the start with a remedy', async () => {
    await expect(fixture().openAt(fixture().server.url, 'none_')).rejects.toThrow(
      "The database doesn't contain a shared log with this prefix.",
    );
    const prefix = await fixture().newTables();
    await fixture().server.run(`UPDATE ${prefix}stackside_meta SET format = 9`);
    await expect(fixture().openAt(fixture().server.url, prefix)).rejects.toThrow('The shared log has format 9');
    await expect(fixture().openAt(fixture().server.url, 'A;')).rejects.toThrow("can't be a prefix of table names");
    await expect(fixture().openAt('postgres://host', '')).rejects.toThrow('not one of PostgreSQL');
  });
}
