/** The page of staking: reward cycles with their signers, and the bonds and signers of pox-5. */
import { tip } from '../../api/live.ts';
import { useGet } from '../../api/use-answer.ts';
import { count, percent } from '../../chain/format.ts';
import { ListPanel, Page, PER_PAGE, Tabs, useList } from '../../ui/parts.tsx';
import { url, withQuery } from '../../ui/router.ts';
import { BitcoinBlockLink, BlockLink, Btc, Hash, Meter, Principal, StateBadge, Stx } from '../../ui/values.tsx';
import { Payments } from './bitcoin.tsx';

export const Staking = () => (
  <Page title="Staking" lead="Who locks STX, through which signers, and the BTC that miners pay for it.">
    <Tabs
      label="Parts of staking"
      tabs={[
        ['cycles', 'Cycles', () => <Cycles />],
        ['bonds', 'Bonds', () => <Bonds />],
        ['signers', 'Signers', () => <Signers />],
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
          [
            'Cycle',
            'first',
            ({ cycle_number: cycle }) => <a href={withQuery({ cycle: String(cycle) })}>{count(cycle)}</a>,
          ],
          ['Signers', 'number named', ({ total_signers: signers }) => count(signers)],
          ['Weight', 'number named', ({ total_weight: weight }) => count(weight)],
          ['Signers set in block', 'number wide named', ({ block_height: height }) => <BlockLink height={height} />],
          ['Stacked', 'number named', ({ total_stacked_amount: stacked }) => <Stx micro={stacked} />],
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
        ['Signer', 'first nowrap', ({ signer_address: address }) => <Principal principal={address} />],
        ['Key', 'wide', ({ signing_key: key }) => <Hash value={key} copy="signing key" />],
        ['Weight', 'number named', ({ weight }) => count(weight)],
        ['Share', 'number named', ({ weight_percent: share }) => <Meter value={share} total={100} />],
        ['Stacked', 'number named', ({ stacked_amount: stacked }) => <Stx micro={stacked} />],
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
      ['Signer', 'main', ({ signer }) => <Principal principal={signer} />],
      ['Key', 'number', ({ signer_key: key }) => <Hash value={key} copy="signing key" />],
    ]}
  />
);

/** Descriptions of where BTC is locked, by type of registration. */
const LOCK_UPS: Readonly<Record<string, string>> = { l1: 'on Bitcoin', l2: 'as sBTC' };

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
          [
            'Bond',
            '',
            ({ index }) => <a href={withQuery({ bond: String(index), registrations: null })}>{count(index)}</a>,
          ],
          ['Status', '', ({ status }) => <StateBadge state={status} />],
          ['Rate', 'number medium', ({ parameters }) => percent(parameters.target_rate_bps, 10_000)],
          [
            'Bitcoin blocks',
            'number wide',
            ({ schedule: { activation, unlock } }) =>
              `${count(activation.bitcoin_height)} to ${count(unlock.bitcoin_height)}`,
          ],
          [
            'Registered',
            'number wide',
            ({ registrations }) => `${count(registrations.registered_count)} of ${count(registrations.allowed_count)}`,
          ],
          ['BTC', 'number', ({ balances }) => <Btc satoshis={balances.locked.btc} />],
          ['STX', 'number medium', ({ balances }) => <Stx micro={balances.locked.stx} />],
          ['Paid out', 'number wide', ({ balances }) => <Btc satoshis={balances.paid_out.btc} />],
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
        ['Staker', 'nowrap', ({ staker }) => <Principal principal={staker} />],
        ['Signer', 'main medium', ({ signer }) => <Principal principal={signer} />],
        ['Lock-up', 'wide nowrap', ({ type }) => LOCK_UPS[type] ?? type],
        ['BTC', 'number', ({ balances }) => <Btc satoshis={balances.btc} />],
        ['STX', 'number medium', ({ balances }) => <Stx micro={balances.stx} />],
      ]}
    />
  );
}
