/** Blocks that are filled from the node's RPC interface, and that the node's own events complete, whichever come first. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ReceivedEvent } from '../../src/store/ingest/event.ts';
import { openApi } from '../support/api/api.ts';
import { ingestOf, openNew } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { type Tables, tables } from '../support/data/tables.ts';
import { alice, block, bob, hashOf, type MadeBlock, receipt, transfer } from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';

const ZEROS = `0x${'00'.repeat(32)}`;

const withFields = (event: ReceivedEvent, fields: object): ReceivedEvent => ({
  ...event,
  text: JSON.stringify({ ...JSON.parse(event.text), ...fields }),
});

/** The event that fills a block: it lacks the miner's transaction on Bitcoin. */
const fill = ({ event }: MadeBlock, fields: object = {}): ReceivedEvent =>
  withFields(event, { filled_from: 'rpc', miner_txid: ZEROS, ...fields });

const LOWEST = 100;
/** Hash of a Bitcoin block; two branches may have the same blocks up to a height. */
const burnHash = (height: number, branch: string): string => hashOf(`bitcoin ${branch} ${height}`);

/** The node's own event of a Bitcoin block, with payouts. */
function burnBlock(height: number, branch = 'main', parent = burnHash(height - 1, branch)): ReceivedEvent {
  const stacker = { recipient: `stacker-${height % 3}`, amt: 10 * height };
  const paid = [stacker, { recipient: 'pool', amt: 7 }];
  const paidTo = paid.map((pay, utxo_idx) => ({ ...pay, utxo_idx }));
  const body = {
    burn_block_hash: burnHash(height, branch),
    burn_block_height: height,
    parent_burn_block_hash: parent,
    burn_amount: 1_000,
    reward_recipients: paid,
    reward_slot_holders: paid.map(({ recipient }) => recipient),
    pox_transactions: [{ txid: hashOf(`commit ${height}`), reward_recipients: paidTo }],
  };
  return { path: '/new_burn_block', text: JSON.stringify(body), receivedAt: height };
}

const filledBurnBlock = (event: ReceivedEvent): ReceivedEvent => {
  const { burn_block_hash, burn_block_height, parent_burn_block_hash } = JSON.parse(event.text);
  const hashes = { burn_block_hash, burn_block_height, parent_burn_block_hash };
  const body = { filled_from: 'rpc', burn_amount: 0, ...hashes, reward_recipients: [] };
  return { ...event, text: JSON.stringify(body) };
};

const afterAll = (events: readonly ReceivedEvent[]): Tables => {
  using directory = ingestOf(events);
  return tables(directory.path);
};

/** Bitcoin blocks before, in and after a gap. A fill sends any of them while the node posts the blocks after the gap. */
const gaps = fc
  .record({
    before: fc.nat(3),
    lost: fc.nat(4),
    after: fc.nat(4),
    /** Blocks of another branch, which the node posted before the gap. */
    stale: fc.nat(6),
    picks: fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
  })
  .map(({ before, lost, after, stale, picks }) => {
    const heights = (index: number, count: number) => Array.from({ length: count }, (_, nth) => LOWEST + index + nth);
    const posted = heights(0, before + 1).map((height) => burnBlock(height));
    const inGap = heights(before + 1, lost).map((height) => burnBlock(height));
    const next = heights(before + 1 + lost, after).map((height) => burnBlock(height));
    const first = LOWEST + before + 1;
    const staleBlocks = heights(before + 1, stale).map((height) =>
      burnBlock(height, 'stale', height === first ? burnHash(height - 1, 'main') : undefined),
    );
    // Every lost block is filled once, and some others too.
    const fills = [...inGap, ...next.slice(0, picks[0]! % (after + 1))].map(filledBurnBlock);
    const mixed: ReceivedEvent[] = [];
    const [fillsLeft, nextLeft] = [[...fills], [...next]];
    for (let nth = 1; fillsLeft.length + nextLeft.length > 0; nth++) {
      const pick = picks[nth % picks.length]! % (fillsLeft.length + 1);
      const picked = pick < fillsLeft.length ? fillsLeft.splice(pick, 1) : nextLeft.splice(0, 1);
      mixed.push(...(picked.length > 0 ? picked : fillsLeft.splice(0, 1)));
    }
    return {
      events: [...posted, ...staleBlocks, ...mixed],
      whole: [...posted, ...inGap.map(filledBurnBlock), ...next],
      highest: LOWEST + before + lost + after,
      stale: first - 1 + stale,
    };
  });

test('filled Bitcoin blocks and the events of the node itself end in the same tables in any order', () => {
  const seen = new Seen({ 'stale blocks': 2, 'filled blocks': 10 });
  assertProperty(
    fc.property(gaps, ({ events, whole, highest, stale }) => {
      // The node posts a block above a stale branch, or the fill replaces all of it.
      if (stale > highest) return;
      const count = (name: string) => events.filter(({ text }) => text.includes(name)).length;
      if (count(burnHash(stale, 'stale')) > 0) seen.add('stale blocks');
      seen.add('filled blocks', count('filled_from'));
      expect(afterAll(events)).toEqual(afterAll(whole));
    }),
    { seen, cases: 20 },
  );
});

const block1 = block(null, 'one');
const block2 = block(block1, 'two', [transfer(alice, 0, 300)]);
const block3 = block(block2, 'three', [transfer(bob, 0, 300)]);
/** A rival of block 2 with two blocks on it, which wins, and then loses to block 5 of the first branch. */
const rival = block(block1, 'rival');
const rivals = [rival, block(rival, 'rival three'), block(block(rival, 'rival three'), 'rival four')];
const block4 = block(block3, 'four');
const back = [block4, block(block4, 'five')];
const eventsOf = (blocks: readonly MadeBlock[]) => blocks.map(({ event }) => event);

test("a filled block gets its miner's transaction from the node's own event, without a change of the chain", () => {
  using open = openNew();
  for (const event of [block1.event, fill(block2), fill(block3)]) open.ingest.receive(event);
  expect(open.ingest.receive(block2.event)).toBe('applied');
  expect(open.ingest.receive(block2.event)).toBe('repeated');
  expect(open.ingest.receive(fill(block2))).toBe('repeated');
  expect(open.logged.filter(({ event }) => event === 'block_reverted')).toEqual([]);
  expect(tables(open.directory)).toEqual(afterAll([block1.event, block2.event, fill(block3)]));
  // The blocks are read again from their payloads.
  for (const event of eventsOf([...rivals, block3, ...back])) open.ingest.receive(event);
  open.ingest.close();
  const expected = afterAll(eventsOf([block1, block2, block3, ...rivals, ...back]));
  expect(tables(open.directory)).toEqual(expected);
  rebuildIndex({ directory: open.directory });
  expect(tables(open.directory)).toEqual(expected);
});

test('a filled block that lacks an operation on Bitcoin is replaced by the event of the node', () => {
  const id = hashOf('an operation on Bitcoin');
  const operation = receipt({ id, raw: '0x00' }, 0, { burnchain_op: { transfer_stx: {} } });
  const moved = { sender: alice.address, recipient: bob.address, amount: '7', memo: '' };
  const posted = withFields(block2.event, {
    transactions: [operation, receipt(transfer(alice, 0, 300), 1)],
    events: [{ txid: id, event_index: 0, committed: true, type: 'stx_transfer_event', stx_transfer_event: moved }],
  });
  for (const above of [[], [block3], [block3, ...rivals]]) {
    const expected = afterAll([block1.event, posted, ...eventsOf(above)]);
    expect(afterAll([block1.event, fill(block2), ...eventsOf(above), posted])).toEqual(expected);
  }
});

test('answers show data that completed a filled block, although the tip is the same', async () => {
  using open = openNew();
  for (const event of [block1.event, fill(block2), block3.event, burnBlock(LOWEST)]) open.ingest.receive(event);
  open.ingest.receive(filledBurnBlock(burnBlock(LOWEST + 1)));
  using api = openApi(open.directory);
  const paths = ['v2/blocks/2', 'v2/blocks', `v1/tx/${JSON.parse(block2.event.text).transactions[0].txid}`];
  const burnPath = `v2/burn-blocks/${LOWEST + 1}/pox-transactions`;
  const tagsOf = async () => {
    const tags: (string | null)[] = [];
    for (const path of [...paths, burnPath]) {
      const response = await api.get(`/extended/${path}`);
      tags.push(response.headers.get('etag'));
      await response.text();
    }
    return tags;
  };
  const bodyOf = async (path: string) => (await api.get(`/extended/${path}`)).text();
  // Made, kept, and taken from what is kept.
  for (let times = 0; times < 3; times++) await tagsOf();
  const before = await tagsOf();
  expect(await bodyOf('v2/blocks/2')).toContain(ZEROS);
  open.ingest.receive(block2.event);
  open.ingest.receive(burnBlock(LOWEST + 1));
  const after = await tagsOf();
  expect(after.filter((tag) => before.includes(tag))).toEqual([]);
  const miner = JSON.parse(block2.event.text).miner_txid;
  expect(await bodyOf('v2/blocks/2')).toContain(miner);
  expect(await bodyOf('v2/blocks')).toContain(miner);
  expect(JSON.parse(await bodyOf(burnPath)).total).toBe(2);
});
