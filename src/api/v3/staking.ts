/** Staking by pox-5: bonds, positions in bonds, and signers. */
import { type Static, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { notFound } from '../../http/errors.ts';
import { chainAndBurnTip } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type {
  MadeBy,
  ManagedSigner,
  SignerManager,
  StakingSummary,
  Bond as StoredBond,
  BondAllowance as StoredBondAllowance,
  BondDetail as StoredBondDetail,
  BondPosition as StoredBondPosition,
  BondRegistration as StoredBondRegistration,
  Rewards as StoredRewards,
  SignerStaker as StoredSignerStaker,
  StakingSigner as StoredStakingSigner,
  StakingSignerDetail as StoredStakingSignerDetail,
} from '../../store/model/staking.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import { object } from '../shared/fields.ts';
import { PrincipalParameter } from '../shared/parameters.ts';
import {
  Hash,
  Height,
  Hex,
  nullable,
  Principal,
  Sats,
  stackedPercent,
  weightPercent,
  words,
} from '../shared/values.ts';
import { origin } from './transaction.ts';

const MicroStx = Type.String({ $id: 'MicroStx', pattern: '^[0-9]+$', description: 'Amount in micro-STX' });
const BasisPoints = Type.Integer({ description: 'Ratio in basis points (hundredths of a percent)' });
const Percent = Type.Number({ minimum: 0, maximum: 100 });

const balances = Type.Object({ btc: Sats, stx: MicroStx }, { $id: 'StakingBalances' });
const moment = Type.Object({ bitcoin_height: Height, pox_cycle: Type.Integer() }, { $id: 'BondMoment' });
const [MadeByTransaction, madeBy] = object<MadeBy>()(origin, { $id: 'TransactionPosition' });

const bondMembers = {
  index: Type.Integer(),
  pox_version: Type.Literal('pox5'),
  status: words('upcoming', 'active', 'unlocked'),
  parameters: Type.Object({
    target_rate_bps: BasisPoints,
    stx_value_ratio: Type.Integer({ description: 'Price ratio in micro-STX per 100 satoshis' }),
    minimum_stx_ratio: BasisPoints,
    btc_capacity: Sats,
  }),
  registrations: Type.Object({ allowed_count: Type.Integer(), registered_count: Type.Integer() }),
  schedule: Type.Object({ activation: moment, unlock: moment }),
  balances: Type.Object({
    locked: balances,
    paid_out: Type.Object({
      btc: Type.String({
        pattern: '^[0-9]+$',
        description: 'Amount that the stakers of the bond claimed, in satoshis',
      }),
    }),
  }),
};

const Bond = Type.Object(bondMembers, { $id: 'Bond' });
const BondDetail = Type.Object(
  { ...bondMembers, transaction: MadeByTransaction },
  { $id: 'BondDetail', extends: Bond },
);

const BondAllowance = Type.Object({ staker: Principal, max_sats: Sats }, { $id: 'BondAllowance' });

const registrationMembers = { signer: Principal, staker: Principal, balances };

const BondRegistration = Type.Object({ ...registrationMembers, type: words('l1', 'l2') }, { $id: 'BondRegistration' });
const BondRegistrationDetail = Type.Union(
  [
    Type.Object({
      ...registrationMembers,
      type: Type.Literal('l1', { description: 'The BTC are locked on Bitcoin' }),
      l1_lockup: Type.Object({
        transactions: Type.Array(Type.Object({ tx_id: Hash, output_index: Type.Integer() }), {
          description: 'Bitcoin outputs that hold the locked BTC',
        }),
      }),
    }),
    Type.Object({
      ...registrationMembers,
      type: Type.Literal('l2', { description: 'The BTC are locked as sBTC' }),
      l2_lockup: Type.Object({ tx_id: Hash }),
    }),
  ],
  { $id: 'BondRegistrationDetail' },
);

const Rewards = Type.Object(
  {
    btc: Type.Object({
      accrued: Sats,
      claimed: Sats,
      claimable: Type.String({ pattern: '^-?[0-9]+$', description: 'Amount in satoshis' }),
    }),
  },
  { $id: 'StakingRewards' },
);

const PrincipalStaking = Type.Object(
  {
    stx: Type.Object({ locked: MicroStx, rewards: Rewards }),
    bonds: Type.Object({ count: Type.Integer(), locked: balances, rewards: Rewards }),
  },
  { $id: 'PrincipalStaking' },
);

const BondPosition = Type.Object(
  {
    bond_index: Type.Integer(),
    status: words('enrolled', 'running', 'early_exit', 'unlocked'),
    active: Type.Boolean(),
    enrollment: Type.Object({ tx_id: Hash, btc_lockup: Type.Object({ amount: Sats }) }),
    locked: balances,
    rewards: Rewards,
  },
  { $id: 'BondPosition' },
);

const CycleSigner = Type.Object(
  {
    signing_key: Hex,
    weight: Type.Object({ amount: Type.Integer(), percent: Percent }),
    staked_stx: Type.Object({ amount: MicroStx, percent: Percent }),
    signer_managers: Type.Array(
      Type.Object({
        signer_manager: Principal,
        registered_at: Type.Object({ block_height: Height, bitcoin_block_height: Height, tx_id: Hash }),
        granted_keys: Type.Array(Type.Object({ signer_key: Hex, auth_id: Type.String(), tx_id: Hash })),
        grant_active: Type.Boolean({ description: 'Whether the key of the signer is granted' }),
        pending_key_update: nullable(Type.Object({ signer_key: Hex, effective_cycle: Type.Integer(), tx_id: Hash })),
      }),
    ),
  },
  { $id: 'CycleSigner' },
);

const signer = { signer: Principal, signer_key: Hex };

const StakingSigner = Type.Object(signer, { $id: 'StakingSigner' });
const StakingSignerDetail = Type.Object(
  { ...signer, transaction: MadeByTransaction },
  { $id: 'StakingSignerDetail', extends: StakingSigner },
);

const SignerStaker = Type.Object(
  {
    staker: Principal,
    types: Type.Array(words('stx', 'btc'), { description: '`stx` is a stake outside of bonds, `btc` one in bonds' }),
  },
  { $id: 'SignerStaker' },
);

/** @param burnHeight Bitcoin's, now */
function bondStatus({ startHeight, unlockHeight }: StoredBond, burnHeight: number) {
  if (burnHeight < startHeight) return 'upcoming';
  return burnHeight < unlockHeight ? 'active' : 'unlocked';
}

/** @param burnHeight Bitcoin's, now */
const bond = (of: StoredBond, burnHeight: number): Static<typeof Bond> => ({
  index: of.index,
  pox_version: 'pox5',
  status: bondStatus(of, burnHeight),
  parameters: {
    target_rate_bps: of.targetRate,
    stx_value_ratio: of.stxValueRatio,
    minimum_stx_ratio: of.minimumStxRatio,
    btc_capacity: of.btcCapacity,
  },
  registrations: { allowed_count: of.allowed, registered_count: of.registered },
  schedule: {
    activation: { bitcoin_height: of.startHeight, pox_cycle: of.firstCycle },
    unlock: { bitcoin_height: of.unlockHeight, pox_cycle: of.unlockCycle },
  },
  balances: { locked: { btc: of.btcLocked, stx: of.stxLocked }, paid_out: { btc: of.paidOut } },
});

/** A bond with the transaction that set it up. @param burnHeight Bitcoin's height, by which the status is computed */
const bondDetail = (of: StoredBondDetail, burnHeight: number): Static<typeof BondDetail> => ({
  ...bond(of, burnHeight),
  transaction: madeBy(of.madeBy),
});

/** Maximum amount in satoshis that a staker may register for a bond. */
const bondAllowance = ({ staker, sats }: StoredBondAllowance): Static<typeof BondAllowance> => ({
  staker,
  max_sats: sats,
});

const registration = ({ signer, staker, sats, stx }: StoredBondRegistration) => ({
  signer,
  staker,
  balances: { btc: sats, stx },
});

/** A staker's registration for a bond. */
const bondRegistration = (of: StoredBondRegistration): Static<typeof BondRegistration> => ({
  ...registration(of),
  type: of.outputs === null ? 'l2' : 'l1',
});

/** A staker's registration for a bond, with its collateral. */
function bondRegistrationDetail(of: StoredBondRegistration): Static<typeof BondRegistrationDetail> {
  if (of.outputs === null) return { ...registration(of), type: 'l2', l2_lockup: { tx_id: toHex(of.txId) } };
  const transactions = of.outputs.map(({ txId, index }) => ({ tx_id: toHex(txId), output_index: index }));
  return { ...registration(of), type: 'l1', l1_lockup: { transactions } };
}

const rewards = ({ accrued, claimed }: StoredRewards) => ({
  btc: {
    accrued: accrued.toString(),
    claimed: claimed.toString(),
    claimable: (accrued - claimed).toString(),
  },
});

/** A principal's stake in STX and bonds. */
const principalStaking = ({ stx, bonds }: StakingSummary): Static<typeof PrincipalStaking> => ({
  stx: { locked: stx.locked.toString(), rewards: rewards(stx.rewards) },
  bonds: {
    count: bonds.count,
    locked: { btc: bonds.btcLocked.toString(), stx: bonds.stxLocked.toString() },
    rewards: rewards(bonds.rewards),
  },
});

/** A principal's position in a bond. */
const bondPosition = (of: StoredBondPosition): Static<typeof BondPosition> => ({
  bond_index: of.bond,
  status: of.earlyExit ? 'early_exit' : 'enrolled',
  active: of.active,
  enrollment: { tx_id: toHex(of.enrolledBy), btc_lockup: { amount: of.btcLocked } },
  locked: { btc: of.btcLocked, stx: of.stxLocked },
  rewards: rewards(of.rewards),
});

const manager = ({ signer, registered, grants, pending }: SignerManager, key: string, cycle: number) => {
  const granted_keys = grants.map((grant) => ({
    signer_key: toHex(grant.key),
    auth_id: grant.authId,
    tx_id: toHex(grant.txId),
  }));
  return {
    signer_manager: signer,
    registered_at: {
      block_height: registered.height,
      bitcoin_block_height: registered.burnHeight,
      tx_id: toHex(registered.txId),
    },
    granted_keys,
    grant_active: granted_keys.some(({ signer_key }) => signer_key === key),
    pending_key_update:
      pending === null
        ? null
        : { signer_key: toHex(pending.key), effective_cycle: cycle + 1, tx_id: toHex(pending.txId) },
  };
};

/** A signer of a cycle, with its share in percent and the managers of its key. */
function cycleSigner(of: ManagedSigner): Static<typeof CycleSigner> {
  const { signer, cycle, managers } = of;
  const key = toHex(signer.key);
  return {
    signing_key: key,
    weight: { amount: signer.weight, percent: weightPercent(of) },
    staked_stx: { amount: signer.stacked.toString(), percent: stackedPercent(of) },
    signer_managers: managers.map((one) => manager(one, key, cycle.cycle)),
  };
}

/** A staking signer with its key. */
const stakingSigner = ({ signer, key }: StoredStakingSigner): Static<typeof StakingSigner> => ({
  signer,
  signer_key: toHex(key),
});

/** A staking signer with the transaction that registered its key. */
const stakingSignerDetail = (of: StoredStakingSignerDetail): Static<typeof StakingSignerDetail> => ({
  ...stakingSigner(of),
  transaction: madeBy(of.madeBy),
});

/** A principal that stakes with a signer, and its stake: STX, BTC or both. */
const signerStaker = ({ staker, stx, btc }: StoredSignerStaker): Static<typeof SignerStaker> => ({
  staker,
  types: [...(stx ? ['stx' as const] : []), ...(btc ? ['btc' as const] : [])],
});

const tag = 'Staking';

const UNKNOWN_BOND = 'Bond not found';
const UNKNOWN_ALLOWANCE = 'Bond allowlist entry not found';
const UNKNOWN_REGISTRATION = 'Bond registration not found';
const UNKNOWN_CYCLE = 'PoX cycle not found';
const NO_CYCLES = 'No PoX cycles found';
const UNKNOWN_SIGNER = 'Staking signer not found';

const bond_index = Type.Integer({ description: 'Index of the bond, from 0', examples: example('bond_index') });
const principal = PrincipalParameter;

const cycle_number = Type.Transform(
  Type.String({
    pattern: '^(current|[0-9]+)$',
    rule: 'the number of a reward cycle, or current',
    examples: ['current'],
    description:
      'Number of a reward cycle, or `current` for the highest one whose signers are chosen. In a prepare phase that is the next cycle.',
  }),
)
  .Decode((text): number | 'current' => (text === 'current' ? text : Math.min(Number(text), Number.MAX_SAFE_INTEGER)))
  .Encode(String);

const burnHeight = (read: Reader): number => read.chain.tip()?.burnBlockHeight ?? 0;

export const staking = [
  route({
    path: '/extended/v3/principals/{principal}/staking',
    operationId: 'getPrincipalStaking',
    summary: 'Staking of a principal',
    description:
      'Returns what a principal stakes in bonds and outside of bonds, and what it earned. `stx` is the stake outside of bonds. For unknown principals every amount is zero.',
    tag: 'Principals',
    params: { principal },
    response: PrincipalStaking,
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { principal }, read }) => principalStaking(read.staking.summary(principal)),
  }),
  route({
    path: '/extended/v3/principals/{principal}/staking/bonds',
    operationId: 'getPrincipalStakingBonds',
    summary: 'Bonds of a principal',
    description: 'Returns the current and former bond positions of a principal, ordered by bond index.',
    tag: 'Principals',
    params: { principal },
    query: cursorQuery,
    response: CursorPage(BondPosition),
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `principal-staking-bonds ${principal}`;
      const page = read.staking.positions(principal, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, bondPosition);
    },
  }),
  route({
    path: '/extended/v3/staking/bonds',
    operationId: 'getStakingBonds',
    summary: 'Bonds',
    description: 'Returns the bonds, newest first.',
    tag,
    query: cursorQuery,
    response: CursorPage(Bond),
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ query: { limit, cursor }, read }) => {
      const height = burnHeight(read);
      const page = read.staking.bonds(limit, pageCursor('staking-bonds', cursor));
      return cursorPage('staking-bonds', limit, page, (of) => bond(of, height));
    },
  }),
  route({
    path: '/extended/v3/staking/bonds/{bond_index}',
    operationId: 'getStakingBond',
    summary: 'One bond',
    description: 'Returns one bond, with the transaction that created it.',
    tag,
    params: { bond_index },
    response: BondDetail,
    notFound: UNKNOWN_BOND,
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { bond_index }, read }) => {
      const bond = read.staking.bond(bond_index);
      if (bond === undefined) throw notFound(UNKNOWN_BOND);
      return bondDetail(bond, burnHeight(read));
    },
  }),
  route({
    path: '/extended/v3/staking/bonds/{bond_index}/allowlist',
    operationId: 'getStakingBondAllowlist',
    summary: 'Allowlist of a bond',
    description: 'Returns the principals that may register for a bond, each with the maximum amount it may register.',
    tag,
    params: { bond_index },
    query: cursorQuery,
    response: CursorPage(BondAllowance),
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { bond_index }, query: { limit, cursor }, read }) => {
      const list = `staking-bond-allowlist ${bond_index}`;
      const page = read.staking.allowances(bond_index, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, bondAllowance);
    },
  }),
  route({
    path: '/extended/v3/staking/bonds/{bond_index}/allowlist/{principal}',
    operationId: 'getStakingBondAllowlistEntry',
    summary: 'Allowlist entry of a principal',
    description: 'Returns the maximum amount that a principal may register for a bond.',
    tag,
    params: { bond_index, principal },
    response: BondAllowance,
    notFound: UNKNOWN_ALLOWANCE,
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { bond_index, principal }, read }) => {
      const allowance = read.staking.allowance(bond_index, principal);
      if (allowance === undefined) throw notFound(UNKNOWN_ALLOWANCE);
      return bondAllowance(allowance);
    },
  }),
  route({
    path: '/extended/v3/staking/bonds/{bond_index}/registrations',
    operationId: 'getStakingBondRegistrations',
    summary: 'Registrations for a bond',
    description: 'Returns the registrations for a bond, newest first.',
    tag,
    params: { bond_index },
    query: cursorQuery,
    response: CursorPage(BondRegistration),
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { bond_index }, query: { limit, cursor }, read }) => {
      const list = `staking-bond-registrations ${bond_index}`;
      const page = read.staking.registrations(bond_index, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, bondRegistration);
    },
  }),
  route({
    path: '/extended/v3/staking/bonds/{bond_index}/registrations/{principal}',
    operationId: 'getStakingBondRegistration',
    summary: 'Registration of a principal for a bond',
    description:
      'Returns the registration of one principal for a bond, with the collateral it locked and the transaction that registered it.',
    tag,
    params: { bond_index, principal },
    response: BondRegistrationDetail,
    notFound: UNKNOWN_REGISTRATION,
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { bond_index, principal }, read }) => {
      const registration = read.staking.registration(bond_index, principal);
      if (registration === undefined) throw notFound(UNKNOWN_REGISTRATION);
      return bondRegistrationDetail(registration);
    },
  }),
  route({
    path: '/extended/v3/staking/cycles/{cycle_number}/signers',
    operationId: 'getStakingCycleSigners',
    summary: 'Signers of a reward cycle',
    description:
      'Returns the signers of a reward cycle, largest weight first, each with the contract that registered its key.',
    tag,
    params: { cycle_number },
    query: cursorQuery,
    response: CursorPage(CycleSigner),
    notFound: UNKNOWN_CYCLE,
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { cycle_number }, query: { limit, cursor }, read }) => {
      const list = `staking-cycle-signers ${cycle_number}`;
      const page = read.staking.cycleSigners(cycle_number, limit, pageCursor(list, cursor));
      if (page === undefined) throw notFound(cycle_number === 'current' ? NO_CYCLES : UNKNOWN_CYCLE);
      return cursorPage(list, limit, page, cycleSigner);
    },
  }),
  route({
    path: '/extended/v3/staking/signers',
    operationId: 'getStakingSigners',
    summary: 'Staking signers',
    description:
      'Returns every contract that ever registered a signer key, ordered by address, each with its latest key.',
    tag,
    query: cursorQuery,
    response: CursorPage(StakingSigner),
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ query: { limit, cursor }, read }) => {
      const page = read.staking.signers(limit, pageCursor('staking-signers', cursor));
      return cursorPage('staking-signers', limit, page, stakingSigner);
    },
  }),
  route({
    path: '/extended/v3/staking/signers/{principal}',
    operationId: 'getStakingSigner',
    summary: 'One staking signer',
    description: 'Returns one staking signer, with the transaction that registered its key.',
    tag,
    params: { principal },
    response: StakingSignerDetail,
    notFound: UNKNOWN_SIGNER,
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { principal }, read }) => {
      const signer = read.staking.signer(principal);
      if (signer === undefined) throw notFound(UNKNOWN_SIGNER);
      return stakingSignerDetail(signer);
    },
  }),
  route({
    path: '/extended/v3/staking/signers/{principal}/stakers',
    operationId: 'getStakingSignerStakers',
    summary: 'Stakers of a signer',
    description: 'Returns the principals that currently stake through a signer, ordered by address.',
    tag,
    params: { principal },
    query: cursorQuery,
    response: CursorPage(SignerStaker),
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `staking-signer-stakers ${principal}`;
      const page = read.staking.stakers(principal, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, signerStaker);
    },
  }),
];
