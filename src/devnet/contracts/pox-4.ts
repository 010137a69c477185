import type { AbiType } from '../../codec/abi.ts';
import { decodeClarity } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { principalOf, someOf, uintOf } from '../arguments.ts';
import {
  type ContractCall,
  type ContractTemplate,
  contractInterface,
  publicFunction,
  runtimeError,
} from '../contract.ts';
import { delegate, delegationOf, optionalUint, poxAddress, type Stacking, stack } from '../pox.ts';

const poxAddressType: AbiType = {
  tuple: [
    { name: 'hashbytes', type: { buffer: { length: 32 } } },
    { name: 'version', type: { buffer: { length: 1 } } },
  ],
};

const stackResult: AbiType = {
  tuple: [
    { name: 'lock-amount', type: 'uint128' },
    { name: 'signer-key', type: { buffer: { length: 33 } } },
    { name: 'stacker', type: 'principal' },
    { name: 'unlock-burn-height', type: 'uint128' },
  ],
};

/** The stacking contract of the chain, as far as the simulation uses it. */
export const pox4: ContractTemplate = {
  name: 'pox-4',
  clarityVersion: undefined,
  source: ';; The boot contract of stacking; its source is not part of the simulation.\n',
  abi: contractInterface({
    clarity_version: 'Clarity2',
    epoch: 'Epoch25',
    functions: [
      publicFunction('delegate-stx', {
        'amount-ustx': 'uint128',
        'delegate-to': 'principal',
        'until-burn-ht': { optional: 'uint128' },
        'pox-addr': { optional: poxAddressType },
      }),
      publicFunction(
        'stack-stx',
        {
          'amount-ustx': 'uint128',
          'pox-addr': poxAddressType,
          'start-burn-ht': 'uint128',
          'lock-period': 'uint128',
          'signer-sig': { optional: { buffer: { length: 65 } } },
          'signer-key': { buffer: { length: 33 } },
          'max-amount': 'uint128',
          'auth-id': 'uint128',
        },
        stackResult,
      ),
    ],
    maps: [
      {
        name: 'delegation-state',
        key: { tuple: [{ name: 'stacker', type: 'principal' }] },
        value: {
          tuple: [
            { name: 'amount-ustx', type: 'uint128' },
            { name: 'delegated-to', type: 'principal' },
            { name: 'pox-addr', type: { optional: poxAddressType } },
            { name: 'until-burn-ht', type: { optional: 'uint128' } },
          ],
        },
      },
    ],
  }),
  propose({ prng, world, sender, burnHeight, recipient }) {
    const amount = world.spendable(sender, burnHeight) / BigInt(prng.between(2, 5));
    if (prng.chance(0.3)) {
      const until = prng.chance(0.5) ? burnHeight + prng.between(20, 200) : undefined;
      const pool = recipient();
      return {
        functionName: 'delegate-stx',
        args: [clarity.uint(amount), clarity.principal(pool), optionalUint(until), clarity.none()],
        run: (at) => delegate(at.sender, pool, amount, until, clarity.none(), at),
      };
    }
    const stacking: Stacking = {
      stacker: sender,
      amount,
      period: prng.between(1, 12),
      rewardHash: prng.bytes(20),
      signerKey: Uint8Array.of(prng.between(2, 3), ...prng.bytes(32)),
      signerSignature: prng.bytes(65),
      maximum: 2n ** 128n - 1n,
      authorization: BigInt(prng.u32()),
    };
    return { functionName: 'stack-stx', args: stackArguments(stacking, burnHeight), run: stacked(stacking) };
  },
  calls: {
    'delegate-stx': ([amount, pool, until, rewardAddress]) => {
      const height = someOf(until);
      const end = height === undefined ? undefined : uintOf(height);
      return { run: delegated(uintOf(amount), principalOf(pool), end, rewardAddress!.bytes) };
    },
  },
  maps: {
    'delegation-state': (context, key) => {
      const decoded = decodeClarity(key);
      const stacker = decoded.ok && decoded.value.type === 'tuple' ? decoded.value.value.get('stacker') : undefined;
      return stacker?.type === 'principal' ? delegationOf(context, stacker.value) : undefined;
    },
  },
};

/** Error of `delegate-stx`, a signed integer: the stacker has delegated already. */
const alreadyDelegated = clarity.err(clarity.int(20));
/** Largest height that the simulation counts with. */
const MAX_HEIGHT = 0xffff_ffffn;

const delegated =
  (amount: bigint, pool: string, until: bigint | undefined, rewardAddress: Uint8Array): ContractCall['run'] =>
  (at) => {
    const known = delegationOf(at, at.sender);
    if (known !== undefined) return { ok: false, result: alreadyDelegated, events: [] };
    if (until !== undefined && until > MAX_HEIGHT) return runtimeError('Runtime(ArithmeticOverflow, None)');
    return delegate(at.sender, pool, amount, until === undefined ? undefined : Number(until), rewardAddress, at);
  };

function stacked(stacking: Stacking): ReturnType<ContractTemplate['propose']>['run'] {
  return ({ contract, world, burnHeight }) => stack(stacking, contract, world, burnHeight);
}

function stackArguments(stacking: Stacking, burnHeight: number): Uint8Array[] {
  const { signerSignature } = stacking;
  return [
    clarity.uint(stacking.amount),
    poxAddress(stacking.rewardHash),
    clarity.uint(burnHeight),
    clarity.uint(stacking.period),
    signerSignature === undefined ? clarity.none() : clarity.some(clarity.buffer(signerSignature)),
    clarity.buffer(stacking.signerKey),
    clarity.uint(stacking.maximum),
    clarity.uint(stacking.authorization),
  ];
}
