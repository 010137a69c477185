/** Bonds of pox-5, who may register for them, and who did. */

import type { Database } from 'bun:sqlite';
import type { Cursor, CursorKey, Page } from '../model/page.ts';
import type { Bond, BondAllowance, BondDetail, BondRegistration } from '../model/staking.ts';
import { prepared } from '../rows/statement.ts';
import { type MadeByRow, madeBy, madeByOf } from './made-by.ts';
import { equalThenBeyond, keysetPage, numberAt } from './page.ts';

const bond = {
  columns: `o.bond_index, o.target_rate, o.stx_value_ratio, o.minimum_stx_ratio, o.first_cycle, o.start_height,
            o.unlock_cycle, o.unlock_height, coalesce(n.allowed, 0) AS allowed, coalesce(n.capacity, '0') AS capacity,
            coalesce(n.registered, 0) AS registered, coalesce(n.btc_locked, '0') AS btc_locked,
            coalesce(n.stx_locked, '0') AS stx_locked, coalesce(n.paid_out, '0') AS paid_out`,
  totals: 'LEFT JOIN bond_totals n ON n.bond_index = o.bond_index',
};
const allowance = `SELECT a.position, a.event_index, s.address AS staker, a.sats
                     FROM bond_allowances a JOIN principals s ON s.id = a.staker_id`;
const registration = {
  columns: `r.position, r.event_index, s.address AS staker, g.address AS signer, p.registered_sats AS sats,
            p.stx_locked AS stx, r.outputs, t.tx_id`,
  // CROSS: in this order, whatever the tables' sizes are.
  joins: `CROSS JOIN bond_positions p ON p.staker_id = r.staker_id AND p.bond_index = r.bond_index AND p.current = 1
          JOIN principals s ON s.id = r.staker_id JOIN principals g ON g.id = p.signer_id
          JOIN transactions t ON t.position = r.position`,
};

export const sql = {
  totals: 'SELECT bonds FROM staking_totals',
  from: `SELECT ${bond.columns} FROM bonds o ${bond.totals}
          WHERE o.bond_index <= ?1 ORDER BY o.bond_index DESC LIMIT ?2`,
  before: `SELECT ${bond.columns} FROM bonds o ${bond.totals}
            WHERE o.bond_index > ?1 ORDER BY o.bond_index LIMIT ?2`,
  find: `SELECT ${bond.columns}, ${madeBy.columns} FROM bonds o ${madeBy.joins} ${bond.totals}
          WHERE o.bond_index = ?1`,
  counts: 'SELECT allowed, registered FROM bond_totals WHERE bond_index = ?1',
  principal: 'SELECT id FROM principals WHERE address = ?1',
  allowances: `${allowance} WHERE a.bond_index = ?1 ORDER BY a.position DESC, a.event_index LIMIT ?2`,
  allowancesEqualFrom: `${allowance} WHERE a.bond_index = ?1 AND a.position = ?3 AND a.event_index >= ?4
                         ORDER BY a.event_index LIMIT ?2`,
  allowancesBelow: `${allowance} WHERE a.bond_index = ?1 AND a.position < ?3
                     ORDER BY a.position DESC, a.event_index LIMIT ?2`,
  allowancesEqualBefore: `${allowance} WHERE a.bond_index = ?1 AND a.position = ?3 AND a.event_index < ?4
                           ORDER BY a.event_index DESC LIMIT ?2`,
  allowancesAbove: `${allowance} WHERE a.bond_index = ?1 AND a.position > ?3
                     ORDER BY a.position, a.event_index DESC LIMIT ?2`,
  allowance: `${allowance} WHERE a.bond_index = ?1 AND a.staker_id = ?2
               ORDER BY a.position DESC, a.event_index DESC LIMIT 1`,
  registrationsFrom: `SELECT ${registration.columns} FROM bond_registrations r ${registration.joins}
                       WHERE r.bond_index = ?1 AND (r.position, r.event_index) <= (?3, ?4)
                       ORDER BY r.position DESC, r.event_index DESC LIMIT ?2`,
  registrationsBefore: `SELECT ${registration.columns} FROM bond_registrations r ${registration.joins}
                         WHERE r.bond_index = ?1 AND (r.position, r.event_index) > (?3, ?4)
                         ORDER BY r.position, r.event_index LIMIT ?2`,
  registration: `SELECT ${registration.columns} FROM bond_registrations r ${registration.joins}
                  WHERE r.bond_index = ?1 AND r.staker_id = ?2
                  ORDER BY r.position DESC, r.event_index DESC LIMIT 1`,
};

interface BondRow {
  bond_index: number;
  target_rate: number;
  stx_value_ratio: number;
  minimum_stx_ratio: number;
  first_cycle: number;
  start_height: number;
  unlock_cycle: number;
  unlock_height: number;
  allowed: number;
  capacity: string;
  registered: number;
  btc_locked: string;
  stx_locked: string;
  paid_out: string;
}

interface AllowanceRow {
  position: number;
  event_index: number;
  staker: string;
  sats: string;
}

interface RegistrationRow {
  position: number;
  event_index: number;
  staker: string;
  signer: string;
  sats: string;
  stx: string;
  outputs: Uint8Array | null;
  tx_id: Uint8Array;
}

const bondOf = (row: BondRow): Bond => ({
  index: row.bond_index,
  targetRate: row.target_rate,
  stxValueRatio: row.stx_value_ratio,
  minimumStxRatio: row.minimum_stx_ratio,
  firstCycle: row.first_cycle,
  startHeight: row.start_height,
  unlockCycle: row.unlock_cycle,
  unlockHeight: row.unlock_height,
  allowed: row.allowed,
  btcCapacity: row.capacity,
  registered: row.registered,
  btcLocked: row.btc_locked,
  stxLocked: row.stx_locked,
  paidOut: row.paid_out,
});

const allowanceOf = ({ staker, sats }: AllowanceRow): BondAllowance => ({ staker, sats });

const TX_ID = 32;
const OUTPUT = TX_ID + 4;

/** Takes apart what `effects/` puts together: outputs of a lock on Bitcoin. */
function outputsOf(bytes: Uint8Array): { txId: Uint8Array; index: number }[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / OUTPUT }, (_, i) => ({
    txId: bytes.subarray(i * OUTPUT, i * OUTPUT + TX_ID),
    index: view.getUint32(i * OUTPUT + TX_ID),
  }));
}

const registrationOf = (row: RegistrationRow): BondRegistration => ({
  staker: row.staker,
  signer: row.signer,
  sats: row.sats,
  stx: row.stx,
  txId: row.tx_id,
  outputs: row.outputs === null ? null : outputsOf(row.outputs),
});

/** A number before every first key, and one behind every last. */
const HIGHEST = Number.MAX_SAFE_INTEGER;

const keyOf = ({ position, event_index }: { position: number; event_index: number }): CursorKey => [
  position,
  event_index,
];

export function bondQueries(db: Database) {
  const totals = prepared<{ bonds: number }, []>(db, sql.totals);
  const from = prepared<BondRow, [number, number]>(db, sql.from);
  const before = prepared<BondRow, [number, number]>(db, sql.before);
  const find = prepared<BondRow & MadeByRow, [number]>(db, sql.find);
  const counts = prepared<{ allowed: number; registered: number }, [number]>(db, sql.counts);
  const principal = prepared<{ id: number }, [string]>(db, sql.principal);
  type At = [bond: number, count: number, position: number, index: number];
  const allowances = prepared<AllowanceRow, [number, number]>(db, sql.allowances);
  const allowancesEqualFrom = prepared<AllowanceRow, At>(db, sql.allowancesEqualFrom);
  const allowancesBelow = prepared<AllowanceRow, [number, number, number]>(db, sql.allowancesBelow);
  const allowancesEqualBefore = prepared<AllowanceRow, At>(db, sql.allowancesEqualBefore);
  const allowancesAbove = prepared<AllowanceRow, [number, number, number]>(db, sql.allowancesAbove);
  const allowance = prepared<AllowanceRow, [number, number]>(db, sql.allowance);
  const registrationsFrom = prepared<RegistrationRow, At>(db, sql.registrationsFrom);
  const registrationsBefore = prepared<RegistrationRow, At>(db, sql.registrationsBefore);
  const registration = prepared<RegistrationRow, [number, number]>(db, sql.registration);

  return {
    /** Highest index first. */
    async bonds(limit: number, at: Cursor | null): Promise<Page<Bond>> {
      return keysetPage<BondRow, Bond>({
        limit,
        at,
        total: totals.get()?.bonds ?? 0,
        rowsFrom: (key, count) => from.all(key === null ? HIGHEST : numberAt(key, 0), count),
        rowsBefore: (key, count) => before.all(numberAt(key, 0), count),
        keyOf: ({ bond_index }) => [bond_index],
        itemOf: bondOf,
      });
    },

    async bond(index: number): Promise<BondDetail | undefined> {
      const row = find.get(index);
      return row === null ? undefined : { ...bondOf(row), madeBy: madeByOf(row) };
    },

    /** Newest transaction first, inside it in the order of its events. */
    async allowances(bond: number, limit: number, at: Cursor | null): Promise<Page<BondAllowance>> {
      return keysetPage<AllowanceRow, BondAllowance>({
        limit,
        at,
        total: counts.get(bond)?.allowed ?? 0,
        rowsFrom(key, count) {
          if (key === null) return allowances.all(bond, count);
          const [position, index] = [numberAt(key, 0), numberAt(key, 1)];
          return equalThenBeyond(
            count,
            (most) => allowancesEqualFrom.all(bond, most, position, index),
            (most) => allowancesBelow.all(bond, most, position),
          );
        },
        rowsBefore(key, count) {
          const [position, index] = [numberAt(key, 0), numberAt(key, 1)];
          return equalThenBeyond(
            count,
            (most) => allowancesEqualBefore.all(bond, most, position, index),
            (most) => allowancesAbove.all(bond, most, position),
          );
        },
        keyOf,
        itemOf: allowanceOf,
      });
    },

    async allowance(bond: number, staker: string): Promise<BondAllowance | undefined> {
      const id = principal.get(staker)?.id;
      const row = id === undefined ? null : allowance.get(bond, id);
      return row === null ? undefined : allowanceOf(row);
    },

    /** Newest first. */
    async registrations(bond: number, limit: number, at: Cursor | null): Promise<Page<BondRegistration>> {
      return keysetPage<RegistrationRow, BondRegistration>({
        limit,
        at,
        total: counts.get(bond)?.registered ?? 0,
        rowsFrom: (key, count) =>
          key === null
            ? registrationsFrom.all(bond, count, HIGHEST, HIGHEST)
            : registrationsFrom.all(bond, count, numberAt(key, 0), numberAt(key, 1)),
        rowsBefore: (key, count) => registrationsBefore.all(bond, count, numberAt(key, 0), numberAt(key, 1)),
        keyOf,
        itemOf: registrationOf,
      });
    },

    async registration(bond: number, staker: string): Promise<BondRegistration | undefined> {
      const id = principal.get(staker)?.id;
      const row = id === undefined ? null : registration.get(bond, id);
      return row === null ? undefined : registrationOf(row);
    },
  };
}
