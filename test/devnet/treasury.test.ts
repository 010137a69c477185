/** The treasury contract of the simulated network: its checks of amounts and balances. */
import { expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { namedArguments } from '../../src/devnet/contract.ts';
import { treasury } from '../../src/devnet/contracts/treasury.ts';
import { World } from '../../src/devnet/world.ts';
import { decodedValue } from '../support/events/clarity-values.ts';

const sender = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';
const contract = `${sender}.treasury`;
const recipient = 'ST000000000000000000002AMW42H';
const BALANCE = 100n;

const payments = (...amounts: (number | bigint)[]) =>
  clarity.list(
    amounts.map((amount) => clarity.tuple({ amount: clarity.uint(amount), to: clarity.principal(recipient) })),
  );
const argumentsFor: Readonly<Record<string, (amount: bigint) => Uint8Array[]>> = {
  burn: (amount) => [clarity.uint(amount)],
  deposit: (amount) => [clarity.uint(amount)],
  share: (amount) => [payments(amount)],
  withdraw: (amount) => [clarity.uint(amount), clarity.buffer(Uint8Array.of(1))],
};

/**
 * Calls a function while the sender and the contract have the balance.
 * @returns the outcome and both balances afterwards
 */
function call(name: string, args: readonly Uint8Array[]) {
  const world = new World();
  world.credit(sender, BALANCE);
  world.credit(contract, BALANCE);
  const values = args.map(decodedValue);
  const simulated = treasury.functions![name]!;
  const context = { world, contract, sender, burnHeight: 1 };
  const { ok, result, events } = simulated.run!(context, namedArguments(simulated, values));
  for (const event of events) world.apply(event);
  const balances = [sender, contract, recipient].map((address) => world.balance(address));
  return { ok, result, events: events.length, balances };
}

const refusal = (code: number) => ({
  ok: false,
  result: clarity.err(clarity.uint(code)),
  events: 0,
  balances: [BALANCE, BALANCE, 0n],
});

for (const [name, argumentsOf] of Object.entries(argumentsFor)) {
  test(`${name} takes amounts from 1 to the balance`, () => {
    for (const amount of [1n, BALANCE]) expect(call(name, argumentsOf(amount)).ok).toBe(true);
    expect(call(name, argumentsOf(BALANCE + 1n))).toEqual(refusal(1));
    expect(call(name, argumentsOf(0n))).toEqual(refusal(3));
  });
}

test('each function moves the amount', () => {
  expect(call('burn', [clarity.uint(30)]).balances).toEqual([70n, 100n, 0n]);
  expect(call('deposit', [clarity.uint(30)]).balances).toEqual([70n, 130n, 0n]);
  expect(call('withdraw', argumentsFor.withdraw!(30n)).balances).toEqual([130n, 70n, 0n]);
  expect(call('share', [payments(30, 20)]).balances).toEqual([50n, 100n, 50n]);
});

test('share refuses payments that are together more than the balance, and a payment to the sender', () => {
  expect(call('share', [payments(60, 41)])).toEqual(refusal(1));
  const toSender = clarity.list([clarity.tuple({ amount: clarity.uint(1), to: clarity.principal(sender) })]);
  expect(call('share', [toSender])).toEqual(refusal(2));
});
