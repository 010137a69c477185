/** Tables with rows that block after block changes. All writers of a connection share their caches. */
import type { Database } from 'bun:sqlite';
import { rowCache } from '../rows/row-cache.ts';
import {
  accountsTable,
  assetTotalsTable,
  dailyCountsTable,
  ftBalancesTable,
  nftHoldingsTable,
} from '../rows/tables.ts';

/** Makes the caches of the tables. */
export function hotRows(db: Database) {
  const tables = {
    accounts: rowCache(db, accountsTable),
    ftBalances: rowCache(db, ftBalancesTable),
    nftHoldings: rowCache(db, nftHoldingsTable),
    assetTotals: rowCache(db, assetTotalsTable),
    dailyCounts: rowCache(db, dailyCountsTable),
  };
  return {
    ...tables,
    /** Writes the changed rows; called before each commit. */
    store(): void {
      for (const rows of Object.values(tables)) rows.store();
    },
    /** Discards all rows, because all writes since the last commit are rolled back. */
    forget(): void {
      for (const rows of Object.values(tables)) rows.forget();
    },
  };
}
export type HotRows = ReturnType<typeof hotRows>;
