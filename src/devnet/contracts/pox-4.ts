import { decodeClarity } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { MAX_UINT } from '../../codec/clarity-integers.ts';
import {
  type ArgumentsOf,
  type CallContext,
  type ContractTemplate,
  contractInterface,
  interfaceOf,
  type Outcome,
  publicFunction,
  readOnlyFunction,
  tupleType,
  userCall,
} from '../contract.ts';
import * as pox from '../pox.ts';
import { type Authorization, cycles, poxAddress, SLOT, type Stacking } from '../pox.ts';

const addressType = tupleType({ hashbytes: { buffer: { length: 32 } }, version: { buffer: { length: 1 } } });
const key = { buffer: { length: 33 } };

const signerType = {
  'signer-sig': { optional: { buffer: { length: 65 } } },
  'signer-key': key,
  'max-amount': 'uint128',
  'auth-id': 'uint128',
} as const;

const delegationType = tupleType({
  'amount-ustx': 'uint128',
  'delegated-to': 'principal',
  'pox-addr': { optional: addressType },
  'until-burn-ht': { optional: 'uint128' },
});

/** Declares a public function. Errors of this contract are signed integers. */
const poxFunction = <A extends Parameters<typeof publicFunction>[0]>(
  args: A,
  run: (at: CallContext, args: ArgumentsOf<A>) => Outcome,
  okType: Parameters<typeof publicFunction>[2] = 'bool',
) => publicFunction(args, run, okType, 'int128');

/** Functions that pox-4 and pox-5 share. */
export const sharedFunctions = {
  'burn-height-to-reward-cycle': readOnlyFunction({ height: 'uint128' }, 'uint128', (_, { height }) =>
    clarity.uint(height / BigInt(cycles.length)),
  ),
  'current-pox-reward-cycle': readOnlyFunction({}, 'uint128', ({ burnHeight }) => clarity.uint(cycles.of(burnHeight))),
  'get-pox-info': readOnlyFunction(
    {},
    {
      response: {
        ok: tupleType({
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
    pox.poxInfo,
  ),
  'reward-cycle-to-burn-height': readOnlyFunction({ cycle: 'uint128' }, 'uint128', (_, { cycle }) =>
    clarity.uint(BigInt.asUintN(128, cycle * BigInt(cycles.length))),
  ),
};

const stackable = {
  'pox-addr': addressType,
  'amount-ustx': 'uint128',
  'first-reward-cycle': 'uint128',
  'num-cycles': 'uint128',
} as const;
const refusable = { response: { ok: 'bool', error: 'int128' } } as const;
const committed = { 'pox-addr': addressType, 'reward-cycle': 'uint128', ...signerType } as const;

/** Returns the signer's authorization in the arguments of a call. */
const authorizationIn = (given: ArgumentsOf<typeof signerType>): Authorization => ({
  signerSignature: given['signer-sig'],
  signerKey: given['signer-key'],
  maximum: given['max-amount'],
  authorization: given['auth-id'],
});

/** Returns a period, limited because all invalid periods fail in the same way. */
const periodOf = (period: bigint): number => Number(period > 1_000n ? 1_000n : period);
/** Returns a cycle; -1 for unreachable cycles, which have no entries. */
const cycleOf = (cycle: bigint): number => Number(cycle > 0xffff_ffffn ? -1n : cycle);

const functions = {
  'delegate-stack-stx': poxFunction(
    {
      stacker: 'principal',
      'amount-ustx': 'uint128',
      'pox-addr': addressType,
      'start-burn-ht': 'uint128',
      'lock-period': 'uint128',
    },
    (at, { stacker, 'amount-ustx': amount, 'lock-period': period, ...given }) => {
      const address = given['pox-addr'].bytes;
      return pox.stackFor(at.sender, { stacker, amount, address, period }, given['start-burn-ht'], at);
    },
    tupleType({ 'lock-amount': 'uint128', stacker: 'principal', 'unlock-burn-height': 'uint128' }),
  ),
  'delegate-stx': poxFunction(
    {
      'amount-ustx': 'uint128',
      'delegate-to': 'principal',
      'until-burn-ht': { optional: 'uint128' },
      'pox-addr': { optional: addressType },
    },
    (at, { 'amount-ustx': amount, 'delegate-to': pool, 'until-burn-ht': until, 'pox-addr': address }) =>
      pox.delegateChecked(at.sender, pool, amount, until, address?.bytes, at),
  ),
  'revoke-delegate-stx': poxFunction({}, (at) => pox.revokeDelegation(at.sender, at), { optional: delegationType }),
  'stack-aggregation-commit': poxFunction(committed, (at, given) =>
    pox.commit(at.sender, given['pox-addr'].bytes, given['reward-cycle'], authorizationIn(given), false, at),
  ),
  'stack-aggregation-commit-indexed': poxFunction(
    committed,
    (at, given) =>
      pox.commit(at.sender, given['pox-addr'].bytes, given['reward-cycle'], authorizationIn(given), true, at),
    'uint128',
  ),
  'stack-extend': poxFunction(
    { 'extend-count': 'uint128', 'pox-addr': addressType, ...signerType },
    (at, given) => pox.extend(at.sender, given['extend-count'], given['pox-addr'].bytes, authorizationIn(given), at),
    tupleType({ stacker: 'principal', 'unlock-burn-height': 'uint128' }),
  ),
  'stack-increase': poxFunction(
    { 'increase-by': 'uint128', ...signerType },
    (at, given) => pox.increase(at.sender, given['increase-by'], authorizationIn(given), at),
    tupleType({ stacker: 'principal', 'total-locked': 'uint128' }),
  ),
  'stack-stx': poxFunction(
    {
      'amount-ustx': 'uint128',
      'pox-addr': addressType,
      'start-burn-ht': 'uint128',
      'lock-period': 'uint128',
      ...signerType,
    },
    (at, given) => {
      const { 'amount-ustx': amount, 'pox-addr': address, 'lock-period': period } = given;
      const named = { stacker: at.sender, amount, rewardAddress: address.bytes, period: periodOf(period) };
      return pox.stackChecked({ ...named, ...authorizationIn(given) }, given['start-burn-ht'], at);
    },
    tupleType({
      'lock-amount': 'uint128',
      'signer-key': key,
      stacker: 'principal',
      'unlock-burn-height': 'uint128',
    }),
  ),
  ...sharedFunctions,
  'can-stack-stx': readOnlyFunction(stackable, refusable, (_, given) =>
    pox.canStack(given['pox-addr'].bytes, given['amount-ustx'], given['num-cycles'], SLOT),
  ),
  'get-check-delegation': readOnlyFunction({ stacker: 'principal' }, { optional: delegationType }, (at, { stacker }) =>
    pox.delegationInfo(at, stacker),
  ),
  'get-delegation-info': readOnlyFunction({ stacker: 'principal' }, { optional: delegationType }, (at, { stacker }) =>
    pox.delegationInfo(at, stacker),
  ),
  'get-reward-set-pox-address': readOnlyFunction(
    { 'reward-cycle': 'uint128', index: 'uint128' },
    {
      optional: tupleType({
        'pox-addr': addressType,
        signer: key,
        stacker: { optional: 'principal' },
        'total-ustx': 'uint128',
      }),
    },
    (at, { 'reward-cycle': cycle, index }) => pox.slotInfo(at, cycleOf(cycle), cycleOf(index)),
  ),
  'get-reward-set-size': readOnlyFunction({ 'reward-cycle': 'uint128' }, 'uint128', (at, { 'reward-cycle': cycle }) =>
    clarity.uint(pox.slotsOf(at, cycleOf(cycle))),
  ),
  'get-stacker-info': readOnlyFunction(
    { stacker: 'principal' },
    {
      optional: tupleType({
        'delegated-to': { optional: 'principal' },
        'first-reward-cycle': 'uint128',
        'lock-period': 'uint128',
        'pox-addr': addressType,
        'reward-set-indexes': { list: { type: 'uint128', length: 12 } },
      }),
    },
    (at, { stacker }) => pox.stackerInfo(at, stacker),
  ),
  'get-stacking-minimum': readOnlyFunction({}, 'uint128', () => clarity.uint(SLOT)),
  'get-total-ustx-stacked': readOnlyFunction(
    { 'reward-cycle': 'uint128' },
    'uint128',
    (at, { 'reward-cycle': cycle }) => clarity.uint(pox.stackedIn(at, cycleOf(cycle))),
  ),
  'minimal-can-stack-stx': readOnlyFunction(stackable, refusable, (_, given) =>
    pox.canStack(given['pox-addr'].bytes, given['amount-ustx'], given['num-cycles'], 0n),
  ),
  'verify-signer-key-sig': readOnlyFunction(
    {
      'pox-addr': addressType,
      'reward-cycle': 'uint128',
      topic: { 'string-ascii': { length: 14 } },
      period: 'uint128',
      'signer-sig-opt': { optional: { buffer: { length: 65 } } },
      'signer-key': key,
      amount: 'uint128',
      'max-amount': 'uint128',
      'auth-id': 'uint128',
    },
    refusable,
    (
      at,
      { 'pox-addr': address, 'reward-cycle': cycle, topic, period, amount, 'signer-sig-opt': signature, ...given },
    ) =>
      pox.verifiedConsent(
        at,
        { topic: topic.bytes, address: address.bytes, cycle, period, amount },
        authorizationIn({ ...given, 'signer-sig': signature }),
      ),
  ),
};

/** The simulated functions of pox-4. */
export const pox4: ContractTemplate = {
  name: 'pox-4',
  clarityVersion: undefined,
  source: ';; The boot contract of stacking; its source is not part of the simulation.\n',
  isPartial: true,
  abi: contractInterface({
    clarity_version: 'Clarity2',
    epoch: 'Epoch25',
    functions: interfaceOf(functions),
    maps: [{ name: 'delegation-state', key: tupleType({ stacker: 'principal' }), value: delegationType }],
  }),
  functions,
  propose({ prng, world, sender, burnHeight, recipient }) {
    const amount = world.spendable(sender, burnHeight) / BigInt(prng.between(2, 5));
    if (prng.chance(0.3)) {
      const until = prng.chance(0.5) ? burnHeight + prng.between(20, 200) : undefined;
      const pool = recipient();
      const end = until === undefined ? undefined : BigInt(until);
      return userCall(
        functions,
        'delegate-stx',
        { 'amount-ustx': amount, 'delegate-to': pool, 'until-burn-ht': end, 'pox-addr': undefined },
        { run: (at) => pox.delegate(at.sender, pool, amount, until, clarity.none(), at) },
      );
    }
    const stacking: Stacking & { signerSignature: Uint8Array } = {
      stacker: sender,
      amount,
      period: prng.between(1, 12),
      rewardAddress: poxAddress(prng.bytes(20)),
      signerKey: Uint8Array.of(prng.between(2, 3), ...prng.bytes(32)),
      signerSignature: prng.bytes(65),
      maximum: MAX_UINT,
      authorization: BigInt(prng.u32()),
    };
    return userCall(
      functions,
      'stack-stx',
      {
        'amount-ustx': amount,
        'pox-addr': { bytes: stacking.rewardAddress },
        'start-burn-ht': BigInt(burnHeight),
        'lock-period': BigInt(stacking.period),
        'signer-sig': stacking.signerSignature,
        'signer-key': stacking.signerKey,
        'max-amount': stacking.maximum,
        'auth-id': stacking.authorization,
      },
      { run: (at) => pox.stack(stacking, at) },
    );
  },
  maps: {
    'delegation-state': (context, entry) => {
      const decoded = decodeClarity(entry);
      const stacker = decoded.ok && decoded.value.type === 'tuple' ? decoded.value.value.get('stacker') : undefined;
      return stacker?.type === 'principal' ? pox.delegationOf(context, stacker.value) : undefined;
    },
  },
};
