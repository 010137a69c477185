/**
 * The simulated stacking contract pox-4. Clients can delegate, and read delegations. Only simulated users and operations
 * on Bitcoin stack.
 */
import { buffer, tupleOf } from '../../chain/pox/print.ts';
import { decodedOrThrow } from '../../codec/bytes-reader.ts';
import { clarityValueOf, decodeClarity, MAX_UINT } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import {
  type ArgumentsOf,
  type CallContext,
  type ChainEvent,
  type ContractTemplate,
  type Lock,
  networkContract,
  type Outcome,
  ok,
  publicFunction,
  type ReadContext,
  readOnlyFunction,
  runtimeError,
  tupleType,
  userCall,
  usersFunction,
} from '../contract.ts';
import { cycles, poxAddress, SLOT } from '../pox.ts';

/** Error codes of the contract, which are signed integers. */
const errors = {
  insufficientFunds: 1,
  alreadyStacked: 3,
  invalidAddress: 13,
  alreadyDelegated: 20,
  alreadyRevoked: 34,
} as const;

const refusal = (code: number): Outcome => ({ ok: false, result: clarity.err(clarity.int(code)), events: [] });

const TRUE = clarity.bool(true);

/** Returns the key of a delegation in the contract's storage. */
const delegationKey = (stacker: string): string => `delegation ${stacker}`;

/** A stacker's delegation to a pool. */
interface Delegation {
  readonly amount: string;
  readonly pool: string;
  /** Burn height; null for no end. */
  readonly until: number | null;
  /** The only reward address that the pool may use: a serialized optional in hex. */
  readonly address: string;
}

const optional = (value: Uint8Array | undefined) => (value === undefined ? clarity.none() : clarity.some(value));
const optionalUint = (value: number | undefined) => optional(value === undefined ? undefined : clarity.uint(value));

const delegationTuple = ({ amount, pool, until, address }: Delegation): Uint8Array =>
  clarity.tuple({
    'amount-ustx': clarity.uint(BigInt(amount)),
    'delegated-to': clarity.principal(pool),
    'pox-addr': Uint8Array.fromHex(address),
    'until-burn-ht': optionalUint(until ?? undefined),
  });

/** Returns a delegation, even if it has ended; undefined if there is none. */
function delegationOf({ world, contract }: Pick<ReadContext, 'world' | 'contract'>, stacker: string) {
  const text = world.stored(contract, delegationKey(stacker)) ?? '';
  return text === '' ? undefined : (JSON.parse(text) as Delegation);
}

/** Returns a delegation that hasn't ended. */
function activeDelegation(context: ReadContext, stacker: string): Delegation | undefined {
  const delegation = delegationOf(context, stacker);
  const { burnHeight } = context;
  return delegation === undefined || burnHeight > (delegation.until ?? burnHeight) ? undefined : delegation;
}

/**
 * Hash lengths by version of a reward address: four versions of hash160, one of them in a witness, and two of SHA-256.
 */
const hashLengths = [20, 20, 20, 20, 20, 32, 32];

function isAddress(address: Uint8Array): boolean {
  const fields = tupleOf(decodedOrThrow(decodeClarity(address)))!;
  const [version] = buffer('version')(fields);
  const length = version === undefined ? undefined : hashLengths[version];
  return length !== undefined && buffer('hashbytes')(fields).length === length;
}

const addressType = tupleType({ hashbytes: { buffer: { length: 32 } }, version: { buffer: { length: 1 } } });
/** Makes a function that runs a call while pox-4 is active. The node refuses the calls once pox-5 is active. */
const whileActive =
  <A>(run: (context: CallContext, args: A) => Outcome) =>
  (context: CallContext, args: A): Outcome =>
    context.world.isActive('pox-4', context.burnHeight)
      ? run(context, args)
      : runtimeError('Runtime(DefunctPoxContract, None)');

type Fields = Readonly<Record<string, Uint8Array>>;

/**
 * Returns the outcome of a call, with the print that the node makes: the stacker's state before the call, and the
 * call's data.
 */
function succeed(call: CallContext, name: string, data: Fields, result: Uint8Array, lock?: Lock): Outcome {
  const { world, contract, burnHeight, sender: stacker } = call;
  const previous = world.locked(stacker, burnHeight);
  const value = clarity.ok(
    clarity.tuple({
      balance: clarity.uint(world.spendable(stacker, burnHeight)),
      'burnchain-unlock-height': clarity.uint(previous?.unlockHeight ?? 0),
      data: clarity.tuple(data),
      locked: clarity.uint(previous?.amount ?? 0n),
      name: clarity.ascii(name),
      stacker: clarity.principal(stacker),
    }),
  );
  const events: ChainEvent[] = [{ type: 'contract_event', contract, value }];
  if (lock !== undefined) events.push({ type: 'stx_lock_event', address: stacker, ...lock, contract });
  return ok(result, ...events);
}

/** Returns a print's fields for cycles. Calls in the prepare phase take effect a cycle later. */
const cycleFields = (burnHeight: number, endHeight: number | undefined): Fields => ({
  'end-cycle-id': optionalUint(endHeight === undefined ? undefined : cycles.of(endHeight)),
  'start-cycle-id': clarity.uint(cycles.of(burnHeight) + 1 + (cycles.inPreparePhase(burnHeight) ? 1 : 0)),
});

const MAX_HEIGHT = 0xffff_ffffn;

const signerKey = { buffer: { length: 33 } };
const stackTypes = {
  'amount-ustx': 'uint128',
  'pox-addr': addressType,
  'start-burn-ht': 'uint128',
  'lock-period': 'uint128',
  'signer-sig': { optional: { buffer: { length: 65 } } },
  'signer-key': signerKey,
  'max-amount': 'uint128',
  'auth-id': 'uint128',
} as const;

/** The arguments of `stack-stx`. */
export type StackArguments = ArgumentsOf<typeof stackTypes>;

/** Runs `stack-stx`, without the signer's consent. The node adds a print and the lock. */
export const stackStx = whileActive((call, args: StackArguments) => {
  const { world, sender: stacker, burnHeight } = call;
  const { 'amount-ustx': amount, 'lock-period': period, 'signer-sig': signature } = args;
  if (world.locked(stacker, burnHeight) !== undefined) return refusal(errors.alreadyStacked);
  if (world.balance(stacker) < amount) return refusal(errors.insufficientFunds);
  const unlockHeight = cycles.startOf(cycles.of(burnHeight) + 1 + Number(period));
  const fields = {
    'lock-amount': clarity.uint(amount),
    'signer-key': clarity.buffer(args['signer-key']),
    'unlock-burn-height': clarity.uint(unlockHeight),
  };
  const data = {
    ...fields,
    ...cycleFields(burnHeight, unlockHeight),
    'auth-id': clarity.uint(args['auth-id']),
    'lock-period': clarity.uint(period),
    'max-amount': clarity.uint(args['max-amount']),
    'pox-addr': args['pox-addr'].bytes,
    'signer-sig': optional(signature && clarity.buffer(signature)),
    'start-burn-height': clarity.uint(burnHeight),
  };
  const result = clarity.tuple({ ...fields, stacker: clarity.principal(stacker) });
  return succeed(call, 'stack-stx', data, result, { amount, unlockHeight });
});

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
    ({ world, burnHeight }) =>
      clarity.ok(
        clarity.tuple({
          'first-burnchain-block-height': clarity.uint(0),
          'min-amount-ustx': clarity.uint(SLOT),
          'prepare-cycle-length': clarity.uint(cycles.prepareLength),
          'reward-cycle-id': clarity.uint(cycles.of(burnHeight)),
          'reward-cycle-length': clarity.uint(cycles.length),
          'total-liquid-supply-ustx': clarity.uint(world.supply()),
        }),
      ),
  ),
  'reward-cycle-to-burn-height': readOnlyFunction({ cycle: 'uint128' }, 'uint128', (_, { cycle }) =>
    clarity.uint(BigInt.asUintN(128, cycle * BigInt(cycles.length))),
  ),
};

const delegationType = tupleType({
  'amount-ustx': 'uint128',
  'delegated-to': 'principal',
  'pox-addr': { optional: addressType },
  'until-burn-ht': { optional: 'uint128' },
});
/** Declares `get-delegation-info`, which returns `none` once the delegation has ended. */
const delegationInfo = readOnlyFunction({ stacker: 'principal' }, { optional: delegationType }, (context, args) => {
  const delegation = activeDelegation(context, args.stacker);
  return optional(delegation && delegationTuple(delegation));
});

const functions = {
  // Allows a pool to lock up to an amount. Locks nothing yet.
  'delegate-stx': publicFunction(
    {
      'amount-ustx': 'uint128',
      'delegate-to': 'principal',
      'until-burn-ht': { optional: 'uint128' },
      'pox-addr': { optional: addressType },
    },
    whileActive(
      (call, { 'amount-ustx': amount, 'delegate-to': pool, 'until-burn-ht': until, 'pox-addr': rewardAddress }) => {
        const { sender: stacker, burnHeight } = call;
        if (call.user === undefined) {
          if (rewardAddress !== undefined && !isAddress(rewardAddress.bytes)) return refusal(errors.invalidAddress);
          if (activeDelegation(call, stacker) !== undefined) return refusal(errors.alreadyDelegated);
        }
        if (until !== undefined && until > MAX_HEIGHT) return runtimeError('Runtime(ArithmeticOverflow, None)');
        const [height, address] = [until === undefined ? undefined : Number(until), optional(rewardAddress?.bytes)];
        const delegation = { amount: String(amount), pool, until: height ?? null, address: address.toHex() };
        const data = {
          ...cycleFields(burnHeight, height),
          'amount-ustx': clarity.uint(amount),
          'delegate-to': clarity.principal(pool),
          'pox-addr': address,
          'unlock-burn-height': optionalUint(height),
        };
        const writes = [[delegationKey(stacker), JSON.stringify(delegation satisfies Delegation)]] as const;
        return { ...succeed(call, 'delegate-stx', data, TRUE), writes };
      },
    ),
    'bool',
    'int128',
  ),
  'revoke-delegate-stx': publicFunction(
    {},
    whileActive((call) => {
      const { sender: stacker, burnHeight } = call;
      const delegation = activeDelegation(call, stacker);
      if (delegation === undefined) return refusal(errors.alreadyRevoked);
      const data = {
        'delegate-to': clarity.principal(delegation.pool),
        'end-cycle-id': clarity.none(),
        'start-cycle-id': clarity.uint(cycles.of(burnHeight) + 1),
      };
      const outcome = succeed(call, 'revoke-delegate-stx', data, clarity.some(delegationTuple(delegation)));
      return { ...outcome, writes: [[delegationKey(stacker), '']] };
    }),
    { optional: delegationType },
    'int128',
  ),
  'stack-stx': usersFunction(
    stackTypes,
    stackStx,
    tupleType({
      'lock-amount': 'uint128',
      'signer-key': signerKey,
      stacker: 'principal',
      'unlock-burn-height': 'uint128',
    }),
    'int128',
  ),
  ...sharedFunctions,
  'get-check-delegation': delegationInfo,
  'get-delegation-info': delegationInfo,
};

/** The simulated functions of pox-4. */
export const pox4: ContractTemplate = {
  ...networkContract('pox-4', 'The boot contract of stacking', functions, {
    clarity_version: 'Clarity2',
    epoch: 'Epoch25',
    maps: [{ name: 'delegation-state', key: tupleType({ stacker: 'principal' }), value: delegationType }],
  }),
  propose({ prng, world, sender, burnHeight, recipient }) {
    const amount = world.spendable(sender, burnHeight) / BigInt(prng.between(2, 5));
    if (prng.chance(0.3)) {
      const until = prng.chance(0.5) ? BigInt(burnHeight + prng.between(20, 200)) : undefined;
      const args = { 'amount-ustx': amount, 'delegate-to': recipient(), 'until-burn-ht': until, 'pox-addr': undefined };
      return userCall(functions, 'delegate-stx', args);
    }
    return userCall(functions, 'stack-stx', {
      'amount-ustx': amount,
      'start-burn-ht': BigInt(burnHeight),
      'lock-period': BigInt(prng.between(1, 12)),
      'pox-addr': { bytes: poxAddress(prng.bytes(20)) },
      'signer-key': Uint8Array.of(prng.between(2, 3), ...prng.bytes(32)),
      'signer-sig': prng.bytes(65),
      'max-amount': MAX_UINT,
      'auth-id': BigInt(prng.u32()),
    });
  },
  maps: {
    'delegation-state': (context, entry) => {
      const value = clarityValueOf(entry);
      const stacker = value?.type === 'tuple' ? value.value.get('stacker') : undefined;
      if (stacker?.type !== 'principal') return undefined;
      const delegation = delegationOf(context, stacker.value);
      return delegation && delegationTuple(delegation);
    },
  },
};
