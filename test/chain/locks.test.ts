import { expect, test } from 'bun:test';
import type { ChainEvent } from '../../src/chain/block.ts';
import { poxReading, stackingLock } from '../../src/chain/pox/reading.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';

const stacker = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7';

const lockOf = (event: ChainEvent) => stackingLock(event, poxReading(event));

const lockEvent = (contractName: string): ChainEvent => ({
  kind: 'stx_lock',
  address: stacker,
  amount: '5',
  unlockHeight: 700,
  contractName,
});

test('a lock of pox to pox-5 has its version, and one of any other contract is ignored', () => {
  for (const [name, poxVersion] of [
    ['pox', 1],
    ['pox-2', 2],
    ['pox-3', 3],
    ['pox-4', 4],
    ['pox-5', 5],
  ] as const) {
    expect(lockOf(lockEvent(name))).toEqual({ principal: stacker, amount: '5', unlockHeight: 700, poxVersion });
  }
  expect(lockOf(lockEvent('pox-6'))).toBeNull();
});

const unlockPrint = (contractId: string, name = 'handle-unlock', wrap = clarity.ok, height = 680n): ChainEvent => ({
  kind: 'contract_log',
  contractId,
  topic: 'print',
  value: wrap(
    clarity.tuple({
      name: clarity.ascii(name),
      stacker: clarity.principal(stacker),
      balance: clarity.uint(0),
      locked: clarity.uint(5),
      'burnchain-unlock-height': clarity.uint(height),
      data: clarity.tuple({ 'first-cycle-locked': clarity.uint(4), 'first-unlocked-cycle': clarity.uint(5) }),
    }),
  ),
});

test('handle-unlock of pox-2 and pox-3 changes the end of a lock and keeps its amount', () => {
  for (const boot of ['SP000000000000000000002Q6VF78', 'ST000000000000000000002AMW42H']) {
    for (const [name, poxVersion] of [
      ['pox-2', 2],
      ['pox-3', 3],
    ] as const) {
      const lock = { principal: stacker, amount: null, unlockHeight: 680, poxVersion };
      expect(lockOf(unlockPrint(`${boot}.${name}`))).toEqual(lock);
    }
  }
});

test('an unlock height that is too large becomes the largest safe integer', () => {
  const event = unlockPrint('SP000000000000000000002Q6VF78.pox-3', 'handle-unlock', clarity.ok, 2n ** 128n - 1n);
  expect(lockOf(event)?.unlockHeight).toBe(Number.MAX_SAFE_INTEGER);
});

test('a print of another contract, name or form changes no lock', () => {
  const pox = 'SP000000000000000000002Q6VF78.pox-3';
  expect(lockOf(unlockPrint('SP000000000000000000002Q6VF78.pox-4'))).toBeNull();
  expect(lockOf(unlockPrint(`${stacker}.pox-3`))).toBeNull();
  expect(lockOf(unlockPrint(pox, 'stack-stx'))).toBeNull();
  expect(lockOf(unlockPrint(pox, 'handle-unlock', clarity.some))).toBeNull();
  expect(lockOf({ kind: 'contract_log', contractId: pox, topic: 'print', value: Uint8Array.of(0xff) })).toBeNull();
});

test('an asset event changes no lock', () => {
  const event: ChainEvent = { kind: 'stx', action: 'mint', sender: null, recipient: stacker, amount: '1', memo: null };
  expect(lockOf(event)).toBeNull();
});
