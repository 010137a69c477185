/** The page of staking: reward cycles with their signers, and the bonds and signers of pox-5. */
import { tip } from '../../api/live.ts';
import { useGet } from '../../api/use-answer.ts';
import { count, percent } from '../../chain/format.ts';
import { ListPanel, Page, PER_PAGE, Tabs, useList } from '../../ui/parts.tsx';
import { url, withQuery } from '../../ui/router.ts';
import { Badge, BitcoinBlockLink, BlockLink, Btc, Hash, Meter, Principal, Stx } from '../../ui/values.tsx';
import { Payments } from './bitcoin.tsx';

export const Staking = () => (
  <Page title="Staking" lead="Who locks STX, through which signers, and the BTC that miners pay for it.">
    <Tabs
      label="Parts of staking"
      tabs={[
        { id: 'cycles', title: 'Cycles', content: () => <Cycles /> },
        { id: 'bonds', title: 'Bonds', content: () => <Bonds /> },
        { id: 'signers', title: 'Signers', content: () => <Signers /> },
      ]}
    />
  </Page>
);

const bitcoinVersion = (): number => tip.value?.burn_block_height ?? 0;

function Cycles() {
  const cycles = useGet('/extended/v2/pox/cycles', { limit: 20 }, bitcoinVersion());
  const cycleParameter = url.value.query.get('cycle') ?? '';
  const isChosen = cycles.data !== null && /^\d{1,9}$/.test(cycleParameter);
  const cycle = isChosen ? Number(cycleParameter) : cycles.data?.results[0]?.cycle_number;
  return (
    <>
      <ListPanel
        title="Reward cycles"
        loaded={cycles}
        keyOf={({ cycle_number: cycle }) => String(cycle)}
        empty="No cycle has begun yet."
        stacked
        columns={[
          {
            name: 'Cycle',
            class: 'first',
            cell: ({ cycle_number: cycle }) => <a href={withQuery({ cycle: String(cycle) })}>{count(cycle)}</a>,
          },
          { name: 'Signers', class: 'number named', cell: ({ total_signers: signers }) => count(signers) },
          { name: 'Weight', class: 'number named', cell: ({ total_weight: weight }) => count(weight) },
          {
            name: 'Signers set in block',
            class: 'number wide named',
            cell: ({ block_height: height }) => <BlockLink height={height} />,
          },
          {
            name: 'Stacked',
            class: 'number named',
            cell: ({ total_stacked_amount: stacked }) => <Stx micro={stacked} />,
          },
        ]}
      />
      {cycle === undefined ? null : <CycleSigners cycle={cycle} />}
      <NewestRewards />
    </>
  );
}

function NewestRewards() {
  const height = tip.value?.burn_block_height ?? null;
  if (height === null) return null;
  return (
    <>
      <p class="lead">
        Rewards come with each Bitcoin block. The newest is <BitcoinBlockLink height={height} />.
      </p>
      <Payments height={height} />
    </>
  );
}

function CycleSigners({ cycle }: { cycle: number }) {
  const params = { cycle_number: cycle, limit: PER_PAGE };
  return (
    <ListPanel
      title={`Signers of cycle ${cycle}`}
      loaded={useGet('/extended/v2/pox/cycles/{cycle_number}/signers', params)}
      keyOf={({ signing_key: key }) => key}
      empty="The cycle has no signers."
      stacked
      columns={[
        {
          name: 'Signer',
          class: 'first nowrap',
          cell: ({ signer_address: address }) => <Principal principal={address} />,
        },
        { name: 'Key', class: 'wide', cell: ({ signing_key: key }) => <Hash value={key} copy="signing key" /> },
        { name: 'Weight', class: 'number named', cell: ({ weight }) => count(weight) },
        {
          name: 'Share',
          class: 'number named',
          cell: ({ weight_percent: share }) => <Meter value={share} total={100} />,
        },
        { name: 'Stacked', class: 'number named', cell: ({ stacked_amount: stacked }) => <Stx micro={stacked} /> },
      ]}
    />
  );
}

const Signers = () => (
  <ListPanel
    title="Signers of pox-5"
    loaded={useList('/extended/v3/staking/signers', {}, bitcoinVersion())}
    keyOf={({ signer }) => signer}
    empty="No signer registered a key yet."
    columns={[
      { name: 'Signer', class: 'main', cell: ({ signer }) => <Principal principal={signer} /> },
      { name: 'Key', class: 'number', cell: ({ signer_key: key }) => <Hash value={key} copy="signing key" /> },
    ]}
  />
);

/** Descriptions of where BTC is locked, by type of registration. */
const LOCK_UPS: Readonly<Record<string, string>> = { l1: 'on Bitcoin', l2: 'as sBTC' };

const BOND_TONES: Readonly<Record<string, 'ok' | 'accent' | 'plain'>> = { active: 'ok', upcoming: 'accent' };

function Bonds() {
  const bondParameter = url.value.query.get('bond');
  const bonds = useList('/extended/v3/staking/bonds', {}, bitcoinVersion(), 'bonds');
  const results = bonds.data?.results ?? [];
  const defaultBond = results.find(({ registrations }) => registrations.registered_count > 0) ?? results[0];
  const bond = bonds.data === null || bondParameter === null ? defaultBond?.index : Number(bondParameter);
  return (
    <>
      <ListPanel
        title="Bonds"
        loaded={bonds}
        keyOf={({ index }) => String(index)}
        empty="No bond was set up yet."
        columns={[
          {
            name: 'Bond',
            cell: ({ index }) => <a href={withQuery({ bond: String(index), registrations: null })}>{count(index)}</a>,
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
          { name: 'Paid out', class: 'number wide', cell: ({ balances }) => <Btc satoshis={balances.paid_out.btc} /> },
        ]}
      />
      {bond === undefined ? null : <Registrations bond={bond} />}
    </>
  );
}

function Registrations({ bond }: { bond: number }) {
  const version = bitcoinVersion();
  return (
    <ListPanel
      title={`Registrations for bond ${bond}`}
      loaded={useList(
        '/extended/v3/staking/bonds/{bond_index}/registrations',
        { bond_index: bond },
        version,
        'registrations',
      )}
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
  );
}
