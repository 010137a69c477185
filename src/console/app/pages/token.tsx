/** A token: its supply and holders, or the tokens of a collection. */
import { api, bodyOf } from '../api/api.ts';
import { tipVersion } from '../api/live.ts';
import { useAnswer } from '../api/use-answer.ts';
import { assetContract, assetName, count, plural, visible } from '../chain/format.ts';
import { pathTo, place } from '../shell/router.ts';
import { Value } from '../ui/code.tsx';
import { Copy } from '../ui/copy.tsx';
import { Meter } from '../ui/cost.tsx';
import { Figures } from '../ui/figures.tsx';
import { listQuery } from '../ui/list-state.ts';
import { Empty, Page, Pager, Panel, Show, Table } from '../ui/parts.tsx';
import { Principal, TxLink } from '../ui/values.tsx';
import { DeclaredFacts } from './token-facts.tsx';

const HOLDERS_PER_PAGE = 25;
const MINTS_PER_PAGE = 25;

/** The supply of a fungible token; null for a collection. The API tells no supply of zero from that of another token. */
async function supplyOf(asset: string, signal: AbortSignal): Promise<string | null> {
  const params = { path: { asset_identifier: asset } };
  const { total } = await bodyOf(api.GET('/extended/v3/tokens/ft/{asset_identifier}/supply', { params, signal }));
  if (total !== '0') return total;
  const query = { asset_identifier: asset, limit: 1 };
  const mints = await bodyOf(api.GET('/extended/v1/tokens/nft/mints', { params: { query }, signal }));
  return mints.total > 0 ? null : total;
}

export function Token({ asset }: { asset: string }) {
  const contract = assetContract(asset);
  const supply = useAnswer(
    `supply ${asset}`,
    async (signal) => ({ total: await supplyOf(asset, signal) }),
    tipVersion.value,
  );
  return (
    <Page
      kind="Token"
      title={visible(assetName(asset))}
      heading={
        <span class="with-copy">
          <bdi>{visible(assetName(asset))}</bdi>
          <Copy text={asset} what="asset identifier" />
        </span>
      }
      lead={
        contract === '' ? null : (
          <>
            of <Principal principal={contract} whole />
          </>
        )
      }
    >
      <Show loaded={supply}>
        {({ total }) => (total === null ? <Collection asset={asset} /> : <Fungible asset={asset} supply={total} />)}
      </Show>
    </Page>
  );
}

/** Enough digits for a share in per cent, whatever the size of the numbers. */
const PRECISION = 1_000_000n;

const shareOf = (part: string, whole: string): number =>
  BigInt(whole) === 0n ? 0 : Number((BigInt(part) * PRECISION) / BigInt(whole)) / Number(PRECISION);

function Fungible({ asset, supply }: { asset: string; supply: string }) {
  const query = listQuery(HOLDERS_PER_PAGE);
  const params = { path: { asset_identifier: asset }, query };
  const holders = useAnswer(
    `holders ${asset} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/extended/v3/tokens/ft/{asset_identifier}/holders', { params, signal })),
    tipVersion.value,
  );
  const path = `/extended/v3/tokens/ft/${encodeURIComponent(asset)}`;
  return (
    <>
      <Figures
        label="The token"
        figures={[
          { name: 'Supply', value: count(supply), note: 'in the smallest unit' },
          { name: 'Holders', value: holders.data === null ? '–' : count(holders.data.total) },
        ]}
      />
      {supply === '0' ? null : <DeclaredFacts asset={asset} />}
      <Panel title="Holders" source={`${path}/holders`}>
        <Show loaded={holders} rows={8}>
          {({ results, total, cursor: { next, previous } }) => (
            <>
              <Table
                label="Holders"
                rows={results}
                keyOf={({ principal }) => principal}
                empty="Nobody holds the token."
                columns={[
                  { name: 'Holder', class: 'main', cell: ({ principal }) => <Principal principal={principal} /> },
                  { name: 'Balance', class: 'number', cell: ({ balance }) => count(balance) },
                  {
                    name: 'Share',
                    class: 'number',
                    cell: ({ balance }) => <Meter value={shareOf(balance, supply)} most={1} />,
                  },
                ]}
              />
              <Pager next={next} previous={previous} total={plural(total, 'holder')} />
            </>
          )}
        </Show>
      </Panel>
    </>
  );
}

/** The tokens of a collection, newest first. */
function Collection({ asset }: { asset: string }) {
  const offset = Math.max(0, Number(place.value.query.get('offset')) || 0);
  const params = { query: { asset_identifier: asset, limit: MINTS_PER_PAGE, offset } };
  const mints = useAnswer(
    `mints ${asset} ${offset}`,
    (signal) => bodyOf(api.GET('/extended/v1/tokens/nft/mints', { params, signal })),
    tipVersion.value,
  );
  const source = `/extended/v1/tokens/nft/mints?asset_identifier=${encodeURIComponent(asset)}`;
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
                    cell: ({ recipient }) => (recipient == null ? null : <Principal principal={recipient} />),
                  },
                  {
                    name: 'Transaction',
                    class: 'medium',
                    cell: (mint) =>
                      'tx_id' in mint && typeof mint.tx_id === 'string' ? <TxLink id={mint.tx_id} /> : null,
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
