/** The mempool in figures: by type, and the fees that it takes to be mined soon. */
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { bytes, count, plural, stxText } from '../../chain/format.ts';
import { kindOf } from '../../chain/summary.ts';
import { Panel, Show, Table } from '../../ui/parts.tsx';

type Stats = Answer<'/extended/v1/tx/mempool/stats'>;

const TYPES = ['token_transfer', 'contract_call', 'smart_contract'] as const;

/** Blocks that pending transactions waited for, in words. */
const age = (blocks: number | null | undefined): string => (blocks == null ? '–' : plural(Math.round(blocks), 'block'));
const fee = (micro: number | null | undefined): string => (micro == null ? '–' : stxText(String(Math.round(micro))));

/** Pending transactions by type, with their usual fee, size and age. */
export const TypeTable = ({ stats }: { stats: Stats }) => (
  <Table
    label="Pending transactions by type"
    rows={TYPES}
    keyOf={(type) => type}
    empty=""
    columns={[
      { name: 'Type', class: 'nowrap', cell: (type) => kindOf(type) },
      { name: 'Pending', class: 'number', cell: (type) => count(stats.tx_type_counts[type]) },
      { name: 'Median fee', class: 'number', cell: (type) => fee(stats.tx_simple_fee_averages[type].p50) },
      {
        name: 'Median size',
        class: 'number medium',
        cell: (type) => {
          const size = stats.tx_byte_sizes[type].p50;
          return size == null ? '–' : bytes(Math.round(size));
        },
      },
      { name: 'Median age', class: 'number medium', cell: (type) => age(stats.tx_ages[type].p50) },
    ]}
  />
);

const PRIORITIES = [
  ['no_priority', 'None'],
  ['low_priority', 'Low'],
  ['medium_priority', 'Medium'],
  ['high_priority', 'High'],
] as const;

/** Fees of what waits, by priority. */
export function FeeTable() {
  const fees = useAnswer(
    'fees',
    (signal) => bodyOf(api.GET('/extended/v2/mempool/fees', { signal })),
    tipVersion.value,
  );
  return (
    <Panel title="Fees" source="/extended/v2/mempool/fees">
      <Show loaded={fees}>
        {({ all, token_transfer: transfer, contract_call: call }) => (
          <Table
            label="Fees by priority"
            rows={PRIORITIES}
            keyOf={([priority]) => priority}
            empty=""
            columns={[
              { name: 'Priority', cell: ([, title]) => title },
              { name: 'Any', class: 'number', cell: ([priority]) => fee(all[priority]) },
              { name: 'Transfer', class: 'number medium', cell: ([priority]) => fee(transfer?.[priority]) },
              { name: 'Contract call', class: 'number medium', cell: ([priority]) => fee(call?.[priority]) },
            ]}
          />
        )}
      </Show>
    </Panel>
  );
}
