/** Reads the rows of a view for an export: all of them, or the rows of a range of blocks. */
import { OperatorError } from '../../base/errors.ts';
import { positionsOf } from '../../chain/position.ts';
import { clarityJson } from '../../codec/clarity-text.ts';
import { fromHex } from '../../codec/hex.ts';
import type { Connection } from '../files/connection.ts';
import type { HeightSpan } from '../model/block.ts';
import type { View, ViewColumn } from '../views/view.ts';
import { views } from '../views/views.ts';
import { type Result, type ResultColumn, resultOf, suggestedView } from './result.ts';

export interface ExportedBlocks {
  first: number;
  last: number;
  /** Index block hash of the last block. */
  lastHash: Uint8Array;
}

/** The view of a name. @throws OperatorError if there is none */
export function viewNamed(name: string): View {
  const view = views.find((candidate) => candidate.name === name);
  if (view !== undefined) return view;
  const names = views.map(({ name }) => name);
  throw new OperatorError(`Unknown view ${name}.${suggestedView(name)}`, `Give one of ${names.join(', ')}.`);
}

/**
 * The exported columns of a view: not the columns of bytes, which are for conditions and also have a column of hex, and
 * not derived columns.
 */
const exportedColumns = ({ columns }: View) =>
  Object.entries(columns).filter(([, { type, isDerived = false }]) => type !== 'bytes' && !isDerived);

/** The columns that a column is exported as: itself and, for a Clarity value, its JSON. */
const withJson = <T>(value: T, { isClarity = false }: ViewColumn, json: () => T): T[] =>
  isClarity ? [value, json()] : [value];

function inBlocks(range: 'position' | 'block_height', { first, last }: ExportedBlocks): string {
  const [from, to] = range === 'block_height' ? [first, last] : [positionsOf(first).first, positionsOf(last).last];
  return `WHERE ${range} BETWEEN ${from} AND ${to}`;
}

/** The error for a range without blocks. @param last the last height of the range that may exist */
function noBlocksError(lowest: number | null, highest: number | null, last: number): OperatorError {
  const problem = (index: string): string => `The index has none of these blocks: it ${index}.`;
  if (lowest === null || highest === null)
    return new OperatorError(problem('has no block yet'), 'Wait for the first block.');
  if (last < lowest) return new OperatorError(problem(`starts at height ${lowest}`), 'Give higher heights.');
  return new OperatorError(problem(`ends at height ${highest}`), 'Give other heights, or wait for blocks.');
}

/**
 * The range of blocks between heights, in the present snapshot.
 * @throws OperatorError if it has no block
 */
export function blocksOf(db: Connection, { from, to }: HeightSpan): ExportedBlocks {
  if (from !== null && to !== null && from > to) {
    throw new OperatorError(`--from-height ${from} is above --to-height ${to}.`, 'Give a range from low to high.');
  }
  const { lowest, highest } = db
    .query<Record<'lowest' | 'highest', number | null>, []>(
      'SELECT min(height) AS lowest, max(height) AS highest FROM blocks',
    )
    .get() ?? { lowest: null, highest: null };
  const first = Math.max(from ?? 0, lowest ?? 0);
  const last = Math.min(to ?? Number.MAX_SAFE_INTEGER, highest ?? -1);
  const row = db
    .query<{ hash: Uint8Array }, [number]>('SELECT index_block_hash AS hash FROM blocks WHERE height = ?1')
    .get(last);
  if (row === null || first > last) {
    throw noBlocksError(lowest, highest, last);
  }
  return { first, last, lastHash: row.hash };
}

/**
 * Prepares the rows of a view, in the order of an index.
 * @param blocks the range of blocks; null for a view with rows outside blocks
 */
export function viewResult(db: Connection, view: View, blocks: ExportedBlocks | null): Result {
  const columns = exportedColumns(view);
  const { name, range, order } = view;
  const where = range === null || blocks === null ? '' : inBlocks(range, blocks);
  const by = order.length === 0 ? '' : `ORDER BY ${order.join(', ')}`;
  const result = resultOf(db, `SELECT ${columns.map(([column]) => column).join(', ')} FROM ${name} ${where} ${by}`);
  const viewColumns = columns.map(([, column]) => column);
  return {
    columns: columns.flatMap(([name, column]) =>
      withJson<ResultColumn>({ name, form: column.type }, column, () => ({ name: `${name}_json`, form: 'text' })),
    ),
    *rows() {
      for (const row of result.rows()) {
        yield row.flatMap((value, i) =>
          withJson(value, viewColumns[i]!, () => (typeof value === 'string' ? clarityJson(fromHex(value)) : null)),
        );
      }
    },
  };
}
