/** The pages of tokens: a fungible token or a collection, and one non-fungible token with its history. */

import { assetContractOf, assetNameOf } from '../../../../codec/address.ts';
import { get } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer, useGet } from '../../api/use-answer.ts';
import { count, shortPrincipal, tokenLabel, visible } from '../../chain/format.ts';
import { NftLink, Value } from '../../ui/code.tsx';
import { AGE, BLOCK, BLOCK_HEIGHT, FROM, HOLDER, TIME, TO } from '../../ui/columns.tsx';
import { tokenOf, unitOf } from '../../ui/metadata.ts';
import {
  Copied,
  DataPanel,
  Empty,
  Figures,
  ListPanel,
  offsetQuery,
  Page,
  Panel,
  Show,
  Tabs,
  TextBlock,
  useList,
} from '../../ui/parts.tsx';
import {
  Asset,
  Badge,
  ChainText,
  Hash,
  Meter,
  NotifyMe,
  Principal,
  SmallestUnit,
  TokenAmount,
  TxLink,
  tokenName,
} from '../../ui/values.tsx';
import { tokenMovesPath } from './principal-lists.tsx';

type TokenKind = { kind: 'token'; supply: string } | { kind: 'collection' };

/** Returns the kind of a token. The API returns a supply of 0 for a collection, and for a token that it doesn't know. */
async function loadKind(asset: string, signal: AbortSignal): Promise<TokenKind> {
  const params = { asset_identifier: asset };
  const { total: supply } = await get('/extended/v3/tokens/ft/{asset_identifier}/supply', params, signal);
  if (supply !== '0') return { kind: 'token', supply };
  const mints = await get('/stackside/v1/tokens/nft/{asset_identifier}/mints', { ...params, limit: 1 }, signal);
  return mints.total > 0 ? { kind: 'collection' } : { kind: 'token', supply };
}

export function Token({ asset }: { asset: string }) {
  const contract = assetContractOf(asset);
  const loaded = useAnswer(`token ${asset}`, (signal) => loadKind(asset, signal), tipVersion.value);
  const kind = loaded.data?.kind;
  const name = visible(kind === 'token' ? tokenName(asset) : assetNameOf(asset));
  const symbol = kind === 'token' ? unitOf(asset).symbol : null;
  return (
    <Page
      kind={kind === 'collection' ? 'Collection' : 'Token'}
      title={name}
      heading={
        <Copied text={asset} name="asset identifier">
          <span>
            <bdi>{name}</bdi> {symbol === null ? null : <Badge tone="plain">{visible(symbol)}</Badge>}
          </span>
        </Copied>
      }
      lead={
        contract === '' ? null : (
          <>
            of <Principal principal={contract} whole />
          </>
        )
      }
    >
      <Show loaded={loaded}>
        {(token) => (
          <>
            <NotifyMe kind={token.kind} id={asset} />
            {token.kind === 'token' ? <Fungible asset={asset} supply={token.supply} /> : <Collection asset={asset} />}
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

/** Renders the holders and transfers of a fungible token. @param supply in its smallest unit */
function Fungible({ asset, supply }: { asset: string; supply: string }) {
  const params = { asset_identifier: asset, limit: 1 };
  const { data: holders } = useGet('/extended/v3/tokens/ft/{asset_identifier}/holders', params, tipVersion.value);
  return (
    <>
      <Figures
        label="The token"
        amounts
        figures={[
          ['Supply', <TokenAmount asset={asset} value={supply} />, <SmallestUnit asset={asset} />],
          ['Holders', holders === null ? '–' : count(holders.total)],
        ]}
      />
      {supply === '0' ? (
        <p class="note wait">There is nothing of this token: it was never minted, or all of it was burnt.</p>
      ) : (
        <DeclaredFacts asset={asset} />
      )}
      <Tabs
        label="Parts of the token"
        tabs={[
          ['holders', 'Holders', () => <Holders asset={asset} supply={supply} />],
          ['transfers', 'Transfers', () => <TokenTransfers asset={asset} />],
        ]}
      />
    </>
  );
}

function Holders({ asset, supply }: { asset: string; supply: string }) {
  return (
    <ListPanel
      title="Holders"
      loaded={useList('/extended/v3/tokens/ft/{asset_identifier}/holders', { asset_identifier: asset })}
      item="holder"
      keyOf={({ principal }) => principal}
      empty="Nobody holds the token."
      columns={[
        HOLDER,
        ['Balance', 'number', ({ balance }) => <TokenAmount asset={asset} value={balance} />],
        ['Share', 'number', ({ balance }) => <Meter value={shareOf(balance, supply)} total={1} />],
        [
          'Transfers',
          'number medium',
          ({ principal }) => (
            <a href={tokenMovesPath(principal, asset)} aria-label={`Transfers by ${shortPrincipal(principal)}`}>
              Transfers
            </a>
          ),
        ],
      ]}
    />
  );
}

function TokenTransfers({ asset }: { asset: string }) {
  return (
    <ListPanel
      title="Transfers"
      loaded={useList('/stackside/v1/tokens/ft/{asset_identifier}/transfers', { asset_identifier: asset })}
      aside={<SmallestUnit asset={asset} />}
      keyOf={({ tx_id, event_index }) => `${tx_id} ${event_index}`}
      empty="The token has no transfers, mints or burns."
      stacked
      columns={[
        ['Transaction', 'first nowrap', ({ tx_id }) => <TxLink id={tx_id} />],
        FROM,
        TO,
        ['Amount', 'number named', ({ amount }) => <TokenAmount asset={asset} value={amount} />],
        BLOCK_HEIGHT,
        TIME,
      ]}
    />
  );
}

function Collection({ asset }: { asset: string }) {
  const params = { asset_identifier: asset, ...offsetQuery() };
  const mints = useGet('/stackside/v1/tokens/nft/{asset_identifier}/mints', params, tipVersion.value);
  const total = mints.data?.total ?? null;
  if (total === 0) return <Empty>No token of this name was ever minted.</Empty>;
  return (
    <>
      {total === null ? null : (
        <Figures label="The collection" figures={[['Minted', count(total), 'tokens, burnt ones included']]} />
      )}
      <ListPanel
        title="Tokens, newest first"
        loaded={mints}
        item="token"
        pager="offset"
        keyOf={({ value }) => value.hex}
        columns={[
          ['Token', '', ({ value }) => <NftLink asset={asset} value={value} />],
          [
            'Current owner',
            'nowrap',
            ({ owner }) => (owner === null ? <Badge tone="plain">burnt</Badge> : <Principal principal={owner} />),
          ],
          ['Minted to', 'wide', ({ recipient }) => (recipient === null ? null : <Principal principal={recipient} />)],
          ['Transaction', 'medium', ({ transaction }) => <TxLink id={transaction.tx_id} />],
        ]}
      />
    </>
  );
}

const textOrNull = (text: string | null) => (text === null ? null : <ChainText text={text} />);

/** Renders the metadata that the contract of a fungible token states. URLs in the metadata are not links. */
function DeclaredFacts({ asset }: { asset: string }) {
  const token = tokenOf(asset);
  // The list also has tokens without metadata.
  if (token === null || (token.name === undefined && token.symbol === undefined)) return null;
  const { name = null, symbol = null, decimals = null, token_uri: uri = null } = token;
  return (
    <Panel
      title="Metadata from the contract"
      source={`/metadata/v1/ft/${assetContractOf(asset)}`}
      facts={[
        ['Name', textOrNull(name)],
        ['Symbol', textOrNull(symbol)],
        ['Decimals', decimals],
        ['Metadata', uriText(uri)],
      ]}
    />
  );
}

/** Maximum characters of a URI outside of a scrolling box: a `data` URI contains a whole document. */
const MAX_URI = 160;

const uriText = (uri: string | null) =>
  uri === null || uri.length <= MAX_URI ? textOrNull(uri) : <TextBlock label="URI of the metadata" text={uri} boxed />;

const OwnedNft = ({ asset, value }: { asset: string; value: string }) => (
  <DataPanel
    title="Token"
    loaded={useGet(
      '/stackside/v1/tokens/nft/{asset_identifier}/{value}',
      { asset_identifier: asset, value },
      tipVersion.value,
    )}
    facts={({ value: id, owner, token_uri: uri }) => [
      ['Collection', <Asset identifier={asset} />],
      ['Value', <Value repr={id.repr} />],
      ['Value, serialized', <Hash value={id.hex} whole copy="value" />],
      ['Current owner', owner === null ? 'None: the token was burnt' : <Principal principal={owner} copy />],
      ['Metadata', uriText(uri)],
    ]}
  />
);

/** Renders the page of a non-fungible token, with its history of owners. */
export function Nft({ asset, value }: { asset: string; value: string }) {
  const params = { asset_identifier: asset, value };
  const history = useList('/extended/v3/tokens/nft/{asset_identifier}/{value}/history', params);
  return (
    <Page kind="Non-fungible token" title={`${visible(assetNameOf(asset))} ${visible(tokenLabel(value))}`}>
      {history.data === null || history.data.total === 0 ? null : <OwnedNft asset={asset} value={value} />}
      <ListPanel
        title="History"
        loaded={history}
        item="event"
        keyOf={({ transaction }) => `${transaction.tx_id} ${transaction.event_index}`}
        empty="This token was never minted."
        columns={[
          FROM,
          TO,
          ['Transaction', 'medium', ({ transaction }) => <TxLink id={transaction.tx_id} />],
          BLOCK,
          AGE,
        ]}
      />
    </Page>
  );
}
