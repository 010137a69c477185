import type { AbiType } from '../../codec/abi.ts';
import { type ClarityValue, decodeClarity } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import {
  bufferOf,
  type ContractCall,
  type ContractInterface,
  type ContractTemplate,
  contractInterface,
  principalOf,
  publicFunction,
  type ReadContext,
  readOnlyFunction,
  someOf,
  textOf,
  uintOf,
} from '../contract.ts';
import * as pox from '../pox.ts';
import { type Authorization, cycles, optionalUint, poxAddress, SLOT, type Stacking } from '../pox.ts';

const poxAddressType: AbiType = {
  tuple: [
    { name: 'hashbytes', type: { buffer: { length: 32 } } },
    { name: 'version', type: { buffer: { length: 1 } } },
  ],
};

const tuple = (fields: Record<string, AbiType>): AbiType => ({
  tuple: Object.entries(fields).map(([name, type]) => ({ name, type })),
});

const signerType = {
  'signer-sig': { optional: { buffer: { length: 65 } } },
  'signer-key': { buffer: { length: 33 } },
  'max-amount': 'uint128',
  'auth-id': 'uint128',
} satisfies Record<string, AbiType>;

const delegationType = tuple({
  'amount-ustx': 'uint128',
  'delegated-to': 'principal',
  'pox-addr': { optional: poxAddressType },
  'until-burn-ht': { optional: 'uint128' },
});

/** Returns a function's entry in the interface. Errors of this contract are signed integers. */
function poxFunction(name: string, args: Record<string, AbiType>, okType: AbiType = 'bool') {
  const declared = publicFunction(name, args, okType);
  return { ...declared, outputs: { type: { response: { ok: okType, error: 'int128' as const } } } };
}

/** Read-only functions that pox-4 and pox-5 share. */
export const sharedReads = {
  'burn-height-to-reward-cycle': (_: ReadContext, [height]: readonly ClarityValue[]) =>
    clarity.uint(uintOf(height) / BigInt(cycles.length)),
  'current-pox-reward-cycle': ({ burnHeight }: ReadContext) => clarity.uint(cycles.of(burnHeight)),
  'get-pox-info': pox.poxInfo,
  'reward-cycle-to-burn-height': (_: ReadContext, [cycle]: readonly ClarityValue[]) =>
    clarity.uint(BigInt.asUintN(128, uintOf(cycle) * BigInt(cycles.length))),
};

/** {@link sharedReads} in the interface. */
export const sharedFunctions: ContractInterface['functions'] = [
  readOnlyFunction('burn-height-to-reward-cycle', { height: 'uint128' }, 'uint128'),
  readOnlyFunction('current-pox-reward-cycle', {}, 'uint128'),
  readOnlyFunction(
    'get-pox-info',
    {},
    {
      response: {
        ok: tuple({
          'first-burnchain-block-height': 'uint128',
          'min-amount-ustx': 'uint128',
          'prepare-cycle-length': 'uint128',
          'reward-cycle-id': 'uint128',
          'reward-cycle-length': 'uint128',
          'total-liquid-supply-ustx': 'uint128',
        }),
        error: 'none',
      },
    },
  ),
  readOnlyFunction('reward-cycle-to-burn-height', { cycle: 'uint128' }, 'uint128'),
];

const stackable = {
  'pox-addr': poxAddressType,
  'amount-ustx': 'uint128',
  'first-reward-cycle': 'uint128',
  'num-cycles': 'uint128',
} satisfies Record<string, AbiType>;
const refusable: AbiType = { response: { ok: 'bool', error: 'int128' } };
const stackedType = tuple({ stacker: 'principal', 'total-locked': 'uint128' });
const lockedType = tuple({ 'lock-amount': 'uint128', stacker: 'principal', 'unlock-burn-height': 'uint128' });

const functions: ContractInterface['functions'] = [
  poxFunction(
    'delegate-stack-stx',
    {
      stacker: 'principal',
      'amount-ustx': 'uint128',
      'pox-addr': poxAddressType,
      'start-burn-ht': 'uint128',
      'lock-period': 'uint128',
    },
    lockedType,
  ),
  poxFunction('delegate-stx', {
    'amount-ustx': 'uint128',
    'delegate-to': 'principal',
    'until-burn-ht': { optional: 'uint128' },
    'pox-addr': { optional: poxAddressType },
  }),
  poxFunction('revoke-delegate-stx', {}, { optional: delegationType }),
  poxFunction('stack-aggregation-commit', { 'pox-addr': poxAddressType, 'reward-cycle': 'uint128', ...signerType }),
  poxFunction(
    'stack-aggregation-commit-indexed',
    { 'pox-addr': poxAddressType, 'reward-cycle': 'uint128', ...signerType },
    'uint128',
  ),
  poxFunction(
    'stack-extend',
    { 'extend-count': 'uint128', 'pox-addr': poxAddressType, ...signerType },
    tuple({ stacker: 'principal', 'unlock-burn-height': 'uint128' }),
  ),
  poxFunction('stack-increase', { 'increase-by': 'uint128', ...signerType }, stackedType),
  poxFunction(
    'stack-stx',
    {
      'amount-ustx': 'uint128',
      'pox-addr': poxAddressType,
      'start-burn-ht': 'uint128',
      'lock-period': 'uint128',
      ...signerType,
    },
    tuple({
      'lock-amount': 'uint128',
      'signer-key': { buffer: { length: 33 } },
      stacker: 'principal',
      'unlock-burn-height': 'uint128',
    }),
  ),
  ...sharedFunctions,
  readOnlyFunction('can-stack-stx', stackable, refusable),
  readOnlyFunction('get-check-delegation', { stacker: 'principal' }, { optional: delegationType }),
  readOnlyFunction('get-delegation-info', { stacker: 'principal' }, { optional: delegationType }),
  readOnlyFunction(
    'get-reward-set-pox-address',
    { 'reward-cycle': 'uint128', index: 'uint128' },
    {
      optional: tuple({
        'pox-addr': poxAddressType,
        signer: { buffer: { length: 33 } },
        stacker: { optional: 'principal' },
        'total-ustx': 'uint128',
      }),
    },
  ),
  readOnlyFunction('get-reward-set-size', { 'reward-cycle': 'uint128' }, 'uint128'),
  readOnlyFunction(
    'get-stacker-info',
    { stacker: 'principal' },
    {
      optional: tuple({
        'delegated-to': { optional: 'principal' },
        'first-reward-cycle': 'uint128',
        'lock-period': 'uint128',
        'pox-addr': poxAddressType,
        'reward-set-indexes': { list: { type: 'uint128', length: 12 } },
      }),
    },
  ),
  readOnlyFunction('get-stacking-minimum', {}, 'uint128'),
  readOnlyFunction('get-total-ustx-stacked', { 'reward-cycle': 'uint128' }, 'uint128'),
  readOnlyFunction('minimal-can-stack-stx', stackable, refusable),
  readOnlyFunction(
    'verify-signer-key-sig',
    {
      'pox-addr': poxAddressType,
      'reward-cycle': 'uint128',
      topic: { 'string-ascii': { length: 14 } },
      period: 'uint128',
      'signer-sig-opt': { optional: { buffer: { length: 65 } } },
      'signer-key': { buffer: { length: 33 } },
      amount: 'uint128',
      'max-amount': 'uint128',
      'auth-id': 'uint128',
    },
    refusable,
  ),
];

type Values = readonly (ClarityValue | undefined)[];

/** Returns the signer's authorization: the last four arguments of calls that need one. */
function authorizationOf([signature, signerKey, maximum, authorization]: Values): Authorization {
  const signatureValue = someOf(signature);
  return {
    signerSignature: signatureValue === undefined ? undefined : bufferOf(signatureValue),
    signerKey: bufferOf(signerKey),
    maximum: uintOf(maximum),
    authorization: uintOf(authorization),
  };
}

/** Returns a period, limited because all invalid periods fail in the same way. */
const periodOf = (value: ClarityValue | undefined): number => Number(uintOf(value) > 1_000n ? 1_000n : uintOf(value));
/** Returns a cycle; -1 for unreachable cycles, which have no entries. */
const cycleOf = (value: ClarityValue | undefined): number => Number(uintOf(value) > 0xffff_ffffn ? -1n : uintOf(value));

const committed =
  (indexed: boolean) =>
  ([address, cycle, ...signer]: readonly ClarityValue[]): Pick<ContractCall, 'run'> => ({
    run: (at) => pox.commit(at.sender, address!.bytes, uintOf(cycle), authorizationOf(signer), indexed, at),
  });

/** The simulated functions of pox-4. */
export const pox4: ContractTemplate = {
  name: 'pox-4',
  clarityVersion: undefined,
  source: ';; The boot contract of stacking; its source is not part of the simulation.\n',
  isPartial: true,
  abi: contractInterface({
    clarity_version: 'Clarity2',
    epoch: 'Epoch25',
    functions,
    maps: [{ name: 'delegation-state', key: tuple({ stacker: 'principal' }), value: delegationType }],
  }),
  propose({ prng, world, sender, burnHeight, recipient }) {
    const amount = world.spendable(sender, burnHeight) / BigInt(prng.between(2, 5));
    if (prng.chance(0.3)) {
      const until = prng.chance(0.5) ? burnHeight + prng.between(20, 200) : undefined;
      const pool = recipient();
      return {
        functionName: 'delegate-stx',
        args: [clarity.uint(amount), clarity.principal(pool), optionalUint(until), clarity.none()],
        run: (at) => pox.delegate(at.sender, pool, amount, until, clarity.none(), at),
      };
    }
    const stacking: Stacking = {
      stacker: sender,
      amount,
      period: prng.between(1, 12),
      rewardAddress: poxAddress(prng.bytes(20)),
      signerKey: Uint8Array.of(prng.between(2, 3), ...prng.bytes(32)),
      signerSignature: prng.bytes(65),
      maximum: 2n ** 128n - 1n,
      authorization: BigInt(prng.u32()),
    };
    const args = stackArguments(stacking, burnHeight);
    return { functionName: 'stack-stx', args, run: (at) => pox.stack(stacking, at) };
  },
  calls: {
    'delegate-stack-stx': ([stacker, amount, address, start, period]) => {
      const named = { stacker: principalOf(stacker), amount: uintOf(amount), address: address!.bytes };
      return { run: (at) => pox.stackFor(at.sender, { ...named, period: uintOf(period) }, uintOf(start), at) };
    },
    'delegate-stx': ([amount, pool, until, address]) => {
      const height = someOf(until);
      const end = height === undefined ? undefined : uintOf(height);
      return { run: (at) => pox.delegateChecked(at.sender, principalOf(pool), uintOf(amount), end, address!, at) };
    },
    'revoke-delegate-stx': () => ({ run: (at) => pox.revokeDelegation(at.sender, at) }),
    'stack-aggregation-commit': committed(false),
    'stack-aggregation-commit-indexed': committed(true),
    'stack-extend': ([more, address, ...signer]) => ({
      run: (at) => pox.extend(at.sender, uintOf(more), address!.bytes, authorizationOf(signer), at),
    }),
    'stack-increase': ([more, ...signer]) => ({
      run: (at) => pox.increase(at.sender, uintOf(more), authorizationOf(signer), at),
    }),
    'stack-stx': ([amount, address, start, period, ...signer]) => {
      const named = { amount: uintOf(amount), period: periodOf(period), rewardAddress: address!.bytes };
      const by = authorizationOf(signer);
      return { run: (at) => pox.stackChecked({ ...named, ...by, stacker: at.sender }, uintOf(start), at) };
    },
  },
  reads: {
    ...sharedReads,
    'can-stack-stx': (_, [address, amount, , period]) =>
      pox.canStack(address!.bytes, uintOf(amount), uintOf(period), SLOT),
    'get-check-delegation': (at, [stacker]) => pox.delegationInfo(at, principalOf(stacker)),
    'get-delegation-info': (at, [stacker]) => pox.delegationInfo(at, principalOf(stacker)),
    'get-reward-set-pox-address': (at, [cycle, index]) => pox.slotInfo(at, cycleOf(cycle), cycleOf(index)),
    'get-reward-set-size': (at, [cycle]) => clarity.uint(pox.slotsOf(at, cycleOf(cycle))),
    'get-stacker-info': (at, [stacker]) => pox.stackerInfo(at, principalOf(stacker)),
    'get-stacking-minimum': () => clarity.uint(SLOT),
    'get-total-ustx-stacked': (at, [cycle]) => clarity.uint(pox.stackedIn(at, cycleOf(cycle))),
    'minimal-can-stack-stx': (_, [address, amount, , period]) =>
      pox.canStack(address!.bytes, uintOf(amount), uintOf(period), 0n),
    'verify-signer-key-sig': (at, [address, cycle, topic, period, signature, signerKey, amount, ...agreed]) =>
      pox.verifiedConsent(
        at,
        {
          topic: textOf(topic),
          address: address!.bytes,
          cycle: uintOf(cycle),
          period: uintOf(period),
          amount: uintOf(amount),
        },
        authorizationOf([signature, signerKey, ...agreed]),
      ),
  },
  maps: {
    'delegation-state': (context, key) => {
      const decoded = decodeClarity(key);
      const stacker = decoded.ok && decoded.value.type === 'tuple' ? decoded.value.value.get('stacker') : undefined;
      return stacker?.type === 'principal' ? pox.delegationOf(context, stacker.value) : undefined;
    },
  },
};

function stackArguments(stacking: Stacking, burnHeight: number): Uint8Array[] {
  const { signerSignature } = stacking;
  return [
    clarity.uint(stacking.amount),
    stacking.rewardAddress,
    clarity.uint(burnHeight),
    clarity.uint(stacking.period),
    signerSignature === undefined ? clarity.none() : clarity.some(clarity.buffer(signerSignature)),
    clarity.buffer(stacking.signerKey),
    clarity.uint(stacking.maximum),
    clarity.uint(stacking.authorization),
  ];
}
