import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Block } from '../../src/chain/block.ts';
import { networkOf } from '../../src/chain/network.ts';
import { blockOf, signerBits, withGenesis } from '../../src/chain/normalise.ts';
import { PayloadError, readPayload } from '../../src/chain/payload-reader.ts';
import { fromHex, toHex } from '../../src/codec/hex.ts';
import { SimulatedChain } from '../../src/devnet/chain.ts';
import {
  alice,
  block,
  bob,
  carol,
  hashOf,
  inMicroblock,
  receipt,
  START,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';
import { assertProperty, Seen } from '../support/property.ts';

const testnet = networkOf(0x8000_0000);

function parsed(text: string, lazyFrom?: number): Block {
  const payload = readPayload('/new_block', text, lazyFrom);
  if (payload.kind !== 'block') throw new Error('a block is a block');
  return blockOf(payload.block, testnet);
}
const blockWith = (transactions: readonly (Transaction | object)[], fields: object = {}): Block =>
  parsed(block(null, 'one', transactions, fields).event.text);

const [first, second] = [transfer(alice, 0, 300), transfer(bob, 0, 200)];

const print = ({ id }: Transaction, index: number, text: string, committed = true) => ({
  txid: id,
  event_index: index,
  committed,
  type: 'contract_event',
  contract_event: { contract_identifier: `${alice.address}.c`, topic: 'print', raw_value: toHex(Buffer.from(text)) },
});

const printsOf = ({ transactions }: Block, index: number): string[] =>
  Array.from(transactions[index]?.events ?? [], (event) =>
    event.kind === 'contract_log' ? Buffer.from(event.value).toString() : event.kind,
  );

test("a transaction's events are ordered by index", () => {
  const events = [print(first, 4, 'c'), print(second, 1, 'x'), print(first, 0, 'a'), print(first, 2, 'b')];
  const block = blockWith([first, second], { events });
  expect(printsOf(block, 0)).toEqual(['a', 'b', 'c']);
  expect(printsOf(block, 1)).toEqual(['x']);
});

test('uncommitted events, and events of a failed transaction, are dropped', () => {
  const events = [print(first, 0, 'a'), print(first, 1, 'b', false), print(second, 2, 'c')];
  for (const status of ['abort_by_response', 'abort_by_post_condition', 'problematic_skipped']) {
    const block = blockWith([receipt(first, 0), receipt(second, 1, { status })], { events });
    expect(printsOf(block, 0)).toEqual(['a']);
    expect(printsOf(block, 1)).toEqual([]);
    expect(block.transactions[1]?.status as string).toBe(status);
  }
});

test('an uncommitted event of an unknown transaction is dropped, and a committed one is rejected', () => {
  const unknown = { id: hashOf('unknown'), raw: '' };
  expect(printsOf(blockWith([first], { events: [print(unknown, 0, 'a', false)] }), 0)).toEqual([]);
  expect(() => blockWith([first], { events: [print(unknown, 0, 'a')] })).toThrow(PayloadError);
});

test('an event names its transaction with or without 0x, in either case', () => {
  const event = { ...print(first, 0, 'a'), txid: first.id.slice(2).toUpperCase() };
  expect(printsOf(blockWith([first], { events: [event] }), 0)).toEqual(['a']);
});

test('a payload of Stacks 2.0 is accepted: old ABI name, no costs, no block time, no microblock fields', () => {
  const { execution_cost, microblock_hash, microblock_parent_hash, microblock_sequence, contract_interface, ...old } =
    receipt(first, 0);
  const missing = { anchored_cost: undefined, signer_bitvec: undefined, tenure_height: undefined };
  const fields = { block_time: undefined, burn_block_time: START, ...missing };
  const block = blockWith([{ ...old, contract_abi: { functions: [] } }], fields);
  expect(block).toMatchObject({ blockTime: START, signerBits: null, signerSignatures: null, tenureHeight: null });
  expect(block.poxUnlockHeights).toEqual([null, null, null, null]);
  expect(block.transactions[0]).toMatchObject({ contractInterface: '{"functions":[]}', microblock: null });
  const none = { runtime: 0, readCount: 0, readLength: 0, writeCount: 0, writeLength: 0 };
  expect(block.cost).toEqual(none);
  expect(block.transactions[0]?.cost).toEqual(none);
});

test('the new name of the ABI takes precedence over the old one', () => {
  const block = blockWith([receipt(first, 0, { contract_interface: { a: 1 }, contract_abi: { b: 2 } })]);
  expect(block.transactions[0]?.contractInterface).toBe('{"a":1}');
});

test('the cost of a block without one is the exact sum of its transactions', () => {
  const cost = { runtime: 2n ** 53n, read_count: 1, read_length: 2, write_count: 3, write_length: 4 };
  const block = blockWith([receipt(first, 0, { execution_cost: cost }), receipt(second, 1, { execution_cost: cost })]);
  expect(block.cost).toEqual({ runtime: 2n ** 54n, readCount: 2, readLength: 4, writeCount: 6, writeLength: 8 });
});

test.each([
  [20, 10, 20, 10],
  [null, 10, 10, 10],
  [0, 10, 10, 10],
  [0, 0, 0, 0],
  [0, null, 0, 0],
  [null, 0, 0, 0],
])('a block at %p on a Bitcoin block at %p has the times %p and %p', (own, burn, blockTime, burnBlockTime) => {
  expect(blockWith([], { block_time: own, burn_block_time: burn })).toMatchObject({ blockTime, burnBlockTime });
});

test('a NUL in a VM error is removed', () => {
  const block = blockWith([receipt(first, 0, { status: 'abort_by_response', vm_error: 'a\u0000b' })]);
  expect(block.transactions[0]?.vmError).toBe('ab');
});

test('signatures are accepted with and without 0x', () => {
  const signature = 'ab'.repeat(65);
  const block = blockWith([], { signer_signature: [signature, `0x${signature}`] });
  expect(block.signerSignatures?.map((bytes) => bytes.toHex())).toEqual([signature, signature]);
});

test('the miner of a reward without one is its recipient', () => {
  const reward = {
    recipient: alice.address,
    coinbase_amount: '1',
    tx_fees_anchored: '340282366920938463463374607431768211455',
    tx_fees_streamed_confirmed: '3',
    tx_fees_streamed_produced: '4',
    from_stacks_block_hash: hashOf('a'),
    from_index_consensus_hash: hashOf('b'),
  };
  const rewards = blockWith([], { matured_miner_rewards: [reward, { ...reward, miner_address: bob.address }] });
  expect(rewards.minerRewards.map(({ miner }) => miner)).toEqual([alice.address, bob.address]);
  expect(rewards.minerRewards[0]?.feesAnchored).toBe(2n ** 128n - 1n);
});

test('a Bitcoin operation without effect is counted but not stored', () => {
  const failed = receipt({ id: hashOf('bitcoin'), raw: '0x00' }, 0, { status: 'abort_by_response' });
  const block = blockWith([failed, receipt(first, 1)]);
  expect(block.announcedTransactions).toBe(2);
  expect(block.transactions.map(({ txIndex }) => txIndex)).toEqual([1]);
});

test("transactions of confirmed microblocks come first, by sequence, and then the anchor block's", () => {
  const low = inMicroblock({ label: 'low', after: null, sequence: 0, transactions: [] });
  const high = inMicroblock({ label: 'high', after: 'low', sequence: 1, transactions: [] });
  const third = transfer(carol, 0, 100);
  const block = blockWith([receipt(first, 0), receipt(second, 1, high), receipt(third, 2, low)]);
  expect(block.transactions.map(({ txId }) => toHex(txId))).toEqual([third.id, second.id, first.id]);
});

test('block 1 ends with the transactions of block 0, which keep their time and parent and continue the indexes', () => {
  const boot = blockWith([first, second], {
    block_time: 5,
    burn_block_time: 5,
    parent_index_block_hash: `0x${'ff'.repeat(32)}`,
  });
  const third = transfer(carol, 0, 100);
  const fourth = transfer(carol, 1, 100);
  const block1 = blockWith([third, fourth]);
  const merged = withGenesis(block1, boot);
  expect(merged.transactions.map(({ txId, txIndex }) => [toHex(txId), txIndex])).toEqual([
    [third.id, 0],
    [fourth.id, 1],
    [first.id, 2],
    [second.id, 3],
  ]);
  expect(merged.announcedTransactions).toBe(4);
  expect(merged.transactions[2]?.genesis).toEqual({
    blockTime: 5,
    parentIndexBlockHash: new Uint8Array(32).fill(255),
    parentBurnBlockTime: boot.parentBurnBlockTime,
  });
  expect(merged.transactions[0]?.genesis).toBeNull();
  expect(merged.indexBlockHash).toEqual(block1.indexBlockHash);
});

test('a block parsed event by event equals the block parsed at once', () => {
  const chain = new SimulatedChain({ seed: 7, mempool: false });
  const payloads = [chain.genesis(), ...Array.from({ length: 4 }, () => chain.mine(null).events).flat()];
  const texts = payloads.filter(({ path }) => path === '/new_block').map(({ body }) => body);
  const read = (text: string, lazyFrom: number): Block => {
    const block = parsed(text, lazyFrom);
    return { ...block, transactions: block.transactions.map((tx) => ({ ...tx, events: [...tx.events] })) };
  };
  for (const text of texts) expect(read(text, 0)).toEqual(read(text, Number.POSITIVE_INFINITY));
  const events = texts.flatMap((text) => read(text, 0).transactions.flatMap((tx) => [...tx.events]));
  expect(events.length).toBeGreaterThan(5);
});

/** Texts to damage JSON with. A reader that goes by single characters could mistake them for other JSON. */
const PIECES = [
  ...',]}"[{:\\\u0000\ufeff\u00a0\n1',
  ...['', '12345678901234567890', 'null'],
  ...['"events":[],', '"events":[{}],', '"\\u0065vents":[],', '"__proto__":{"events":[]},', '"events":null,'],
  ...['"a":{"events":[1]},', '"a":[[{"events":[{"b":"]"}]}]],', '"x":"\\"events\\":[",', '"x":"\\\\",'],
];

test('an invalid or changed block gives the same result when parsed event by event and at once', () => {
  const texts = [new SimulatedChain({ seed: 7, mempool: false }).mine(null)]
    .flatMap(({ events }) => events)
    .filter(({ path }) => path === '/new_block')
    .map(({ body }) => body);
  const read = (text: string, lazyFrom: number) => {
    try {
      const payload = readPayload('/new_block', text, lazyFrom);
      return payload.kind === 'block' ? { ...payload.block, events: [...payload.block.events] } : 'no block';
    } catch (error) {
      if (error instanceof PayloadError) return 'refused';
      throw error;
    }
  };
  const damage = fc.record({
    near: fc.constantFrom('{', '"events"', '"index_block_hash"', '[', '}', ''),
    by: fc.oneof(fc.constant(0), fc.nat(20)),
    cut: fc.constantFrom(0, 0, 1, 2),
    piece: fc.constantFrom(...PIECES),
  });
  const seen = new Seen({ read: 5, refused: 50 });
  assertProperty(
    fc.property(fc.constantFrom(...texts), fc.array(damage, { minLength: 1, maxLength: 2 }), (whole, damages) => {
      let text = whole;
      for (const { near, by, cut, piece } of damages) {
        const offset =
          near === ''
            ? text.length - Math.min(by, 3)
            : text.indexOf(near, text.indexOf('"events"') - (by % 2) * text.length) + (by >> 1);
        text = text.slice(0, offset) + piece + text.slice(offset + cut);
      }
      const expected = read(text, Number.POSITIVE_INFINITY);
      seen.add(expected === 'refused' ? 'refused' : 'read');
      expect(read(text, 0)).toEqual(expected);
    }),
    { seen, cases: 300 },
  );
});

test('an event of a long payload without a field is rejected with its index', () => {
  const [text = ''] = [new SimulatedChain({ seed: 7, mempool: false }).genesis().body];
  const payload = JSON.parse(text);
  const index = payload.events.length - 1;
  const readChanged = (change: object) => {
    const events = payload.events.with(index, { ...payload.events[index], ...change });
    return () => readPayload('/new_block', JSON.stringify({ ...payload, events }), 0);
  };
  expect(readChanged({ txid: 'x' })).toThrow(`Field events.${index}.txid`);
  expect(readChanged({ [payload.events[index].type]: null })).toThrow(`events.${index}.${payload.events[index].type}`);
});

test.each([
  ['000800000001ff', '11111111'],
  ['00080000000180', '10000000'],
  ['000a00000002a540', '1010010101'],
  ['000000000000', ''],
])('the bits of 0x%s are "%s", with the highest bit of each byte first', (hex, bits) => {
  expect(signerBits(fromHex(hex))).toBe(bits);
});

test.each([
  ['no bytes', ''],
  ['a cut count', '000800'],
  ['fewer bytes than announced', '00080000000'.padEnd(12, '2')],
  ['a byte count of 2^32 - 1', '0008ffffffffff'],
  ['more bits than the bytes hold', '000900000001ff'],
  ['more bytes than the bits need', '000800000002ffff'],
  ['bytes after the vector', '000800000001ff00'],
])('a signer bit vector with %s is rejected', (_, hex) => {
  expect(signerBits(fromHex(hex))).toBeNull();
});
