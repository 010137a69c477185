/** The figures that say how fast this is, their goals, and where the results have them. */
import { type Cell, type Figure, kept, type Section, spread, type Table } from '../results.ts';

/** A figure of a kept result. */
export interface Place {
  result: string;
  /** The texts of its row, separated by blanks. */
  row: string;
  /** Default: the second, of tables that have no more. */
  column?: string;
}

interface Goal extends Place {
  name: string;
  /** What is better. */
  better: 'more' | 'less';
  /** Empty where there is none. */
  goal: string;
}

const TRANSACTION = '/extended/v3/transactions/{tx_id}';
const PAGE = '/extended/v3/transactions';
const V1_PAGE = '/extended/v1/address/{principal}/transactions';
const OF_EMPTY = 'of the empty route';
const RATE = 'transactions/s';

export const goals: readonly Goal[] = [
  { name: 'live ingest, transactions/s', result: 'live', row: RATE, better: 'more', goal: '' },
  { name: 'live ingest / import', result: 'live', row: 'rate of live ingest / import', better: 'more', goal: '≥ 0.6' },
  { name: 'import, transactions/s', result: 'ingest', row: RATE, better: 'more', goal: '' },
  {
    name: 'import / inserting the rows',
    result: 'ingest',
    row: 'time of import / inserts alone',
    better: 'less',
    goal: '≤ 2.5',
  },
  {
    name: 'import of a longer chain, rate / first',
    result: 'ingest',
    row: '5000 blocks',
    column: 'rate / first',
    better: 'more',
    goal: '≥ 0.85',
  },
  {
    name: 'look-up, % of an empty route',
    result: 'http-distinct',
    row: TRANSACTION,
    column: OF_EMPTY,
    better: 'more',
    goal: '≥ 30',
  },
  {
    name: 'first page, % of an empty route',
    result: 'http-distinct',
    row: PAGE,
    column: OF_EMPTY,
    better: 'more',
    goal: '≥ 12',
  },
  {
    name: 'page of v1 by address, CPU µs',
    result: 'http-distinct',
    row: V1_PAGE,
    column: 'CPU µs',
    better: 'less',
    goal: '≤ 160',
  },
  { name: 'cached page, requests/s', result: 'http', row: PAGE, column: 'requests/s', better: 'more', goal: '' },
  { name: '2 threads / none', result: 'threads', row: '2', column: 'ratio', better: 'more', goal: '≥ 1.7' },
  {
    name: 'p99 under ingest / calm, 1 thread',
    result: 'under-ingest',
    row: '1',
    column: 'ratio of p99',
    better: 'less',
    goal: '≤ 1.5',
  },
  {
    name: 'memory of a genesis block, MB',
    result: 'ingest',
    row: 'genesis of 79 MB',
    column: 'peak memory, MB',
    better: 'less',
    goal: '≤ 400',
  },
  {
    name: 'memory of a long import, MB',
    result: 'ingest',
    row: '5000 blocks',
    column: 'peak memory, MB',
    better: 'less',
    goal: '≤ 300',
  },
  {
    name: 'a WebSocket subscriber, KB',
    result: 'subscribers',
    row: 'WebSocket',
    column: 'KB each',
    better: 'less',
    goal: '≤ 2',
  },
  {
    name: 'a Socket.IO subscriber, KB',
    result: 'subscribers',
    row: 'Socket.IO',
    column: 'KB each',
    better: 'less',
    goal: '≤ 8',
  },
  {
    name: 'a match of 100 hooks, µs',
    result: 'hooks',
    row: '100 match',
    column: 'µs a match',
    better: 'less',
    goal: '≤ 100',
  },
  {
    name: '10,000 hooks that miss, % of ingest',
    result: 'hooks',
    row: '10,000 miss',
    column: 'of it hooks, %',
    better: 'less',
    goal: '≤ 2',
  },
  { name: 'start to ready, ms', result: 'start', row: 'the ready line', better: 'less', goal: '≤ 60' },
  {
    name: 'check / import',
    result: 'check',
    row: '1300 blocks',
    column: 'check / import',
    better: 'less',
    goal: '≤ 1',
  },
];

const isText = (cell: Cell): cell is string => typeof cell === 'string';

/** @returns null where the table hasn't got it */
function cellOf({ head, rows }: Table, { row, column }: Place): Figure | null {
  const found = rows.find((cells) => cells.filter(isText).filter(Boolean).join(' ') === row);
  const at = column === undefined && head.length === 2 ? 1 : head.indexOf(column ?? '');
  const cell = found?.[at];
  return cell === undefined || isText(cell) ? null : cell;
}

function figureIn(sections: readonly Section[], place: Place): Figure | null {
  for (const table of sections.flatMap(({ tables }) => tables)) {
    const cell = cellOf(table, place);
    if (cell !== null) return cell;
  }
  return null;
}

/** A figure as it was measured last; null where nobody has measured it. */
export const figureAt = (place: Place): Figure | null => figureIn(kept(place.result)?.sections ?? [], place);

/** The median of a figure. @throws Error where nobody has measured it */
export function medianAt(place: Place): number {
  const figure = figureAt(place);
  if (figure === null) throw new Error(`${place.result} has no ${place.row}, ${place.column ?? ''}`);
  return spread(figure.values).median;
}

/** A goal, and what was measured of it: before, at the revision that results are compared with, and now. */
export interface Measured extends Goal {
  before: Figure | null;
  now: Figure | null;
  /** The median of now to that of before. */
  ratio: number | null;
}

export const measured = (): Measured[] =>
  goals.map((goal) => {
    const [before, now] = [figureIn(kept(goal.result)?.reference?.sections ?? [], goal), figureAt(goal)];
    const ratio = before === null || now === null ? null : spread(now.values).median / spread(before.values).median;
    return { ...goal, before, now, ratio };
  });
