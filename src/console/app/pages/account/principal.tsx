/** An account: what it holds, what it did and what it waits for. */
import { useState } from 'preact/hooks';
import { api, bodyOf } from '../../api/api.ts';
import { tipVersion, useSubscription } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Copy } from '../../ui/copy.tsx';
import { type Figure, Figures } from '../../ui/figures.tsx';
import { Page, Show, Tabs, tabOf } from '../../ui/parts.tsx';
import { pathTo } from '../../ui/router.ts';
import { BitcoinBlockLink, Stx } from '../../ui/values.tsx';
import { PrincipalHistory } from './principal-history.tsx';
import { PrincipalNames } from './principal-names.tsx';
import { Pending } from './principal-pending.tsx';
import { PrincipalStaking } from './principal-staking.tsx';
import { Tokens } from './principal-tokens.tsx';
import { PrincipalTransactions } from './principal-transactions.tsx';
import { Transfers } from './principal-transfers.tsx';

const TABS = [
  ['transactions', 'Transactions'],
  ['received', 'STX received'],
  ['sent', 'STX sent'],
  ['tokens', 'Tokens'],
  ['pending', 'Pending'],
  ['staking', 'Staking'],
  ['names', 'Names'],
] as const;

export function Principal({ principal }: { principal: string }) {
  const version = usePrincipalVersion(principal);
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
      <StxFigures principal={principal} version={version} />
      <PrincipalHistory principal={principal} />
      <Tabs label="What the account has and did" tabs={TABS} />
      <PrincipalTab tab={tabOf(TABS)} principal={principal} version={version} />
    </Page>
  );
}

/** Changes with each block, and with each transaction that concerns a principal. */
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

/** The part of a principal that a tab names. */
export function PrincipalTab({ tab, principal, version }: TabProps) {
  switch (tab) {
    case 'received':
      return <Transfers principal={principal} direction="inbound" version={version} />;
    case 'sent':
      return <Transfers principal={principal} direction="outbound" version={version} />;
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

/** The STX of a principal: all, what it may spend, what is locked and until when. */
export function StxFigures({ principal, version }: { principal: string; version: string }) {
  const params = { path: { principal } };
  const stx = useAnswer(
    `stx ${principal}`,
    (signal) => bodyOf(api.GET('/extended/v3/principals/{principal}/balances/stx', { params, signal })),
    version,
  );
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
                  until Bitcoin block <BitcoinBlockLink height={locked.burn_unlock_height} />, by{' '}
                  <a href={pathTo('transaction', { id: locked.lock_tx_id })}>this transaction</a>
                </>
              ),
          },
        ];
        if (mempool !== null) {
          figures.push({
            name: 'With what is pending',
            value: <Stx micro={mempool.estimated_balance} />,
            note: 'once all of it is mined',
          });
        }
        return <Figures label="STX" figures={figures} amounts />;
      }}
    </Show>
  );
}
