/** The pages of tokens: a fungible token or a collection, and one non-fungible token with its history. */

import { clarityRepr } from '../../../../codec/clarity-text.ts';
import { fromHex } from '../../../../codec/hex.ts';
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { type Loaded, useAnswer } from '../../api/use-answer.ts';
import { tokenFacts } from '../../chain/clarity.ts';
import { assetContract, assetName, count, plural, shortHash, shortPrincipal, visible } from '../../chain/format.ts';
import { Value } from '../../ui/code.tsx';
import {
  Copy,
  Empty,
  Facts,
  Figures,
  listQuery,
  Page,
  Pager,
  Panel,
  PER_PAGE,
  Show,
  Table,
  Tabs,
  tabOf,
} from '../../ui/parts.tsx';
import { pathTo, place } from '../../ui/router.ts';
import { TellMe } from '../../ui/tell-me.tsx';
import { tokenOf, unitOf } from '../../ui/token-metadata.ts';
import {
  Ago,
  Asset,
  Badge,
  BlockLink,
  ChainText,
  Hash,
  Meter,
  Principal,
  SmallestUnit,
  TokenAmount,
  TxLink,
  tokenName,
} from '../../ui/values.tsx';
import { tokenMovesPath } from './principal-tokens.tsx';

/** Returns the supply of a fungible token; null for a collection. The API returns a supply of 0 for any other token. */
async function supplyOf(asset: string, signal: AbortSignal): Promise<string | null> {
  const path = { asset_identifier: asset };
  const { total } = await bodyOf(
    api.GET('/extended/v3/tokens/ft/{asset_identifier}/supply', { params: { path }, signal }),
  );
  if (total !== '0') return total;
  const params = { path, query: { limit: 1 } };
  const mints = await bodyOf(api.GET('/stackside/v1/tokens/nft/{asset_identifier}/mints', { params, signal }));
  return mints.total > 0 ? null : total;
}

export function Token({ asset }: { asset: string }) {
  const contract = assetContract(asset);
  const supply = useAnswer(
    `supply ${asset}`,
    async (signal) => ({ total: await supplyOf(asset, signal) }),
    tipVersion.value,
  );
  const isFungible = (supply.data?.total ?? null) !== null;
  const name = visible(isFungible ? tokenName(asset) : assetName(asset));
  const symbol = isFungible ? unitOf(asset).symbol : null;
  return (
    <Page
      kind={supply.data?.total === null ? 'Collection' : 'Token'}
      title={name}
      heading={
        <span class="with-copy">
          <bdi>{name}</bdi>
          {symbol === null ? null : <Badge tone="plain">{visible(symbol)}</Badge>}
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
        {({ total }) => (
          <>
            <TellMe kind={total === null ? 'collection' : 'token'} id={asset} />
            {total === null ? <Collection asset={asset} /> : <Fungible asset={asset} supply={total} />}
          </>
        )}
      </Show>
    </Page>
  );
}

/** Precision of a share: balances may be too large for a division of numbers. */
const PRECISION = 1_000_000n;

/** Returns the share of an amount in a whole, from 0 to 1. */
export const shareOf = (part: string, total: string): number =>
  BigInt(total) === 0n ? 0 : Number((BigInt(part) * PRECISION) / BigInt(total)) / Number(PRECISION);

const TABS = [
  ['holders', 'Holders'],
  ['transfers', 'Transfers'],
] as const;

type Holding = Answer<'/extended/v3/tokens/ft/{asset_identifier}/holders'>;

/** Renders the holders and transfers of a fungible token. @param supply in its smallest unit */
function Fungible({ asset, supply }: { asset: string; supply: string }) {
  const isOfHolders = tabOf(TABS) === 'holders';
  const query = isOfHolders ? listQuery() : { limit: 1 };
  const params = { path: { asset_identifier: asset }, query };
  const holders = useAnswer(
    `holders ${asset} ${JSON.stringify(query)}`,
    (signal) => bodyOf(api.GET('/extended/v3/tokens/ft/{asset_identifier}/holders', { params, signal })),
    tipVersion.value,
  );
  return (
    <>
      <Figures
        label="The token"
        amounts
        figures={[
          { name: 'Supply', value: <TokenAmount asset={asset} value={supply} />, note: <SmallestUnit asset={asset} /> },
          { name: 'Holders', value: holders.data === null ? '–' : count(holders.data.total) },
        ]}
      />
      {supply === '0' ? null : <DeclaredFacts asset={asset} />}
      <Tabs label="Parts of the token" tabs={TABS} />
      {isOfHolders ? <Holders asset={asset} supply={supply} holders={holders} /> : <TokenTransfers asset={asset} />}
    </>
  );
}

interface HoldersProps {
  asset: string;
  supply: string;
  holders: Loaded<Holding>;
}

const Holders = ({ asset, supply, holders }: HoldersProps) => (
  <Panel title="Holders" source={`/extended/v3/tokens/ft/${encodeURIComponent(asset)}/holders`}>
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
              {
                name: 'Balance',
                class: 'number',
                cell: ({ balance }) => <TokenAmount asset={asset} value={balance} />,
              },
              {
                name: 'Share',
                class: 'number',
                cell: ({ balance }) => <Meter value={shareOf(balance, supply)} most={1} />,
              },
              {
                name: 'Transfers',
                class: 'number medium',
                cell: ({ principal }) => (
                  <a href={tokenMovesPath(principal, asset)} aria-label={`Transfers by ${shortPrincipal(principal)}`}>
                    Transfers
                  </a>
                ),
              },
            ]}
          />
          <Pager next={next} previous={previous} total={plural(total, 'holder')} />
        </>
      )}
    </Show>
  </Panel>
);

/** Renders all transfers, mints and burns of a fungible token. */
function TokenTransfers({ asset }: { asset: string }) {
  const query = listQuery();
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
      aside={<SmallestUnit asset={asset} />}
    >
      <Show loaded={transfers} rows={8}>
        {({ results, cursor: { next, previous } }) => (
          <>
            <Table
              label="Transfers"
              rows={results}
              keyOf={({ tx_id, event_index }) => `${tx_id} ${event_index}`}
              empty="The token has no transfers, mints or burns."
              stacked
              columns={[
                { name: 'Transaction', class: 'first nowrap', cell: ({ tx_id }) => <TxLink id={tx_id} /> },
                { name: 'From', label: 'from', cell: ({ sender }) => <End principal={sender} nobody="minted" /> },
                { name: 'To', label: 'to', cell: ({ recipient }) => <End principal={recipient} nobody="burnt" /> },
                {
                  name: 'Amount',
                  class: 'number',
                  label: 'amount',
                  cell: ({ amount }) => <TokenAmount asset={asset} value={amount} />,
                },
                {
                  name: 'Block',
                  class: 'number wide',
                  label: 'block',
                  cell: ({ block_height: height }) => <BlockLink height={height} />,
                },
                { name: 'Age', class: 'number when', cell: ({ time }) => <Ago chain at={Date.parse(time) / 1000} /> },
              ]}
            />
            <Pager next={next} previous={previous} />
          </>
        )}
      </Show>
    </Panel>
  );
}

/** @param nobody text shown if the principal is null: `minted` or `burnt` */
const End = ({ principal, nobody }: { principal: string | null; nobody: string }) =>
  principal === null ? <span class="quiet">{nobody}</span> : <Principal principal={principal} />;

/** Renders the non-fungible tokens of a collection, newest first. */
function Collection({ asset }: { asset: string }) {
  const offset = Math.max(0, Number(place.value.query.get('offset')) || 0);
  const params = { path: { asset_identifier: asset }, query: { limit: PER_PAGE, offset } };
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
                    name: 'Current owner',
                    class: 'nowrap',
                    label: 'owner',
                    cell: ({ owner }) =>
                      owner === null ? <Badge tone="plain">burnt</Badge> : <Principal principal={owner} />,
                  },
                  {
                    name: 'Minted to',
                    class: 'wide',
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
                next={offset + PER_PAGE < total ? String(offset + PER_PAGE) : null}
                previous={offset > PER_PAGE ? String(offset - PER_PAGE) : ''}
                total={plural(total, 'token')}
              />
            </Panel>
          </>
        )
      }
    </Show>
  );
}

const textOrNull = (text: string | null) => (text === null ? null : <ChainText text={text} />);

/**
 * Renders the metadata of a token, from its contract, or from the constants in its source. URLs in the metadata are not
 * links.
 */
function DeclaredFacts({ asset }: { asset: string }) {
  const contract = assetContract(asset);
  const params = { path: { contract_id: contract }, query: { include: ['source_code' as const] } };
  const { data } = useAnswer(`contract ${contract}`, (signal) =>
    bodyOf(api.GET('/extended/v3/smart-contracts/{contract_id}', { params, signal })),
  );
  const token = tokenOf(asset);
  const declared = tokenFacts(data?.source_code ?? '');
  const isSaid = token !== null && (token.name !== undefined || token.symbol !== undefined);
  const {
    name = null,
    symbol = null,
    decimals = null,
    token_uri: uri = null,
  } = isSaid ? token : { ...declared, token_uri: declared.uri };
  if (name === null && symbol === null && decimals === null && uri === null) return null;
  return (
    <Panel
      title={isSaid ? 'Metadata from the contract' : 'Metadata in the source'}
      source={isSaid ? `/metadata/v1/ft/${contract}` : `/extended/v3/smart-contracts/${contract}?include=source_code`}
    >
      <Facts
        facts={[
          ['Name', textOrNull(name)],
          ['Symbol', textOrNull(symbol)],
          ['Decimals', decimals],
          ['Metadata', textOrNull(shortUri(uri))],
        ]}
      />
    </Panel>
  );
}

/** Maximum characters to show of a URI: a `data` URI contains a whole document. */
const MAX_URI = 160;

const shortUri = (uri: string | null): string | null =>
  uri === null || uri.length <= MAX_URI ? uri : `${uri.slice(0, MAX_URI)}…`;

/** Renders a minted token: its owner and its URI. */
function OwnedNft({ asset, value }: { asset: string; value: string }) {
  const path = { asset_identifier: asset, value };
  const token = useAnswer(
    `owned nft ${asset} ${value}`,
    (signal) => bodyOf(api.GET('/stackside/v1/tokens/nft/{asset_identifier}/{value}', { params: { path }, signal })),
    tipVersion.value,
  );
  return (
    <Panel title="Token" source={`/stackside/v1/tokens/nft/${encodeURIComponent(asset)}/${value}`}>
      <Show loaded={token}>
        {({ owner, token_uri: uri }) => (
          <Facts
            facts={[
              ['Collection', <Asset key="asset" identifier={asset} />],
              ['Value', <Value key="decoded" repr={clarityRepr(fromHex(value))} />],
              ['Value, serialized', <Hash key="value" value={value} whole copy="value" />],
              [
                'Current owner',
                owner === null ? 'None: the token was burnt' : <Principal key="owner" principal={owner} copy />,
              ],
              ['Metadata', textOrNull(shortUri(uri))],
            ]}
          />
        )}
      </Show>
    </Panel>
  );
}

/** A serialized number without a sign: its type, and 16 bytes. */
const NUMBER = /^0x01[\da-f]{32}$/;

/** Returns the number of a non-fungible token, or the ends of its value in hex. */
const tokenLabel = (value: string): string =>
  NUMBER.test(value) ? `#${count(BigInt(`0x${value.slice('0x01'.length)}`))}` : shortHash(value);

/** Renders the page of a non-fungible token, with its history of owners. */
export function Nft({ asset, value }: { asset: string; value: string }) {
  const query = listQuery();
  const path = { asset_identifier: asset, value };
  const history = useAnswer(
    `nft ${asset} ${value} ${query.cursor}`,
    (signal) =>
      bodyOf(
        api.GET('/extended/v3/tokens/nft/{asset_identifier}/{value}/history', { params: { path, query }, signal }),
      ),
    tipVersion.value,
  );
  const source = `/extended/v3/tokens/nft/${encodeURIComponent(asset)}/${value}/history`;
  return (
    <Page kind="Non-fungible token" title={`${visible(assetName(asset))} ${tokenLabel(value)}`}>
      {history.data === null || history.data.total === 0 ? null : <OwnedNft asset={asset} value={value} />}
      <Panel title="History" source={source}>
        <Show loaded={history}>
          {({ results, total, cursor: { next, previous } }) => (
            <>
              <Table
                label="History"
                rows={results}
                keyOf={({ transaction }) => `${transaction.tx_id} ${transaction.event_index}`}
                empty="This token was never minted."
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
                  { name: 'Age', class: 'number', cell: ({ block }) => <Ago chain at={block.time} /> },
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
