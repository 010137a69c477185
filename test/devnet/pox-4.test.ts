import { expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { namedArguments } from '../../src/devnet/contract.ts';
import { pox4 } from '../../src/devnet/contracts/pox-4.ts';
import { cycles, poxAddress } from '../../src/devnet/pox.ts';
import { World } from '../../src/devnet/world.ts';
import { decodedValue } from '../support/events/clarity-values.ts';

const contract = 'ST000000000000000000002AMW42H.pox-4';
const stacker = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM';
const pool = 'ST2CY5V39NHDPWSXMW9QDT3HC3GD6Q6XX4CFRK9AG';
const burnHeight = cycles.startOf(11) + 1;

test('a pool that stacks the same delegation twice gets the error for a stacker who is stacking', () => {
  const world = new World();
  world.credit(stacker, 1_000n);
  const call = (sender: string, name: string, ...args: Uint8Array[]) => {
    const values = args.map(decodedValue);
    const simulated = pox4.functions![name]!;
    const outcome = simulated.run!({ world, contract, sender, burnHeight }, namedArguments(simulated, values));
    for (const event of outcome.events) world.apply(event);
    for (const [key, value] of outcome.writes ?? []) world.store(contract, key, value);
    return outcome;
  };
  const [amount, address] = [clarity.uint(300), poxAddress(new Uint8Array(20))];
  expect(call(stacker, 'delegate-stx', amount, clarity.principal(pool), clarity.none(), clarity.none()).ok).toBe(true);
  const stack = () =>
    call(
      pool,
      'delegate-stack-stx',
      ...[clarity.principal(stacker), amount, address, clarity.uint(burnHeight), clarity.uint(1)],
    );
  expect(stack()).toMatchObject({ ok: true });
  expect(stack()).toMatchObject({ ok: false, result: clarity.err(clarity.int(3)), events: [] });
});
