/** The directories of contracts and of tokens: all, and the most used. */
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { addDays, count, plural } from '../../chain/format.ts';
import { listQuery, Page, Pager, Panel, Show, Table, Tabs, tabOf } from '../../ui/parts.tsx';
import { pathTo, place, withQuery } from '../../ui/router.ts';
import { isDevnet } from '../../ui/server-status.ts';
import { Ago, Asset, Badge, BlockLink, ChainText, Meter, Principal, Stx, TokenAmount } from '../../ui/values.tsx';
import { shareOf } from './token.tsx';

type Choices<Value extends string> = readonly (readonly [value: Value, text: string])[];

/** Returns the choice that the query of the page names, or the first. */
const chosen = <Value extends string>(name: string, choices: Choices<Value>): Value =>
  choices.find(([value]) => value === place.value.query.get(name))?.[0] ?? choices[0]![0];

interface ChoiceProps {
  label: string;
  /** The query parameter. */
  name: string;
  choices: Choices<string>;
}

/** Renders links to the forms of a list. The first is the form of the page without the parameter. */
const Choice = ({ label, name, choices }: ChoiceProps) => (
  <nav class="row small" aria-label={label}>
    {choices.map(([value, text], index) => (
      <a
        key={value}
        href={withQuery({ [name]: index === 0 ? null : value, cursor: null })}
        aria-current={value === chosen(name, choices) ? 'true' : undefined}
      >
        {text}
      </a>
    ))}
  </nav>
);

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

const ORDERS = [
  ['newest', 'Newest'],
  ['calls', 'Most called'],
] as const;

const TRAITS = [
  ['all', 'All'],
  ['sip-010', 'Fungible'],
  ['sip-009', 'Collections'],
  ['sip-013', 'Semi-fungible'],
] as const;

/** Returns the query of a list with its day. */
const dayQuery = () => {
  const day = place.value.query.get('day');
  return { ...listQuery(), ...(day === null ? {} : { day }) };
};

export function Contracts() {
  const [order, trait] = [chosen('order', ORDERS), chosen('trait', TRAITS)];
  const query = { order, ...(trait === 'all' ? {} : { trait }), ...dayQuery() };
  const contracts = useAnswer(
    `contracts ${JSON.stringify(query)}`,
    (signal) => bodyOf(api.GET('/stackside/v1/contracts', { params: { query }, signal })),
    tipVersion.value,
  );
  const source = `/stackside/v1/contracts?order=${order}${trait === 'all' ? '' : `&trait=${trait}`}`;
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
        <Choice label="Order" name="order" choices={ORDERS} />
        <Choice label="Standard" name="trait" choices={TRAITS} />
      </div>
      <Panel
        title={order === 'newest' ? 'Newest contracts' : 'Most called contracts'}
        source={source}
        aside={contracts.data === null ? null : <Day day={contracts.data.day} />}
      >
        <Show loaded={contracts} rows={8}>
          {({ results, day, cursor: { next, previous } }) => (
            <>
              <Table
                label="Contracts"
                stacked
                rows={results}
                keyOf={({ contract_id: id }) => id}
                empty={
                  next === null
                    ? order === 'newest'
                      ? 'No such contract was deployed.'
                      : 'No such contract was called on this day.'
                    : 'None on this page; see the next pages.'
                }
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
                    name: 'Block',
                    class: 'number wide',
                    label: 'block',
                    cell: ({ deployment }) =>
                      deployment === null ? null : <BlockLink height={deployment.block_height} />,
                  },
                  {
                    name: 'Calls of the day',
                    class: 'number',
                    label: `calls on ${day}`,
                    cell: ({ calls_of_day: calls }) => count(calls),
                  },
                  {
                    name: 'All calls',
                    class: 'number',
                    label: 'calls in all',
                    cell: ({ calls }) => (calls === null ? '–' : count(calls)),
                  },
                ]}
              />
              <Pager next={next} previous={previous} />
            </>
          )}
        </Show>
      </Panel>
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

const transfers = (day: string) =>
  ({
    name: 'Transfers of the day',
    class: 'number',
    label: `transfers on ${day}`,
    cell: ({ transfers_of_day: of }: { transfers_of_day: number }) => count(of),
  }) as const;

function FungibleTokens() {
  const order = chosen('order', TOKEN_ORDERS);
  const query = { order, ...dayQuery() };
  const tokens = useAnswer(
    `fungible tokens ${JSON.stringify(query)}`,
    (signal) => bodyOf(api.GET('/stackside/v1/tokens/ft', { params: { query }, signal })),
    tipVersion.value,
  );
  return (
    <>
      <Choice label="Order" name="order" choices={TOKEN_ORDERS} />
      <Panel
        title="Fungible tokens"
        source={`/stackside/v1/tokens/ft?order=${order}`}
        aside={tokens.data === null ? null : <Day day={tokens.data.day} />}
      >
        <Show loaded={tokens} rows={8}>
          {({ results, day, cursor: { next, previous } }) => (
            <>
              <Table
                label="Fungible tokens"
                stacked
                rows={results}
                keyOf={({ asset_identifier: asset }) => asset}
                empty={order === 'holders' ? 'There are no fungible tokens yet.' : 'No token was moved on this day.'}
                columns={[
                  {
                    name: 'Token',
                    class: 'main',
                    cell: ({ asset_identifier: asset, name }) => (
                      <>
                        {name === null ? null : (
                          <>
                            <ChainText text={name} />{' '}
                          </>
                        )}
                        <Asset identifier={asset} />
                      </>
                    ),
                  },
                  { name: 'Holders', class: 'number', label: 'holders', cell: ({ holders }) => count(holders) },
                  transfers(day),
                  {
                    name: 'Supply',
                    class: 'number',
                    label: 'supply',
                    cell: ({ asset_identifier: asset, supply }) => <TokenAmount asset={asset} value={supply} />,
                  },
                ]}
              />
              <Pager next={next} previous={previous} />
            </>
          )}
        </Show>
      </Panel>
    </>
  );
}

function Collections() {
  const order = chosen('order', TOKEN_ORDERS);
  const query = { order, ...dayQuery() };
  const collections = useAnswer(
    `collections ${JSON.stringify(query)}`,
    (signal) => bodyOf(api.GET('/stackside/v1/tokens/nft', { params: { query }, signal })),
    tipVersion.value,
  );
  return (
    <>
      <Choice label="Order" name="order" choices={TOKEN_ORDERS} />
      <Panel
        title="Collections"
        source={`/stackside/v1/tokens/nft?order=${order}`}
        aside={collections.data === null ? null : <Day day={collections.data.day} />}
      >
        <Show loaded={collections} rows={8}>
          {({ results, day, cursor: { next, previous } }) => (
            <>
              <Table
                label="Collections"
                stacked
                rows={results}
                keyOf={({ asset_identifier: asset }) => asset}
                empty={order === 'holders' ? 'There are no collections yet.' : 'No token was moved on this day.'}
                columns={[
                  {
                    name: 'Collection',
                    class: 'main',
                    cell: ({ asset_identifier: asset }) => <Asset identifier={asset} />,
                  },
                  { name: 'Holders', class: 'number', label: 'holders', cell: ({ holders }) => count(holders) },
                  transfers(day),
                  { name: 'Tokens', class: 'number', label: 'tokens', cell: ({ supply }) => count(supply) },
                  { name: 'Minted', class: 'number', label: 'minted', cell: ({ minted }) => count(minted) },
                ]}
              />
              <Pager next={next} previous={previous} />
            </>
          )}
        </Show>
      </Panel>
    </>
  );
}

/** Renders the holders of STX, with their shares of the supply. */
function StxHolders() {
  const query = listQuery();
  const holders = useAnswer(
    `stx holders ${query.cursor}`,
    async (signal) => {
      const params = { query };
      const [page, supply] = await Promise.all([
        bodyOf(api.GET('/extended/v3/tokens/stx/holders', { params, signal })),
        bodyOf(api.GET('/extended/v3/tokens/stx/supply', { signal })),
      ]);
      return { ...page, supply: supply.total };
    },
    tipVersion.value,
  );
  return (
    <Panel title="Holders of STX" source="/extended/v3/tokens/stx/holders">
      <Show loaded={holders} rows={8}>
        {({ results, total, supply, cursor: { next, previous } }) => (
          <>
            <Table
              label="Holders of STX"
              stacked
              rows={results}
              keyOf={({ principal }) => principal}
              empty="Nobody holds STX."
              columns={[
                { name: 'Holder', class: 'main', cell: ({ principal }) => <Principal principal={principal} /> },
                {
                  name: 'Balance',
                  class: 'number',
                  label: 'balance',
                  cell: ({ balance }) => <Stx micro={balance} />,
                },
                {
                  name: 'Share of the supply',
                  class: 'number',
                  label: 'share',
                  cell: ({ balance }) => <Meter value={shareOf(balance, supply)} most={1} />,
                },
              ]}
            />
            <Pager next={next} previous={previous} total={plural(total, 'holder')} />
          </>
        )}
      </Show>
    </Panel>
  );
}
