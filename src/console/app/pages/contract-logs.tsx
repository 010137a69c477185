/** What a contract printed. */
import { useState } from 'preact/hooks';
import { api, bodyOf } from '../api/api.ts';
import { useAnswer } from '../api/use-answer.ts';
import { plural } from '../chain/format.ts';
import { Value, ValueBlock } from '../ui/code.tsx';
import { listQuery } from '../ui/list-state.ts';
import { Pager, Panel, Show, Table } from '../ui/parts.tsx';
import { TxLink } from '../ui/values.tsx';

const PER_PAGE = 25;
/** Values longer than this stand in a box of their own. */
const LONG_VALUE = 200;

export function ContractLogs({ contract, version }: { contract: string; version: string }) {
  const [filter, setFilter] = useState('');
  const query = listQuery(PER_PAGE);
  const params = { path: { contract_id: contract }, query };
  const logs = useAnswer(
    `logs ${contract} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/extended/v2/smart-contracts/{contract_id}/logs', { params, signal })),
    version,
  );
  return (
    <Panel
      title="Logs"
      source={`/extended/v2/smart-contracts/${contract}/logs`}
      aside={
        <input
          type="search"
          class="filter-field"
          placeholder="Filter this page"
          aria-label="Filter the logs of this page by their text"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
      }
    >
      <Show loaded={logs} rows={8}>
        {({ results, total, next_cursor: newer, prev_cursor: older }) => (
          <>
            <Table
              label="Logs"
              rows={results.filter(({ contract_log: { value } }) => value.repr.includes(filter))}
              keyOf={({ tx_id, event_index }) => `${tx_id} ${event_index}`}
              empty={filter === '' ? 'The contract printed nothing.' : 'Nothing on this page has this text.'}
              columns={[
                { name: 'Transaction', class: 'nowrap top', cell: ({ tx_id }) => <TxLink id={tx_id} /> },
                { name: 'Event', class: 'number medium top', cell: ({ event_index }) => event_index },
                {
                  name: 'Value',
                  class: 'fill',
                  cell: ({ tx_id, contract_log: { value } }) =>
                    value.repr.length > LONG_VALUE ? (
                      <ValueBlock repr={value.repr} label={`Value that ${tx_id} printed`} />
                    ) : (
                      <Value repr={value.repr} />
                    ),
                },
              ]}
            />
            <Pager next={older} previous={newer} total={plural(total, 'log')} />
          </>
        )}
      </Show>
    </Panel>
  );
}
