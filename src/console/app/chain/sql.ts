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

function numberOf(value: SqlValue): number | null {
  if (typeof value === 'string') return INTEGER.test(value) ? Number(value) : null;
  return value;
}

const secondsOf = (value: SqlValue): number | null =>
  typeof value === 'string' && TIME.test(value) ? Date.parse(value) / 1000 : null;

const all = ({ rows }: SqlResult, column: number, read: (value: SqlValue) => number | null): boolean => {
  const values = rows.map((row) => row[column] ?? null).filter((value) => value !== null);
  return values.length > 0 && values.every((value) => read(value) !== null);
};

/** Reports for each column whether it contains only numbers. */
export const numericColumns = (result: SqlResult): boolean[] =>
  result.columns.map((_, column) => all(result, column, numberOf));

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

/** Returns the columns for the axes of a chart: times and numbers along, numbers up. */
export function chartColumns(result: SqlResult): { along: number[]; up: number[] } {
  const columns = result.columns.map((_, column) => column);
  const up = columns.filter((column) => all(result, column, numberOf));
  return { along: columns.filter((column) => up.includes(column) || all(result, column, secondsOf)), up };
}

/** Returns the points of a chart by a column's times or numbers. @param along the column; null for row numbers */
export function pointsOf(
  result: SqlResult,
  along: number | null,
  up: number,
): { times: number[]; values: (number | null)[]; scale: TimeScale } {
  const isTime = along !== null && all(result, along, secondsOf);
  const points = result.rows
    .map((row, number) => {
      const place = along === null ? number + 1 : (isTime ? secondsOf : numberOf)(row[along] ?? null);
      return { place, value: numberOf(row[up] ?? null) };
    })
    .filter((point): point is { place: number; value: number | null } => point.place !== null)
    .sort((a, b) => a.place - b.place);
  const times = points.map(({ place }) => place);
  const span = (times.at(-1) ?? 0) - (times[0] ?? 0);
  const ofTimes = span > 2 * DAY || times.every((time) => time % DAY === 0) ? 'days' : 'hour';
  return { times, values: points.map(({ value }) => value), scale: isTime ? ofTimes : 'numbers' };
}
