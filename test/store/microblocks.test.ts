import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { fromHex } from '../../src/codec/hex.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { openApi } from '../support/api/api.ts';
import { type OpenIngest, openNew } from '../support/data/ingest.ts';
import { everything, tables } from '../support/data/tables.ts';
import {
  alice,
  announcement,
  block,
  bob,
  carol,
  hashOf,
  inMicroblock,
  type Microblock,
  microblockHash,
  receipt,
  stream,
  transfer,
} from '../support/events/handmade.ts';
import { checkAndRecount } from '../support/recounts/recounts.ts';

const [one, two, three] = [transfer(alice, 0, 200), transfer(bob, 0, 200), transfer(carol, 0, 200)] as const;
const first: Microblock = { label: 'first', after: null, sequence: 0, transactions: [one] };
const second: Microblock = { label: 'second', after: 'first', sequence: 1, transactions: [two] };
const third: Microblock = { label: 'third', after: 'second', sequence: 2, transactions: [three] };
const before = { signer_bitvec: null };
const anchor = block(null, 'anchor', [], before);

/** Ids of what waits, in the order of `[one, two, three]`. */
const waiting = ({ directory }: OpenIngest): boolean[] => {
  expect(checkAndRecount(directory).filter(({ problems }) => problems.length > 0)).toEqual([]);
  using db = new Database(indexPath(directory), { readonly: true });
  const rows = db.query<{ id: string }, []>(
    "SELECT '0x' || lower(hex(tx_id)) AS id FROM mempool_transactions WHERE state = 0",
  );
  const ids = rows.all().map(({ id }) => id);
  return [one, two, three].map(({ id }) => ids.includes(id));
};

const tipOf = async ({ directory }: OpenIngest) => {
  const snapshots = openSnapshots(directory);
  const tip = await snapshots.read((reader) => reader.chain.tip());
  snapshots.close();
  return tip?.microblock === undefined || tip.microblock === null
    ? null
    : { hash: `0x${tip.microblock.hash.toHex()}`, sequence: tip.microblock.sequence };
};

const openWithAnchor = (): OpenIngest => {
  const open = openNew();
  open.ingest.receive(anchor.event);
  open.ingest.receive(announcement([one, two, three]));
  return open;
};
test('a stream on the tip is its unanchored chain, and its transactions wait no more', async () => {
  using open = openWithAnchor();
  expect(open.ingest.receive(stream(anchor, [first]))).toBe('applied');
  expect(waiting(open)).toEqual([false, true, true]);
  expect(await tipOf(open)).toEqual({ hash: microblockHash('first'), sequence: 0 });
  expect(open.ingest.receive(stream(anchor, [second, third]))).toBe('applied');
  expect(waiting(open)).toEqual([false, false, false]);
  expect(await tipOf(open)).toEqual({ hash: microblockHash('third'), sequence: 2 });
});

test('a stream with a gap down to sequence 0 is answered and ignored', () => {
  using open = openWithAnchor();
  const state = everything(open.directory);
  expect(open.ingest.receive(stream(anchor, [second]))).toBe('repeated');
  expect(open.ingest.receive(stream(anchor, [first, third]))).toBe('repeated');
  expect(everything(open.directory)).toEqual(state);
});

test('a stream that is not on the tip is answered and ignored', () => {
  using open = openWithAnchor();
  open.ingest.receive(block(anchor, 'next', [], before).event);
  const state = everything(open.directory);
  expect(open.ingest.receive(stream(anchor, [first]))).toBe('repeated');
  expect(everything(open.directory)).toEqual(state);
});

test('a stream that is sent again changes nothing, and one that goes on adds what is new', () => {
  using open = openWithAnchor();
  open.ingest.receive(stream(anchor, [first, second]));
  const state = everything(open.directory);
  expect(open.ingest.receive(stream(anchor, [first, second]))).toBe('repeated');
  expect(open.ingest.receive(stream(anchor, [first]))).toBe('repeated');
  expect(everything(open.directory)).toEqual(state);
  expect(open.ingest.receive(stream(anchor, [first, second, third]))).toBe('applied');
  expect(waiting(open)).toEqual([false, false, false]);
});

test('a rival stream takes over, and transactions of the other alone are pending again', async () => {
  using open = openWithAnchor();
  open.ingest.receive(stream(anchor, [first, second]));
  const rival: Microblock = { label: 'rival', after: 'first', sequence: 1, transactions: [three] };
  open.ingest.receive(stream(anchor, [rival]));
  expect(waiting(open)).toEqual([false, true, false]);
  expect(await tipOf(open)).toEqual({ hash: microblockHash('rival'), sequence: 1 });
});

test('the next block confirms what it holds, and the rest of the stream waits again', async () => {
  using open = openWithAnchor();
  open.ingest.receive(stream(anchor, [first, second, third]));
  const confirmed = [receipt(one, 0, inMicroblock(first)), receipt(two, 1, inMicroblock(second))];
  const next = block(anchor, 'next', confirmed, { ...before, parent_microblock: microblockHash('second') });
  open.ingest.receive(next.event);
  expect(waiting(open)).toEqual([false, false, true]);
  expect(await tipOf(open)).toBeNull();
  expect(tables(open.directory).transactions).toHaveLength(2);
});

test('a stream given up by a fork counts again when its block is the tip again', () => {
  using open = openWithAnchor();
  const low = block(anchor, 'low', [], before);
  open.ingest.receive(low.event);
  open.ingest.receive(stream(low, [first]));
  const rival = block(anchor, 'rival', [], before);
  open.ingest.receive(rival.event);
  expect(waiting(open)).toEqual([false, true, true]);
  const winner = block(rival, 'winner', [], before);
  open.ingest.receive(winner.event);
  expect(waiting(open)).toEqual([true, true, true]);
});

test('microblocks that the first block of an index confirmed are listed as they are counted', async () => {
  using open = openNew();
  const known = { ...before, parent_burn_block_timestamp: 1_699_999_000 };
  open.ingest.receive(block(null, 'confirms', [receipt(one, 0, inMicroblock(first))], known).event);
  const snapshots = openSnapshots(open.directory);
  const [page, found] = await snapshots.read(async (reader) => [
    await reader.microblocks.page(5, 0),
    await reader.microblocks.find(fromHex(microblockHash('first'))),
  ]);
  snapshots.close();
  expect(page).toMatchObject({ total: 1, items: [{ height: 1, sequence: 0 }] });
  expect(found).toEqual(page.items[0]!);
  const parentHash = fromHex(hashOf('parent of confirms'));
  const burnBlock = { hash: new Uint8Array(0), height: 0, time: 1_699_999_000 };
  expect(found?.parentBlock).toEqual({ hash: parentHash, burnBlock });
  using api = openApi(open.directory);
  const listed = (await (await api.get('/extended/v1/microblock')).json()) as { results: unknown[] };
  expect(listed.results).toMatchObject([{ parent_burn_block_hash: '0x', parent_burn_block_time: 1_699_999_000 }]);
});
