/** Prints of the send-many contract are memos of the transfers before them. */
import { expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { silentMachine } from '../../src/hooks/machine.ts';
import { openApi } from '../support/api/api.ts';
import { ingestOf, openAt } from '../support/data/ingest.ts';
import { rebuildIndex } from '../support/data/rebuild.ts';
import { everything } from '../support/data/tables.ts';
import {
  alice,
  block,
  bob,
  carol,
  deployment,
  type MadeBlock,
  nodeEvent,
  printEvent,
  receipt,
} from '../support/events/handmade.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

const SEND_MANY = 'ST3F1X4QGV2SM8XD96X45M6RTQXKA1PZJZZCQAB4B.send-many-memo';
const OTHER = `${alice.address}.send-many-memo`;

/** Returns a block in which bob gets two transfers, each followed by a print of one of the contracts. */
function mineSendMany(parent: MadeBlock | null, label: string, nonce: number): MadeBlock {
  const paid = deployment(alice, nonce, 300, `pay-${label}`);
  const transfer = (index: number, amount: string) =>
    nodeEvent(paid.id, index, 'stx_transfer_event', { sender: carol.address, recipient: bob.address, amount });
  const print = (index: number, contract: string, byte: number) =>
    printEvent(paid.id, index, contract, clarity.buffer(Uint8Array.of(byte)));
  const events = [transfer(0, '1'), print(1, OTHER, 0xaa), transfer(2, '2'), print(3, SEND_MANY, 0xbb)];
  return block(parent, label, [receipt(paid, 0)], { events });
}

const block1 = mineSendMany(null, 'one', 0);
const block2 = mineSendMany(block1, 'two', 1);
const fork = block(block1, 'fork');
const longer = mineSendMany(fork, 'longer', 1);
const events = [block1, block2, fork, longer, mineSendMany(longer, 'longest', 2)].map(({ event }) => event);

/** Total and memos by amount, as both lists have them. */
async function answers(directory: string) {
  using api = openApi(directory);
  const listed = await api.get(`/extended/v1/address/${bob.address}/stx_inbound`);
  const old = (await listed.json()) as { total: number; results: { amount: string; memo: string }[] };
  const paged = await api.get(`/extended/v3/principals/${bob.address}/transfers/stx/inbound`);
  const present = (await paged.json()) as { results: { amount: string; memo: { hex: string } | null }[] };
  const v1 = old.results.map(({ amount, memo }) => `${amount} ${memo}`);
  const v3 = present.results.map(({ amount, memo }) => `${amount} ${memo?.hex ?? 'none'}`);
  return { total: old.total, bulk: [...new Set(v1)], memos: [...new Set(v3)] };
}

test('prints of the send-many contract are memos, through forks, restarts and rebuilds', async () => {
  using directory = ingestOf(events.slice(0, 3));
  {
    using open = openAt(directory.path);
    for (const event of events.slice(3)) open.ingest.receive(event);
  }
  expect(await answers(directory.path)).toEqual({ total: 3, bulk: ['2 0x0200000001bb'], memos: ['2 0xbb', '1 none'] });
  expect(problemsIn(directory.path, { deep: silentMachine })).toEqual([]);
  const before = everything(directory.path);
  rebuildIndex({ directory: directory.path });
  expect(everything(directory.path)).toEqual(before);
});
