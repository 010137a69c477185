/** Tables of accounts: what each has, and what its history came to. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

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
