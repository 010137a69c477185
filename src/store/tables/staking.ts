/** Tables of staking (pox-5). What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

export const bondsTable = tableShape('bonds', ['bond_index'], {
  bond_index: 'integer',
  position: 'integer',
  event_index: 'integer',
  target_rate: 'integer',
  stx_value_ratio: 'integer',
  minimum_stx_ratio: 'integer',
  first_cycle: 'integer',
  start_height: 'integer',
  unlock_cycle: 'integer',
  unlock_height: 'integer',
});

export const bondTotalsTable = tableShape('bond_totals', ['bond_index'], {
  bond_index: 'integer',
  allowed: 'integer',
  capacity: 'text',
  registered: 'integer',
  btc_locked: 'text',
  stx_locked: 'text',
  paid_out: 'text',
});

export const bondAllowancesTable = tableShape('bond_allowances', ['bond_index', 'position', 'event_index'], {
  bond_index: 'integer',
  position: 'integer',
  event_index: 'integer',
  staker_id: 'integer',
  sats: 'text',
});

export const bondRegistrationsTable = tableShape('bond_registrations', ['bond_index', 'position', 'event_index'], {
  bond_index: 'integer',
  position: 'integer',
  event_index: 'integer',
  staker_id: 'integer',
  outputs: 'blob?',
});

export const bondPositionsTable = tableShape('bond_positions', ['staker_id', 'bond_index', 'position', 'event_index'], {
  staker_id: 'integer',
  bond_index: 'integer',
  position: 'integer',
  event_index: 'integer',
  current: 'integer',
  address: 'text',
  signer_id: 'integer',
  early_exit: 'integer',
  active: 'integer',
  btc_locked: 'text',
  stx_locked: 'text',
  registered_sats: 'text',
  enrolled_at: 'integer',
  first_cycle: 'integer',
  weight: 'text',
  weight_cycle: 'integer',
});

export const stakesTable = tableShape('stakes', ['staker_id', 'position', 'event_index'], {
  staker_id: 'integer',
  position: 'integer',
  event_index: 'integer',
  current: 'integer',
  address: 'text',
  signer_id: 'integer',
  amount: 'text',
  first_cycle: 'integer',
  from_cycle: 'integer',
  unlock_cycle: 'integer',
  unlock_height: 'integer',
});

export const stakingSharesTable = tableShape('staking_shares', ['staker_id', 'bond_index', 'signer_id', 'cycle'], {
  staker_id: 'integer',
  bond_index: 'integer',
  signer_id: 'integer',
  cycle: 'integer',
  earned: 'text',
});

export const stakingRewardsTable = tableShape('staking_rewards', ['staker_id', 'bond_index'], {
  staker_id: 'integer',
  bond_index: 'integer',
  accrued: 'text',
  claimed: 'text',
});

export const signerKeysTable = tableShape('signer_keys', ['signer_id', 'position', 'event_index'], {
  signer_id: 'integer',
  position: 'integer',
  event_index: 'integer',
  action: 'integer',
  signer_key: 'blob',
  auth_id: 'text?',
  current: 'integer',
  address: 'text',
});
