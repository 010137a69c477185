/** The feed: pushes after the index file is replaced or can't be read. */
import { expect, test } from 'bun:test';
import { renameSync } from 'node:fs';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { TURN_MS } from '../../src/base/turns.ts';
import { changeMessages, type FeedEvent, startFeed } from '../../src/live/feed.ts';
import { createSubscriptions, plainTopic } from '../../src/live/subscriptions.ts';
import { journalPath } from '../../src/store/files/database.ts';
import type { Change } from '../../src/store/model/block.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { moveIndex } from '../support/data/data-directory.ts';
import { ingestOf, openAt, openNew, simulatedEvents } from '../support/data/ingest.ts';
import { snapshotsBy } from '../support/data/snapshots-by.ts';
import { watchedSnapshots } from '../support/data/watched-snapshots.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const events = simulatedEvents({ seed: 4, blocks: 8, transactionsPerBlock: 2, forkEvery: 0 });
const newest = events.findLastIndex(({ path }) => path === '/new_block');

/** Milliseconds between two polls. */
const INTERVAL_MS = 20;

/** Subscribes to blocks. @returns the pushed heights, and a promise of the first push */
function blockSubscriber() {
  const subscribed = createSubscriptions();
  const pushed: number[] = [];
  const delivered = Promise.withResolvers<void>();
  const subscriber = {
    deliver(message: { rpc(): string }) {
      pushed.push(JSON.parse(message.rpc()).params.height);
      delivered.resolve();
    },
  };
  const add = () => subscribed.add(subscriber, plainTopic('block'), 'block');
  const remove = () => subscribed.removeAll(subscriber);
  return { subscribed, pushed, delivered: delivered.promise, add, remove };
}

/** Snapshots that record which file was read, after each read. */
const observeReads = (snapshots: Snapshots, readFile: (file: number) => void): Snapshots => ({
  ...snapshots,
  async readLong(request) {
    const [answer, file] = await snapshots.readLong(async (read) => [await request(read), read.file] as const);
    readFile(file);
    return answer;
  },
});

test('a replaced index pushes only its later changes, even if it has fewer changes than the old one', async () => {
  // Only received events leave changes; an import leaves none.
  using old = ingestOf([]);
  {
    using open = openAt(old.path);
    for (const event of events) open.ingest.receive(event);
  }
  using anew = ingestOf(events.slice(0, newest));
  using snapshots = watchedSnapshots(old.path);
  const logged: FeedEvent[] = [];
  const followed = Promise.withResolvers<void>();
  const { subscribed, pushed, delivered, add } = blockSubscriber();
  add();
  const stop = startFeed({
    snapshots: observeReads(snapshots, (file) => {
      if (file === 2) followed.resolve();
    }),
    subscriptions: subscribed,
    log: (event) => logged.push(event),
  });
  renameSync(journalPath(anew.path), journalPath(old.path));
  moveIndex(anew.path, old.path);
  snapshots.look();
  await followed.promise;
  {
    using open = openAt(old.path);
    for (const event of events.slice(newest)) open.ingest.receive(event);
  }
  await delivered;
  await stop();
  expect([pushed, logged]).toEqual([[8], []]);
});

test('nothing is read without subscribers, and the first subscriber gets only later changes', async () => {
  using open = openNew();
  for (const event of events.slice(0, newest - 1)) open.ingest.receive(event);
  using snapshots = watchedSnapshots(open.directory);
  let reads = 0;
  const counted: Snapshots = {
    ...snapshots,
    readLong(request) {
      reads += 1;
      return snapshots.readLong(request);
    },
  };
  const { subscribed, pushed, delivered, add, remove } = blockSubscriber();
  const stop = startFeed({ snapshots: counted, subscriptions: subscribed, log: () => {} });
  for (const event of events.slice(newest - 1, newest)) open.ingest.receive(event);
  expect(reads).toBe(0);
  add();
  // The read happens before anything else, so later events are pushed.
  expect(reads).toBe(1);
  for (const event of events.slice(newest)) open.ingest.receive(event);
  await delivered;
  expect(pushed).toEqual([8]);
  remove();
  await stop();
});

test('a subscriber misses changes that arrived without subscribers, even if there were subscribers before', async () => {
  using open = openNew();
  const blocks = events.filter(({ path }) => path === '/new_block');
  const [last, next, ...before] = [blocks.at(-1)!, blocks.at(-2)!, ...blocks.slice(0, -2)];
  for (const event of before) open.ingest.receive(event);
  using snapshots = watchedSnapshots(open.directory);
  const { subscribed, pushed, add, remove } = blockSubscriber();
  const clock = heldClock([INTERVAL_MS]);
  const stop = startFeed({ snapshots, subscriptions: subscribed, log: () => {}, clock });
  const heights = blocks.map(({ text }) => JSON.parse(text).block_height as number);
  add();
  await until(() => clock.waiting(INTERVAL_MS) === 1);
  remove();
  // The feed finds that no subscriber is left, and waits for one.
  clock.pass(INTERVAL_MS);
  await clock.turn();
  open.ingest.receive(next);
  add();
  open.ingest.receive(last);
  await until(() => {
    clock.pass(INTERVAL_MS);
    return pushed.length > 0;
  });
  expect(pushed).toEqual(heights.slice(-1));
  await until(() => clock.waiting(INTERVAL_MS) === 1);
  remove();
  clock.pass(INTERVAL_MS);
  await stop();
});

test('other tasks get their turn between the messages of one block', async () => {
  using open = openNew();
  for (const event of events.slice(0, newest - 1)) open.ingest.receive(event);
  using snapshots = watchedSnapshots(open.directory);
  const subscribed = createSubscriptions();
  let [time, turns] = [0, 0];
  // Each message takes all the time of a turn.
  const clock: Clock = {
    ...systemClock,
    monotonic: () => time,
    turn() {
      turns += 1;
      return systemClock.turn();
    },
  };
  const turnsOf: number[] = [];
  const delivered = Promise.withResolvers<void>();
  const subscriber = {
    deliver(message: { rpc(): string }) {
      time += TURN_MS;
      turnsOf.push(turns);
      if (JSON.parse(message.rpc()).method === 'block') delivered.resolve();
    },
  };
  const stop = startFeed({ snapshots, subscriptions: subscribed, log: () => {}, clock });
  for (const kind of ['block', 'nft-event', 'mempool'] as const) subscribed.add(subscriber, plainTopic(kind), kind);
  for (const event of events.slice(newest - 1)) open.ingest.receive(event);
  await delivered.promise;
  subscribed.removeAll(subscriber);
  await stop();
  expect(turnsOf.length).toBeGreaterThan(1);
  expect(turnsOf).toEqual(turnsOf.map((_, message) => turnsOf[0]! + message));
});

const broken = new Error("this one can't be read");

/** Returns changes 1 to 3, which come after the feed started. The first one's block can't be read. */
function threeChanges(): { snapshots: Snapshots; reads: number[] } {
  const reads: number[] = [];
  const change = (id: number): Change => ({ id, kind: 'block', subject: new Uint8Array([id]) });
  const reader = {
    file: 1,
    changes: { newest: () => 0, after: (last: number) => [1, 2, 3].filter((id) => id > last).map(change) },
    blocks: {
      announced: ([id]: Uint8Array) => {
        reads.push(id!);
        if (id === 1) throw broken;
      },
    },
  } as unknown as Reader;
  return { snapshots: snapshotsBy(() => reader), reads };
}

test("a change that can't be pushed is logged once, and later changes are pushed", async () => {
  const { snapshots: source, reads } = threeChanges();
  const all = createSubscriptions();
  all.add({ deliver: () => {} }, plainTopic('block'), 'block');
  const logged: FeedEvent[] = [];
  const looked = Promise.withResolvers<void>();
  const readLong: Snapshots['readLong'] = async (ask) => {
    try {
      return await source.readLong(ask);
    } finally {
      if (reads.includes(3) || reads.length > 5) looked.resolve();
    }
  };
  const stop = startFeed({
    snapshots: { ...source, readLong },
    subscriptions: all,
    log: (event) => void logged.push(event),
  });
  await looked.promise;
  await stop();
  expect(reads).toEqual([1, 2, 3]);
  expect(logged).toEqual([{ event: 'unexpected_error', part: 'realtime', cause: broken }]);
});

test('a slow poll ends after the current change, and the next poll continues', async () => {
  const { snapshots: source, reads } = threeChanges();
  const all = createSubscriptions();
  all.add({ deliver: () => {} }, plainTopic('block'), 'block');
  const askedBefore: number[] = [];
  const done = Promise.withResolvers<void>();
  const stop = startFeed({
    snapshots: {
      ...source,
      read: (ask) => {
        if (reads.length === 3) done.resolve();
        return source.read(ask);
      },
      readLong: (ask) => {
        askedBefore.push(reads.length);
        return source.readLong(ask);
      },
    },
    subscriptions: all,
    log: () => {},
    // Each change takes a minute.
    clock: { ...systemClock, monotonic: () => reads.length * 60_000 },
  });
  await done.promise;
  await stop();
  // The first poll reads the position of the newest change.
  expect(askedBefore).toEqual([0, 0, 1, 2]);
});

test('a block is not read without a subscriber of its messages', async () => {
  const all = createSubscriptions();
  for (const kind of ['mempool', 'microblock'] as const) all.add({ deliver: () => {} }, plainTopic(kind), kind);
  const announced = () => {
    throw broken;
  };
  const reader = { blocks: { announced } } as unknown as Reader;
  const block: Change = { id: 1, kind: 'block', subject: new Uint8Array(32) };
  expect(await Array.fromAsync(changeMessages(all)(reader, block))).toEqual([]);
  all.add({ deliver: () => {} }, plainTopic('nft-event'), 'nft-event');
  await expect(Array.fromAsync(changeMessages(all)(reader, block))).rejects.toBe(broken);
});
