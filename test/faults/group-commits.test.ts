/**
 * Group commits of the index: each event is in the journal before it is answered, and if the transaction of its group is
 * lost, all of its events are replayed from the journal.
 */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { OperatorError } from '../../src/base/errors.ts';
import { StoreUnavailableError } from '../../src/base/system-errors.ts';
import { indexPath, journalPath } from '../../src/store/files/database.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { image } from '../support/data/crash-image.ts';
import { copyOf } from '../support/data/data-directory.ts';
import { type OpenIngest, openAt } from '../support/data/ingest.ts';
import { everything } from '../support/data/tables.ts';
import { manualClock } from '../support/time/manual-clock.ts';
import { eventRange, isBlock, openWithHooks, template } from './event-range.ts';
import { type Fault, faultStore, never } from './fault-store.ts';

const from = template();
afterAll(() => from[Symbol.dispose]());

/** Opens an index on a copy. Its groups are committed when the timer ends or when something else triggers the commit. */
function openCopy() {
  const directory = copyOf(from);
  const store = faultStore();
  const timer = manualClock();
  const open = openWithHooks(directory.path, { connect: store.connect, clock: timer });
  const reader = new Database(indexPath(directory.path), { readonly: true });
  const count = (table: string): number =>
    reader.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${table}`).get()?.rows ?? 0;
  return {
    ...open,
    store,
    timer,
    /** Makes SQLite end the open transaction by itself, as it does if a reader's call fails. */
    undo: () => store.opened.get(indexPath(directory.path))?.run('ROLLBACK'),
    /** Returns another process's view: the height of the tip, and the queued deliveries. */
    seen: () => ({
      height: reader.query<{ height: number }, []>('SELECT max(height) AS height FROM blocks').get()?.height,
      deliveries: count('hook_deliveries'),
    }),
    receive: (events: readonly ReceivedEvent[]) => events.map((event) => open.ingest.receive(event)),
    /** Makes each commit of the index take milliseconds. */
    slow(milliseconds: number) {
      store.follow(({ sql, path }) => {
        if (sql === 'COMMIT' && path === indexPath(directory.path)) timer.stall(milliseconds);
        return null;
      });
    },
    /** Makes the next calls with this text fail, on the index. */
    failNext: (sql: string, fault: Fault, times?: number) =>
      store.failNext(indexPath(directory.path), sql, fault, times),
    [Symbol.dispose]() {
      store.follow(never);
      open[Symbol.dispose]();
      reader.close();
      directory[Symbol.dispose]();
    },
  };
}

/** Opens a copy with the snapshots of the process that writes. */
function openReadable() {
  const open = openCopy();
  const { publish, writer } = open.ingest;
  const snapshots = openSnapshots(open.directory, { beforeSnapshot: publish, writer });
  return {
    ...open,
    snapshots,
    height: () => snapshots.read((read) => read.chain.tip())?.height,
    [Symbol.dispose]() {
      snapshots.close();
      open[Symbol.dispose]();
    },
  };
}

/** Returns the result of a run with a separate commit for each event. */
const resultOf = (events: readonly ReceivedEvent[]) => {
  using directory = copyOf(from);
  using open = openWithHooks(directory.path);
  for (const event of events) open.ingest.receive(event);
  open.ingest.close();
  return everything(directory.path);
};

/** The events up to the first fork that wins, and some more. */
const group = eventRange.slice(0, 40);
const whole = resultOf(group);

function expectFiles({ ingest, directory }: Pick<OpenIngest, 'ingest' | 'directory'>, expected = whole): void {
  ingest.close();
  expect(everything(directory)).toEqual(expected);
}

test('the group of these tests has a fork that wins', () => {
  using open = openCopy();
  open.receive(group);
  expect(open.logged.map(({ event }) => event)).toContain('block_reverted');
});

test('events of a group have one commit, and no subscriber is notified of them before it', () => {
  using open = openCopy();
  const before = open.seen();
  open.receive(group);
  expect(open.timer.isWaiting()).toBe(true);
  expect(open.seen()).toEqual(before);
  expect(open.woken.size).toBe(0);
  open.timer.endWaits();
  expect(open.seen().height).toBe(open.ingest.tipHeight());
  expect(open.seen().deliveries).toBeGreaterThan(before.deliveries);
  expect(open.woken.size).toBeGreaterThan(0);
  expectFiles(open);
});

const isCommittedAfter = ({ timer }: ReturnType<typeof openCopy>, milliseconds: number): boolean => {
  timer.tick(milliseconds);
  return !timer.isWaiting();
};

/** Receives events that queue no delivery every 10 ms. @returns the milliseconds after which there was a commit */
function commitsWithin(open: ReturnType<typeof openCopy>, milliseconds: number): number[] {
  const times = Array.from({ length: milliseconds / 10 }, (_, n) => (n + 1) * 10);
  return times.filter((time) => {
    open.receive([{ path: '/of_a_newer_node', text: `{"n":${time}}`, receivedAt: time }]);
    return isCommittedAfter(open, 10);
  });
}

test('events are committed 20 ms after the last one, and 1,000 ms after the first one at the latest', () => {
  using open = openCopy();
  open.receive(group);
  expect([isCommittedAfter(open, 19), isCommittedAfter(open, 1)]).toEqual([false, true]);
  expect(open.seen().height).toBe(open.ingest.tipHeight());
  expect(commitsWithin(open, 2_500)).toEqual([1_000, 2_000]);
});

test('events are committed 100 ms after the first one if another thread reads', () => {
  using open = openCopy();
  open.ingest.commits.await();
  // Each commit fulfils the wish of the thread, which has not read again.
  expect(commitsWithin(open, 1_500)).toEqual([100, 1_100]);
  open.ingest.publish();
  expect(commitsWithin(open, 50)).toEqual([]);
  open.ingest.commits.await();
  expect(commitsWithin(open, 50)).toEqual([50]);
});

test('a group with deliveries is committed 100 ms after its first event', () => {
  using open = openCopy();
  const before = open.seen().deliveries;
  open.receive(group);
  expect(commitsWithin(open, 200)).toEqual([100]);
  expect(open.seen().deliveries).toBeGreaterThan(before);
});

test('the writer rests ten times as long as a commit took, and 1,000 ms after the first event at most', () => {
  using open = openCopy();
  open.slow(30);
  open.receive(group);
  open.timer.tick(20);
  open.receive(group.slice(0, 1));
  open.ingest.commits.await();
  // The 30 ms of the commit are over, 20 ms of quiet aren't enough.
  expect(commitsWithin(open, 400)).toEqual([300]);
  open.slow(500);
  open.ingest.publish();
  expect(commitsWithin(open, 1_500)).toEqual([1_000]);
});

test('4 MB of events are committed at once', () => {
  using open = openCopy();
  const isPending = (n: number): boolean => {
    open.receive([{ path: '/of_a_newer_node', text: JSON.stringify('x'.repeat(1_500_000 + n)), receivedAt: n }]);
    return open.timer.isWaiting();
  };
  expect([1, 2, 3].map(isPending)).toEqual([true, true, false]);
});

test.each(['an event', 'the end of the timer'])('a transaction that SQLite ended is made again before %s', (next) => {
  using open = openCopy();
  open.receive(group.slice(0, 20));
  open.undo();
  if (next !== 'an event') {
    open.timer.endWaits();
    expect(open.seen().height).toBe(open.ingest.tipHeight());
  }
  open.receive(group.slice(20));
  expectFiles(open);
});

/** Locks each file as another process would. @throws SQLiteError if it is locked */
function lockFiles(directory: string): void {
  for (const path of [indexPath(directory), journalPath(directory)]) {
    using other = new Database(path, { readwrite: true });
    other.run('PRAGMA busy_timeout = 0');
    other.run('BEGIN IMMEDIATE');
    other.run('ROLLBACK');
  }
}

test('nothing is locked once the timer has ended, nor after an event that changes nothing', () => {
  using open = openCopy();
  open.receive(group);
  open.timer.endWaits();
  lockFiles(open.directory);
  expect(open.ingest.receive(group.find(isBlock)!)).toBe('repeated');
  lockFiles(open.directory);
  expectFiles(open);
});

const senderOf = ({ stx_transfer_event: transfer }: { stx_transfer_event?: { sender: string } }): string[] =>
  transfer === undefined ? [] : [transfer.sender];

test('this process reads acknowledged events at once, without a commit', () => {
  using open = openReadable();
  const before = open.seen();
  for (const event of group) {
    open.ingest.receive(event);
    expect(open.height()).toBe(open.ingest.tipHeight());
  }
  expect(open.seen()).toEqual(before);
  open.timer.endWaits();
  expect(open.height()).toBe(open.ingest.tipHeight());
  // A read doesn't leave a transaction open that would block the next event's.
  open.receive(eventRange.slice(40, 45));
});

test('reads before a commit show the same as reads after it', async () => {
  using open = openReadable();
  const { snapshots } = open;
  const senders = new Set(group.filter(isBlock).flatMap(({ text }) => JSON.parse(text).events.flatMap(senderOf)));
  expect(senders.size).toBeGreaterThan(1);
  const stateIn = (read: Reader) => ({
    pending: read.mempool.page(50, null, models),
    version: read.mempool.version(),
    balances: [...senders].map((sender) => read.principals.stxBalance(sender)),
  });
  for (const [index, event] of group.entries()) {
    open.ingest.receive(event);
    if (index % 4 !== 3) continue;
    const before = snapshots.read(stateIn);
    expect(before).toEqual(await snapshots.readLong(async (read) => stateIn(read)));
  }
});

test('a read over several turns sees everything that was acknowledged before it, and nothing after', async () => {
  using open = openReadable();
  open.receive(group.slice(0, 20));
  const height = open.ingest.tipHeight();
  await open.snapshots.readLong(async (read) => {
    expect(read.chain.tip()?.height).toBe(height);
    open.receive(group.slice(20));
    expect(open.height()).toBe(open.ingest.tipHeight());
    expect(read.chain.tip()?.height).toBe(height);
  });
});

test('reads see only committed events after a group is lost, and all events after the replay', () => {
  using open = openReadable();
  const { height } = open;
  const before = height();
  open.receive(group.slice(0, 20));
  const acknowledged = height();
  expect(acknowledged).toBeGreaterThan(before!);
  open.failNext('BEGIN IMMEDIATE', { code: 'io', effect: 'kept' }, 2);
  open.undo();
  // The read first tries to replay the group twice, which fails.
  expect(height()).toBe(before);
  open.ingest.probe();
  expect(height()).toBe(acknowledged);
});

test('reads leave the replay of a group to the next write after two attempts failed', () => {
  using open = openReadable();
  const before = open.height();
  open.receive(group);
  const acknowledged = open.ingest.tipHeight();
  let attempts = 0;
  open.store.follow(({ sql, path }) => {
    if (sql !== 'COMMIT' || path !== indexPath(open.directory)) return null;
    attempts += 1;
    return { code: 'full', effect: 'rolled_back' };
  });
  open.timer.endWaits();
  expect([open.height(), open.height(), attempts]).toEqual([before, before, 2]);
  open.ingest.probe();
  expect([open.height(), attempts]).toEqual([before, 3]);
  open.store.follow(never);
  open.ingest.probe();
  expect(open.height()).toBe(acknowledged);
  // The next group that is lost is replayed for reads again.
  open.receive(eventRange.slice(40, 60));
  open.undo();
  expect(open.height()).toBe(open.ingest.tipHeight());
});

/** Names of the log lines of blocks, in order. */
const blockLinesOf = ({ logged }: Pick<OpenIngest, 'logged'>): string[] =>
  logged.map(({ event }) => event).filter((event) => event.startsWith('block_'));

test('a block is logged once, however often a full disk makes the writer replay it', () => {
  using open = openCopy();
  open.receive(group);
  const lines = blockLinesOf(open);
  expect(lines.length).toBeGreaterThan(5);
  open.failNext('COMMIT', { code: 'full', effect: 'rolled_back' }, 4);
  open.timer.endWaits();
  for (let probes = 0; probes < 3; probes++) open.ingest.probe();
  expect(open.seen().height).toBe(open.ingest.tipHeight());
  expect(blockLinesOf(open)).toEqual(lines);
  expect(open.logged.map(({ event }) => event)).not.toContain('replay_begun');
});

test('a block is logged once if the index fails to commit it after the journal has', () => {
  using usual = openCopy();
  usual.receive(group);
  using directory = copyOf(from);
  const { connect, failNext } = faultStore();
  using open = openWithHooks(directory.path, { connect });
  for (const event of group) {
    failNext(indexPath(directory.path), 'COMMIT', { code: 'full', effect: 'rolled_back' });
    expect(() => open.ingest.receive(event)).toThrow(StoreUnavailableError);
    expect(open.ingest.receive(event)).toBe('repeated');
  }
  expect(blockLinesOf(open)).toEqual(blockLinesOf(usual));
});

test('reads continue if the journal is too damaged to replay a lost group, and the next event reports the damage', () => {
  using open = openReadable();
  const { height } = open;
  const before = height();
  open.receive(group.slice(0, 20));
  using journal = new Database(journalPath(open.directory));
  journal.run("UPDATE events SET path = path || 'x' WHERE id = (SELECT max(id) FROM events)");
  open.undo();
  expect(height()).toBe(before);
  expect(() => open.receive(group.slice(20))).toThrow(OperatorError);
  expect(height()).toBe(before);
});

test('a read within a read leaves the rows of the other one', () => {
  using open = openReadable();
  open.receive(group);
  const { snapshots } = open;
  const heights = snapshots.read((read) => {
    const ids = read.changes.after(0, 1_000_000).map(({ id }) => id);
    snapshots.read((inner) => inner.height());
    return ids.length + read.height();
  });
  expect(heights).toBeGreaterThan(0);
});

test('chainhooks see only committed data', () => {
  using open = openCopy();
  const before = open.seen().deliveries;
  open.receive(group);
  const { waitingOfAll } = open.ingest.hooks.deliveries;
  expect(waitingOfAll().count).toBe(before);
  open.ingest.publish();
  expect(waitingOfAll().count).toBeGreaterThan(before);
  expect(open.seen().deliveries).toBe(waitingOfAll().count);
});

test('a local write commits the events before it', () => {
  using open = openCopy();
  for (const [index, event] of group.entries()) {
    open.ingest.receive(event);
    if (index % 5 === 4) {
      void open.ingest.local(() => {});
      expect(open.seen().height).toBe(open.ingest.tipHeight());
    }
  }
  expectFiles(open);
});

test.each<Fault>([
  { code: 'full', effect: 'rolled_back' },
  { code: 'busy', effect: 'kept' },
])('a commit that fails twice succeeds later, without a loss: $code, $effect', (fault) => {
  using open = openCopy();
  open.receive(group);
  open.failNext('COMMIT', fault, 2);
  open.timer.endWaits();
  expect(open.ingest.health.failing()).not.toBeNull();
  open.woken.clear();
  open.ingest.probe();
  expect(open.ingest.health.failing()).toBeNull();
  expect(open.woken).toContain('all');
  expect(open.seen().height).toBe(open.ingest.tipHeight());
  expectFiles(open);
});

test.each<Fault>([
  { code: 'full', effect: 'rolled_back' },
  { code: 'busy', effect: 'kept' },
  { code: 'io', effect: 'done' },
])('reads that saw a group still see it if its commit fails once: $code, $effect', (fault) => {
  using open = openReadable();
  open.receive(group);
  const before = open.height();
  open.failNext('COMMIT', fault);
  open.timer.endWaits();
  expect(open.height()).toBe(before);
  expect(open.seen().height).toBe(before);
  expect(open.ingest.health.failing()).toBeNull();
  expect(open.woken).toContain('all');
  expect(open.ingest.receive(group.at(-1)!)).toBe('repeated');
  expectFiles(open);
});

test('reads that saw a group still see it if the next event undoes it', () => {
  using open = openReadable();
  open.receive(group.slice(0, 20));
  const before = open.height();
  open.store.failNext(journalPath(open.directory), 'COMMIT', { code: 'io', effect: 'rolled_back' });
  expect(() => open.receive(group.slice(20, 21))).toThrow(StoreUnavailableError);
  expect(open.height()).toBe(before);
});

const strange: ReceivedEvent = {
  path: '/new_block',
  text: JSON.stringify({
    ...JSON.parse(group.findLast(isBlock)!.text),
    index_block_hash: `0x${'01'.repeat(32)}`,
    parent_index_block_hash: `0x${'02'.repeat(32)}`,
  }),
  receivedAt: 1,
};
const rejected: [why: string, event: ReceivedEvent, error: string][] = [
  ['has no parent here', strange, 'UnknownParentError'],
  ["can't be understood", { path: '/new_block', text: '{}', receivedAt: 1 }, 'PayloadError'],
];

test.each(rejected)('an event that %s takes none of those before it along', (_, event, name) => {
  using open = openCopy();
  open.receive(group);
  expect(() => open.ingest.receive(event)).toThrow(expect.objectContaining({ name }) as unknown as Error);
  // Without another event, and without the timer.
  open.ingest.publish();
  expect(open.seen().height).toBe(open.ingest.tipHeight());
  expect(open.seen().deliveries).toBeGreaterThan(0);
  expect(open.woken.size).toBeGreaterThan(0);
  expectFiles(open);
});

test('a crash with a pending group is recovered from the journal', () => {
  using open = openCopy();
  open.receive(group);
  using crashed = image(open.directory);
  using reopened = openWithHooks(crashed.path);
  expect(reopened.ingest.tipHeight()).toBe(open.ingest.tipHeight());
  reopened.ingest.close();
  expect(everything(crashed.path).journal).toEqual(whole.journal);
});

test('a pending group is committed at the end', () => {
  using open = openCopy();
  open.receive(group);
  expectFiles(open);
  using reopened = openWithHooks(open.directory);
  expect(reopened.logged).toEqual([]);
});

/** Returns the result of an import of events. */
const resultOfImport = (events: readonly ReceivedEvent[]) => {
  using open = openCopy();
  for (const event of events) open.ingest.apply(event);
  open.ingest.commit();
  open.ingest.close();
  return everything(open.directory);
};

/** Opens an index on a copy for an import that keeps all events except the last few. */
function startImport(last = 0) {
  const open = openCopy();
  const before = open.seen();
  const count = group.length - last;
  for (const event of group.slice(0, count)) open.ingest.apply(event);
  open.ingest.commitToJournal();
  for (const event of group.slice(count)) open.ingest.apply(event);
  return { ...open, before };
}

test('events that an import commits are in the journal, and in the index with its commit', () => {
  using open = startImport();
  expect(open.seen()).toEqual(open.before);
  using crashed = image(open.directory);
  using reopened = openWithHooks(crashed.path);
  expect(reopened.ingest.tipHeight()).toBe(open.ingest.tipHeight());
  open.ingest.commit();
  expect(open.seen().height).toBe(open.ingest.tipHeight());
  expectFiles(open, resultOfImport(group));
});

test('a stopped import loses only uncommitted rows', () => {
  const [safeEvents, lostEvents] = [group.slice(0, -5), group.slice(-5)];
  using stoppedCopy = copyOf(from);
  using undisturbed = copyOf(from);
  {
    using open = openAt(stoppedCopy.path);
    for (const event of safeEvents) open.ingest.apply(event);
    open.ingest.commitToJournal();
    for (const event of lostEvents) open.ingest.apply(event);
  }
  using reopened = openAt(stoppedCopy.path);
  expect(reopened.logged).toContainEqual({ event: 'journal_replayed', events: safeEvents.length });
  reopened.ingest.close();
  {
    using open = openAt(undisturbed.path);
    for (const event of safeEvents) open.ingest.apply(event);
    open.ingest.commit();
  }
  expect(everything(stoppedCopy.path)).toEqual(everything(undisturbed.path));
});

test.each(rejected)('an event that %s takes nothing of an import along', (_, event, name) => {
  using open = startImport(5);
  expect(() => open.ingest.apply(event)).toThrow(expect.objectContaining({ name }) as unknown as Error);
  open.ingest.commit();
  expectFiles(open, resultOfImport(group));
});

test('a commit of an import that fails is reported, and loses nothing', () => {
  using open = startImport();
  open.failNext('COMMIT', { code: 'full', effect: 'rolled_back' });
  expect(open.ingest.commit).toThrow(StoreUnavailableError);
  open.ingest.probe();
  expect(open.seen().height).toBe(open.ingest.tipHeight());
  expectFiles(open, resultOfImport(group));
});
