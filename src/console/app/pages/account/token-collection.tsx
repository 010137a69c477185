/** A collection of non-fungible tokens. */
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, plural } from '../../chain/format.ts';
import { Value } from '../../ui/code.tsx';
import { Figures } from '../../ui/figures.tsx';
import { Empty, Pager, Panel, Show, Table } from '../../ui/parts.tsx';
import { pathTo, place } from '../../ui/router.ts';
import { Principal, TxLink } from '../../ui/values.tsx';
import { DeclaredFacts } from './token-facts.tsx';

const MINTS_PER_PAGE = 25;

/** The tokens of a collection, newest first. */
export function Collection({ asset }: { asset: string }) {
  const offset = Math.max(0, Number(place.value.query.get('offset')) || 0);
  const params = { path: { asset_identifier: asset }, query: { limit: MINTS_PER_PAGE, offset } };
  const mints = useAnswer(
    `mints ${asset} ${offset}`,
    (signal) => bodyOf(api.GET('/stackside/v1/tokens/nft/{asset_identifier}/mints', { params, signal })),
    tipVersion.value,
  );
  const source = `/stackside/v1/tokens/nft/${encodeURIComponent(asset)}/mints`;
  return (
    <Show loaded={mints} rows={6}>
      {({ results, total }) =>
        total === 0 ? (
          <Empty>No token of this name was ever minted.</Empty>
        ) : (
          <>
            <Figures
              label="The collection"
              figures={[{ name: 'Minted', value: count(total), note: 'tokens, burnt ones included' }]}
            />
            <DeclaredFacts asset={asset} />
            <Panel title="Tokens, newest first" source={source}>
              <Table
                label="Tokens, newest first"
                rows={results}
                keyOf={({ value }) => value.hex}
                empty=""
                columns={[
                  {
                    name: 'Token',
                    cell: ({ value }) => (
                      <a href={pathTo('nft', { asset, value: value.hex })}>
                        <Value repr={value.repr} />
                      </a>
                    ),
                  },
                  {
                    name: 'Minted for',
                    cell: ({ recipient }) => (recipient === null ? null : <Principal principal={recipient} />),
                  },
                  {
                    name: 'Transaction',
                    class: 'medium',
                    cell: ({ transaction }) => <TxLink id={transaction.tx_id} />,
                  },
                ]}
              />
              <Pager
                name="offset"
                next={offset + MINTS_PER_PAGE < total ? String(offset + MINTS_PER_PAGE) : null}
                previous={offset > MINTS_PER_PAGE ? String(offset - MINTS_PER_PAGE) : ''}
                total={plural(total, 'token')}
              />
            </Panel>
          </>
        )
      }
    </Show>
  );
}
