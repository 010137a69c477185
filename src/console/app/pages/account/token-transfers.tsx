/** Transfers, mints and burns of a fungible token, whoever made them. */
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count } from '../../chain/format.ts';
import { listQuery } from '../../ui/list-state.ts';
import { Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { Ago, BlockLink, Principal, TxLink } from '../../ui/values.tsx';

const PER_PAGE = 25;

export function TokenTransfers({ asset }: { asset: string }) {
  const query = listQuery(PER_PAGE);
  const params = { path: { asset_identifier: asset }, query };
  const transfers = useAnswer(
    `transfers ${asset} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/stackside/v1/tokens/ft/{asset_identifier}/transfers', { params, signal })),
    tipVersion.value,
  );
  return (
    <Panel
      title="Transfers"
      source={`/stackside/v1/tokens/ft/${encodeURIComponent(asset)}/transfers`}
      aside={<span class="quiet">in the smallest unit</span>}
    >
      <Show loaded={transfers} rows={8}>
        {({ results, cursor: { next, previous } }) => (
          <>
            <Table
              label="Transfers"
              rows={results}
              keyOf={({ tx_id, event_index }) => `${tx_id} ${event_index}`}
              empty="The token was never moved."
              columns={[
                { name: 'Transaction', class: 'medium nowrap', cell: ({ tx_id }) => <TxLink id={tx_id} /> },
                { name: 'From', cell: ({ sender }) => <End principal={sender} nobody="minted" /> },
                { name: 'To', cell: ({ recipient }) => <End principal={recipient} nobody="burnt" /> },
                { name: 'Amount', class: 'number', cell: ({ amount }) => count(amount) },
                {
                  name: 'Block',
                  class: 'number wide',
                  cell: ({ block_height: height }) => <BlockLink height={height} />,
                },
                { name: 'Age', class: 'number medium', cell: ({ time }) => <Ago at={Date.parse(time) / 1000} /> },
              ]}
            />
            <Pager next={next} previous={previous} />
          </>
        )}
      </Show>
    </Panel>
  );
}

/** @param nobody what is said where nobody stands there */
const End = ({ principal, nobody }: { principal: string | null; nobody: string }) =>
  principal === null ? <span class="quiet">{nobody}</span> : <Principal principal={principal} />;
