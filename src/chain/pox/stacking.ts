/** How the prints of pox-2 to pox-4 are declared and read. */
import { type BitcoinNetwork, type PoxAddress, poxAddressOf } from '../../codec/bitcoin-address.ts';
import { type Fields, principal, type Tuple, UnreadablePrint, uint, type ValuesOf, valuesOf } from './fields.ts';
import type { PoxPrint } from './print.ts';

/** Of the stacker: micro-STX, and the Bitcoin height at which what is locked is free again (0 where nothing is). */
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
  /** Of an aggregation the pool's operator, else whose STX it is. */
  stacker: string;
  /** After what happened: the node prints the state before. */
  state: StackingState;
  poxAddress: PoxAddress | null;
  /** What is particular to the name. An absent `unlock_burn_height` is one that the print leaves open. */
  data: Readonly<Record<string, bigint | number | string | Uint8Array | null>>;
  changes: readonly StackingChange[];
}

/** One print of a contract, by its name. */
export interface StackingTopic {
  name: string;
  /** Null for a print that says that nothing happened. @throws UnreadablePrint */
  read(print: PoxPrint, poxVersion: number): StackingPrint | null;
}

interface Declaration<F extends Fields> {
  name: string;
  /** Of `data`, by the names under which they are served. */
  fields: F;
  /** What is different after it. */
  after?: (state: StackingState, data: ValuesOf<F>) => Partial<StackingState>;
  changes?: (data: ValuesOf<F>) => StackingChange[];
  /** Whether a field without a value is left out of what is served. */
  omits?: keyof F;
}

const state = { balance: uint('balance'), locked: uint('locked'), unlockHeight: uint('burnchain-unlock-height') };
const stacker = principal('stacker');

/** What counts of a print of pox-2 and pox-3, which know no signers: cycles that a later node adds are those of pox-4. */
const beforePox4 = (data: Tuple): Tuple =>
  new Map([...data].filter(([name]) => !['signer-key', 'start-cycle-id', 'end-cycle-id'].includes(name)));

type Served = StackingPrint['data'][string];

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

/** A height as a number. One beyond 2^53, which anybody can delegate until, is as good as that. */
export const heightOfUint = (height: bigint): number => Math.min(Number(height), Number.MAX_SAFE_INTEGER);

/** Saturates: what the node prints of a balance may be less than what it locks. */
export const less = (amount: bigint, by: bigint): bigint => (by > amount ? 0n : amount - by);

/** pox-4 locks for at most 12 cycles. Nothing is made of a term that no contract can have given. */
const LONGEST_TERM = 100;

/** No term where the print names no cycles, as those of pox-2 and pox-3. */
export function term<T extends object>(
  firstCycle: number | null,
  endCycle: number | null,
  rest: T,
): ({ firstCycle: number; endCycle: number } & T)[] {
  if (firstCycle === null || endCycle === null) return [];
  if (endCycle - firstCycle > LONGEST_TERM) throw new UnreadablePrint(`${endCycle - firstCycle} cycles are too many`);
  return [{ firstCycle, endCycle, ...rest }];
}
