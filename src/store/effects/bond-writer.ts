/** Bonds: their terms, who may register how much, and what each staker has in them. */
import type { Database } from 'bun:sqlite';
import type { Sign } from '../../chain/effect.ts';
import type { BitcoinOutput, StakingChange } from '../../chain/pox/staking.ts';
import { inserterIfAbsent, table } from '../rows/table.ts';
import type { Stored } from '../rows/table-shape.ts';
import { bondAllowancesTable, bondPositionsTable, bondRegistrationsTable, bondsTable } from '../rows/tables.ts';
import type { BondTotals, BondTotalsWriter } from './bond-totals.ts';
import type { Dictionaries } from './dictionary.ts';
import { type At, history } from './history.ts';
import type { StakeWriter } from './stake-writer.ts';

type Of<K extends StakingChange['kind']> = Extract<StakingChange, { kind: K }>;
type Position = Stored<typeof bondPositionsTable, keyof (typeof bondPositionsTable)['columns']>;
type Schedule = Stored<typeof bondsTable, 'first_cycle' | 'start_height' | 'unlock_cycle' | 'unlock_height'>;

/** Transaction id, then the output's number, of each. */
const outputsColumn = (outputs: readonly BitcoinOutput[] | null): Uint8Array | null =>
  outputs === null
    ? null
    : Buffer.concat(
        outputs.flatMap(({ txId, index }) => {
          const number = new Uint8Array(4);
          new DataView(number.buffer).setUint32(0, index);
          return [txId, number];
        }),
      );

/** The reward cycle of a Bitcoin height, by what a bond says of two others. */
function cycleAt(height: number, { first_cycle, start_height, unlock_cycle, unlock_height }: Schedule): number {
  const length = (unlock_height - start_height) / (unlock_cycle - first_cycle);
  return length > 0 ? first_cycle + Math.floor((height - start_height) / length) : first_cycle;
}

/** What writes bonds and the sats that may be registered in them, through this connection. */
export function bondWriter(db: Database, { principals }: Dictionaries, totals: BondTotalsWriter) {
  const addBond = inserterIfAbsent(db, bondsTable);
  const removeBond = db.prepare<null, [number, number, number]>(
    'DELETE FROM bonds WHERE bond_index = ?1 AND position = ?2 AND event_index = ?3',
  );
  const count = db.prepare<null, [number]>('UPDATE staking_totals SET bonds = bonds + ?1');
  const allowances = table(db, bondAllowancesTable);

  return {
    /** Sets up a bond. If a bond is set up twice, the first counts. */
    bond(bond: Of<'bond'>, { position, index }: At, sign: Sign): void {
      if (sign === -1) {
        if (removeBond.run(bond.bond, position, index).changes > 0) count.run(-1);
        return;
      }
      const added = addBond({
        bond_index: bond.bond,
        position,
        event_index: index,
        target_rate: bond.targetRate,
        stx_value_ratio: bond.stxValueRatio,
        minimum_stx_ratio: bond.minimumStxRatio,
        first_cycle: bond.firstCycle,
        start_height: bond.startHeight,
        unlock_cycle: bond.unlockCycle,
        unlock_height: bond.unlockHeight,
      });
      if (added !== null) count.run(1);
    },

    allowance({ bond, staker, sats }: Of<'allowance'>, { position, index }: At, sign: Sign): void {
      const key = { bond_index: bond, position, event_index: index };
      if (sign === 1) allowances.add({ ...key, staker_id: principals.id(staker), sats: sats.toString() });
      else allowances.remove(key);
      totals.move(bond, { allowed: sign, capacity: BigInt(sign) * sats });
    },
  };
}

/** What becomes of a position that is made smaller. */
interface Rest {
  btcLocked: string;
  /** Sats that are left to earn rewards. */
  weight: string;
  earlyExit: boolean;
  active: boolean;
}

const afterEarlyExit = ({ btc_locked }: Position): Rest => ({
  btcLocked: btc_locked,
  weight: '0',
  earlyExit: true,
  active: false,
});

const afterWithdrawal =
  (sats: bigint) =>
  ({ early_exit, active, weight }: Position): Rest => ({
    btcLocked: sats.toString(),
    // What exited early earns nothing, whatever is left of it.
    weight: weight === '0' ? weight : sats.toString(),
    earlyExit: early_exit === 1 || sats === 0n,
    active: active === 1,
  });

/** What writes what stakers have in bonds, through this connection. */
export function bondPositionWriter(
  db: Database,
  { principals }: Dictionaries,
  totals: BondTotalsWriter,
  stakes: StakeWriter,
) {
  const positions = history(db, bondPositionsTable);
  const registrations = table(db, bondRegistrationsTable);
  const schedule = db.prepare<Schedule, [number]>(
    'SELECT first_cycle, start_height, unlock_cycle, unlock_height FROM bonds WHERE bond_index = ?1',
  );

  /** Runs a change of a position, and counts for its bond what is different after it. */
  function counted(key: { staker_id: number; bond_index: number }, registered: number, change: () => void): void {
    const before = positions.current(key);
    change();
    const after = positions.current(key);
    const difference = (column: 'btc_locked' | 'stx_locked'): bigint =>
      BigInt(after?.[column] ?? 0) - BigInt(before?.[column] ?? 0);
    const sums: Partial<BondTotals> = { btcLocked: difference('btc_locked'), stxLocked: difference('stx_locked') };
    totals.move(key.bond_index, { ...sums, registered });
  }

  /** @param first the cycle that the staker is in the bond from */
  function enrol(change: Of<'registration' | 'registration_update'>, at: At, first: number): void {
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
        enrolled_at: at.position,
        first_cycle: first,
        weight: sats,
        weight_cycle: change.firstCycle,
      },
      at,
    );
  }

  function reduce(
    { bond, staker }: Of<'early_exit' | 'withdrawal'>,
    at: At & { burnHeight: number },
    sign: Sign,
    restOf: (before: Position) => Rest,
  ): void {
    const key = { staker_id: principals.id(staker), bond_index: bond };
    const known = positions.current(key);
    // A position that nobody registered can't be made smaller, nor was it.
    if (known === null) return;
    counted(key, 0, () => {
      if (sign === -1) {
        positions.remove(key, at);
        return;
      }
      const { btcLocked, weight, earlyExit, active } = restOf(known);
      const times = schedule.get(bond);
      positions.add(
        {
          ...known,
          address: staker,
          early_exit: Number(earlyExit),
          active: Number(active),
          btc_locked: btcLocked,
          weight,
          weight_cycle: Math.max(known.first_cycle, times === null ? 0 : cycleAt(at.burnHeight, times)),
        },
        at,
      );
    });
  }

  return {
    registration(change: Of<'registration'>, at: At, sign: Sign): void {
      const key = { staker_id: principals.id(change.staker), bond_index: change.bond };
      const place = { bond_index: change.bond, position: at.position, event_index: at.index };
      counted(key, sign, () => {
        if (sign === -1) {
          stakes.resume(key.staker_id, at);
          positions.remove(key, at);
          registrations.remove(place);
          return;
        }
        registrations.add({ ...place, staker_id: key.staker_id, outputs: outputsColumn(change.outputs) });
        enrol(change, at, change.firstCycle);
        stakes.end(change.staker, change.firstCycle, at);
      });
    },

    registrationUpdate(change: Of<'registration_update'>, at: At, sign: Sign): void {
      const key = { staker_id: principals.id(change.staker), bond_index: change.bond };
      counted(key, 0, () => {
        if (sign === -1) positions.remove(key, at);
        else enrol(change, at, positions.current(key)?.first_cycle ?? change.firstCycle);
      });
    },

    earlyExit: (change: Of<'early_exit'>, at: At & { burnHeight: number }, sign: Sign): void =>
      reduce(change, at, sign, afterEarlyExit),

    withdrawal: (change: Of<'withdrawal'>, at: At & { burnHeight: number }, sign: Sign): void =>
      reduce(change, at, sign, afterWithdrawal(change.sats)),
  };
}
