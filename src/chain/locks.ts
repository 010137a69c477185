/** Locks of STX by the stacking contracts, pox to pox-5. */
import type { ChainEvent } from './block.ts';
import { POX_VERSIONS, type PoxReading } from './pox/reading.ts';
import { heightOfUint } from './pox/stacking.ts';

/**
 * A change of what a principal has locked. Each carries the whole state, not a difference: the last one decides.
 * `amount` (micro-STX) is null where a missed reward slot ends a lock early: the amount of the lock before stays.
 */
export interface StackingLock {
  principal: string;
  amount: string | null;
  /** Bitcoin height at which the STX are free again. */
  unlockHeight: number;
  /** The version of the stacking contract: 1 for pox, 2 for pox-2, up to 5 for pox-5. */
  poxVersion: number;
}

/**
 * How an event changes a lock; null when it doesn't. The node sends a lock event for whatever pox-5 locks, too.
 * @param reading of the event
 */
export function stackingLock(event: ChainEvent, reading: PoxReading | null): StackingLock | null {
  if (event.kind === 'stx_lock') {
    const poxVersion = POX_VERSIONS[event.contractName];
    if (poxVersion === undefined) return null;
    return { principal: event.address, amount: event.amount, unlockHeight: event.unlockHeight, poxVersion };
  }
  // pox-2 and pox-3 print `handle-unlock` for a stacker whose slot was missed, and the node sends no lock event.
  if (reading?.kind !== 'stacking') return null;
  const { changes, stacker, state, poxVersion } = reading.print;
  if (!changes.some(({ kind }) => kind === 'early_unlock')) return null;
  return {
    principal: stacker,
    amount: null,
    unlockHeight: heightOfUint(state.unlockHeight),
    poxVersion,
  };
}
