/** STX that are staked without a bond. */
import type { Database } from 'bun:sqlite';
import type { Sign } from '../../chain/effect.ts';
import type { StakingChange } from '../../chain/pox/staking.ts';
import { stakesTable } from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';
import { type At, history } from './history.ts';

export type StakeWriter = ReturnType<typeof stakeWriter>;

/** What writes them through this connection. */
export function stakeWriter(db: Database, { principals }: Dictionaries) {
  const stakes = history(db, stakesTable);
  const changedAt = db.prepare<{ found: number }, [number, number, number]>(
    'SELECT 1 AS found FROM stakes WHERE staker_id = ?1 AND position = ?2 AND event_index = ?3',
  );

  return {
    change(change: Extract<StakingChange, { kind: 'stake' | 'stake_update' }>, at: At, sign: Sign): void {
      const owner = { staker_id: principals.id(change.staker) };
      if (sign === -1) {
        stakes.remove(owner, at);
        return;
      }
      const from = change.kind === 'stake' ? change.firstCycle : change.fromCycle;
      stakes.add(
        {
          ...owner,
          address: change.staker,
          signer_id: principals.id(change.signer),
          amount: change.stx.toString(),
          first_cycle: change.kind === 'stake' ? from : (stakes.current(owner)?.first_cycle ?? from),
          from_cycle: from,
          unlock_cycle: change.unlockCycle,
          unlock_height: change.unlockHeight,
        },
        at,
      );
    },

    /** STX that a bond locks from a cycle on are staked without one no more. */
    end(staker: string, cycle: number, at: At): void {
      const stake = stakes.current({ staker_id: principals.id(staker) });
      if (stake === null || stake.amount === '0') return;
      stakes.add({ ...stake, address: staker, amount: '0', from_cycle: cycle }, at);
    },

    /** Takes back what `end` did at this place, if anything. */
    resume(staker: number, at: At): void {
      if (changedAt.get(staker, at.position, at.index) !== null) stakes.remove({ staker_id: staker }, at);
    },
  };
}
