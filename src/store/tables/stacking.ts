/** Tables of stacking (pox to pox-4) and of reward cycles. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

export const stackingEventsTable = tableShape('stacking_events', ['pox_version', 'ordinal'], {
  pox_version: 'integer',
  ordinal: 'integer',
  position: 'integer',
  event_index: 'integer',
  stacker_id: 'integer',
});

export const delegationsTable = tableShape(
  'delegations',
  ['pox_version', 'pool_id', 'stacker_id', 'position', 'event_index'],
  {
    pox_version: 'integer',
    pool_id: 'integer',
    stacker_id: 'integer',
    position: 'integer',
    event_index: 'integer',
    revoked: 'integer',
    unlock_height: 'integer?',
  },
);

export const stackingTermsTable = tableShape('stacking_terms', ['stacker_id', 'role', 'position', 'event_index'], {
  stacker_id: 'integer',
  role: 'integer',
  position: 'integer',
  event_index: 'integer',
  first_cycle: 'integer',
  end_cycle: 'integer',
  locked: 'text',
  address: 'text',
  signer_key: 'blob?',
  pool_id: 'integer?',
});

export const cycleStackersTable = tableShape('cycle_stackers', ['cycle', 'role', 'stacker_id'], {
  cycle: 'integer',
  role: 'integer',
  stacker_id: 'integer',
  position: 'integer',
  event_index: 'integer',
  locked: 'text',
  address: 'text',
  signer_key: 'blob?',
  pool_id: 'integer?',
});

export const cycleStackerCountsTable = tableShape('cycle_stacker_counts', ['cycle', 'signer_key'], {
  cycle: 'integer',
  signer_key: 'blob',
  solo: 'integer',
  pooled: 'integer',
});

export const rewardCyclesTable = tableShape('reward_cycles', ['cycle'], {
  cycle: 'integer',
  height: 'integer',
  signers: 'integer',
  weight: 'integer',
  stacked: 'text',
});

export const cycleSignersTable = tableShape('cycle_signers', ['cycle', 'signer_key'], {
  cycle: 'integer',
  signer_key: 'blob',
  weight: 'integer',
  stacked: 'text',
});
