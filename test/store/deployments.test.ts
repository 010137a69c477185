/** Contracts, fees and tenures of hand-made chains, in cases that a simulated node doesn't make. */
import { expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { models } from '../../src/store/queries/row-texts.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { type OpenIngest, openNew } from '../support/data/ingest.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import {
  alice,
  announcement,
  block,
  bob,
  deployment,
  drop,
  hashOf,
  inMicroblock,
  printEvent,
  receipt,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { problemsIn } from '../support/recounts/recounts.ts';

async function read<T>({ directory }: OpenIngest, ask: (reader: Reader) => T | Promise<T>): Promise<T> {
  expect(problemsIn(directory)).toEqual([]);
  using snapshots = snapshotsOf(directory);
  return await snapshots.readLong(async (reader) => ask(reader));
}

const POOL = `${alice.address}.pool`;
const START_OF_LIST = { cursor: null, item: null, offset: 0 };

test('a deployment waits, fails, succeeds, and waits again if its blocks are orphaned', async () => {
  using open = openNew();
  const status = async () => {
    const match = await read(open, (reader) => reader.contracts.deployment(POOL));
    return match && [match.status, toHex(match.txId), 'height' in match ? match.height : null];
  };
  const [first, second] = [deployment(alice, 3, 500), deployment(alice, 4, 600)];
  expect(await status()).toBeUndefined();
  const block1 = block(null, 'one');
  open.ingest.receive(block1.event);
  open.ingest.receive(announcement([second, first, deployment(alice, 0, 500, 'other')]));
  expect(await status()).toEqual(['pending', first.id, null]);

  const failed = block(block1, 'failed', [receipt(first, 0, { status: 'abort_by_response' })]);
  open.ingest.receive(failed.event);
  expect(await status()).toEqual(['abort_by_response', first.id, 2]);
  const succeeded = block(failed, 'succeeded', [second]);
  open.ingest.receive(succeeded.event);
  expect(await status()).toEqual(['success', second.id, 3]);

  let fork = block1;
  for (const label of ['other 2', 'other 3', 'other 4']) {
    fork = block(fork, label);
    open.ingest.receive(fork.event);
  }
  expect(await status()).toEqual(['pending', first.id, null]);
  open.ingest.receive(drop([first, second], 'TooExpensive'));
  expect(await status()).toBeUndefined();
});

test('the fees of pending transactions are counted by type', async () => {
  using open = openNew();
  open.ingest.receive(block(null, 'one').event);
  const transfers = [transfer(alice, 10, 1000), transfer(bob, 10, 200), transfer(bob, 11, 1000)];
  open.ingest.receive(announcement([...transfers, deployment(alice, 3, 5)]));
  expect(await read(open, (reader) => reader.mempool.fees())).toEqual([
    { type: 'token_transfer', fee: 200n, transactions: 1 },
    { type: 'token_transfer', fee: 1000n, transactions: 2 },
    { type: 'smart_contract', fee: 5n, transactions: 1 },
  ]);
});

test('logs of microblocks come before those of their block', async () => {
  using open = openNew();
  const [streamed, anchored] = [transfer(alice, 0, 200), transfer(bob, 0, 200)];
  const microblock = { label: 'first', after: null, sequence: 4, transactions: [streamed] };
  const log = ({ id }: Transaction, index: number) => printEvent(id, index, POOL, clarity.bool(true));
  const before = { signer_bitvec: null };
  const block1 = block(null, 'one', [], before);
  const block2 = block(block1, 'two', [receipt(anchored, 0), receipt(streamed, 0, inMicroblock(microblock))], {
    ...before,
    events: [log(anchored, 0), log(streamed, 1)],
  });
  open.ingest.receive(block1.event);
  open.ingest.receive(block2.event);
  const page = await read(open, (reader) => reader.contracts.logs(POOL, 1, START_OF_LIST, models));
  expect([page?.total, page?.items.map(({ txId }) => toHex(txId))]).toEqual([2, [anchored.id]]);
  const older = await read(open, (reader) =>
    reader.contracts.logs(POOL, 1, { ...START_OF_LIST, cursor: page!.next }, models),
  );
  expect(older?.items.map(({ txId }) => toHex(txId))).toEqual([streamed.id]);
  const place = { height: 2, microblockSequence: 4, txIndex: 0, eventIndex: 1 };
  const named = await read(open, (reader) => reader.contracts.logs(POOL, 1, { ...START_OF_LIST, item: place }, models));
  for (const part of [older, named]) {
    expect(part?.next).toBeNull();
    const newer = await read(open, (reader) =>
      reader.contracts.logs(POOL, 1, { ...START_OF_LIST, cursor: part!.previous }, models),
    );
    expect(newer?.items).toEqual(page!.items);
  }
});

test('a block without a tenure starts one before Nakamoto, and has none in Nakamoto', async () => {
  using open = openNew();
  const block1 = block(null, 'one', [], { signer_bitvec: null });
  const block2 = block(block1, 'two', [], { signer_bitvec: null });
  const block3 = block(block2, 'three');
  for (const { event } of [block1, block2, block3]) open.ingest.receive(event);
  const ofTenure = async (height: number) => {
    const page = await read(open, (reader) => reader.blocks.ofTenure(height, 5, START_OF_LIST, models));
    return page?.items.map((block) => block.height);
  };
  expect(await read(open, (reader) => reader.blocks.find('latest'))).toMatchObject({ height: 3, tenureHeight: -1 });
  expect(await read(open, (reader) => reader.blocks.find({ height: 2 }))).toMatchObject({ tenureHeight: 2 });
  expect([await ofTenure(1), await ofTenure(2), await ofTenure(3), await ofTenure(0)]).toEqual([[1], [2], [], []]);
});

test('Bitcoin blocks follow the chain to another branch and back', async () => {
  using open = openNew();
  const onBurn = (label: string) => ({ burn_block_hash: hashOf(label), burn_block_height: 200 });
  const block1 = block(null, 'one', [], onBurn('shared'));
  const block2 = block(block1, 'two', [], onBurn('shared'));
  const left = block(block2, 'left', [], { ...onBurn('left'), burn_block_height: 201 });
  const right = block(block1, 'right', [], { ...onBurn('right'), burn_block_height: 201 });
  const farRight = block(right, 'far right', [], { ...onBurn('right'), burn_block_height: 201 });
  const longer = block(farRight, 'longer', [], { ...onBurn('longer'), burn_block_height: 202 });
  const anchors = async () => {
    const { items } = await read(open, (reader) => reader.burnBlocks.page(9, 0));
    return items.map(({ hash, blocks }) => [toHex(hash), blocks.length]);
  };
  for (const { event } of [block1, block2, left]) open.ingest.receive(event);
  expect(await anchors()).toEqual([
    [hashOf('left'), 1],
    [hashOf('shared'), 2],
  ]);
  for (const { event } of [right, farRight, longer]) open.ingest.receive(event);
  expect(await anchors()).toEqual([
    [hashOf('longer'), 1],
    [hashOf('right'), 2],
    [hashOf('shared'), 1],
  ]);
});
