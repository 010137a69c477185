/** The bonds of pox-5. */
import { api, bodyOf } from '../../api/api.ts';
import { tip } from '../../api/live.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, percent } from '../../chain/format.ts';
import { Panel, Show, Table } from '../../ui/parts.tsx';
import { place, withQuery } from '../../ui/router.ts';
import { Badge, Btc, Principal, Stx } from '../../ui/values.tsx';

const MOST = 50;

/** Where the BTC of a registration are locked. */
const LOCK_UPS: Readonly<Record<string, string>> = { l1: 'on Bitcoin', l2: 'as sBTC' };

const BOND_TONES: Readonly<Record<string, 'ok' | 'accent' | 'plain'>> = { active: 'ok', upcoming: 'accent' };

/** All bonds, and who registered for one of them. */
export function Bonds() {
  const asked = place.value.query.get('bond');
  const bonds = useAnswer(
    'bonds',
    (signal) => bodyOf(api.GET('/extended/v3/staking/bonds', { params: { query: { limit: MOST } }, signal })),
    tip.value?.burnBlockHeight ?? 0,
  );
  return (
    <>
      <Panel title="Bonds" source="/extended/v3/staking/bonds">
        <Show loaded={bonds}>
          {({ results }) => (
            <Table
              label="Bonds"
              rows={results}
              keyOf={({ index }) => String(index)}
              empty="No bond was set up yet."
              columns={[
                {
                  name: 'Bond',
                  cell: ({ index }) => <a href={withQuery({ bond: String(index) })}>{count(index)}</a>,
                },
                { name: 'Status', cell: ({ status }) => <Badge tone={BOND_TONES[status] ?? 'plain'}>{status}</Badge> },
                {
                  name: 'Rate',
                  class: 'number medium',
                  cell: ({ parameters }) => percent(parameters.target_rate_bps, 10_000),
                },
                {
                  name: 'Bitcoin blocks',
                  class: 'number wide',
                  cell: ({ schedule: { activation, unlock } }) =>
                    `${count(activation.bitcoin_height)} to ${count(unlock.bitcoin_height)}`,
                },
                {
                  name: 'Registered',
                  class: 'number wide',
                  cell: ({ registrations }) =>
                    `${count(registrations.registered_count)} of ${count(registrations.allowed_count)}`,
                },
                { name: 'BTC', class: 'number', cell: ({ balances }) => <Btc satoshis={balances.locked.btc} /> },
                { name: 'STX', class: 'number medium', cell: ({ balances }) => <Stx micro={balances.locked.stx} /> },
                {
                  name: 'Paid out',
                  class: 'number wide',
                  cell: ({ balances }) => <Btc satoshis={balances.paid_out.btc} />,
                },
              ]}
            />
          )}
        </Show>
      </Panel>
      <Show loaded={bonds}>
        {({ results }) => {
          const [newest] = results;
          const used = results.find(({ registrations }) => registrations.registered_count > 0) ?? newest;
          const bond = asked === null ? used?.index : Number(asked);
          return bond === undefined ? null : <Registrations bond={bond} />;
        }}
      </Show>
    </>
  );
}

/** Who locks BTC and STX in a bond, and through which signer. */
function Registrations({ bond }: { bond: number }) {
  const params = { path: { bond_index: bond }, query: { limit: MOST } };
  const registrations = useAnswer(
    `registrations ${bond}`,
    (signal) => bodyOf(api.GET('/extended/v3/staking/bonds/{bond_index}/registrations', { params, signal })),
    tip.value?.burnBlockHeight ?? 0,
  );
  const title = `Registrations for bond ${bond}`;
  return (
    <Panel title={title} source={`/extended/v3/staking/bonds/${bond}/registrations`}>
      <Show loaded={registrations}>
        {({ results }) => (
          <Table
            label={title}
            rows={results}
            keyOf={({ staker }) => staker}
            empty="Nobody has registered yet."
            columns={[
              { name: 'Staker', class: 'nowrap', cell: ({ staker }) => <Principal principal={staker} /> },
              { name: 'Signer', class: 'main medium', cell: ({ signer }) => <Principal principal={signer} /> },
              { name: 'Lock-up', class: 'wide nowrap', cell: ({ type }) => LOCK_UPS[type] ?? type },
              { name: 'BTC', class: 'number', cell: ({ balances }) => <Btc satoshis={balances.btc} /> },
              { name: 'STX', class: 'number medium', cell: ({ balances }) => <Stx micro={balances.stx} /> },
            ]}
          />
        )}
      </Show>
    </Panel>
  );
}
