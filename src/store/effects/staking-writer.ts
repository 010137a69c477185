/**
 * Writes staking by pox-5: bonds (their terms, allowances and each staker's position), STX staked without a bond, rewards,
 * and the keys of signers.
 */
import type { Database } from 'bun:sqlite';
import type { EffectOf, Sign } from '../../chain/effect.ts';
import { cycleAt } from '../../chain/network.ts';
import type { StakingChangeOf } from '../../chain/pox/staking.ts';
import { KEY_ACTION, NO_BOND, NO_CYCLE, storedKeyAction } from '../rows/enums.ts';
import { type BondSchedule, cyclesOfBond, encodeOutputs, PRECISION } from '../rows/formats.ts';
import { query, type Stored } from '../rows/statement.ts';
import { modelInserter, table } from '../rows/table.ts';
import {
  bondAllowancesTable,
  bondPositionsTable,
  bondRegistrationsTable,
  bondsTable,
  cycleRewardsTable,
  signerKeysTable,
  stakesTable,
  stakingRewardsTable,
  stakingSharesTable,
} from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';
import { type EventPlace, history } from './history.ts';

type StakingEffect = EffectOf<'staking'>;

/** Writers by kind of change. The effect has the position and index of the event. */
type Writers = {
  [Kind in StakingEffect['change']['kind']]: (change: StakingChangeOf<Kind>, effect: StakingEffect, sign: Sign) => void;
};

/** Applies effects on staking. */
export function stakingWriter(db: Database, dictionaries: Dictionaries) {
  const totals = bondTotals(db);
  const bonds = bondWriter(db, dictionaries, totals);
  const stakes = stakeWriter(db, dictionaries);
  const positions = bondPositionWriter(db, dictionaries, totals, stakes);
  const rewards = stakingRewardsWriter(db, dictionaries, totals);
  const cycles = cycleRewardsWriter(db);
  const writers: Writers = {
    bond: bonds.bond,
    allowance: bonds.allowance,
    registration: positions.registration,
    registration_update: positions.registrationUpdate,
    early_exit: positions.earlyExit,
    withdrawal: positions.withdrawal,
    stake: stakes.change,
    stake_update: stakes.change,
    signer_key: signerKeyWriter(db, dictionaries),
    bond_distribution: (change, _, sign) => rewards.distribute(change, sign),
    reward_calculation(change, _, sign) {
      rewards.calculate(change, sign);
      cycles.move(change.cycle, sign, {
        bonds: change.bondSats,
        stakes: change.stakeSats,
        reserve: change.reserveSats,
      });
    },
    signer_claim: ({ cycle, sats }, _, sign) => cycles.move(cycle, sign, { claimed: sats }),
    reward_claim: (change, _, sign) => rewards.claim(change, sign),
  };
  const apply = <Kind extends StakingEffect['change']['kind']>(
    change: StakingChangeOf<Kind>,
    effect: StakingEffect,
  ): void => {
    const write: Writers[Kind] = writers[change.kind as Kind];
    write(change, effect, effect.sign);
  };
  return (effect: StakingEffect): void => apply(effect.change, effect);
}

type StakeWriter = ReturnType<typeof stakeWriter>;

function stakeWriter(db: Database, { principals }: Dictionaries) {
  const stakes = history(db, stakesTable);
  const rows = table(db, stakesTable);

  return {
    change(change: StakingChangeOf<'stake' | 'stake_update'>, place: EventPlace, sign: Sign): void {
      const owner = { staker_id: principals.id(change.staker) };
      if (sign === -1) {
        stakes.remove(owner, place);
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
        place,
      );
    },

    /** Ends a stake whose STX a bond locks from a cycle on. */
    end(staker: string, cycle: number, place: EventPlace): void {
      const stake = stakes.current({ staker_id: principals.id(staker) });
      if (stake === null || stake.amount === '0') return;
      stakes.add({ ...stake, address: staker, amount: '0', from_cycle: cycle }, place);
    },

    /** Reverts `end` at this event, if it changed something. */
    resume(staker: number, place: EventPlace): void {
      const row = rows.find({ staker_id: staker, position: place.position, event_index: place.index });
      if (row !== null) stakes.remove(row, place);
    },
  };
}

type Position = Stored<'bond_positions'>;

function bondWriter(db: Database, { principals }: Dictionaries, totals: BondTotalsWriter) {
  const { find } = table(db, bondsTable);
  const add = modelInserter(db, bondsTable);
  const removeBond = query<null, [number, number, number]>`
    DELETE FROM bonds WHERE bond_index = ?1 AND position = ?2 AND event_index = ?3`.prepared(db);
  const allowances = table(db, bondAllowancesTable);

  return {
    /** Adds a bond. If a bond is set up twice, the first one counts. */
    bond(bond: StakingChangeOf<'bond'>, { position, index }: EventPlace, sign: Sign): void {
      if (sign === -1) {
        removeBond.run(bond.bond, position, index);
        return;
      }
      if (find({ bond_index: bond.bond }) !== null) return;
      add({ ...bond, bondIndex: bond.bond, position, eventIndex: index, ...NO_SUMS });
    },

    allowance({ bond, staker, sats }: StakingChangeOf<'allowance'>, { position, index }: EventPlace, sign: Sign): void {
      const event = { bond_index: bond, position, event_index: index };
      allowances.move(sign, { ...event, staker_id: principals.id(staker), sats: sats.toString() });
      totals.move(bond, { allowed: sign, capacity: BigInt(sign) * sats });
    },
  };
}

/** The new values of a position that an exit or a withdrawal reduces. */
interface ReducedPosition {
  btcLocked: string;
  /** Sats that continue to earn rewards. */
  weight: string;
  earlyExit: boolean;
  active: boolean;
}

const afterEarlyExit = ({ btc_locked }: Position): ReducedPosition => ({
  btcLocked: btc_locked,
  weight: '0',
  earlyExit: true,
  active: false,
});

const afterWithdrawal =
  (sats: bigint) =>
  ({ early_exit, active, weight }: Position): ReducedPosition => ({
    btcLocked: sats.toString(),
    // A position that exited early earns nothing.
    weight: weight === '0' ? weight : sats.toString(),
    earlyExit: early_exit === 1 || sats === 0n,
    active: active === 1,
  });

function bondPositionWriter(db: Database, { principals }: Dictionaries, totals: BondTotalsWriter, stakes: StakeWriter) {
  const positions = history(db, bondPositionsTable);
  const registrations = table(db, bondRegistrationsTable);
  const schedule = query<BondSchedule, [number]>`
    SELECT first_cycle, start_height, unlock_cycle, unlock_height FROM bonds WHERE bond_index = ?1`.prepared(db);

  function withSums(key: { staker_id: number; bond_index: number }, registered: number, change: () => void): void {
    const before = positions.current(key);
    change();
    const after = positions.current(key);
    const difference = (column: 'btc_locked' | 'stx_locked'): bigint =>
      BigInt(after?.[column] ?? 0) - BigInt(before?.[column] ?? 0);
    const sums: Partial<BondTotals> = { btcLocked: difference('btc_locked'), stxLocked: difference('stx_locked') };
    totals.move(key.bond_index, { ...sums, registered });
  }

  /** @param first the first cycle of the staker in the bond */
  function enrol(
    change: StakingChangeOf<'registration' | 'registration_update'>,
    place: EventPlace,
    first: number,
  ): void {
    const [sats, stx] = [change.sats.toString(), change.stx.toString()];
    positions.add(
      {
        staker_id: principals.id(change.staker),
        bond_index: change.bond,
        address: change.staker,
        signer_id: principals.id(change.signer),
        early_exit: 0,
        active: 1,
        btc_locked: sats,
        stx_locked: stx,
        registered_sats: sats,
        enrolled_at: place.position,
        first_cycle: first,
        weight: sats,
        weight_cycle: change.firstCycle,
      },
      place,
    );
  }

  function reduce(
    { bond, staker }: StakingChangeOf<'early_exit' | 'withdrawal'>,
    place: EventPlace & { burnHeight: number },
    sign: Sign,
    toReduced: (position: Position) => ReducedPosition,
  ): void {
    const key = { staker_id: principals.id(staker), bond_index: bond };
    const position = positions.current(key);
    // A staker without a registration has no position to reduce or restore.
    if (position === null) return;
    withSums(key, 0, () => {
      if (sign === -1) {
        positions.remove(key, place);
        return;
      }
      const { btcLocked, weight, earlyExit, active } = toReduced(position);
      const times = schedule.get(bond);
      const cycles = times === null ? null : cyclesOfBond(times);
      positions.add(
        {
          ...position,
          address: staker,
          early_exit: Number(earlyExit),
          active: Number(active),
          btc_locked: btcLocked,
          weight,
          weight_cycle: Math.max(position.first_cycle, cycles === null ? 0 : cycleAt(cycles, place.burnHeight)),
        },
        place,
      );
    });
  }

  return {
    registration(change: StakingChangeOf<'registration'>, place: EventPlace, sign: Sign): void {
      const key = { staker_id: principals.id(change.staker), bond_index: change.bond };
      const event = { bond_index: change.bond, position: place.position, event_index: place.index };
      withSums(key, sign, () => {
        if (sign === -1) {
          stakes.resume(key.staker_id, place);
          positions.remove(key, place);
          registrations.remove(event);
          return;
        }
        registrations.add({
          ...event,
          staker_id: key.staker_id,
          outputs: change.outputs === null ? null : encodeOutputs(change.outputs),
        });
        enrol(change, place, change.firstCycle);
        stakes.end(change.staker, change.firstCycle, place);
      });
    },

    registrationUpdate(change: StakingChangeOf<'registration_update'>, place: EventPlace, sign: Sign): void {
      const key = { staker_id: principals.id(change.staker), bond_index: change.bond };
      withSums(key, 0, () => {
        if (sign === -1) positions.remove(key, place);
        else enrol(change, place, positions.current(key)?.first_cycle ?? change.firstCycle);
      });
    },

    earlyExit: (change: StakingChangeOf<'early_exit'>, place: EventPlace & { burnHeight: number }, sign: Sign): void =>
      reduce(change, place, sign, afterEarlyExit),

    withdrawal: (change: StakingChangeOf<'withdrawal'>, place: EventPlace & { burnHeight: number }, sign: Sign): void =>
      reduce(change, place, sign, afterWithdrawal(change.sats)),
  };
}

/** The sums of a bond: counts of rows, sats and micro-STX. */
interface BondTotals {
  allowed: number;
  capacity: bigint;
  registered: number;
  btcLocked: bigint;
  stxLocked: bigint;
  paidOut: bigint;
}

const SUM_COLUMNS = ['allowed', 'capacity', 'registered', 'btc_locked', 'stx_locked', 'paid_out'] as const;
const NO_SUMS = { allowed: 0, capacity: '0', registered: 0, btcLocked: '0', stxLocked: '0', paidOut: '0' };

type BondTotalsWriter = ReturnType<typeof bondTotals>;

function bondTotals(db: Database) {
  const { find } = table(db, bondsTable);
  const sets = SUM_COLUMNS.map((column, index) => `${column} = ?${index + 2}`);
  const set = query<null, [number, number, string, number, string, string, string]>`
    UPDATE bonds SET ${sets.join(', ')} WHERE bond_index = ?1`.prepared(db);
  return {
    /** Adds to the sums of a bond. In a partial history, a bond may have been set up before the first block: it has no sums. */
    move(bond: number, by: Partial<BondTotals>): void {
      const row = find({ bond_index: bond });
      if (row === null) return;
      set.run(
        bond,
        row.allowed + (by.allowed ?? 0),
        String(BigInt(row.capacity) + (by.capacity ?? 0n)),
        row.registered + (by.registered ?? 0),
        String(BigInt(row.btc_locked) + (by.btcLocked ?? 0n)),
        String(BigInt(row.stx_locked) + (by.stxLocked ?? 0n)),
        String(BigInt(row.paid_out) + (by.paidOut ?? 0n)),
      );
    },
  };
}

type CycleSum = 'bonds' | 'stakes' | 'reserve' | 'claimed';

function cycleRewardsWriter(db: Database) {
  const rewards = table(db, cycleRewardsTable);
  return {
    /** Adds sats to the sums of a cycle, or subtracts them. */
    move(cycle: number, sign: Sign, by: Partial<Record<CycleSum, bigint>>): void {
      const row = rewards.find({ cycle });
      const sum = (column: CycleSum): string => String(BigInt(row?.[column] ?? 0) + BigInt(sign) * (by[column] ?? 0n));
      const sums = { bonds: sum('bonds'), stakes: sum('stakes'), reserve: sum('reserve'), claimed: sum('claimed') };
      if (Object.values(sums).every((sats) => sats === '0')) rewards.removeIfPresent({ cycle });
      else rewards.put({ cycle, ...sums });
    },
  };
}

/** A staker's units that earn rewards in a cycle: sats of a bond, or micro-STX. */
interface Weight {
  staker: number;
  address: string;
  signer: number;
  units: bigint;
}

/** A row of a bond's position, or of a stake. */
interface WeightRow extends Stored<'bond_positions', 'staker_id' | 'address' | 'signer_id'> {
  units: string;
}

const toWeight = ({ staker_id, address, signer_id, units }: WeightRow): Weight => ({
  staker: staker_id,
  address,
  signer: signer_id,
  units: BigInt(units),
});

/** The key of a share of the rewards, and the staker's address. */
interface Share extends Pick<Weight, 'staker' | 'address' | 'signer'> {
  bond: number;
  cycle: number;
}

type StakeRow = WeightRow & Stored<'stakes', 'first_cycle' | 'unlock_cycle'>;

/** Micro-STX that must be delegated to a signer for it to be one in a cycle. */
const SIGNER_MINIMUM = 50_000_000_000n;
/** A cycle after all others: the newest state of each position counts. */
const LAST_CYCLE = Number.MAX_SAFE_INTEGER;

/**
 * Writes the rewards that stakers accrue and claim, in sats. The contract gives every unit of a reward cycle the same reward.
 * Results of a calculation are summed exactly, as sats times 10^18, for each staker, bond or stake, signer and cycle; the whole
 * sats of each such share are accrued. So nobody can claim more than accrued, which sums of rounded parts would allow.
 */
function stakingRewardsWriter(db: Database, { principals }: Dictionaries, totals: BondTotalsWriter) {
  // The states of each staker in the order of the chain: the last one that holds in the cycle counts.
  const bondWeights = query<WeightRow, [number, number]>`
    SELECT staker_id, address, signer_id, weight AS units FROM bond_positions
     WHERE bond_index = ?1 AND weight_cycle <= ?2 ORDER BY staker_id, position, event_index`.prepared(db);
  const stakeWeights = query<StakeRow, [number]>`
    SELECT staker_id, address, signer_id, amount AS units, first_cycle, unlock_cycle FROM stakes
     WHERE from_cycle <= ?1 ORDER BY staker_id, position, event_index`.prepared(db);
  const bondStx = query<WeightRow & Stored<'bond_positions', 'bond_index'>, [number]>`
    SELECT p.staker_id, p.address, p.bond_index, p.signer_id, p.stx_locked AS units
      FROM bond_positions p JOIN bonds b ON b.bond_index = p.bond_index
     WHERE b.first_cycle <= ?1 AND b.unlock_cycle > ?1 AND p.weight_cycle <= ?1
     ORDER BY p.staker_id, p.bond_index, p.position, p.event_index`.prepared(db);
  const shares = table(db, stakingSharesTable, ['address']);
  const sums = table(db, stakingRewardsTable);

  function move(staker: number, bond: number, accrued: bigint, claimed: bigint): void {
    if (accrued === 0n && claimed === 0n) return;
    const key = { staker_id: staker, bond_index: bond };
    const row = sums.find(key);
    const [total, paid] = [BigInt(row?.accrued ?? 0) + accrued, BigInt(row?.claimed ?? 0) + claimed];
    if (total === 0n && paid === 0n) sums.removeIfPresent(key);
    else sums.put({ ...key, accrued: total.toString(), claimed: paid.toString() });
  }

  /** Adds to a share and to the sums of its staker. @param by earned sats times {@link PRECISION}, and claimed sats */
  function addTo({ staker, address, signer, bond, cycle }: Share, by: { earned: bigint; claimed: bigint }): void {
    if (by.earned === 0n && by.claimed === 0n) return;
    const key = { staker_id: staker, bond_index: bond, signer_id: signer, cycle };
    const share = shares.find(key);
    const earnedBefore = BigInt(share?.earned ?? 0);
    const [earned, claimed] = [earnedBefore + by.earned, BigInt(share?.claimed ?? 0) + by.claimed];
    if (earned === 0n && claimed === 0n) shares.removeIfPresent(key);
    else shares.put({ ...key, address, earned: earned.toString(), claimed: claimed.toString() });
    move(staker, bond, earned / PRECISION - earnedBefore / PRECISION, by.claimed);
  }

  const accrue = ({ units, ...weight }: Weight, bond: number, cycle: number, rate: bigint, sign: 1 | -1): void =>
    addTo({ ...weight, bond, cycle }, { earned: BigInt(sign) * units * rate, claimed: 0n });

  /** The active stakes of a cycle, except those of signers below the cycle's minimum. */
  function activeStakes(cycle: number, staked: bigint): Weight[] {
    const newest = new Map<number, StakeRow>();
    for (const row of stakeWeights.iterate(cycle)) newest.set(row.staker_id, row);
    const weights: Weight[] = [];
    for (const row of newest.values()) {
      if (row.first_cycle <= cycle && row.unlock_cycle > cycle) weights.push(toWeight(row));
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
    distribute({ bond, rate, cycle }: StakingChangeOf<'bond_distribution'>, sign: 1 | -1): void {
      const newest = new Map<number, Weight>();
      for (const row of bondWeights.iterate(bond, cycle ?? LAST_CYCLE)) newest.set(row.staker_id, toWeight(row));
      for (const weight of newest.values()) accrue(weight, bond, cycle ?? NO_CYCLE, rate, sign);
    },

    calculate({ cycle, rate, staked }: StakingChangeOf<'reward_calculation'>, sign: 1 | -1): void {
      for (const weight of activeStakes(cycle, staked)) accrue(weight, NO_BOND, cycle, rate, sign);
    },

    claim({ staker: address, signer, cycle, bond, sats }: StakingChangeOf<'reward_claim'>, sign: 1 | -1): void {
      const claimed = BigInt(sign) * sats;
      const key = { staker: principals.id(address), address, signer: principals.id(signer) };
      addTo({ ...key, bond: bond ?? NO_BOND, cycle }, { earned: 0n, claimed });
      if (bond !== null) totals.move(bond, { paidOut: claimed });
    },
  };
}

/** Writes keys of signers: registrations, the last of which is current, grants and revocations. */
function signerKeyWriter(db: Database, { principals }: Dictionaries) {
  const registrations = history(db, signerKeysTable, { where: `action = ${KEY_ACTION.register}` });
  const keys = table(db, signerKeysTable);

  return (change: StakingChangeOf<'signer_key'>, place: EventPlace, sign: Sign): void => {
    const row = {
      signer_id: principals.id(change.signer),
      action: storedKeyAction.numberOf(change.action),
      signer_key: change.key,
      auth_id: change.authId?.toString() ?? null,
      address: change.signer,
    };
    if (change.action === 'register') registrations.move(sign, row, place);
    else keys.move(sign, { ...row, position: place.position, event_index: place.index, current: 0 });
  };
}
