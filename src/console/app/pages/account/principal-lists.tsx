/** Lists of a principal: its transactions, pending ones, transfers of STX, tokens, and transfers of one token. */

import { CHAIN_FILTERS, parseFilters } from '../../chain/filters.ts';
import { hexToText, visible } from '../../chain/format.ts';
import { action, directionOf } from '../../chain/transaction.ts';
import { NftLink } from '../../ui/code.tsx';
import { AGE, BLOCK, TRANSACTION } from '../../ui/columns.tsx';
import { FilteredPanel } from '../../ui/filters.tsx';
import { List, ListPanel, useList } from '../../ui/parts.tsx';
import { url, withQuery } from '../../ui/router.ts';
import {
  Fee,
  idOf,
  MatchingTransactions,
  MinedStatus,
  PENDING_COLUMNS,
  Sentence,
  searchPath,
} from '../../ui/transactions.tsx';
import {
  Ago,
  Asset,
  ChainText,
  Party,
  Principal,
  principalPath,
  SmallestUnit,
  Stx,
  TokenAmount,
  tokenName,
} from '../../ui/values.tsx';
import { CsvLink, type PrincipalProps } from './principal-activity.tsx';

/** Renders the transactions of a principal that meet the filters in the query, newest first. */
export function PrincipalTransactions({ principal, version }: PrincipalProps) {
  const chosen = parseFilters(url.value.query, CHAIN_FILTERS);
  return (
    <FilteredPanel
      title="Transactions"
      chosen={chosen}
      source={
        chosen.isActive ? searchPath(chosen.conditions, principal) : `/extended/v3/principals/${principal}/transactions`
      }
      aside={<CsvLink principal={principal} />}
    >
      {(conditions) =>
        chosen.isActive ? (
          <MatchingTransactions conditions={conditions} principal={principal} version={version} />
        ) : (
          <AllTransactions principal={principal} version={version} />
        )
      }
    </FilteredPanel>
  );
}

const AllTransactions = ({ principal, version }: PrincipalProps) => (
  <List
    label="Transactions"
    loaded={useList('/extended/v3/principals/{principal}/transactions', { principal }, version)}
    item="transaction"
    keyOf={({ transaction }) => transaction.tx_id}
    empty="No transaction concerns this principal."
    stacked
    columns={[
      ['Action', 'main', ({ transaction }) => <Sentence parts={action(transaction)} />],
      [
        'STX',
        'number',
        ({ balance_changes: { stx } }) =>
          stx.net === '0' ? <span class="quiet">–</span> : <Stx micro={stx.net} signed />,
      ],
      ['Status', 'nowrap', ({ transaction: { status } }) => <MinedStatus status={status} />],
      [
        'Direction',
        'nowrap',
        ({ transaction: { sender }, involvement, balance_changes: { stx } }) => (
          <>
            {directionOf(involvement, stx.net)}
            {involvement === 'sender' ? null : (
              <>
                {' '}
                <Principal principal={sender.address} />
              </>
            )}
          </>
        ),
      ],
      ['Fee', 'number widest', ({ transaction }) => <Fee micro={transaction.fee_rate} />],
      TRANSACTION,
      ['Age', 'number when', ({ transaction: { block } }) => <Ago chain time={block.time} />],
    ]}
  />
);

const eventKey = ({ transaction }: { transaction: { tx_id: string; event_index: number } }): string =>
  `${transaction.tx_id} ${transaction.event_index}`;

/** Renders the transfers, mints and burns of STX that a principal received or sent. */
export function Transfers({ principal, direction, version }: PrincipalProps & { direction: 'inbound' | 'outbound' }) {
  const isInbound = direction === 'inbound';
  return (
    <ListPanel
      title={isInbound ? 'STX received' : 'STX sent'}
      loaded={useList(`/extended/v3/principals/{principal}/transfers/stx/${direction}`, { principal }, version)}
      aside={<CsvLink principal={principal} />}
      item="transfer"
      keyOf={eventKey}
      empty={isInbound ? 'The principal received no STX.' : 'The principal sent no STX.'}
      stacked
      columns={[
        [
          isInbound ? 'From' : 'To',
          'main',
          ({ sender, recipient }) =>
            isInbound ? <Party principal={sender} nobody="minted" /> : <Party principal={recipient} nobody="burnt" />,
        ],
        ['Amount', 'number', ({ amount }) => <Stx micro={amount} />],
        [
          'Memo',
          'wide short',
          ({ memo }) => {
            const text = memo === null ? '' : (hexToText(memo.hex) ?? memo.hex);
            return text === '' ? null : <ChainText text={text} />;
          },
        ],
        TRANSACTION,
        BLOCK,
        AGE,
      ]}
    />
  );
}

/** Renders the pending transactions of a principal. */
export const Pending = ({ principal, version }: PrincipalProps) => (
  <ListPanel
    title="Pending transactions"
    loaded={useList('/extended/v3/principals/{principal}/mempool/transactions', { principal }, version)}
    item="transaction"
    columns={PENDING_COLUMNS}
    keyOf={idOf}
    empty="No transaction is pending."
    stacked
  />
);

/** Query parameters for the token whose transfers are shown, and for the cursor in their list. */
const TOKEN = 'token';
const CURSOR = 'moves';

/** Returns the path of a principal's transfers of a fungible token. */
export const tokenMovesPath = (principal: string, asset: string): string =>
  principalPath(principal, { tab: 'tokens', [TOKEN]: asset });

/** Renders the tokens of a principal, or its transfers of the token in the query. */
export function Tokens(props: PrincipalProps) {
  const asset = url.value.query.get(TOKEN);
  if (asset !== null) return <TokenMoves key={asset} asset={asset} {...props} />;
  return (
    <>
      <FungibleTokens {...props} />
      <NonFungibleTokens {...props} />
    </>
  );
}

const FungibleTokens = ({ principal, version }: PrincipalProps) => (
  <ListPanel
    title="Fungible tokens"
    loaded={useList('/extended/v3/principals/{principal}/balances/ft', { principal }, version, 'ft')}
    aside={<CsvLink principal={principal} />}
    keyOf={({ asset_identifier: asset }) => asset}
    empty="The principal holds no fungible token."
    columns={[
      ['Token', 'main', ({ asset_identifier: asset }) => <Asset identifier={asset} fungible />],
      [
        'Balance',
        'number',
        ({ asset_identifier: asset, balance }) => (
          <>
            <TokenAmount asset={asset} value={balance} /> <SmallestUnit asset={asset} />
          </>
        ),
      ],
      [
        'Transfers',
        'number medium',
        ({ asset_identifier: asset }) => (
          <a
            href={withQuery({ [TOKEN]: asset, [CURSOR]: null })}
            aria-label={`Transfers of ${visible(tokenName(asset))}`}
          >
            Transfers
          </a>
        ),
      ],
    ]}
  />
);

const NonFungibleTokens = ({ principal, version }: PrincipalProps) => (
  <ListPanel
    title="Non-fungible tokens"
    loaded={useList('/extended/v3/principals/{principal}/balances/nft', { principal }, version)}
    item="token"
    keyOf={({ asset_identifier: asset, value }) => `${asset} ${value.hex}`}
    empty="The principal holds no non-fungible token."
    columns={[
      ['Token', 'nowrap', ({ asset_identifier: asset }) => <Asset identifier={asset} />],
      ['Value', 'fill', ({ asset_identifier: asset, value }) => <NftLink asset={asset} value={value} />],
    ]}
  />
);

function TokenMoves({ principal, asset, version }: PrincipalProps & { asset: string }) {
  const moves = useList(
    '/extended/v3/principals/{principal}/transfers/ft/{asset_identifier}',
    { principal, asset_identifier: asset },
    version,
    CURSOR,
  );
  return (
    <ListPanel
      title={`Transfers of ${visible(tokenName(asset))}`}
      loaded={moves}
      aside={
        <>
          <SmallestUnit asset={asset} />
          <a href={withQuery({ [TOKEN]: null, [CURSOR]: null })}>All tokens</a>
        </>
      }
      item="transfer"
      keyOf={eventKey}
      empty="The principal neither sent nor received this token."
      stacked
      columns={[
        TRANSACTION,
        [
          'Counterparty',
          'main',
          ({ sender, recipient }) => {
            const isSender = sender === principal;
            const other = isSender ? recipient : sender;
            return (
              <>
                {other === null ? null : <span class="quiet">{isSender ? 'to ' : 'from '}</span>}
                <Party principal={other} nobody={isSender ? 'burnt' : 'minted'} />
              </>
            );
          },
        ],
        [
          'Amount',
          'number',
          ({ sender, amount }) => (
            <TokenAmount asset={asset} value={sender === principal ? `-${amount}` : amount} signed />
          ),
        ],
        BLOCK,
        AGE,
      ]}
    />
  );
}
