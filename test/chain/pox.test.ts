/** The parsers of the stacking contracts' prints. */
import { expect, test } from 'bun:test';
import type { ChainEvent } from '../../src/chain/block.ts';
import { poxReading } from '../../src/chain/pox/reading.ts';
import { type StackingPrint, stackingTopics } from '../../src/chain/pox/stacking.ts';
import { stakingTopics } from '../../src/chain/pox/staking.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { BOOT, bonds, keyOf, type PoxEvent, printed, stacked, u } from '../support/events/pox.ts';

const stacker = 'ST1WNJTS9JM1JYGK758B10DBAMBZ0K23ADP392SBV';
const pool = 'ST2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQYAC0RQ';

const logOf = ({ contract, value }: PoxEvent): ChainEvent => ({
  kind: 'contract_log',
  contractId: contract,
  topic: 'print',
  value,
});
const read = (event: PoxEvent) => poxReading(logOf(event));

function print(event: PoxEvent): StackingPrint {
  const reading = read(event);
  if (reading?.kind !== 'stacking') throw new Error(JSON.stringify(reading));
  return reading.print;
}

const lock = { 'lock-amount': u(300), 'lock-period': u(2), 'start-burn-height': u(108), 'unlock-burn-height': u(140) };
const cycles = { 'start-cycle-id': u(6), 'end-cycle-id': clarity.some(u(8)) };
const key = { 'signer-key': clarity.buffer(keyOf(2)) };
const state = [1_000, 200, 90] as const;

test('each contract has each of its topics once', () => {
  const names = (topics: readonly { name: string }[]) => topics.map(({ name }) => name);
  const { 'pox-2': pox2 = [], 'pox-3': pox3 = [], 'pox-4': pox4 = [] } = stackingTopics;
  for (const topics of [pox2, pox3, pox4, stakingTopics]) {
    expect(topics.length).toBeGreaterThan(0);
    expect(new Set(names(topics)).size).toBe(topics.length);
  }
  expect(names(pox3)).toEqual(names(pox2));
  expect(names(pox4)).not.toContain('handle-unlock');
  expect(names(pox4)).toContain('revoke-delegate-stx');
});

const [previous, locking] = [
  { balance: 1_000n, locked: 200n, unlockHeight: 90n },
  { ...lock, ...key },
];
const afterLock = { balance: 700n, locked: 300n, unlockHeight: 140n };
const increase = { 'increase-by': u(50), 'total-locked': u(250), ...key };
test.each([
  ['stack-stx', locking, afterLock],
  ['delegate-stack-stx', { ...lock, delegator: clarity.principal(pool) }, afterLock],
  ['stack-increase', increase, { ...previous, balance: 950n, locked: 250n }],
  ['stack-extend', { 'extend-count': u(1), 'unlock-burn-height': u(160), ...key }, { ...previous, unlockHeight: 160n }],
  ['stack-aggregation-commit', { 'reward-cycle': u(6), 'amount-ustx': u(9), ...key }, previous],
])('the state of %s is the one after the call', (name, data, expected) => {
  expect(print(stacked('pox-4', name, stacker, { ...data, ...cycles }, state)).state).toEqual(expected);
});

test('a balance is never below zero, and after an early unlock it includes the unlocked amount', () => {
  const rich = stacked('pox-2', 'stack-stx', stacker, { ...lock, 'lock-amount': u(5_000) }, state);
  expect(print(rich).state).toMatchObject({ balance: 0n, locked: 5_000n });
  const unlocked = { 'first-cycle-locked': u(4), 'first-unlocked-cycle': u(5) };
  const unlock = print(stacked('pox-3', 'handle-unlock', stacker, unlocked, state));
  expect(unlock.state).toEqual({ balance: 1_200n, locked: 200n, unlockHeight: 90n });
  expect(unlock.data).toEqual({ first_cycle_locked: 4n, first_unlocked_cycle: 5n });
});

test('signers and cycles of pox-2 and pox-3 are ignored, even if a node sends them', () => {
  const ofPox3 = print(stacked('pox-3', 'stack-stx', stacker, { ...lock, ...key, ...cycles }));
  expect(ofPox3.data).toMatchObject({ signer_key: null, start_cycle_id: null, end_cycle_id: null });
  expect(ofPox3.changes).toEqual([]);
  const ofPox4 = print(stacked('pox-4', 'stack-stx', stacker, { ...lock, ...key, ...cycles }));
  expect(ofPox4.changes).toEqual([{ kind: 'solo_term', firstCycle: 6, endCycle: 8, signerKey: keyOf(2) }]);
});

test('a delegation without an end has none, and one beyond any height has an end', () => {
  const delegation = { 'amount-ustx': u(5), 'delegate-to': clarity.principal(pool) };
  const open = print(
    stacked('pox-4', 'delegate-stx', stacker, { ...delegation, 'unlock-burn-height': clarity.none() }),
  );
  expect(open.data).not.toHaveProperty('unlock_burn_height');
  expect(open.changes).toEqual([{ kind: 'delegation', pool, unlockHeight: null }]);
  const forever = clarity.some(u(2n ** 128n - 1n));
  const long = print(stacked('pox-4', 'delegate-stx', stacker, { ...delegation, 'unlock-burn-height': forever }));
  expect(long.changes).toEqual([{ kind: 'delegation', pool, unlockHeight: 2n ** 128n - 1n }]);
});

test("Bitcoin addresses have the format of the contract's network", () => {
  const address = {
    'pox-addr': clarity.tuple({
      version: clarity.buffer(Uint8Array.of(4)),
      hashbytes: clarity.buffer(new Uint8Array(20)),
    }),
  };
  const event = stacked('pox-4', 'stack-stx', stacker, { ...lock, ...key, ...cycles, ...address });
  expect(print(event)).toMatchObject({ network: 'regtest', poxAddress: { version: 4 } });
  const mainnet = { ...logOf(event), contractId: 'SP000000000000000000002Q6VF78.pox-4' } as ChainEvent;
  expect(poxReading(mainnet)).toMatchObject({ print: { network: 'mainnet' } });
});

test('an error and a revocation without a delegation are ignored', () => {
  expect(poxReading(logOf({ contract: `${BOOT}.pox-4`, value: clarity.err(clarity.int(3)) }))).toBeNull();
  const nothing = { unimplemented: clarity.bool(true) };
  expect(read(stacked('pox-4', 'revoke-delegate-stx', stacker, nothing))).toBeNull();
});

const tooLong = { 'start-cycle-id': u(1), 'end-cycle-id': clarity.some(u(5_000)) };
const [EARLY_EXIT, FORM] = ['announce-l1-early-exit', 'Its form is unknown'];
test.each([
  ['an unknown topic', printed('to-come'), 'to-come', 'The topic is not known'],
  ['another topic', stacked('pox-4', 'handle-unlock', stacker, {}), 'handle-unlock', 'The topic is not known'],
  ['a field that is missing', printed('setup-bond'), 'setup-bond', 'Missing field bond-index'],
  ['a wrong field', printed(EARLY_EXIT, { 'bond-index': clarity.none() }), EARLY_EXIT, 'Field bond-index is a none'],
  ['a value of another form', { contract: `${BOOT}.pox-5`, value: clarity.uint(1) }, null, FORM],
  ['bytes that are no value', { contract: `${BOOT}.pox-4`, value: Uint8Array.of(0xff) }, null, FORM],
  [
    'more cycles than any lock has',
    stacked('pox-4', 'stack-stx', stacker, { ...locking, ...tooLong }),
    'stack-stx',
    '4999 cycles are too many',
  ],
])('%s is logged and changes nothing', (_, event, topic, reason) => {
  expect(read(event)).toEqual({ kind: 'unread', contract: event.contract.split('.')[1]!, topic, reason });
});

test.each([1, 6, 99, 2_000])('a term of up to 100 cycles is accepted from any first cycle: %d', (first) => {
  const until = (end: number) =>
    stacked('pox-4', 'stack-stx', stacker, {
      ...lock,
      ...key,
      'start-cycle-id': u(first),
      'end-cycle-id': clarity.some(u(end)),
    });
  expect(print(until(first + 100)).changes).toMatchObject([{ firstCycle: first, endCycle: first + 100 }]);
  expect(read(until(first + 101))).toMatchObject({ kind: 'unread', reason: '101 cycles are too many' });
});

test('prints of other contracts are ignored', () => {
  for (const contractId of [`${stacker}.pox-5`, `${BOOT}.pox-6`, `${BOOT}.bns`]) {
    expect(poxReading({ ...logOf(bonds.setup(0)), contractId } as ChainEvent)).toBeNull();
  }
  expect(poxReading({ ...logOf(bonds.setup(0)), topic: 'log' } as ChainEvent)).toBeNull();
});

test('a registration has the outputs that prove it', () => {
  const txId = new Uint8Array(32).fill(0xcd);
  expect(read(bonds.register(1, stacker, pool, 7, [txId]))).toMatchObject({
    changes: [
      { kind: 'registration', bond: 1, staker: stacker, signer: pool, sats: 7n, outputs: [{ txId, index: 0 }] },
    ],
  });
  expect(read(bonds.register(1, stacker, pool, 7))).toMatchObject({ changes: [{ outputs: null }] });
});

test('a changed stake applies from the next cycle on, and an ended one until then', () => {
  expect(read(bonds.updateStake(stacker, pool, 9n, 11, 20, 400))).toMatchObject({ changes: [{ fromCycle: 9 }] });
  expect(read(bonds.unstake(stacker, pool, 9n, 10, 200))).toMatchObject({
    changes: [{ fromCycle: 10, unlockCycle: 10 }],
  });
});
