/** One non-fungible token and everybody who had it. */
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { assetName, plural, shortHash, visible } from '../../chain/format.ts';
import { listQuery } from '../../ui/list-state.ts';
import { Facts, Page, Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { Ago, Asset, BlockLink, Hash, Principal, TxLink } from '../../ui/values.tsx';

const PER_PAGE = 25;

export function Nft({ asset, value }: { asset: string; value: string }) {
  const query = listQuery(PER_PAGE);
  const params = { path: { asset_identifier: asset, value }, query };
  const history = useAnswer(
    `nft ${asset} ${value} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/tokens/nft/{asset_identifier}/{value}/history', { params, signal })),
    tipVersion.value,
  );
  const source = `/extended/v3/tokens/nft/${encodeURIComponent(asset)}/${value}/history`;
  const newest = query.cursor === undefined ? history.data?.results[0] : undefined;
  return (
    <Page kind="Non-fungible token" title={`${visible(assetName(asset))} ${shortHash(value)}`}>
      <Panel title="Token" source={source}>
        <Facts
          facts={[
            ['Collection', <Asset key="asset" identifier={asset} />],
            ['Value, serialized', <Hash key="value" value={value} copy="value" />],
            [
              'Owner',
              newest === undefined ? null : newest.recipient === null ? (
                'Nobody: it was burnt'
              ) : (
                <Principal key="owner" principal={newest.recipient} copy />
              ),
            ],
          ]}
        />
      </Panel>
      <Panel title="History" source={source}>
        <Show loaded={history}>
          {({ results, total, cursor: { next, previous } }) => (
            <>
              <Table
                label="History"
                rows={results}
                keyOf={({ transaction }) => `${transaction.tx_id} ${transaction.event_index}`}
                empty="Nobody ever had this token."
                columns={[
                  {
                    name: 'From',
                    cell: ({ sender }) =>
                      sender === null ? <span class="quiet">minted</span> : <Principal principal={sender} />,
                  },
                  {
                    name: 'To',
                    cell: ({ recipient }) =>
                      recipient === null ? <span class="quiet">burnt</span> : <Principal principal={recipient} />,
                  },
                  {
                    name: 'Transaction',
                    class: 'medium',
                    cell: ({ transaction }) => <TxLink id={transaction.tx_id} />,
                  },
                  { name: 'Block', class: 'number wide', cell: ({ block }) => <BlockLink height={block.height} /> },
                  { name: 'Age', class: 'number', cell: ({ block }) => <Ago at={block.time} /> },
                ]}
              />
              <Pager next={next} previous={previous} total={plural(total, 'event')} />
            </>
          )}
        </Show>
      </Panel>
    </Page>
  );
}
