import { expect, test } from 'bun:test';
import { type BitcoinOperationInput, bitcoinOperationContent } from '../../src/chain/bitcoin-operation.ts';
import type { ChainEvent } from '../../src/chain/block.ts';
import { networkOf } from '../../src/chain/network.ts';
import { PayloadError, parseJson } from '../../src/chain/payload-reader.ts';
import type { BitcoinOperation } from '../../src/chain/payload-schemas.ts';
import { stacksAddress } from '../../src/codec/address.ts';
import { decodeClarity } from '../../src/codec/clarity.ts';
import { clarity, encodeArguments } from '../../src/codec/clarity-encode.ts';
import { fromHex } from '../../src/codec/hex.ts';
import { networks } from '../../src/devnet/network.ts';
import { bitcoinAddress } from '../../src/devnet/wallet.ts';
import { alice, bob } from '../support/events/handmade.ts';

const mainnet = networkOf(1);
const testnet = networkOf(0x8000_0000);
const TESTNET_BOOT = 'ST000000000000000000002AMW42H';
const BURN_HEIGHT = 667_815;
const MAX_U128 = 2n ** 128n - 1n;

const make = (input: Partial<BitcoinOperationInput>) =>
  bitcoinOperationContent({
    txId: new Uint8Array(32),
    result: clarity.ok(clarity.bool(true)),
    operation: null,
    events: [],
    network: testnet,
    burnBlockHeight: BURN_HEIGHT,
    ...input,
  });

/** Parses an operation like the payload reader. */
const operation = (text: string): BitcoinOperation => parseJson(text) as BitcoinOperation;

const locked = (unlockHeight: number, amount = 70_000_000_000n): Uint8Array =>
  clarity.ok(
    clarity.tuple({
      'lock-amount': clarity.uint(amount),
      'unlock-burn-height': clarity.uint(unlockHeight),
      stacker: clarity.principal(alice.address),
    }),
  );

const lock = (address: string, contractName: string): ChainEvent => ({
  kind: 'stx_lock',
  address,
  amount: '70000000000',
  unlockHeight: 1,
  contractName,
});

const print = (contractName: string, name: string, stacker: string, data: Record<string, Uint8Array>): ChainEvent => ({
  kind: 'contract_log',
  contractId: `${TESTNET_BOOT}.${contractName}`,
  topic: 'print',
  value: clarity.ok(
    clarity.tuple({ name: clarity.ascii(name), stacker: clarity.principal(stacker), data: clarity.tuple(data) }),
  ),
});

const poxAddress = (version: number, hashbytes: Uint8Array): Uint8Array =>
  clarity.tuple({ version: clarity.buffer(Uint8Array.of(version)), hashbytes: clarity.buffer(hashbytes) });

test('an operation without events failed and returns null', () => {
  expect(make({ operation: operation('{"transfer_stx":{}}') })).toBeNull();
  const failed = `{"stack_stx":{"sender":{"address":"${alice.address}"},"reward_addr":"x","stacked_ustx":1,"num_cycles":1,"signer_key":"02"}}`;
  expect(make({ operation: operation(failed), result: clarity.err(clarity.int(1)) })).toBeNull();
});

test("a transfer has its event's amount, with nonce and fee 0 and no memo", () => {
  const events: ChainEvent[] = [
    {
      kind: 'stx',
      action: 'transfer',
      sender: alice.address,
      recipient: bob.address,
      amount: '1000',
      memo: new Uint8Array(34),
    },
  ];
  expect(make({ events, operation: operation('{"transfer_stx":{}}') })).toMatchObject({
    raw: Uint8Array.of(0),
    sender: { address: alice.address, nonce: 0n },
    sponsor: null,
    fee: 0n,
    anchorMode: 3,
    postConditions: fromHex('0x0100000000'),
    payload: { type: 'token_transfer', recipient: bob.address, amount: 1000n, memo: new Uint8Array(0) },
    bitcoinOperation: true,
  });
});

test('a transfer event takes precedence over all other data of the operation', () => {
  const events: ChainEvent[] = [
    lock(alice.address, 'pox'),
    { kind: 'stx', action: 'transfer', sender: alice.address, recipient: bob.address, amount: '1', memo: null },
  ];
  expect(make({ events, result: locked(BURN_HEIGHT + 50) })?.payload.type).toBe('token_transfer');
});

test('stack-stx with a signer key is a pox-4 call with eight arguments and exact amounts', () => {
  const hash = new Uint8Array(20).fill(7);
  const key = `02${'ab'.repeat(32)}`;
  const op = operation(
    `{"stack_stx":{"sender":{"address":"${alice.address}"},"reward_addr":"${bitcoinAddress(hash, networks.testnet)}",` +
      `"stacked_ustx":${MAX_U128 - 1n},"num_cycles":12,"signer_key":"${key}","max_amount":${MAX_U128},"auth_id":7}}`,
  );
  const tx = make({ operation: op, events: [lock(alice.address, 'pox-4')], result: locked(BURN_HEIGHT + 600) });
  expect(tx?.sender.address).toBe(alice.address);
  expect(tx?.payload).toMatchObject({
    type: 'contract_call',
    contractId: `${TESTNET_BOOT}.pox-4`,
    functionName: 'stack-stx',
  });
  expect(tx?.payload).toMatchObject({
    functionArgs: encodeArguments([
      clarity.uint(MAX_U128 - 1n),
      poxAddress(0, hash),
      clarity.uint(BURN_HEIGHT),
      clarity.uint(12),
      clarity.none(),
      clarity.buffer(fromHex(key)),
      clarity.uint(MAX_U128),
      clarity.uint(7),
    ]),
  });
});

/** An operation of a Bitcoin block below the one that the Stacks block is on. */
const earlier = (hash: Uint8Array, fields: string): BitcoinOperation =>
  operation(
    `{"stack_stx":{"burn_block_height":${BURN_HEIGHT - 1},"sender":{"address":"${alice.address}"},` +
      `"reward_addr":"${bitcoinAddress(hash, networks.testnet)}","stacked_ustx":70000000000,"num_cycles":3${fields}}}`,
  );

test('stack-stx of pox-4 starts at the Bitcoin height of the operation, not of its block', () => {
  const hash = new Uint8Array(20).fill(7);
  const key = `02${'ab'.repeat(32)}`;
  const op = earlier(hash, `,"signer_key":"${key}","max_amount":9,"auth_id":7`);
  expect(
    make({ operation: op, events: [lock(alice.address, 'pox-4')], result: locked(BURN_HEIGHT + 60) }),
  ).toMatchObject({
    payload: {
      functionArgs: encodeArguments([
        clarity.uint(70_000_000_000),
        poxAddress(0, hash),
        clarity.uint(BURN_HEIGHT - 1),
        clarity.uint(3),
        clarity.none(),
        clarity.buffer(fromHex(key)),
        clarity.uint(9),
        clarity.uint(7),
      ]),
    },
  });
});

test.each(['pox', 'pox-2', 'pox-3'])(
  "stack-stx of %s has the operation's height and cycles if the node sends them",
  (name) => {
    const hash = new Uint8Array(20).fill(7);
    const stacker = stacksAddress(20, hash);
    // On a network with 20 blocks per cycle, the lock doesn't show the number of requested cycles.
    const result = locked(BURN_HEIGHT + 60);
    expect(make({ operation: earlier(hash, ''), events: [lock(stacker, name)], result })).toMatchObject({
      payload: {
        contractId: `${TESTNET_BOOT}.${name}`,
        functionArgs: encodeArguments([
          clarity.uint(70_000_000_000),
          poxAddress(1, hash),
          clarity.uint(BURN_HEIGHT - 1),
          clarity.uint(3),
        ]),
      },
    });
  },
);

test('stack-stx with a signer key has 0 for a missing maximum and authorization', () => {
  const op = operation(
    `{"stack_stx":{"sender":{"address":"${alice.address}"},"reward_addr":"${bitcoinAddress(new Uint8Array(20), networks.testnet)}",` +
      `"stacked_ustx":5,"num_cycles":1,"signer_key":"02","max_amount":null,"auth_id":null}}`,
  );
  const transaction = make({ operation: op, events: [lock(alice.address, 'pox-4')], result: locked(BURN_HEIGHT + 50) });
  if (transaction?.payload.type !== 'contract_call') throw new Error('a stacking is a call');
  const list = transaction.payload.functionArgs.subarray(4);
  expect(
    Buffer.from(list)
      .toString('hex')
      .endsWith(`01${'00'.repeat(16)}`.repeat(2)),
  ).toBe(true);
});

test('stack-stx of pox is derived from its lock: mainnet operation 0xb182e2aa…', () => {
  const hash = fromHex('e725a898f9fe204da28afb5cf7766602d1b30ad9');
  const stacker = stacksAddress(20, hash);
  const transaction = make({
    network: mainnet,
    events: [lock(stacker, 'pox')],
    result: locked(BURN_HEIGHT + 2100 + 2099, 70_000_000_000n),
  });
  expect(transaction?.sender.address).toBe(stacker);
  expect(transaction?.payload).toMatchObject({
    contractId: 'SP000000000000000000002Q6VF78.pox',
    functionName: 'stack-stx',
    functionArgs: encodeArguments([
      clarity.uint(70_000_000_000),
      poxAddress(1, hash),
      clarity.uint(BURN_HEIGHT),
      clarity.uint(1),
    ]),
  });
});

test('stack-stx of pox-2 takes the reward address from its print, and counts cycles of 50 blocks off mainnet', () => {
  const printed = poxAddress(4, new Uint8Array(20).fill(9));
  const transaction = make({
    events: [print('pox-2', 'stack-stx', alice.address, { 'pox-addr': printed }), lock(alice.address, 'pox-2')],
    result: locked(BURN_HEIGHT + 149),
  });
  expect(transaction?.payload).toMatchObject({
    contractId: `${TESTNET_BOOT}.pox-2`,
    functionArgs: encodeArguments([clarity.uint(70_000_000_000), printed, clarity.uint(BURN_HEIGHT), clarity.uint(2)]),
  });
});

test('a stacking operation with an unexpected result is rejected', () => {
  for (const result of [clarity.err(clarity.int(1)), clarity.ok(clarity.bool(true)), clarity.ok(clarity.tuple({}))]) {
    expect(() => make({ events: [lock(alice.address, 'pox')], result })).toThrow(PayloadError);
  }
});

const delegation = (untilHeight: string, rewardAddress: string): BitcoinOperation =>
  operation(
    `{"delegate_stx":{"sender":{"address":"${alice.address}"},"delegate_to":{"address":"${bob.address}"},` +
      `"delegated_ustx":${MAX_U128},"until_burn_height":${untilHeight},"reward_addr":${rewardAddress}}}`,
  );
const delegated = print('pox-4', 'delegate-stx', alice.address, {
  'amount-ustx': clarity.uint(1),
  'delegate-to': clarity.principal(bob.address),
});

test('delegate-stx of pox-4 takes its arguments from the operation', () => {
  const hash = new Uint8Array(20).fill(3);
  const op = delegation('700000', `[0,"${bitcoinAddress(hash, networks.testnet)}"]`);
  expect(make({ operation: op, events: [delegated] })).toMatchObject({
    sender: { address: alice.address },
    payload: {
      contractId: `${TESTNET_BOOT}.pox-4`,
      functionName: 'delegate-stx',
      functionArgs: encodeArguments([
        clarity.uint(MAX_U128),
        clarity.principal(bob.address),
        clarity.some(clarity.uint(700_000)),
        clarity.some(poxAddress(0, hash)),
      ]),
    },
  });
});

test('delegate-stx has none for a missing end and reward address', () => {
  expect(make({ operation: delegation('null', 'null'), events: [delegated] })?.payload).toMatchObject({
    functionArgs: encodeArguments([
      clarity.uint(MAX_U128),
      clarity.principal(bob.address),
      clarity.none(),
      clarity.none(),
    ]),
  });
});

test('delegate-stx of pox-3 is derived from its print, on the printing contract', () => {
  const until = clarity.some(clarity.uint(5));
  const event = print('pox-3', 'delegate-stx', alice.address, {
    'amount-ustx': clarity.uint(8),
    'delegate-to': clarity.principal(bob.address),
    'unlock-burn-height': until,
  });
  expect(make({ operation: delegation('null', 'null'), events: [event] })).toMatchObject({
    sender: { address: alice.address },
    payload: {
      contractId: `${TESTNET_BOOT}.pox-3`,
      functionArgs: encodeArguments([clarity.uint(8), clarity.principal(bob.address), until, clarity.none()]),
    },
  });
});

test('an operation without enough data returns null', () => {
  expect(make({ events: [print('pox-4', 'vote', alice.address, {})] })).toBeNull();
  const elsewhere = { ...print('pox-4', 'delegate-stx', alice.address, {}), contractId: `${alice.address}.pox-4` };
  expect(make({ events: [elsewhere as ChainEvent], operation: delegation('null', 'null') })).toBeNull();
});

test('the first argument of a delegation decodes as a Clarity value', () => {
  const transaction = make({ operation: delegation('1', 'null'), events: [delegated] });
  if (transaction?.payload.type !== 'contract_call') throw new Error('a delegation is a call');
  expect(decodeClarity(transaction.payload.functionArgs.subarray(4, 4 + 17)).ok).toBe(true);
});
