import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChainEvent } from '../../src/chain/block.ts';
import { memoTransfers } from '../../src/chain/memo-transfers.ts';
import { blocks } from '../support/events/arbitrary-block.ts';
import { alice, bob, carol } from '../support/events/handmade.ts';

const TESTNET = 'ST3F1X4QGV2SM8XD96X45M6RTQXKA1PZJZZCQAB4B.send-many-memo';

const transfer = (recipient: string, memo: Uint8Array | null): ChainEvent => ({
  kind: 'stx',
  action: 'transfer',
  sender: alice.address,
  recipient,
  amount: '5',
  memo,
});
const print = (contractId: string): ChainEvent => ({
  kind: 'contract_log',
  contractId,
  topic: 'print',
  value: Uint8Array.of(3),
});

const sample = fc.sample(blocks(), { numRuns: 50, seed: 1 }).flat();
const transactions = sample.flatMap((block) => block.transactions);
const call = transactions.find(({ payload }) => payload.type === 'contract_call')!;
const native = transactions.find(({ payload }) => payload.type === 'token_transfer')!;

test('a contract call lists its transfers that have a memo or are followed by a printed memo', () => {
  const events = [
    transfer(bob.address, null),
    print(TESTNET),
    transfer(carol.address, Uint8Array.of(1)),
    print(`${alice.address}.other`),
    transfer(bob.address, null),
    transfer(bob.address, new Uint8Array(0)),
    transfer(carol.address, Uint8Array.of(1)),
    print(TESTNET),
  ];
  expect(memoTransfers({ ...call, events })).toEqual([
    { recipient: bob.address, eventIndex: 0, printed: true },
    { recipient: carol.address, eventIndex: 2, printed: false },
    { recipient: carol.address, eventIndex: 6, printed: true },
  ]);
});

test('a token transfer lists none', () => {
  if (native.payload.type !== 'token_transfer') throw new Error('no transfer was generated');
  const { recipient } = native.payload;
  expect(memoTransfers({ ...native, events: [transfer(recipient, new Uint8Array(34)), print(TESTNET)] })).toEqual([]);
});
