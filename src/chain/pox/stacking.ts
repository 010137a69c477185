/** How the prints of pox-2 to pox-4 are declared and read. */
import { type BitcoinNetwork, type PoxAddress, poxAddressOf } from '../../codec/bitcoin-address.ts';
import { type Fields, principal, type Tuple, UnreadablePrint, uint, type ValuesOf, valuesOf } from './fields.ts';
import type { PoxPrint } from './print.ts';

/** The stacker's balances in micro-STX, and the Bitcoin height at which the lock ends (0 without a lock). */
export interface StackingState {
  balance: bigint;
  locked: bigint;
  unlockHeight: bigint;
}

/** What a print changes beside the list of prints. */
export type StackingChange =
  /** A pool may lock the stacker's STX until a Bitcoin height, or without end. */
  | { kind: 'delegation'; pool: string; unlockHeight: bigint | null }
  | { kind: 'revocation'; pool: string }
  /** The stacker's STX count from a reward cycle to before another: alone with a signer's key, or through a pool. */
  | { kind: 'solo_term'; firstCycle: number; endCycle: number; signerKey: Uint8Array | null }
  | { kind: 'pooled_term'; firstCycle: number; endCycle: number; pool: string }
  /** The stacker, a pool, commits what it locked to a signer's key. */
  | { kind: 'commitment'; firstCycle: number; endCycle: number; signerKey: Uint8Array | null }
  /** What the stacker has locked ends at the height of its state. */
  | { kind: 'early_unlock' };

export interface StackingPrint {
  poxVersion: number;
  network: BitcoinNetwork;
  name: string;
  /** The owner of the STX; for an aggregation, the operator of the pool. */
  stacker: string;
  /** The state after the operation, which is computed because the node prints the state before it. */
  state: StackingState;
  poxAddress: PoxAddress | null;
  /** The fields that are specific to the name. A missing `unlock_burn_height` means that the print leaves it open. */
  data: Readonly<Record<string, bigint | number | string | Uint8Array | null>>;
  changes: readonly StackingChange[];
}

/** One print of a contract, by its name. */
export interface StackingTopic {
  name: string;
  /** Reads a print; null where it reports that nothing happened. @throws UnreadablePrint */
  read(print: PoxPrint, poxVersion: number): StackingPrint | null;
}

interface Declaration<F extends Fields> {
  name: string;
  /** The fields to read from `data`, by the names under which the API serves them. */
  fields: F;
  /** The part of the stacker's state that the operation changes. */
  after?: (state: StackingState, data: ValuesOf<F>) => Partial<StackingState>;
  changes?: (data: ValuesOf<F>) => StackingChange[];
  /** Whether a field without a value is left out of what is served. */
  omits?: keyof F;
}

const state = { balance: uint('balance'), locked: uint('locked'), unlockHeight: uint('burnchain-unlock-height') };
const stacker = principal('stacker');

/**
 * The fields of a pox-2 or pox-3 print without those that only pox-4 has: newer nodes add cycles to older prints, too.
 */
const beforePox4 = (data: Tuple): Tuple =>
  new Map([...data].filter(([name]) => !['signer-key', 'start-cycle-id', 'end-cycle-id'].includes(name)));

type Served = StackingPrint['data'][string];

/** Declares a topic of pox-2 to pox-4: its fields, and what it changes. */
export const stackingTopic = <F extends Readonly<Record<string, (tuple: PoxPrint['data']) => Served>>>({
  name,
  fields,
  after,
  changes,
  omits,
}: Declaration<F>): StackingTopic => ({
  name,
  read(print, poxVersion) {
    if (print.data.has('unimplemented')) return null;
    const data = valuesOf(fields, poxVersion < 4 ? beforePox4(print.data) : print.data);
    const before = valuesOf(state, print.fields);
    const address = print.data.get('pox-addr');
    const served: Record<string, Served> = { ...data };
    if (omits !== undefined && data[omits] === null) delete served[String(omits)];
    return {
      poxVersion,
      network: print.network,
      name,
      stacker: stacker(print.fields),
      state: { ...before, ...after?.(before, data) },
      poxAddress: address === undefined ? null : poxAddressOf(address),
      data: served,
      changes: changes?.(data) ?? [],
    };
  },
});

/** A height as a number. Greater heights, which anybody can delegate until, become 2^53 - 1. */
export const heightOfUint = (height: bigint): number => Math.min(Number(height), Number.MAX_SAFE_INTEGER);

/** Subtracts, with 0 as the minimum: the balance that the node prints may be less than what it locks. */
export const less = (amount: bigint, by: bigint): bigint => (by > amount ? 0n : amount - by);

/** Longest term in cycles that is believed; pox-4 locks for at most 12. A longer term changes nothing. */
const LONGEST_TERM = 100;

/** The change of a term; none where the print names no cycles, as in pox-2 and pox-3. */
export function term<T extends object>(
  firstCycle: number | null,
  endCycle: number | null,
  rest: T,
): ({ firstCycle: number; endCycle: number } & T)[] {
  if (firstCycle === null || endCycle === null) return [];
  if (endCycle - firstCycle > LONGEST_TERM) throw new UnreadablePrint(`${endCycle - firstCycle} cycles are too many`);
  return [{ firstCycle, endCycle, ...rest }];
}
