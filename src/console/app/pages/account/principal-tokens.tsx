/** Tokens that a principal holds. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { assetName, count, plural, visible } from '../../chain/format.ts';
import { Value } from '../../ui/code.tsx';
import { listQuery } from '../../ui/list-state.ts';
import { Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { Asset } from '../../ui/values.tsx';
import { chosenToken, TokenMoves, withToken } from './principal-token-moves.tsx';

const MOST_TOKENS = 50;
const NFTS_PER_PAGE = 25;

export function Tokens(props: { principal: string; version: string }) {
  const asset = chosenToken();
  if (asset !== null) return <TokenMoves key={asset} asset={asset} {...props} />;
  return (
    <>
      <FungibleTokens {...props} />
      <NonFungibleTokens {...props} />
    </>
  );
}

function FungibleTokens({ principal, version }: { principal: string; version: string }) {
  const params = { path: { principal }, query: { limit: MOST_TOKENS } };
  const tokens = useAnswer(
    `ft ${principal}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/balances/ft', { params, signal })),
    version,
  );
  return (
    <Panel title="Fungible tokens" source={`/extended/v3/principals/${principal}/balances/ft`}>
      <Show loaded={tokens}>
        {({ results }) => (
          <Table
            label="Fungible tokens"
            rows={results}
            keyOf={({ asset_identifier: asset }) => asset}
            empty="The principal holds no fungible token."
            columns={[
              { name: 'Token', class: 'main', cell: ({ asset_identifier: asset }) => <Asset identifier={asset} /> },
              { name: 'Balance, in the smallest unit', class: 'number', cell: ({ balance }) => count(balance) },
              {
                name: 'Moves',
                class: 'number medium',
                cell: ({ asset_identifier: asset }) => (
                  <a href={withToken(asset)} aria-label={`Transfers of ${visible(assetName(asset))}`}>
                    Transfers
                  </a>
                ),
              },
            ]}
          />
        )}
      </Show>
    </Panel>
  );
}

function NonFungibleTokens({ principal, version }: { principal: string; version: string }) {
  const query = listQuery(NFTS_PER_PAGE);
  const params = { path: { principal }, query };
  const tokens = useAnswer(
    `nft ${principal} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/balances/nft', { params, signal })),
    version,
  );
  return (
    <Panel title="Non-fungible tokens" source={`/extended/v3/principals/${principal}/balances/nft`}>
      <Show loaded={tokens}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <Table
              label="Non-fungible tokens"
              rows={results}
              keyOf={({ asset_identifier: asset, value }) => `${asset} ${value.hex}`}
              empty="The principal holds no non-fungible token."
              columns={[
                {
                  name: 'Token',
                  class: 'top nowrap',
                  cell: ({ asset_identifier: asset }) => <Asset identifier={asset} />,
                },
                {
                  name: 'Value',
                  class: 'fill',
                  cell: ({ asset_identifier: asset, value }) => (
                    <a href={pathTo('nft', { asset, value: value.hex })}>
                      <Value repr={value.repr} />
                    </a>
                  ),
                },
              ]}
            />
            <Pager next={next} previous={previous} total={plural(total, 'token')} />
          </>
        )}
      </Show>
    </Panel>
  );
}
