/** The page of an account: its STX, tokens, transactions, staking and names. */
import { useState } from 'preact/hooks';
import type { Answer } from '../../api/answer.ts';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion, useSubscription } from '../../api/live.ts';
import { type Loaded, useAnswer } from '../../api/use-answer.ts';
import { count, plural, words } from '../../chain/format.ts';
import {
  Copy,
  Facts,
  type Figure,
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
import { pathTo } from '../../ui/router.ts';
import { TellMe } from '../../ui/tell-me.tsx';
import {
  Badge,
  BitcoinAddressLink,
  BitcoinBlockLink,
  Btc,
  Principal as PrincipalLink,
  Stx,
  TxLink,
} from '../../ui/values.tsx';
import { BalanceTab, CounterpartiesTab, NonceFacts, SeenFacts, useNames } from './principal-activity.tsx';
import { Tokens } from './principal-tokens.tsx';
import { Pending, PrincipalTransactions, Transfers } from './principal-transactions.tsx';

const TABS = [
  ['transactions', 'Transactions'],
  ['received', 'STX received'],
  ['sent', 'STX sent'],
  ['balance', 'Balance'],
  ['tokens', 'Tokens'],
  ['counterparties', 'Counterparties'],
  ['pending', 'Pending'],
  ['staking', 'Staking'],
  ['names', 'Names'],
] as const;

export function Principal({ principal }: { principal: string }) {
  const version = usePrincipalVersion(principal);
  const stx = useStx(principal, version);
  return (
    <Page
      kind="Account"
      title={principal}
      heading={
        <span class="with-copy">
          <span class="mono break">{principal}</span>
          <Copy text={principal} what="address" />
        </span>
      }
    >
      <StxFigures stx={stx} />
      <div class="grid">
        <NonceFacts principal={principal} version={version} />
        <SeenFacts principal={principal} version={version} />
      </div>
      <TellMe kind="account" id={principal} />
      <PrincipalHistory principal={principal} />
      <Tabs label="Parts of the account" tabs={TABS} />
      <PrincipalTab tab={tabOf(TABS)} principal={principal} version={version} />
    </Page>
  );
}

/** Returns a version of a principal's data, which changes with each block and each transaction of the principal. */
export function usePrincipalVersion(principal: string): string {
  const [update, setUpdate] = useState(0);
  useSubscription({ event: 'address_tx_update', address: principal }, () => setUpdate((before) => before + 1));
  return `${tipVersion.value} ${update}`;
}

interface TabProps {
  tab: string;
  principal: string;
  version: string;
}

/** Renders the content of a tab of a principal. @param tab the id of the tab */
export function PrincipalTab({ tab, principal, version }: TabProps) {
  switch (tab) {
    case 'received':
      return <Transfers principal={principal} direction="inbound" version={version} />;
    case 'sent':
      return <Transfers principal={principal} direction="outbound" version={version} />;
    case 'balance':
      return <BalanceTab principal={principal} version={version} />;
    case 'counterparties':
      return <CounterpartiesTab principal={principal} version={version} />;
    case 'tokens':
      return <Tokens principal={principal} version={version} />;
    case 'pending':
      return <Pending principal={principal} version={version} />;
    case 'staking':
      return <PrincipalStaking principal={principal} version={version} />;
    case 'names':
      return <PrincipalNames principal={principal} version={version} />;
    default:
      return <PrincipalTransactions principal={principal} version={version} />;
  }
}

type StxBalance = Answer<'/extended/v3/principals/{principal}/balances/stx'>;

/** Returns the STX of a principal. */
export function useStx(principal: string, version: string): Loaded<StxBalance> {
  const params = { path: { principal } };
  return useAnswer(
    `stx ${principal}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/balances/stx', { params, signal })),
    version,
  );
}

/** Renders the STX of a principal: balance, available, locked, and the balance after pending transactions. */
export function StxFigures({ stx }: { stx: Loaded<StxBalance> }) {
  return (
    <Show loaded={stx} rows={2}>
      {({ balance, available, locked, mempool }) => {
        const figures: Figure[] = [
          { name: 'Balance', value: <Stx micro={balance} /> },
          { name: 'Available', value: <Stx micro={available} /> },
          {
            name: 'Locked',
            value: locked === null ? <span class="quiet">none</span> : <Stx micro={locked.amount} />,
            note:
              locked === null ? undefined : (
                <>
                  until Bitcoin block <BitcoinBlockLink height={locked.burn_unlock_height} />
                  {locked.lock_tx_id !== null && (
                    <>
                      , by <a href={pathTo('transaction', { id: locked.lock_tx_id })}>this transaction</a>
                    </>
                  )}
                </>
              ),
          },
        ];
        if (mempool !== null) {
          figures.push({
            name: 'Estimated balance',
            value: <Stx micro={mempool.estimated_balance} />,
            note: 'after pending transactions',
          });
        }
        return <Figures label="STX" figures={figures} amounts />;
      }}
    </Show>
  );
}

/** Renders the names (BNS) of a principal. */
function PrincipalNames({ principal, version }: { principal: string; version: string }) {
  const names = useNames({ principal, version });
  return (
    <Panel title="Names" source={`/v1/addresses/stacks/${principal}`}>
      <Show loaded={names}>
        {({ names: owned }) => (
          <Table
            label="Names"
            rows={owned}
            keyOf={(name) => name}
            empty="The principal owns no name."
            columns={[{ name: 'Name', cell: (name) => <a href={pathTo('name', { name })}>{name}</a> }]}
          />
        )}
      </Show>
    </Panel>
  );
}

/** Renders the staked STX, bonds and rewards of a principal. */
function PrincipalStaking({ principal, version }: { principal: string; version: string }) {
  const path = { principal };
  const staking = useAnswer(
    `staking ${principal}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/staking', { params: { path }, signal })),
    version,
  );
  const bonds = useAnswer(
    `bonds ${principal}`,
    (signal) =>
      bodyOf(
        api.GET('/extended/v3/principals/{principal}/staking/bonds', {
          params: { path, query: { limit: PER_PAGE } },
          signal,
        }),
      ),
    version,
  );
  return (
    <>
      <div class="grid">
        <Panel title="Staked STX" source={`/extended/v3/principals/${principal}/staking`}>
          <Show loaded={staking}>
            {({ stx: { locked, rewards } }) => (
              <Facts facts={[['Locked', <Stx key="locked" micro={locked} />], ...rewardFacts(rewards.btc)]} />
            )}
          </Show>
        </Panel>
        <Panel title="In bonds" source={`/extended/v3/principals/${principal}/staking`}>
          <Show loaded={staking}>
            {({ bonds: { count: number, locked, rewards } }) => (
              <Facts
                facts={[
                  ['Bonds', count(number)],
                  ['Locked BTC', <Btc key="btc" satoshis={locked.btc} />],
                  ['Locked STX', <Stx key="stx" micro={locked.stx} />],
                  ...rewardFacts(rewards.btc),
                ]}
              />
            )}
          </Show>
        </Panel>
      </div>
      <Panel title="Bonds" source={`/extended/v3/principals/${principal}/staking/bonds`}>
        <Show loaded={bonds}>
          {({ results }) => (
            <Table
              label="Bonds"
              rows={results}
              keyOf={({ bond_index: bond }) => String(bond)}
              empty="The principal is in no bond."
              stacked
              columns={[
                { name: 'Bond', class: 'first', cell: ({ bond_index: bond }) => `Bond ${count(bond)}` },
                {
                  name: 'Status',
                  class: 'nowrap',
                  cell: ({ status, active }) => <Badge tone={active ? 'ok' : 'plain'}>{words(status)}</Badge>,
                },
                {
                  name: 'Enrolled by',
                  class: 'nowrap',
                  label: 'enrolled by',
                  cell: ({ enrollment }) => <TxLink id={enrollment.tx_id} />,
                },
                { name: 'BTC', class: 'number', cell: ({ locked }) => <Btc satoshis={locked.btc} /> },
                { name: 'STX', class: 'number', cell: ({ locked }) => <Stx micro={locked.stx} /> },
              ]}
            />
          )}
        </Show>
      </Panel>
      <p class="lead">
        Rewards up to pox-4 are what Bitcoin paid to the address, to all who share it; a pool distributes them itself.
      </p>
      <CycleRewards principal={principal} version={version} />
    </>
  );
}

/** Renders the STX that a principal stacked or staked in each reward cycle, and the rewards. */
function CycleRewards({ principal, version }: { principal: string; version: string }) {
  const query = listQuery('cycles');
  const source = `/stackside/v1/principals/${principal}/staking-rewards`;
  const params = { path: { principal }, query };
  const rewards = useAnswer(
    `rewards ${principal} ${query.cursor}`,
    (signal) => bodyOf(api.GET('/stackside/v1/principals/{principal}/staking-rewards', { params, signal })),
    version,
  );
  return (
    <Panel title="Rewards by cycle" source={source}>
      <Show loaded={rewards}>
        {({ results, cursor, total }) => (
          <>
            <Table
              label="Rewards by cycle"
              rows={results}
              keyOf={({ cycle, pox_version: pox, type, bond_index: bond }) => `${cycle} ${pox} ${type} ${bond}`}
              empty="The principal stacked in no cycle."
              stacked
              columns={[
                {
                  name: 'Cycle',
                  class: 'first',
                  cell: ({ cycle }) => <a href={`${pathTo('staking')}?cycle=${cycle}`}>Cycle {count(cycle)}</a>,
                },
                {
                  name: 'What',
                  class: 'nowrap',
                  cell: ({ pox_version: pox, type, bond_index: bond }) =>
                    `${pox === 'pox1' ? 'pox' : pox.replace('pox', 'pox-')}, ${type}${bond === null ? '' : ` ${bond}`}`,
                },
                {
                  name: 'Paid to',
                  label: 'paid to',
                  cell: ({ pox_version: pox, bitcoin_address: address, pool }) => (
                    <>
                      {address !== null ? (
                        <BitcoinAddressLink address={address} />
                      ) : (
                        <span class="quiet">{pox === 'pox5' ? 'the account' : 'unknown'}</span>
                      )}
                      {pool === null ? null : (
                        <>
                          {' '}
                          of pool <PrincipalLink principal={pool} />
                        </>
                      )}
                    </>
                  ),
                },
                { name: 'Locked', class: 'number', label: 'locked', cell: ({ locked }) => <Stx micro={locked.stx} /> },
                {
                  name: 'Earned',
                  class: 'number',
                  label: 'earned',
                  cell: ({ rewards: earned }) =>
                    earned === null ? <span class="quiet">unknown</span> : <Btc satoshis={earned.btc} />,
                },
              ]}
            />
            <Pager name="cycles" next={cursor.next} previous={cursor.previous} total={plural(total, 'row')} />
          </>
        )}
      </Show>
    </Panel>
  );
}

interface Rewards {
  accrued: string;
  claimed: string;
  claimable: string;
}

const rewardFacts = ({ accrued, claimed, claimable }: Rewards) =>
  [
    ['Rewards accrued', <Btc key="accrued" satoshis={accrued} />],
    ['Rewards claimed', <Btc key="claimed" satoshis={claimed} />],
    ['Rewards to claim', <Btc key="claimable" satoshis={claimable} />],
  ] as const;

interface DayProps {
  name: string;
  value: string;
  set: (day: string) => void;
}

const Day = ({ name, value, set }: DayProps) => (
  <label>
    <span>{name}</span>
    <input type="date" value={value} onInput={({ currentTarget }) => set(currentTarget.value)} />
  </label>
);

/** Renders links to the history of a principal: the chosen days, inclusive, or all. */
export function PrincipalHistory({ principal }: { principal: string }) {
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const isTurned = from !== '' && to !== '' && to < from;
  const hrefOf = (format: 'csv' | 'json') => {
    const query = new URLSearchParams({ format });
    if (from !== '') query.set('from', from);
    if (to !== '') query.set('to', to);
    return `/stackside/v1/principals/${principal}/history?${query}`;
  };
  return (
    <details>
      <summary>Export a date range as CSV</summary>
      <div class="small">
        <p class="quiet">
          Every movement of STX and tokens, every fee and mining reward with the balance after it. Days are in UTC;
          without days, the file has the whole history.
        </p>
        <div class="form row">
          <Day name="From" value={from} set={setFrom} />
          <Day name="To" value={to} set={setTo} />
          {isTurned ? (
            <p role="alert">The last day is before the first one.</p>
          ) : (
            <>
              <a class="button" href={hrefOf('csv')} download>
                Download CSV
              </a>
              <a class="button" href={hrefOf('json')} target="_blank" rel="noreferrer">
                Open JSON
              </a>
            </>
          )}
        </div>
      </div>
    </details>
  );
}
