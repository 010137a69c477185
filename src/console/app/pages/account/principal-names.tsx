/** Names that a principal owns. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';

export function PrincipalNames({ principal, version }: { principal: string; version: string }) {
  const params = { path: { blockchain: 'stacks', address: principal } };
  const names = useAnswer(
    `names ${principal}`,
    (signal) => bodyOf(api.GET('/v1/addresses/{blockchain}/{address}', { params, signal })),
    version,
  );
  return (
    <Panel title="Names" source={`/v1/addresses/stacks/${principal}`}>
      <Show loaded={names}>
        {({ names: owned }) => (
          <Table
            label="Names"
            rows={owned}
            keyOf={(name) => name}
            empty="The principal owns no name."
            columns={[{ name: 'Name', cell: (name) => <a href={pathTo('name', { name })}>{name}</a> }]}
          />
        )}
      </Show>
    </Panel>
  );
}
