/**
 * Interprets events of the stacking contracts pox to pox-5 by the tables of their topics, and derives the STX locks.
 */
import type { ChainEvent } from '../block.ts';
import { PayloadError } from '../payload-reader.ts';
import { poxPrint, printingPox } from './print.ts';
import { heightOfUint, type StackingPrint, stackingTopics } from './stacking.ts';
import { type StakingChange, stakingTopics } from './staking.ts';

/**
 * The meaning of a print. `unread` is a print with an unsupported topic or unreadable fields, which remains a plain
 * contract log.
 */
export type PoxReading =
  | { kind: 'stacking'; print: StackingPrint }
  | { kind: 'staking'; changes: StakingChange[] }
  | { kind: 'unread'; contract: string; topic: string | null; reason: string };

const POX_VERSIONS: Readonly<Record<string, number>> = { pox: 1, 'pox-2': 2, 'pox-3': 3, 'pox-4': 4, 'pox-5': 5 };

const byName = <T extends { name: string }>(topics: readonly T[]): ReadonlyMap<string, T> =>
  new Map(topics.map((topic) => [topic.name, topic]));

const stackingByName = new Map(Object.entries(stackingTopics).map(([contract, topics]) => [contract, byName(topics)]));
const stakingByName = byName(stakingTopics);

/** Reads an event of a stacking contract. @returns null for other events, and for prints without a meaning */
export function poxReading(event: ChainEvent): PoxReading | null {
  const printing = printingPox(event);
  if (printing === null) return null;
  const { contractName } = printing;
  const print = poxPrint(event);
  const unread = (reason: string): PoxReading => ({
    kind: 'unread',
    contract: contractName,
    topic: print?.name ?? null,
    reason,
  });
  if (print === null) return isRefusal(event) ? null : unread('Its form is unknown');
  try {
    if (contractName === 'pox-5') {
      const topic = stakingByName.get(print.name);
      return topic === undefined
        ? unread('The topic is not known')
        : { kind: 'staking', changes: topic.read(print.fields) };
    }
    const topic = stackingByName.get(contractName)?.get(print.name);
    if (topic === undefined) return unread('The topic is not known');
    const stackingPrint = topic.read(print, POX_VERSIONS[contractName] ?? 0);
    return stackingPrint === null ? null : { kind: 'stacking', print: stackingPrint };
  } catch (error) {
    if (!(error instanceof PayloadError)) throw error;
    return unread(error.message);
  }
}

/** `(err …)`: the call did nothing. */
const ERR_PREFIX = 8;
const isRefusal = (event: ChainEvent): boolean => event.kind === 'contract_log' && event.value[0] === ERR_PREFIX;

/**
 * A change of a principal's lock. Each change is the whole state, not a difference: the last one is valid. `amount`
 * (micro-STX) is null if a missed reward slot ends a lock early: the previous amount remains.
 */
export interface StackingLock {
  principal: string;
  amount: string | null;
  /** Bitcoin height of the unlock. */
  unlockHeight: number;
  /** The version of the stacking contract: 1 for pox, 2 for pox-2, up to 5 for pox-5. */
  poxVersion: number;
}

/**
 * Returns how an event changes a lock; null if it doesn't. The node also sends lock events for pox-5.
 * @param reading of the event
 */
export function stackingLock(event: ChainEvent, reading: PoxReading | null): StackingLock | null {
  if (event.kind === 'stx_lock') {
    const poxVersion = POX_VERSIONS[event.contractName];
    if (poxVersion === undefined) return null;
    return { principal: event.address, amount: event.amount, unlockHeight: event.unlockHeight, poxVersion };
  }
  // pox-2 and pox-3 print `handle-unlock` for a stacker that missed a slot, and the node sends no lock event.
  if (reading?.kind !== 'stacking') return null;
  const { changes, stacker, state, poxVersion } = reading.print;
  if (!changes.some(({ kind }) => kind === 'early_unlock')) return null;
  return { principal: stacker, amount: null, unlockHeight: heightOfUint(state.unlockHeight), poxVersion };
}
