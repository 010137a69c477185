/** The directories of contracts and of tokens: all, and the most used. */
import { type Answer, get } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { type Loaded, useAnswer, useGet } from '../../api/use-answer.ts';
import { addDays, count } from '../../chain/format.ts';
import { Choices, type Column, choiceOf, ListPanel, listQuery, Page, Tabs, tabOf } from '../../ui/parts.tsx';
import { pathTo, place, withQuery } from '../../ui/router.ts';
import { isDevnet } from '../../ui/server-status.ts';
import {
  Ago,
  Asset,
  Badge,
  BLOCK,
  BlockLink,
  ChainText,
  Meter,
  Principal,
  Stx,
  TokenAmount,
} from '../../ui/values.tsx';
import { shareOf } from './token.tsx';

/** Renders the day of the counts, with links to the previous and the next day. @param day as `2026-11-24` */
const Day = ({ day }: { day: string }) => (
  <nav class="row small" aria-label="Day">
    <a href={withQuery({ day: addDays(day, -1), cursor: null })} aria-label={`The day before ${day}`}>
      ‹
    </a>
    <span class="nowrap">{day} (UTC)</span>
    {place.value.query.has('day') ? (
      <a href={withQuery({ day: addDays(day, 1), cursor: null })} aria-label={`The day after ${day}`}>
        ›
      </a>
    ) : null}
  </nav>
);

/** Renders the day of a list once the list is loaded. */
const dayOf = ({ data }: Loaded<{ day: string }>) => (data === null ? null : <Day day={data.day} />);

/** Returns the column of the counts of a day, without its cells. */
const countsOfDay = (what: string, { data }: Loaded<{ day: string }>) => ({
  name: `${what} of the day`,
  class: 'number',
  label: `${what.toLowerCase()} on ${data?.day}`,
});

const ORDERS = [
  ['newest', 'Newest'],
  ['calls', 'Most called'],
] as const;

const TRAITS = [
  [null, 'All'],
  ['sip-010', 'Fungible'],
  ['sip-009', 'Collections'],
  ['sip-013', 'Semi-fungible'],
] as const;

/** Returns the query of a list with its day. */
const dayQuery = () => ({ ...listQuery(), day: place.value.query.get('day') });

export function Contracts() {
  const [order, trait] = [choiceOf('order', ORDERS), choiceOf('trait', TRAITS)];
  const contracts = useGet('/stackside/v1/contracts', { order, trait, ...dayQuery() }, tipVersion.value);
  const none = order === 'newest' ? 'No such contract was deployed.' : 'No such contract was called on this day.';
  return (
    <Page
      title="Contracts"
      lead="The latest deployments, and the most called contracts."
      beside={
        isDevnet() === true ? (
          <a class="button primary" href={pathTo('newContract')}>
            Deploy a contract
          </a>
        ) : undefined
      }
    >
      <div class="row">
        <Choices label="Order" name="order" choices={ORDERS} chosen={order} />
        <Choices label="Standard" name="trait" choices={TRAITS} chosen={trait} />
      </div>
      <ListPanel
        title={order === 'newest' ? 'Newest contracts' : 'Most called contracts'}
        label="Contracts"
        loaded={contracts}
        aside={dayOf(contracts)}
        stacked
        keyOf={({ contract_id: id }) => id}
        empty={({ cursor: { next } }) => (next === null ? none : 'None on this page; see the next pages.')}
        columns={[
          { name: 'Contract', class: 'main', cell: ({ contract_id: id }) => <Principal principal={id} /> },
          {
            name: 'Standard',
            cell: ({ trait: sip }) => (sip === null ? null : <Badge tone="plain">{sip.toUpperCase()}</Badge>),
          },
          {
            name: 'Deployed',
            class: 'nowrap',
            label: 'deployed',
            cell: ({ deployment }) =>
              deployment === null ? null : <Ago chain at={Date.parse(deployment.time) / 1000} />,
          },
          {
            ...BLOCK,
            cell: ({ deployment }) => (deployment === null ? null : <BlockLink height={deployment.block_height} />),
          },
          { ...countsOfDay('Calls', contracts), cell: ({ calls_of_day: calls }) => count(calls) },
          {
            name: 'All calls',
            class: 'number',
            label: 'calls in all',
            cell: ({ calls }) => (calls === null ? '–' : count(calls)),
          },
        ]}
      />
    </Page>
  );
}

const TABS = [
  ['fungible', 'Fungible tokens'],
  ['collections', 'Collections'],
  ['stx', 'STX'],
] as const;

const TOKEN_ORDERS = [
  ['holders', 'Most holders'],
  ['transfers', 'Most transfers'],
] as const;

export function Tokens() {
  const tab = tabOf(TABS);
  return (
    <Page title="Tokens" lead="Fungible tokens, collections, and who holds STX.">
      <Tabs label="Kinds of tokens" tabs={TABS} />
      {tab === 'stx' ? <StxHolders /> : tab === 'collections' ? <Collections /> : <FungibleTokens />}
    </Page>
  );
}

type Listed = Answer<'/stackside/v1/tokens/ft' | '/stackside/v1/tokens/nft'>['results'][number];

const HOLDERS: Column<Listed> = {
  name: 'Holders',
  class: 'number',
  label: 'holders',
  cell: ({ holders }) => count(holders),
};
const transfers = (loaded: Loaded<{ day: string }>): Column<Listed> => ({
  ...countsOfDay('Transfers', loaded),
  cell: ({ transfers_of_day: of }) => count(of),
});
const assetOf = ({ asset_identifier: asset }: Listed): string => asset;
const emptyText = (order: string, kind: string): string =>
  order === 'holders' ? `There are no ${kind} yet.` : 'No token was moved on this day.';

function FungibleTokens() {
  const order = choiceOf('order', TOKEN_ORDERS);
  const tokens = useGet('/stackside/v1/tokens/ft', { order, ...dayQuery() }, tipVersion.value);
  return (
    <>
      <Choices label="Order" name="order" choices={TOKEN_ORDERS} chosen={order} />
      <ListPanel
        title="Fungible tokens"
        loaded={tokens}
        aside={dayOf(tokens)}
        stacked
        keyOf={assetOf}
        empty={emptyText(order, 'fungible tokens')}
        columns={[
          {
            name: 'Token',
            class: 'main',
            cell: ({ asset_identifier: asset, name }) => (
              <>
                {name === null ? null : <ChainText text={name} />} <Asset identifier={asset} />
              </>
            ),
          },
          HOLDERS,
          transfers(tokens),
          {
            name: 'Supply',
            class: 'number',
            label: 'supply',
            cell: ({ asset_identifier: asset, supply }) => <TokenAmount asset={asset} value={supply} />,
          },
        ]}
      />
    </>
  );
}

function Collections() {
  const order = choiceOf('order', TOKEN_ORDERS);
  const collections = useGet('/stackside/v1/tokens/nft', { order, ...dayQuery() }, tipVersion.value);
  return (
    <>
      <Choices label="Order" name="order" choices={TOKEN_ORDERS} chosen={order} />
      <ListPanel
        title="Collections"
        loaded={collections}
        aside={dayOf(collections)}
        stacked
        keyOf={assetOf}
        empty={emptyText(order, 'collections')}
        columns={[
          { name: 'Collection', class: 'main', cell: ({ asset_identifier: asset }) => <Asset identifier={asset} /> },
          HOLDERS,
          transfers(collections),
          { name: 'Tokens', class: 'number', label: 'tokens', cell: ({ supply }) => count(supply) },
          { name: 'Minted', class: 'number', label: 'minted', cell: ({ minted }) => count(minted) },
        ]}
      />
    </>
  );
}

/** Renders the holders of STX, with their shares of the supply. */
function StxHolders() {
  const query = listQuery();
  const holders = useAnswer(
    `stx holders ${query.cursor}`,
    async (signal) => {
      const [page, supply] = await Promise.all([
        get('/extended/v3/tokens/stx/holders', query, signal),
        get('/extended/v3/tokens/stx/supply', {}, signal),
      ]);
      const results = page.results.map((holder) => ({ ...holder, share: shareOf(holder.balance, supply.total) }));
      return { ...page, results };
    },
    tipVersion.value,
  );
  return (
    <ListPanel
      title="Holders of STX"
      source="/extended/v3/tokens/stx/holders"
      loaded={holders}
      of="holder"
      stacked
      keyOf={({ principal }) => principal}
      empty="Nobody holds STX."
      columns={[
        { name: 'Holder', class: 'main', cell: ({ principal }) => <Principal principal={principal} /> },
        { name: 'Balance', class: 'number', label: 'balance', cell: ({ balance }) => <Stx micro={balance} /> },
        {
          name: 'Share of the supply',
          class: 'number',
          label: 'share',
          cell: ({ share }) => <Meter value={share} most={1} />,
        },
      ]}
    />
  );
}
