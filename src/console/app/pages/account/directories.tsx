/** The directories of contracts and of tokens: all, and the most used. */

import type { Answer } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { type Loaded, useGet } from '../../api/use-answer.ts';
import { addDays, count } from '../../chain/format.ts';
import { CONTRACT, HOLDER, toUnix } from '../../ui/columns.tsx';
import { ButtonLink, Choices, type Column, choiceOf, ListPanel, Page, Tabs, useList } from '../../ui/parts.tsx';
import { pathTo, url, withQuery } from '../../ui/router.ts';
import { isDevnet } from '../../ui/server-status.tsx';
import { Ago, Asset, Badge, BlockLink, ChainText, Meter, Stx, TokenAmount } from '../../ui/values.tsx';
import { shareOf } from './token.tsx';

/** Renders a day with links to the previous and the next day. @param day as `2026-11-24` */
const Day = ({ day }: { day: string }) => (
  <nav class="row small" aria-label="Day">
    <a href={withQuery({ day: addDays(day, -1), cursor: null })} aria-label={`The day before ${day}`}>
      ‹
    </a>
    <span class="nowrap">{day} (UTC)</span>
    {url.value.query.has('day') ? (
      <a href={withQuery({ day: addDays(day, 1), cursor: null })} aria-label={`The day after ${day}`}>
        ›
      </a>
    ) : null}
  </nav>
);

const dayOf = ({ data }: Loaded<{ day: string }>) => (data === null ? null : <Day day={data.day} />);

const countsOfDay = <Member extends string>(
  title: string,
  member: Member,
  { data }: Loaded<{ day: string }>,
): Column<Record<Member, number>> => [
  `${title} of the day`,
  'number named',
  ({ [member]: number }) => count(number),
  { label: `${title.toLowerCase()} on ${data?.day}` },
];

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

const dayQuery = () => ({ day: url.value.query.get('day') });

export function Contracts() {
  const [order, trait] = [choiceOf('order', ORDERS), choiceOf('trait', TRAITS)];
  const contracts = useList('/stackside/v1/contracts', { order, trait, ...dayQuery() });
  const none = order === 'newest' ? 'No such contract was deployed.' : 'No such contract was called on this day.';
  return (
    <Page
      title="Contracts"
      lead="The latest deployments, and the most called contracts."
      aside={
        isDevnet() === true ? (
          <ButtonLink text="Deploy a contract" href={pathTo('newContract')} class="primary" />
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
          CONTRACT,
          ['Standard', '', ({ trait: sip }) => (sip === null ? null : <Badge tone="plain">{sip.toUpperCase()}</Badge>)],
          [
            'Deployed',
            'nowrap named',
            ({ deployment }) => (deployment === null ? null : <Ago chain time={toUnix(deployment.time)} />),
          ],
          [
            'Block',
            'number wide named',
            ({ deployment }) => (deployment === null ? null : <BlockLink height={deployment.block_height} />),
          ],
          countsOfDay('Calls', 'calls_of_day', contracts),
          [
            'All calls',
            'number named',
            ({ calls }) => (calls === null ? '–' : count(calls)),
            { label: 'calls in all' },
          ],
        ]}
      />
    </Page>
  );
}

const TOKEN_ORDERS = [
  ['holders', 'Most holders'],
  ['transfers', 'Most events'],
] as const;

export const Tokens = () => (
  <Page title="Tokens" lead="Fungible tokens, collections, and who holds STX.">
    <Tabs
      label="Kinds of tokens"
      tabs={[
        ['fungible', 'Fungible tokens', () => <FungibleTokens />],
        ['collections', 'Collections', () => <Collections />],
        ['stx', 'STX', () => <StxHolders />],
      ]}
    />
  </Page>
);

type Listed = Answer<'/stackside/v1/tokens/ft' | '/stackside/v1/tokens/nft'>['results'][number];

const HOLDERS: Column<Listed> = ['Holders', 'number named', ({ holders }) => count(holders)];
/** Transfers, mints and burns. */
const events = (loaded: Loaded<{ day: string }>) => countsOfDay('Events', 'transfers_of_day', loaded);
const assetOf = ({ asset_identifier: asset }: Listed): string => asset;
const emptyText = (order: string, kind: string): string =>
  order === 'holders' ? `There are no ${kind} yet.` : 'No token was moved on this day.';

function FungibleTokens() {
  const order = choiceOf('order', TOKEN_ORDERS);
  const tokens = useList('/stackside/v1/tokens/ft', { order, ...dayQuery() });
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
          [
            'Token',
            'main',
            ({ asset_identifier: asset, name }) => (
              <>
                {name === null ? null : <ChainText text={name} />} <Asset identifier={asset} />
              </>
            ),
          ],
          HOLDERS,
          events(tokens),
          [
            'Supply',
            'number named',
            ({ asset_identifier: asset, supply }) => <TokenAmount asset={asset} value={supply} />,
          ],
        ]}
      />
    </>
  );
}

function Collections() {
  const order = choiceOf('order', TOKEN_ORDERS);
  const collections = useList('/stackside/v1/tokens/nft', { order, ...dayQuery() });
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
          ['Collection', 'main', ({ asset_identifier: asset }) => <Asset identifier={asset} />],
          HOLDERS,
          events(collections),
          ['Tokens', 'number named', ({ supply }) => count(supply)],
          ['Minted', 'number named', ({ minted }) => count(minted)],
        ]}
      />
    </>
  );
}

function StxHolders() {
  const supply = useGet('/extended/v3/tokens/stx/supply', {}, tipVersion.value).data?.total;
  return (
    <ListPanel
      title="Holders of STX"
      loaded={useList('/extended/v3/tokens/stx/holders', {})}
      item="holder"
      stacked
      keyOf={({ principal }) => principal}
      empty="Nobody holds STX."
      columns={[
        HOLDER,
        ['Balance', 'number named', ({ balance }) => <Stx micro={balance} />],
        [
          'Share of the supply',
          'number named',
          ({ balance }) => supply && <Meter value={shareOf(balance, supply)} total={1} />,
          { label: 'share' },
        ],
      ]}
    />
  );
}
