/**
 * Facts and activity of an account: nonces, names, first and last transactions, counterparties, and its balance over
 * time.
 */

import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { type Loaded, useAnswer } from '../../api/use-answer.ts';
import { scaleOf } from '../../chain/chart.ts';
import { assetContract, assetName, count, plural, visible } from '../../chain/format.ts';
import { Chart } from '../../ui/chart.tsx';
import { Facts, Panel, PER_PAGE, Show, Table } from '../../ui/parts.tsx';
import { pathTo, place, withQuery } from '../../ui/router.ts';
import { unitOf } from '../../ui/token-metadata.ts';
import { Badge, BlockLink, ChainText, Principal, Stx, TxLink, When } from '../../ui/values.tsx';

interface Props {
  principal: string;
  version: string;
}

type Activity = Answer<'/stackside/v1/principals/{principal}/activity'>;

function useActivity({ principal, version }: Props): Loaded<Activity> {
  const params = { path: { principal } };
  return useAnswer(
    `activity ${principal}`,
    (signal) => bodyOf(api.GET('/stackside/v1/principals/{principal}/activity', { params, signal })),
    version,
  );
}

const numbers = (nonces: readonly number[]): string => nonces.map(count).join(', ');

/** Renders the nonces of an account: the last executed nonce, the next nonce, and missing nonces. */
export function NonceFacts({ principal, version }: Props) {
  const params = { path: { principal } };
  const nonces = useAnswer(
    `nonces ${principal}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/nonces', { params, signal })),
    version,
  );
  return (
    <Panel title="Nonces" source={`/extended/v3/principals/${principal}/nonces`}>
      <Show loaded={nonces}>
        {({ next_nonce: next, last_confirmed_nonce: last, mempool }) => (
          <Facts
            facts={[
              ['Last executed', last === null ? 'none' : count(last)],
              ['Next possible', count(next)],
              ['Pending', mempool.pending_nonces.length === 0 ? null : numbers(mempool.pending_nonces)],
              [
                'Missing',
                mempool.missing_nonces.length === 0 ? null : (
                  <span key="missing">
                    {numbers(mempool.missing_nonces)}{' '}
                    <Badge tone="wait">pending transactions with higher nonces wait</Badge>
                  </span>
                ),
              ],
            ]}
          />
        )}
      </Show>
    </Panel>
  );
}

/** Maximum names in the facts of an account. Its tab shows all. */
const MAX_NAMES = 3;

/** Returns the names (BNS) of a principal. */
export function useNames({ principal, version }: Props) {
  const params = { path: { blockchain: 'stacks', address: principal } };
  return useAnswer(
    `names ${principal}`,
    (signal) => bodyOf(api.GET('/v1/addresses/{blockchain}/{address}', { params, signal })),
    version,
  );
}

/** Renders the first and last activity of an account, and its names. */
export function SeenFacts(props: Props) {
  const activity = useActivity(props);
  const owned = useNames(props).data?.names ?? [];
  return (
    <Panel title="Seen" source={`/stackside/v1/principals/${props.principal}/activity`}>
      <Show loaded={activity}>
        {({ first, last }) => (
          <Facts
            facts={[
              ['First seen', <Seen key="first" at={first} />],
              ['Last seen', <Seen key="last" at={last} />],
              [
                'Names',
                owned.length === 0 ? null : (
                  <span key="names">
                    {owned.slice(0, MAX_NAMES).map((name, index) => (
                      <span key={name}>
                        {index === 0 ? null : ', '}
                        <a href={pathTo('name', { name })}>
                          <ChainText text={name} />
                        </a>
                      </span>
                    ))}
                    {owned.length > MAX_NAMES ? (
                      <>
                        {' and '}
                        <a href={`${place.value.path}?tab=names`}>{plural(owned.length - MAX_NAMES, 'other')}</a>
                      </>
                    ) : null}
                  </span>
                ),
              ],
            ]}
          />
        )}
      </Show>
    </Panel>
  );
}

const Seen = ({ at }: { at: Activity['first'] }) =>
  at === null ? (
    <span class="quiet">never in a block</span>
  ) : (
    <>
      <When chain at={at.time} />, block <BlockLink height={at.block_height} />, <TxLink id={at.tx_id} />
    </>
  );

/** Renders the principals that exchanged the most STX with an account. */
export function CounterpartiesTab(props: Props) {
  const activity = useActivity(props);
  return (
    <div class="grid">
      {(['sent', 'received'] as const).map((direction) => {
        const title = direction === 'sent' ? 'Sent most to' : 'Received most from';
        return (
          <Panel key={direction} title={title} source={`/stackside/v1/principals/${props.principal}/activity`}>
            <Show loaded={activity}>
              {({ [direction]: { transfers, results } }) => (
                <>
                  <Table
                    label={title}
                    rows={results}
                    keyOf={({ principal }) => principal}
                    empty={direction === 'sent' ? 'The account sent no STX.' : 'The account received no STX.'}
                    stacked
                    columns={[
                      { name: 'Account', class: 'main', cell: ({ principal }) => <Principal principal={principal} /> },
                      {
                        name: 'Transfers',
                        class: 'number',
                        label: 'transfers',
                        cell: ({ transfers: some }) => count(some),
                      },
                      { name: 'STX', class: 'number', cell: ({ amount }) => <Stx micro={amount} /> },
                    ]}
                  />
                  {transfers === 0 ? null : (
                    <p class="panel-head row spread small quiet">
                      Of the newest {plural(transfers, 'transfer')} of STX
                    </p>
                  )}
                </>
              )}
            </Show>
          </Panel>
        );
      })}
    </div>
  );
}

/** Query parameter for the token whose balance is shown. */
const ASSET = 'asset';
const STX_DECIMALS = 6;
/** Decimals of an amount in a chart. */
const MAX_DECIMALS = 8;

/** Renders the balance of an account over time, of STX or of one of its tokens. */
export function BalanceTab({ principal, version }: Props) {
  const asset = place.value.query.get(ASSET);
  const params = { path: { principal } };
  const query = asset === null ? {} : { asset_identifier: asset };
  const held = useAnswer(
    `ft ${principal}`,
    (signal) =>
      bodyOf(
        api.GET('/extended/v3/principals/{principal}/balances/ft', {
          params: { ...params, query: { limit: PER_PAGE } },
          signal,
        }),
      ),
    version,
  );
  const balances = useAnswer(
    `balances ${principal} ${asset}`,
    (signal) =>
      bodyOf(api.GET('/stackside/v1/principals/{principal}/balance-history', { params: { ...params, query }, signal })),
    version,
  );
  const { symbol, decimals } = asset === null ? { symbol: 'STX', decimals: STX_DECIMALS } : unitOf(asset);
  const unit = symbol ?? (asset === null ? '' : assetName(asset));
  const name = visible(unit);
  const format = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: MAX_DECIMALS });
  return (
    <Panel
      title={`Balance of ${name}`}
      source={`/stackside/v1/principals/${principal}/balance-history${asset === null ? '' : `?${new URLSearchParams(query)}`}`}
      aside={<CsvLink principal={principal} />}
    >
      <nav class="panel-body row small" aria-label="Asset">
        {[null, ...(held.data?.results ?? []).map(({ asset_identifier: one }) => one)].map((one) => (
          <a
            key={one}
            href={withQuery({ [ASSET]: one })}
            aria-current={one === asset ? 'true' : undefined}
            title={one ?? ''}
          >
            {one === null ? 'STX' : <AssetChoice asset={one} />}
          </a>
        ))}
      </nav>
      <Show loaded={balances}>
        {({ complete, points }) => {
          const times = points.map(({ time }) => time);
          return (
            <>
              <Chart
                label={`Balance of ${name} over time`}
                times={times}
                series={[
                  {
                    name: decimals === null ? `${name}, in the smallest unit` : name,
                    colour: 'accent',
                    values: points.map(({ balance }) => Number(balance) / 10 ** (decimals ?? 0)),
                  },
                ]}
                format={format}
                scale={scaleOf(times)}
                drawn="held"
                empty="The account never had any."
              />
              {complete || points.length === 0 ? null : (
                <p class="panel-head row spread small quiet">
                  The balance after {plural(points.length, 'block')} that are evenly distributed. It may have been
                  different in between; the CSV file has every change.
                </p>
              )}
            </>
          );
        }}
      </Show>
    </Panel>
  );
}

/**
 * Renders a token in the choice of balances: its symbol and its contract, because several tokens may have the same
 * symbol.
 */
const AssetChoice = ({ asset }: { asset: string }) => (
  <>
    <ChainText text={unitOf(asset).symbol ?? assetName(asset)} />{' '}
    <span class="quiet">
      <ChainText text={assetContract(asset).split('.').at(1) ?? ''} />
    </span>
  </>
);

/** Renders a link to the file with all movements of an account, for the days in the query if there are any. */
export function CsvLink({ principal }: { principal: string }) {
  const query = new URLSearchParams({ format: 'csv' });
  for (const end of ['from', 'to']) {
    const day = place.value.query.get(end) ?? '';
    if (/^\d{4}-\d{2}-\d{2}$/.test(day)) query.set(end, day);
  }
  return (
    <a
      href={`/stackside/v1/principals/${principal}/history?${query}`}
      download
      title="Every movement of STX and tokens, every fee and mining reward, with the balance after it"
    >
      CSV
    </a>
  );
}
