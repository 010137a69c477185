/** Chainhooks of an index that starts at a later block: they receive every block of the index, and none before. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bootTransaction, deploymentPayload } from '../../src/codec/boot-transaction.ts';
import { toHex } from '../../src/codec/hex.ts';
import { received } from '../support/data/ingest.ts';
import { beginnings } from '../support/events/beginning.ts';
import { eventsOf, forks } from '../support/events/forked-chain.ts';
import { canonicalHashes, fromAnywhere } from '../support/events/from-anywhere.ts';
import { block, hashOf, receipt } from '../support/events/handmade.ts';
import { assertProperty, firstSeed, Seen } from '../support/property.ts';
import { until } from '../support/time/until.ts';
import { CONSUMER, directHooks } from './direct.ts';
import { appliedHeights, definition, everything, NOWHERE, receiver, started } from './server.ts';

const grow = { mine: 'back' as const, tenure: 'same' as const, transactions: 4, blocks: 0 };
const onNewest = { mine: 'on_newest' as const, tenure: 'same' as const, transactions: 4 };
/** The fourth block has a rival, on which the fifth follows. */
const events = eventsOf({ seed: 3, steps: [grow, grow, grow, grow, { ...grow, blocks: 1 }, onNewest] });
const beginning = beginnings(events).find(({ height }) => height === 3)!;

test('hooks receive blocks from the first one on: live, after resuming, and in a backfill from block 1', async () => {
  await using direct = directHooks();
  using live = receiver();
  using later = receiver();
  using past = receiver();
  const uuids: string[] = [];
  for (const { url } of [live, later, past]) uuids.push(await direct.register(definition(url, everything)));
  const [atTip = '', resumed = '', backfilled = ''] = uuids;
  await direct.managed.setEnabled(CONSUMER, atTip, true);
  direct.feed(beginning.events.map(received));
  const heights = [3, 4, 4, 5];
  await until(() => appliedHeights(live.received).length >= 4);
  expect(appliedHeights(live.received)).toEqual(heights);

  await direct.managed.setEnabled(CONSUMER, resumed, true, 1);
  await until(() => appliedHeights(later.received).length >= 3);
  expect(appliedHeights(later.received)).toEqual([3, 4, 5]);

  await direct.trial.backfill(CONSUMER, backfilled, { from_height: 1, to_height: 5, dry_run: false });
  await until(() => appliedHeights(past.received).length >= 3);
  expect(appliedHeights(past.received)).toEqual([3, 4, 5]);
});

test('a block with boot transactions without a chain id is accepted and delivered', async () => {
  await using direct = directHooks();
  const uuid = await direct.register(definition(NOWHERE, everything, started));
  const raw = toHex(bootTransaction(false, deploymentPayload('boot', '(begin)', null)));
  const first = block(null, 'boot', [receipt({ id: hashOf('boot'), raw }, 0)], {
    block_height: 7,
    parent_burn_block_hash: hashOf('burn'),
    parent_burn_block_height: 100,
  });
  expect(direct.ingest.receive(first.event)).toBe('applied');
  expect(direct.deliveries(uuid)).toHaveLength(1);
});

interface Notification {
  block_identifier: { hash: string };
  transactions: object[];
}

test('a hook gets each joining and leaving block once while the index repeatedly starts at new heights', async () => {
  const seen = new Seen({ again: 2, rollbacks: 8, held: 12 });
  await assertProperty(
    fc.asyncProperty(forks(), fc.nat(), async (generated, choice) => {
      await using direct = directHooks();
      const uuid = await direct.register(definition(NOWHERE, everything, started));
      const { stream, give } = fromAnywhere(eventsOf(generated), choice);
      let start = 0;
      for (const event of stream) {
        give(direct.ingest, event);
        direct.ingest.publish();
        const next = direct.ingest.history.bottom();
        if (start > 0 && next !== start) seen.add('again');
        start = next;
      }
      const chain: string[] = [];
      const matched = new Set<string>();
      for (const { id } of direct.deliveries(uuid)) {
        const { event } = JSON.parse(direct.hooks.store.deliveries.body(id) ?? 'null');
        for (const { block_identifier } of event.rollback as Notification[]) {
          expect(chain.pop()).toBe(block_identifier.hash);
          seen.add('rollbacks');
        }
        for (const { block_identifier } of event.apply as Notification[]) {
          expect(chain).not.toContain(block_identifier.hash);
          chain.push(block_identifier.hash);
          matched.add(block_identifier.hash);
        }
      }
      // Blocks without a match are omitted.
      expect(chain).toEqual(canonicalHashes(direct.ingest).filter((hash) => matched.has(hash)));
      seen.add('held', chain.length);
    }),
    // With this seed, one round of cases meets every situation.
    { seen, cases: 8, shrink: false, seed: firstSeed + 4 },
  );
});
