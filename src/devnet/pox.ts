/** State and calls of the simulated stacking contract pox-4, for contract calls and for operations on Bitcoin. */
import { decodedOrThrow } from '../codec/bytes-reader.ts';
import { decodeClarity } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { sha256 } from '../codec/hash.ts';
import { utf8Bytes } from '../codec/utf8.ts';
import { concat } from './bytes.ts';
import { bufferOf, type ChainEvent, fieldOf, type Outcome, type ReadContext, runtimeError } from './contract.ts';
import { networks } from './network.ts';
import { recovered, SignatureError } from './signature-check.ts';

/**
 * Returns the reward cycles of a chain, counted from burn height 0.
 * @param length burn blocks
 * @param prepareLength burn blocks of the prepare phase at the end of a cycle, when the next signers are chosen
 */
export const rewardCycles = (length: number, prepareLength: number) =>
  ({
    length,
    prepareLength,
    of: (burnHeight: number): number => Math.floor(burnHeight / length),
    startOf: (cycle: number): number => cycle * length,
    /** Returns the burn height at which the signers of a cycle are chosen. */
    prepareStartOf: (cycle: number): number => cycle * length - prepareLength,
    /** Returns the half cycle of a burn height, counted from burn height 0. pox-5 calculates rewards by half cycles. */
    halfOf: (burnHeight: number): number => Math.floor((2 * burnHeight) / length),
    startOfHalf: (half: number): number => (half * length) / 2,
    inPreparePhase: (burnHeight: number): boolean => burnHeight % length >= length - prepareLength,
  }) as const;

export type RewardCycles = ReturnType<typeof rewardCycles>;

/** The cycles of the simulated contracts: short, as on regtest networks, so that a short chain has several. */
export const cycles = rewardCycles(20, 5);

/** Micro-STX per reward slot: the minimum for solo stacking. */
export const SLOT = 50_000_000_000n;

/** Error codes of the pox-4 contract, which are signed integers. */
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
function outcomeOf(work: () => Outcome): Outcome {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PoxError)) throw error;
    return { ok: false, result: clarity.err(clarity.int(error.code)), events: [] };
  }
}

/** A signer's authorization: the stacker and the maximum amount. */
export interface Authorization {
  /** 33 bytes. */
  readonly signerKey: Uint8Array;
  /** The signer's signature, 65 bytes: r, s and the recovery id. */
  readonly signerSignature: Uint8Array | undefined;
  /** Maximum micro-STX. */
  readonly maximum: bigint;
  readonly authorization: bigint;
}

/** The arguments of solo stacking, of a contract call or an operation on Bitcoin. */
export interface Stacking extends Authorization {
  readonly stacker: string;
  /** Micro-STX. */
  readonly amount: bigint;
  /** Number of reward cycles of the lock. */
  readonly period: number;
  /** Bitcoin address for rewards, made by {@link poxAddress}. */
  readonly rewardAddress: Uint8Array;
}

/** Returns a pay-to-public-key-hash address (version 0) in the form of pox contracts: a serialized tuple. */
export function poxAddress(hash160: Uint8Array): Uint8Array {
  return clarity.tuple({ hashbytes: clarity.buffer(hash160), version: clarity.buffer(Uint8Array.of(0)) });
}

/** Returns the hash of a Bitcoin address that {@link poxAddress} made. */
export function hashOfAddress(address: Uint8Array): Uint8Array {
  return bufferOf(fieldOf(decodedOrThrow(decodeClarity(address)), 'hashbytes'));
}

/**
 * Hash lengths by version of a reward address: four versions of hash160, one of them in a witness, and two of SHA-256.
 */
const hashLengths = [20, 20, 20, 20, 20, 32, 32];

function requireAddress(address: Uint8Array): void {
  const value = decodedOrThrow(decodeClarity(address));
  const version = bufferOf(fieldOf(value, 'version'))[0];
  const length = version === undefined ? undefined : hashLengths[version];
  require(length !== undefined && bufferOf(fieldOf(value, 'hashbytes')).length === length, errors.invalidAddress);
}

/** Runs the checks of `can-stack-stx`. @throws the contract's error @param minimum micro-STX */
function requireStackable(address: Uint8Array, amount: bigint, period: bigint, minimum: bigint): void {
  require(amount >= minimum, errors.thresholdNotMet);
  require(amount > 0n, errors.invalidAmount);
  require(period >= 1n && period <= 12n, errors.invalidLockPeriod);
  requireAddress(address);
}

/** Returns the response of `can-stack-stx`; with `minimum` 0, of `minimal-can-stack-stx`. */
export const canStack = (address: Uint8Array, amount: bigint, period: bigint, minimum: bigint): Uint8Array =>
  outcomeOf(() => {
    requireStackable(address, amount, period, minimum);
    return { ok: true, result: clarity.ok(clarity.bool(true)), events: [] };
  }).result;

/** A call's reads and writes of the contract's storage. */
class Draft {
  readonly #written = new Map<string, string>();

  constructor(readonly context: Pick<ReadContext, 'world' | 'contract'>) {}

  get(key: string): string | undefined {
    return this.#written.get(key) ?? this.context.world.stored(this.context.contract, key);
  }

  set(key: string, value: string): void {
    this.#written.set(key, value);
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
  partial: (pool: string, address: string, cycle: number) => `partial ${pool} ${address} ${cycle}`,
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

const bytesOf = (hex: string): Uint8Array => Uint8Array.fromHex(hex);
const optionalPrincipal = (principal: string | null) =>
  principal === null ? clarity.none() : clarity.some(clarity.principal(principal));
const parsed = <T>(text: string | undefined): T | undefined =>
  text === undefined || text === '' ? undefined : (JSON.parse(text) as T);

function stackerOf(state: Draft, principal: string, burnHeight: number): Stacker | undefined {
  const stacker = parsed<Stacker>(state.get(key.stacker(principal)));
  return stacker === undefined || stacker.firstCycle + stacker.period <= cycles.of(burnHeight) ? undefined : stacker;
}

/** Returns the optional of `get-stacker-info`: `none` after the lock. */
export function stackerInfo(at: ReadContext, principal: string): Uint8Array {
  const stacker = stackerOf(new Draft(at), principal, at.burnHeight);
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
}

/** Returns the number of entries in a cycle's reward set. */
export const slotsOf = (at: Pick<ReadContext, 'world' | 'contract'>, cycle: number): number =>
  Number(new Draft(at).get(key.slots(cycle)) ?? '0');

/** Returns the optional of `get-reward-set-pox-address`. */
export function slotInfo(at: Pick<ReadContext, 'world' | 'contract'>, cycle: number, index: number): Uint8Array {
  const slot = parsed<Slot>(new Draft(at).get(key.slot(cycle, index)));
  if (slot === undefined) return clarity.none();
  return clarity.some(
    clarity.tuple({
      'pox-addr': bytesOf(slot.address),
      'total-ustx': clarity.uint(BigInt(slot.amount)),
      stacker: optionalPrincipal(slot.stacker),
      signer: clarity.buffer(bytesOf(slot.signer)),
    }),
  );
}

/** Returns the micro-STX of a cycle's reward set. */
export function stackedIn(at: Pick<ReadContext, 'world' | 'contract'>, cycle: number): bigint {
  const state = new Draft(at);
  let sum = 0n;
  for (let index = 0; index < slotsOf(at, cycle); index++) {
    sum += BigInt(parsed<Slot>(state.get(key.slot(cycle, index)))?.amount ?? '0');
  }
  return sum;
}

/** Adds an entry to the reward set of each cycle. @returns the entries' indexes */
function addSlots(state: Draft, slot: Slot, firstCycle: number, count: number): number[] {
  return Array.from({ length: count }, (_, more) => {
    const cycle = firstCycle + more;
    const index = Number(state.get(key.slots(cycle)) ?? '0');
    state.set(key.slot(cycle, index), JSON.stringify(slot));
    state.set(key.slots(cycle), String(index + 1));
    return index;
  });
}

const SIP018_PREFIX = utf8Bytes('SIP018');

/** Returns the hash that a signer signs (SIP-018). */
function authorizationHash(
  contract: string,
  topic: Uint8Array,
  address: Uint8Array,
  cycle: bigint,
  period: bigint,
  { maximum, authorization }: Authorization,
): Uint8Array {
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
    'auth-id': clarity.uint(authorization),
    'max-amount': clarity.uint(maximum),
  });
  return sha256(concat(SIP018_PREFIX, sha256(domain), sha256(message)));
}

/** The terms that a signer must have signed. */
export interface Consent {
  /** A serialized ASCII string. */
  readonly topic: Uint8Array;
  readonly address: Uint8Array;
  readonly cycle: bigint;
  readonly period: bigint;
  readonly amount: bigint;
}

/** Runs `verify-signer-key-sig`. @returns key of the used authorization */
function requireConsent(state: Draft, { topic, address, cycle, period, amount }: Consent, by: Authorization): string {
  const { signerKey, signerSignature, maximum } = by;
  require(maximum >= amount, errors.aboveMaximum);
  const hash = authorizationHash(state.context.contract, topic, address, cycle, period, by);
  const used = key.used(hash, signerKey);
  require(state.get(used) === undefined, errors.authorizationUsed);
  // Authorizations on the chain (set-signer-key-authorization) are not simulated.
  require(signerSignature !== undefined, errors.notAllowed);
  const last = signerSignature[64];
  require(signerSignature.length === 65 && last !== undefined, errors.unreadableSignature);
  let found: Uint8Array;
  try {
    found = recovered(concat(Uint8Array.of(last), signerSignature.subarray(0, 64)), hash).toBytes(true);
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    throw new PoxError(errors.unreadableSignature);
  }
  require(Buffer.compare(found, signerKey) === 0, errors.otherSigner);
  return used;
}

/** Returns the response of `verify-signer-key-sig`. */
export const verifiedConsent = (at: Pick<ReadContext, 'world' | 'contract'>, consent: Consent, by: Authorization) =>
  outcomeOf(() => {
    requireConsent(new Draft(at), consent, by);
    return { ok: true, result: clarity.ok(clarity.bool(true)), events: [] };
  }).result;

/** Runs a call of the contract. The node refuses such calls once pox-5 is active. */
const called = (at: ReadContext, work: (state: Draft) => Outcome): Outcome =>
  at.world.isActive('pox-4', at.burnHeight)
    ? outcomeOf(() => work(new Draft(at)))
    : runtimeError('Runtime(DefunctPoxContract, None)');

/** Returns a print's fields for cycles. Calls in the prepare phase take effect a cycle later. */
const cycleFields = (burnHeight: number, endCycle: number | undefined) => ({
  'end-cycle-id': optionalUint(endCycle),
  'start-cycle-id': clarity.uint(cycles.of(burnHeight) + 1 + (cycles.inPreparePhase(burnHeight) ? 1 : 0)),
});

const authorizationFields = ({ authorization, maximum, signerKey, signerSignature }: Authorization) => ({
  'auth-id': clarity.uint(authorization),
  'max-amount': clarity.uint(maximum),
  'signer-key': clarity.buffer(signerKey),
  'signer-sig': signerSignature === undefined ? clarity.none() : clarity.some(clarity.buffer(signerSignature)),
});

/** Runs `stack-stx` without the contract's checks. The node adds a print and the lock. */
export function stack(stacking: Stacking, at: ReadContext): Outcome {
  return called(at, (state) => {
    const { stacker, amount, period, rewardAddress, signerKey } = stacking;
    const { world, contract, burnHeight } = at;
    require(world.locked(stacker, burnHeight) === undefined, errors.alreadyStacked);
    require(world.balance(stacker) >= amount, errors.insufficientFunds);

    const firstCycle = cycles.of(burnHeight) + 1;
    const unlockHeight = cycles.startOf(firstCycle + period);
    const address = rewardAddress.toHex();
    const slot = { address, amount: String(amount), stacker, signer: signerKey.toHex() };
    const slots = addSlots(state, slot, firstCycle, period);
    state.set(
      key.stacker(stacker),
      JSON.stringify({ address, firstCycle, period, slots, pool: null } satisfies Stacker),
    );
    const data = clarity.tuple({
      ...authorizationFields(stacking),
      ...cycleFields(burnHeight, cycles.of(unlockHeight)),
      'lock-amount': clarity.uint(amount),
      'lock-period': clarity.uint(period),
      'pox-addr': rewardAddress,
      'start-burn-height': clarity.uint(burnHeight),
      'unlock-burn-height': clarity.uint(unlockHeight),
    });
    const result = clarity.tuple({
      'lock-amount': clarity.uint(amount),
      'signer-key': clarity.buffer(signerKey),
      stacker: clarity.principal(stacker),
      'unlock-burn-height': clarity.uint(unlockHeight),
    });
    const lock: ChainEvent = { type: 'stx_lock_event', address: stacker, amount, unlockHeight, contract };
    return {
      ok: true,
      result: clarity.ok(result),
      events: [poxPrint('stack-stx', stacker, data, at), lock],
      writes: state.writes,
    };
  });
}

/** Runs `stack-stx` with the contract's checks. @param start burn height in the arguments */
export const stackChecked = (stacking: Stacking, start: bigint, at: ReadContext): Outcome =>
  called(at, (state) => {
    const { stacker, amount, period, rewardAddress } = stacking;
    const { world, burnHeight } = at;
    const cycle = cycles.of(burnHeight);
    require(start / BigInt(cycles.length) === BigInt(cycle), errors.invalidStart);
    require(stackerOf(state, stacker, burnHeight) === undefined, errors.alreadyStacked);
    require(activeDelegation(at, stacker) === undefined, errors.alreadyDelegated);
    require(world.spendable(stacker, burnHeight) >= amount, errors.insufficientFunds);
    const consent = {
      topic: clarity.ascii('stack-stx'),
      address: rewardAddress,
      cycle: BigInt(cycle),
      period: BigInt(period),
      amount,
    };
    const used = requireConsent(state, consent, stacking);
    requireStackable(rewardAddress, amount, BigInt(period), SLOT);
    const { writes = [], ...outcome } = stack(stacking, at);
    return { ...outcome, writes: [...writes, [used, 'yes']] };
  });

/** Runs `stack-extend`. @param more reward cycles @param address for rewards from then on */
export const extend = (
  stacker: string,
  more: bigint,
  address: Uint8Array,
  by: Authorization,
  at: ReadContext,
): Outcome =>
  called(at, (state) => {
    const { world, contract, burnHeight } = at;
    const cycle = cycles.of(burnHeight);
    const stackerState = stackerOf(state, stacker, burnHeight);
    const lock = world.locked(stacker, burnHeight);
    require(stackerState !== undefined, errors.extendNotLocked);
    require(more >= 1n, errors.invalidLockPeriod);
    require(stackerState.slots.length > 0 && stackerState.pool === null, errors.isDelegated);
    const consent = { topic: clarity.ascii('stack-extend'), address, cycle: BigInt(cycle), period: more, amount: 0n };
    const used = requireConsent(state, consent, by);
    require(lock !== undefined, errors.extendNotLocked);
    const firstCycle = Math.max(cycle, stackerState.firstCycle);
    const extendedFrom = cycles.of(lock.unlockHeight);
    const period = BigInt(extendedFrom - firstCycle) + more;
    require(extendedFrom > cycle, errors.invalidLockPeriod);
    require(activeDelegation(at, stacker) === undefined, errors.alreadyDelegated);
    requireStackable(address, lock.amount, period, SLOT);
    const unlockHeight = cycles.startOf(extendedFrom + Number(more));
    const slot = { address: address.toHex(), amount: String(lock.amount), stacker, signer: by.signerKey.toHex() };
    const added = addSlots(state, slot, extendedFrom, Number(more));
    const slots = [...stackerState.slots.slice(firstCycle - stackerState.firstCycle), ...added];
    const after: Stacker = { address: slot.address, firstCycle, period: Number(period), slots, pool: null };
    state.set(key.stacker(stacker), JSON.stringify(after));
    state.set(used, 'yes');
    const data = clarity.tuple({
      ...authorizationFields(by),
      ...cycleFields(burnHeight, cycles.of(unlockHeight)),
      'extend-count': clarity.uint(more),
      'pox-addr': address,
      'unlock-burn-height': clarity.uint(unlockHeight),
    });
    const result = clarity.tuple({
      stacker: clarity.principal(stacker),
      'unlock-burn-height': clarity.uint(unlockHeight),
    });
    const locked: ChainEvent = {
      type: 'stx_lock_event',
      address: stacker,
      amount: lock.amount,
      unlockHeight,
      contract,
    };
    const events = [poxPrint('stack-extend', stacker, data, at), locked];
    return { ok: true, result: clarity.ok(result), events, writes: state.writes };
  });

/** Runs `stack-increase`. @param more micro-STX */
export const increase = (stacker: string, more: bigint, by: Authorization, at: ReadContext): Outcome =>
  called(at, (state) => {
    const { world, contract, burnHeight } = at;
    const cycle = cycles.of(burnHeight);
    const stackerState = stackerOf(state, stacker, burnHeight);
    const lock = world.locked(stacker, burnHeight);
    require(stackerState !== undefined && lock !== undefined, errors.increaseNotLocked);
    require(more >= 1n, errors.invalidAmount);
    require(world.spendable(stacker, burnHeight) >= more, errors.insufficientFunds);
    require(stackerState.slots.length > 0 && stackerState.pool === null, errors.isDelegated);
    const amount = lock.amount + more;
    require(by.maximum >= amount, errors.aboveMaximum);
    const address = bytesOf(stackerState.address);
    const period = BigInt(stackerState.period);
    const consent = { topic: clarity.ascii('stack-increase'), address, cycle: BigInt(cycle), period, amount: more };
    const used = requireConsent(state, consent, by);
    for (const [at, index] of stackerState.slots.entries()) {
      const slotCycle = stackerState.firstCycle + at;
      const slot = parsed<Slot>(state.get(key.slot(slotCycle, index)));
      if (slotCycle <= cycle || slot === undefined) continue;
      const raised = { ...slot, amount: String(BigInt(slot.amount) + more), signer: by.signerKey.toHex() };
      state.set(key.slot(slotCycle, index), JSON.stringify(raised));
    }
    state.set(used, 'yes');
    const { unlockHeight } = lock;
    const data = clarity.tuple({
      ...authorizationFields(by),
      ...cycleFields(burnHeight, cycles.of(unlockHeight)),
      'increase-by': clarity.uint(more),
      'pox-addr': address,
      'total-locked': clarity.uint(amount),
    });
    const result = clarity.tuple({ stacker: clarity.principal(stacker), 'total-locked': clarity.uint(amount) });
    const locked: ChainEvent = { type: 'stx_lock_event', address: stacker, amount, unlockHeight, contract };
    const events = [poxPrint('stack-increase', stacker, data, at), locked];
    return { ok: true, result: clarity.ok(result), events, writes: state.writes };
  });

/** A stacker's delegation to a pool. */
interface Delegation {
  readonly amount: string;
  readonly pool: string;
  /** Burn height; null for no end. */
  readonly until: number | null;
  /** The only reward address that the pool may use: a serialized optional in hex. */
  readonly address: string;
}

const delegationTuple = ({ amount, pool, until, address }: Delegation): Uint8Array =>
  clarity.tuple({
    'amount-ustx': clarity.uint(BigInt(amount)),
    'delegated-to': clarity.principal(pool),
    'pox-addr': bytesOf(address),
    'until-burn-ht': optionalUint(until ?? undefined),
  });

const storedDelegation = (at: Pick<ReadContext, 'world' | 'contract'>, stacker: string): Delegation | undefined =>
  parsed<Delegation>(new Draft(at).get(key.delegation(stacker)));

/** Returns the serialized entry of the map `delegation-state` after the last `delegate-stx`. */
export function delegationOf(at: Pick<ReadContext, 'world' | 'contract'>, stacker: string): Uint8Array | undefined {
  const delegation = storedDelegation(at, stacker);
  return delegation === undefined ? undefined : delegationTuple(delegation);
}

/** Returns a delegation that hasn't ended. */
function activeDelegation(at: ReadContext, stacker: string): Delegation | undefined {
  const delegation = storedDelegation(at, stacker);
  return delegation === undefined || at.burnHeight > (delegation.until ?? at.burnHeight) ? undefined : delegation;
}

/** Returns the optional of `get-delegation-info` and `get-check-delegation`: `none` after the delegation. */
export function delegationInfo(at: ReadContext, stacker: string): Uint8Array {
  const delegation = activeDelegation(at, stacker);
  return delegation === undefined ? clarity.none() : clarity.some(delegationTuple(delegation));
}

/**
 * Runs `delegate-stx` without the contract's checks: allows a pool to lock up to `amount`. Locks nothing yet.
 * @param rewardAddress the only reward address that the pool may use: a serialized optional
 */
export const delegate = (
  stacker: string,
  pool: string,
  amount: bigint,
  until: number | undefined,
  rewardAddress: Uint8Array,
  at: ReadContext,
): Outcome =>
  called(at, (state) => {
    const data = clarity.tuple({
      ...cycleFields(at.burnHeight, until === undefined ? undefined : cycles.of(until)),
      'amount-ustx': clarity.uint(amount),
      'delegate-to': clarity.principal(pool),
      'pox-addr': rewardAddress,
      'unlock-burn-height': optionalUint(until),
    });
    const delegation = { amount: String(amount), pool, until: until ?? null, address: rewardAddress.toHex() };
    state.set(key.delegation(stacker), JSON.stringify(delegation satisfies Delegation));
    const events = [poxPrint('delegate-stx', stacker, data, at)];
    return { ok: true, result: clarity.ok(clarity.bool(true)), events, writes: state.writes };
  });

/** Maximum height in the simulation. */
const MAX_HEIGHT = 0xffff_ffffn;

/** Runs `delegate-stx` with the contract's checks. */
export const delegateChecked = (
  stacker: string,
  pool: string,
  amount: bigint,
  until: bigint | undefined,
  rewardAddress: Uint8Array | undefined,
  at: ReadContext,
): Outcome =>
  called(at, () => {
    if (rewardAddress !== undefined) requireAddress(rewardAddress);
    require(activeDelegation(at, stacker) === undefined, errors.alreadyDelegated);
    if (until !== undefined && until > MAX_HEIGHT) return runtimeError('Runtime(ArithmeticOverflow, None)');
    const height = until === undefined ? undefined : Number(until);
    const only = rewardAddress === undefined ? clarity.none() : clarity.some(rewardAddress);
    return delegate(stacker, pool, amount, height, only, at);
  });

/** Runs `revoke-delegate-stx`. */
export const revokeDelegation = (stacker: string, at: ReadContext): Outcome =>
  called(at, (state) => {
    const delegation = activeDelegation(at, stacker);
    require(delegation !== undefined, errors.alreadyRevoked);
    state.set(key.delegation(stacker), '');
    const data = clarity.tuple({
      'delegate-to': clarity.principal(delegation.pool),
      'end-cycle-id': clarity.none(),
      'start-cycle-id': clarity.uint(cycles.of(at.burnHeight) + 1),
    });
    const result = clarity.ok(clarity.some(delegationTuple(delegation)));
    return { ok: true, result, events: [poxPrint('revoke-delegate-stx', stacker, data, at)], writes: state.writes };
  });

/** Runs `delegate-stack-stx`: a pool locks STX that a stacker delegated to it. */
export const stackFor = (
  pool: string,
  { stacker, amount, address, period }: { stacker: string; amount: bigint; address: Uint8Array; period: bigint },
  start: bigint,
  at: ReadContext,
): Outcome =>
  called(at, (state) => {
    const { world, contract, burnHeight } = at;
    const firstCycle = cycles.of(burnHeight) + 1;
    require(start / BigInt(cycles.length) === BigInt(firstCycle - 1), errors.invalidStart);
    const delegation = activeDelegation(at, stacker);
    require(delegation?.pool === pool, errors.permissionDenied);
    require(BigInt(delegation.amount) >= amount, errors.delegatedTooLittle);
    const only = decodedOrThrow(decodeClarity(bytesOf(delegation.address)));
    require(only.type !== 'some' || Buffer.compare(only.value.bytes, address) === 0, errors.addressRequired);
    requireStackable(address, amount, period, 0n);
    const unlockHeight = cycles.startOf(firstCycle + Number(period));
    require(delegation.until === null || delegation.until >= unlockHeight, errors.delegationExpires);
    require(stackerOf(state, stacker, burnHeight) === undefined, errors.alreadyStacked);
    require(world.spendable(stacker, burnHeight) >= amount, errors.insufficientFunds);
    for (let cycle = firstCycle; cycle < firstCycle + Number(period); cycle++) {
      const partial = key.partial(pool, address.toHex(), cycle);
      state.set(partial, String(BigInt(state.get(partial) ?? '0') + amount));
    }
    const after: Stacker = { address: address.toHex(), firstCycle, period: Number(period), slots: [], pool };
    state.set(key.stacker(stacker), JSON.stringify(after));
    const data = clarity.tuple({
      ...cycleFields(burnHeight, cycles.of(unlockHeight)),
      delegator: clarity.principal(pool),
      'lock-amount': clarity.uint(amount),
      'lock-period': clarity.uint(period),
      'pox-addr': address,
      stacker: clarity.principal(stacker),
      'start-burn-height': clarity.uint(start),
      'unlock-burn-height': clarity.uint(unlockHeight),
    });
    const result = clarity.tuple({
      'lock-amount': clarity.uint(amount),
      stacker: clarity.principal(stacker),
      'unlock-burn-height': clarity.uint(unlockHeight),
    });
    const lock: ChainEvent = { type: 'stx_lock_event', address: stacker, amount, unlockHeight, contract };
    const events = [poxPrint('delegate-stack-stx', stacker, data, at), lock];
    return { ok: true, result: clarity.ok(result), events, writes: state.writes };
  });

/**
 * Runs `stack-aggregation-commit` or `stack-aggregation-commit-indexed`: a pool makes a reward slot of its members'
 * locked STX.
 * @param indexed whether the result is the slot's index
 */
export const commit = (
  pool: string,
  address: Uint8Array,
  cycle: bigint,
  by: Authorization,
  indexed: boolean,
  at: ReadContext,
): Outcome =>
  called(at, (state) => {
    require(cycle <= MAX_HEIGHT, errors.noSuchPrincipal);
    const partial = key.partial(pool, address.toHex(), Number(cycle));
    const amount = BigInt(state.get(partial) ?? '0');
    require(amount > 0n, errors.noSuchPrincipal);
    const used = requireConsent(state, { topic: clarity.ascii('agg-commit'), address, cycle, period: 1n, amount }, by);
    requireStackable(address, amount, 1n, SLOT);
    const slot = { address: address.toHex(), amount: String(amount), stacker: null, signer: by.signerKey.toHex() };
    const [index = 0] = addSlots(state, slot, Number(cycle), 1);
    state.set(partial, '0');
    state.set(used, 'yes');
    const next = BigInt(cycles.of(at.burnHeight) + 1);
    const data = clarity.tuple({
      ...authorizationFields(by),
      'amount-ustx': clarity.uint(amount),
      delegator: clarity.principal(pool),
      'end-cycle-id': clarity.some(clarity.uint(cycle + 1n)),
      'pox-addr': address,
      'reward-cycle': clarity.uint(cycle),
      'start-cycle-id': clarity.uint(cycle + (cycle === next && cycles.inPreparePhase(at.burnHeight) ? 1n : 0n)),
    });
    const name = `stack-aggregation-commit${indexed ? '-indexed' : ''}`;
    const result = clarity.ok(indexed ? clarity.uint(index) : clarity.bool(true));
    return { ok: true, result, events: [poxPrint(name, pool, data, at)], writes: state.writes };
  });

function optionalUint(value: number | undefined): Uint8Array {
  return value === undefined ? clarity.none() : clarity.some(clarity.uint(value));
}

/** Returns the members of `get-pox-info` that pox-4 and pox-5 share. */
export const poxInfo = ({ world, burnHeight }: ReadContext): Uint8Array =>
  clarity.ok(
    clarity.tuple({
      'first-burnchain-block-height': clarity.uint(0),
      'min-amount-ustx': clarity.uint(SLOT),
      'prepare-cycle-length': clarity.uint(cycles.prepareLength),
      'reward-cycle-id': clarity.uint(cycles.of(burnHeight)),
      'reward-cycle-length': clarity.uint(cycles.length),
      'total-liquid-supply-ustx': clarity.uint(world.supply()),
    }),
  );

/** Returns the print that the node makes: the stacker's state before the call, and the call's data. */
function poxPrint(
  name: string,
  stacker: string,
  data: Uint8Array,
  { world, contract, burnHeight }: ReadContext,
): ChainEvent {
  const lock = world.locked(stacker, burnHeight);
  const value = clarity.ok(
    clarity.tuple({
      balance: clarity.uint(world.spendable(stacker, burnHeight)),
      'burnchain-unlock-height': clarity.uint(lock?.unlockHeight ?? 0),
      data,
      locked: clarity.uint(lock?.amount ?? 0n),
      name: clarity.ascii(name),
      stacker: clarity.principal(stacker),
    }),
  );
  return { type: 'contract_event', contract, value };
}
