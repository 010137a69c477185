/** What a principal has staked, and what it earned. */
import { api, bodyOf } from '../../api/api.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, words } from '../../chain/format.ts';
import { Facts, Panel, Show, Table } from '../../ui/parts.tsx';
import { Badge, Btc, Stx, TxLink } from '../../ui/values.tsx';

const MOST_BONDS = 50;

export function PrincipalStaking({ principal, version }: { principal: string; version: string }) {
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
          params: { path, query: { limit: MOST_BONDS } },
          signal,
        }),
      ),
    version,
  );
  return (
    <>
      <div class="columns">
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
              columns={[
                { name: 'Bond', cell: ({ bond_index: bond }) => count(bond) },
                {
                  name: 'Status',
                  cell: ({ status, active }) => <Badge tone={active ? 'ok' : 'plain'}>{words(status)}</Badge>,
                },
                { name: 'Enrolled by', class: 'medium', cell: ({ enrollment }) => <TxLink id={enrollment.tx_id} /> },
                { name: 'BTC', class: 'number', cell: ({ locked }) => <Btc satoshis={locked.btc} /> },
                { name: 'STX', class: 'number', cell: ({ locked }) => <Stx micro={locked.stx} /> },
              ]}
            />
          )}
        </Show>
      </Panel>
    </>
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
