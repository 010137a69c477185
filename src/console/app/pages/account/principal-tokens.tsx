/** The tokens of a principal, and its transfers of one fungible token. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { plural, visible } from '../../chain/format.ts';
import { Value } from '../../ui/code.tsx';
import { listQuery, Pager, Panel, PER_PAGE, Show, Table } from '../../ui/parts.tsx';
import { pathTo, place, withQuery } from '../../ui/router.ts';
import {
  Ago,
  Asset,
  BlockLink,
  Principal,
  principalPath,
  SmallestUnit,
  TokenAmount,
  TxLink,
  tokenName,
} from '../../ui/values.tsx';
import { CsvLink } from './principal-activity.tsx';

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
  const params = { path: { principal }, query: { limit: PER_PAGE } };
  const tokens = useAnswer(
    `ft ${principal}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/balances/ft', { params, signal })),
    version,
  );
  return (
    <Panel
      title="Fungible tokens"
      source={`/extended/v3/principals/${principal}/balances/ft`}
      aside={<CsvLink principal={principal} />}
    >
      <Show loaded={tokens}>
        {({ results }) => (
          <Table
            label="Fungible tokens"
            rows={results}
            keyOf={({ asset_identifier: asset }) => asset}
            empty="The principal holds no fungible token."
            columns={[
              {
                name: 'Token',
                class: 'main',
                cell: ({ asset_identifier: asset }) => <Asset identifier={asset} fungible />,
              },
              {
                name: 'Balance',
                class: 'number',
                cell: ({ asset_identifier: asset, balance }) => (
                  <>
                    <TokenAmount asset={asset} value={balance} /> <SmallestUnit asset={asset} />
                  </>
                ),
              },
              {
                name: 'Transfers',
                class: 'number medium',
                cell: ({ asset_identifier: asset }) => (
                  <a href={withToken(asset)} aria-label={`Transfers of ${visible(tokenName(asset))}`}>
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
  const query = listQuery();
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
                  class: 'nowrap',
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

/** Query parameters for the token whose transfers are shown, and for the cursor in their list. */
const TOKEN = 'token';
const CURSOR = 'moves';

/** Returns the token in the query; null if there is none. */
const chosenToken = (): string | null => place.value.query.get(TOKEN);

/** Returns the current path with a token's transfers. */
const withToken = (asset: string): string => withQuery({ [TOKEN]: asset, [CURSOR]: null });

/** Returns the path of a principal's transfers of a fungible token. */
export const tokenMovesPath = (principal: string, asset: string): string =>
  `${principalPath(principal)}?${new URLSearchParams({ tab: 'tokens', [TOKEN]: asset })}`;

interface TokenMovesProps {
  principal: string;
  asset: string;
  version: string;
}

/** Renders a principal's transfers, mints and burns of one fungible token. */
function TokenMoves({ principal, asset, version }: TokenMovesProps) {
  const query = listQuery(CURSOR);
  const params = { path: { principal, asset_identifier: asset }, query };
  const moves = useAnswer(
    `moves ${principal} ${asset} ${query.cursor}`,
    (signal) =>
      bodyOf(api.GET('/extended/v3/principals/{principal}/transfers/ft/{asset_identifier}', { params, signal })),
    version,
  );
  const title = `Transfers of ${visible(tokenName(asset))}`;
  return (
    <Panel
      title={title}
      source={`/extended/v3/principals/${principal}/transfers/ft/${encodeURIComponent(asset)}`}
      aside={
        <>
          <SmallestUnit asset={asset} />
          <a href={withQuery({ [TOKEN]: null, [CURSOR]: null })}>All tokens</a>
        </>
      }
    >
      <Show loaded={moves} rows={8}>
        {({ results, total, cursor: { next, previous } }) => (
          <>
            <Table
              label={title}
              rows={results}
              keyOf={({ transaction }) => `${transaction.tx_id} ${transaction.event_index}`}
              empty="The principal neither sent nor received this token."
              columns={[
                { name: 'Transaction', class: 'nowrap', cell: ({ transaction }) => <TxLink id={transaction.tx_id} /> },
                {
                  name: 'Counterparty',
                  class: 'main',
                  cell: ({ sender, recipient }) =>
                    sender === principal ? (
                      <End word="to" principal={recipient} nobody="burnt" />
                    ) : (
                      <End word="from" principal={sender} nobody="minted" />
                    ),
                },
                {
                  name: 'Amount',
                  class: 'number',
                  cell: ({ sender, amount }) => (
                    <TokenAmount asset={asset} value={sender === principal ? `-${amount}` : amount} signed />
                  ),
                },
                { name: 'Block', class: 'number wide', cell: ({ block }) => <BlockLink height={block.height} /> },
                { name: 'Age', class: 'number medium', cell: ({ block }) => <Ago chain at={block.time} /> },
              ]}
            />
            <Pager name={CURSOR} next={next} previous={previous} total={plural(total, 'transfer')} />
          </>
        )}
      </Show>
    </Panel>
  );
}

interface EndProps {
  word: string;
  principal: string | null;
  /** The text shown if the principal is null: `minted` or `burnt`. */
  nobody: string;
}

const End = ({ word, principal, nobody }: EndProps) =>
  principal === null ? (
    <span class="quiet">{nobody}</span>
  ) : (
    <>
      <span class="quiet">{word}</span> <Principal principal={principal} />
    </>
  );
