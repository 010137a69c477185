/** Rows that several kinds of effects change, of those tables in which block after block changes the same rows. */
import type { Database } from 'bun:sqlite';
import { keptRows } from '../rows/kept-rows.ts';
import { accountsTable, ftBalancesTable, ftTokensTable, nftHoldingsTable } from '../rows/tables.ts';

/** Keeps these rows for all who change them through this connection. */
export function busyRows(db: Database) {
  const tables = {
    accounts: keptRows(db, accountsTable),
    ftBalances: keptRows(db, ftBalancesTable),
    ftTokens: keptRows(db, ftTokensTable),
    nftHoldings: keptRows(db, nftHoldingsTable),
  };
  return {
    ...tables,
    /** Writes what was changed; called before each commit. */
    store(): void {
      for (const rows of Object.values(tables)) rows.store();
    },
    /** Forgets all: what was written since the last commit is undone. */
    forget(): void {
      for (const rows of Object.values(tables)) rows.forget();
    },
  };
}
export type BusyRows = ReturnType<typeof busyRows>;
