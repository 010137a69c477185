import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type {
  Bond,
  BondAllowance,
  BondDetail,
  BondPosition,
  BondRegistration,
  MadeBy,
  ManagedSigner,
  Rewards,
  SignerManager,
  SignerStaker,
  StakingSigner,
  StakingSignerDetail,
  StakingSummary,
} from '../../../store/model/staking.ts';
import { stackedPercent, weightPercent } from '../../shared/serialize/cycle-share.ts';
import type * as schema from '../schemas/staking.ts';
import { block } from './place.ts';

const madeBy = (transaction: MadeBy) => ({
  tx_id: toHex(transaction.txId),
  block: block(transaction),
  bitcoin_block: { height: transaction.burnBlock.height, time: transaction.burnBlock.time },
});

/** @param burnHeight Bitcoin's, now */
function bondStatus({ startHeight, unlockHeight }: Bond, burnHeight: number) {
  if (burnHeight < startHeight) return 'upcoming';
  return burnHeight < unlockHeight ? 'active' : 'unlocked';
}

/** @param burnHeight Bitcoin's, now */
export const bond = (of: Bond, burnHeight: number): Static<typeof schema.Bond> => ({
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
export const bondDetail = (of: BondDetail, burnHeight: number): Static<typeof schema.BondDetail> => ({
  ...bond(of, burnHeight),
  transaction: madeBy(of.madeBy),
});

/** How many satoshis a staker may put into a bond. */
export const bondAllowance = ({ staker, sats }: BondAllowance): Static<typeof schema.BondAllowance> => ({
  staker,
  max_sats: sats,
});

const registration = ({ signer, staker, sats, stx }: BondRegistration) => ({
  signer,
  staker,
  balances: { btc: sats, stx },
});

/** A staker's registration for a bond. */
export const bondRegistration = (of: BondRegistration): Static<typeof schema.BondRegistration> => ({
  ...registration(of),
  type: of.outputs === null ? 'l2' : 'l1',
});

/** A staker's registration for a bond, with what secures it. */
export function bondRegistrationDetail(of: BondRegistration): Static<typeof schema.BondRegistrationDetail> {
  if (of.outputs === null) return { ...registration(of), type: 'l2', l2_lockup: { tx_id: toHex(of.txId) } };
  const transactions = of.outputs.map(({ txId, index }) => ({ tx_id: toHex(txId), output_index: index }));
  return { ...registration(of), type: 'l1', l1_lockup: { transactions } };
}

const rewards = ({ accrued, claimed }: Rewards) => ({
  btc: {
    accrued: accrued.toString(),
    claimed: claimed.toString(),
    claimable: (accrued - claimed).toString(),
  },
});

/** What a principal stakes: STX and bonds. */
export const principalStaking = ({ stx, bonds }: StakingSummary): Static<typeof schema.PrincipalStaking> => ({
  stx: { locked: stx.locked.toString(), rewards: rewards(stx.rewards) },
  bonds: {
    count: bonds.count,
    locked: { btc: bonds.btcLocked.toString(), stx: bonds.stxLocked.toString() },
    rewards: rewards(bonds.rewards),
  },
});

/** A principal's position in a bond. */
export const bondPosition = (of: BondPosition): Static<typeof schema.BondPosition> => ({
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
export function cycleSigner(of: ManagedSigner): Static<typeof schema.CycleSigner> {
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
export const stakingSigner = ({ signer, key }: StakingSigner): Static<typeof schema.StakingSigner> => ({
  signer,
  signer_key: toHex(key),
});

/** A staking signer with the transaction that registered its key. */
export const stakingSignerDetail = (of: StakingSignerDetail): Static<typeof schema.StakingSignerDetail> => ({
  ...stakingSigner(of),
  transaction: madeBy(of.madeBy),
});

/** A principal that stakes with a signer, and what it stakes: STX, BTC or both. */
export const signerStaker = ({ staker, stx, btc }: SignerStaker): Static<typeof schema.SignerStaker> => ({
  staker,
  types: [...(stx ? ['stx' as const] : []), ...(btc ? ['btc' as const] : [])],
});
