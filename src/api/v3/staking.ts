/** Staking by pox-5: bonds, positions in bonds, and signers. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { notFound, requireFound } from '../../http/errors.ts';
import { chainAndBurnTip, chainTip } from '../../http/etag.ts';
import { CursorPage, cursorList, cursorQuery } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type {
  MadeBy,
  ManagedSigner,
  SignerManager,
  StakingCycle,
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
import {
  fields,
  Hash,
  Height,
  Hex,
  literal,
  named,
  nullable,
  object,
  Principal,
  Sats,
  stackedPercent,
  variants,
  weightPercent,
  words,
} from '../shared/fields.ts';
import { PrincipalParameter, textParameter } from '../shared/parameters.ts';
import { origin } from './transaction.ts';

const MicroStx = Type.String({ $id: 'MicroStx', pattern: '^[0-9]+$', description: 'Amount in micro-STX' });
const BasisPoints = Type.Integer({ description: 'Ratio in basis points (hundredths of a percent)' });
const Percent = Type.Number({ minimum: 0, maximum: 100 });

const balances = named('StakingBalances', { btc: Sats, stx: MicroStx });
const lockedOf = ({ btcLocked, stxLocked }: { btcLocked: string; stxLocked: string }) => ({
  btc: btcLocked,
  stx: stxLocked,
});
const moment = named('BondMoment', { bitcoin_height: Height, pox_cycle: Type.Integer() });
const [MadeByTransaction, madeBy] = object<MadeBy>('TransactionPosition')(origin);

/** @param burnHeight Bitcoin's, now */
function bondStatus({ startHeight, unlockHeight }: StoredBond, burnHeight: number) {
  if (burnHeight < startHeight) return 'upcoming';
  return burnHeight < unlockHeight ? 'active' : 'unlocked';
}

/** Fields of a bond. The status depends on Bitcoin's height, which is the context. */
const bondFields = fields<StoredBond, [burnHeight: number]>()({
  index: [Type.Integer(), ({ index }) => index],
  pox_version: literal('pox5'),
  status: [words('upcoming', 'active', 'unlocked'), bondStatus],
  parameters: object<StoredBond>()({
    target_rate_bps: [BasisPoints, ({ targetRate }) => targetRate],
    stx_value_ratio: [
      Type.Integer({ description: 'Price ratio in micro-STX per 100 satoshis' }),
      ({ stxValueRatio }) => stxValueRatio,
    ],
    minimum_stx_ratio: [BasisPoints, ({ minimumStxRatio }) => minimumStxRatio],
    btc_capacity: [Sats, ({ btcCapacity }) => btcCapacity],
  }),
  registrations: object<StoredBond>()({
    allowed_count: [Type.Integer(), ({ allowed }) => allowed],
    registered_count: [Type.Integer(), ({ registered }) => registered],
  }),
  schedule: object<StoredBond>()({
    activation: [moment, ({ startHeight, firstCycle }) => ({ bitcoin_height: startHeight, pox_cycle: firstCycle })],
    unlock: [moment, ({ unlockHeight, unlockCycle }) => ({ bitcoin_height: unlockHeight, pox_cycle: unlockCycle })],
  }),
  balances: object<StoredBond>()({
    locked: [balances, lockedOf],
    paid_out: object<StoredBond>()({
      btc: [
        Type.String({ pattern: '^[0-9]+$', description: 'Amount that the stakers of the bond claimed, in satoshis' }),
        ({ paidOut }) => paidOut,
      ],
    }),
  }),
});

const [Bond, bond] = object<StoredBond, [burnHeight: number]>('Bond')(bondFields);
const [BondDetail, bondDetail] = object<StoredBondDetail, [burnHeight: number]>({ $id: 'BondDetail', extends: Bond })({
  ...bondFields,
  transaction: [MadeByTransaction, (detail) => madeBy(detail.madeBy)],
});

/** Maximum amount in satoshis that a staker may register for a bond. */
const [BondAllowance, bondAllowance] = object<StoredBondAllowance>('BondAllowance')({
  staker: [Principal, ({ staker }) => staker],
  max_sats: [Sats, ({ sats }) => sats],
});

const registration = fields<StoredBondRegistration>()({
  signer: [Principal, ({ signer }) => signer],
  staker: [Principal, ({ staker }) => staker],
  balances: [balances, ({ sats, stx }) => ({ btc: sats, stx })],
});
const lockType = ({ outputs }: StoredBondRegistration) => (outputs === null ? 'l2' : 'l1');

const [BondRegistration, bondRegistration] = object<StoredBondRegistration>('BondRegistration')({
  ...registration,
  type: [words('l1', 'l2'), lockType],
});

const LockOutput = Type.Object({ tx_id: Hash, output_index: Type.Integer() });

const [BondRegistrationDetail, bondRegistrationDetail] = variants<
  StoredBondRegistration,
  Record<'l1' | 'l2', StoredBondRegistration>
>('BondRegistrationDetail')(['type', lockType], registration, {
  l1: {
    l1_lockup: object<StoredBondRegistration>({ description: 'The BTC are locked on Bitcoin' })({
      transactions: [
        Type.Array(LockOutput, { description: 'Bitcoin outputs that hold the locked BTC' }),
        ({ outputs }) => (outputs ?? []).map(({ txId, index }) => ({ tx_id: toHex(txId), output_index: index })),
      ],
    }),
  },
  l2: {
    l2_lockup: object<StoredBondRegistration>({ description: 'The BTC are locked as sBTC' })({
      tx_id: [Hash, ({ txId }) => toHex(txId)],
    }),
  },
});

const [Rewards, rewards] = object<StoredRewards>('StakingRewards')({
  btc: object<StoredRewards>()({
    accrued: [Sats, ({ accrued }) => accrued.toString()],
    claimed: [Sats, ({ claimed }) => claimed.toString()],
    claimable: [
      Type.String({ pattern: '^-?[0-9]+$', description: 'Amount in satoshis' }),
      ({ accrued, claimed }) => (accrued - claimed).toString(),
    ],
  }),
});

const [PrincipalStaking, principalStaking] = object<StakingSummary>('PrincipalStaking')({
  stx: object<StakingSummary>()({
    locked: [MicroStx, ({ stx }) => stx.locked.toString()],
    rewards: [Rewards, ({ stx }) => rewards(stx.rewards)],
  }),
  bonds: object<StakingSummary>()({
    count: [Type.Integer(), ({ bonds }) => bonds.count],
    locked: [balances, ({ bonds }) => ({ btc: bonds.btcLocked.toString(), stx: bonds.stxLocked.toString() })],
    rewards: [Rewards, ({ bonds }) => rewards(bonds.rewards)],
  }),
});

const [BondPosition, bondPosition] = object<StoredBondPosition>('BondPosition')({
  bond_index: [Type.Integer(), ({ bond }) => bond],
  status: [
    words('enrolled', 'running', 'early_exit', 'unlocked'),
    ({ earlyExit }) => (earlyExit ? 'early_exit' : 'enrolled'),
  ],
  active: [Type.Boolean(), ({ active }) => active],
  enrollment: object<StoredBondPosition>()({
    tx_id: [Hash, ({ enrolledBy }) => toHex(enrolledBy)],
    btc_lockup: object<StoredBondPosition>()({ amount: [Sats, ({ btcLocked }) => btcLocked] }),
  }),
  locked: [balances, lockedOf],
  rewards: [Rewards, (position) => rewards(position.rewards)],
});

const [GrantedKey, grantedKey] = object<SignerManager['grants'][number]>()({
  signer_key: [Hex, ({ key }) => toHex(key)],
  auth_id: [Type.String(), ({ authId }) => authId],
  tx_id: [Hash, ({ txId }) => toHex(txId)],
});
const [KeyUpdate, keyUpdate] = object<NonNullable<SignerManager['pending']>, [signer: ManagedSigner]>()({
  signer_key: [Hex, ({ key }) => toHex(key)],
  effective_cycle: [Type.Integer(), (_, { cycle }) => cycle.cycle + 1],
  tx_id: [Hash, ({ txId }) => toHex(txId)],
});

/** A manager of the key of a signer, which is the context. */
const [Manager, manager] = object<SignerManager, [signer: ManagedSigner]>()({
  signer_manager: [Principal, ({ signer }) => signer],
  registered_at: object<SignerManager>()({
    block_height: [Height, ({ registered }) => registered.height],
    bitcoin_block_height: [Height, ({ registered }) => registered.burnHeight],
    tx_id: [Hash, ({ registered }) => toHex(registered.txId)],
  }),
  granted_keys: [Type.Array(GrantedKey), ({ grants }) => grants.map(grantedKey)],
  grant_active: [
    Type.Boolean({ description: 'Whether the key of the signer is granted' }),
    ({ grants }, { signer }) => grants.some(({ key }) => toHex(key) === toHex(signer.key)),
  ],
  pending_key_update: [nullable(KeyUpdate), ({ pending }, signer) => pending && keyUpdate(pending, signer)],
});

/** A signer of a cycle, with its share in percent and the managers of its key. */
const [CycleSigner, cycleSigner] = object<ManagedSigner>('CycleSigner')({
  signing_key: [Hex, ({ signer }) => toHex(signer.key)],
  weight: object<ManagedSigner>()({
    amount: [Type.Integer(), ({ signer }) => signer.weight],
    percent: [Percent, weightPercent],
  }),
  staked_stx: object<ManagedSigner>()({
    amount: [MicroStx, ({ signer }) => signer.stacked.toString()],
    percent: [Percent, stackedPercent],
  }),
  signer_managers: [Type.Array(Manager), (signer) => signer.managers.map((item) => manager(item, signer))],
});

const signerFields = fields<StoredStakingSigner>()({
  signer: [Principal, ({ signer }) => signer],
  signer_key: [Hex, ({ key }) => toHex(key)],
});

const [StakingSigner, stakingSigner] = object<StoredStakingSigner>('StakingSigner')(signerFields);
const [StakingSignerDetail, stakingSignerDetail] = object<StoredStakingSignerDetail>({
  $id: 'StakingSignerDetail',
  extends: StakingSigner,
})({ ...signerFields, transaction: [MadeByTransaction, (detail) => madeBy(detail.madeBy)] });

/** A principal that stakes with a signer, and its stake: STX, BTC or both. */
const [SignerStaker, signerStaker] = object<StoredSignerStaker>('SignerStaker')({
  staker: [Principal, ({ staker }) => staker],
  types: [
    Type.Array(words('stx', 'btc'), { description: '`stx` is a stake outside of bonds, `btc` one in bonds' }),
    ({ stx, btc }) => [...(stx ? ['stx' as const] : []), ...(btc ? ['btc' as const] : [])],
  ],
});

const tag = 'Staking';

const bitcoinHeight = (heightOf: (cycle: StakingCycle) => number) =>
  object<StakingCycle>()({ bitcoin_height: [Height, heightOf] });

const sum = (...amounts: bigint[]): string => String(amounts.reduce((total, amount) => total + amount, 0n));

const [StakingCycleSchema, stakingCycle] = object<StakingCycle>('StakingCycle')({
  number: [Type.Integer(), ({ cycle }) => cycle],
  status: [words('reward_phase', 'prepare_phase', 'finished'), ({ status }) => status],
  schedule: object<StakingCycle>()({
    start: bitcoinHeight(({ start }) => start),
    prepare_phase_start: [
      nullable(Type.Object({ bitcoin_height: Height }), {
        description: 'Null outside mainnet, because the length of the prepare phase is unknown',
      }),
      ({ prepareStart }) => (prepareStart === null ? null : { bitcoin_height: prepareStart }),
    ],
    end: bitcoinHeight(({ end }) => end),
  }),
  locked: object<StakingCycle>()({
    stx: object<StakingCycle>()({
      stx_only: [MicroStx, ({ stx }) => String(stx.stakes)],
      bonds: [MicroStx, ({ stx }) => String(stx.bonds)],
      total: [MicroStx, ({ stx }) => sum(stx.stakes, stx.bonds)],
    }),
    btc: object<StakingCycle>()({
      total: [Sats, ({ btc }) => sum(btc.native, btc.sbtc)],
      native: [Sats, ({ btc }) => String(btc.native)],
      sbtc: [Sats, ({ btc }) => String(btc.sbtc)],
    }),
  }),
  participants: object<StakingCycle>()({
    stakers: object<StakingCycle>()({
      stx_only: [Type.Integer(), ({ stakers }) => stakers.stakes],
      bonds: [Type.Integer(), ({ stakers }) => stakers.bonds],
    }),
    signers: [Type.Integer(), ({ signers }) => signers],
  }),
  bonds: object<StakingCycle>()({
    total: [Type.Integer(), ({ bonds }) => bonds.length],
    indexes: [Type.Array(Type.Integer()), ({ bonds }) => bonds],
  }),
  rewards: object<StakingCycle>()({
    btc: object<StakingCycle>()({
      total: [Sats, ({ rewards: { bonds, stakes, reserve } }) => sum(bonds, stakes, reserve)],
      waterfall: object<StakingCycle>()({
        bonds: [Sats, ({ rewards }) => String(rewards.bonds)],
        stx_only: [Sats, ({ rewards }) => String(rewards.stakes)],
        reserve_deposit: [Sats, ({ rewards }) => String(rewards.reserve)],
      }),
      claimed: [Sats, ({ rewards }) => String(rewards.claimed)],
    }),
  }),
});

const UNKNOWN_BOND = 'Bond not found';
const UNKNOWN_ALLOWANCE = 'Bond allowlist entry not found';
const UNKNOWN_REGISTRATION = 'Bond registration not found';
const UNKNOWN_CYCLE = 'PoX cycle not found';
const NO_CYCLES = 'No PoX cycles found';
const UNKNOWN_SIGNER = 'Staking signer not found';

const bond_index = Type.Integer({ description: 'Index of the bond, from 0', examples: example('bond_index') });
const principal = PrincipalParameter;

/** A reward cycle: its number, or one of some words. */
const cycleParameter = <Word extends string>(names: readonly Word[], rule: string, description: string) =>
  textParameter(
    (text): number | Word => names.find((name) => name === text) ?? Math.min(Number(text), Number.MAX_SAFE_INTEGER),
    String,
    { pattern: `^(${names.join('|')}|[0-9]+)$`, rule, examples: ['current'], description },
  );

const cycle_number = cycleParameter(
  ['current'],
  'the number of a reward cycle, or current',
  'Number of a reward cycle, or `current` for the highest one with chosen signers. In a prepare phase that is the next cycle.',
);

const staking_cycle = cycleParameter(
  ['current', 'previous'],
  'the number of a reward cycle, current or previous',
  'Number of a reward cycle; `current` for the one of the newest Bitcoin block, `previous` for the one before',
);

const burnHeight = (read: Reader): number => read.chain.tip()?.burnBlockHeight ?? 0;

const family = { tag, etag: chainAndBurnTip, history: 'whole' } as const;

export const staking = [
  route({
    ...family,
    etag: chainTip,
    path: '/extended/v3/principals/{principal}/staking',
    operationId: 'getPrincipalStaking',
    summary: 'Staking of a principal',
    description:
      'Returns the stakes of a principal in bonds and outside of bonds, and its rewards. `stx` is the stake outside of bonds. For unknown principals every amount is zero.',
    tag: 'Principals',
    params: { principal },
    response: PrincipalStaking,
    handle: ({ params: { principal }, read }) => principalStaking(read.staking.summary(principal)),
  }),
  route({
    ...family,
    path: '/extended/v3/principals/{principal}/staking/bonds',
    operationId: 'getPrincipalStakingBonds',
    summary: 'Bonds of a principal',
    description: 'Returns the current and former bond positions of a principal, ordered by bond index.',
    tag: 'Principals',
    params: { principal },
    query: cursorQuery,
    response: CursorPage(BondPosition),
    handle: ({ params: { principal }, query, read }) => {
      const list = cursorList(`principal-staking-bonds ${principal}`, query);
      return list.page(read.staking.positions(principal, ...list.start), bondPosition);
    },
  }),
  route({
    ...family,
    path: '/extended/v3/staking/bonds',
    operationId: 'getStakingBonds',
    summary: 'Bonds',
    description: 'Returns the bonds, newest first.',
    query: cursorQuery,
    response: CursorPage(Bond),
    handle: ({ query, read }) => {
      const height = burnHeight(read);
      const list = cursorList('staking-bonds', query);
      return list.page(read.staking.bonds(...list.start), (item) => bond(item, height));
    },
  }),
  route({
    ...family,
    path: '/extended/v3/staking/bonds/{bond_index}',
    operationId: 'getStakingBond',
    summary: 'One bond',
    description: 'Returns one bond, with the transaction that created it.',
    params: { bond_index },
    response: BondDetail,
    notFound: UNKNOWN_BOND,
    handle: ({ params: { bond_index }, read }) =>
      bondDetail(requireFound(read.staking.bond(bond_index), UNKNOWN_BOND), burnHeight(read)),
  }),
  route({
    ...family,
    path: '/extended/v3/staking/bonds/{bond_index}/allowlist',
    operationId: 'getStakingBondAllowlist',
    summary: 'Allowlist of a bond',
    description: 'Returns the principals that may register for a bond, each with the maximum amount it may register.',
    params: { bond_index },
    query: cursorQuery,
    response: CursorPage(BondAllowance),
    handle: ({ params: { bond_index }, query, read }) => {
      const list = cursorList(`staking-bond-allowlist ${bond_index}`, query);
      return list.page(read.staking.allowances(bond_index, ...list.start), bondAllowance);
    },
  }),
  route({
    ...family,
    path: '/extended/v3/staking/bonds/{bond_index}/allowlist/{principal}',
    operationId: 'getStakingBondAllowlistEntry',
    summary: 'Allowlist entry of a principal',
    description: 'Returns the maximum amount that a principal may register for a bond.',
    params: { bond_index, principal },
    response: BondAllowance,
    notFound: UNKNOWN_ALLOWANCE,
    handle: ({ params: { bond_index, principal }, read }) =>
      bondAllowance(requireFound(read.staking.allowance(bond_index, principal), UNKNOWN_ALLOWANCE)),
  }),
  route({
    ...family,
    path: '/extended/v3/staking/bonds/{bond_index}/registrations',
    operationId: 'getStakingBondRegistrations',
    summary: 'Registrations for a bond',
    description: 'Returns the registrations for a bond, newest first.',
    params: { bond_index },
    query: cursorQuery,
    response: CursorPage(BondRegistration),
    handle: ({ params: { bond_index }, query, read }) => {
      const list = cursorList(`staking-bond-registrations ${bond_index}`, query);
      return list.page(read.staking.registrations(bond_index, ...list.start), bondRegistration);
    },
  }),
  route({
    ...family,
    path: '/extended/v3/staking/bonds/{bond_index}/registrations/{principal}',
    operationId: 'getStakingBondRegistration',
    summary: 'Registration of a principal for a bond',
    description:
      'Returns the registration of one principal for a bond, with the collateral it locked and the transaction that registered it.',
    params: { bond_index, principal },
    response: BondRegistrationDetail,
    notFound: UNKNOWN_REGISTRATION,
    handle: ({ params: { bond_index, principal }, read }) =>
      bondRegistrationDetail(requireFound(read.staking.registration(bond_index, principal), UNKNOWN_REGISTRATION)),
  }),
  route({
    ...family,
    path: '/extended/v3/staking/cycles/{cycle_number}',
    operationId: 'getStakingCycle',
    summary: 'Reward cycle of pox-5',
    description:
      'Returns the stakes in a reward cycle that has begun, and its rewards in sBTC. Stakes and changes made during a cycle count from the next one.',
    params: { cycle_number: staking_cycle },
    response: StakingCycleSchema,
    notFound: UNKNOWN_CYCLE,
    long: true,
    handle: async ({ params: { cycle_number }, read }) => {
      const cycle = await read.staking.cycle(cycle_number);
      if (cycle === undefined) throw notFound(typeof cycle_number === 'number' ? UNKNOWN_CYCLE : NO_CYCLES);
      return stakingCycle(cycle);
    },
  }),
  route({
    ...family,
    path: '/extended/v3/staking/cycles/{cycle_number}/signers',
    operationId: 'getStakingCycleSigners',
    summary: 'Signers of a reward cycle',
    description:
      'Returns the signers of a reward cycle, largest weight first, each with the contract that registered its key.',
    params: { cycle_number },
    query: cursorQuery,
    response: CursorPage(CycleSigner),
    notFound: UNKNOWN_CYCLE,
    handle: ({ params: { cycle_number }, query, read }) => {
      const list = cursorList(`staking-cycle-signers ${cycle_number}`, query);
      const page = read.staking.cycleSigners(cycle_number, ...list.start);
      if (page === undefined) throw notFound(cycle_number === 'current' ? NO_CYCLES : UNKNOWN_CYCLE);
      return list.page(page, cycleSigner);
    },
  }),
  route({
    ...family,
    path: '/extended/v3/staking/signers',
    operationId: 'getStakingSigners',
    summary: 'Staking signers',
    description:
      'Returns every contract that ever registered a signer key, ordered by address, each with its latest key.',
    query: cursorQuery,
    response: CursorPage(StakingSigner),
    handle: ({ query, read }) => {
      const list = cursorList('staking-signers', query);
      return list.page(read.staking.signers(...list.start), stakingSigner);
    },
  }),
  route({
    ...family,
    path: '/extended/v3/staking/signers/{principal}',
    operationId: 'getStakingSigner',
    summary: 'One staking signer',
    description: 'Returns one staking signer, with the transaction that registered its key.',
    params: { principal },
    response: StakingSignerDetail,
    notFound: UNKNOWN_SIGNER,
    handle: ({ params: { principal }, read }) =>
      stakingSignerDetail(requireFound(read.staking.signer(principal), UNKNOWN_SIGNER)),
  }),
  route({
    ...family,
    etag: chainTip,
    path: '/extended/v3/staking/signers/{principal}/stakers',
    operationId: 'getStakingSignerStakers',
    summary: 'Stakers of a signer',
    description: 'Returns the principals that currently stake through a signer, ordered by address.',
    params: { principal },
    query: cursorQuery,
    response: CursorPage(SignerStaker),
    handle: ({ params: { principal }, query, read }) => {
      const list = cursorList(`staking-signer-stakers ${principal}`, query);
      return list.page(read.staking.stakers(principal, ...list.start), signerStaker);
    },
  }),
];
