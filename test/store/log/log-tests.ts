/** What a log does while nothing is wrong. */
import { expect, test } from 'bun:test';
import type { LogEntry } from '../../../src/store/log/shared-log.ts';
import { casesOf } from '../../support/property.ts';
import { type EngineFixture, entryAfter, START } from './engine-fixture.ts';

export function logTests(fixture: () => EngineFixture): void {
  test('entries come back as they were appended, in order and as many as asked for', async () => {
    await using log = await fixture().newLog();
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
    await using log = await fixture().newLog();
    const first = entryAfter(START);
    await log.append(first, START);
    expect(await log.append(entryAfter(START, 'other'), START)).toBe('conflict');
    const stranger = { seq: 1, chain: new Uint8Array(32) };
    expect(await log.append(entryAfter(stranger), stranger)).toBe('conflict');
    expect(await log.append(entryAfter({ ...first, seq: 5 }), { ...first, seq: 5 })).toBe('conflict');
    expect((await log.head()).seq).toBe(1);
  });

  test('of hosts that append at once, one wins each number', async () => {
    await using log = await fixture().newLog();
    const other = await fixture().openAt(fixture().server.url, log.access.tables.log.replace('stackside_log', ''));
    let head = START;
    for (let round = 0; round < 5; round++) {
      const entries = ['a', 'b'].map((text) => entryAfter(head, text));
      const outcomes = await Promise.all([log.append(entries[0]!, head), other.append(entries[1]!, head)]);
      expect(outcomes.toSorted()).toEqual(['appended', 'conflict']);
      head = entries[outcomes.indexOf('appended')]!;
      expect(await log.head()).toEqual({ seq: head.seq, chain: Buffer.from(head.chain) });
    }
    await other.close();
  });

  test('an event of tens of megabytes is one entry', async () => {
    await using log = await fixture().newLog();
    // At scale it is as large as a genesis block; its bytes do not compress to less than half.
    const megabytes = Math.min(80, casesOf(4));
    const text = Buffer.from(crypto.getRandomValues(new Uint8Array(65_536))).toString('hex');
    const entry = entryAfter(START, Array.from({ length: megabytes * 8 }, (_, at) => `${at}${text}`).join(''));
    expect(await log.append(entry, START)).toBe('appended');
    const [read] = await log.read(0, 1);
    expect(read!.text === entry.text).toBe(true);
  });

  test('a role that may only insert and select keeps the log', async () => {
    const prefix = await fixture().newTables();
    await fixture().server.run('CREATE ROLE host LOGIN');
    await fixture().server.run(`GRANT SELECT, INSERT ON ${prefix}stackside_log TO host`);
    await fixture().server.run(`GRANT SELECT ON ${prefix}stackside_meta TO host`);
    const log = await fixture().openAt(fixture().server.url.replace('stackside@', 'host@'), prefix);
    const first = entryAfter(START);
    expect(await log.append(first, START)).toBe('appended');
    expect(await log.append(entryAfter(first), first)).toBe('appended');
    expect((await log.read(0, 9)).length).toBe(2);
    await log.close();
  });

  test('whoever waits is told of an entry, by notification or by looking', async () => {
    const prefix = await fixture().newTables();
    const [listening, looking, appending] = await Promise.all([
      fixture().openAt(fixture().server.url, prefix),
      fixture().openAt(fixture().server.url, prefix, { listens: false }),
      fixture().openAt(fixture().server.url, prefix),
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
    await expect(fixture().openAt(fixture().server.url, 'none_')).rejects.toThrow(
      'The database has no shared log under this prefix.',
    );
    const prefix = await fixture().newTables();
    await fixture().server.run(`UPDATE ${prefix}stackside_meta SET format = 9`);
    await expect(fixture().openAt(fixture().server.url, prefix)).rejects.toThrow('The shared log has format 9');
    await expect(fixture().openAt(fixture().server.url, 'A;')).rejects.toThrow('is no prefix of table names');
    await expect(fixture().openAt('postgres://host', '')).rejects.toThrow('not one of PostgreSQL');
  });
}
