import { expect, test } from 'bun:test';
import { decodeClarity } from '../../src/codec/clarity.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import type { ContractCall } from '../../src/devnet/contract.ts';
import { pox5 } from '../../src/devnet/contracts/pox-5.ts';
import { cycles } from '../../src/devnet/pox.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { World } from '../../src/devnet/world.ts';

const contract = 'ST000000000000000000002AMW42H.pox-5';
const sender = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';
const prng = new Prng('pox-5');

/** Draws calls until one passes a test, runs it and applies its events. @returns the last print's fields */
function run(world: World, burnHeight: number, isWanted: (call: ContractCall) => boolean) {
  const context = { world, contract, sender, burnHeight };
  let call: ContractCall;
  do call = pox5.propose({ ...context, prng, recipient: () => sender });
  while (!isWanted(call));
  const outcome = call.run(context);
  expect(outcome.ok).toBe(true);
  for (const event of outcome.events) world.apply(event);
  const print = outcome.events.findLast((event) => event.type === 'contract_event');
  const decoded = decodeClarity(print!.value);
  if (!decoded.ok || decoded.value.type !== 'tuple') throw new Error('the print is not a tuple');
  return new Map(decoded.value.value);
}

const isStakeOfOneCycle = ({ functionName, args }: ContractCall): boolean =>
  functionName === 'stake' && Buffer.compare(args[1]!, clarity.uint(1)) === 0;

test('pays a stake for its last cycle if the staker stakes again before the late calculation', () => {
  const world = new World();
  world.credit(sender, 1_000_000_000n);
  const first = run(world, cycles.startOf(11) - 1, isStakeOfOneCycle);
  run(world, cycles.startOf(12), isStakeOfOneCycle);
  const late = run(world, cycles.startOf(12), ({ functionName }) => functionName === 'calculate-rewards');
  expect(late.get('stx-cycle')).toMatchObject({ value: 11n });
  expect(late.get('cycle-staked-ustx')).toEqual(first.get('amount-ustx'));
});
