/** Locks of STX by the stacking contracts, pox to pox-5. */
import type { ChainEvent } from './block.ts';
import { poxPrint } from './pox-print.ts';

/**
 * A change of what a principal has locked. Each carries the whole state, not a difference: the last one decides.
 * `amount` (micro-STX) is null where a missed reward slot ends a lock early: the amount of the lock before stays.
 */
export interface StackingLock {
  principal: string;
  amount: string | null;
  /** Bitcoin height at which the STX are free again. */
  unlockHeight: number;
  /** 1 for pox, to 5 for pox-5. */
  poxVersion: number;
}

const VERSIONS: Readonly<Record<string, number>> = { pox: 1, 'pox-2': 2, 'pox-3': 3, 'pox-4': 4, 'pox-5': 5 };

/** How an event changes a lock; null when it doesn't. */
export function stackingLock(event: ChainEvent): StackingLock | null {
  if (event.kind === 'stx_lock') {
    const poxVersion = VERSIONS[event.contractName];
    if (poxVersion === undefined) return null;
    return { principal: event.address, amount: event.amount, unlockHeight: event.unlockHeight, poxVersion };
  }
  // pox-2 and pox-3 print `handle-unlock` for a stacker whose slot was missed, and the node sends no lock event.
  const print = poxPrint(event);
  if (print === null || print.name !== 'handle-unlock' || print.stacker === null) return null;
  const unlockHeight = print.fields.get('burnchain-unlock-height');
  const poxVersion = VERSIONS[print.contractName];
  if (unlockHeight?.type !== 'uint' || (poxVersion !== 2 && poxVersion !== 3)) return null;
  return { principal: print.stacker, amount: null, unlockHeight: Number(unlockHeight.value), poxVersion };
}
