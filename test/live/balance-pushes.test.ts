/** Balances that are pushed equal those that the API answers, whatever changed the tip. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { stxBalanceWithTotals } from '../../src/api/shared/address.ts';
import { changeMessages } from '../../src/live/feed.ts';
import { type Message, subscriptions } from '../../src/live/subscriptions.ts';
import { principalTopic } from '../../src/live/topics.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { openNew, received } from '../support/data/ingest.ts';
import { watchedSnapshots } from '../support/data/watched-snapshots.ts';
import { eventsOf, type Forks, forks } from '../support/events/forked-chain.ts';
import { assertProperty, Seen, timeout } from '../support/property.ts';

const balanceOf = (read: Reader, principal: string) =>
  stxBalanceWithTotals(read.principals.stxHistory(principal, Number.MAX_SAFE_INTEGER), false);

test(
  "a subscriber's last balance equals the API's answer after every change of the tip",
  async () => {
    const seen = new Seen({ pushes: 20, rewards: 3, unlocks: 1 });
    await assertProperty(
      fc.asyncProperty(forks(), async (world: Forks) => {
        const events = eventsOf(world);
        const addresses = new Set(events.flatMap(({ body }) => body.match(/\bST[0-9A-Z]{38,40}\b/g) ?? []));
        using open = openNew();
        using snapshots = watchedSnapshots(open.directory);
        const all = subscriptions();
        const messagesOf = changeMessages(all);
        const last = new Map<string, unknown>();
        const deliver = (message: Message) => {
          const { address, ...balance } = JSON.parse(message.rpc()).params;
          const before = last.get(address) as typeof balance | undefined;
          last.set(address, balance);
          seen.add('pushes');
          if (before?.total_miner_rewards_received !== balance.total_miner_rewards_received) seen.add('rewards');
          if (before?.locked !== '0' && balance.locked === '0') seen.add('unlocks');
        };
        for (const address of addresses) all.add({ deliver }, principalTopic('address-stx-balance', address), '');
        let newest = 0;
        for (const [index, event] of events.entries()) {
          open.ingest.receive(received(event));
          await snapshots.read(async (read) => {
            if (index === 0) for (const address of addresses) last.set(address, balanceOf(read, address));
            for (const change of await read.changes.after(newest, 100_000)) {
              newest = change.id;
              for await (const message of messagesOf(read, change)) all.publish(message);
            }
            for (const address of addresses) {
              expect({ address, ...(last.get(address) as object) }).toEqual({ address, ...balanceOf(read, address) });
            }
          });
        }
      }),
      {
        seen,
        cases: 3,
        shrink: false,
        examples: fc.sample(forks(), { numRuns: 15, seed: 1_306_253_083 }).map((one): [Forks] => [one]),
      },
    );
  },
  timeout,
);
