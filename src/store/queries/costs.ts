/** Execution costs, which are u64: read as text, since a double can't hold the greatest. */
import type { ExecutionCost } from '../../chain/block.ts';

export interface CostRow {
  cost_runtime: string;
  cost_read_count: string;
  cost_read_length: string;
  cost_write_count: string;
  cost_write_length: string;
}

/** @param table the alias of what has the columns */
export const costColumns = (table: string): string =>
  ['runtime', 'read_count', 'read_length', 'write_count', 'write_length']
    .map((name) => `CAST(${table}.cost_${name} AS TEXT) AS cost_${name}`)
    .join(', ');

const exact = (text: string): number | bigint => {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
};

export const costOf = (row: CostRow): ExecutionCost => ({
  runtime: exact(row.cost_runtime),
  readCount: exact(row.cost_read_count),
  readLength: exact(row.cost_read_length),
  writeCount: exact(row.cost_write_count),
  writeLength: exact(row.cost_write_length),
});
