/** What a contract printed, narrowed by a field of the printed values. */
import { contractLogs, searchPath, searchQuery } from '../../api/contract-search.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Value, ValueBlock } from '../../ui/code.tsx';
import { Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { place } from '../../ui/router.ts';
import { Ago, BlockLink, TxLink } from '../../ui/values.tsx';
import { chosenFilter, FilterForm } from './contract-filter.tsx';

/** Values longer than this stand in a box of their own. */
const LONG_VALUE = 200;

export function ContractLogs({ contract, version }: { contract: string; version: string }) {
  const cursor = place.value.query.get('cursor') ?? '';
  const filter = chosenFilter();
  const query = searchQuery('field', filter, {});
  const logs = useAnswer(
    `logs ${contract} ${cursor} ${JSON.stringify(query)}`,
    (signal) => contractLogs(contract, cursor === '' ? query : { ...query, cursor }, signal),
    version,
  );
  return (
    <Panel title="Logs" source={searchPath(contract, 'logs', query)}>
      <FilterForm filter={filter} of="Field" />
      <Show loaded={logs} rows={8}>
        {({ results, cursor: { next, previous } }) => (
          <>
            <Table
              label="Logs"
              rows={results}
              keyOf={({ tx_id, event_index }) => `${tx_id} ${event_index}`}
              empty="The contract printed nothing of this kind."
              columns={[
                { name: 'Transaction', class: 'nowrap top', cell: ({ tx_id }) => <TxLink id={tx_id} /> },
                {
                  name: 'Value',
                  class: 'fill',
                  cell: ({ tx_id, value }) =>
                    value.repr.length > LONG_VALUE ? (
                      <ValueBlock repr={value.repr} label={`Value that ${tx_id} printed`} />
                    ) : (
                      <Value repr={value.repr} />
                    ),
                },
                { name: 'Block', class: 'number wide top', cell: (log) => <BlockLink height={log.block_height} /> },
                { name: 'Age', class: 'number medium top', cell: ({ time }) => <Ago at={Date.parse(time) / 1000} /> },
              ]}
            />
            <Pager next={next} previous={previous} />
          </>
        )}
      </Show>
    </Panel>
  );
}
