/** The Bitcoin heights of reward cycles. */
import type { Database } from 'bun:sqlite';
import { mainnetCycles, networkOf } from '../../../chain/network.ts';
import { query, type Stored } from '../../rows/statement.ts';

/** The cycles of a network: the Bitcoin height at which cycle 0 begins, and lengths in Bitcoin blocks. */
export interface CycleTimes {
  first: number;
  length: number;
  /** Length of the prepare phase at the end of a cycle; null if it is unknown. */
  prepare: number | null;
}

export const cycleAt = ({ first, length }: CycleTimes, height: number): number => Math.floor((height - first) / length);
export const startOf = ({ first, length }: CycleTimes, cycle: number): number => first + cycle * length;

export const sql = {
  bond: query<Stored<'bonds', 'first_cycle' | 'start_height' | 'unlock_cycle' | 'unlock_height'>>`
    SELECT first_cycle, start_height, unlock_cycle, unlock_height FROM bonds
     WHERE bond_index = (SELECT min(bond_index) FROM bonds)`,
};

/**
 * Makes a function that returns the cycles of a network: mainnet's, or elsewhere computed from a bond, which has the cycle and
 * height of both its ends. Null if they are unknown.
 */
export function cycleTimesQuery(db: Database): (chainId: number) => CycleTimes | null {
  const bond = sql.bond.prepared(db);
  return (chainId) => {
    if (networkOf(chainId).kind === 'mainnet') return mainnetCycles;
    const bondRow = bond.get();
    if (bondRow === null) return null;
    const length = (bondRow.unlock_height - bondRow.start_height) / (bondRow.unlock_cycle - bondRow.first_cycle);
    if (!Number.isInteger(length) || length <= 0) return null;
    return { length, first: bondRow.start_height - bondRow.first_cycle * length, prepare: null };
  };
}
