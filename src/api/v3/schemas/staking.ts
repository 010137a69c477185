/** Staking by pox-5: bonds, what principals have in them, and signers. */
import { Type } from '@sinclair/typebox';
import { Hash, Height, Hex, nullable, Principal, Sats, words } from '../../shared/schemas/values.ts';
import { BitcoinBlock, Block } from './place.ts';

const MicroStx = Type.String({ $id: 'MicroStx', pattern: '^[0-9]+$', description: 'Amount in micro-STX' });
const BasisPoints = Type.Integer({ description: 'Ratio in basis points (hundredths of a percent)' });
const Percent = Type.Number({ minimum: 0, maximum: 100 });

const balances = Type.Object({ btc: Sats, stx: MicroStx }, { $id: 'StakingBalances' });
const moment = Type.Object({ bitcoin_height: Height, pox_cycle: Type.Integer() }, { $id: 'BondMoment' });
const madeBy = Type.Object({ tx_id: Hash, block: Block, bitcoin_block: BitcoinBlock }, { $id: 'TransactionPosition' });

const bond = {
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

export const Bond = Type.Object(bond, { $id: 'Bond' });
export const BondDetail = Type.Object({ ...bond, transaction: madeBy }, { $id: 'BondDetail', extends: Bond });

export const BondAllowance = Type.Object({ staker: Principal, max_sats: Sats }, { $id: 'BondAllowance' });

const registration = { signer: Principal, staker: Principal, balances };

export const BondRegistration = Type.Object({ ...registration, type: words('l1', 'l2') }, { $id: 'BondRegistration' });
export const BondRegistrationDetail = Type.Union(
  [
    Type.Object({
      ...registration,
      type: Type.Literal('l1', { description: 'The BTC are locked on Bitcoin' }),
      l1_lockup: Type.Object({
        transactions: Type.Array(Type.Object({ tx_id: Hash, output_index: Type.Integer() }), {
          description: 'Bitcoin outputs that hold the locked BTC',
        }),
      }),
    }),
    Type.Object({
      ...registration,
      type: Type.Literal('l2', { description: 'The BTC are locked as sBTC' }),
      l2_lockup: Type.Object({ tx_id: Hash }),
    }),
  ],
  { $id: 'BondRegistrationDetail' },
);

const rewards = Type.Object(
  {
    btc: Type.Object({
      accrued: Sats,
      claimed: Sats,
      claimable: Type.String({ pattern: '^-?[0-9]+$', description: 'Amount in satoshis' }),
    }),
  },
  { $id: 'StakingRewards' },
);

export const PrincipalStaking = Type.Object(
  {
    stx: Type.Object({ locked: MicroStx, rewards }),
    bonds: Type.Object({ count: Type.Integer(), locked: balances, rewards }),
  },
  { $id: 'PrincipalStaking' },
);

export const BondPosition = Type.Object(
  {
    bond_index: Type.Integer(),
    status: words('enrolled', 'running', 'early_exit', 'unlocked'),
    active: Type.Boolean(),
    enrollment: Type.Object({ tx_id: Hash, btc_lockup: Type.Object({ amount: Sats }) }),
    locked: balances,
    rewards,
  },
  { $id: 'BondPosition' },
);

export const CycleSigner = Type.Object(
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

export const StakingSigner = Type.Object(signer, { $id: 'StakingSigner' });
export const StakingSignerDetail = Type.Object(
  { ...signer, transaction: madeBy },
  { $id: 'StakingSignerDetail', extends: StakingSigner },
);

export const SignerStaker = Type.Object(
  {
    staker: Principal,
    types: Type.Array(words('stx', 'btc'), { description: '`stx` is a stake outside of bonds, `btc` one in bonds' }),
  },
  { $id: 'SignerStaker' },
);
