/** The STX supply after each block that changed it. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { inserter } from '../rows/table.ts';
import { stxSuppliesTable } from '../rows/tables.ts';

/** What applies the effects on it through this connection. */
export function supplyWriter(db: Database) {
  const newest = db.prepare<{ supply: string }, []>('SELECT supply FROM stx_supplies ORDER BY height DESC LIMIT 1');
  const add = inserter(db, stxSuppliesTable);
  const remove = db.prepare('DELETE FROM stx_supplies WHERE height = ?1');

  return ({ sign, height, supply }: Extract<Effect, { kind: 'supply' }>): void => {
    if (sign === -1) remove.run(height);
    else add({ height, supply: (BigInt(newest.get()?.supply ?? 0) + supply).toString() });
  };
}
