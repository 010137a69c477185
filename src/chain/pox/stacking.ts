/**
 * The prints of pox-2 to pox-4: declarations and parsing, and the list of prints per contract. Amounts are micro-STX,
 * heights are Bitcoin heights.
 */

import { type BitcoinNetwork, type PoxAddress, poxAddressOf } from '../../codec/bitcoin-address.ts';
import { PayloadError } from '../payload-reader.ts';
import {
  count,
  type Field,
  type Fields,
  optionalBuffer,
  optionalCount,
  optionalUint,
  type PoxPrint,
  principal,
  type Tuple,
  uint,
  type ValuesOf,
  valuesOf,
} from './print.ts';

/** The stacker's balances in micro-STX, and the Bitcoin height at which the lock ends (0 without a lock). */
interface StackingState {
  balance: bigint;
  locked: bigint;
  unlockHeight: bigint;
}

/** A change by a print, in addition to the list of prints. */
export type StackingChange =
  /** A pool may lock the stacker's STX until a Bitcoin height; null: without end. */
  | { kind: 'delegation'; pool: string; unlockHeight: bigint | null }
  | { kind: 'revocation'; pool: string }
  /**
   * The stacker's STX count from `firstCycle` up to, but not including, `endCycle`: solo with a signer's key, or
   * through a pool.
   */
  | { kind: 'solo_term'; firstCycle: number; endCycle: number; signerKey: Uint8Array | null }
  | { kind: 'pooled_term'; firstCycle: number; endCycle: number; pool: string }
  /** The stacker, a pool, commits its locked STX to a signer's key. */
  | { kind: 'commitment'; firstCycle: number; endCycle: number; signerKey: Uint8Array | null }
  /** The stacker's lock ends at the unlock height of its state. */
  | { kind: 'early_unlock' };

export interface StackingPrint {
  poxVersion: number;
  network: BitcoinNetwork;
  name: string;
  /** The owner of the STX; for an aggregation, the operator of the pool. */
  stacker: string;
  /** The state after the operation. It is computed, because the node prints the state before the operation. */
  state: StackingState;
  poxAddress: PoxAddress | null;
  /** The fields that are specific to the name. If the print has no `unlock_burn_height`, the field is missing here. */
  data: Readonly<Record<string, bigint | number | string | Uint8Array | null>>;
  changes: readonly StackingChange[];
}

/** One print of a contract, by its name. */
export interface StackingTopic {
  name: string;
  /** Parses a print; returns null if it reports that nothing happened. @throws PayloadError */
  read(print: PoxPrint, poxVersion: number): StackingPrint | null;
}

interface Declaration<F extends Fields> {
  name: string;
  /** The fields to read from `data`, by their names in the API. */
  fields: F;
  /** Returns the members of the stacker's state that the operation changes. */
  newState?: (state: StackingState, data: ValuesOf<F>) => Partial<StackingState>;
  changes?: (data: ValuesOf<F>) => StackingChange[];
  /** Field that the API omits if it has no value. */
  omits?: keyof F;
}

const state = { balance: uint('balance'), locked: uint('locked'), unlockHeight: uint('burnchain-unlock-height') };
const stacker = principal('stacker');

/**
 * Returns the fields of a pox-2 or pox-3 print without the fields of pox-4. Newer nodes also add cycles to older
 * prints.
 */
const beforePox4 = (data: Tuple): Tuple =>
  new Map([...data].filter(([name]) => !['signer-key', 'start-cycle-id', 'end-cycle-id'].includes(name)));

type ApiValue = StackingPrint['data'][string];

/** Declares a topic of pox-2 to pox-4: its fields, and its changes. */
const stackingTopic = <F extends Readonly<Record<string, Field<ApiValue>>>>({
  name,
  fields,
  newState,
  changes,
  omits,
}: Declaration<F>): StackingTopic => ({
  name,
  read(print, poxVersion) {
    if (print.data.has('unimplemented')) return null;
    const data = valuesOf(fields, poxVersion < 4 ? beforePox4(print.data) : print.data);
    const previous = valuesOf(state, print.fields);
    const address = print.data.get('pox-addr');
    const apiFields: Record<string, ApiValue> = { ...data };
    if (omits !== undefined && data[omits] === null) delete apiFields[String(omits)];
    return {
      poxVersion,
      network: print.network,
      name,
      stacker: stacker(print.fields),
      state: { ...previous, ...newState?.(previous, data) },
      poxAddress: address === undefined ? null : poxAddressOf(address),
      data: apiFields,
      changes: changes?.(data) ?? [],
    };
  },
});

/** Returns a height as a number. Greater heights become 2^53 - 1: anybody can delegate until any height. */
export const heightOfUint = (height: bigint): number => Math.min(Number(height), Number.MAX_SAFE_INTEGER);

/** Subtracts, with 0 as the minimum: the printed balance may be less than the locked amount. */
const subtract = (amount: bigint, deduction: bigint): bigint => (deduction > amount ? 0n : amount - deduction);

/** Maximum plausible term in cycles; pox-4 locks for at most 12. A print with a longer term changes nothing. */
const MAX_TERM = 100;

/** Returns the change of a term; empty if the print has no cycles, as in pox-2 and pox-3. */
function term<T extends object>(
  firstCycle: number | null,
  endCycle: number | null,
  rest: T,
): ({ firstCycle: number; endCycle: number } & T)[] {
  if (firstCycle === null || endCycle === null) return [];
  if (endCycle - firstCycle > MAX_TERM) throw new PayloadError(`${endCycle - firstCycle} cycles are too many`);
  return [{ firstCycle, endCycle, ...rest }];
}

/** Fields of pox-4. For a print in a prepare phase, the first cycle is the cycle after the next. */
const cycles = { end_cycle_id: optionalCount('end-cycle-id'), start_cycle_id: optionalCount('start-cycle-id') };
const signerKey = { signer_key: optionalBuffer('signer-key') };
const delegator = { delegator: principal('delegator') };

interface Cycles {
  end_cycle_id: number | null;
  start_cycle_id: number | null;
}

const soloTerm = ({ start_cycle_id, end_cycle_id, signer_key }: Cycles & { signer_key: Uint8Array | null }) =>
  term(start_cycle_id, end_cycle_id, { kind: 'solo_term' as const, signerKey: signer_key });

const pooledTerm = ({ start_cycle_id, end_cycle_id, delegator }: Cycles & { delegator: string }) =>
  term(start_cycle_id, end_cycle_id, { kind: 'pooled_term' as const, pool: delegator });

const commitment = ({ start_cycle_id, end_cycle_id, signer_key }: Cycles & { signer_key: Uint8Array | null }) =>
  term(start_cycle_id, end_cycle_id, { kind: 'commitment' as const, signerKey: signer_key });

const lockedState = (
  { balance }: StackingState,
  { lock_amount, unlock_burn_height }: { lock_amount: bigint; unlock_burn_height: bigint },
) => ({ balance: subtract(balance, lock_amount), locked: lock_amount, unlockHeight: unlock_burn_height });

const increasedState = ({ balance, locked }: StackingState, { increase_by }: { increase_by: bigint }) => ({
  balance: subtract(balance, increase_by),
  locked: locked + increase_by,
});

const extendedState = (_: StackingState, { unlock_burn_height }: { unlock_burn_height: bigint }) => ({
  unlockHeight: unlock_burn_height,
});

/** The print for a stacker that missed a reward slot: the lock ends early, without a lock event. */
const handleUnlock = stackingTopic({
  name: 'handle-unlock',
  fields: { first_cycle_locked: uint('first-cycle-locked'), first_unlocked_cycle: uint('first-unlocked-cycle') },
  newState: ({ balance, locked }) => ({ balance: balance + locked }),
  changes: () => [{ kind: 'early_unlock' }],
});

const revokeDelegateStx = stackingTopic({
  name: 'revoke-delegate-stx',
  fields: { delegate_to: principal('delegate-to'), ...cycles },
  changes: ({ delegate_to }) => [{ kind: 'revocation', pool: delegate_to }],
});

const aggregation = { reward_cycle: count('reward-cycle'), amount_ustx: uint('amount-ustx') };

/** The prints of all versions. */
const common: readonly StackingTopic[] = [
  stackingTopic({
    name: 'stack-stx',
    fields: {
      lock_amount: uint('lock-amount'),
      lock_period: uint('lock-period'),
      start_burn_height: uint('start-burn-height'),
      unlock_burn_height: uint('unlock-burn-height'),
      ...signerKey,
      ...cycles,
    },
    newState: lockedState,
    changes: soloTerm,
  }),
  stackingTopic({
    name: 'stack-increase',
    fields: { increase_by: uint('increase-by'), total_locked: uint('total-locked'), ...signerKey, ...cycles },
    newState: increasedState,
    changes: soloTerm,
  }),
  stackingTopic({
    name: 'stack-extend',
    fields: {
      extend_count: uint('extend-count'),
      unlock_burn_height: uint('unlock-burn-height'),
      ...signerKey,
      ...cycles,
    },
    newState: extendedState,
    changes: soloTerm,
  }),
  stackingTopic({
    name: 'delegate-stx',
    fields: {
      amount_ustx: uint('amount-ustx'),
      delegate_to: principal('delegate-to'),
      unlock_burn_height: optionalUint('unlock-burn-height'),
      end_cycle_id: optionalUint('end-cycle-id'),
      start_cycle_id: optionalUint('start-cycle-id'),
    },
    newState: ({ unlockHeight }, { unlock_burn_height }) => ({ unlockHeight: unlock_burn_height ?? unlockHeight }),
    changes: ({ delegate_to, unlock_burn_height }) => [
      { kind: 'delegation', pool: delegate_to, unlockHeight: unlock_burn_height },
    ],
    omits: 'unlock_burn_height',
  }),
  stackingTopic({
    name: 'delegate-stack-stx',
    fields: {
      lock_amount: uint('lock-amount'),
      unlock_burn_height: uint('unlock-burn-height'),
      start_burn_height: uint('start-burn-height'),
      lock_period: uint('lock-period'),
      ...delegator,
      ...cycles,
    },
    newState: lockedState,
    changes: pooledTerm,
  }),
  stackingTopic({
    name: 'delegate-stack-increase',
    fields: { increase_by: uint('increase-by'), total_locked: uint('total-locked'), ...delegator, ...cycles },
    newState: increasedState,
    changes: pooledTerm,
  }),
  stackingTopic({
    name: 'delegate-stack-extend',
    fields: {
      unlock_burn_height: uint('unlock-burn-height'),
      extend_count: uint('extend-count'),
      ...delegator,
      ...cycles,
    },
    newState: extendedState,
    changes: pooledTerm,
  }),
  ...['stack-aggregation-commit', 'stack-aggregation-commit-indexed'].map((name) =>
    stackingTopic({ name, fields: { ...aggregation, ...signerKey, ...cycles }, changes: commitment }),
  ),
  stackingTopic({ name: 'stack-aggregation-increase', fields: { ...aggregation, ...cycles } }),
];

/** The prints by contract name. Stackers of pox-4 name a signer's key. */
export const stackingTopics: Readonly<Record<string, readonly StackingTopic[]>> = {
  'pox-2': [handleUnlock, ...common],
  'pox-3': [handleUnlock, ...common],
  'pox-4': [...common, revokeDelegateStx],
};
