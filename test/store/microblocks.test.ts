import { expect, test } from 'bun:test';
import { fromHex } from '../../src/codec/hex.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { openApi } from '../support/api/api.ts';
import { openNew } from '../support/data/ingest.ts';
import { journalRows, tables, wholeIndex } from '../support/data/tables.ts';
import {
  alice,
  announcement,
  block,
  bob,
  hashOf,
  inMicroblock,
  type Microblock,
  microblockHash,
  receipt,
  stream,
  transfer,
} from '../support/events/handmade.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

const [transaction, other] = [transfer(alice, 0, 200), transfer(bob, 0, 200)] as const;
const first: Microblock = { label: 'first', after: null, sequence: 0, transactions: [transaction] };
const second: Microblock = { label: 'second', after: 'first', sequence: 1, transactions: [other] };
const epoch2 = { signer_bitvec: null };
const anchor = block(null, 'anchor', [], epoch2);

test('a stream of an unconfirmed microblock is accepted and journaled, and changes only the position of the index', async () => {
  using open = openNew();
  open.ingest.receive(anchor.event);
  open.ingest.receive(announcement([transaction]));
  const rows = () => {
    open.ingest.commit();
    const { progress: _, ...tables } = wholeIndex(open.directory);
    return tables;
  };
  const before = rows();
  expect(open.ingest.receive(stream(anchor, [first]))).toBe('applied');
  expect(rows()).toEqual(before);
  expect(journalRows(open.directory).at(-1)?.path).toBe('/new_microblocks');
  using api = openApi(open.directory);
  const answer = async (path: string) => (await api.get(path)).json();
  expect(await answer('/extended/v1/microblock/unanchored/txs')).toEqual({ total: 0, results: [] });
  expect(await answer('/extended/v1/microblock')).toMatchObject({ total: 0, results: [] });
  expect(await answer(`/extended/v1/tx/${transaction.id}?unanchored=true`)).toMatchObject({ tx_status: 'pending' });
});

test('a block confirms microblocks that were streamed before, and their transactions are mined', async () => {
  using open = openNew();
  open.ingest.receive(anchor.event);
  open.ingest.receive(announcement([transaction, other]));
  open.ingest.receive(stream(anchor, [first]));
  const confirmed = [receipt(transaction, 0, inMicroblock(first)), receipt(other, 1, inMicroblock(second))];
  const next = block(anchor, 'next', confirmed, { ...epoch2, parent_microblock: microblockHash('second') });
  open.ingest.receive(next.event);
  open.ingest.commit();
  const { transactions, microblocks } = tables(open.directory);
  expect([transactions?.length, microblocks?.length]).toEqual([2, 2]);
  using api = openApi(open.directory);
  expect(await (await api.get('/extended/v1/tx/mempool')).json()).toMatchObject({ total: 0 });
  expect(problemsIn(open.directory)).toEqual([]);
});

test('microblocks that the first block of an index confirmed are listed as they are counted', async () => {
  using open = openNew();
  const fields = { ...epoch2, parent_burn_block_timestamp: 1_699_999_000 };
  open.ingest.receive(block(null, 'confirms', [receipt(transaction, 0, inMicroblock(first))], fields).event);
  const snapshots = openSnapshots(open.directory);
  const [page, microblock] = await snapshots.readLong(async (reader) => [
    reader.microblocks.page(5, 0),
    reader.microblocks.find(fromHex(microblockHash('first'))),
  ]);
  snapshots.close();
  expect(page).toMatchObject({ total: 1, items: [{ height: 1, sequence: 0 }] });
  expect(microblock).toEqual(page.items[0]!);
  const parentHash = fromHex(hashOf('parent of confirms'));
  const burnBlock = { hash: new Uint8Array(0), height: 0, time: 1_699_999_000 };
  expect(microblock?.parentBlock).toEqual({ hash: parentHash, burnBlock });
  using api = openApi(open.directory);
  const listed = (await (await api.get('/extended/v1/microblock')).json()) as { results: unknown[] };
  expect(listed.results).toMatchObject([{ parent_burn_block_hash: '0x', parent_burn_block_time: 1_699_999_000 }]);
});
