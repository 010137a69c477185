/** What an execution cost, in the five dimensions that blocks are limited in. */
import { count, percent } from '../chain/format.ts';
import { Table } from './parts.tsx';

export interface Cost {
  execution_cost_read_count: number;
  execution_cost_read_length: number;
  execution_cost_runtime: number;
  execution_cost_write_count: number;
  execution_cost_write_length: number;
}

/** The budget of a tenure on mainnet (SIP-006), which bounds the blocks of one miner until it is extended. */
const BUDGET: readonly (readonly [name: string, member: keyof Cost, limit: number])[] = [
  ['Runtime', 'execution_cost_runtime', 5_000_000_000],
  ['Reads', 'execution_cost_read_count', 15_000],
  ['Bytes read', 'execution_cost_read_length', 100_000_000],
  ['Writes', 'execution_cost_write_count', 15_000],
  ['Bytes written', 'execution_cost_write_length', 15_000_000],
];

/** A share of a whole as a bar, with the share as its text. */
export const Meter = ({ value, most }: { value: number; most: number }) => (
  <span class="nowrap">
    <span class="meter" aria-hidden="true">
      <span style={{ width: `${Math.min(100, most === 0 ? 0 : (100 * value) / most)}%` }} />
    </span>
    <span class="number">{percent(value, most)}</span>
  </span>
);

/** Cost by dimension, with its share of a tenure's budget. */
export const CostTable = ({ cost }: { cost: Cost }) => (
  <Table
    label="Execution cost"
    rows={BUDGET}
    keyOf={([name]) => name}
    empty=""
    columns={[
      { name: 'Cost', cell: ([name]) => name },
      { name: 'Used', class: 'number', cell: ([, member]) => count(cost[member]) },
      {
        name: 'Of a tenure’s budget',
        class: 'number',
        cell: ([, member, limit]) => <Meter value={cost[member]} most={limit} />,
      },
    ]}
  />
);

/** The largest share of the budget among all dimensions. */
export function CostShare({ cost }: { cost: Cost }) {
  const shares = BUDGET.map(([, member, limit]) => cost[member] / limit);
  return <Meter value={Math.max(...shares)} most={1} />;
}
