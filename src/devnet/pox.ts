import { clarity } from '../codec/clarity-encode.ts';
import type { ChainEvent } from './chain-event.ts';
import type { CallContext, Outcome, ReadContext } from './contract.ts';
import type { WorldView } from './world-view.ts';

/** Burn blocks in a reward cycle: as few as on a regtest network, so that a short chain sees several. */
const cycleLength = 20;
/** Burn blocks of the prepare phase at the end of a cycle, in which the signers of the next one are chosen. */
const prepareLength = 5;

/** The reward cycles of the simulated chain, counted from burn height 0. */
export const cycles = {
  /** Burn blocks. */
  length: cycleLength,
  prepareLength,
  of: (burnHeight: number): number => Math.floor(burnHeight / cycleLength),
  startOf: (cycle: number): number => cycle * cycleLength,
  /** Burn height at which the signers of a cycle are chosen. */
  prepareStartOf: (cycle: number): number => cycle * cycleLength - prepareLength,
  /** Rewards of pox-5 are calculated by halves of cycles, counted from burn height 0. */
  halfOf: (burnHeight: number): number => Math.floor((2 * burnHeight) / cycleLength),
  startOfHalf: (half: number): number => (half * cycleLength) / 2,
  inPreparePhase: (burnHeight: number): boolean => burnHeight % cycleLength >= cycleLength - prepareLength,
} as const;

/** What somebody who stacks alone states; the same for a contract call and for an operation made on Bitcoin. */
export interface Stacking {
  readonly stacker: string;
  /** Micro-STX. */
  readonly amount: bigint;
  /** Reward cycles the amount is locked for. */
  readonly period: number;
  /** Hash160 of the pay-to-public-key-hash address that is rewarded. */
  readonly rewardHash: Uint8Array;
  /** 33 bytes. */
  readonly signerKey: Uint8Array;
  /** The signer's consent, 65 bytes; Bitcoin operations have it on record in the contract instead. */
  readonly signerSignature: Uint8Array | undefined;
  readonly maximum: bigint;
  readonly authorization: bigint;
}

/** Error codes of the pox-4 contract are signed integers. */
const alreadyStacked = clarity.err(clarity.int(3));
const insufficientFunds = clarity.err(clarity.int(1));

/** A reward address as the pox contracts take it; version 0 is pay-to-public-key-hash. */
export function poxAddress(hash160: Uint8Array): Uint8Array {
  return clarity.tuple({ hashbytes: clarity.buffer(hash160), version: clarity.buffer(Uint8Array.of(0)) });
}

/** `stack-stx` of pox-4: the node adds a print of its own about the state before, and then the lock. */
export function stack(stacking: Stacking, contract: string, world: WorldView, burnHeight: number): Outcome {
  const { stacker, amount } = stacking;
  if (world.locked(stacker, burnHeight) !== undefined) return { ok: false, result: alreadyStacked, events: [] };
  if (world.balance(stacker) < amount) return { ok: false, result: insufficientFunds, events: [] };

  const firstCycle = cycles.of(burnHeight) + 1;
  const unlockHeight = cycles.startOf(firstCycle + stacking.period);
  const data = clarity.tuple({
    'auth-id': clarity.uint(stacking.authorization),
    'end-cycle-id': clarity.some(clarity.uint(cycles.of(unlockHeight))),
    'lock-amount': clarity.uint(amount),
    'lock-period': clarity.uint(stacking.period),
    'max-amount': clarity.uint(stacking.maximum),
    'pox-addr': poxAddress(stacking.rewardHash),
    'signer-key': clarity.buffer(stacking.signerKey),
    'signer-sig':
      stacking.signerSignature === undefined ? clarity.none() : clarity.some(clarity.buffer(stacking.signerSignature)),
    'start-burn-height': clarity.uint(burnHeight),
    // Whoever stacks in the prepare phase has missed the next cycle.
    'start-cycle-id': clarity.uint(firstCycle + (cycles.inPreparePhase(burnHeight) ? 1 : 0)),
    'unlock-burn-height': clarity.uint(unlockHeight),
  });
  const result = clarity.tuple({
    'lock-amount': clarity.uint(amount),
    'signer-key': clarity.buffer(stacking.signerKey),
    stacker: clarity.principal(stacker),
    'unlock-burn-height': clarity.uint(unlockHeight),
  });
  const lock: ChainEvent = { type: 'stx_lock_event', address: stacker, amount, unlockHeight, contract };
  const print = poxPrint('stack-stx', stacker, data, world);
  return { ok: true, result: clarity.ok(result), events: [{ type: 'contract_event', contract, value: print }, lock] };
}

/**
 * Allows a pool to lock up to `amount`: a print, and nothing is locked yet.
 * @param rewardAddress the only reward address that the pool may use: a serialized optional
 */
export function delegate(
  stacker: string,
  pool: string,
  amount: bigint,
  until: number | undefined,
  rewardAddress: Uint8Array,
  { contract, world, burnHeight }: Pick<CallContext, 'contract' | 'world' | 'burnHeight'>,
): Outcome {
  const data = clarity.tuple({
    'amount-ustx': clarity.uint(amount),
    'delegate-to': clarity.principal(pool),
    'end-cycle-id': optionalUint(until === undefined ? undefined : cycles.of(until)),
    'pox-addr': rewardAddress,
    'start-cycle-id': clarity.uint(cycles.of(burnHeight) + 1 + (cycles.inPreparePhase(burnHeight) ? 1 : 0)),
    'unlock-burn-height': optionalUint(until),
  });
  const print = poxPrint('delegate-stx', stacker, data, world);
  const state = clarity.tuple({
    'amount-ustx': clarity.uint(amount),
    'delegated-to': clarity.principal(pool),
    'pox-addr': rewardAddress,
    'until-burn-ht': optionalUint(until),
  });
  return {
    ok: true,
    result: clarity.ok(clarity.bool(true)),
    events: [{ type: 'contract_event', contract, value: print }],
    writes: [[delegationKey(stacker), state.toHex()]],
  };
}

const delegationKey = (stacker: string): string => `delegation ${stacker}`;

/** The serialized entry of the map `delegation-state`, as the last `delegate-stx` left it. */
export function delegationOf({ world, contract }: ReadContext, stacker: string): Uint8Array | undefined {
  const stored = world.stored(contract, delegationKey(stacker));
  return stored === undefined ? undefined : Uint8Array.fromHex(stored);
}

export function optionalUint(value: number | undefined): Uint8Array {
  return value === undefined ? clarity.none() : clarity.some(clarity.uint(value));
}

/** The node's own print: the stacker's state before the call, all unlocked, and what the call does. */
function poxPrint(name: string, stacker: string, data: Uint8Array, world: WorldView): Uint8Array {
  return clarity.ok(
    clarity.tuple({
      balance: clarity.uint(world.balance(stacker)),
      'burnchain-unlock-height': clarity.uint(0),
      data,
      locked: clarity.uint(0),
      name: clarity.ascii(name),
      stacker: clarity.principal(stacker),
    }),
  );
}
