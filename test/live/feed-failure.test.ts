import { expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { type FeedEvent, startFeed } from '../../src/live/feed.ts';
import { changeMessages } from '../../src/live/messages.ts';
import { subscriptions } from '../../src/live/subscriptions.ts';
import { plainTopic } from '../../src/live/topics.ts';
import type { Change } from '../../src/store/model/change.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';

const broken = new Error('this one can not be read');

/** Changes 1 to 3 come once the feed has begun; what the first is of can't be read. */
function snapshots(): { snapshots: Snapshots; asked: number[] } {
  const asked: number[] = [];
  const change = (id: number): Change => ({ id, kind: 'microblock', subject: new Uint8Array([id]) });
  const reader = {
    file: 1,
    changes: {
      newest: () => Promise.resolve(0),
      after: (last: number) => Promise.resolve([1, 2, 3].filter((id) => id > last).map(change)),
    },
    microblocks: {
      find: ([id]: Uint8Array) => {
        asked.push(id!);
        return id === 1 ? Promise.reject(broken) : Promise.resolve(undefined);
      },
    },
  } as unknown as Reader;
  const read: Snapshots['read'] = (ask) => Promise.resolve(ask(reader));
  return { snapshots: { read } as Snapshots, asked };
}

test('a change that can not be told of is logged once, and those after it are told of', async () => {
  const { snapshots: source, asked } = snapshots();
  const all = subscriptions();
  all.add({ deliver: () => {} }, plainTopic('microblock'), 'microblock');
  const logged: FeedEvent[] = [];
  const looked = Promise.withResolvers<void>();
  const read: Snapshots['read'] = async (ask) => {
    try {
      return await source.read(ask);
    } finally {
      if (asked.includes(3) || asked.length > 5) looked.resolve();
    }
  };
  const stop = startFeed({
    snapshots: { ...source, read },
    subscriptions: all,
    log: (event) => void logged.push(event),
  });
  await looked.promise;
  await stop();
  expect(asked).toEqual([1, 2, 3]);
  expect(logged).toEqual([{ event: 'push_failed', cause: broken }]);
});

test('a poll that takes long ends with the change in hand, and another one goes on', async () => {
  const { snapshots: source, asked } = snapshots();
  const all = subscriptions();
  all.add({ deliver: () => {} }, plainTopic('microblock'), 'microblock');
  const askedBefore: number[] = [];
  const done = Promise.withResolvers<void>();
  const stop = startFeed({
    snapshots: {
      ...source,
      read: (ask) => {
        askedBefore.push(asked.length);
        if (asked.length === 3) done.resolve();
        return source.read(ask);
      },
    },
    subscriptions: all,
    log: () => {},
    // Each change takes a minute.
    clock: { ...systemClock, monotonic: () => asked.length * 60_000 },
  });
  await done.promise;
  await stop();
  // The first poll looks where the changes stand.
  expect(askedBefore.slice(0, 5)).toEqual([0, 0, 1, 2, 3]);
});

test('a block is not read where nobody is subscribed to any of its messages', async () => {
  const all = subscriptions();
  for (const kind of ['mempool', 'microblock'] as const) all.add({ deliver: () => {} }, plainTopic(kind), kind);
  const reader = { blocks: { announced: () => Promise.reject(broken) } } as unknown as Reader;
  const block: Change = { id: 1, kind: 'block', subject: new Uint8Array(32) };
  expect(await Array.fromAsync(changeMessages(all)(reader, block))).toEqual([]);
  all.add({ deliver: () => {} }, plainTopic('nft-event'), 'nft-event');
  await expect(Array.fromAsync(changeMessages(all)(reader, block))).rejects.toBe(broken);
});
