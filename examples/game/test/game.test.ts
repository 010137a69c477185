/** The game's events, as chainhooks deliver them: each test starts with the state after the deployment. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { type ClarityMatchers, cl, type Delivery, type Devnet, matchers, startDevnet } from 'stackside/test';
import type { Contracts } from './contracts.ts';

declare module 'bun:test' {
  interface Matchers<T> extends ClarityMatchers<T> {}
}
expect.extend(matchers);

let chain: Devnet<Contracts>;
let contract: string;

beforeAll(async () => {
  chain = await startDevnet<Contracts>({ clarity: `${import.meta.dir}/..`, limitMs: 60_000 });
  contract = `${(await chain.account('deployer')).address}.game`;
  await chain.snapshot();
});
afterEach(() => chain.revert());
afterAll(() => chain?.stop());

const move = (sender: string, steps: number) => chain.call('game', 'move', [cl.uint(steps)], { sender });

/** Returns the number of logs in the blocks that joined the chain, less the logs in those that left it. */
function logsIn({ payload: { event } }: Delivery): number {
  const count = (blocks: typeof event.apply) =>
    blocks
      .flatMap(({ transactions }) => transactions)
      .flatMap(({ operations }) => operations)
      .filter((item) => item.type === 'contract_log' && item.metadata.contract_identifier === contract).length;
  return count(event.apply) - count(event.rollback);
}

test('the first player at the goal wins, and the game is over', async () => {
  for (const [turn, position] of [6n, 12n, 18n].entries()) {
    expect(await move('wallet_1', 6)).toBeOk(position);
    expect(await move('wallet_2', 5)).toBeOk(BigInt(5 * (turn + 1)));
  }
  expect(await chain.read('game', 'get-winner')).toBe(null);
  expect(await move('wallet_1', 2)).toBeOk(20n);
  const { address } = await chain.account('wallet_1');
  expect(await chain.read('game', 'get-winner')).toBe(address);
  expect(await move('wallet_2', 5)).toBeErr(101n);
});

test('a chainhook receives every event, and a fork takes events back', async () => {
  const hook = await chain.hooks.add({
    filters: { events: [{ type: 'contract_log', contract_identifier: contract }] },
  });
  let logs = 0;
  for (const player of ['wallet_1', 'wallet_2', 'wallet_1', 'wallet_2', 'wallet_1', 'wallet_2', 'wallet_1']) {
    await move(player, 6);
    logs += logsIn(await hook.next());
  }
  // Each step is an event, and so is the victory.
  expect(logs).toBe(7 * 6 + 1);

  await chain.fork(1);
  expect(logsIn(await hook.next())).toBe(-7);
  expect(await chain.read('game', 'get-winner')).toBe(null);
});

test('only a victory is delivered to a chainhook that filters for it', async () => {
  const hook = await chain.hooks.add({
    filters: { events: [{ type: 'contract_log', contract_identifier: contract, contains: '(event "won")' }] },
  });
  for (const steps of [6, 6, 6, 1, 1]) await move('wallet_2', steps);
  const { payload } = await hook.next();
  const [transaction] = payload.event.apply[0]?.transactions ?? [];
  expect(transaction?.metadata.result.repr).toBe('(ok u20)');
});

test('a player moves at most six steps', async () => {
  const refused = await move('wallet_1', 7);
  expect(refused).toBeErr(100n);
  expect(refused.failure?.place?.expression).toStartWith('(unwrap! (slice?');
});
