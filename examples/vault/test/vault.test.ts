/** Time locks: each test starts with the state after the deployment. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { type ClarityMatchers, cl, type Devnet, matchers, startDevnet } from 'stackside/test';
import type { Contracts } from './contracts.ts';

declare module 'bun:test' {
  interface Matchers<T> extends ClarityMatchers<T> {}
}
expect.extend(matchers);

const DAY = 86_400;
const owner = { sender: 'wallet_1' };
let chain: Devnet<Contracts>;

beforeAll(async () => {
  chain = await startDevnet<Contracts>({ clarity: `${import.meta.dir}/..` });
  await chain.snapshot();
});
afterEach(() => chain.revert());
afterAll(() => chain?.stop());

test('a deposit stays locked until its time', async () => {
  const before = await chain.balance('wallet_1');
  expect(await chain.call('vault', 'deposit', [cl.uint(5_000_000), cl.uint(DAY)], owner)).toBeOk(5_000_000n);
  expect(await chain.balance('vault')).toBe(5_000_000n);

  const early = await chain.call('vault', 'withdraw', [], owner);
  expect(early).toBeErr(101n);
  expect(early.failure?.place?.expression).toBe('(asserts! (>= stacks-block-time (get until found)) ERR_LOCKED)');

  await chain.advance(DAY);
  expect(await chain.call('vault', 'withdraw', [], owner)).toBeOk(5_000_000n);
  expect(await chain.balance('vault')).toBe(0n);
  // The owner paid only fees.
  expect(before - (await chain.balance('wallet_1'))).toBeLessThan(10_000n);
});

test('another deposit starts the time lock again', async () => {
  const { address } = await chain.account('wallet_1');
  await chain.call('vault', 'deposit', [cl.uint(1_000), cl.uint(DAY)], owner);
  await chain.advance(DAY);
  await chain.call('vault', 'deposit', [cl.uint(2_000), cl.uint(DAY)], owner);
  expect(await chain.read('vault', 'get-deposit', [cl.principal(address)])).toMatchObject({ amount: 3_000n });
  expect(await chain.call('vault', 'withdraw', [], owner)).toBeErr(101n);
});

test('a vault pays only the owner of a deposit', async () => {
  await chain.call('vault', 'deposit', [cl.uint(1_000), cl.uint(0)], owner);
  expect(await chain.call('vault', 'withdraw', [], { sender: 'deployer' })).toBeErr(100n);
  expect(await chain.call('vault', 'withdraw', [], owner)).toBeOk(1_000n);
});
