/** What the stacking contracts' events of a transaction do. */
import type { ChainTransaction } from './block.ts';
import type { Effect } from './effect.ts';
import { stackingLock } from './locks.ts';
import { type PoxReading, poxReading } from './pox/reading.ts';
import type { StakingChange } from './pox/staking.ts';

/**
 * The cycle of a distribution to a bond, which is that of the calculation of rewards printed after it.
 * @param readings of the transaction's events
 * @param index of the distribution
 */
function cycleOf(readings: readonly (PoxReading | null)[], index: number): number | null {
  for (const reading of readings.slice(index + 1)) {
    if (reading?.kind !== 'staking') continue;
    for (const change of reading.changes) if (change.kind === 'reward_calculation') return change.cycle;
  }
  return null;
}

const withCycle = (change: StakingChange, readings: readonly (PoxReading | null)[], index: number): StakingChange =>
  change.kind === 'bond_distribution' ? { ...change, cycle: cycleOf(readings, index) } : change;

/** The effects of a transaction's stacking and staking prints. @param burnHeight the Bitcoin height of its block */
export function stackingEffects({ events }: ChainTransaction, position: number, burnHeight: number): Effect[] {
  const effects: Effect[] = [];
  const readings = Array.from(events, poxReading);
  for (const [index, event] of events.entries()) {
    const reading = readings[index] ?? null;
    const lock = stackingLock(event, reading);
    if (lock !== null) effects.push({ kind: 'lock', sign: 1, position, index, lock });
    if (reading === null) continue;
    if (reading.kind === 'stacking') {
      effects.push({ kind: 'stacking_print', sign: 1, position, index, print: reading.print });
    } else if (reading.kind === 'unread') {
      effects.push({ ...reading, kind: 'unread_print', sign: 1 });
    } else {
      for (const change of reading.changes) {
        const known = withCycle(change, readings, index);
        effects.push({ kind: 'staking', sign: 1, position, index, burnHeight, change: known });
      }
    }
  }
  return effects;
}
