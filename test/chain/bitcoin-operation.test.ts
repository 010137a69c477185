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
import { BOOT, p, u } from '../support/events/pox.ts';

const mainnet = networkOf(1);
const testnet = networkOf(0x8000_0000);
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

const { none, some } = clarity;
const HASH = new Uint8Array(20).fill(7);
const KEY = `02${'ab'.repeat(32)}`;
const signerKey = clarity.buffer(fromHex(KEY));

/** A stacking by alice. @param fields more of its fields, as JSON */
const stackStx = (fields: string): BitcoinOperation =>
  operation(
    `{"stack_stx":{"sender":{"address":"${alice.address}"},` +
      `"reward_addr":"${bitcoinAddress(HASH, networks.testnet)}",${fields}}}`,
  );

/** A stacking in a Bitcoin block below the one that the Stacks block is on. */
const earlier = (fields = ''): BitcoinOperation =>
  stackStx(`"burn_block_height":${BURN_HEIGHT - 1},"stacked_ustx":70000000000,"num_cycles":3${fields}`);

const callOf = (contract: string, functionName: string, ...args: Uint8Array[]) => ({
  contractId: contract.includes('.') ? contract : `${BOOT}.${contract}`,
  functionName,
  functionArgs: encodeArguments(args),
});

const locked = (unlockHeight: number, amount = 70_000_000_000n): Uint8Array =>
  clarity.ok(
    clarity.tuple({ 'lock-amount': u(amount), 'unlock-burn-height': u(unlockHeight), stacker: p(alice.address) }),
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
  contractId: `${BOOT}.${contractName}`,
  topic: 'print',
  value: clarity.ok(clarity.tuple({ name: clarity.ascii(name), stacker: p(stacker), data: clarity.tuple(data) })),
});

const poxAddress = (version: number, hashbytes: Uint8Array): Uint8Array =>
  clarity.tuple({ version: clarity.buffer(Uint8Array.of(version)), hashbytes: clarity.buffer(hashbytes) });

test('an operation without events failed and returns null', () => {
  expect(make({ operation: operation('{"transfer_stx":{}}') })).toBeNull();
  const failed = `{"stack_stx":{"sender":{"address":"${alice.address}"},"reward_addr":"x","stacked_ustx":1,"num_cycles":1,"signer_key":"02"}}`;
  expect(make({ operation: operation(failed), result: clarity.err(clarity.int(1)) })).toBeNull();
});

const transferred = (amount: string, memo: Uint8Array | null): ChainEvent => ({
  kind: 'stx',
  action: 'transfer',
  sender: alice.address,
  recipient: bob.address,
  amount,
  memo,
});

test("a transfer has its event's amount, with nonce and fee 0 and no memo", () => {
  const events = [transferred('1000', new Uint8Array(34))];
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
  const events = [lock(alice.address, 'pox'), transferred('1', null)];
  expect(make({ events, result: locked(BURN_HEIGHT + 50) })?.payload.type).toBe('token_transfer');
});

test('stack-stx with a signer key is a pox-4 call with eight arguments and exact amounts', () => {
  const op = stackStx(
    `"stacked_ustx":${MAX_U128 - 1n},"num_cycles":12,"signer_key":"${KEY}","max_amount":${MAX_U128},"auth_id":7`,
  );
  const tx = make({ operation: op, events: [lock(alice.address, 'pox-4')], result: locked(BURN_HEIGHT + 600) });
  const args = [u(MAX_U128 - 1n), poxAddress(0, HASH), u(BURN_HEIGHT), u(12), none(), signerKey, u(MAX_U128), u(7)];
  expect(tx?.sender.address).toBe(alice.address);
  expect(tx?.payload).toMatchObject({ type: 'contract_call', ...callOf('pox-4', 'stack-stx', ...args) });
});

test('stack-stx of pox-4 starts at the Bitcoin height of the operation, not of its block', () => {
  const op = earlier(`,"signer_key":"${KEY}","max_amount":9,"auth_id":7`);
  const tx = make({ operation: op, events: [lock(alice.address, 'pox-4')], result: locked(BURN_HEIGHT + 60) });
  const args = [u(70_000_000_000), poxAddress(0, HASH), u(BURN_HEIGHT - 1), u(3), none(), signerKey, u(9), u(7)];
  expect(tx?.payload).toMatchObject(callOf('pox-4', 'stack-stx', ...args));
});

test.each(['pox', 'pox-2', 'pox-3'])("stack-stx of %s has the operation's height and cycles if it has them", (name) => {
  // On a network with 20 blocks per cycle, the lock doesn't show the number of requested cycles.
  const events = [lock(stacksAddress(20, HASH), name)];
  const tx = make({ operation: earlier(), events, result: locked(BURN_HEIGHT + 60) });
  const args = [u(70_000_000_000), poxAddress(1, HASH), u(BURN_HEIGHT - 1), u(3)];
  expect(tx?.payload).toMatchObject(callOf(name, 'stack-stx', ...args));
});

test('stack-stx with a signer key has 0 for a missing maximum and authorization', () => {
  const op = stackStx('"stacked_ustx":5,"num_cycles":1,"signer_key":"02","max_amount":null,"auth_id":null');
  const tx = make({ operation: op, events: [lock(alice.address, 'pox-4')], result: locked(BURN_HEIGHT + 50) });
  if (tx?.payload.type !== 'contract_call') throw new Error('a stacking is a call');
  expect(tx.payload.functionArgs.toHex()).toEndWith(`01${'00'.repeat(16)}`.repeat(2));
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
  const args = [u(70_000_000_000), poxAddress(1, hash), u(BURN_HEIGHT), u(1)];
  expect(transaction?.payload).toMatchObject(callOf('SP000000000000000000002Q6VF78.pox', 'stack-stx', ...args));
});

test('stack-stx of pox-2 takes the reward address from its print, and counts cycles of 50 blocks off mainnet', () => {
  const printed = poxAddress(4, new Uint8Array(20).fill(9));
  const transaction = make({
    events: [print('pox-2', 'stack-stx', alice.address, { 'pox-addr': printed }), lock(alice.address, 'pox-2')],
    result: locked(BURN_HEIGHT + 149),
  });
  const args = [u(70_000_000_000), printed, u(BURN_HEIGHT), u(2)];
  expect(transaction?.payload).toMatchObject(callOf('pox-2', 'stack-stx', ...args));
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
const delegated = print('pox-4', 'delegate-stx', alice.address, { 'amount-ustx': u(1), 'delegate-to': p(bob.address) });

test('delegate-stx of pox-4 takes its arguments from the operation', () => {
  const hash = new Uint8Array(20).fill(3);
  const op = delegation('700000', `[0,"${bitcoinAddress(hash, networks.testnet)}"]`);
  const args = [u(MAX_U128), p(bob.address), some(u(700_000)), some(poxAddress(0, hash))];
  expect(make({ operation: op, events: [delegated] })).toMatchObject({
    sender: { address: alice.address },
    payload: callOf('pox-4', 'delegate-stx', ...args),
  });
});

test('delegate-stx has none for a missing end and reward address', () => {
  expect(make({ operation: delegation('null', 'null'), events: [delegated] })?.payload).toMatchObject(
    callOf('pox-4', 'delegate-stx', u(MAX_U128), p(bob.address), none(), none()),
  );
});

test('delegate-stx of pox-3 is derived from its print, on the printing contract', () => {
  const until = some(u(5));
  const data = { 'amount-ustx': u(8), 'delegate-to': p(bob.address), 'unlock-burn-height': until };
  const event = print('pox-3', 'delegate-stx', alice.address, data);
  expect(make({ operation: delegation('null', 'null'), events: [event] })).toMatchObject({
    sender: { address: alice.address },
    payload: callOf('pox-3', 'delegate-stx', u(8), p(bob.address), until, none()),
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
