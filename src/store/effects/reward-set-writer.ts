/** The signers of reward cycles, as blocks chose them. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { sortable } from '../rows/amounts.ts';
import { inserter, inserterIfAbsent } from '../rows/table.ts';
import { cycleSignersTable, rewardCyclesTable } from '../rows/tables.ts';

/**
 * Makes what applies the effects on reward sets through this connection. If two blocks choose the set of one cycle,
 * the first counts.
 */
export function rewardSetWriter(db: Database) {
  const addCycle = inserterIfAbsent(db, rewardCyclesTable);
  const removeCycle = db.prepare<null, [number, number]>('DELETE FROM reward_cycles WHERE cycle = ?1 AND height = ?2');
  const addSigner = inserter(db, cycleSignersTable);
  const removeSigners = db.prepare<null, [number]>('DELETE FROM cycle_signers WHERE cycle = ?1');
  const count = db.prepare<null, [number]>('UPDATE staking_totals SET cycles = cycles + ?1');

  return ({ sign, height, rewardSet }: Extract<Effect, { kind: 'reward_set' }>): void => {
    const { cycle } = rewardSet;
    // A key stands in a set once.
    const signers = [...new Map(rewardSet.signers.map((signer) => [signer.key.toHex(), signer])).values()];
    if (sign === -1) {
      if (removeCycle.run(cycle, height).changes === 0) return;
      removeSigners.run(cycle);
    } else {
      const weight = signers.reduce((sum, signer) => sum + signer.weight, 0);
      const stacked = signers.reduce((sum, signer) => sum + signer.stacked, 0n);
      const row = { cycle, height, signers: signers.length, weight, stacked: stacked.toString() };
      if (addCycle(row) === null) return;
      for (const { key, weight: its, stacked: amount } of signers) {
        addSigner({ cycle, signer_key: key, weight: its, stacked: sortable(amount.toString()) });
      }
    }
    count.run(sign);
  };
}
