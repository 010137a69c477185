/** What a principal staked by pox-5, and what it earned. */

import type { Database } from 'bun:sqlite';
import type { Cursor, Page } from '../model/page.ts';
import type { BondPosition, Rewards, StakingSummary } from '../model/staking.ts';
import { prepared } from '../rows/statement.ts';
import { keysetPage, numberAt } from './page.ts';

const position = `SELECT p.bond_index, p.early_exit, p.active, t.tx_id, p.btc_locked, p.stx_locked,
                         coalesce(r.accrued, '0') AS accrued, coalesce(r.claimed, '0') AS claimed
                    FROM bond_positions p JOIN transactions t ON t.position = p.enrolled_at
                    LEFT JOIN staking_rewards r ON r.staker_id = p.staker_id AND r.bond_index = p.bond_index`;

export const sql = {
  principal: 'SELECT id FROM principals WHERE address = ?1',
  tip: 'SELECT burn_block_height FROM progress',
  stake:
    'SELECT amount, unlock_height FROM stakes WHERE staker_id = ?1 ORDER BY position DESC, event_index DESC LIMIT 1',
  // A principal has a bond or two at a time.
  locked: 'SELECT btc_locked, stx_locked FROM bond_positions WHERE staker_id = ?1 AND current = 1',
  rewards: 'SELECT bond_index, accrued, claimed FROM staking_rewards WHERE staker_id = ?1',
  count: 'SELECT count(*) AS total FROM bond_positions WHERE staker_id = ?1 AND current = 1',
  from: `${position} WHERE p.staker_id = ?1 AND p.current = 1 AND p.bond_index >= ?2 ORDER BY p.bond_index LIMIT ?3`,
  before: `${position} WHERE p.staker_id = ?1 AND p.current = 1 AND p.bond_index < ?2
            ORDER BY p.bond_index DESC LIMIT ?3`,
};

interface PositionRow {
  bond_index: number;
  early_exit: number;
  active: number;
  tx_id: Uint8Array;
  btc_locked: string;
  stx_locked: string;
  accrued: string;
  claimed: string;
}

const positionOf = (row: PositionRow): BondPosition => ({
  bond: row.bond_index,
  earlyExit: row.early_exit === 1,
  active: row.active === 1,
  enrolledBy: row.tx_id,
  btcLocked: row.btc_locked,
  stxLocked: row.stx_locked,
  rewards: { accrued: BigInt(row.accrued), claimed: BigInt(row.claimed) },
});

/** No principal has this number. */
const NOBODY = 0;

export function stakingPrincipalQueries(db: Database) {
  const principal = prepared<{ id: number }, [string]>(db, sql.principal);
  const tip = prepared<{ burn_block_height: number }, []>(db, sql.tip);
  const stake = prepared<{ amount: string; unlock_height: number }, [number]>(db, sql.stake);
  const locked = prepared<{ btc_locked: string; stx_locked: string }, [number]>(db, sql.locked);
  const rewards = prepared<{ bond_index: number; accrued: string; claimed: string }, [number]>(db, sql.rewards);
  const count = prepared<{ total: number }, [number]>(db, sql.count);
  const from = prepared<PositionRow, [number, number, number]>(db, sql.from);
  const before = prepared<PositionRow, [number, number, number]>(db, sql.before);

  return {
    async summary(staker: string): Promise<StakingSummary> {
      const id = principal.get(staker)?.id ?? NOBODY;
      const none = (): Rewards => ({ accrued: 0n, claimed: 0n });
      const stx = { locked: 0n, rewards: none() };
      const bonds = { count: 0, btcLocked: 0n, stxLocked: 0n, rewards: none() };
      const last = stake.get(id);
      if (last !== null && last.unlock_height > (tip.get()?.burn_block_height ?? 0)) stx.locked = BigInt(last.amount);
      for (const row of locked.all(id)) {
        bonds.count += 1;
        bonds.btcLocked += BigInt(row.btc_locked);
        bonds.stxLocked += BigInt(row.stx_locked);
      }
      for (const { bond_index, accrued, claimed } of rewards.all(id)) {
        const of = bond_index < 0 ? stx.rewards : bonds.rewards;
        of.accrued += BigInt(accrued);
        of.claimed += BigInt(claimed);
      }
      return { stx, bonds };
    },

    /** Positions in bonds, by the bond's index. */
    async positions(staker: string, limit: number, at: Cursor | null): Promise<Page<BondPosition>> {
      const id = principal.get(staker)?.id ?? NOBODY;
      return keysetPage<PositionRow, BondPosition>({
        limit,
        at,
        total: count.get(id)?.total ?? 0,
        rowsFrom: (key, most) => from.all(id, key === null ? 0 : numberAt(key, 0), most),
        rowsBefore: (key, most) => before.all(id, numberAt(key, 0), most),
        keyOf: ({ bond_index }) => [bond_index],
        itemOf: positionOf,
      });
    },
  };
}
