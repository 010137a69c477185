/** Results of SQL queries: the formats of their columns, the links of their values, and their charts. */
import type { PageName } from '../../page-paths.ts';
import type { TimeScale } from './chart.ts';
import { DAY } from './format.ts';
import { type PageOf, pageOfText } from './search.ts';

/** A value of a result. Large integers and amounts are texts. */
export type SqlValue = string | number | null;

export interface SqlResult {
  columns: readonly string[];
  rows: readonly (readonly SqlValue[])[];
}

const INTEGER = /^-?\d+$/;
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?Z)?$/;

function toNumber(value: SqlValue): number | null {
  if (typeof value === 'string') return INTEGER.test(value) ? Number(value) : null;
  return value;
}

const toSeconds = (value: SqlValue): number | null =>
  typeof value === 'string' && TIME.test(value) ? Date.parse(value) / 1000 : null;

const hasOnly = ({ rows }: SqlResult, column: number, parse: (value: SqlValue) => number | null): boolean => {
  const values = rows.map((row) => row[column] ?? null).filter((value) => value !== null);
  return values.length > 0 && values.every((value) => parse(value) !== null);
};

/** Reports for each column whether it contains only numbers. */
export const numericColumns = (result: SqlResult): boolean[] =>
  result.columns.map((_, column) => hasOnly(result, column, toNumber));

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

/** Returns the columns for the axes of a chart: times and numbers for x, numbers for y. */
export function chartColumns(result: SqlResult): { xColumns: number[]; yColumns: number[] } {
  const columns = result.columns.map((_, column) => column);
  const yColumns = columns.filter((column) => hasOnly(result, column, toNumber));
  const xColumns = columns.filter((column) => yColumns.includes(column) || hasOnly(result, column, toSeconds));
  return { xColumns, yColumns };
}

/**
 * Returns the columns that a chart shows first. The first column is along if it has times or numbers, else the first
 * times are, else the numbers of the rows (null). The first other column of numbers is up.
 */
export function firstAxes({ xColumns, yColumns }: ReturnType<typeof chartColumns>): {
  x: number | null;
  y: number | null;
} {
  const isFirstAlong = xColumns.includes(0) && yColumns.some((column) => column !== 0);
  const x = isFirstAlong ? 0 : (xColumns.find((column) => !yColumns.includes(column)) ?? null);
  return { x, y: yColumns.find((column) => column !== x) ?? null };
}

/** Returns the points of a chart by a column's times or numbers. @param xColumn null for row numbers */
export function pointsOf(
  result: SqlResult,
  xColumn: number | null,
  yColumn: number,
): { times: number[]; values: (number | null)[]; scale: TimeScale } {
  const isTime = xColumn !== null && hasOnly(result, xColumn, toSeconds);
  const points = result.rows
    .map((row, number) => {
      const x = xColumn === null ? number + 1 : (isTime ? toSeconds : toNumber)(row[xColumn] ?? null);
      return { x, value: toNumber(row[yColumn] ?? null) };
    })
    .filter((point): point is { x: number; value: number | null } => point.x !== null)
    .sort((a, b) => a.x - b.x);
  const times = points.map(({ x }) => x);
  const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
  const ofTimes = span > 2 * DAY || times.every((time) => time % DAY === 0) ? 'days' : 'hour';
  return { times, values: points.map(({ value }) => value), scale: isTime ? ofTimes : 'numbers' };
}
