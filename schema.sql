-- The schema of the index (index.db): one SQLite file with everything that Stackside serves.
--
-- Tables, by group:
--
--   Dictionaries         principals, assets
--   Canonical chain      blocks, anchor_burn_blocks, microblocks, transactions, transaction_bodies, events, counters
--   Contracts            declared_functions, daily_counts
--   Accounts             principal_transactions, accounts, account_checkpoints, token_checkpoints, memo_transfers
--   Token balances       token_changes, ft_balances, nft_instances, nft_holdings, asset_totals
--   Token metadata       token_contracts, tokens, token_events, token_jobs
--   Search               name_parts
--   Names (BNS)          namespaces, name_operations, bns_names, bns_namespaces, bns_primary_names
--   Locks and rewards    stx_locks, miner_rewards
--   Stacking (to pox-4)  stacking_events, delegations, stacking_terms, cycle_stackers, reward_cycles,
--                        cycle_signers
--   Staking (pox-5)      bonds, bond_allowances, bond_registrations, bond_positions, stakes, staking_shares,
--                        staking_rewards, cycle_rewards, signer_keys
--   Bitcoin blocks       burn_blocks, burn_rewards, burn_slot_holders, pox_transactions, orphaned_burn_blocks
--   Off the chain        orphaned_blocks, orphaned_transactions, block_payloads, attachments, subdomains
--   Old names (Stacks 1) old_namespaces, old_names, old_zonefiles
--   Mempool              mempool_transactions, mined_receipts, early_drops, pending_principals, pending_counts
--   Chainhooks           hooks, hook_secrets, hook_deliveries, hook_bodies, hook_attempts, hook_ledger, hook_backfills
--   Bookkeeping          progress, starting_accounts, value_indexes, value_index_entries, changes, faucet_requests
--
-- The chain's tables contain only the canonical chain. Stackside adds a block's rows when it applies the block at the
-- tip and removes them when it reverts the block. These rows depend only on the blocks of the canonical chain, not on
-- the forks that came before.
--
-- Hashes are blobs. Principals and assets are ids from the dictionaries. Times are Unix seconds unless a comment says
-- otherwise. Amounts are micro-STX or a token's base units, up to u128, as decimal text. Columns that lists are sorted
-- by, such as `fee` and `balance`, contain length-prefixed decimals: a letter for the number of digits, then the
-- digits, so that text order is number order. Zero is 'A0'.
--
-- PRAGMA user_version contains the version of the schema. Before the first release, change only this file, and make your
-- indexes again with `stackside rebuild`. After a release, also add an upgrade to store/files/database.ts whose result is
-- this file, and which fills new tables.

------------------------------------------------------------------------------------------------------------- dictionaries

-- One row per address or contract identifier. Rows are never removed, so an id from an orphaned block may be unused.
CREATE TABLE principals (
  id      INTEGER PRIMARY KEY,
  address TEXT NOT NULL UNIQUE
) STRICT;

-- One row per fungible or non-fungible asset, identified by ADDRESS.contract::asset. Rows are never removed.
CREATE TABLE assets (
  id         INTEGER PRIMARY KEY,
  identifier TEXT NOT NULL UNIQUE
) STRICT;

-------------------------------------------------------------------------------------------------------- canonical chain

-- One row per block on the canonical chain. Block 0 has a row only until the first block 1 arrives.
CREATE TABLE blocks (
  height                     INTEGER PRIMARY KEY,
  index_block_hash           BLOB NOT NULL,
  block_hash                 BLOB NOT NULL,
  parent_index_block_hash    BLOB NOT NULL,
  parent_block_hash          BLOB NOT NULL,
  block_time                 INTEGER NOT NULL,
  burn_block_hash            BLOB NOT NULL,
  burn_block_height          INTEGER NOT NULL,
  burn_block_time            INTEGER NOT NULL,
  parent_burn_block_time     INTEGER,
  miner_tx_id                BLOB NOT NULL,
  parent_microblock_hash     BLOB NOT NULL,
  parent_microblock_sequence INTEGER NOT NULL,
  tenure_height              INTEGER,
  -- number of transactions that the node counts; includes failed Bitcoin operations, which have no row, and in block 1
  -- the transactions of block 0
  announced_transactions     INTEGER NOT NULL,
  -- number of rows in transactions: of this block, and of all blocks below
  transactions               INTEGER NOT NULL,
  preceding_transactions     INTEGER NOT NULL,
  -- bytes of all raw transactions
  size                       INTEGER NOT NULL,
  cost_runtime               INTEGER NOT NULL,
  cost_read_count            INTEGER NOT NULL,
  cost_read_length           INTEGER NOT NULL,
  cost_write_count           INTEGER NOT NULL,
  cost_write_length          INTEGER NOT NULL,
  signer_bits                TEXT,
  -- concatenated signatures, 65 bytes each
  signer_signatures          BLOB,
  -- Bitcoin heights at which the locks of pox to pox-4 end; null if the block doesn't contain them
  pox_1_unlock_height        INTEGER,
  pox_2_unlock_height        INTEGER,
  pox_3_unlock_height        INTEGER,
  pox_4_unlock_height        INTEGER,
  -- after the block: micro-STX minted and mined minus micro-STX burnt, and micro-STX of all balances, which lacks the fees
  -- that no miner has received yet; decimal
  stx_supply                 TEXT NOT NULL,
  stx_balances               TEXT NOT NULL,
  -- after the block: number of accounts with a balance above zero, and with stx_moves above zero
  stx_holders                INTEGER NOT NULL,
  stx_accounts               INTEGER NOT NULL
) STRICT;
-- Find a block by either of its hashes.
CREATE UNIQUE INDEX blocks_by_index_block_hash ON blocks (index_block_hash);
CREATE INDEX blocks_by_block_hash ON blocks (block_hash);
-- Finds the newest block at or before a time, and the first block at or after a time.
CREATE INDEX blocks_by_time ON blocks (block_time);
-- Finds the block that contains the n-th transaction.
CREATE INDEX blocks_by_preceding ON blocks (preceding_transactions);
-- Finds the first and the last block of a tenure. All blocks in between belong to the same tenure.
CREATE INDEX blocks_by_tenure ON blocks (tenure_height, height) WHERE tenure_height IS NOT NULL;

-- One row per Bitcoin block that canonical blocks are anchored to, numbered from 1 in chain order without gaps.
CREATE TABLE anchor_burn_blocks (
  ordinal      INTEGER PRIMARY KEY,
  hash         BLOB NOT NULL,
  height       INTEGER NOT NULL,
  time         INTEGER NOT NULL,
  -- height of the first block that is anchored to this Bitcoin block
  first_block  INTEGER NOT NULL,
  -- number of consecutive blocks, from first_block on, that are anchored to this Bitcoin block
  blocks       INTEGER NOT NULL,
  -- sums of announced_transactions and transactions over these blocks
  transactions INTEGER NOT NULL,
  rows         INTEGER NOT NULL
) STRICT;
CREATE INDEX anchor_burn_blocks_by_hash ON anchor_burn_blocks (hash);
CREATE INDEX anchor_burn_blocks_by_height ON anchor_burn_blocks (height);
-- Finds Bitcoin blocks by time. Their times may decrease a little from one block to the next.
CREATE INDEX anchor_burn_blocks_by_time ON anchor_burn_blocks (time, ordinal, first_block, blocks, rows);

-- One row per transaction on the canonical chain. `position` is height * 2^20 + index in the block, so it sorts in
-- chain order.
CREATE TABLE transactions (
  position              INTEGER PRIMARY KEY,
  tx_id                 BLOB NOT NULL,
  tx_index              INTEGER NOT NULL,
  -- wire id of the payload: 0 transfer, 1 and 6 contract, 2 call, 3 poison microblock, 4, 5 and 8 coinbase, 7 tenure
  -- change; 30 if this program doesn't support the type
  type                  INTEGER NOT NULL,
  -- 1 success, -1 abort by response, -2 abort by post-condition, -3 problematic and skipped, -4 unsupported status
  status                INTEGER NOT NULL,
  sender_id             INTEGER NOT NULL,
  -- null for Bitcoin operations, which use no nonce
  nonce                 INTEGER,
  sponsor_id            INTEGER,
  sponsor_nonce         INTEGER,
  -- micro-STX, length-prefixed decimal
  fee                   TEXT NOT NULL,
  event_count           INTEGER NOT NULL,
  -- recipient of a transfer, or of a coinbase reward
  recipient_id          INTEGER,
  amount                TEXT,
  memo                  BLOB,
  -- called or deployed contract
  contract_id           INTEGER,
  function_name         TEXT,
  clarity_version       INTEGER,
  tenure_change_cause   INTEGER,
  -- microblock that contains the transaction; null if the anchor block contains it
  microblock_sequence   INTEGER,
  microblock_hash       BLOB,
  microblock_parent_hash BLOB,
  -- time of block 0, if block 1 shows the transaction for block 0
  genesis_block_time    INTEGER
) STRICT;
CREATE INDEX transactions_by_tx_id ON transactions (tx_id);
-- Checks whether an announced transaction without a nonce is already in a block.
CREATE INDEX transactions_without_nonce ON transactions (tx_id) WHERE nonce IS NULL;
-- Find the last nonce that an account used as origin, and as sponsor.
CREATE INDEX transactions_by_sender_nonce ON transactions (sender_id, nonce) WHERE nonce IS NOT NULL;
CREATE INDEX transactions_by_sponsor_nonce ON transactions (sponsor_id, sponsor_nonce) WHERE sponsor_id IS NOT NULL;
-- Serve the filters and sort orders of v1's list of transactions. Every index ends with the rowid, so that equal keys
-- are in chain order.
CREATE INDEX transactions_by_type ON transactions (type);
CREATE INDEX transactions_by_fee ON transactions (fee);
CREATE INDEX transactions_by_sender ON transactions (sender_id);
CREATE INDEX transactions_by_recipient ON transactions (recipient_id) WHERE type = 0;
CREATE INDEX transactions_by_called_contract ON transactions (contract_id) WHERE type = 2;
-- Deployments of a contract, including failed deployments.
CREATE INDEX transactions_by_deployment ON transactions (contract_id) WHERE type IN (1, 6);
CREATE INDEX transactions_by_function ON transactions (function_name) WHERE type = 2;
CREATE INDEX transactions_by_call ON transactions (contract_id, function_name) WHERE type = 2;
CREATE INDEX transactions_by_nonce ON transactions (nonce) WHERE nonce IS NOT NULL;

-- One row per count that lists and filters need. A row exists while its count is not 0.
CREATE TABLE counters (
  -- 1 transactions by type, 2 calls by function name, 3 token jobs by work and state, such as 1/0, 4 token contracts by
  -- family, 5 tokens by family, 6 logs by contract identifier, 7 and 8 solo and pooled stackers by cycle and signer key,
  -- such as 84/02A1…
  kind  INTEGER NOT NULL,
  key   TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- One row per day and contract with at least one call, or token with at least one event.
CREATE TABLE daily_counts (
  -- day of the block's time: days since 1970, in UTC
  day        INTEGER NOT NULL,
  -- 0 calls of a contract, 1 events of a fungible token, 2 events of a non-fungible asset
  kind       INTEGER NOT NULL,
  -- id of the contract in principals, or of the token in assets
  subject_id INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (day, kind, subject_id)
) STRICT, WITHOUT ROWID;
-- Serves the most-called contracts and the most active tokens of a day.
CREATE INDEX daily_counts_by_count ON daily_counts (day, kind, count, subject_id);

-- One row per microblock that a canonical block confirmed (Stacks 2.x), numbered from 1 in chain order without gaps.
CREATE TABLE microblocks (
  ordinal     INTEGER PRIMARY KEY,
  hash        BLOB NOT NULL,
  parent_hash BLOB NOT NULL,
  sequence    INTEGER NOT NULL,
  -- height of the block that confirmed the microblock
  height      INTEGER NOT NULL
) STRICT;
CREATE INDEX microblocks_by_hash ON microblocks (hash);
CREATE INDEX microblocks_by_height ON microblocks (height);

-- One row per transaction, with the columns that only responses with a single transaction include. Lists read
-- `transactions`.
CREATE TABLE transaction_bodies (
  position           INTEGER PRIMARY KEY,
  anchor_mode        INTEGER NOT NULL,
  cost_runtime       INTEGER NOT NULL,
  cost_read_count    INTEGER NOT NULL,
  cost_read_length   INTEGER NOT NULL,
  cost_write_count   INTEGER NOT NULL,
  cost_write_length  INTEGER NOT NULL,
  vm_error           TEXT,
  result             BLOB NOT NULL,
  -- mode byte and list, in wire format
  post_conditions    BLOB NOT NULL,
  -- arguments of a Bitcoin operation; null for other transactions, whose arguments are in `raw`
  function_args      BLOB,
  -- values of block 0, if block 1 shows the transaction for block 0
  genesis_parent_index_block_hash BLOB,
  genesis_parent_burn_block_time  INTEGER,
  -- JSON; only for deployments
  contract_interface TEXT,
  raw                BLOB NOT NULL
) STRICT;

-- One row per deployment and function name that it declares, if the node sent the contract's interface.
CREATE TABLE declared_functions (
  name     TEXT NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (name, position)
) STRICT, WITHOUT ROWID;

-- One row per event of a transaction, in order.
CREATE TABLE events (
  position      INTEGER NOT NULL,
  event_index   INTEGER NOT NULL,
  -- 1 contract log, 2 STX lock, 3 to 5 STX transfer, mint, burn, 6 to 8 FT, 9 to 11 NFT, 0 unsupported event
  kind          INTEGER NOT NULL,
  -- sender; locked account of an STX lock
  sender_id     INTEGER,
  recipient_id  INTEGER,
  asset_id      INTEGER,
  -- only for contract logs
  contract_id   INTEGER,
  -- topic of a contract log, contract name of a lock, or the node's name for an unsupported event
  topic         TEXT,
  amount        TEXT,
  -- Bitcoin height; only for locks
  unlock_height INTEGER,
  -- serialized Clarity value of a log or an NFT, memo of a transfer, or JSON of an unsupported event
  value         BLOB,
  PRIMARY KEY (position, event_index)
) STRICT, WITHOUT ROWID;

-- Serve the STX that a principal received, and sent.
CREATE INDEX events_stx_inbound ON events (recipient_id, position, event_index) WHERE kind IN (3, 4);
CREATE INDEX events_stx_outbound ON events (sender_id, position, event_index) WHERE kind IN (3, 5);
-- Serve the units of a token that a principal received, and sent.
CREATE INDEX events_ft_inbound ON events (asset_id, recipient_id, position, event_index) WHERE kind IN (6, 7);
CREATE INDEX events_ft_outbound ON events (asset_id, sender_id, position, event_index) WHERE kind IN (6, 8);
-- Serves all events of a fungible token. A list of three kinds would take a third longer per event: SQLite makes a table of
-- such a list for each row that it adds.
CREATE INDEX events_ft ON events (asset_id, position, event_index) WHERE kind BETWEEN 6 AND 8;
-- Serves the history of an NFT.
CREATE INDEX events_nft ON events (asset_id, value, position, event_index) WHERE kind >= 9;
-- Serves the mints of a non-fungible asset.
CREATE INDEX events_nft_mints ON events (asset_id, position, event_index) WHERE kind = 10;
-- Serves the logs of a contract.
CREATE INDEX events_logs ON events (contract_id, position, event_index) WHERE kind = 1;

-- One row per principal and transaction that involves it, with the effect on the principal's STX.
CREATE TABLE principal_transactions (
  principal_id INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  -- bits: 1 STX, 2 fungible and 4 non-fungible tokens changed; 8 STX moved, or would have moved with a fee above zero;
  -- 16 the principal only sponsored the transaction
  affected     INTEGER NOT NULL,
  -- number of asset events that the principal took part in; a transfer to itself counts once
  events       INTEGER NOT NULL,
  stx_sent     TEXT NOT NULL,
  stx_received TEXT NOT NULL,
  PRIMARY KEY (principal_id, position)
) STRICT, WITHOUT ROWID;

-- One row per principal with a transaction or a reward: its STX, including locked STX, and the totals of its lists.
CREATE TABLE accounts (
  principal_id  INTEGER PRIMARY KEY,
  -- copy of principals.address: holders are sorted by balance, then by address
  address       TEXT NOT NULL,
  -- micro-STX, length-prefixed decimal; negative in partial recordings
  balance       TEXT NOT NULL,
  -- number of rewards, and of transactions that moved its STX or would have moved STX with a fee above zero
  stx_moves     INTEGER NOT NULL,
  -- number of rows in principal_transactions
  transactions  INTEGER NOT NULL,
  -- number of rows in miner_rewards
  rewards       INTEGER NOT NULL,
  -- number of STX events that it received by, and sent by
  stx_inbound   INTEGER NOT NULL,
  stx_outbound  INTEGER NOT NULL,
  -- numbers of transactions that it signed as origin, of token transfers to it, and of calls to it
  sent          INTEGER NOT NULL,
  paid          INTEGER NOT NULL,
  calls         INTEGER NOT NULL,
  -- number of fungible tokens with a balance above zero
  ft_tokens     INTEGER NOT NULL,
  -- number of NFTs that it owns
  nfts          INTEGER NOT NULL
) STRICT;
-- Serves the holders of STX, and the accounts that v1 lists after the holders. Negative balances sort before zero.
CREATE INDEX accounts_by_balance ON accounts (balance DESC, address) WHERE balance > 'A0' OR stx_moves > 0;

-- One row per account and block in which the account's number of transactions and rewards reached or passed a multiple
-- of 64: the sums of the account up to this block. To get the sums at any height, Stackside reads the checkpoint below
-- the height and adds the fewer than 64 transactions and rewards that follow.
CREATE TABLE account_checkpoints (
  principal_id   INTEGER NOT NULL,
  height         INTEGER NOT NULL,
  -- number of rows in principal_transactions, and of those in which the account is only the sponsor
  transactions   INTEGER NOT NULL,
  sponsored_only INTEGER NOT NULL,
  -- number of asset events that it took part in, of locks of its STX, and of STX transfers to it (transfer
  -- transactions, and rows in memo_transfers)
  events         INTEGER NOT NULL,
  locks          INTEGER NOT NULL,
  inbound        INTEGER NOT NULL,
  -- highest nonce that it used, as origin or sponsor
  last_nonce     INTEGER,
  -- micro-STX sent and received by events, paid as fees, and received as rewards; decimal
  sent           TEXT NOT NULL,
  received       TEXT NOT NULL,
  fees           TEXT NOT NULL,
  mined          TEXT NOT NULL,
  PRIMARY KEY (principal_id, height)
) STRICT, WITHOUT ROWID;

-- One row per account checkpoint and token that changed since the account's previous checkpoint: the token's sums.
CREATE TABLE token_checkpoints (
  principal_id INTEGER NOT NULL,
  -- as in token_changes
  token        INTEGER NOT NULL,
  asset_id     INTEGER NOT NULL,
  height       INTEGER NOT NULL,
  sent         TEXT NOT NULL,
  received     TEXT NOT NULL,
  PRIMARY KEY (principal_id, token, asset_id, height)
) STRICT, WITHOUT ROWID;

-- One row per STX transfer event with a memo that isn't part of a token transfer transaction. v1 lists these events
-- together with token transfers. `principal_id` is the recipient.
CREATE TABLE memo_transfers (
  principal_id INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  event_index  INTEGER NOT NULL,
  -- 1 if the send-many contract printed the memo in the next event, 0 if the transfer event contains the memo
  printed      INTEGER NOT NULL,
  PRIMARY KEY (principal_id, position, event_index)
) STRICT, WITHOUT ROWID;

-- One row per transaction, principal and token that the transaction moved: the sums of the transaction's events.
CREATE TABLE token_changes (
  principal_id INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  -- 1 fungible, 2 non-fungible
  token        INTEGER NOT NULL,
  asset_id     INTEGER NOT NULL,
  -- base units, or number of NFTs
  sent         TEXT NOT NULL,
  received     TEXT NOT NULL,
  PRIMARY KEY (principal_id, position, token, asset_id)
) STRICT, WITHOUT ROWID;

-- One row per fungible token and principal that took part in at least one of its events.
CREATE TABLE ft_balances (
  asset_id     INTEGER NOT NULL,
  principal_id INTEGER NOT NULL,
  -- base units, length-prefixed decimal
  balance      TEXT NOT NULL,
  -- number of events of the token that the principal took part in; a transfer to itself counts once
  transfers    INTEGER NOT NULL,
  -- copies from the dictionaries: lists sort equal balances by address or by identifier
  address      TEXT NOT NULL,
  identifier   TEXT NOT NULL,
  PRIMARY KEY (asset_id, principal_id)
) STRICT, WITHOUT ROWID;
-- Serves the holders of a token, and the former holders that v1 lists after them.
CREATE INDEX ft_balances_by_asset ON ft_balances (asset_id, balance DESC, address);
-- Serves the tokens of a principal, by balance.
CREATE INDEX ft_balances_by_principal ON ft_balances (principal_id, balance DESC, identifier) WHERE balance > 'A0';
-- Serves the tokens of a principal, by name. The index has no condition on the balance: with one, SQLite would write
-- the index with every change of a balance.
CREATE INDEX ft_balances_by_identifier ON ft_balances (principal_id, identifier COLLATE NOCASE);

-- One row per fungible token, and non-fungible asset (collection), with at least one event.
CREATE TABLE asset_totals (
  -- as in token_changes
  token    INTEGER NOT NULL,
  asset_id INTEGER NOT NULL,
  -- base units minted minus base units burnt; or number of NFTs that have an owner; decimal
  supply   TEXT NOT NULL,
  -- number of principals with a balance above zero, or with at least one NFT
  holders  INTEGER NOT NULL,
  -- number of rows in ft_balances; 0 for a collection
  accounts INTEGER NOT NULL,
  -- number of mints of a collection; 0 for a fungible token
  mints    INTEGER NOT NULL,
  events   INTEGER NOT NULL,
  PRIMARY KEY (token, asset_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX asset_totals_by_holders ON asset_totals (token, holders);

-- One row per NFT that was ever minted, with its last event. A burnt NFT has no owner.
CREATE TABLE nft_instances (
  asset_id    INTEGER NOT NULL,
  -- serialized Clarity value
  value       BLOB NOT NULL,
  owner_id    INTEGER,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  events      INTEGER NOT NULL,
  PRIMARY KEY (asset_id, value)
) STRICT, WITHOUT ROWID;
-- Serves the NFTs of an owner, by asset and value.
CREATE INDEX nft_instances_by_owner ON nft_instances (owner_id, asset_id, value) WHERE owner_id IS NOT NULL;
-- Serve the NFTs of an owner, newest first, without and with a filter by asset.
CREATE INDEX nft_instances_by_receipt ON nft_instances (owner_id, position, event_index) WHERE owner_id IS NOT NULL;
CREATE INDEX nft_instances_of_asset_by_receipt ON nft_instances (owner_id, asset_id, position, event_index)
  WHERE owner_id IS NOT NULL;

-- One row per owner and non-fungible asset: the number of NFTs. The key contains the identifier because an owner's
-- assets are sorted by it.
CREATE TABLE nft_holdings (
  owner_id   INTEGER NOT NULL,
  identifier TEXT NOT NULL,
  asset_id   INTEGER NOT NULL,
  instances  INTEGER NOT NULL,
  PRIMARY KEY (owner_id, identifier)
) STRICT, WITHOUT ROWID;

-------------------------------------------------------------------------------------------------- metadata of tokens

-- One row per deployed contract with the interface of SIP-009, SIP-010 or SIP-013 (chain/token-contracts.ts). The
-- node's answers about tokens are stored as commands (store/ingest/token-commands.ts).
CREATE TABLE token_contracts (
  contract_id   INTEGER PRIMARY KEY,
  -- 1 fungible, 2 non-fungible, 3 semi-fungible
  family        INTEGER NOT NULL,
  -- copy of principals.address, which lists are sorted by
  address       TEXT NOT NULL,
  -- position of the deployment
  position      INTEGER NOT NULL,
  -- fungible tokens: the first asset that the contract declares
  asset_id      INTEGER,
  -- fungible tokens: name and symbol in lower case, for lists and search
  name_key      TEXT,
  symbol_key    TEXT,
  -- non-fungible tokens: the node's last token id (ids start at 1), and the id up to which `tokens` contains the tokens
  last_token_id INTEGER,
  listed        INTEGER NOT NULL,
  -- id of the last token that was queued (as in tokens), while Stackside queues all tokens of the contract in order;
  -- empty before the first token; null if it isn't queueing all tokens
  queued_up_to  TEXT,
  -- 1 if the operator requested all tokens, 0 if a notification did
  is_forced     INTEGER NOT NULL
) STRICT;
-- Serves the contracts of a family in chain order.
CREATE INDEX token_contracts_by_family ON token_contracts (family, position);
-- Finds the contract of an asset.
CREATE INDEX token_contracts_by_asset ON token_contracts (asset_id) WHERE asset_id IS NOT NULL;
-- Serve the lists of fungible tokens, with unnamed tokens last or first.
CREATE INDEX token_contracts_by_name ON token_contracts (name_key, address) WHERE family = 1;
CREATE INDEX token_contracts_by_name_down ON token_contracts (name_key DESC, address) WHERE family = 1;
CREATE INDEX token_contracts_by_symbol ON token_contracts (symbol_key, address) WHERE family = 1;
CREATE INDEX token_contracts_by_symbol_down ON token_contracts (symbol_key DESC, address) WHERE family = 1;
-- Finds contracts with tokens that still have to be listed or queued.
CREATE INDEX token_contracts_unfinished ON token_contracts (contract_id)
 WHERE listed < last_token_id OR queued_up_to IS NOT NULL;

-- One row per token of a token contract. A fungible token has id 1. Other tokens come from mints, and from the node's
-- last token id. Texts are stored as the contract returned them.
CREATE TABLE tokens (
  contract_id INTEGER NOT NULL,
  -- length-prefixed decimal
  token_id    TEXT NOT NULL,
  -- position of the deployment or of the first mint; position of the tip if the node listed the token first
  position    INTEGER NOT NULL,
  -- time of the node's last answer, in Unix milliseconds; null before the first answer
  written_at  INTEGER,
  name        TEXT,
  symbol      TEXT,
  -- decimal
  decimals    TEXT,
  -- base units, decimal: the node's answer plus later mints, minus later burns
  supply      TEXT,
  -- URI after the token id was inserted
  uri         TEXT,
  PRIMARY KEY (contract_id, token_id)
) STRICT, WITHOUT ROWID;

-- One row per mint of a token, and per notification that its metadata changed (SIP-019).
CREATE TABLE token_events (
  contract_id INTEGER NOT NULL,
  -- as in tokens; empty for a notification about all tokens that the contract had at the time
  token_id    TEXT NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  -- 0 mint; modes of a notification: 1 standard, 2 frozen, 3 dynamic
  kind        INTEGER NOT NULL,
  -- seconds until a dynamic token is read again
  ttl         INTEGER,
  -- the last mint, the notification that froze a token, and the newest one of each other mode are found by their kind
  PRIMARY KEY (contract_id, token_id, kind, position, event_index)
) STRICT, WITHOUT ROWID;

-- One row per query to the node about a token or a token contract: the queue and the results.
CREATE TABLE token_jobs (
  contract_id  INTEGER NOT NULL,
  -- as in tokens; empty for queries about the contract
  token_id     TEXT NOT NULL,
  -- 0 the contract's last token id, 1 the results of a token's read-only functions
  work         INTEGER NOT NULL,
  -- 0 pending, 1 done, 2 failed, 3 invalid
  state        INTEGER NOT NULL,
  -- number of consecutive attempts without an answer
  tries        INTEGER NOT NULL,
  -- chain position of the transaction that queued the job; new jobs run in this order
  position     INTEGER NOT NULL,
  -- time of the next attempt, in Unix milliseconds; null before the first attempt, and if there is no automatic retry
  not_before   INTEGER,
  -- height of the block at which the node was last queried
  asked_height INTEGER,
  PRIMARY KEY (contract_id, token_id, work)
) STRICT, WITHOUT ROWID;
-- Find the new jobs of each kind, and the jobs to retry.
CREATE INDEX token_jobs_new ON token_jobs (work, position, contract_id, token_id) WHERE state = 0 AND tries = 0;
CREATE INDEX token_jobs_again ON token_jobs (work, not_before) WHERE not_before IS NOT NULL;
-- Finds the jobs to repeat when a fork orphans the block of their answer.
CREATE INDEX token_jobs_by_height ON token_jobs (asked_height) WHERE asked_height IS NOT NULL;


------------------------------------------------------------------------------------------------------------- search

-- One row per suffix of a name of a contract, an asset or a token, in lower case. A search for names that start with or
-- contain a text is then one range of rows. Identifiers are found only by their start (store/rows/name-parts.ts).
CREATE TABLE name_parts (
  -- name of a 1 contract, 2 fungible asset, 3 non-fungible asset; 4 name and 5 symbol of a fungible token, as its
  -- contract returned them
  kind       INTEGER NOT NULL,
  -- 0 if the part starts at the start of the name, 1 if inside the name, 2 if it is the whole identifier
  place      INTEGER NOT NULL,
  part       TEXT NOT NULL,
  -- id of the contract in principals, or of the asset in assets
  subject_id INTEGER NOT NULL,
  PRIMARY KEY (kind, place, part, subject_id)
) STRICT, WITHOUT ROWID;

------------------------------------------------------------------------------------------------------------- names (BNS)

-- One row per launch of a namespace, and per change of its price function. The last row applies. Numbers are decimal u128.
CREATE TABLE namespaces (
  namespace         TEXT NOT NULL,
  position          INTEGER NOT NULL,
  event_index       INTEGER NOT NULL,
  -- lease of a name in blocks, at most 2^31 - 1; 0 if leases don't end; null in a change of the price function
  lifetime          INTEGER,
  base              TEXT NOT NULL,
  coefficient       TEXT NOT NULL,
  -- 16 exponents, by the length of the name, separated by spaces
  exponents         TEXT NOT NULL,
  nonalpha_discount TEXT NOT NULL,
  no_vowel_discount TEXT NOT NULL,
  PRIMARY KEY (namespace, position, event_index)
) STRICT, WITHOUT ROWID;

-- One row per operation on a name.
CREATE TABLE name_operations (
  -- full name: alice.btc
  name          TEXT NOT NULL,
  namespace     TEXT NOT NULL,
  position      INTEGER NOT NULL,
  -- index of the event that reports the operation; last index + 1 for a renewal without an event
  event_index   INTEGER NOT NULL,
  -- 1 import, 2 register, 3 update, 4 transfer, 5 renewal, 6 revoke
  operation     INTEGER NOT NULL,
  -- owner or importer that called the name contract
  sender_id     INTEGER NOT NULL,
  -- 20 bytes; null if the operation contains no hash
  zonefile_hash BLOB,
  -- 1 for the last operation on the name
  current       INTEGER NOT NULL,
  PRIMARY KEY (name, position, event_index)
) STRICT, WITHOUT ROWID;
-- Names that are not revoked.
CREATE INDEX active_names ON name_operations (name) WHERE current = 1 AND operation <> 6;
CREATE INDEX active_names_by_namespace ON name_operations (namespace, name) WHERE current = 1 AND operation <> 6;

-- One row per operation on a name of a contract named BNS-V2 (chain/bns-v2.ts).
CREATE TABLE bns_names (
  contract_id    INTEGER NOT NULL,
  -- number of the name's token. A name that is registered again after a burn has another number.
  bns_id         INTEGER NOT NULL,
  position       INTEGER NOT NULL,
  -- index of the event that reports the operation
  event_index    INTEGER NOT NULL,
  -- 1 new, 2 airdrop, 3 transfer, 4 renewal, 5 burn
  operation      INTEGER NOT NULL,
  -- full name: alice.btc
  name           TEXT NOT NULL,
  namespace      TEXT NOT NULL,
  -- Bitcoin height at which the name must be renewed, at most 2^31 - 1; 0 if it has none; null if it was not printed
  renewal_height INTEGER,
  -- 1 if this is the token's last operation, and not a burn
  current        INTEGER NOT NULL,
  PRIMARY KEY (contract_id, bns_id, position, event_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX bns_names_current ON bns_names (contract_id, name, bns_id) WHERE current = 1;
CREATE INDEX bns_names_by_namespace ON bns_names (contract_id, namespace, name, bns_id) WHERE current = 1;

-- One row per print of a namespace by a contract named BNS-V2. The last row applies.
CREATE TABLE bns_namespaces (
  contract_id INTEGER NOT NULL,
  namespace   TEXT NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  -- Bitcoin blocks until a name must be renewed, at most 2^31 - 1; 0 if names never expire
  lifetime    INTEGER NOT NULL,
  -- Bitcoin height; null before the launch
  launched_at INTEGER,
  PRIMARY KEY (contract_id, namespace, position, event_index)
) STRICT, WITHOUT ROWID;

-- One row per change of a principal's primary name in a contract named BNS-V2. The last row applies.
CREATE TABLE bns_primary_names (
  contract_id  INTEGER NOT NULL,
  principal_id INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  -- index of the event; number of the transaction's events for a call without an event
  event_index  INTEGER NOT NULL,
  -- number of the token; null if the principal no longer has a primary name
  bns_id       INTEGER,
  PRIMARY KEY (contract_id, principal_id, position, event_index)
) STRICT, WITHOUT ROWID;

-------------------------------------------------------------------------------------------------------- locks and rewards

-- One row per change of an account's lock. The last row applies.
CREATE TABLE stx_locks (
  principal_id  INTEGER NOT NULL,
  position      INTEGER NOT NULL,
  event_index   INTEGER NOT NULL,
  -- micro-STX; null if only the unlock height changed
  amount        TEXT,
  -- Bitcoin height
  unlock_height INTEGER NOT NULL,
  pox_version   INTEGER NOT NULL,
  PRIMARY KEY (principal_id, position, event_index)
) STRICT, WITHOUT ROWID;

-- One row per miner reward (coinbase and fees) that matured in a block. Amounts are micro-STX.
CREATE TABLE miner_rewards (
  height                   INTEGER NOT NULL,
  reward_index             INTEGER NOT NULL,
  recipient_id             INTEGER NOT NULL,
  miner_id                 INTEGER NOT NULL,
  coinbase                 TEXT NOT NULL,
  fees_anchored            TEXT NOT NULL,
  fees_streamed_confirmed  TEXT NOT NULL,
  fees_streamed_produced   TEXT NOT NULL,
  from_index_block_hash    BLOB NOT NULL,
  PRIMARY KEY (height, reward_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX miner_rewards_by_recipient ON miner_rewards (recipient_id, height);

---------------------------------------------------------------------------------------------- stacking: pox to pox-4

-- One row per print of pox-2, pox-3 or pox-4, numbered from 1 per contract in chain order. `events.value` contains the
-- print.
CREATE TABLE stacking_events (
  pox_version INTEGER NOT NULL,
  ordinal     INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  -- stacker in the print; the pool operator if the print is an aggregation
  stacker_id  INTEGER NOT NULL,
  PRIMARY KEY (pox_version, ordinal)
) STRICT, WITHOUT ROWID;
-- Serve the prints of a transaction, and of a stacker.
CREATE UNIQUE INDEX stacking_events_by_position ON stacking_events (pox_version, position, event_index);
CREATE INDEX stacking_events_by_stacker ON stacking_events (pox_version, stacker_id, ordinal);

-- One row per delegation to a pool, or revocation of one.
CREATE TABLE delegations (
  pox_version   INTEGER NOT NULL,
  pool_id       INTEGER NOT NULL,
  stacker_id    INTEGER NOT NULL,
  position      INTEGER NOT NULL,
  event_index   INTEGER NOT NULL,
  revoked       INTEGER NOT NULL,
  -- Bitcoin height; null if the delegation never ends
  unlock_height INTEGER,
  PRIMARY KEY (pox_version, pool_id, stacker_id, position, event_index)
) STRICT, WITHOUT ROWID;
-- Serves the delegations to a pool in chain order.
CREATE INDEX delegations_by_pool ON delegations (pox_version, pool_id, position, event_index);

-- One row per print of pox-4 that locks STX for reward cycles: from first_cycle up to, but not including, end_cycle.
CREATE TABLE stacking_terms (
  stacker_id  INTEGER NOT NULL,
  -- 0 solo stacker, 1 member of a pool, 2 commitment of a pool to a signer
  role        INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  first_cycle INTEGER NOT NULL,
  end_cycle   INTEGER NOT NULL,
  -- micro-STX, length-prefixed decimal; and a copy of principals.address: stackers are sorted by both
  locked      TEXT NOT NULL,
  address     TEXT NOT NULL,
  -- null for a member of a pool: the pool's commitment contains the key
  signer_key  BLOB,
  pool_id     INTEGER,
  -- version byte and hash of the Bitcoin address, by which a pool commits its members' STX; null if the print has none
  pox_address BLOB,
  PRIMARY KEY (stacker_id, role, position, event_index)
) STRICT, WITHOUT ROWID;

-- One row per reward cycle and stacker, from the stacker's last print for the cycle. `role` is 0 or 1.
CREATE TABLE cycle_stackers (
  cycle       INTEGER NOT NULL,
  role        INTEGER NOT NULL,
  stacker_id  INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  locked      TEXT NOT NULL,
  address     TEXT NOT NULL,
  -- null until the pool commits the STX of the stacker's Bitcoin address
  signer_key  BLOB,
  pool_id     INTEGER,
  PRIMARY KEY (cycle, role, stacker_id)
) STRICT, WITHOUT ROWID;
-- Serves the stackers of a signer, largest amount first.
CREATE INDEX cycle_stackers_by_signer ON cycle_stackers (cycle, signer_key, locked DESC, address, role) WHERE signer_key IS NOT NULL;
-- Finds the members of a pool, which get a signer when the pool commits their STX.
CREATE INDEX cycle_stackers_by_pool ON cycle_stackers (cycle, pool_id, stacker_id) WHERE pool_id IS NOT NULL;

-- One row per reward cycle with a chosen signer set, in any version of pox.
CREATE TABLE reward_cycles (
  cycle   INTEGER PRIMARY KEY,
  -- height of the block that chose the signers
  height  INTEGER NOT NULL,
  signers INTEGER NOT NULL,
  weight  INTEGER NOT NULL,
  -- micro-STX
  stacked TEXT NOT NULL
) STRICT;

-- One row per reward cycle and signer. A cycle has at most as many signers as reward slots, so lists sort them.
CREATE TABLE cycle_signers (
  cycle      INTEGER NOT NULL,
  signer_key BLOB NOT NULL,
  weight     INTEGER NOT NULL,
  -- micro-STX, length-prefixed decimal
  stacked    TEXT NOT NULL,
  PRIMARY KEY (cycle, signer_key)
) STRICT, WITHOUT ROWID;

----------------------------------------------------------------------------------------------------- staking: pox-5

-- One row per bond. If a bond is set up twice, the first setup counts. Heights are Bitcoin heights.
CREATE TABLE bonds (
  bond_index        INTEGER PRIMARY KEY,
  position          INTEGER NOT NULL,
  event_index       INTEGER NOT NULL,
  -- basis points per year
  target_rate       INTEGER NOT NULL,
  -- micro-STX per 100 sats
  stx_value_ratio   INTEGER NOT NULL,
  -- basis points
  minimum_stx_ratio INTEGER NOT NULL,
  first_cycle       INTEGER NOT NULL,
  start_height      INTEGER NOT NULL,
  unlock_cycle      INTEGER NOT NULL,
  unlock_height     INTEGER NOT NULL,
  -- number of rows in bond_allowances since the setup, and the sum of their sats
  allowed           INTEGER NOT NULL,
  capacity          TEXT NOT NULL,
  -- number of rows in bond_registrations since the setup
  registered        INTEGER NOT NULL,
  -- sats and micro-STX locked by the current positions
  btc_locked        TEXT NOT NULL,
  stx_locked        TEXT NOT NULL,
  -- sats that stakers claimed
  paid_out          TEXT NOT NULL
) STRICT;

-- One row per allowance: the sats that a staker may register in a bond.
CREATE TABLE bond_allowances (
  bond_index  INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  staker_id   INTEGER NOT NULL,
  sats        TEXT NOT NULL,
  -- newest transaction first; events of a transaction in order
  PRIMARY KEY (bond_index, position DESC, event_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX bond_allowances_by_staker ON bond_allowances (bond_index, staker_id, position, event_index);

-- One row per registration for a bond. The current signer and amounts are in bond_positions.
CREATE TABLE bond_registrations (
  bond_index  INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  staker_id   INTEGER NOT NULL,
  -- Bitcoin outputs that lock the sats, 36 bytes each: transaction id as Bitcoin shows it, output index; null if the
  -- staker deposited sBTC
  outputs     BLOB,
  PRIMARY KEY (bond_index, position, event_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX bond_registrations_by_staker ON bond_registrations (bond_index, staker_id, position, event_index);

-- One row per event that changed a staker's position in a bond: the position after the event. The last row is
-- `current`.
CREATE TABLE bond_positions (
  staker_id       INTEGER NOT NULL,
  bond_index      INTEGER NOT NULL,
  position        INTEGER NOT NULL,
  event_index     INTEGER NOT NULL,
  current         INTEGER NOT NULL,
  -- copy of principals.address, which a signer's stakers are sorted by
  address         TEXT NOT NULL,
  signer_id       INTEGER NOT NULL,
  early_exit      INTEGER NOT NULL,
  active          INTEGER NOT NULL,
  -- sats and micro-STX
  btc_locked      TEXT NOT NULL,
  stx_locked      TEXT NOT NULL,
  -- sats of the last registration or update, and the position of its transaction
  registered_sats TEXT NOT NULL,
  enrolled_at     INTEGER NOT NULL,
  first_cycle     INTEGER NOT NULL,
  -- sats that earn rewards, and the first cycle in which they do
  weight          TEXT NOT NULL,
  weight_cycle    INTEGER NOT NULL,
  PRIMARY KEY (staker_id, bond_index, position, event_index)
) STRICT, WITHOUT ROWID;
-- Serves the bonds of a principal.
CREATE UNIQUE INDEX bond_positions_current ON bond_positions (staker_id, bond_index) WHERE current = 1;
-- Finds the stakers that share a distribution to a bond.
CREATE INDEX bond_positions_by_bond ON bond_positions (bond_index, staker_id, position, event_index);
-- Serves the stakers of a signer.
CREATE INDEX bond_positions_by_signer ON bond_positions (signer_id, address) WHERE current = 1;

-- One row per event that changed a stake of STX without a bond: the stake after the event. The last row is `current`.
CREATE TABLE stakes (
  staker_id     INTEGER NOT NULL,
  position      INTEGER NOT NULL,
  event_index   INTEGER NOT NULL,
  current       INTEGER NOT NULL,
  -- as in bond_positions
  address       TEXT NOT NULL,
  signer_id     INTEGER NOT NULL,
  -- micro-STX; 0 after a bond locked the STX of the stake
  amount        TEXT NOT NULL,
  first_cycle   INTEGER NOT NULL,
  -- first cycle that this row applies to, and the cycle in which the stake ends
  from_cycle    INTEGER NOT NULL,
  unlock_cycle  INTEGER NOT NULL,
  -- Bitcoin height
  unlock_height INTEGER NOT NULL,
  PRIMARY KEY (staker_id, position, event_index)
) STRICT, WITHOUT ROWID;
-- Serves the stakers of a signer.
CREATE INDEX stakes_by_signer ON stakes (signer_id, address, unlock_height) WHERE current = 1 AND amount <> '0';

-- One row per staker, bond, signer and cycle with rewards. `bond_index` is -1 for STX without a bond.
CREATE TABLE staking_shares (
  staker_id  INTEGER NOT NULL,
  bond_index INTEGER NOT NULL,
  signer_id  INTEGER NOT NULL,
  cycle      INTEGER NOT NULL,
  -- as in bond_positions
  address    TEXT NOT NULL,
  -- earned sats times 10^18, and claimed sats
  earned     TEXT NOT NULL,
  claimed    TEXT NOT NULL,
  PRIMARY KEY (staker_id, bond_index, signer_id, cycle)
) STRICT, WITHOUT ROWID;
-- Serves the stakers of a signer in a cycle.
CREATE INDEX staking_shares_by_signer ON staking_shares (signer_id, cycle, address, bond_index);

-- One row per staker and bond with a sum that isn't zero: the whole sats of each share in staking_shares, and the
-- claimed sats.
CREATE TABLE staking_rewards (
  staker_id  INTEGER NOT NULL,
  bond_index INTEGER NOT NULL,
  accrued    TEXT NOT NULL,
  claimed    TEXT NOT NULL,
  PRIMARY KEY (staker_id, bond_index)
) STRICT, WITHOUT ROWID;

-- One row per reward cycle with rewards, in sats: calculated for bonds, for STX without a bond and for the reserve, and
-- claimed by signers for their stakers.
CREATE TABLE cycle_rewards (
  cycle   INTEGER PRIMARY KEY,
  bonds   TEXT NOT NULL,
  stakes  TEXT NOT NULL,
  reserve TEXT NOT NULL,
  claimed TEXT NOT NULL
) STRICT;

-- One row per registration, grant or revocation of a signer key. A signer's last registration is `current`.
CREATE TABLE signer_keys (
  signer_id   INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  -- 1 registration, 2 grant, 3 revocation
  action      INTEGER NOT NULL,
  signer_key  BLOB NOT NULL,
  -- authorization id of a grant; decimal
  auth_id     TEXT,
  current     INTEGER NOT NULL,
  -- copy of the signer's address, which signers are sorted by
  address     TEXT NOT NULL,
  PRIMARY KEY (signer_id, position, event_index)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX signers ON signer_keys (address) WHERE current = 1;
-- Finds the signers that registered a key.
CREATE INDEX signer_keys_registrations ON signer_keys (signer_key, position, event_index) WHERE action = 1;

----------------------------------------------------------------------------------------------------------- bitcoin blocks

-- One row per Bitcoin block on the canonical chain. `payload` is the JSON of the event, compressed with zstd.
CREATE TABLE burn_blocks (
  height      INTEGER PRIMARY KEY,
  hash        BLOB NOT NULL,
  parent_hash BLOB,
  payload     BLOB NOT NULL,
  -- 1 if Stackside filled the block from the node's RPC API, which has no payouts, slot holders or pox transactions; 0
  -- if the node announced the block
  is_filled   INTEGER NOT NULL
) STRICT;
CREATE INDEX burn_blocks_by_hash ON burn_blocks (hash);
CREATE INDEX burn_blocks_filled ON burn_blocks (height) WHERE is_filled = 1;

-- One row per payout of a canonical Bitcoin block to a stacker, in sats. Payouts are numbered from 1 in chain order,
-- and also per recipient.
CREATE TABLE burn_rewards (
  ordinal           INTEGER PRIMARY KEY,
  height            INTEGER NOT NULL,
  -- index in the node's list
  reward_index      INTEGER NOT NULL,
  recipient         TEXT NOT NULL,
  recipient_ordinal INTEGER NOT NULL,
  amount            TEXT NOT NULL,
  -- running total for the recipient, including this row
  recipient_total   TEXT NOT NULL,
  -- sats that the block's miners burnt
  burn_amount       TEXT NOT NULL
) STRICT;
CREATE INDEX burn_rewards_by_height ON burn_rewards (height, ordinal);
CREATE INDEX burn_rewards_by_recipient ON burn_rewards (recipient, recipient_ordinal);

-- One row per reward slot of a canonical Bitcoin block: an address that the block had to pay. Slots are numbered from 1
-- in chain order, and also per address.
CREATE TABLE burn_slot_holders (
  ordinal         INTEGER PRIMARY KEY,
  height          INTEGER NOT NULL,
  slot_index      INTEGER NOT NULL,
  address         TEXT NOT NULL,
  address_ordinal INTEGER NOT NULL
) STRICT;
CREATE INDEX burn_slot_holders_by_height ON burn_slot_holders (height, ordinal);
CREATE INDEX burn_slot_holders_by_address ON burn_slot_holders (address, address_ordinal);

-- One row per Bitcoin output that paid a stacker. Outputs are numbered from 1 per recipient; within a block, the output
-- that lists show last has the lowest number.
CREATE TABLE pox_transactions (
  height            INTEGER NOT NULL,
  tx_id             BLOB NOT NULL,
  output_index      INTEGER NOT NULL,
  recipient         TEXT NOT NULL,
  recipient_ordinal INTEGER NOT NULL,
  -- sats
  amount            TEXT NOT NULL,
  PRIMARY KEY (height, tx_id, output_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX pox_transactions_by_recipient ON pox_transactions (recipient, recipient_ordinal);

-- One row per Bitcoin block that a Bitcoin fork replaced.
CREATE TABLE orphaned_burn_blocks (
  hash        BLOB NOT NULL UNIQUE,
  height      INTEGER NOT NULL,
  parent_hash BLOB,
  payload     BLOB NOT NULL
) STRICT;

------------------------------------------------------------------------------------------------------- off the chain

-- One row per stored block that isn't canonical, and one for block 0, whose transactions block 1 shows.
CREATE TABLE orphaned_blocks (
  index_block_hash        BLOB PRIMARY KEY,
  height                  INTEGER NOT NULL,
  parent_index_block_hash BLOB NOT NULL,
  block_hash              BLOB NOT NULL,
  burn_block_hash         BLOB NOT NULL,
  burn_block_height       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Serve v1, which returns an orphaned block if no canonical block has the height or hash. By Bitcoin block, v1 returns
-- the highest orphaned block.
CREATE INDEX orphaned_blocks_by_height ON orphaned_blocks (height);
CREATE INDEX orphaned_blocks_by_hash ON orphaned_blocks (block_hash, height);
CREATE INDEX orphaned_blocks_by_burn_hash ON orphaned_blocks (burn_block_hash, height);
CREATE INDEX orphaned_blocks_by_burn_height ON orphaned_blocks (burn_block_height, height);

-- One row per orphaned block and transaction in it, without block 0, to find the block.
CREATE TABLE orphaned_transactions (
  tx_id            BLOB NOT NULL,
  index_block_hash BLOB NOT NULL,
  -- as in transactions
  type             INTEGER NOT NULL,
  -- identifier of the contract that the transaction deploys
  contract         TEXT,
  PRIMARY KEY (tx_id, index_block_hash)
) STRICT, WITHOUT ROWID;
-- Serves the transactions of an orphaned block.
CREATE INDEX orphaned_transactions_by_block ON orphaned_transactions (index_block_hash);
CREATE INDEX orphaned_transactions_by_contract ON orphaned_transactions (contract) WHERE contract IS NOT NULL;

-- One row per block: the journal entry that contains its payload, needed to revert the block or to apply it again.
CREATE TABLE block_payloads (
  index_block_hash BLOB NOT NULL UNIQUE,
  journal_id       INTEGER NOT NULL
) STRICT;

-- One row per attachment, such as a zonefile, in the order in which the node posted them.
CREATE TABLE attachments (
  id               INTEGER PRIMARY KEY,
  content_hash     BLOB NOT NULL,
  tx_id            BLOB NOT NULL,
  index_block_hash BLOB NOT NULL,
  contract_id      TEXT NOT NULL,
  -- serialized Clarity value
  metadata         BLOB NOT NULL,
  content          BLOB NOT NULL,
  -- one transaction may attach the same content to two names
  UNIQUE (tx_id, content_hash, index_block_hash, metadata)
) STRICT;

-- One row per subdomain that a zonefile declares. A row counts only while the attachment's transaction is in the block
-- that the attachment names and this block is canonical. The block may arrive after the attachment.
CREATE TABLE subdomains (
  attachment_id INTEGER NOT NULL,
  -- index of the record in the zonefile
  record        INTEGER NOT NULL,
  -- full name: joe.alice.btc
  subdomain     TEXT NOT NULL,
  -- name that the subdomain belongs to: alice.btc
  name          TEXT NOT NULL,
  -- address as the zonefile contains it
  owner         TEXT NOT NULL,
  -- URL of the resolver; empty if the zonefile names none
  resolver      TEXT NOT NULL,
  zonefile      BLOB NOT NULL,
  PRIMARY KEY (attachment_id, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX subdomains_by_name ON subdomains (name, subdomain);
CREATE INDEX subdomains_by_owner ON subdomains (owner, subdomain);

-- The tables old_… contain the name system of Stacks 1, if an operator imported it. Their rows count from block 1 on,
-- unless the chain has newer data about the name.

-- One row per namespace of Stacks 1.
CREATE TABLE old_namespaces (
  namespace         TEXT PRIMARY KEY,
  -- as in namespaces
  lifetime          INTEGER NOT NULL,
  base              TEXT NOT NULL,
  coefficient       TEXT NOT NULL,
  exponents         TEXT NOT NULL,
  nonalpha_discount TEXT NOT NULL,
  no_vowel_discount TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per name and per subdomain of Stacks 1.
CREATE TABLE old_names (
  name          TEXT PRIMARY KEY,
  -- namespace of a name, name of a subdomain
  parent        TEXT NOT NULL,
  owner         TEXT NOT NULL,
  zonefile_hash BLOB NOT NULL,
  -- URL of the resolver, or empty; null for a name
  resolver      TEXT,
  -- null for a name, whose zonefile is in old_zonefiles
  zonefile      TEXT
) STRICT;
CREATE INDEX old_names_without_subdomains ON old_names (name) WHERE resolver IS NULL;
CREATE INDEX old_names_by_parent ON old_names (parent, name);
CREATE INDEX old_names_by_owner ON old_names (owner, name);

-- One row per zonefile of a Stacks 1 name, by the RIPEMD-160 of its SHA-256.
CREATE TABLE old_zonefiles (
  hash    BLOB PRIMARY KEY,
  content TEXT NOT NULL
) STRICT, WITHOUT ROWID;

----------------------------------------------------------------------------------------------------------------- mempool

-- One row per transaction that the node announced, or that came back from an orphaned block, and that isn't on the
-- chain. Dropped transactions stay, because the API still returns them.
CREATE TABLE mempool_transactions (
  tx_id                BLOB NOT NULL UNIQUE,
  -- 0 pending, -10 replaced by fee, -11 replaced across fork, -12 too expensive, -13 stale, -14 removed by Stackside
  -- because of its age, -15 problematic, -16 replaced by fee and also dropped by the node; 1 (mined) is never stored
  state                INTEGER NOT NULL,
  -- Unix microseconds: lists show the newest receipt first, even within one second
  received_at          INTEGER NOT NULL,
  receipt_block_height INTEGER NOT NULL,
  replaced_by_tx_id    BLOB,
  type                 INTEGER NOT NULL,
  sender_id            INTEGER NOT NULL,
  nonce                INTEGER NOT NULL,
  sponsor_id           INTEGER,
  sponsor_nonce        INTEGER,
  -- micro-STX, length-prefixed decimal
  fee                  TEXT NOT NULL,
  recipient_id         INTEGER,
  amount               TEXT,
  memo                 BLOB,
  contract_id          INTEGER,
  function_name        TEXT,
  clarity_version      INTEGER,
  -- bytes of raw
  size                 INTEGER NOT NULL,
  raw                  BLOB NOT NULL
) STRICT;
-- Serves the pending transactions, newest first.
CREATE INDEX mempool_pending ON mempool_transactions (received_at, tx_id) WHERE state = 0;
-- Find the transactions that spend the same nonce, in any state.
CREATE INDEX mempool_by_sender_nonce ON mempool_transactions (sender_id, nonce);
CREATE INDEX mempool_by_sponsor_nonce ON mempool_transactions (sponsor_id, sponsor_nonce) WHERE sponsor_id IS NOT NULL;
-- Serve the pending transactions of an account, as origin and as sponsor.
CREATE INDEX mempool_pending_by_sender ON mempool_transactions (sender_id, nonce) WHERE state = 0;
CREATE INDEX mempool_pending_by_sponsor ON mempool_transactions (sponsor_id, sponsor_nonce) WHERE state = 0 AND sponsor_id IS NOT NULL;
-- Serves the dropped transactions of an origin, newest first.
CREATE INDEX mempool_dropped_by_sender ON mempool_transactions (sender_id, received_at, tx_id) WHERE state < 0;
-- Finds the transactions that are old enough to be removed. Before Nakamoto, the age is counted in blocks.
CREATE INDEX mempool_by_receipt_height ON mempool_transactions (receipt_block_height) WHERE state = 0;
-- Serves the statistics per transaction type: fees, ages and sizes.
CREATE INDEX mempool_pending_fees ON mempool_transactions (type, fee, receipt_block_height, size) WHERE state = 0;
-- Serve the other sort orders of v1's list.
CREATE INDEX mempool_pending_by_fee ON mempool_transactions (fee, tx_id) WHERE state = 0;
CREATE INDEX mempool_pending_by_size ON mempool_transactions (size, tx_id) WHERE state = 0;

-- One row per announced transaction in the newest 6,000 blocks: the time of its receipt. A reorg restores the
-- transaction with this time.
CREATE TABLE mined_receipts (
  position             INTEGER PRIMARY KEY,
  -- as in mempool_transactions
  received_at          INTEGER NOT NULL,
  receipt_block_height INTEGER NOT NULL
) STRICT;

-- One row per drop of a transaction that wasn't pending: not announced yet, or in a block. The drop applies if the
-- transaction becomes pending. Rows are removed after 6,000 blocks.
CREATE TABLE early_drops (
  tx_id             BLOB PRIMARY KEY,
  -- state that the transaction will get, as in mempool_transactions
  state             INTEGER NOT NULL,
  replaced_by_tx_id BLOB,
  -- height of the tip when the node posted the drop
  height            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX early_drops_by_height ON early_drops (height);

-- One row per pending transaction and principal that is its origin, sponsor, recipient or contract.
CREATE TABLE pending_principals (
  principal_id INTEGER NOT NULL,
  received_at  INTEGER NOT NULL,
  tx_id        BLOB NOT NULL,
  PRIMARY KEY (principal_id, received_at, tx_id)
) STRICT, WITHOUT ROWID;

-- One row per principal with rows in pending_principals: their number.
CREATE TABLE pending_counts (
  principal_id INTEGER PRIMARY KEY,
  transactions INTEGER NOT NULL
) STRICT;

-------------------------------------------------------------------------------------------------------------- chainhooks

-- These tables depend on the blocks and on the commands in the log, so a rebuild makes them from the journal, like the
-- chain's tables. Times are Unix milliseconds. A delivery is queued in the same transaction that applies its block.

-- One row per chainhook. Deleted chainhooks stay as long as their deliveries.
CREATE TABLE hooks (
  id                     INTEGER PRIMARY KEY,
  uuid                   TEXT NOT NULL UNIQUE,
  -- owner of the API key that registered the hook
  consumer               TEXT NOT NULL,
  created_at             INTEGER NOT NULL,
  -- JSON, as the client sent it
  definition             TEXT NOT NULL,
  url                    TEXT NOT NULL,
  -- 0 idle: evaluates no blocks; 1 live: shares the cursor in progress; 2 catching up from its own cursor; 3 and 4
  -- paused because the log was restored to an earlier point (3 if the hook was enabled, 4 if it was idle). A paused hook
  -- sends nothing until a user enables or disables it
  stage                  INTEGER NOT NULL,
  -- 0 new, 1 streaming, 2 expired, 3 interrupted; if the hook is live, 0 counts as streaming from its first block
  -- on
  status                 INTEGER NOT NULL,
  -- last evaluated block, unless the hook is live; before block 1, height 0 and an empty hash
  cursor_height          INTEGER NOT NULL,
  cursor_hash            BLOB NOT NULL,
  -- number of evaluated blocks, and of blocks that matched; for a live hook, add progress.hooks_evaluated - joined to
  -- the first
  evaluated              INTEGER NOT NULL,
  occurrences            INTEGER NOT NULL,
  -- progress.hooks_evaluated when the hook went live
  joined                 INTEGER NOT NULL,
  -- both counts when the current budget started, and the value of progress.hooks_evaluated at which a live hook expires
  window_evaluated       INTEGER NOT NULL,
  window_occurrences     INTEGER NOT NULL,
  expires_at             INTEGER,
  last_evaluated_at      INTEGER,
  last_evaluated_height  INTEGER,
  last_occurrence_at     INTEGER,
  last_occurrence_height INTEGER,
  -- sequence number of the last delivery in the live queue
  sequence               INTEGER NOT NULL,
  interrupted_reason     TEXT,
  -- delivery that interrupted the hook; it is sent first when a user enables the hook again
  stuck_delivery         INTEGER,
  consecutive_failures   INTEGER NOT NULL,
  last_delivery_at       INTEGER,
  last_delivery_status   INTEGER,
  deleted_at             INTEGER
) STRICT;
-- Serves the hooks of a consumer, newest first.
CREATE INDEX hooks_by_consumer ON hooks (consumer, created_at DESC, uuid) WHERE deleted_at IS NULL;
-- Find the live hooks that expire with the next blocks, and the hooks by stage.
CREATE INDEX hooks_expiring ON hooks (expires_at) WHERE stage = 1 AND expires_at IS NOT NULL;
CREATE INDEX hooks_by_stage ON hooks (stage) WHERE stage > 0;

-- One row per consumer: the secret that signs its deliveries. After a rotation, the previous secret also signs for a day.
CREATE TABLE hook_secrets (
  consumer   TEXT PRIMARY KEY,
  secret     BLOB NOT NULL,
  previous   BLOB,
  rotated_at INTEGER NOT NULL
) STRICT;

-- One row per delivery, in order of creation: both the outbox and the delivery history.
CREATE TABLE hook_deliveries (
  id              INTEGER PRIMARY KEY,
  webhook_id      TEXT NOT NULL UNIQUE,
  hook_id         INTEGER NOT NULL,
  -- 0 live, 1 evaluate, 2 backfill, 3 redelivery; each queue of a hook is sent in order, independently of the other
  -- queues
  queue           INTEGER NOT NULL,
  -- 0 live, 1 catch-up, 2 evaluate, 3 backfill, 4 redelivery
  reason          INTEGER NOT NULL,
  -- sequence number in the live queue; null in other queues
  sequence        INTEGER,
  -- 0 pending, 1 failed and to be retried, 2 delivered, 3 dead, 4 cancelled
  state           INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  next_attempt_at INTEGER,
  delivered_at    INTEGER,
  -- time of the first attempt in the current budget
  tried_since     INTEGER,
  attempts        INTEGER NOT NULL,
  -- JSON: the applied and rolled back blocks in the payload
  blocks          TEXT NOT NULL,
  min_height      INTEGER NOT NULL,
  max_height      INTEGER NOT NULL,
  body_bytes      INTEGER NOT NULL,
  body_sha256     BLOB NOT NULL,
  backfill_id     INTEGER,
  -- reason if the delivery has no body
  problem         TEXT
) STRICT;
-- Serves the open deliveries of a queue.
CREATE INDEX hook_deliveries_queue ON hook_deliveries (hook_id, queue, id) WHERE state <= 1;
-- Serve the delivery history of a hook, without and with a filter by state.
CREATE INDEX hook_deliveries_log ON hook_deliveries (hook_id, id);
CREATE INDEX hook_deliveries_by_state ON hook_deliveries (hook_id, state, id);
-- Finds the deliveries that are old enough to be deleted.
CREATE INDEX hook_deliveries_done ON hook_deliveries (created_at) WHERE state IN (2, 4);
-- Finds the open deliveries of a backfill.
CREATE INDEX hook_deliveries_by_backfill ON hook_deliveries (backfill_id) WHERE backfill_id IS NOT NULL AND state <= 1;

-- One row per delivery with a stored body: JSON, compressed with zstd.
CREATE TABLE hook_bodies (
  delivery_id INTEGER PRIMARY KEY,
  body        BLOB NOT NULL
) STRICT;

-- One row per attempt of a delivery.
CREATE TABLE hook_attempts (
  delivery_id INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  url_host    TEXT NOT NULL,
  status_code INTEGER,
  error       TEXT,
  -- first characters of the receiver's response
  excerpt     TEXT,
  PRIMARY KEY (delivery_id, attempt)
) STRICT, WITHOUT ROWID;

-- One row per hook and block that the hook was notified of. A rollback lists the same transactions again, even if the
-- filters changed since.
CREATE TABLE hook_ledger (
  index_block_hash  BLOB NOT NULL,
  hook_id           INTEGER NOT NULL,
  height            INTEGER NOT NULL,
  burn_block_height INTEGER NOT NULL,
  -- JSON: indexes of the transactions in the block
  places            TEXT NOT NULL,
  PRIMARY KEY (index_block_hash, hook_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_ledger_by_hook ON hook_ledger (hook_id, height);
CREATE INDEX hook_ledger_by_burn_height ON hook_ledger (burn_block_height);

-- One row per backfill: a job that delivers past blocks to a hook.
CREATE TABLE hook_backfills (
  id                   INTEGER PRIMARY KEY,
  uuid                 TEXT NOT NULL UNIQUE,
  hook_id              INTEGER NOT NULL,
  -- 0 queued, 1 running, 2 completed, 3 cancelled, 4 failed
  state                INTEGER NOT NULL,
  -- 1 if the backfill only counts matches
  dry_run              INTEGER NOT NULL,
  from_height          INTEGER NOT NULL,
  to_height            INTEGER NOT NULL,
  next_height          INTEGER NOT NULL,
  matched_blocks       INTEGER NOT NULL,
  matched_transactions INTEGER NOT NULL,
  queued               INTEGER NOT NULL,
  delivered            INTEGER NOT NULL,
  dead                 INTEGER NOT NULL,
  created_at           INTEGER NOT NULL,
  finished_at          INTEGER,
  error                TEXT
) STRICT;
CREATE INDEX hook_backfills_by_hook ON hook_backfills (hook_id, id);
CREATE INDEX hook_backfills_open ON hook_backfills (id) WHERE state <= 1;

------------------------------------------------------------------------------------------------------------- bookkeeping

-- One row: the position of the index in the log, versions for ETags, and the cursor that all live hooks share. A block
-- therefore updates one row, not one row per hook.
CREATE TABLE progress (
  id                INTEGER PRIMARY KEY CHECK (id = 1),
  chain_id          INTEGER,
  -- number of the last entry that the index contains, and the entry's chain value (store/log/entry.ts)
  journal_id        INTEGER NOT NULL,
  journal_chain     BLOB NOT NULL,
  -- height of the newest Bitcoin block that the node reported
  burn_block_height INTEGER NOT NULL,
  mempool_pending   INTEGER NOT NULL,
  -- grows with every change of the mempool, and is at least the time of the change in Unix microseconds; for ETags
  mempool_version   INTEGER NOT NULL,
  -- same as mempool_version, for commands about tokens
  tokens_version    INTEGER NOT NULL,
  -- number of events that changed blocks below the tip without a fork: the node's own event for a filled block, or a
  -- filled Bitcoin block below the newest; for ETags and caches
  completions       INTEGER NOT NULL,
  -- random name of the log, set by its command log.identity; null before the first entry
  log_identity      BLOB CHECK (length(log_identity) = 16),
  -- number of blocks that live hooks evaluated so far, and the last one; before block 1, height 0 and an empty hash
  hooks_evaluated     INTEGER NOT NULL,
  hooks_cursor_height INTEGER NOT NULL,
  hooks_cursor_hash   BLOB NOT NULL,
  -- Unix milliseconds
  hooks_evaluated_at  INTEGER,
  -- highest epoch of a lease with delivery results; 0 if no cluster host has delivered
  hooks_epoch         INTEGER NOT NULL,
  -- start of a partial history, from the payload of the first block: its height; null for the whole chain
  start_height            INTEGER,
  -- hashes of the block below the first block
  start_index_block_hash  BLOB,
  start_block_hash        BLOB,
  -- Bitcoin block that elected the tenure of the block below
  start_burn_block_hash   BLOB,
  start_burn_block_height INTEGER
) STRICT;
INSERT INTO progress VALUES
  (1, NULL, 0, zeroblob(32), 0, 0, 0, 0, 0, NULL, 0, 0, x'', NULL, 0, NULL, NULL, NULL, NULL, NULL);

-- One row per account of a partial history that an indexed block touched: its state just before the first block. Until the
-- node has returned the state, the other columns are null.
CREATE TABLE starting_accounts (
  principal_id  INTEGER PRIMARY KEY,
  -- micro-STX, including locked STX; decimal
  balance       TEXT,
  -- micro-STX; decimal
  locked        TEXT,
  -- Bitcoin height at which the lock ends; 0 without a lock
  unlock_height INTEGER,
  -- next nonce
  nonce         INTEGER
) STRICT;
CREATE INDEX starting_accounts_unasked ON starting_accounts (principal_id) WHERE balance IS NULL;

-- One row per value index that the operator configured: logs of a contract by their fields, or calls to it by their
-- arguments. The tables value_… belong to this host and aren't part of the log.
CREATE TABLE value_indexes (
  id            INTEGER PRIMARY KEY,
  -- 1 logs, 2 calls
  subject       INTEGER NOT NULL,
  -- contract as the operator wrote it; it may not exist
  contract      TEXT NOT NULL,
  -- field of the logs, or function name; empty for all
  scope         TEXT NOT NULL,
  -- 0 if the operator no longer configures the index, and Stackside is removing its entries
  wanted        INTEGER NOT NULL,
  -- the entries cover logs and calls from this event on; Stackside adds earlier entries until both columns are 0
  from_position INTEGER NOT NULL,
  from_event    INTEGER NOT NULL
) STRICT;

-- One row per decoded value and event or call that contains it. Equal values are in chain order.
CREATE TABLE value_index_entries (
  index_id    INTEGER NOT NULL,
  -- field names, joined by dots; for an argument, its function and index. rows/value-keys.ts builds path and value
  path        TEXT NOT NULL,
  value       TEXT NOT NULL,
  position    INTEGER NOT NULL,
  -- 0 for a call
  event_index INTEGER NOT NULL,
  PRIMARY KEY (index_id, path, value, position, event_index)
) STRICT, WITHOUT ROWID;

-- One row per change that subscribers receive, in order. Other threads and processes read the changes here. Only the
-- newest rows stay. Imports and rebuilds add none.
CREATE TABLE changes (
  id      INTEGER PRIMARY KEY,
  -- block: 1 joined the chain, 2 arrived outside the chain, 3 left the chain; transaction: 4 entered the mempool, 5
  -- came back from an orphaned block, 6 dropped
  kind    INTEGER NOT NULL,
  -- index block hash or transaction id
  subject BLOB NOT NULL
) STRICT;

-- One row per payout of a faucet, for as long as it counts towards the limits.
CREATE TABLE faucet_requests (
  -- stx, btc or sbtc
  currency     TEXT NOT NULL,
  address      TEXT NOT NULL,
  -- Unix milliseconds
  requested_at INTEGER NOT NULL,
  -- IP address of the client
  ip           TEXT NOT NULL
) STRICT;
CREATE INDEX faucet_requests_by_address ON faucet_requests (currency, address, requested_at);
