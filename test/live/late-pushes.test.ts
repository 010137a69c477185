/** Pushes are the same, however long after the change they are sent. */

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { changeMessages } from '../../src/live/feed.ts';
import type { Message } from '../../src/live/subscriptions.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { openNew, received } from '../support/data/ingest.ts';
import { watchedSnapshots } from '../support/data/watched-snapshots.ts';
import { eventsOf, type Forks, forks } from '../support/events/forked-chain.ts';
import { assertProperty, Seen } from '../support/property.ts';

// biome-ignore lint/suspicious/noExplicitAny: pushes are looked at member by member.
type Push = { method: string; params: any };

/** A subscriber to everything. It receives the changes when the test calls it. */
function listener(snapshots: Snapshots) {
  const messagesOf = changeMessages({ has: () => true, any: () => true, topics: () => [] });
  const heard: Push[] = [];
  let last = 0;
  return {
    heard,
    hear: () =>
      snapshots.readLong(async (read) => {
        for (const change of read.changes.after(last, 100_000)) {
          last = change.id;
          const messages: Message[] = await Array.fromAsync(messagesOf(read, change));
          for (const message of messages) heard.push(JSON.parse(message.rpc()));
        }
      }),
  };
}

/**
 * Removes the microblocks, which later events add to a block, and the transactions of block 1. On the chain, block 1
 * also contains the transactions of block 0, but an orphaned block's payload doesn't.
 */
const blocksIn = (pushes: readonly Push[]) =>
  pushes
    .filter(({ method }) => method === 'block')
    .map(({ params }) => ({ ...params, microblocks_streamed: [], txs: params.height === 1 ? [] : params.txs }));

/** Returns a status without the reason of a drop. */
const stateOf = (status = ''): string => status.replace(/^dropped_.*/, 'dropped');

/**
 * Returns transactions as pushed, without the drop reason and the replacement, which may change: the index has those of
 * the last drop. A late client is notified of undone blocks whose canonical messages it never received, so those
 * messages are left out.
 */
const statesIn = (pushes: readonly Push[], methods: readonly string[]): string[] =>
  pushes
    .filter(({ method, params }) => methods.includes(method) && (params.tx ?? params).canonical !== false)
    .map(({ method, params }) => `${method} ${params.tx_id} ${stateOf(params.tx_status)} ${params.block_hash ?? ''}`);

/** Messages that were pushed more often than the change happened. */
function surplus(pushed: readonly string[], happened: readonly string[]): string[] {
  const rest = Map.groupBy(happened, (text) => text);
  return pushed.filter((text) => rest.get(text)?.pop() === undefined);
}

test('a client gets the same pushes, whether it learns of a change late or at once', async () => {
  const seen = new Seen({ blocks: 20, beside: 3, twice: 1, states: 20, moves: 20 });
  await assertProperty(
    fc.asyncProperty(forks(), fc.integer({ min: 2, max: 60 }), async (world: Forks, atOnce: number) => {
      using open = openNew();
      using snapshots = watchedSnapshots(open.directory);
      const [soon, late] = [listener(snapshots), listener(snapshots)];
      for (const [index, event] of eventsOf(world).entries()) {
        open.ingest.receive(received(event));
        await soon.hear();
        if (index % atOnce === 0) await late.hear();
      }
      await late.hear();
      expect(blocksIn(late.heard)).toEqual(blocksIn(soon.heard));
      const pending = ['mempool', 'tx_update'];
      const moves = ['address_tx_update', 'nft_event'];
      for (const methods of [pending, moves]) {
        expect(surplus(statesIn(late.heard, methods), statesIn(soon.heard, methods))).toEqual([]);
      }
      const blocks = blocksIn(soon.heard);
      seen.add('blocks', blocks.length);
      seen.add('beside', blocks.filter(({ canonical }) => !canonical).length);
      seen.add('twice', blocks.length - new Set(blocks.map(({ hash }) => hash)).size);
      seen.add('states', statesIn(late.heard, pending).length);
      seen.add('moves', statesIn(late.heard, moves).length);
    }),
    { seen, cases: 1, examples: fc.sample(fc.tuple(forks(), fc.constant(7)), { numRuns: 3, seed: 1 }) },
  );
});
