/** Failures at the critical moments: the locks, the two commits, and a disk that is really full. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { StoreUnavailableError } from '../../src/base/system-errors.ts';
import { BUSY_TIMEOUT_MS } from '../../src/store/files/connection.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import type { IngestEvent, ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { writerHealth } from '../../src/store/ingest/writer-health.ts';
import { copyOf } from '../support/data/data-directory.ts';
import { everything, journalRows, wholeIndex } from '../support/data/tables.ts';
import { eventRange, isBlock, openWithHooks, template } from './event-range.ts';
import { errorOf, type Fault, faultStore, never } from './fault-store.ts';

const whole = template();
afterAll(() => whole[Symbol.dispose]());

const full: Fault = { code: 'full', effect: 'rolled_back' };
const busy: Fault = { code: 'busy', effect: 'kept' };
const saidToFail: Fault = { code: 'io', effect: 'done' };

type PathOf = typeof indexPath;

/** Opens an index on a copy, with calls that a test can make fail. */
function openCopy() {
  const directory = copyOf(whole);
  const store = faultStore();
  const open = openWithHooks(directory.path, { connect: store.connect });
  return {
    ...open,
    store,
    /** Makes the next calls with this text fail, on the index or the journal. */
    failNext: (path: PathOf, sql: string, fault: Fault, times?: number) =>
      store.failNext(path(directory.path), sql, fault, times),
    /** Reports whether a transaction of another connection fails at once because of a lock. */
    locked(path: PathOf): boolean {
      using locker = new Database(path(directory.path), { readwrite: true });
      locker.run('PRAGMA busy_timeout = 0');
      try {
        locker.run('BEGIN IMMEDIATE');
        return false;
      } catch {
        return true;
      }
    },
    [Symbol.dispose]() {
      store.follow(never);
      open[Symbol.dispose]();
      directory[Symbol.dispose]();
    },
  };
}
type Opened = ReturnType<typeof openCopy>;

const nextBlock = eventRange.find(isBlock)!;
const chunks: ReceivedEvent = { path: '/stackerdb_chunks', text: '{"modified_slots":[]}', receivedAt: 1 };

/** Opens a copy that has received the events before an event, which is the next block by default. */
function openBefore(next = nextBlock) {
  const open = openCopy();
  for (const event of eventRange.slice(0, eventRange.indexOf(next))) open.ingest.receive(event);
  return open;
}

const namesOf = ({ logged }: Opened): string[] =>
  logged.map(({ event }) => event).filter((event) => event.startsWith('service_'));

const deliveries = (directory: string): string[] => wholeIndex(directory).hook_deliveries!;

test('if a real lock is held, the event fails, and is accepted after the lock is released', () => {
  using open = openBefore();
  for (const db of open.store.opened.values()) db.run('PRAGMA busy_timeout = 0');
  {
    using other = new Database(journalPath(open.directory), { readwrite: true });
    other.run('BEGIN IMMEDIATE');
    expect(() => open.ingest.receive(nextBlock)).toThrow(StoreUnavailableError);
    expect(open.locked(indexPath)).toBe(false);
    other.run('ROLLBACK');
  }
  expect(open.ingest.receive(nextBlock)).toBe('applied');
});

test('a thread waits for a lock once, and not again while the lock is held', () => {
  using open = openBefore();
  const patience = () =>
    [...open.store.opened.values()].map(
      (db) => db.query<{ timeout: number }, []>('PRAGMA busy_timeout').get()?.timeout,
    );
  const defaults = patience();
  expect(defaults).toEqual([BUSY_TIMEOUT_MS, BUSY_TIMEOUT_MS]);
  open.failNext(journalPath, 'BEGIN IMMEDIATE', busy, 2);
  for (const _ of [1, 2]) expect(() => open.ingest.receive(nextBlock)).toThrow('the database is busy');
  expect(patience()).toEqual([0, 0]);
  open.store.follow(never);
  expect(open.ingest.receive(nextBlock)).toBe('applied');
  open.ingest.receive(chunks);
  expect(patience()).toEqual(defaults);
});

const failures: [how: string, fault: Fault][] = [
  ['fails', busy],
  ['fails and is rolled back', full],
  ['succeeds but reports a failure', saidToFail],
];

test.each(failures)(
  'if the commit of the index %s, the event is a repetition when sent again, and the dispatcher was notified',
  (_, fault) => {
    using open = openBefore();
    const before = deliveries(open.directory).length;
    const journaled = journalRows(open.directory).length;
    open.failNext(indexPath, 'COMMIT', fault);
    expect(() => open.ingest.receive(nextBlock)).toThrow(StoreUnavailableError);
    open.woken.clear();
    expect(open.ingest.receive(nextBlock)).toBe('repeated');
    expect(deliveries(open.directory).length).toBeGreaterThan(before);
    expect(open.woken).toContain('all');
    expect(journalRows(open.directory)).toHaveLength(journaled + 1);
  },
);

test.each(
  [indexPath, journalPath].flatMap((path) => failures.map(([how, fault]) => ({ name: path.name, path, how, fault }))),
)('if a commit ($name) $how, a new process applies each entry of the journal exactly once', ({ path, fault }) => {
  using open = openCopy();
  open.failNext(path, 'COMMIT', fault);
  expect(() => open.ingest.receive(chunks)).toThrow(StoreUnavailableError);
  open.ingest.receive(chunks);
  expect(open.ingest.receive(chunks)).toBe('repeated');
  open.ingest.close();
  using reopened = openWithHooks(open.directory);
  expect(reopened.ingest.receive(chunks)).toBe('repeated');
  expect(journalRows(open.directory).filter((row) => row.path === chunks.path)).toHaveLength(1);
});

test("if a bug fails the index after the journal's commit, the event is a repetition, and the next ones are accepted", () => {
  using open = openBefore();
  using index = new Database(indexPath(open.directory), { readwrite: true });
  index.run("CREATE TRIGGER bug BEFORE UPDATE OF journal_id ON progress BEGIN SELECT RAISE(ABORT, 'a bug'); END");
  expect(() => open.ingest.receive(nextBlock)).toThrow('a bug');
  index.run('DROP TRIGGER bug');
  expect(open.ingest.receive(nextBlock)).toBe('repeated');
  expect(open.ingest.receive(chunks)).toBe('applied');
});

test('if a bug fails the last replay of a process, its files are closed and unlocked', () => {
  using open = openBefore();
  open.failNext(indexPath, 'COMMIT', full);
  expect(() => open.ingest.receive(chunks)).toThrow('disk is full');
  using index = new Database(indexPath(open.directory), { readwrite: true });
  index.run("CREATE TRIGGER bug BEFORE UPDATE OF journal_id ON progress BEGIN SELECT RAISE(ABORT, 'a bug'); END");
  expect(() => open.ingest.close()).toThrow('a bug');
  index.run('DROP TRIGGER bug');
  using reopened = openWithHooks(open.directory);
  expect(reopened.ingest.receive(chunks)).toBe('repeated');
});

test('a hook that expired with an undone event is active again, and the event is evaluated again', () => {
  using open = openBefore();
  const { hooks } = open.ingest;
  open.limitOccurrences(1);
  open.failNext(journalPath, 'COMMIT', full);
  expect(() => open.ingest.receive(nextBlock)).toThrow(StoreUnavailableError);
  expect(hooks.records.live()).toHaveLength(3);
  open.ingest.receive(nextBlock);
  const expired = hooks.records.all('me').filter(({ status }) => status === 'expired');
  expect(expired.map(({ occurrences }) => occurrences)).toEqual(expired.map(() => 1));
  expect(expired.length).toBeGreaterThan(0);
});

test('mempool changes of an undone event are not published with the next event', () => {
  const announcement = eventRange.find(({ path }) => path === '/new_mempool_tx')!;
  using open = openBefore(announcement);
  using reader = new Database(indexPath(open.directory), { readonly: true });
  const changes = () => reader.query('SELECT * FROM changes ORDER BY id').all();
  const before = changes();
  open.failNext(indexPath, 'INSERT INTO changes (kind, subject) VALUES (?1, ?2)', full);
  expect(() => open.ingest.receive(announcement)).toThrow('disk is full');
  expect(open.ingest.receive(chunks)).toBe('applied');
  expect(changes()).toEqual(before);
  expect(open.ingest.receive(announcement)).toBe('applied');
  expect(changes().length).toBeGreaterThan(before.length);
});

test('after a failed rollback, the next events produce the same data as without the failure', () => {
  using open = openCopy();
  using undisturbed = openCopy();
  let struck = 0;
  open.store.follow(({ sql }) => {
    if (sql === 'COMMIT' && struck === 0) struck = 1;
    else if (sql !== 'ROLLBACK' || struck !== 1) return null;
    else struck = 2;
    return busy;
  });
  expect(() => open.ingest.receive(eventRange[0]!)).toThrow(StoreUnavailableError);
  expect(struck).toBe(2);
  for (const event of eventRange) {
    open.ingest.receive(event);
    undisturbed.ingest.receive(event);
  }
  expect(everything(open.directory)).toEqual(everything(undisturbed.directory));
});

test('a probe finds that writes succeed again, and applies the entries that only the journal has', () => {
  using open = openBefore();
  open.failNext(indexPath, 'COMMIT', full);
  expect(() => open.ingest.receive(nextBlock)).toThrow('disk is full');
  open.store.follow(({ sql }) => (sql === 'COMMIT' ? full : null));
  open.ingest.probe();
  expect(open.ingest.health.failing()?.message).toBe('disk is full');
  expect(open.ingest.health.failures().get('full')).toBe(2);
  const height = open.ingest.tipHeight();
  open.store.follow(never);
  open.woken.clear();
  open.ingest.probe();
  expect(open.ingest.health.failing()).toBeNull();
  expect(open.ingest.tipHeight()).toBe(height + 1);
  expect(open.woken).toContain('all');
  expect(namesOf(open)).toEqual(['service_failing', 'service_resumed']);
});

test('the log counts failed writes since the last success', () => {
  const logged: IngestEvent[] = [];
  const health = writerHealth((event) => logged.push(event));
  for (const failures of [2, 1]) {
    for (let failed = 0; failed < failures; failed++) health.failed(errorOf('full'));
    health.succeeded();
  }
  const resumed = logged.flatMap((entry) => (entry.event === 'service_resumed' ? [entry.failures] : []));
  expect(resumed).toEqual([2, 1]);
});

test('a full disk is logged with what to do and without a stack, and an I/O error with its cause', () => {
  const eventOf = (error: Error): IngestEvent[] => {
    const logged: IngestEvent[] = [];
    writerHealth((event) => logged.push(event)).failed(error);
    return logged;
  };
  const event = { event: 'service_failing', service: 'writes' } as const;
  expect(eventOf(errorOf('full'))).toEqual([
    { ...event, reason: 'disk is full', remedy: 'Free space on the disk of the data directory.' },
  ]);
  const cause = errorOf('io');
  expect(eventOf(cause)).toEqual([
    { ...event, reason: 'disk I/O error', remedy: expect.stringContaining('repair the disk'), cause },
  ]);
});

test("a small write that succeeds on a full disk doesn't end the failure of events", async () => {
  using open = openBefore();
  open.failNext(journalPath, 'COMMIT', full, 3);
  for (const _ of [1, 2, 3]) {
    expect(() => open.ingest.receive(nextBlock)).toThrow('disk is full');
    await open.ingest.local(() => {});
    expect(open.ingest.health.failing()?.message).toBe('disk is full');
  }
  open.store.follow(never);
  expect(open.ingest.receive(nextBlock)).toBe('applied');
  expect(open.ingest.health.failing()).toBeNull();
  expect(namesOf(open)).toEqual(['service_failing', 'service_resumed']);
});

test.each([
  ['index', indexPath],
  ['journal', journalPath],
] as const)("%s: a file that can't grow stops the events, which continue as before when it can", (_, path) => {
  using undisturbed = openCopy();
  for (const event of eventRange) undisturbed.ingest.receive(event);
  const expected = everything(undisturbed.directory);
  for (const room of [0, 9]) {
    using open = openCopy();
    const db = open.store.opened.get(path(open.directory))!;
    const { pages } = db.query<{ pages: number }, []>('SELECT page_count AS pages FROM pragma_page_count').get()!;
    const limit = (maxPages: number) => db.run(`PRAGMA max_page_count = ${maxPages}`);
    limit(pages + room);
    let rejections = 0;
    for (const event of eventRange) {
      for (;;) {
        try {
          open.ingest.receive(event);
          break;
        } catch (error) {
          expect(error).toMatchObject({ name: 'StoreUnavailableError', message: 'disk is full' });
          rejections += 1;
          if (rejections === 3) limit(1_000_000);
        }
      }
    }
    expect({ room, refused: rejections }).toEqual({ room, refused: 3 });
    expect({ room, files: everything(open.directory) }).toEqual({ room, files: expected });
  }
});

test('the journal is synced at each commit, and the index is not', () => {
  using open = openCopy();
  const [FULL, NORMAL] = [2, 1];
  for (const [path, synchronous] of [
    [journalPath(open.directory), FULL],
    [indexPath(open.directory), NORMAL],
  ] as const) {
    expect(open.store.opened.get(path)!.query('PRAGMA synchronous').get()).toEqual({ synchronous });
  }
});

test('an event of an unknown kind is counted once, however often the node sends it', () => {
  using open = openBefore();
  const event = { path: '/new_thing', text: '{}', receivedAt: nextBlock.receivedAt };
  for (const path of [journalPath, indexPath]) {
    open.failNext(path, 'COMMIT', full);
    expect(() => open.ingest.receive(event)).toThrow('disk is full');
    expect(open.ingest.unknownCounts.path).toBe(0);
  }
  // The journal and the index both have the event once.
  open.ingest.probe();
  expect(open.ingest.unknownCounts.path).toBe(1);
});
