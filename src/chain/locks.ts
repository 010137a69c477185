/** Locks of STX by the stacking contracts, pox to pox-5. */
import { decodeClarity } from '../codec/clarity.ts';
import type { ChainEvent } from './block.ts';

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

/** pox-2 and pox-3 print `handle-unlock` for a stacker whose slot was missed, and the node sends no lock event. */
const UNLOCKING_CONTRACT = /^(?:SP000000000000000000002Q6VF78|ST000000000000000000002AMW42H)\.(pox-[23])$/;

/** How an event changes a lock; null when it doesn't. */
export function stackingLock(event: ChainEvent): StackingLock | null {
  if (event.kind === 'stx_lock') {
    const poxVersion = VERSIONS[event.contractName];
    if (poxVersion === undefined) return null;
    return { principal: event.address, amount: event.amount, unlockHeight: event.unlockHeight, poxVersion };
  }
  if (event.kind !== 'contract_log') return null;
  const contractName = UNLOCKING_CONTRACT.exec(event.contractId)?.[1];
  if (contractName === undefined) return null;
  const value = decodeClarity(event.value);
  if (!value.ok || value.value.type !== 'ok' || value.value.value.type !== 'tuple') return null;
  const print = value.value.value.value;
  const name = print.get('name');
  if (name?.type !== 'string-ascii' || name.value !== 'handle-unlock') return null;
  const stacker = print.get('stacker');
  const unlockHeight = print.get('burnchain-unlock-height');
  if (stacker?.type !== 'principal' || unlockHeight?.type !== 'uint') return null;
  return {
    principal: stacker.value,
    amount: null,
    unlockHeight: Number(unlockHeight.value),
    poxVersion: VERSIONS[contractName] ?? 0,
  };
}
