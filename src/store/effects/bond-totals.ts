/** The sums over what belongs to a bond. */
import type { Database } from 'bun:sqlite';
import { upserter } from '../rows/table.ts';
import type { Stored } from '../rows/table-shape.ts';
import { bondTotalsTable } from '../rows/tables.ts';

/** Counts of rows, sats and micro-STX. */
export interface BondTotals {
  allowed: number;
  capacity: bigint;
  registered: number;
  btcLocked: bigint;
  stxLocked: bigint;
  paidOut: bigint;
}

type Row = Stored<typeof bondTotalsTable, (typeof sums)[number]>;

const sums = ['allowed', 'capacity', 'registered', 'btc_locked', 'stx_locked', 'paid_out'] as const;

export type BondTotalsWriter = ReturnType<typeof bondTotals>;

/** What changes the sums of bonds through this connection. */
export function bondTotals(db: Database) {
  const find = db.prepare<Row, [number]>(`SELECT ${sums.join(', ')} FROM bond_totals WHERE bond_index = ?1`);
  const set = upserter(db, bondTotalsTable, { replaced: sums });
  const remove = db.prepare('DELETE FROM bond_totals WHERE bond_index = ?1');
  return {
    /** Adds to the sums of a bond, whether it was set up or not. */
    move(bond: number, by: Partial<BondTotals>): void {
      const known = find.get(bond);
      const allowed = (known?.allowed ?? 0) + (by.allowed ?? 0);
      const registered = (known?.registered ?? 0) + (by.registered ?? 0);
      const capacity = BigInt(known?.capacity ?? 0) + (by.capacity ?? 0n);
      const btc = BigInt(known?.btc_locked ?? 0) + (by.btcLocked ?? 0n);
      const stx = BigInt(known?.stx_locked ?? 0) + (by.stxLocked ?? 0n);
      const paid = BigInt(known?.paid_out ?? 0) + (by.paidOut ?? 0n);
      const empty = allowed === 0 && registered === 0 && [capacity, btc, stx, paid].every((sum) => sum === 0n);
      if (empty) {
        remove.run(bond);
        return;
      }
      set({
        bond_index: bond,
        allowed,
        capacity: capacity.toString(),
        registered,
        btc_locked: btc.toString(),
        stx_locked: stx.toString(),
        paid_out: paid.toString(),
      });
    },
  };
}
