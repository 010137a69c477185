/** Tables of fungible and non-fungible tokens. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

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

export const ftTokensTable = tableShape('ft_tokens', ['asset_id'], {
  asset_id: 'integer',
  supply: 'text',
  holders: 'integer',
  accounts: 'integer',
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

export const nftMintsTable = tableShape('nft_mints', ['asset_id'], {
  asset_id: 'integer',
  mints: 'integer',
});

export const nftHoldingsTable = tableShape('nft_holdings', ['owner_id', 'identifier'], {
  owner_id: 'integer',
  identifier: 'text',
  asset_id: 'integer',
  instances: 'integer',
});
