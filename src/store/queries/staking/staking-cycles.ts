/**
 * Reads the Bitcoin heights of reward cycles, and a reward cycle of pox-5: what was staked in it, and its rewards. The amounts
 * are sums over the states of stakes and positions in the cycle, which are read in batches, since they change with every cycle.
 */
import type { Database } from 'bun:sqlite';
import type { Pause, Turns } from '../../../base/turns.ts';
import { type CycleTimes, cycleAt, mainnetCycles, networkOf, startOfCycle } from '../../../chain/network.ts';
import type { StakingCycle } from '../../model/staking.ts';
import { type BondSchedule, cyclesOfBond } from '../../rows/formats.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import type { RewardCycleQueries } from './stacking.ts';

export const cycleTimesSql = {
  bond: query<BondSchedule>`
    SELECT first_cycle, start_height, unlock_cycle, unlock_height FROM bonds
     WHERE bond_index = (SELECT min(bond_index) FROM bonds)`,
};

/**
 * Makes a function that returns the cycles of a network: mainnet's, or elsewhere computed from a bond, which has the cycle and
 * height of both its ends. Null if they are unknown.
 */
export function cycleTimesQuery(db: Database): (chainId: number) => CycleTimes | null {
  const bond = cycleTimesSql.bond.prepared(db);
  return (chainId) => {
    if (networkOf(chainId).kind === 'mainnet') return mainnetCycles;
    const bondRow = bond.get();
    return bondRow === null ? null : cyclesOfBond(bondRow);
  };
}

export const sql = {
  tip: query<Stored<'progress', 'chain_id' | 'burn_block_height'>>`SELECT chain_id, burn_block_height FROM progress`,
  bonds: query<Stored<'bonds', 'bond_index'>, [number]>`
    SELECT bond_index FROM bonds WHERE first_cycle <= ?1 AND unlock_cycle > ?1 ORDER BY bond_index`,
  rewards: query<Stored<'cycle_rewards', 'bonds' | 'stakes' | 'reserve' | 'claimed'>, [number]>`
    SELECT bonds, stakes, reserve, claimed FROM cycle_rewards WHERE cycle = ?1`,
  stakes: query<StakeRow, [number, number, number, number]>`
    SELECT staker_id, position, event_index, amount, first_cycle, from_cycle, unlock_cycle FROM stakes
     WHERE (staker_id, position, event_index) > (?1, ?2, ?3) ORDER BY staker_id, position, event_index LIMIT ?4`,
  positions: query<PositionRow, [number, number, number, number, number]>`
    SELECT staker_id, position, event_index, stx_locked, weight, weight_cycle FROM bond_positions
     WHERE bond_index = ?5 AND (staker_id, position, event_index) > (?1, ?2, ?3)
     ORDER BY staker_id, position, event_index LIMIT ?4`,
  registration: query<{ native: number }, [number, number]>`
    SELECT outputs IS NOT NULL AS native FROM bond_registrations
     WHERE bond_index = ?1 AND staker_id = ?2 ORDER BY position DESC, event_index DESC LIMIT 1`,
};

const NO_REWARDS = { bonds: '0', stakes: '0', reserve: '0', claimed: '0' };

/** How many cycles a name is before the current one. */
const BACK = { current: 0, previous: 1 } as const;

/** Rows that a batch reads. */
const BATCH = 500;

type Key = Stored<'stakes', 'staker_id' | 'position' | 'event_index'>;
type StakeRow = Key & Stored<'stakes', 'amount' | 'first_cycle' | 'from_cycle' | 'unlock_cycle'>;
type PositionRow = Key & Stored<'bond_positions', 'stx_locked' | 'weight' | 'weight_cycle'>;

/**
 * Yields the last row of each staker that applies in a cycle.
 * @param read reads rows after a key, in the order of the key
 */
async function* newestOf<Row extends Key>(
  read: (after: Key) => Row[],
  applies: (row: Row) => boolean,
  pause: Pause,
): AsyncGenerator<Row> {
  let newest: Row | null = null;
  for (let after: Key | undefined = { staker_id: -1, position: 0, event_index: 0 }; after !== undefined; ) {
    const rows = read(after);
    for (const row of rows) {
      if (newest !== null && newest.staker_id !== row.staker_id) {
        yield newest;
        newest = null;
      }
      if (applies(row)) newest = row;
    }
    after = rows.length < BATCH ? undefined : rows.at(-1);
    await pause();
  }
  if (newest !== null) yield newest;
}

export function stakingCycleQueries(db: Database, rewardCycles: RewardCycleQueries, turns: Turns) {
  const select = statements(db, sql);
  const timesOf = cycleTimesQuery(db);

  async function stakesIn(cycle: number, pause: Pause) {
    const sum = { stx: 0n, stakers: 0 };
    const read = (after: Key) => select.stakes.all(after.staker_id, after.position, after.event_index, BATCH);
    for await (const row of newestOf(read, ({ from_cycle: from }) => from <= cycle, pause)) {
      if (row.first_cycle > cycle || row.unlock_cycle <= cycle || row.amount === '0') continue;
      sum.stx += BigInt(row.amount);
      sum.stakers += 1;
    }
    return sum;
  }

  async function positionsIn(bonds: readonly number[], cycle: number, pause: Pause) {
    const sum = { stx: 0n, native: 0n, sbtc: 0n };
    const stakers = new Set<number>();
    for (const bond of bonds) {
      const read = (after: Key) =>
        select.positions.all(after.staker_id, after.position, after.event_index, BATCH, bond);
      for await (const row of newestOf(read, ({ weight_cycle: from }) => from <= cycle, pause)) {
        stakers.add(row.staker_id);
        sum.stx += BigInt(row.stx_locked);
        const isNative = select.registration.get(bond, row.staker_id)?.native === 1;
        sum[isNative ? 'native' : 'sbtc'] += BigInt(row.weight);
      }
    }
    return { ...sum, stakers: stakers.size };
  }

  return {
    /** A cycle that has begun; undefined if there is none, or if the heights of cycles are unknown. */
    async cycle(id: number | 'current' | 'previous'): Promise<StakingCycle | undefined> {
      const { chain_id, burn_block_height: height } = select.tip.get() ?? { chain_id: null, burn_block_height: 0 };
      const times = chain_id === null ? null : timesOf(chain_id);
      if (times === null) return undefined;
      const current = cycleAt(times, height);
      const cycle = typeof id === 'number' ? id : current - BACK[id];
      if (cycle < 0 || cycle > current) return undefined;
      const next = startOfCycle(times, cycle + 1);
      const prepareStart = times.prepare === null ? null : next - times.prepare;
      const phase = prepareStart !== null && height >= prepareStart ? 'prepare_phase' : 'reward_phase';
      const pause = turns.longWork();
      const bonds = select.bonds.all(cycle).map(({ bond_index: bond }) => bond);
      const [stakes, positions] = [await stakesIn(cycle, pause), await positionsIn(bonds, cycle, pause)];
      const rewards = select.rewards.get(cycle) ?? NO_REWARDS;
      return {
        cycle,
        status: cycle < current ? 'finished' : phase,
        start: startOfCycle(times, cycle),
        prepareStart,
        end: next - 1,
        stx: { stakes: stakes.stx, bonds: positions.stx },
        btc: { native: positions.native, sbtc: positions.sbtc },
        stakers: { stakes: stakes.stakers, bonds: positions.stakers },
        signers: rewardCycles.find(cycle)?.signers ?? 0,
        bonds,
        rewards: {
          bonds: BigInt(rewards.bonds),
          stakes: BigInt(rewards.stakes),
          reserve: BigInt(rewards.reserve),
          claimed: BigInt(rewards.claimed),
        },
      };
    },
  };
}
