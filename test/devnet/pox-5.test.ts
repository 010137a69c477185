import { expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import type { ContractCall } from '../../src/devnet/contract.ts';
import { pox5 } from '../../src/devnet/contracts/pox-5.ts';
import { cycles } from '../../src/devnet/pox.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { owedTo } from '../../src/devnet/staking-state.ts';
import { World } from '../../src/devnet/world.ts';
import { decodedValue } from '../support/events/clarity-values.ts';

const contract = 'ST000000000000000000002AMW42H.pox-5';
const sender = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';
const prng = new Prng('pox-5');

/** Draws calls until one passes a test, runs it and applies its events. @returns the fields of each print */
function printsOf(world: World, burnHeight: number, isWanted: (call: ContractCall) => boolean) {
  const context = { world, contract, sender, burnHeight };
  let call: ContractCall;
  do call = pox5.propose!({ ...context, prng, recipient: () => sender });
  while (!isWanted(call));
  const outcome = call.run(context);
  expect(outcome.ok).toBe(true);
  for (const event of outcome.events) world.apply(event);
  return outcome.events.flatMap((event) => {
    if (event.type !== 'contract_event') return [];
    const print = decodedValue(event.value);
    if (print.type !== 'tuple') throw new Error('the print is not a tuple');
    return [new Map(print.value)];
  });
}

/** Works like {@link printsOf}. @returns the fields of the last print */
const run = (...args: Parameters<typeof printsOf>) => printsOf(...args).at(-1)!;

const isCalculation = ({ functionName }: ContractCall): boolean => functionName === 'calculate-rewards';

const isStakeOfOneCycle = ({ functionName, args }: ContractCall): boolean =>
  functionName === 'stake' && Buffer.compare(args[1]!, clarity.uint(1)) === 0;

test('pays a stake for its last cycle if the staker stakes again before the late calculation', () => {
  const world = new World();
  world.credit(sender, 1_000_000_000n);
  const first = run(world, cycles.startOf(11) - 1, isStakeOfOneCycle);
  run(world, cycles.startOf(12), isStakeOfOneCycle);
  const second = run(world, cycles.startOf(12), isCalculation);
  expect(second.get('stx-cycle')).toMatchObject({ value: 11n });
  expect(second.get('cycle-staked-ustx')).toEqual(first.get('amount-ustx'));
});

test('distributes the rewards of each bond over the sats in that bond', () => {
  const world = new World();
  const amounts = [5_000n, 7_000n];
  for (const [index, units] of amounts.entries()) {
    world.staking.bonds.set(String(index), { index, firstCycle: 11, unlockCycle: 20, allowed: new Map() });
    const position = { bond: index, staker: sender, signer: contract, stx: 0n, sats: units, onBitcoin: false };
    const stored = { ...position, units: [{ from: 11, units, signer: contract }] };
    world.staking.positions.set(owedTo(sender, index), stored);
  }
  const distributions = printsOf(world, cycles.startOf(12), isCalculation).slice(0, -1);
  expect(distributions.map((print) => [print.get('bond-index'), print.get('bond-staked-sats')])).toMatchObject(
    amounts.map((units, index) => [{ value: BigInt(index) }, { value: units }]),
  );
  expect([...world.staking.owed.entries()]).toMatchObject([
    [`${sender} 0`, [{ sats: 5n }]],
    [`${sender} 1`, [{ sats: 7n }]],
  ]);
});
