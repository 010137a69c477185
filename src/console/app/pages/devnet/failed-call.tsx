/** The explanation of a failed call that a Clarity engine executed. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, visible } from '../../chain/format.ts';
import { Panel, Scrollable, Table } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';

const nameOf = (contract: string): string => contract.slice(contract.indexOf('.') + 1);

/** Renders the expression that made the error, the calls, and the costs of functions; nothing if they aren't known. */
export function FailedCall({ id }: { id: string }) {
  const path = '/stackside/v1/devnet/transactions/{tx_id}';
  const { data } = useAnswer(`failure ${id}`, (signal) =>
    bodyOf(api.GET(path, { params: { path: { tx_id: id } }, signal })),
  );
  const failure = data?.failure ?? null;
  if (failure === null) return null;
  const { place, trace, costs } = failure;
  return (
    <Panel title="Failed expression" source={path.replace('{tx_id}', id)}>
      {place === null ? null : (
        <>
          <p class="panel-body">
            The error was made on{' '}
            <a href={`${pathTo('contract', { id: place.contract })}#L${place.line}`}>
              line {place.line} of {nameOf(place.contract)}
            </a>
            .
          </p>
          <Scrollable label="Expression" class="code scroll boxed">
            {visible(place.expression)}
          </Scrollable>
        </>
      )}
      {trace === '' ? null : (
        <Scrollable label="Calls" class="code scroll boxed">
          {visible(trace)}
        </Scrollable>
      )}
      {costs.length === 0 ? null : (
        <Table
          label="Runtime cost by function"
          rows={costs}
          keyOf={(cost) => cost.function}
          empty=""
          columns={[
            {
              name: 'Function',
              class: 'main',
              cell: (cost) => <code title={cost.function}>{nameOf(cost.function)}</code>,
            },
            { name: 'Runtime cost', class: 'number', cell: ({ runtime }) => count(runtime) },
          ]}
        />
      )}
    </Panel>
  );
}
