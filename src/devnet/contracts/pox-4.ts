/** The simulated stacking contract pox-4, for contract calls and for operations on Bitcoin. */
import { bytesEqual } from '../../base/bytes-equal.ts';
import { buffer, tupleOf } from '../../chain/pox/print.ts';
import { decodedOrThrow } from '../../codec/bytes-reader.ts';
import { decodeClarity, MAX_UINT } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { sha256 } from '../../codec/hash.ts';
import { utf8Bytes } from '../../codec/utf8.ts';
import { concat } from '../bytes.ts';
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
} from '../contract.ts';
import { networks } from '../network.ts';
import { cycles, poxAddress, SLOT } from '../pox.ts';
import { recoverKey, SignatureError } from '../signature-check.ts';

/** Error codes of the contract, which are signed integers. */
const errors = {
  insufficientFunds: 1,
  invalidLockPeriod: 2,
  alreadyStacked: 3,
  noSuchPrincipal: 4,
  permissionDenied: 9,
  thresholdNotMet: 11,
  invalidAddress: 13,
  invalidAmount: 18,
  notAllowed: 19,
  alreadyDelegated: 20,
  delegationExpires: 21,
  delegatedTooLittle: 22,
  addressRequired: 23,
  invalidStart: 24,
  extendNotLocked: 26,
  increaseNotLocked: 27,
  isDelegated: 30,
  alreadyRevoked: 34,
  otherSigner: 35,
  unreadableSignature: 36,
  aboveMaximum: 38,
  authorizationUsed: 39,
} as const;

/** Thrown to end a call with an error of the contract. */
class PoxError extends Error {
  override readonly name = 'PoxError';
  constructor(readonly code: number) {
    super(`pox-4 refuses with ${code}`);
  }
}

function require(holds: boolean, code: number): asserts holds {
  if (!holds) throw new PoxError(code);
}

/** Runs a call, and converts a PoxError to its outcome. */
function catchPoxError(work: () => Outcome): Outcome {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PoxError)) throw error;
    return { ok: false, result: clarity.err(clarity.int(error.code)), events: [] };
  }
}

const TRUE = clarity.bool(true);

/** Returns the response of a read-only function that only checks. @param check throws the contract's error */
const checkResponse = (check: () => void): Uint8Array =>
  catchPoxError(() => {
    check();
    return ok(TRUE);
  }).result;

type Contract = Pick<ReadContext, 'world' | 'contract'>;

/** A call's reads and writes of the contract's storage. */
class Draft {
  readonly #written = new Map<string, string>();

  constructor(readonly context: Contract) {}

  get(key: string): string | undefined {
    return this.#written.get(key) ?? this.context.world.stored(this.context.contract, key);
  }

  /** Parses a stored value as JSON; returns undefined if there is none. */
  parsed<T>(key: string): T | undefined {
    const text = this.get(key) ?? '';
    return text === '' ? undefined : (JSON.parse(text) as T);
  }

  set(key: string, value: string | Stacker | Slot | Delegation): void {
    this.#written.set(key, typeof value === 'string' ? value : JSON.stringify(value));
  }

  get writes(): [key: string, value: string][] {
    return [...this.#written];
  }
}

/** Keys in the contract's storage. Addresses are serialized tuples in hex. */
const key = {
  delegation: (stacker: string) => `delegation ${stacker}`,
  stacker: (stacker: string) => `stacker ${stacker}`,
  slots: (cycle: number) => `slots ${cycle}`,
  slot: (cycle: number, index: number) => `slot ${cycle} ${index}`,
  partial: (pool: string, address: Uint8Array, cycle: number) => `partial ${pool} ${address.toHex()} ${cycle}`,
  used: (hash: Uint8Array, signerKey: Uint8Array) => `used ${hash.toHex()} ${signerKey.toHex()}`,
} as const;

/** A stacker's entry of the map `stacking-state`. */
interface Stacker {
  readonly address: string;
  readonly firstCycle: number;
  readonly period: number;
  /** Indexes of its slots from its first cycle on; empty for members of a pool. */
  readonly slots: readonly number[];
  readonly pool: string | null;
}

/** An entry of a cycle's reward set. */
interface Slot {
  readonly address: string;
  /** Micro-STX. */
  readonly amount: string;
  readonly stacker: string | null;
  /** Key of the signer, in hex. */
  readonly signer: string;
}

/** A stacker's delegation to a pool. */
interface Delegation {
  readonly amount: string;
  readonly pool: string;
  /** Burn height; null for no end. */
  readonly until: number | null;
  /** The only reward address that the pool may use: a serialized optional in hex. */
  readonly address: string;
}

const bytesOf = (hex: string): Uint8Array => Uint8Array.fromHex(hex);
const optional = (value: Uint8Array | undefined) => (value === undefined ? clarity.none() : clarity.some(value));
const optionalUint = (value: number | undefined) => optional(value === undefined ? undefined : clarity.uint(value));
const optionalPrincipal = (text: string | null) => optional(text === null ? undefined : clarity.principal(text));

/** Returns the entry of a stacker whose lock hasn't ended. */
function stackerOf(state: Draft, principal: string, burnHeight: number): Stacker | undefined {
  const stacker = state.parsed<Stacker>(key.stacker(principal));
  return stacker === undefined || stacker.firstCycle + stacker.period <= cycles.of(burnHeight) ? undefined : stacker;
}

/** Returns the number of entries in a cycle's reward set. */
const slotCount = (state: Draft, cycle: number): number => Number(state.get(key.slots(cycle)) ?? '0');

/** Adds an entry to the reward set of each cycle. @returns the entries' indexes */
function addSlots(state: Draft, slot: Slot, firstCycle: number, count: number): number[] {
  return Array.from({ length: count }, (_, offset) => {
    const cycle = firstCycle + offset;
    const index = slotCount(state, cycle);
    state.set(key.slot(cycle, index), slot);
    state.set(key.slots(cycle), String(index + 1));
    return index;
  });
}

const delegationTuple = ({ amount, pool, until, address }: Delegation): Uint8Array =>
  clarity.tuple({
    'amount-ustx': clarity.uint(BigInt(amount)),
    'delegated-to': clarity.principal(pool),
    'pox-addr': bytesOf(address),
    'until-burn-ht': optionalUint(until ?? undefined),
  });

/** Returns a delegation that hasn't ended. */
function activeDelegation(state: Draft, stacker: string, burnHeight: number): Delegation | undefined {
  const delegation = state.parsed<Delegation>(key.delegation(stacker));
  return delegation === undefined || burnHeight > (delegation.until ?? burnHeight) ? undefined : delegation;
}

/**
 * Hash lengths by version of a reward address: four versions of hash160, one of them in a witness, and two of SHA-256.
 */
const hashLengths = [20, 20, 20, 20, 20, 32, 32];

function requireAddress(address: Uint8Array): void {
  const fields = tupleOf(decodedOrThrow(decodeClarity(address)))!;
  const [version] = buffer('version')(fields);
  const length = version === undefined ? undefined : hashLengths[version];
  require(length !== undefined && buffer('hashbytes')(fields).length === length, errors.invalidAddress);
}

/** Runs the checks of `can-stack-stx`. @throws the contract's error @param minimum micro-STX */
function requireStackable(address: Uint8Array, amount: bigint, period: bigint, minimum: bigint): void {
  require(amount >= minimum, errors.thresholdNotMet);
  require(amount > 0n, errors.invalidAmount);
  require(period >= 1n && period <= 12n, errors.invalidLockPeriod);
  requireAddress(address);
}

const addressType = tupleType({ hashbytes: { buffer: { length: 32 } }, version: { buffer: { length: 1 } } });
const signerKey = { buffer: { length: 33 } };

const signerType = {
  'signer-sig': { optional: { buffer: { length: 65 } } },
  'signer-key': signerKey,
  'max-amount': 'uint128',
  'auth-id': 'uint128',
} as const;

/** A signer's authorization: its key, its signature (r, s and the recovery id), and the maximum amount in micro-STX. */
type Authorization = ArgumentsOf<typeof signerType>;

/** The terms that a signer must have signed. */
interface Consent {
  /** A serialized ASCII string. */
  readonly topic: Uint8Array;
  readonly address: Uint8Array;
  readonly cycle: bigint;
  readonly period: bigint;
  readonly amount: bigint;
}

const SIP018_PREFIX = utf8Bytes('SIP018');

/** Returns the hash that a signer signs (SIP-018). */
function authorizationHash(contract: string, { topic, address, cycle, period }: Consent, authorization: Authorization) {
  const { chainId } = contract.startsWith(`${networks.mainnet.boot}.`) ? networks.mainnet : networks.testnet;
  const domain = clarity.tuple({
    name: clarity.ascii('pox-4-signer'),
    version: clarity.ascii('1.0.0'),
    'chain-id': clarity.uint(chainId),
  });
  const message = clarity.tuple({
    'pox-addr': address,
    'reward-cycle': clarity.uint(cycle),
    topic,
    period: clarity.uint(period),
    'auth-id': clarity.uint(authorization['auth-id']),
    'max-amount': clarity.uint(authorization['max-amount']),
  });
  return sha256(concat(SIP018_PREFIX, sha256(domain), sha256(message)));
}

/** Runs `verify-signer-key-sig`, and marks the authorization as used. */
function requireConsent(state: Draft, consent: Consent, authorization: Authorization): void {
  const signature = authorization['signer-sig'];
  require(authorization['max-amount'] >= consent.amount, errors.aboveMaximum);
  const hash = authorizationHash(state.context.contract, consent, authorization);
  const used = key.used(hash, authorization['signer-key']);
  require(state.get(used) === undefined, errors.authorizationUsed);
  // Authorizations on the chain (set-signer-key-authorization) are not simulated.
  require(signature !== undefined, errors.notAllowed);
  const last = signature[64];
  require(signature.length === 65 && last !== undefined, errors.unreadableSignature);
  let recoveredKey: Uint8Array;
  try {
    recoveredKey = recoverKey(concat(Uint8Array.of(last), signature.subarray(0, 64)), hash).toBytes(true);
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    throw new PoxError(errors.unreadableSignature);
  }
  require(bytesEqual(recoveredKey, authorization['signer-key']), errors.otherSigner);
  state.set(used, 'yes');
}

/** A call, with its draft of the state and its reward cycle. */
interface PoxCall extends CallContext {
  readonly state: Draft;
  readonly cycle: number;
}

/** Makes a function that runs a call while pox-4 is active. The node refuses the calls once pox-5 is active. */
const whileActive =
  <A>(run: (call: PoxCall, args: A) => Outcome) =>
  (context: CallContext, args: A): Outcome =>
    context.world.isActive('pox-4', context.burnHeight)
      ? catchPoxError(() => run({ ...context, state: new Draft(context), cycle: cycles.of(context.burnHeight) }, args))
      : runtimeError('Runtime(DefunctPoxContract, None)');

type Fields = Readonly<Record<string, Uint8Array>>;

/**
 * Returns the outcome of a call, with the print that the node makes: the stacker's state before the call, and the
 * call's data.
 */
function succeed(call: PoxCall, name: string, stacker: string, data: Fields, result: Uint8Array, lock?: Lock): Outcome {
  const { world, contract, burnHeight, state } = call;
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
  return { ...ok(result, ...events), writes: state.writes };
}

/** Returns a print's fields for cycles. Calls in the prepare phase take effect a cycle later. */
const cycleFields = (burnHeight: number, endHeight: number | undefined): Fields => ({
  'end-cycle-id': optionalUint(endHeight === undefined ? undefined : cycles.of(endHeight)),
  'start-cycle-id': clarity.uint(cycles.of(burnHeight) + 1 + (cycles.inPreparePhase(burnHeight) ? 1 : 0)),
});

const authorizationFields = (authorization: Authorization): Fields => ({
  'auth-id': clarity.uint(authorization['auth-id']),
  'max-amount': clarity.uint(authorization['max-amount']),
  'signer-key': clarity.buffer(authorization['signer-key']),
  'signer-sig': optional(authorization['signer-sig'] && clarity.buffer(authorization['signer-sig'])),
});

/** Returns a period, limited because all invalid periods fail in the same way. */
const periodOf = (period: bigint): number => Number(period > 1_000n ? 1_000n : period);
/** Returns a cycle; -1 for unreachable cycles, which have no entries. */
const cycleOf = (cycle: bigint): number => Number(cycle > 0xffff_ffffn ? -1n : cycle);
const MAX_HEIGHT = 0xffff_ffffn;

const stackTypes = {
  'amount-ustx': 'uint128',
  'pox-addr': addressType,
  'start-burn-ht': 'uint128',
  'lock-period': 'uint128',
  ...signerType,
} as const;

/** The arguments of `stack-stx`. */
export type StackArguments = ArgumentsOf<typeof stackTypes>;

/** Runs `stack-stx`. Calls of simulated users and operations on Bitcoin need no signer. The node adds a print and the lock. */
export const stackStx = whileActive((call, args: StackArguments) => {
  const { state, world, sender: stacker, burnHeight, cycle } = call;
  const { 'amount-ustx': amount, 'pox-addr': rewardAddress } = args;
  const period = periodOf(args['lock-period']);
  if (call.user === undefined) {
    require(args['start-burn-ht'] / BigInt(cycles.length) === BigInt(cycle), errors.invalidStart);
    require(stackerOf(state, stacker, burnHeight) === undefined, errors.alreadyStacked);
    require(activeDelegation(state, stacker, burnHeight) === undefined, errors.alreadyDelegated);
    require(world.spendable(stacker, burnHeight) >= amount, errors.insufficientFunds);
    const terms = { topic: clarity.ascii('stack-stx'), address: rewardAddress.bytes, cycle: BigInt(cycle) };
    requireConsent(state, { ...terms, period: BigInt(period), amount }, args);
    requireStackable(rewardAddress.bytes, amount, BigInt(period), SLOT);
  }
  require(world.locked(stacker, burnHeight) === undefined, errors.alreadyStacked);
  require(world.balance(stacker) >= amount, errors.insufficientFunds);
  const firstCycle = cycle + 1;
  const unlockHeight = cycles.startOf(firstCycle + period);
  const address = rewardAddress.bytes.toHex();
  const slot = { address, amount: String(amount), stacker, signer: args['signer-key'].toHex() };
  const slots = addSlots(state, slot, firstCycle, period);
  state.set(key.stacker(stacker), { address, firstCycle, period, slots, pool: null });
  const data = {
    ...authorizationFields(args),
    ...cycleFields(burnHeight, unlockHeight),
    'lock-amount': clarity.uint(amount),
    'lock-period': clarity.uint(period),
    'pox-addr': rewardAddress.bytes,
    'start-burn-height': clarity.uint(burnHeight),
    'unlock-burn-height': clarity.uint(unlockHeight),
  };
  const result = clarity.tuple({
    'lock-amount': clarity.uint(amount),
    'signer-key': clarity.buffer(args['signer-key']),
    stacker: clarity.principal(stacker),
    'unlock-burn-height': clarity.uint(unlockHeight),
  });
  return succeed(call, 'stack-stx', stacker, data, result, { amount, unlockHeight });
});

const poxFunction = <A extends Parameters<typeof publicFunction>[0]>(
  args: A,
  run: (call: PoxCall, args: ArgumentsOf<A>) => Outcome,
  okType: Parameters<typeof publicFunction>[2] = 'bool',
) => publicFunction(args, whileActive(run), okType, 'int128');

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
const refusable = { response: { ok: 'bool', error: 'int128' } } as const;
const commitTypes = { 'pox-addr': addressType, 'reward-cycle': 'uint128', ...signerType } as const;

/** Declares `can-stack-stx`, or `minimal-can-stack-stx` with a minimum of 0 micro-STX. */
const canStack = (minimum: bigint) =>
  readOnlyFunction(
    { 'pox-addr': addressType, 'amount-ustx': 'uint128', 'first-reward-cycle': 'uint128', 'num-cycles': 'uint128' },
    refusable,
    (_, args) =>
      checkResponse(() => requireStackable(args['pox-addr'].bytes, args['amount-ustx'], args['num-cycles'], minimum)),
  );

/** Declares `get-delegation-info`, which returns `none` once the delegation has ended. */
const delegationInfo = readOnlyFunction({ stacker: 'principal' }, { optional: delegationType }, (context, args) => {
  const delegation = activeDelegation(new Draft(context), args.stacker, context.burnHeight);
  return optional(delegation && delegationTuple(delegation));
});

/**
 * Makes a reward slot of the STX that members of the calling pool locked.
 * @param name of the function @param resultOf returns the result, from the slot's index
 */
const commit =
  (name: string, resultOf: (index: number) => Uint8Array) => (call: PoxCall, args: ArgumentsOf<typeof commitTypes>) => {
    const { state, sender: pool } = call;
    const {
      'reward-cycle': cycle,
      'pox-addr': { bytes: address },
    } = args;
    require(cycle <= MAX_HEIGHT, errors.noSuchPrincipal);
    const partial = key.partial(pool, address, Number(cycle));
    const amount = BigInt(state.get(partial) ?? '0');
    require(amount > 0n, errors.noSuchPrincipal);
    requireConsent(state, { topic: clarity.ascii('agg-commit'), address, cycle, period: 1n, amount }, args);
    requireStackable(address, amount, 1n, SLOT);
    const slot = {
      address: address.toHex(),
      amount: String(amount),
      stacker: null,
      signer: args['signer-key'].toHex(),
    };
    const [index = 0] = addSlots(state, slot, Number(cycle), 1);
    state.set(partial, '0');
    const isLate = cycle === BigInt(call.cycle + 1) && cycles.inPreparePhase(call.burnHeight);
    const data = {
      ...authorizationFields(args),
      'amount-ustx': clarity.uint(amount),
      delegator: clarity.principal(pool),
      'end-cycle-id': clarity.some(clarity.uint(cycle + 1n)),
      'pox-addr': address,
      'reward-cycle': clarity.uint(cycle),
      'start-cycle-id': clarity.uint(cycle + (isLate ? 1n : 0n)),
    };
    return succeed(call, name, pool, data, resultOf(index));
  };

const functions = {
  // A pool locks STX that a stacker delegated to it.
  'delegate-stack-stx': poxFunction(
    {
      stacker: 'principal',
      'amount-ustx': 'uint128',
      'pox-addr': addressType,
      'start-burn-ht': 'uint128',
      'lock-period': 'uint128',
    },
    (call, { stacker, 'amount-ustx': amount, 'lock-period': period, 'start-burn-ht': start, ...rest }) => {
      const { state, world, burnHeight, sender: pool } = call;
      const address = rest['pox-addr'].bytes;
      const firstCycle = call.cycle + 1;
      require(start / BigInt(cycles.length) === BigInt(call.cycle), errors.invalidStart);
      const delegation = activeDelegation(state, stacker, burnHeight);
      require(delegation?.pool === pool, errors.permissionDenied);
      require(BigInt(delegation.amount) >= amount, errors.delegatedTooLittle);
      const allowed = decodedOrThrow(decodeClarity(bytesOf(delegation.address)));
      require(allowed.type !== 'some' || bytesEqual(allowed.value.bytes, address), errors.addressRequired);
      requireStackable(address, amount, period, 0n);
      const unlockHeight = cycles.startOf(firstCycle + Number(period));
      require(delegation.until === null || delegation.until >= unlockHeight, errors.delegationExpires);
      require(stackerOf(state, stacker, burnHeight) === undefined, errors.alreadyStacked);
      require(world.spendable(stacker, burnHeight) >= amount, errors.insufficientFunds);
      for (let cycle = firstCycle; cycle < firstCycle + Number(period); cycle++) {
        const partial = key.partial(pool, address, cycle);
        state.set(partial, String(BigInt(state.get(partial) ?? '0') + amount));
      }
      const stacking = { address: address.toHex(), firstCycle, period: Number(period), slots: [], pool };
      state.set(key.stacker(stacker), stacking);
      const result = {
        'lock-amount': clarity.uint(amount),
        stacker: clarity.principal(stacker),
        'unlock-burn-height': clarity.uint(unlockHeight),
      };
      const data = {
        ...result,
        ...cycleFields(burnHeight, unlockHeight),
        delegator: clarity.principal(pool),
        'lock-period': clarity.uint(period),
        'pox-addr': address,
        'start-burn-height': clarity.uint(start),
      };
      return succeed(call, 'delegate-stack-stx', stacker, data, clarity.tuple(result), { amount, unlockHeight });
    },
    tupleType({ 'lock-amount': 'uint128', stacker: 'principal', 'unlock-burn-height': 'uint128' }),
  ),
  // Allows a pool to lock up to an amount. Locks nothing yet.
  'delegate-stx': poxFunction(
    {
      'amount-ustx': 'uint128',
      'delegate-to': 'principal',
      'until-burn-ht': { optional: 'uint128' },
      'pox-addr': { optional: addressType },
    },
    (call, { 'amount-ustx': amount, 'delegate-to': pool, 'until-burn-ht': until, 'pox-addr': rewardAddress }) => {
      const { state, sender: stacker, burnHeight } = call;
      if (call.user === undefined) {
        if (rewardAddress !== undefined) requireAddress(rewardAddress.bytes);
        require(activeDelegation(state, stacker, burnHeight) === undefined, errors.alreadyDelegated);
      }
      if (until !== undefined && until > MAX_HEIGHT) return runtimeError('Runtime(ArithmeticOverflow, None)');
      const [height, address] = [until === undefined ? undefined : Number(until), optional(rewardAddress?.bytes)];
      const delegation = { amount: String(amount), pool, until: height ?? null, address: address.toHex() };
      state.set(key.delegation(stacker), delegation);
      const data = {
        ...cycleFields(burnHeight, height),
        'amount-ustx': clarity.uint(amount),
        'delegate-to': clarity.principal(pool),
        'pox-addr': address,
        'unlock-burn-height': optionalUint(height),
      };
      return succeed(call, 'delegate-stx', stacker, data, TRUE);
    },
  ),
  'revoke-delegate-stx': poxFunction(
    {},
    (call) => {
      const { state, sender: stacker, cycle } = call;
      const delegation = activeDelegation(state, stacker, call.burnHeight);
      require(delegation !== undefined, errors.alreadyRevoked);
      state.set(key.delegation(stacker), '');
      const data = {
        'delegate-to': clarity.principal(delegation.pool),
        'end-cycle-id': clarity.none(),
        'start-cycle-id': clarity.uint(cycle + 1),
      };
      return succeed(call, 'revoke-delegate-stx', stacker, data, clarity.some(delegationTuple(delegation)));
    },
    { optional: delegationType },
  ),
  'stack-aggregation-commit': poxFunction(
    commitTypes,
    commit('stack-aggregation-commit', () => TRUE),
  ),
  'stack-aggregation-commit-indexed': poxFunction(
    commitTypes,
    commit('stack-aggregation-commit-indexed', clarity.uint),
    'uint128',
  ),
  'stack-extend': poxFunction(
    { 'extend-count': 'uint128', 'pox-addr': addressType, ...signerType },
    (call, args) => {
      const { state, world, burnHeight, cycle, sender: stacker } = call;
      const {
        'extend-count': count,
        'pox-addr': { bytes: address },
      } = args;
      const entry = stackerOf(state, stacker, burnHeight);
      const lock = world.locked(stacker, burnHeight);
      require(entry !== undefined, errors.extendNotLocked);
      require(count >= 1n, errors.invalidLockPeriod);
      require(entry.slots.length > 0 && entry.pool === null, errors.isDelegated);
      const topic = clarity.ascii('stack-extend');
      const consent = { topic, address, cycle: BigInt(cycle), period: count, amount: 0n };
      requireConsent(state, consent, args);
      require(lock !== undefined, errors.extendNotLocked);
      const firstCycle = Math.max(cycle, entry.firstCycle);
      const extendedFrom = cycles.of(lock.unlockHeight);
      const period = BigInt(extendedFrom - firstCycle) + count;
      require(extendedFrom > cycle, errors.invalidLockPeriod);
      require(activeDelegation(state, stacker, burnHeight) === undefined, errors.alreadyDelegated);
      requireStackable(address, lock.amount, period, SLOT);
      const { amount } = lock;
      const unlockHeight = cycles.startOf(extendedFrom + Number(count));
      const slot = { address: address.toHex(), amount: String(amount), stacker, signer: args['signer-key'].toHex() };
      const added = addSlots(state, slot, extendedFrom, Number(count));
      const slots = [...entry.slots.slice(firstCycle - entry.firstCycle), ...added];
      state.set(key.stacker(stacker), { address: slot.address, firstCycle, period: Number(period), slots, pool: null });
      const data = {
        ...authorizationFields(args),
        ...cycleFields(burnHeight, unlockHeight),
        'extend-count': clarity.uint(count),
        'pox-addr': address,
        'unlock-burn-height': clarity.uint(unlockHeight),
      };
      const result = clarity.tuple({
        stacker: clarity.principal(stacker),
        'unlock-burn-height': clarity.uint(unlockHeight),
      });
      return succeed(call, 'stack-extend', stacker, data, result, { amount, unlockHeight });
    },
    tupleType({ stacker: 'principal', 'unlock-burn-height': 'uint128' }),
  ),
  'stack-increase': poxFunction(
    { 'increase-by': 'uint128', ...signerType },
    (call, args) => {
      const { state, world, burnHeight, cycle, sender: stacker } = call;
      const increase = args['increase-by'];
      const entry = stackerOf(state, stacker, burnHeight);
      const lock = world.locked(stacker, burnHeight);
      require(entry !== undefined && lock !== undefined, errors.increaseNotLocked);
      require(increase >= 1n, errors.invalidAmount);
      require(world.spendable(stacker, burnHeight) >= increase, errors.insufficientFunds);
      require(entry.slots.length > 0 && entry.pool === null, errors.isDelegated);
      const amount = lock.amount + increase;
      require(args['max-amount'] >= amount, errors.aboveMaximum);
      const [address, period] = [bytesOf(entry.address), BigInt(entry.period)];
      const topic = clarity.ascii('stack-increase');
      const consent = { topic, address, cycle: BigInt(cycle), period, amount: increase };
      requireConsent(state, consent, args);
      for (const [offset, index] of entry.slots.entries()) {
        const slotCycle = entry.firstCycle + offset;
        const slot = state.parsed<Slot>(key.slot(slotCycle, index));
        if (slotCycle <= cycle || slot === undefined) continue;
        const raised = { amount: String(BigInt(slot.amount) + increase), signer: args['signer-key'].toHex() };
        state.set(key.slot(slotCycle, index), { ...slot, ...raised });
      }
      const data = {
        ...authorizationFields(args),
        ...cycleFields(burnHeight, lock.unlockHeight),
        'increase-by': clarity.uint(increase),
        'pox-addr': address,
        'total-locked': clarity.uint(amount),
      };
      const result = clarity.tuple({ stacker: clarity.principal(stacker), 'total-locked': clarity.uint(amount) });
      return succeed(call, 'stack-increase', stacker, data, result, { amount, unlockHeight: lock.unlockHeight });
    },
    tupleType({ stacker: 'principal', 'total-locked': 'uint128' }),
  ),
  'stack-stx': publicFunction(
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
  'can-stack-stx': canStack(SLOT),
  'get-check-delegation': delegationInfo,
  'get-delegation-info': delegationInfo,
  'get-reward-set-pox-address': readOnlyFunction(
    { 'reward-cycle': 'uint128', index: 'uint128' },
    {
      optional: tupleType({
        'pox-addr': addressType,
        signer: signerKey,
        stacker: { optional: 'principal' },
        'total-ustx': 'uint128',
      }),
    },
    (context, { 'reward-cycle': cycle, index }) => {
      const slot = new Draft(context).parsed<Slot>(key.slot(cycleOf(cycle), cycleOf(index)));
      if (slot === undefined) return clarity.none();
      return clarity.some(
        clarity.tuple({
          'pox-addr': bytesOf(slot.address),
          'total-ustx': clarity.uint(BigInt(slot.amount)),
          stacker: optionalPrincipal(slot.stacker),
          signer: clarity.buffer(bytesOf(slot.signer)),
        }),
      );
    },
  ),
  'get-reward-set-size': readOnlyFunction({ 'reward-cycle': 'uint128' }, 'uint128', (context, args) =>
    clarity.uint(slotCount(new Draft(context), cycleOf(args['reward-cycle']))),
  ),
  // None after the lock.
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
    (context, args) => {
      const stacker = stackerOf(new Draft(context), args.stacker, context.burnHeight);
      if (stacker === undefined) return clarity.none();
      return clarity.some(
        clarity.tuple({
          'pox-addr': bytesOf(stacker.address),
          'first-reward-cycle': clarity.uint(stacker.firstCycle),
          'lock-period': clarity.uint(stacker.period),
          'reward-set-indexes': clarity.list(stacker.slots.map((index) => clarity.uint(index))),
          'delegated-to': optionalPrincipal(stacker.pool),
        }),
      );
    },
  ),
  'get-stacking-minimum': readOnlyFunction({}, 'uint128', () => clarity.uint(SLOT)),
  'get-total-ustx-stacked': readOnlyFunction({ 'reward-cycle': 'uint128' }, 'uint128', (context, args) => {
    const [state, cycle] = [new Draft(context), cycleOf(args['reward-cycle'])];
    const slots = Array.from({ length: slotCount(state, cycle) }, (_, index) =>
      state.parsed<Slot>(key.slot(cycle, index)),
    );
    return clarity.uint(slots.reduce((sum, slot) => sum + BigInt(slot?.amount ?? '0'), 0n));
  }),
  'minimal-can-stack-stx': canStack(0n),
  'verify-signer-key-sig': readOnlyFunction(
    {
      'pox-addr': addressType,
      'reward-cycle': 'uint128',
      topic: { 'string-ascii': { length: 14 } },
      period: 'uint128',
      'signer-sig-opt': { optional: { buffer: { length: 65 } } },
      'signer-key': signerKey,
      amount: 'uint128',
      'max-amount': 'uint128',
      'auth-id': 'uint128',
    },
    refusable,
    (context, { 'pox-addr': address, 'reward-cycle': cycle, topic, period, amount, ...rest }) => {
      const consent = { topic: topic.bytes, address: address.bytes, cycle, period, amount };
      const authorization = { ...rest, 'signer-sig': rest['signer-sig-opt'] };
      return checkResponse(() => requireConsent(new Draft(context), consent, authorization));
    },
  ),
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
      const decoded = decodeClarity(entry);
      const stacker = decoded.ok && decoded.value.type === 'tuple' ? decoded.value.value.get('stacker') : undefined;
      if (stacker?.type !== 'principal') return undefined;
      const delegation = new Draft(context).parsed<Delegation>(key.delegation(stacker.value));
      return delegation && delegationTuple(delegation);
    },
  },
};
