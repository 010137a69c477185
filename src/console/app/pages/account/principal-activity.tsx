/** Facts and activity of an account: nonces, names, first and last transactions, counterparties, and balance. */

import { assetContractOf, assetNameOf } from '../../../../codec/address.ts';
import { type Answer, urlOf } from '../../api/api.ts';
import { mapLoaded, useGet } from '../../api/use-answer.ts';
import { scaleOf } from '../../chain/chart.ts';
import { count, plural, visible } from '../../chain/format.ts';
import { Chart } from '../../ui/chart.tsx';
import { unitOf } from '../../ui/metadata.ts';
import { Choices, Commas, DataPanel, Footer, ListPanel, Panel, PER_PAGE, Show } from '../../ui/parts.tsx';
import { url } from '../../ui/router.ts';
import { BlockLink, ChainText, NameLink, Principal, Stx, TxLink, When } from '../../ui/values.tsx';

export interface PrincipalProps {
  principal: string;
  /** Changes with each block and each transaction of the principal. */
  version: string;
}

const useActivity = ({ principal, version }: PrincipalProps) =>
  useGet('/stackside/v1/principals/{principal}/activity', { principal }, version);

const numbers = (nonces: readonly number[]): string => nonces.join(', ');

/** Renders the nonces of an account: the last executed, next, last pending and missing nonces. */
export const NonceFacts = ({ principal, version }: PrincipalProps) => (
  <DataPanel
    title="Nonces"
    loaded={useGet('/extended/v3/principals/{principal}/nonces', { principal }, version)}
    facts={({ next_nonce: next, last_confirmed_nonce: last, mempool }) => [
      ['Last executed', last ?? 'none'],
      ['Next possible', next],
      ['Last pending', mempool.last_nonce],
      [
        'Missing',
        mempool.missing_nonces.length === 0 ? null : (
          <span>
            {numbers(mempool.missing_nonces)} <span class="wait">pending transactions with higher nonces wait</span>
          </span>
        ),
      ],
    ]}
  />
);

/** Maximum names in the facts of an account. Its tab shows all. */
const MAX_NAMES = 3;

/** Returns the names (BNS) of a principal. */
export const useNames = ({ principal, version }: PrincipalProps) =>
  useGet('/v1/addresses/{blockchain}/{address}', { blockchain: 'stacks', address: principal }, version);

/** Renders the first and last activity of an account, and its names. */
export function ActivityFacts(props: PrincipalProps) {
  const names = useNames(props).data?.names ?? [];
  return (
    <DataPanel
      title="Seen"
      loaded={useActivity(props)}
      facts={({ first, last }) => [
        ['First seen', <Seen activity={first} />],
        ['Last seen', <Seen activity={last} />],
        [
          'Names',
          names.length === 0 ? null : (
            <span>
              <Commas items={names.slice(0, MAX_NAMES).map((name) => <NameLink key={name} name={name} />)} />
              {names.length > MAX_NAMES ? (
                <>
                  {' and '}
                  <a href={`${url.value.path}?tab=names`}>{plural(names.length - MAX_NAMES, 'other')}</a>
                </>
              ) : null}
            </span>
          ),
        ],
      ]}
    />
  );
}

const Seen = ({ activity }: { activity: Answer<'/stackside/v1/principals/{principal}/activity'>['first'] }) =>
  activity === null ? (
    <span class="quiet">never in a block</span>
  ) : (
    <>
      <When chain time={activity.time} />, block <BlockLink height={activity.block_height} />,{' '}
      <TxLink id={activity.tx_id} />
    </>
  );

/** Renders the principals that exchanged the most STX with an account. */
export function CounterpartiesTab(props: PrincipalProps) {
  const activity = useActivity(props);
  return (
    <div class="grid">
      {(['sent', 'received'] as const).map((direction) => {
        const { transfers = 0 } = activity.data?.[direction] ?? {};
        return (
          <ListPanel
            key={direction}
            title={direction === 'sent' ? 'Sent most to' : 'Received most from'}
            loaded={mapLoaded(activity, ({ [direction]: page }) => page)}
            aside={
              transfers === 0 ? null : <span class="quiet">of the newest {plural(transfers, 'transfer')} of STX</span>
            }
            keyOf={({ principal }) => principal}
            empty={direction === 'sent' ? 'The account sent no STX.' : 'The account received no STX.'}
            stacked
            columns={[
              ['Account', 'main', ({ principal }) => <Principal principal={principal} />],
              ['Transfers', 'number named', ({ transfers: number }) => count(number)],
              ['STX', 'number', ({ amount }) => <Stx micro={amount} />],
            ]}
          />
        );
      })}
    </div>
  );
}

const ASSET = 'asset';

/** Renders the balance of an account over time, of STX or of one of its tokens. */
export function BalanceTab({ principal, version }: PrincipalProps) {
  const asset = url.value.query.get(ASSET);
  const tokens = useGet('/extended/v3/principals/{principal}/balances/ft', { principal, limit: PER_PAGE }, version);
  const balances = useGet(
    '/stackside/v1/principals/{principal}/balance-history',
    { principal, asset_identifier: asset },
    version,
  );
  const { symbol, decimals } = asset === null ? { symbol: 'STX', decimals: 6 } : unitOf(asset);
  const unit = symbol ?? (asset === null ? '' : assetNameOf(asset));
  const name = visible(unit);
  const format = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 8 });
  return (
    <Panel title={`Balance of ${name}`} source={balances.source} aside={<CsvLink principal={principal} />}>
      <Choices
        class="panel-body"
        label="Asset"
        name={ASSET}
        choices={[
          [null, 'STX'],
          ...(tokens.data?.results ?? []).map(
            ({ asset_identifier: token }) => [token, <AssetChoice key={token} asset={token} />] as const,
          ),
        ]}
        chosen={asset}
      />
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
                shape="held"
                empty="The account never had any."
              />
              {complete || points.length === 0 ? null : (
                <Footer>
                  The balance after {plural(points.length, 'block')} that are evenly distributed. It may have been
                  different in between; the CSV file has every change.
                </Footer>
              )}
            </>
          );
        }}
      </Show>
    </Panel>
  );
}

/** Renders a token with its contract, because several tokens may have the same symbol. */
const AssetChoice = ({ asset }: { asset: string }) => (
  <span title={asset}>
    <ChainText text={unitOf(asset).symbol ?? assetNameOf(asset)} />{' '}
    <span class="quiet">
      <ChainText text={assetContractOf(asset).split('.').at(1) ?? ''} />
    </span>
  </span>
);

/** Renders a link to the file with all movements of an account, for the days in the query if there are any. */
export function CsvLink({ principal }: { principal: string }) {
  const day = (name: string) => /^\d{4}-\d{2}-\d{2}$/.exec(url.value.query.get(name) ?? '')?.[0] ?? null;
  return (
    <a
      href={urlOf(`/stackside/v1/principals/${principal}/history`, { format: 'csv', from: day('from'), to: day('to') })}
      download
      title="Every movement of STX and tokens, every fee and mining reward, with the balance after it"
    >
      CSV
    </a>
  );
}
