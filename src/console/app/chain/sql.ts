/** Results of SQL queries: the formats of their columns, and the links of their values. */
import type { PageName } from '../../page-paths.ts';
import { type PageOf, pageOfText } from './search.ts';

/** A value of a result. Large integers and amounts are texts. */
export type SqlValue = string | number | null;

export interface SqlResult {
  columns: readonly string[];
  rows: readonly (readonly SqlValue[])[];
}

const INTEGER = /^-?\d+$/;

const isNumber = (value: SqlValue): boolean => typeof value !== 'string' || INTEGER.test(value);

/** Reports for each column whether it contains only numbers. */
export const numericColumns = ({ columns, rows }: SqlResult): boolean[] =>
  columns.map((_, column) => {
    const values = rows.map((row) => row[column] ?? null).filter((value) => value !== null);
    return values.length > 0 && values.every(isNumber);
  });

const HASH = /^0x[0-9a-f]{64}$/;

/** Returns the page that a hash or a height of a column identifies, by the column's name; null if there is none. */
function pageOfColumn(column: string, isHash: boolean): PageName | null {
  if (/burn_block_(height|hash)$/.test(column)) return 'bitcoinBlock';
  if (/block_(height|hash)$/.test(column)) return 'block';
  // A miner's transaction is a Bitcoin transaction.
  return isHash && /^(?!miner_).*tx_id$/.test(column) ? 'transaction' : null;
}

/** Returns the page that a value links to; null if there is none. */
export function pageOf(column: string, value: SqlValue): PageOf | null {
  const id = String(value);
  const isHash = HASH.test(id);
  if (!isHash && typeof value !== 'number') return id.startsWith('S') ? pageOfText(id) : null;
  const page = isHash || Number.isInteger(value) ? pageOfColumn(column, isHash) : null;
  return page === null ? null : { page, params: { id } };
}
