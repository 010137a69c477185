/**
 * What stakers earn and claim, in sats. The contract gives each unit that counts in a reward cycle the same: what a
 * calculation gives is added up exactly, as sats times 10^18, for each staker, bond or stake, signer and cycle, and the
 * whole sats of each such share are what accrued. So nobody can claim more than accrued, as with sums of rounded parts.
 */
import type { Database } from 'bun:sqlite';
import type { StakingChange } from '../../chain/pox/staking.ts';
import { upserter } from '../rows/table.ts';
import { stakingRewardsTable, stakingSharesTable } from '../rows/tables.ts';
import { NO_BOND } from '../rows/words.ts';
import type { BondTotalsWriter } from './bond-totals.ts';
import type { Dictionaries } from './dictionary.ts';

type Of<K extends StakingChange['kind']> = Extract<StakingChange, { kind: K }>;

/** Units of a staker that count in a cycle: sats of a bond, or micro-STX. */
interface Weight {
  staker: number;
  signer: number;
  units: bigint;
}

interface WeightRow {
  staker_id: number;
  signer_id: number;
  units: string;
}

interface StakeRow extends WeightRow {
  first_cycle: number;
  unlock_cycle: number;
}

/** Rates are for a unit, times this. */
const PRECISION = 10n ** 18n;
/** Micro-STX that must be delegated to a signer, or it is none in that cycle. */
const SIGNER_MINIMUM = 50_000_000_000n;
/** The cycle that stands for "no end": what holds from then on holds now. */
const LAST_CYCLE = Number.MAX_SAFE_INTEGER;

/** What applies distributions, calculations and claims of rewards through this connection. */
export function stakingRewardsWriter(db: Database, { principals }: Dictionaries, totals: BondTotalsWriter) {
  // The states of each staker in the order of the chain: the last one that holds in the cycle counts.
  const bondWeights = db.prepare<WeightRow, [number, number]>(
    `SELECT staker_id, signer_id, weight AS units FROM bond_positions
      WHERE bond_index = ?1 AND weight_cycle <= ?2 ORDER BY staker_id, position, event_index`,
  );
  const stakeWeights = db.prepare<StakeRow, [number]>(
    `SELECT staker_id, signer_id, amount AS units, first_cycle, unlock_cycle FROM stakes
      WHERE from_cycle <= ?1 ORDER BY staker_id, position, event_index`,
  );
  const bondStx = db.prepare<WeightRow & { bond_index: number }, [number]>(
    `SELECT p.staker_id, p.bond_index, p.signer_id, p.stx_locked AS units
       FROM bond_positions p JOIN bonds b ON b.bond_index = p.bond_index
      WHERE b.first_cycle <= ?1 AND b.unlock_cycle > ?1 AND p.weight_cycle <= ?1
      ORDER BY p.staker_id, p.bond_index, p.position, p.event_index`,
  );
  const share = db.prepare<{ earned: string }, [number, number, number, number]>(
    'SELECT earned FROM staking_shares WHERE staker_id = ?1 AND bond_index = ?2 AND signer_id = ?3 AND cycle = ?4',
  );
  const setShare = upserter(db, stakingSharesTable, { replaced: ['earned'] });
  const removeShare = db.prepare(
    'DELETE FROM staking_shares WHERE staker_id = ?1 AND bond_index = ?2 AND signer_id = ?3 AND cycle = ?4',
  );
  const sums = db.prepare<{ accrued: string; claimed: string }, [number, number]>(
    'SELECT accrued, claimed FROM staking_rewards WHERE staker_id = ?1 AND bond_index = ?2',
  );
  const setSums = upserter(db, stakingRewardsTable, { replaced: ['accrued', 'claimed'] });
  const removeSums = db.prepare('DELETE FROM staking_rewards WHERE staker_id = ?1 AND bond_index = ?2');

  function move(staker: number, bond: number, accrued: bigint, claimed: bigint): void {
    if (accrued === 0n && claimed === 0n) return;
    const known = sums.get(staker, bond);
    const [has, took] = [BigInt(known?.accrued ?? 0) + accrued, BigInt(known?.claimed ?? 0) + claimed];
    if (has === 0n && took === 0n) removeSums.run(staker, bond);
    else setSums({ staker_id: staker, bond_index: bond, accrued: has.toString(), claimed: took.toString() });
  }

  function accrue({ staker, signer, units }: Weight, bond: number, cycle: number, rate: bigint, sign: 1 | -1): void {
    if (units === 0n || rate === 0n) return;
    const before = BigInt(share.get(staker, bond, signer, cycle)?.earned ?? 0);
    const after = before + BigInt(sign) * units * rate;
    if (after === 0n) removeShare.run(staker, bond, signer, cycle);
    else setShare({ staker_id: staker, bond_index: bond, signer_id: signer, cycle, earned: after.toString() });
    move(staker, bond, after / PRECISION - before / PRECISION, 0n);
  }

  /** The weights of the stakes that hold in a cycle, without signers that nobody can have staked with in it. */
  function stakesOf(cycle: number, staked: bigint): Weight[] {
    const newest = new Map<number, StakeRow>();
    for (const row of stakeWeights.iterate(cycle)) newest.set(row.staker_id, row);
    const weights: Weight[] = [];
    for (const { staker_id, signer_id, units, first_cycle, unlock_cycle } of newest.values()) {
      if (first_cycle > cycle || unlock_cycle <= cycle) continue;
      weights.push({ staker: staker_id, signer: signer_id, units: BigInt(units) });
    }
    if (weights.reduce((sum, { units }) => sum + units, 0n) <= staked) return weights;
    const delegated = new Map<number, bigint>();
    const delegate = (signer: number, units: bigint) => delegated.set(signer, (delegated.get(signer) ?? 0n) + units);
    for (const { signer, units } of weights) delegate(signer, units);
    const positions = new Map<string, WeightRow>();
    for (const row of bondStx.iterate(cycle)) positions.set(`${row.staker_id} ${row.bond_index}`, row);
    for (const { signer_id, units } of positions.values()) delegate(signer_id, BigInt(units));
    return weights.filter(({ signer }) => (delegated.get(signer) ?? 0n) >= SIGNER_MINIMUM);
  }

  return {
    distribute({ bond, rate, cycle }: Of<'bond_distribution'>, sign: 1 | -1): void {
      const newest = new Map<number, Weight>();
      for (const { staker_id, signer_id, units } of bondWeights.iterate(bond, cycle ?? LAST_CYCLE)) {
        newest.set(staker_id, { staker: staker_id, signer: signer_id, units: BigInt(units) });
      }
      for (const weight of newest.values()) accrue(weight, bond, cycle ?? NO_CYCLE, rate, sign);
    },

    calculate({ cycle, rate, staked }: Of<'reward_calculation'>, sign: 1 | -1): void {
      for (const weight of stakesOf(cycle, staked)) accrue(weight, NO_BOND, cycle, rate, sign);
    },

    claim({ staker, bond, sats }: Of<'reward_claim'>, sign: 1 | -1): void {
      const claimed = BigInt(sign) * sats;
      move(principals.id(staker), bond ?? NO_BOND, 0n, claimed);
      if (bond !== null) totals.move(bond, { paidOut: claimed });
    },
  };
}

/** Where a distribution is part of no calculation. */
const NO_CYCLE = -1;
