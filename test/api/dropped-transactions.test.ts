/** The dropped transactions of an account, with reason and replacement. */
import { expect, test } from 'bun:test';
import { openNew } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { alice, announcement, block, bob, drop, START, sponsor, transfer } from '../support/events/handmade.ts';
import { testApp } from './test-app.ts';

interface Page {
  total: null;
  cursor: { next: string | null; previous: string | null };
  results: { tx_id: string; status: string; replaced_by_tx_id: string | null; sender: { nonce: number } }[];
}

const pathOf = (address: string): string => `/stackside/v1/principals/${address}/dropped-transactions`;

/** Reads the list of an account. */
async function list(directory: string, address: string, query = ''): Promise<Page> {
  using snapshots = snapshotsOf(directory);
  const { status, body } = await testApp(snapshots).json(pathOf(address) + query);
  expect(status).toBe(200);
  return body as Page;
}

const rowsOf = ({ results }: Page) =>
  results.map(({ tx_id, status, replaced_by_tx_id }) => [tx_id, status, replaced_by_tx_id]);

test('the list has dropped transactions of the origin with reason and replacement, newest receipt first', async () => {
  using open = openNew();
  const first = block(null, 'first');
  const stale = transfer(alice, 7, 300);
  const cheap = transfer(alice, 8, 300);
  const dear = transfer(alice, 8, 900);
  const kept = transfer(alice, 9, 300);
  const paid = transfer(bob, 7, 300, { account: sponsor, nonce: 7 });
  open.ingest.receive(first.event);
  for (const [index, transaction] of [stale, cheap, dear, kept, paid].entries()) {
    open.ingest.receive(announcement([transaction], START + index));
  }
  open.ingest.receive(drop([cheap], 'ReplaceByFee', dear));
  open.ingest.receive(drop([stale, paid], 'StaleGarbageCollect'));
  expect(rowsOf(await list(open.directory, alice.address))).toEqual([
    [cheap.id, 'dropped_replace_by_fee', dear.id],
    [stale.id, 'dropped_stale_garbage_collect', null],
  ]);
  expect(rowsOf(await list(open.directory, bob.address))).toEqual([[paid.id, 'dropped_stale_garbage_collect', null]]);
  // Neither a sponsor nor a recipient lists the transaction.
  expect((await list(open.directory, sponsor.address)).results).toEqual([]);

  const page = await list(open.directory, alice.address, '?limit=1');
  expect([page.total, page.results[0]?.tx_id, page.cursor.previous]).toEqual([null, cheap.id, null]);
  const next = await list(open.directory, alice.address, `?limit=1&cursor=${page.cursor.next}`);
  expect([next.results[0]?.tx_id, next.cursor.next]).toEqual([stale.id, null]);

  // A mined or pending transaction isn't dropped.
  open.ingest.receive(block(first, 'second', [stale]).event);
  open.ingest.receive(announcement([paid], START + 9));
  expect(rowsOf(await list(open.directory, alice.address))).toEqual([[cheap.id, 'dropped_replace_by_fee', dear.id]]);
  expect(rowsOf(await list(open.directory, bob.address))).toEqual([]);
});
