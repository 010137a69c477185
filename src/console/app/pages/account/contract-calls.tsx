/** Transactions that call a contract, all of them or those of one function, narrowed by an argument. */
import { contractCalls, searchPath, searchQuery } from '../../api/contract-search.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { visible } from '../../chain/format.ts';
import { Value } from '../../ui/code.tsx';
import { Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { place, withQuery } from '../../ui/router.ts';
import { Status } from '../../ui/transactions.tsx';
import { Ago, BlockLink, ChainText, Principal, TxLink } from '../../ui/values.tsx';
import { chosenFilter, FilterForm, NO_FILTER } from './contract-filter.tsx';

/** The query parameter that names the function. */
export const FUNCTION = 'function';

interface ContractCallsProps {
  contract: string;
  /** Names of the functions that can be called. */
  functions: readonly string[];
  version: string;
}

export function ContractCalls({ contract, functions, version }: ContractCallsProps) {
  const name = place.value.query.get(FUNCTION);
  const cursor = place.value.query.get('cursor') ?? '';
  const filter = chosenFilter();
  const query = searchQuery('arg', filter, { function_name: name ?? '' });
  const found = useAnswer(
    `calls ${contract} ${cursor} ${JSON.stringify(query)}`,
    (signal) => contractCalls(contract, cursor === '' ? query : { ...query, cursor }, signal),
    version,
  );
  const title = name === null ? 'Calls' : `Calls of ${visible(name)}`;
  return (
    <Panel title={title} source={searchPath(contract, 'calls', query)}>
      <FunctionFilter functions={functions} chosen={name} />
      <FilterForm filter={filter} of={name === null ? null : 'Argument'} />
      <Show loaded={found} rows={8}>
        {({ results, cursor: { next, previous } }) => (
          <>
            <Table
              label={title}
              rows={results}
              keyOf={({ tx_id }) => tx_id}
              empty="No such transaction called it. Calls by other contracts are not listed."
              columns={[
                { name: 'Transaction', class: 'nowrap', cell: ({ tx_id }) => <TxLink id={tx_id} /> },
                { name: 'Function', class: 'nowrap', cell: (call) => <ChainText text={call.function_name} /> },
                {
                  name: 'Arguments',
                  class: 'main medium',
                  cell: (call) => <Arguments values={call.function_args} />,
                },
                { name: 'From', class: 'wide nowrap', cell: ({ sender }) => <Principal principal={sender} /> },
                {
                  name: 'Status',
                  class: 'medium nowrap',
                  cell: ({ status }) =>
                    status === 'success' ? <span class="quiet">Success</span> : <Status status={status} />,
                },
                { name: 'Block', class: 'number wide', cell: (call) => <BlockLink height={call.block_height} /> },
                { name: 'Age', class: 'number', cell: ({ time }) => <Ago at={Date.parse(time) / 1000} /> },
              ]}
            />
            <Pager next={next} previous={previous} />
          </>
        )}
      </Show>
    </Panel>
  );
}

const FunctionFilter = ({ functions, chosen }: { functions: readonly string[]; chosen: string | null }) =>
  functions.length === 0 ? null : (
    <nav class="panel-body filter" aria-label="Function">
      {[null, ...functions].map((name) => (
        <a
          key={name}
          href={withQuery({ ...NO_FILTER, [FUNCTION]: name, cursor: null })}
          aria-current={name === chosen ? 'true' : undefined}
        >
          {name === null ? 'All' : <ChainText text={name} />}
        </a>
      ))}
    </nav>
  );

/** Characters of the arguments that a row shows; the transaction's page has all. */
const LONGEST = 90;
/** Characters of the names and values that are shown when one points at them. */
const LONGEST_TITLE = 2_000;

function Arguments({ values }: { values: readonly { name: string; repr: string }[] }) {
  const text = values.map(({ repr }) => repr).join(' ');
  const named = values.map(({ name, repr }) => `${name} ${repr}`).join('\n');
  return (
    <span title={visible(named.slice(0, LONGEST_TITLE))}>
      <Value repr={text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text} />
    </span>
  );
}
