/** The page of an account: its STX, tokens, transactions, staking and names. */

import type { Answer } from '../../api/api.ts';
import { tipVersion, useUpdates } from '../../api/live.ts';
import { mapLoaded, useGet } from '../../api/use-answer.ts';
import { count, words } from '../../chain/format.ts';
import { networkMistake } from '../../chain/path-mistake.ts';
import {
  Copied,
  DataPanel,
  type Fact,
  type Figure,
  Figures,
  ListPanel,
  Page,
  Show,
  type Tab,
  Tabs,
  useList,
} from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { server } from '../../ui/server-status.tsx';
import {
  Badge,
  BitcoinAddressLink,
  BitcoinBlockLink,
  Btc,
  NameLink,
  NotifyMe,
  Principal,
  Stx,
  TxLink,
} from '../../ui/values.tsx';
import {
  ActivityFacts,
  BalanceTab,
  CounterpartiesTab,
  NonceFacts,
  type PrincipalProps,
  useNames,
} from './principal-activity.tsx';
import { Pending, PrincipalTransactions, Tokens, Transfers } from './principal-lists.tsx';

export function Account({ principal }: { principal: string }) {
  const props = { principal, version: usePrincipalVersion(principal) };
  return (
    <Page kind="Account" title={principal} heading={<Copied text={principal} name="address" />}>
      <OtherNetwork principal={principal} />
      <StxFigures {...props} />
      <div class="grid">
        <NonceFacts {...props} />
        <ActivityFacts {...props} />
      </div>
      <NotifyMe kind="account" id={principal} />
      <Tabs
        label="Parts of the account"
        tabs={[
          ...principalTabs(props),
          ['counterparties', 'Counterparties', () => <CounterpartiesTab {...props} />],
          ['pending', 'Pending', () => <Pending {...props} />],
          ['staking', 'Staking', () => <PrincipalStaking {...props} />],
          ['names', 'Names', () => <PrincipalNames {...props} />],
        ]}
      />
    </Page>
  );
}

/** Renders a note if a principal belongs to another network. */
export function OtherNetwork({ principal }: { principal: string }) {
  const mistake = networkMistake(principal, server.value.status?.index.chain_id ?? null);
  return mistake === null ? null : <p class="note wait">{mistake}</p>;
}

/** Returns a version of a principal's data, which changes with each block and each transaction of the principal. */
export const usePrincipalVersion = (principal: string): string =>
  `${tipVersion.value} ${useUpdates({ event: 'address_tx_update', address: principal })}`;

/** Sizes of parts of a page, by their ids. */
export type Sizes = Readonly<Partial<Record<string, number>>>;

/** Returns the parts that the pages of accounts and contracts have. */
export const principalTabs = (props: PrincipalProps, sizes: Sizes = {}): readonly Tab[] => [
  ['transactions', 'Transactions', () => <PrincipalTransactions {...props} />, sizes.transactions],
  ['received', 'STX received', () => <Transfers direction="inbound" {...props} />, sizes.received],
  ['sent', 'STX sent', () => <Transfers direction="outbound" {...props} />, sizes.sent],
  ['balance', 'Balance', () => <BalanceTab {...props} />],
  ['tokens', 'Tokens', () => <Tokens {...props} />, sizes.tokens],
];

/** Renders the STX of a principal: balance, available, locked, and the balance after pending transactions. */
export function StxFigures({ principal, version }: PrincipalProps) {
  const stx = useGet('/extended/v3/principals/{principal}/balances/stx', { principal }, version);
  return (
    <Show loaded={stx} rows={2}>
      {({ balance, available, locked, mempool }) => {
        const figures: Figure[] = [
          ['Balance', <Stx micro={balance} />],
          ['Available', <Stx micro={available} />],
          [
            'Locked',
            locked === null ? <span class="quiet">none</span> : <Stx micro={locked.amount} />,
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
          ],
        ];
        if (mempool !== null) {
          figures.push(['Estimated balance', <Stx micro={mempool.estimated_balance} />, 'after pending transactions']);
        }
        return <Figures label="STX" figures={figures} amounts />;
      }}
    </Show>
  );
}

const PrincipalNames = (props: PrincipalProps) => (
  <ListPanel
    title="Names"
    loaded={mapLoaded(useNames(props), ({ names: results }) => ({ results }))}
    keyOf={(name) => name}
    empty="The principal owns no name."
    columns={[['Name', '', (name) => <NameLink name={name} />]]}
  />
);

function PrincipalStaking({ principal, version }: PrincipalProps) {
  const stx = useGet('/extended/v3/principals/{principal}/balances/stx', { principal }, version);
  const staking = useGet('/extended/v3/principals/{principal}/staking', { principal }, version);
  const { data, error } = staking;
  return (
    <>
      <div class="grid">
        <DataPanel title="Locked STX" loaded={stx} facts={({ locked }) => lockFacts(locked)} />
        {error !== null || (data !== null && hasStake(data.stx)) ? (
          <DataPanel
            title="Staked with pox-5"
            loaded={staking}
            facts={({ stx: { locked, rewards } }) => [['Staked', <Stx micro={locked} />], ...rewardFacts(rewards.btc)]}
          />
        ) : null}
        {data !== null && data.bonds.count > 0 ? (
          <DataPanel
            title="In bonds"
            loaded={staking}
            facts={({ bonds: { count: number, locked, rewards } }) => [
              ['Bonds', count(number)],
              ['Locked BTC', <Btc satoshis={locked.btc} />],
              ['Locked STX', <Stx micro={locked.stx} />],
              ...rewardFacts(rewards.btc),
            ]}
          />
        ) : null}
      </div>
      <ListPanel
        title="Bonds"
        loaded={useList('/extended/v3/principals/{principal}/staking/bonds', { principal }, version, 'bonds')}
        keyOf={({ bond_index: bond }) => String(bond)}
        empty="The principal is in no bond."
        stacked
        columns={[
          ['Bond', 'first', ({ bond_index: bond }) => `Bond ${count(bond)}`],
          ['Status', 'nowrap', ({ status, active }) => <Badge tone={active ? 'ok' : 'plain'}>{words(status)}</Badge>],
          ['Enrolled by', 'nowrap named', ({ enrollment }) => <TxLink id={enrollment.tx_id} />],
          ['BTC', 'number', ({ locked }) => <Btc satoshis={locked.btc} />],
          ['STX', 'number', ({ locked }) => <Stx micro={locked.stx} />],
        ]}
      />
      <p class="lead">
        Rewards up to pox-4 are what Bitcoin paid to the address, to all who share it; a pool distributes them itself.
      </p>
      <CycleRewards principal={principal} version={version} />
    </>
  );
}

function CycleRewards({ principal, version }: PrincipalProps) {
  return (
    <ListPanel
      title="Rewards by cycle"
      loaded={useList('/stackside/v1/principals/{principal}/staking-rewards', { principal }, version, 'cycles')}
      item="row"
      keyOf={({ cycle, pox_version: pox, type, bond_index: bond }) => `${cycle} ${pox} ${type} ${bond}`}
      empty="The principal stacked in no cycle."
      stacked
      columns={[
        ['Cycle', 'first', ({ cycle }) => <a href={pathTo('staking', { cycle })}>Cycle {count(cycle)}</a>],
        [
          'What',
          'nowrap',
          ({ pox_version: pox, type, bond_index: bond }) =>
            `${pox === 'pox1' ? 'pox' : pox.replace('pox', 'pox-')}, ${type}${bond === null ? '' : ` ${bond}`}`,
        ],
        [
          'Paid to',
          'named',
          ({ pox_version: pox, bitcoin_address: address, pool }) => (
            <>
              {address !== null ? (
                <BitcoinAddressLink address={address} />
              ) : (
                <span class="quiet">{pox === 'pox5' ? 'the account' : 'unknown'}</span>
              )}
              {pool === null ? null : (
                <>
                  {' '}
                  of pool <Principal principal={pool} />
                </>
              )}
            </>
          ),
        ],
        ['Locked', 'number named', ({ locked }) => <Stx micro={locked.stx} />],
        [
          'Earned',
          'number named',
          ({ rewards: earned }) =>
            earned === null ? <span class="quiet">unknown</span> : <Btc satoshis={earned.btc} />,
        ],
      ]}
    />
  );
}

const bitcoinBlock = (height: number) => (
  <span>
    Bitcoin block <BitcoinBlockLink height={height} />
  </span>
);

/** Returns the facts of the lock that the balance has, by any version of pox. */
function lockFacts(locked: Answer<'/extended/v3/principals/{principal}/balances/stx'>['locked']): readonly Fact[] {
  if (locked === null) return [['Locked', 'none']];
  const { amount, pox_version: pox, burn_lock_height: from, burn_unlock_height: to, lock_tx_id: id } = locked;
  return [
    ['Locked', <Stx micro={amount} />],
    ['Contract', pox === null ? null : pox === 1 ? 'pox' : `pox-${pox}`],
    ['From', from === null ? null : bitcoinBlock(from)],
    ['Until', bitcoinBlock(to)],
    ['Locked by', id === null ? null : <TxLink id={id} />],
  ];
}

type Stake = Answer<'/extended/v3/principals/{principal}/staking'>['stx'];
type Rewards = Stake['rewards']['btc'];

/** Reports whether a principal has a stake of pox-5, or had rewards of one. */
const hasStake = ({ locked, rewards }: Stake): boolean => locked !== '0' || rewards.btc.accrued !== '0';

const rewardFacts = ({ accrued, claimed, claimable }: Rewards) =>
  [
    ['Rewards accrued', <Btc satoshis={accrued} />],
    ['Rewards claimed', <Btc satoshis={claimed} />],
    ['Rewards to claim', <Btc satoshis={claimable} />],
  ] as const;
