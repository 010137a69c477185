/** The tables of the index: columns, types, nullability and keys. Generated from schema.sql by test/support/generate/table-shapes.ts. */
import { tableShape } from './table.ts';

export const principalsTable = tableShape('principals', ['id'], {
  id: 'id',
  address: 'text',
});

export const assetsTable = tableShape('assets', ['id'], {
  id: 'id',
  identifier: 'text',
});

export const blocksTable = tableShape('blocks', ['height'], {
  height: 'integer',
  index_block_hash: 'blob',
  block_hash: 'blob',
  parent_index_block_hash: 'blob',
  parent_block_hash: 'blob',
  block_time: 'integer',
  burn_block_hash: 'blob',
  burn_block_height: 'integer',
  burn_block_time: 'integer',
  parent_burn_block_time: 'integer?',
  miner_tx_id: 'blob',
  parent_microblock_hash: 'blob',
  parent_microblock_sequence: 'integer',
  tenure_height: 'integer?',
  announced_transactions: 'integer',
  transactions: 'integer',
  preceding_transactions: 'integer',
  size: 'integer',
  cost_runtime: 'integer',
  cost_read_count: 'integer',
  cost_read_length: 'integer',
  cost_write_count: 'integer',
  cost_write_length: 'integer',
  signer_bits: 'text?',
  signer_signatures: 'blob?',
  pox_1_unlock_height: 'integer?',
  pox_2_unlock_height: 'integer?',
  pox_3_unlock_height: 'integer?',
  pox_4_unlock_height: 'integer?',
  stx_supply: 'text',
  stx_balances: 'text',
  stx_holders: 'integer',
  stx_accounts: 'integer',
});

export const anchorBurnBlocksTable = tableShape('anchor_burn_blocks', ['ordinal'], {
  ordinal: 'integer',
  hash: 'blob',
  height: 'integer',
  time: 'integer',
  first_block: 'integer',
  blocks: 'integer',
  transactions: 'integer',
  rows: 'integer',
});

export const transactionsTable = tableShape('transactions', ['position'], {
  position: 'integer',
  tx_id: 'blob',
  tx_index: 'integer',
  type: 'integer',
  status: 'integer',
  sender_id: 'integer',
  nonce: 'integer?',
  sponsor_id: 'integer?',
  sponsor_nonce: 'integer?',
  fee: 'text',
  event_count: 'integer',
  recipient_id: 'integer?',
  amount: 'text?',
  memo: 'blob?',
  contract_id: 'integer?',
  function_name: 'text?',
  clarity_version: 'integer?',
  tenure_change_cause: 'integer?',
  microblock_sequence: 'integer?',
  microblock_hash: 'blob?',
  microblock_parent_hash: 'blob?',
  genesis_block_time: 'integer?',
});

export const countersTable = tableShape('counters', ['kind', 'key'], {
  kind: 'integer',
  key: 'text',
  count: 'integer',
});

export const dailyCountsTable = tableShape('daily_counts', ['day', 'kind', 'subject_id'], {
  day: 'integer',
  kind: 'integer',
  subject_id: 'integer',
  count: 'integer',
});

export const microblocksTable = tableShape('microblocks', ['ordinal'], {
  ordinal: 'integer',
  hash: 'blob',
  parent_hash: 'blob',
  sequence: 'integer',
  height: 'integer',
});

export const transactionBodiesTable = tableShape('transaction_bodies', ['position'], {
  position: 'integer',
  anchor_mode: 'integer',
  cost_runtime: 'integer',
  cost_read_count: 'integer',
  cost_read_length: 'integer',
  cost_write_count: 'integer',
  cost_write_length: 'integer',
  vm_error: 'text?',
  result: 'blob',
  post_conditions: 'blob',
  function_args: 'blob?',
  genesis_parent_index_block_hash: 'blob?',
  genesis_parent_burn_block_time: 'integer?',
  contract_interface: 'text?',
  raw: 'blob',
});

export const declaredFunctionsTable = tableShape('declared_functions', ['name', 'position'], {
  name: 'text',
  position: 'integer',
});

export const eventsTable = tableShape('events', ['position', 'event_index'], {
  position: 'integer',
  event_index: 'integer',
  kind: 'integer',
  sender_id: 'integer?',
  recipient_id: 'integer?',
  asset_id: 'integer?',
  contract_id: 'integer?',
  topic: 'text?',
  amount: 'text?',
  unlock_height: 'integer?',
  value: 'blob?',
});

export const principalTransactionsTable = tableShape('principal_transactions', ['principal_id', 'position'], {
  principal_id: 'integer',
  position: 'integer',
  affected: 'integer',
  events: 'integer',
  stx_sent: 'text',
  stx_received: 'text',
});

export const accountsTable = tableShape('accounts', ['principal_id'], {
  principal_id: 'integer',
  address: 'text',
  balance: 'text',
  stx_moves: 'integer',
  transactions: 'integer',
  rewards: 'integer',
  stx_inbound: 'integer',
  stx_outbound: 'integer',
  sent: 'integer',
  paid: 'integer',
  calls: 'integer',
  ft_tokens: 'integer',
  nfts: 'integer',
});

export const accountCheckpointsTable = tableShape('account_checkpoints', ['principal_id', 'height'], {
  principal_id: 'integer',
  height: 'integer',
  transactions: 'integer',
  sponsored_only: 'integer',
  events: 'integer',
  locks: 'integer',
  inbound: 'integer',
  last_nonce: 'integer?',
  sent: 'text',
  received: 'text',
  fees: 'text',
  mined: 'text',
});

export const tokenCheckpointsTable = tableShape('token_checkpoints', ['principal_id', 'token', 'asset_id', 'height'], {
  principal_id: 'integer',
  token: 'integer',
  asset_id: 'integer',
  height: 'integer',
  sent: 'text',
  received: 'text',
});

export const memoTransfersTable = tableShape('memo_transfers', ['principal_id', 'position', 'event_index'], {
  principal_id: 'integer',
  position: 'integer',
  event_index: 'integer',
  printed: 'integer',
});

export const tokenChangesTable = tableShape('token_changes', ['principal_id', 'position', 'token', 'asset_id'], {
  principal_id: 'integer',
  position: 'integer',
  token: 'integer',
  asset_id: 'integer',
  sent: 'text',
  received: 'text',
});

export const ftBalancesTable = tableShape('ft_balances', ['asset_id', 'principal_id'], {
  asset_id: 'integer',
  principal_id: 'integer',
  balance: 'text',
  transfers: 'integer',
  address: 'text',
  identifier: 'text',
});

export const assetTotalsTable = tableShape('asset_totals', ['token', 'asset_id'], {
  token: 'integer',
  asset_id: 'integer',
  supply: 'text',
  holders: 'integer',
  accounts: 'integer',
  mints: 'integer',
  events: 'integer',
});

export const nftInstancesTable = tableShape('nft_instances', ['asset_id', 'value'], {
  asset_id: 'integer',
  value: 'blob',
  owner_id: 'integer?',
  position: 'integer',
  event_index: 'integer',
  events: 'integer',
});

export const nftHoldingsTable = tableShape('nft_holdings', ['owner_id', 'identifier'], {
  owner_id: 'integer',
  identifier: 'text',
  asset_id: 'integer',
  instances: 'integer',
});

export const tokenContractsTable = tableShape('token_contracts', ['contract_id'], {
  contract_id: 'integer',
  family: 'integer',
  address: 'text',
  position: 'integer',
  asset_id: 'integer?',
  name_key: 'text?',
  symbol_key: 'text?',
  last_token_id: 'integer?',
  listed: 'integer',
  queued_up_to: 'text?',
  is_forced: 'integer',
});

export const tokensTable = tableShape('tokens', ['contract_id', 'token_id'], {
  contract_id: 'integer',
  token_id: 'text',
  position: 'integer',
  written_at: 'integer?',
  name: 'text?',
  symbol: 'text?',
  decimals: 'text?',
  supply: 'text?',
  uri: 'text?',
});

export const tokenEventsTable = tableShape('token_events', ['contract_id', 'token_id', 'kind', 'position', 'event_index'], {
  contract_id: 'integer',
  token_id: 'text',
  position: 'integer',
  event_index: 'integer',
  kind: 'integer',
  ttl: 'integer?',
});

export const tokenJobsTable = tableShape('token_jobs', ['contract_id', 'token_id', 'work'], {
  contract_id: 'integer',
  token_id: 'text',
  work: 'integer',
  state: 'integer',
  tries: 'integer',
  position: 'integer',
  not_before: 'integer?',
  asked_height: 'integer?',
});

export const namePartsTable = tableShape('name_parts', ['kind', 'place', 'part', 'subject_id'], {
  kind: 'integer',
  place: 'integer',
  part: 'text',
  subject_id: 'integer',
});

export const namespacesTable = tableShape('namespaces', ['namespace', 'position', 'event_index'], {
  namespace: 'text',
  position: 'integer',
  event_index: 'integer',
  lifetime: 'integer?',
  base: 'text',
  coefficient: 'text',
  exponents: 'text',
  nonalpha_discount: 'text',
  no_vowel_discount: 'text',
});

export const nameOperationsTable = tableShape('name_operations', ['name', 'position', 'event_index'], {
  name: 'text',
  namespace: 'text',
  position: 'integer',
  event_index: 'integer',
  operation: 'integer',
  sender_id: 'integer',
  zonefile_hash: 'blob?',
  current: 'integer',
});

export const bnsNamesTable = tableShape('bns_names', ['contract_id', 'bns_id', 'position', 'event_index'], {
  contract_id: 'integer',
  bns_id: 'integer',
  position: 'integer',
  event_index: 'integer',
  operation: 'integer',
  name: 'text',
  namespace: 'text',
  renewal_height: 'integer?',
  current: 'integer',
});

export const bnsNamespacesTable = tableShape('bns_namespaces', ['contract_id', 'namespace', 'position', 'event_index'], {
  contract_id: 'integer',
  namespace: 'text',
  position: 'integer',
  event_index: 'integer',
  lifetime: 'integer',
  launched_at: 'integer?',
});

export const bnsPrimaryNamesTable = tableShape('bns_primary_names', ['contract_id', 'principal_id', 'position', 'event_index'], {
  contract_id: 'integer',
  principal_id: 'integer',
  position: 'integer',
  event_index: 'integer',
  bns_id: 'integer?',
});

export const stxLocksTable = tableShape('stx_locks', ['principal_id', 'position', 'event_index'], {
  principal_id: 'integer',
  position: 'integer',
  event_index: 'integer',
  amount: 'text?',
  unlock_height: 'integer',
  pox_version: 'integer',
});

export const minerRewardsTable = tableShape('miner_rewards', ['height', 'reward_index'], {
  height: 'integer',
  reward_index: 'integer',
  recipient_id: 'integer',
  miner_id: 'integer',
  coinbase: 'text',
  fees_anchored: 'text',
  fees_streamed_confirmed: 'text',
  fees_streamed_produced: 'text',
  from_index_block_hash: 'blob',
});

export const stackingEventsTable = tableShape('stacking_events', ['pox_version', 'ordinal'], {
  pox_version: 'integer',
  ordinal: 'integer',
  position: 'integer',
  event_index: 'integer',
  stacker_id: 'integer',
});

export const delegationsTable = tableShape('delegations', ['pox_version', 'pool_id', 'stacker_id', 'position', 'event_index'], {
  pox_version: 'integer',
  pool_id: 'integer',
  stacker_id: 'integer',
  position: 'integer',
  event_index: 'integer',
  revoked: 'integer',
  unlock_height: 'integer?',
});

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
  pox_address: 'blob?',
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
  address: 'text',
  earned: 'text',
  claimed: 'text',
});

export const stakingRewardsTable = tableShape('staking_rewards', ['staker_id', 'bond_index'], {
  staker_id: 'integer',
  bond_index: 'integer',
  accrued: 'text',
  claimed: 'text',
});

export const cycleRewardsTable = tableShape('cycle_rewards', ['cycle'], {
  cycle: 'integer',
  bonds: 'text',
  stakes: 'text',
  reserve: 'text',
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

export const burnBlocksTable = tableShape('burn_blocks', ['height'], {
  height: 'integer',
  hash: 'blob',
  parent_hash: 'blob?',
  payload: 'blob',
  is_filled: 'integer',
});

export const burnRewardsTable = tableShape('burn_rewards', ['ordinal'], {
  ordinal: 'integer',
  height: 'integer',
  reward_index: 'integer',
  recipient: 'text',
  recipient_ordinal: 'integer',
  amount: 'text',
  recipient_total: 'text',
  burn_amount: 'text',
});

export const burnSlotHoldersTable = tableShape('burn_slot_holders', ['ordinal'], {
  ordinal: 'integer',
  height: 'integer',
  slot_index: 'integer',
  address: 'text',
  address_ordinal: 'integer',
});

export const poxTransactionsTable = tableShape('pox_transactions', ['height', 'tx_id', 'output_index'], {
  height: 'integer',
  tx_id: 'blob',
  output_index: 'integer',
  recipient: 'text',
  recipient_ordinal: 'integer',
  amount: 'text',
});

export const orphanedBurnBlocksTable = tableShape('orphaned_burn_blocks', ['hash'], {
  hash: 'blob',
  height: 'integer',
  parent_hash: 'blob?',
  payload: 'blob',
});

export const orphanedBlocksTable = tableShape('orphaned_blocks', ['index_block_hash'], {
  index_block_hash: 'blob',
  height: 'integer',
  parent_index_block_hash: 'blob',
  block_hash: 'blob',
  burn_block_hash: 'blob',
  burn_block_height: 'integer',
});

export const orphanedTransactionsTable = tableShape('orphaned_transactions', ['tx_id', 'index_block_hash'], {
  tx_id: 'blob',
  index_block_hash: 'blob',
  type: 'integer',
  contract: 'text?',
});

export const blockPayloadsTable = tableShape('block_payloads', ['index_block_hash'], {
  index_block_hash: 'blob',
  journal_id: 'integer',
});

export const attachmentsTable = tableShape('attachments', ['id'], {
  id: 'id',
  content_hash: 'blob',
  tx_id: 'blob',
  index_block_hash: 'blob',
  contract_id: 'text',
  metadata: 'blob',
  content: 'blob',
});

export const subdomainsTable = tableShape('subdomains', ['attachment_id', 'record'], {
  attachment_id: 'integer',
  record: 'integer',
  subdomain: 'text',
  name: 'text',
  owner: 'text',
  resolver: 'text',
  zonefile: 'blob',
});

export const oldNamespacesTable = tableShape('old_namespaces', ['namespace'], {
  namespace: 'text',
  lifetime: 'integer',
  base: 'text',
  coefficient: 'text',
  exponents: 'text',
  nonalpha_discount: 'text',
  no_vowel_discount: 'text',
});

export const oldNamesTable = tableShape('old_names', ['name'], {
  name: 'text',
  parent: 'text',
  owner: 'text',
  zonefile_hash: 'blob',
  resolver: 'text?',
  zonefile: 'text?',
});

export const oldZonefilesTable = tableShape('old_zonefiles', ['hash'], {
  hash: 'blob',
  content: 'text',
});

export const mempoolTransactionsTable = tableShape('mempool_transactions', ['tx_id'], {
  tx_id: 'blob',
  state: 'integer',
  received_at: 'integer',
  receipt_block_height: 'integer',
  replaced_by_tx_id: 'blob?',
  type: 'integer',
  sender_id: 'integer',
  nonce: 'integer',
  sponsor_id: 'integer?',
  sponsor_nonce: 'integer?',
  fee: 'text',
  recipient_id: 'integer?',
  amount: 'text?',
  memo: 'blob?',
  contract_id: 'integer?',
  function_name: 'text?',
  clarity_version: 'integer?',
  size: 'integer',
  raw: 'blob',
});

export const minedReceiptsTable = tableShape('mined_receipts', ['position'], {
  position: 'integer',
  received_at: 'integer',
  receipt_block_height: 'integer',
});

export const earlyDropsTable = tableShape('early_drops', ['tx_id'], {
  tx_id: 'blob',
  state: 'integer',
  replaced_by_tx_id: 'blob?',
  height: 'integer',
});

export const pendingPrincipalsTable = tableShape('pending_principals', ['principal_id', 'received_at', 'tx_id'], {
  principal_id: 'integer',
  received_at: 'integer',
  tx_id: 'blob',
});

export const pendingCountsTable = tableShape('pending_counts', ['principal_id'], {
  principal_id: 'integer',
  transactions: 'integer',
});

export const hooksTable = tableShape('hooks', ['id'], {
  id: 'id',
  uuid: 'text',
  consumer: 'text',
  created_at: 'integer',
  definition: 'text',
  url: 'text',
  stage: 'integer',
  status: 'integer',
  cursor_height: 'integer',
  cursor_hash: 'blob',
  evaluated: 'integer',
  occurrences: 'integer',
  joined: 'integer',
  window_evaluated: 'integer',
  window_occurrences: 'integer',
  expires_at: 'integer?',
  last_evaluated_at: 'integer?',
  last_evaluated_height: 'integer?',
  last_occurrence_at: 'integer?',
  last_occurrence_height: 'integer?',
  sequence: 'integer',
  interrupted_reason: 'text?',
  stuck_delivery: 'integer?',
  consecutive_failures: 'integer',
  last_delivery_at: 'integer?',
  last_delivery_status: 'integer?',
  deleted_at: 'integer?',
});

export const hookSecretsTable = tableShape('hook_secrets', ['consumer'], {
  consumer: 'text',
  secret: 'blob',
  previous: 'blob?',
  rotated_at: 'integer',
});

export const hookDeliveriesTable = tableShape('hook_deliveries', ['id'], {
  id: 'id',
  webhook_id: 'text',
  hook_id: 'integer',
  queue: 'integer',
  reason: 'integer',
  sequence: 'integer?',
  state: 'integer',
  created_at: 'integer',
  next_attempt_at: 'integer?',
  delivered_at: 'integer?',
  tried_since: 'integer?',
  attempts: 'integer',
  blocks: 'text',
  min_height: 'integer',
  max_height: 'integer',
  body_bytes: 'integer',
  body_sha256: 'blob',
  backfill_id: 'integer?',
  problem: 'text?',
});

export const hookBodiesTable = tableShape('hook_bodies', ['delivery_id'], {
  delivery_id: 'integer',
  body: 'blob',
});

export const hookAttemptsTable = tableShape('hook_attempts', ['delivery_id', 'attempt'], {
  delivery_id: 'integer',
  attempt: 'integer',
  at: 'integer',
  duration_ms: 'integer',
  url_host: 'text',
  status_code: 'integer?',
  error: 'text?',
  excerpt: 'text?',
});

export const hookLedgerTable = tableShape('hook_ledger', ['index_block_hash', 'hook_id'], {
  index_block_hash: 'blob',
  hook_id: 'integer',
  height: 'integer',
  burn_block_height: 'integer',
  places: 'text',
});

export const hookBackfillsTable = tableShape('hook_backfills', ['id'], {
  id: 'id',
  uuid: 'text',
  hook_id: 'integer',
  state: 'integer',
  dry_run: 'integer',
  from_height: 'integer',
  to_height: 'integer',
  next_height: 'integer',
  matched_blocks: 'integer',
  matched_transactions: 'integer',
  queued: 'integer',
  delivered: 'integer',
  dead: 'integer',
  created_at: 'integer',
  finished_at: 'integer?',
  error: 'text?',
});

export const progressTable = tableShape('progress', ['id'], {
  id: 'id',
  chain_id: 'integer?',
  journal_id: 'integer',
  journal_chain: 'blob',
  burn_block_height: 'integer',
  mempool_pending: 'integer',
  mempool_version: 'integer',
  tokens_version: 'integer',
  completions: 'integer',
  log_identity: 'blob?',
  hooks_evaluated: 'integer',
  hooks_cursor_height: 'integer',
  hooks_cursor_hash: 'blob',
  hooks_evaluated_at: 'integer?',
  hooks_epoch: 'integer',
  start_height: 'integer?',
  start_index_block_hash: 'blob?',
  start_block_hash: 'blob?',
  start_burn_block_hash: 'blob?',
  start_burn_block_height: 'integer?',
});

export const startingAccountsTable = tableShape('starting_accounts', ['principal_id'], {
  principal_id: 'integer',
  balance: 'text?',
  locked: 'text?',
  unlock_height: 'integer?',
  nonce: 'integer?',
});

export const valueIndexesTable = tableShape('value_indexes', ['id'], {
  id: 'id',
  subject: 'integer',
  contract: 'text',
  scope: 'text',
  wanted: 'integer',
  from_position: 'integer',
  from_event: 'integer',
});

export const valueIndexEntriesTable = tableShape('value_index_entries', ['index_id', 'path', 'value', 'position', 'event_index'], {
  index_id: 'integer',
  path: 'text',
  value: 'text',
  position: 'integer',
  event_index: 'integer',
});

export const changesTable = tableShape('changes', ['id'], {
  id: 'id',
  kind: 'integer',
  subject: 'blob',
});

export const faucetRequestsTable = tableShape('faucet_requests', [], {
  currency: 'text',
  address: 'text',
  requested_at: 'integer',
  ip: 'text',
});
