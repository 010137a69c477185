/** Chainhooks of an index that begins at a block: they are notified of every block it has, and of none below. */
import { expect, test } from 'bun:test';
import { received } from '../support/data/ingest.ts';
import { beginnings } from '../support/events/beginning.ts';
import { eventsOf } from '../support/events/forked-chain.ts';
import { until } from '../support/time/until.ts';
import { CONSUMER, directHooks } from './direct.ts';
import { definition, type Received, receiver } from './server.ts';

const grow = { mine: 'back' as const, tenure: 'same' as const, transactions: 4, blocks: 0 };
const onNewest = { mine: 'on_newest' as const, tenure: 'same' as const, transactions: 4 };
/** The fourth block has a rival, on which the fifth follows. */
const events = eventsOf({ seed: 3, steps: [grow, grow, grow, grow, { ...grow, blocks: 1 }, onNewest] });
const begun = beginnings(events).find(({ height }) => height === 3)!;
const everything = ['stx_event', 'contract_call', 'contract_deploy', 'tenure_change', 'coinbase'].map((type) => ({
  type,
}));
const applied = (target: { received: Received[] }): number[] =>
  target.received.flatMap(({ payload }) =>
    payload.event.apply.map(({ block_identifier }: { block_identifier: { index: number } }) => block_identifier.index),
  );

test('live, later, and asked for from block 1 on', async () => {
  await using direct = directHooks();
  using live = receiver();
  using later = receiver();
  using past = receiver();
  const uuids: string[] = [];
  for (const { url } of [live, later, past]) uuids.push(await direct.register(definition(url, everything)));
  const [atTip = '', resumed = '', backfilled = ''] = uuids;
  await direct.managed.setEnabled(CONSUMER, atTip, true);
  for (const event of begun.events) direct.ingest.receive(received(event));
  const heights = [3, 4, 4, 5];
  await until(() => applied(live).length >= 4);
  expect(applied(live)).toEqual(heights);

  await direct.managed.setEnabled(CONSUMER, resumed, true, 1);
  await until(() => applied(later).length >= 3);
  expect(applied(later)).toEqual([3, 4, 5]);

  await direct.trial.backfill(CONSUMER, backfilled, { from: 1, to: 5, dryRun: false });
  await until(() => applied(past).length >= 3);
  expect(applied(past)).toEqual([3, 4, 5]);
});
