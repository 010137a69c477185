-- The index: everything Stackside serves, in one SQLite file. PRAGMA user_version has
-- the version of this schema. A change after a release adds an upgrade to store/files/database.ts, and changes this file to
-- its result.
--
-- The tables of the chain hold the canonical chain alone: a block's rows are added when it is applied at the tip and
-- taken away when it is reverted. They are all functions of the blocks of the chain, whatever way the chain went.
--
-- Hashes are blobs. Principals and assets are numbers into dictionaries. Times are Unix seconds. Amounts (micro-STX or a
-- token's base units, up to u128) are decimal text where they are only shown, and decimal text behind a letter that
-- gives its length (so that text order is number order) where lists are ordered by them: `fee`, `balance`. Zero is 'A0'.

------------------------------------------------------------------------------------------------------------- dictionaries

-- Addresses and contract identifiers. Rows are never removed: an id that an orphaned block brought in may stay unused.
CREATE TABLE principals (
  id      INTEGER PRIMARY KEY,
  address TEXT NOT NULL UNIQUE
) STRICT;

-- Asset identifiers of fungible and non-fungible tokens: ADDRESS.contract::asset.
CREATE TABLE assets (
  id         INTEGER PRIMARY KEY,
  identifier TEXT NOT NULL UNIQUE
) STRICT;

-------------------------------------------------------------------------------------------------------- canonical chain

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
  -- as the node counts, with Bitcoin operations that failed and have no row; block 1 counts block 0's too
  announced_transactions     INTEGER NOT NULL,
  -- rows in transactions, and those of the blocks below
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
  -- 65 bytes each, one after the other
  signer_signatures          BLOB,
  -- Bitcoin heights at which the locks of pox to pox-4 end; null where the block doesn't say
  pox_1_unlock_height        INTEGER,
  pox_2_unlock_height        INTEGER,
  pox_3_unlock_height        INTEGER,
  pox_4_unlock_height        INTEGER
) STRICT;
-- A block by either of its hashes.
CREATE UNIQUE INDEX blocks_by_index_block_hash ON blocks (index_block_hash);
CREATE INDEX blocks_by_block_hash ON blocks (block_hash);
-- The newest block at or before a time, and the first since one.
CREATE INDEX blocks_by_time ON blocks (block_time);
-- The block of the n-th transaction.
CREATE INDEX blocks_by_preceding ON blocks (preceding_transactions);
-- First and last block of a tenure: those between are its own too.
CREATE INDEX blocks_by_tenure ON blocks (tenure_height, height) WHERE tenure_height IS NOT NULL;

-- The Bitcoin blocks that canonical blocks are anchored to, numbered from 1 in the order of the chain without gaps.
CREATE TABLE anchor_burn_blocks (
  ordinal      INTEGER PRIMARY KEY,
  hash         BLOB NOT NULL,
  height       INTEGER NOT NULL,
  time         INTEGER NOT NULL,
  -- height of the first block anchored to it; those that follow are anchored to it as well
  first_block  INTEGER NOT NULL,
  -- how many those are
  blocks       INTEGER NOT NULL,
  -- sums of their announced_transactions and transactions
  transactions INTEGER NOT NULL,
  rows         INTEGER NOT NULL
) STRICT;
CREATE INDEX anchor_burn_blocks_by_hash ON anchor_burn_blocks (hash);
CREATE INDEX anchor_burn_blocks_by_height ON anchor_burn_blocks (height);
-- Bitcoin's clock may run back a little from one block to the next.
CREATE INDEX anchor_burn_blocks_by_time ON anchor_burn_blocks (time, ordinal, first_block, blocks, rows);

-- `position` is height * 2^20 + place in the block, so its order is the order of the chain.
CREATE TABLE transactions (
  position              INTEGER PRIMARY KEY,
  tx_id                 BLOB NOT NULL,
  tx_index              INTEGER NOT NULL,
  -- the payload's wire id: 0 transfer, 1 and 6 contract, 2 call, 3 poison microblock, 4, 5 and 8 coinbase, 7 tenure change;
  -- 30 of a kind that this program doesn't know
  type                  INTEGER NOT NULL,
  -- 1 success, -1 abort by response, -2 abort by post-condition, -3 problematic and skipped, -4 not known to this program
  status                INTEGER NOT NULL,
  sender_id             INTEGER NOT NULL,
  -- null for operations made on Bitcoin, which use none
  nonce                 INTEGER,
  sponsor_id            INTEGER,
  sponsor_nonce         INTEGER,
  -- micro-STX, length-prefixed decimal
  fee                   TEXT NOT NULL,
  event_count           INTEGER NOT NULL,
  -- of a transfer; who gets the reward of a coinbase
  recipient_id          INTEGER,
  amount                TEXT,
  memo                  BLOB,
  -- called or deployed
  contract_id           INTEGER,
  function_name         TEXT,
  clarity_version       INTEGER,
  tenure_change_cause   INTEGER,
  -- of the microblock that held it; null in an anchor block
  microblock_sequence   INTEGER,
  microblock_hash       BLOB,
  microblock_parent_hash BLOB,
  -- of block 0, for the transactions that block 1 shows for it
  genesis_block_time    INTEGER
) STRICT;
CREATE INDEX transactions_by_tx_id ON transactions (tx_id);
-- Whether an announced transaction is in a block, where nonces don't say it.
CREATE INDEX transactions_without_nonce ON transactions (tx_id) WHERE nonce IS NULL;
-- Last nonce an account used, as origin and as sponsor.
CREATE INDEX transactions_by_sender_nonce ON transactions (sender_id, nonce) WHERE nonce IS NOT NULL;
CREATE INDEX transactions_by_sponsor_nonce ON transactions (sponsor_id, sponsor_nonce) WHERE sponsor_id IS NOT NULL;
-- The filters and orders of v1's list, each in the order of the chain: the rowid ends every index.
CREATE INDEX transactions_by_type ON transactions (type);
CREATE INDEX transactions_by_fee ON transactions (fee);
CREATE INDEX transactions_by_sender ON transactions (sender_id);
CREATE INDEX transactions_by_recipient ON transactions (recipient_id) WHERE type = 0;
CREATE INDEX transactions_by_called_contract ON transactions (contract_id) WHERE type = 2;
CREATE INDEX transactions_by_function ON transactions (function_name) WHERE type = 2;
CREATE INDEX transactions_by_call ON transactions (contract_id, function_name) WHERE type = 2;
CREATE INDEX transactions_by_nonce ON transactions (nonce) WHERE nonce IS NOT NULL;

-- Counts of rows that lists and filters need; a row exists while its count is not 0.
CREATE TABLE counters (
  -- 1 transactions by type, 2 calls by the name of the function, 3 work for tokens by kind and state, such as 1/0;
  -- 4 contracts of tokens and 5 tokens, by family
  kind  INTEGER NOT NULL,
  key   TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- How often each contract was called on each day; a row exists while it was.
CREATE TABLE contract_days (
  -- of the block's time: days since 1970, in UTC
  day         INTEGER NOT NULL,
  contract_id INTEGER NOT NULL,
  calls       INTEGER NOT NULL,
  PRIMARY KEY (day, contract_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX contract_days_by_calls ON contract_days (day, calls, contract_id);

-- The microblocks that canonical blocks confirmed (Stacks 2.x), numbered from 1 in the order of the chain without gaps.
CREATE TABLE microblocks (
  ordinal     INTEGER PRIMARY KEY,
  hash        BLOB NOT NULL,
  parent_hash BLOB NOT NULL,
  sequence    INTEGER NOT NULL,
  -- of the block that confirmed it
  height      INTEGER NOT NULL
) STRICT;
CREATE INDEX microblocks_by_hash ON microblocks (hash);
CREATE INDEX microblocks_by_height ON microblocks (height);

-- What only a single transaction's answer needs, apart from the rows that lists read.
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
  -- mode byte and list, as on the wire
  post_conditions    BLOB NOT NULL,
  -- arguments of an operation made on Bitcoin; those of others stand in `raw`
  function_args      BLOB,
  -- of block 0, for the transactions that block 1 shows for it
  genesis_parent_index_block_hash BLOB,
  genesis_parent_burn_block_time  INTEGER,
  -- JSON, of a deployment
  contract_interface TEXT,
  raw                BLOB NOT NULL
) STRICT;

-- Deployments, failed ones too.
CREATE TABLE contracts (
  contract_id INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  PRIMARY KEY (contract_id, position)
) STRICT, WITHOUT ROWID;

-- Which deployments declare a function of a name, of those whose interface the node sent.
CREATE TABLE declared_functions (
  name     TEXT NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (name, position)
) STRICT, WITHOUT ROWID;

-- In the order of a transaction's events.
CREATE TABLE events (
  position      INTEGER NOT NULL,
  event_index   INTEGER NOT NULL,
  -- 1 contract log, 2 STX lock, 3 to 5 STX transfer, mint, burn, 6 to 8 FT, 9 to 11 NFT, 0 not known to this program
  kind          INTEGER NOT NULL,
  -- a lock's account
  sender_id     INTEGER,
  recipient_id  INTEGER,
  asset_id      INTEGER,
  -- of a contract log
  contract_id   INTEGER,
  -- of a contract log; the contract's name of a lock; the node's word for an event that isn't known
  topic         TEXT,
  amount        TEXT,
  -- Bitcoin height, of a lock
  unlock_height INTEGER,
  -- a log's or an instance's serialized Clarity value, a transfer's memo, the JSON of an event that isn't known
  value         BLOB,
  PRIMARY KEY (position, event_index)
) STRICT, WITHOUT ROWID;

-- STX a principal received, and sent.
CREATE INDEX events_stx_inbound ON events (recipient_id, position, event_index) WHERE kind IN (3, 4);
CREATE INDEX events_stx_outbound ON events (sender_id, position, event_index) WHERE kind IN (3, 5);
-- Units of a token a principal received, and sent.
CREATE INDEX events_ft_inbound ON events (asset_id, recipient_id, position, event_index) WHERE kind IN (6, 7);
CREATE INDEX events_ft_outbound ON events (asset_id, sender_id, position, event_index) WHERE kind IN (6, 8);
-- Units of a token that anybody moved.
CREATE INDEX events_ft ON events (asset_id, position, event_index) WHERE kind IN (6, 7, 8);
-- The history of an instance.
CREATE INDEX events_nft ON events (asset_id, value, position, event_index) WHERE kind >= 9;
-- The mints of an asset.
CREATE INDEX events_nft_mints ON events (asset_id, position, event_index) WHERE kind = 10;
-- What a contract logged.
CREATE INDEX events_logs ON events (contract_id, position, event_index) WHERE kind = 1;

-- How many logs a contract has; a row exists while there is one.
CREATE TABLE contract_logs (
  contract_id INTEGER PRIMARY KEY,
  logs        INTEGER NOT NULL
) STRICT;

-- The transactions of a principal, with what they did to its STX.
CREATE TABLE principal_transactions (
  principal_id INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  -- bits: 1 STX, 2 fungible, 4 non-fungible tokens touched; 8 STX moved, or would have with a fee above zero; 16 it is
  -- the sponsor and nothing else
  affected     INTEGER NOT NULL,
  -- asset events it took part in; a transfer to itself is one
  events       INTEGER NOT NULL,
  stx_sent     TEXT NOT NULL,
  stx_received TEXT NOT NULL,
  PRIMARY KEY (principal_id, position)
) STRICT, WITHOUT ROWID;

-- A principal's STX, locked ones too, and the totals of its lists. A row exists while there is a transaction or reward.
CREATE TABLE accounts (
  principal_id  INTEGER PRIMARY KEY,
  -- again, since holders are listed by balance, then address
  address       TEXT NOT NULL,
  -- micro-STX, length-prefixed decimal; negative in partial recordings
  balance       TEXT NOT NULL,
  -- transactions that moved its STX, or would have with a fee above zero, and rewards
  stx_moves     INTEGER NOT NULL,
  -- rows in principal_transactions
  transactions  INTEGER NOT NULL,
  -- rows in miner_rewards
  rewards       INTEGER NOT NULL,
  -- STX events it received by, and sent by
  stx_inbound   INTEGER NOT NULL,
  stx_outbound  INTEGER NOT NULL,
  -- transactions it signed as their origin, token transfers to it, and calls of it
  sent          INTEGER NOT NULL,
  paid          INTEGER NOT NULL,
  calls         INTEGER NOT NULL,
  -- fungible tokens of which it has some
  ft_tokens     INTEGER NOT NULL,
  -- instances it owns
  nfts          INTEGER NOT NULL
) STRICT;
-- Holders of STX, and those that v1 lists after them; what is negative sorts before zero.
CREATE INDEX accounts_by_balance ON accounts (balance DESC, address) WHERE balance > 'A0';
CREATE INDEX accounts_without_stx ON accounts (balance DESC, address) WHERE balance <= 'A0' AND stx_moves > 0;

-- What an account's history came to at some of its blocks: the first in which the number of its transactions and rewards
-- reached or passed a multiple of 64. What it came to at any height is found from the checkpoint before it and the fewer
-- than 64 transactions and rewards that follow that.
CREATE TABLE account_checkpoints (
  principal_id   INTEGER NOT NULL,
  height         INTEGER NOT NULL,
  -- rows in principal_transactions, and those in which it is the sponsor and nothing else
  transactions   INTEGER NOT NULL,
  sponsored_only INTEGER NOT NULL,
  -- asset events it took part in, locks of its STX, and transfers of STX to it: transactions, and rows in memo_transfers
  events         INTEGER NOT NULL,
  locks          INTEGER NOT NULL,
  inbound        INTEGER NOT NULL,
  -- the greatest nonce it used, as origin or sponsor
  last_nonce     INTEGER,
  -- micro-STX of events, of fees it paid and of rewards; decimal
  sent           TEXT NOT NULL,
  received       TEXT NOT NULL,
  fees           TEXT NOT NULL,
  mined          TEXT NOT NULL,
  PRIMARY KEY (principal_id, height)
) STRICT, WITHOUT ROWID;

-- The same of its tokens, for those that changed since the checkpoint before.
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

-- Transfers of STX with a memo for who receives them, by transactions that aren't transfers themselves: v1 lists them
-- with those that are.
CREATE TABLE memo_transfers (
  principal_id INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  event_index  INTEGER NOT NULL,
  -- 1 where the memo is what the send-many contract printed after it, 0 where it is the event's own
  printed      INTEGER NOT NULL,
  PRIMARY KEY (principal_id, position, event_index)
) STRICT, WITHOUT ROWID;

-- What a transaction did to a principal's tokens: the sums of its events. NFTs are counted.
CREATE TABLE token_changes (
  principal_id INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  -- 1 fungible, 2 non-fungible
  token        INTEGER NOT NULL,
  asset_id     INTEGER NOT NULL,
  sent         TEXT NOT NULL,
  received     TEXT NOT NULL,
  PRIMARY KEY (principal_id, position, token, asset_id)
) STRICT, WITHOUT ROWID;

-- A row exists while there is an event of the token that the principal took part in.
CREATE TABLE ft_balances (
  asset_id     INTEGER NOT NULL,
  principal_id INTEGER NOT NULL,
  -- base units, length-prefixed decimal
  balance      TEXT NOT NULL,
  -- its events of this token; a transfer to itself is one
  transfers    INTEGER NOT NULL,
  -- again, since both lists are ordered by them where balances are equal
  address      TEXT NOT NULL,
  identifier   TEXT NOT NULL,
  PRIMARY KEY (asset_id, principal_id)
) STRICT, WITHOUT ROWID;
-- Holders of a token, and those that v1 lists after them.
CREATE INDEX ft_balances_by_asset ON ft_balances (asset_id, balance DESC, address) WHERE balance > 'A0';
CREATE INDEX ft_balances_spent ON ft_balances (asset_id, balance DESC, address) WHERE balance <= 'A0';
-- Tokens of a principal.
CREATE INDEX ft_balances_by_principal ON ft_balances (principal_id, balance DESC, identifier) WHERE balance > 'A0';
-- The same by name; all of them, since an index that leaves some out would be written with every change of a balance.
CREATE INDEX ft_balances_by_identifier ON ft_balances (principal_id, identifier COLLATE NOCASE);

-- A row exists while there is an event of the token.
CREATE TABLE ft_tokens (
  asset_id INTEGER PRIMARY KEY,
  -- base units ever minted less burnt; decimal
  supply   TEXT NOT NULL,
  -- principals that have some
  holders  INTEGER NOT NULL,
  -- rows in ft_balances
  accounts INTEGER NOT NULL,
  events   INTEGER NOT NULL
) STRICT;
CREATE INDEX ft_tokens_by_holders ON ft_tokens (holders);

-- Every instance that ever was, with its last event. One that was burnt has no owner.
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
-- Instances of an owner, by asset and value.
CREATE INDEX nft_instances_by_owner ON nft_instances (owner_id, asset_id, value) WHERE owner_id IS NOT NULL;
-- By when it got them, of all assets and of one.
CREATE INDEX nft_instances_by_receipt ON nft_instances (owner_id, position, event_index) WHERE owner_id IS NOT NULL;
CREATE INDEX nft_instances_of_asset_by_receipt ON nft_instances (owner_id, asset_id, position, event_index)
  WHERE owner_id IS NOT NULL;

-- Collections: a row exists while there is an event of the asset.
CREATE TABLE nft_tokens (
  asset_id  INTEGER PRIMARY KEY,
  mints     INTEGER NOT NULL,
  -- instances that have an owner
  instances INTEGER NOT NULL,
  -- principals that own some
  holders   INTEGER NOT NULL,
  events    INTEGER NOT NULL
) STRICT;
CREATE INDEX nft_tokens_by_holders ON nft_tokens (holders);

-- How many instances of an asset an owner has, by the asset's text, which orders an owner's assets.
CREATE TABLE nft_holdings (
  owner_id   INTEGER NOT NULL,
  identifier TEXT NOT NULL,
  asset_id   INTEGER NOT NULL,
  instances  INTEGER NOT NULL,
  PRIMARY KEY (owner_id, identifier)
) STRICT, WITHOUT ROWID;

-- How many events each token had on each day; a row exists while it had some.
CREATE TABLE token_days (
  -- as in contract_days
  day      INTEGER NOT NULL,
  -- as in token_changes
  token    INTEGER NOT NULL,
  asset_id INTEGER NOT NULL,
  events   INTEGER NOT NULL,
  PRIMARY KEY (day, token, asset_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX token_days_by_events ON token_days (day, token, events, asset_id);

-------------------------------------------------------------------------------------------------- metadata of tokens

-- Contracts whose interface is that of SIP-013, SIP-009 or SIP-010 (chain/token-contracts.ts), from their deployment on. What
-- the node said of tokens came as commands (store/ingest/token-commands.ts).
CREATE TABLE token_contracts (
  contract_id   INTEGER PRIMARY KEY,
  -- 1 fungible, 2 non-fungible, 3 semi-fungible
  family        INTEGER NOT NULL,
  -- again, since lists are ordered by it
  address       TEXT NOT NULL,
  -- of the deployment
  position      INTEGER NOT NULL,
  -- of a fungible token: the first that the contract declares
  asset_id      INTEGER,
  -- name and symbol of a fungible token in lower case, by which it is listed and found
  name_key      TEXT,
  symbol_key    TEXT,
  -- of a non-fungible token: the contract has tokens from 1 to this one, as the node said, and those up to the second are in
  -- `tokens`
  last_token_id INTEGER,
  listed        INTEGER NOT NULL,
  -- While all its tokens are queued, one after the other: the last that was, as in tokens; empty at the first.
  queued_up_to  TEXT,
  -- 1 where the operator asked for all of them, 0 where a notification did
  is_forced     INTEGER NOT NULL
) STRICT;
-- The contracts of a family, in the order of the chain.
CREATE INDEX token_contracts_by_family ON token_contracts (family, position);
-- The contract of an asset.
CREATE INDEX token_contracts_by_asset ON token_contracts (asset_id) WHERE asset_id IS NOT NULL;
-- Lists of fungible tokens, those without a name last or first.
CREATE INDEX token_contracts_by_name ON token_contracts (name_key, address) WHERE family = 1;
CREATE INDEX token_contracts_by_name_down ON token_contracts (name_key DESC, address) WHERE family = 1;
CREATE INDEX token_contracts_by_symbol ON token_contracts (symbol_key, address) WHERE family = 1;
CREATE INDEX token_contracts_by_symbol_down ON token_contracts (symbol_key DESC, address) WHERE family = 1;
-- Contracts whose tokens are being listed or queued.
CREATE INDEX token_contracts_unlisted ON token_contracts (contract_id) WHERE listed < last_token_id;
CREATE INDEX token_contracts_queueing ON token_contracts (contract_id) WHERE queued_up_to IS NOT NULL;

-- Their tokens: of a fungible one number 1; of the others those that mints and the node named. Texts are as the chain has
-- them.
CREATE TABLE tokens (
  contract_id INTEGER NOT NULL,
  -- length-prefixed decimal
  token_id    TEXT NOT NULL,
  -- where it began: of its deployment or first mint, or of the tip when the node named it
  position    INTEGER NOT NULL,
  -- Unix milliseconds of the last answer of the node; null before the first
  written_at  INTEGER,
  name        TEXT,
  symbol      TEXT,
  -- decimal
  decimals    TEXT,
  -- base units, decimal: what the node said, moved by the mints and burns since
  supply      TEXT,
  -- with the token's number in it
  uri         TEXT,
  PRIMARY KEY (contract_id, token_id)
) STRICT, WITHOUT ROWID;

-- What the chain says of single tokens: mints, and notifications that their metadata changed (SIP-019).
CREATE TABLE token_events (
  contract_id INTEGER NOT NULL,
  -- as in tokens; empty for a notification about all tokens that the contract had then
  token_id    TEXT NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  -- 0 mint; the modes of notifications: 1 standard, 2 frozen, 3 dynamic
  kind        INTEGER NOT NULL,
  -- seconds after which a dynamic token is read again
  ttl         INTEGER,
  PRIMARY KEY (contract_id, token_id, position, event_index)
) STRICT, WITHOUT ROWID;
-- The first notification that froze a token, and the last mint.
CREATE INDEX token_events_frozen ON token_events (contract_id, token_id, position) WHERE kind = 2;
CREATE INDEX token_events_mints ON token_events (contract_id, token_id, position) WHERE kind = 0;

-- Questions to the node about tokens: the queue, and the outcomes.
CREATE TABLE token_jobs (
  contract_id  INTEGER NOT NULL,
  -- as in tokens; empty for work that is the contract's
  token_id     TEXT NOT NULL,
  -- 0 the contract's last token id, 1 what its read-only functions say of a token
  work         INTEGER NOT NULL,
  -- 0 pending, 1 done, 2 failed, 3 invalid
  state        INTEGER NOT NULL,
  -- in a row without an answer
  tries        INTEGER NOT NULL,
  -- place in the chain of what queued it, which orders what was never tried
  position     INTEGER NOT NULL,
  -- Unix milliseconds from when on it is tried again; null where it was never tried, and where it isn't tried again by itself
  not_before   INTEGER,
  -- height of the block at which the node was asked last
  asked_height INTEGER,
  PRIMARY KEY (contract_id, token_id, work)
) STRICT, WITHOUT ROWID;
-- What was never tried, of each work, and what is tried again.
CREATE INDEX token_jobs_new ON token_jobs (work, position, contract_id, token_id) WHERE state = 0 AND tries = 0;
CREATE INDEX token_jobs_again ON token_jobs (work, not_before) WHERE not_before IS NOT NULL;
-- What was asked at blocks that a fork may take away.
CREATE INDEX token_jobs_by_height ON token_jobs (asked_height) WHERE asked_height IS NOT NULL;


------------------------------------------------------------------------------------------------------------- search

-- What contracts and tokens are found by: each name in lower case from each of its characters on, so that what begins with a
-- text, or has it, is a range of rows. Their identifiers are found by their beginning alone (store/rows/name-parts.ts).
CREATE TABLE name_parts (
  -- 1 name of a contract, 2 and 3 of a fungible and a non-fungible asset, 4 and 5 name and symbol that a fungible token's
  -- contract said
  kind       INTEGER NOT NULL,
  -- where in the name the part begins: 0 at its beginning, 1 inside it; 2 for the whole identifier of a contract or asset
  place      INTEGER NOT NULL,
  part       TEXT NOT NULL,
  -- of the contract, or of the asset
  subject_id INTEGER NOT NULL,
  PRIMARY KEY (kind, place, part, subject_id)
) STRICT, WITHOUT ROWID;

------------------------------------------------------------------------------------------------------------- names (BNS)

-- Namespaces of the name system, each time one was opened.
CREATE TABLE namespaces (
  namespace   TEXT NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  -- blocks for which a name is leased, at most 2^31 - 1; 0 where leases don't end
  lifetime    INTEGER NOT NULL,
  PRIMARY KEY (namespace, position, event_index)
) STRICT, WITHOUT ROWID;

-- What names of a namespace cost, from each time it was set on; the last one decides. Decimal u128 numbers.
CREATE TABLE namespace_prices (
  namespace         TEXT NOT NULL,
  position          INTEGER NOT NULL,
  event_index       INTEGER NOT NULL,
  base              TEXT NOT NULL,
  coefficient       TEXT NOT NULL,
  -- 16 exponents between spaces, by the length of the name
  exponents         TEXT NOT NULL,
  nonalpha_discount TEXT NOT NULL,
  no_vowel_discount TEXT NOT NULL,
  PRIMARY KEY (namespace, position, event_index)
) STRICT, WITHOUT ROWID;

-- What was done with each name.
CREATE TABLE name_operations (
  -- with its namespace: alice.btc
  name          TEXT NOT NULL,
  position      INTEGER NOT NULL,
  -- of the event that says it; behind the last event for a renewal that none does
  event_index   INTEGER NOT NULL,
  -- 1 import, 2 register, 3 update, 4 transfer, 5 renewal, 6 revoke
  operation     INTEGER NOT NULL,
  -- who did it: the owner, or the importer
  sender_id     INTEGER NOT NULL,
  -- 20 bytes; null where none was given
  zonefile_hash BLOB,
  PRIMARY KEY (name, position, event_index)
) STRICT, WITHOUT ROWID;

-- Every name that ever was, with the place of its last operation.
CREATE TABLE names (
  name        TEXT PRIMARY KEY,
  namespace   TEXT NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  -- 0 where the last operation revoked it
  active      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX names_active ON names (name) WHERE active = 1;
CREATE INDEX names_active_by_namespace ON names (namespace, name) WHERE active = 1;

-------------------------------------------------------------------------------------------------------- locks and rewards

-- Changes of what an account has locked: the last one decides.
CREATE TABLE stx_locks (
  principal_id  INTEGER NOT NULL,
  position      INTEGER NOT NULL,
  event_index   INTEGER NOT NULL,
  -- micro-STX; null where only the end of the lock changed
  amount        TEXT,
  -- Bitcoin height
  unlock_height INTEGER NOT NULL,
  pox_version   INTEGER NOT NULL,
  PRIMARY KEY (principal_id, position, event_index)
) STRICT, WITHOUT ROWID;

-- Coinbases and fees that matured in a block; micro-STX.
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

-- The supply after each block that changed it.
CREATE TABLE stx_supplies (
  height INTEGER PRIMARY KEY,
  -- micro-STX; decimal
  supply TEXT NOT NULL
) STRICT;

-- Sums over the canonical chain, in its one row.
CREATE TABLE totals (
  id           INTEGER PRIMARY KEY CHECK (id = 1),
  transactions INTEGER NOT NULL,
  -- micro-STX ever minted and mined, less burnt; decimal
  stx_supply   TEXT NOT NULL,
  -- accounts with a balance above zero
  stx_holders  INTEGER NOT NULL,
  -- accounts with stx_moves
  stx_accounts INTEGER NOT NULL,
  -- micro-STX of all balances: the supply less fees that are on their way to a miner; decimal
  stx_balances TEXT NOT NULL
) STRICT;
INSERT INTO totals VALUES (1, 0, '0', 0, 0, '0');

---------------------------------------------------------------------------------------------- stacking: pox to pox-4

-- What pox-2, pox-3 and pox-4 printed, for each numbered from 1 in the order of the chain. The print is the event's value.
CREATE TABLE stacking_events (
  pox_version INTEGER NOT NULL,
  ordinal     INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  -- who it was said of: of an aggregation the pool's operator
  stacker_id  INTEGER NOT NULL,
  PRIMARY KEY (pox_version, ordinal)
) STRICT, WITHOUT ROWID;
-- Those of a transaction, and of a stacker.
CREATE UNIQUE INDEX stacking_events_by_position ON stacking_events (pox_version, position, event_index);
CREATE INDEX stacking_events_by_stacker ON stacking_events (pox_version, stacker_id, ordinal);

-- Delegations to pools, and revocations.
CREATE TABLE delegations (
  pox_version   INTEGER NOT NULL,
  pool_id       INTEGER NOT NULL,
  stacker_id    INTEGER NOT NULL,
  position      INTEGER NOT NULL,
  event_index   INTEGER NOT NULL,
  revoked       INTEGER NOT NULL,
  -- Bitcoin height; null without an end
  unlock_height INTEGER,
  PRIMARY KEY (pox_version, pool_id, stacker_id, position, event_index)
) STRICT, WITHOUT ROWID;
-- A pool's, in the order of the chain.
CREATE INDEX delegations_by_pool ON delegations (pox_version, pool_id, position, event_index);

-- What prints of pox-4 say of the reward cycles from one to before another.
CREATE TABLE stacking_terms (
  stacker_id  INTEGER NOT NULL,
  -- 0 STX stacked alone, 1 through a pool, 2 what a pool commits to a signer
  role        INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  first_cycle INTEGER NOT NULL,
  end_cycle   INTEGER NOT NULL,
  -- micro-STX, length-prefixed decimal; the stacker's address, again, since stackers are listed by both
  locked      TEXT NOT NULL,
  address     TEXT NOT NULL,
  -- null where a pool stacks: it is in what the pool commits
  signer_key  BLOB,
  pool_id     INTEGER,
  -- version and hash of the Bitcoin address, by which a pool commits the STX of its members; null if the print has none
  pox_address BLOB,
  PRIMARY KEY (stacker_id, role, position, event_index)
) STRICT, WITHOUT ROWID;

-- Who stacks in a reward cycle, by the last such print: `role` 0 or 1.
CREATE TABLE cycle_stackers (
  cycle       INTEGER NOT NULL,
  role        INTEGER NOT NULL,
  stacker_id  INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  locked      TEXT NOT NULL,
  address     TEXT NOT NULL,
  -- null until the pool commits the STX with the stacker's Bitcoin address
  signer_key  BLOB,
  pool_id     INTEGER,
  PRIMARY KEY (cycle, role, stacker_id)
) STRICT, WITHOUT ROWID;
-- The stackers of a signer, the greatest first.
CREATE INDEX cycle_stackers_by_signer ON cycle_stackers (cycle, signer_key, locked DESC, address, role) WHERE signer_key IS NOT NULL;
-- Those of a pool, which a commitment gives a signer.
CREATE INDEX cycle_stackers_by_pool ON cycle_stackers (cycle, pool_id, stacker_id) WHERE pool_id IS NOT NULL;

-- How many those of a signer are; a row exists while there is one.
CREATE TABLE cycle_stacker_counts (
  cycle      INTEGER NOT NULL,
  signer_key BLOB NOT NULL,
  solo       INTEGER NOT NULL,
  pooled     INTEGER NOT NULL,
  PRIMARY KEY (cycle, signer_key)
) STRICT, WITHOUT ROWID;

-- Reward cycles whose signers are chosen, of any pox.
CREATE TABLE reward_cycles (
  cycle   INTEGER PRIMARY KEY,
  -- of the block that chose them
  height  INTEGER NOT NULL,
  signers INTEGER NOT NULL,
  weight  INTEGER NOT NULL,
  -- micro-STX
  stacked TEXT NOT NULL
) STRICT;

CREATE TABLE cycle_signers (
  cycle      INTEGER NOT NULL,
  signer_key BLOB NOT NULL,
  weight     INTEGER NOT NULL,
  -- micro-STX, length-prefixed decimal
  stacked    TEXT NOT NULL,
  PRIMARY KEY (cycle, signer_key)
) STRICT, WITHOUT ROWID;
-- The heaviest first; of equals those with the most stacked, or in the order of their keys.
CREATE INDEX cycle_signers_by_stacked ON cycle_signers (cycle, weight DESC, stacked DESC, signer_key);
CREATE INDEX cycle_signers_by_weight ON cycle_signers (cycle, weight DESC, signer_key);

----------------------------------------------------------------------------------------------------- staking: pox-5

-- Of a bond that was set up twice the first counts. Heights are Bitcoin's.
CREATE TABLE bonds (
  bond_index        INTEGER PRIMARY KEY,
  position          INTEGER NOT NULL,
  event_index       INTEGER NOT NULL,
  -- basis points a year
  target_rate       INTEGER NOT NULL,
  -- micro-STX per 100 sats
  stx_value_ratio   INTEGER NOT NULL,
  -- basis points
  minimum_stx_ratio INTEGER NOT NULL,
  first_cycle       INTEGER NOT NULL,
  start_height      INTEGER NOT NULL,
  unlock_cycle      INTEGER NOT NULL,
  unlock_height     INTEGER NOT NULL
) STRICT;

-- Sums over a bond's other rows; a row exists while one of them is not zero.
CREATE TABLE bond_totals (
  bond_index INTEGER PRIMARY KEY,
  -- rows in bond_allowances, and the sats they allow
  allowed    INTEGER NOT NULL,
  capacity   TEXT NOT NULL,
  -- rows in bond_registrations
  registered INTEGER NOT NULL,
  -- sats and micro-STX of its positions
  btc_locked TEXT NOT NULL,
  stx_locked TEXT NOT NULL,
  -- sats its stakers claimed
  paid_out   TEXT NOT NULL
) STRICT;

CREATE TABLE bond_allowances (
  bond_index  INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  staker_id   INTEGER NOT NULL,
  sats        TEXT NOT NULL,
  -- newest transaction first, and inside it in the order of its events
  PRIMARY KEY (bond_index, position DESC, event_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX bond_allowances_by_staker ON bond_allowances (bond_index, staker_id, position, event_index);

-- What was registered; signer and amounts of now are those of the position.
CREATE TABLE bond_registrations (
  bond_index  INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  staker_id   INTEGER NOT NULL,
  -- of locks on Bitcoin, 36 bytes each: transaction id as Bitcoin shows it, output index; null where sBTC was handed in
  outputs     BLOB,
  PRIMARY KEY (bond_index, position, event_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX bond_registrations_by_staker ON bond_registrations (bond_index, staker_id, position, event_index);

-- What a staker has in a bond, after each event that changed it; the last row is `current`.
CREATE TABLE bond_positions (
  staker_id       INTEGER NOT NULL,
  bond_index      INTEGER NOT NULL,
  position        INTEGER NOT NULL,
  event_index     INTEGER NOT NULL,
  current         INTEGER NOT NULL,
  -- again, since a signer's stakers are listed by it
  address         TEXT NOT NULL,
  signer_id       INTEGER NOT NULL,
  early_exit      INTEGER NOT NULL,
  active          INTEGER NOT NULL,
  -- sats and micro-STX
  btc_locked      TEXT NOT NULL,
  stx_locked      TEXT NOT NULL,
  -- sats as last registered or updated, in the transaction at `enrolled_at`
  registered_sats TEXT NOT NULL,
  enrolled_at     INTEGER NOT NULL,
  first_cycle     INTEGER NOT NULL,
  -- sats that earn rewards from a cycle on
  weight          TEXT NOT NULL,
  weight_cycle    INTEGER NOT NULL,
  PRIMARY KEY (staker_id, bond_index, position, event_index)
) STRICT, WITHOUT ROWID;
-- A principal's bonds.
CREATE UNIQUE INDEX bond_positions_current ON bond_positions (staker_id, bond_index) WHERE current = 1;
-- Who gets a share of what is distributed to a bond.
CREATE INDEX bond_positions_by_bond ON bond_positions (bond_index, staker_id, position, event_index);
-- Stakers of a signer.
CREATE INDEX bond_positions_by_signer ON bond_positions (signer_id, address) WHERE current = 1;

-- STX staked without a bond, after each event that changed it; the last row is `current`.
CREATE TABLE stakes (
  staker_id     INTEGER NOT NULL,
  position      INTEGER NOT NULL,
  event_index   INTEGER NOT NULL,
  current       INTEGER NOT NULL,
  address       TEXT NOT NULL,
  signer_id     INTEGER NOT NULL,
  -- micro-STX; 0 from when a bond took them over
  amount        TEXT NOT NULL,
  first_cycle   INTEGER NOT NULL,
  -- from which this row holds, and at which the stake ends
  from_cycle    INTEGER NOT NULL,
  unlock_cycle  INTEGER NOT NULL,
  -- Bitcoin height
  unlock_height INTEGER NOT NULL,
  PRIMARY KEY (staker_id, position, event_index)
) STRICT, WITHOUT ROWID;
-- Stakers of a signer.
CREATE INDEX stakes_by_signer ON stakes (signer_id, address, unlock_height) WHERE current = 1 AND amount <> '0';

-- What the stakers of a cycle earned: sats times 10^18, for each signer; `bond_index` is -1 for STX without a bond.
CREATE TABLE staking_shares (
  staker_id  INTEGER NOT NULL,
  bond_index INTEGER NOT NULL,
  signer_id  INTEGER NOT NULL,
  cycle      INTEGER NOT NULL,
  earned     TEXT NOT NULL,
  PRIMARY KEY (staker_id, bond_index, signer_id, cycle)
) STRICT, WITHOUT ROWID;

-- Sums in sats: whole ones of each share, and of claims. A row exists while one is not zero.
CREATE TABLE staking_rewards (
  staker_id  INTEGER NOT NULL,
  bond_index INTEGER NOT NULL,
  accrued    TEXT NOT NULL,
  claimed    TEXT NOT NULL,
  PRIMARY KEY (staker_id, bond_index)
) STRICT, WITHOUT ROWID;

-- Keys of signers: registrations of a key, of which the last is `current`, grants and revocations.
CREATE TABLE signer_keys (
  signer_id   INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  event_index INTEGER NOT NULL,
  -- 1 registration, 2 grant, 3 revocation
  action      INTEGER NOT NULL,
  signer_key  BLOB NOT NULL,
  -- of a grant; decimal
  auth_id     TEXT,
  current     INTEGER NOT NULL,
  -- the signer's, since signers are listed by it
  address     TEXT NOT NULL,
  PRIMARY KEY (signer_id, position, event_index)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX signers ON signer_keys (address) WHERE current = 1;
-- Whose key it was, and what a signer registered.
CREATE INDEX signer_keys_registrations ON signer_keys (signer_key, position, event_index) WHERE action = 1;

----------------------------------------------------------------------------------------------------------- bitcoin blocks

-- The canonical Bitcoin blocks the node announced; `payload` is its JSON, compressed with zstd.
CREATE TABLE burn_blocks (
  height      INTEGER PRIMARY KEY,
  hash        BLOB NOT NULL,
  parent_hash BLOB,
  payload     BLOB NOT NULL,
  -- 1: filled from the node's RPC interface, which has no payouts, slot holders or pox transactions; 0: announced by the node
  is_filled   INTEGER NOT NULL
) STRICT;
CREATE INDEX burn_blocks_by_hash ON burn_blocks (hash);
CREATE INDEX burn_blocks_filled ON burn_blocks (height) WHERE is_filled = 1;

-- What the canonical Bitcoin blocks paid to stackers, in sats. All are numbered from 1 in the order of the blocks, and those
-- of a recipient by themselves as well.
CREATE TABLE burn_rewards (
  ordinal           INTEGER PRIMARY KEY,
  height            INTEGER NOT NULL,
  -- place in the node's list
  reward_index      INTEGER NOT NULL,
  recipient         TEXT NOT NULL,
  recipient_ordinal INTEGER NOT NULL,
  amount            TEXT NOT NULL,
  -- of the recipient so far, with this one
  recipient_total   TEXT NOT NULL,
  -- what the block's miners burnt
  burn_amount       TEXT NOT NULL
) STRICT;
CREATE INDEX burn_rewards_by_height ON burn_rewards (height, ordinal);
CREATE INDEX burn_rewards_by_recipient ON burn_rewards (recipient, recipient_ordinal);

-- The addresses that a Bitcoin block had to pay, numbered likewise.
CREATE TABLE burn_slot_holders (
  ordinal         INTEGER PRIMARY KEY,
  height          INTEGER NOT NULL,
  slot_index      INTEGER NOT NULL,
  address         TEXT NOT NULL,
  address_ordinal INTEGER NOT NULL
) STRICT;
CREATE INDEX burn_slot_holders_by_height ON burn_slot_holders (height, ordinal);
CREATE INDEX burn_slot_holders_by_address ON burn_slot_holders (address, address_ordinal);

-- The outputs of Bitcoin transactions that paid them; numbered for each recipient, the last that is listed first.
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

-- Those that a reorganization of Bitcoin replaced.
CREATE TABLE orphaned_burn_blocks (
  hash        BLOB NOT NULL UNIQUE,
  height      INTEGER NOT NULL,
  parent_hash BLOB,
  payload     BLOB NOT NULL
) STRICT;

------------------------------------------------------------------------------------------------------- beside the chain

-- Blocks that are known and not canonical. Block 0 is here too: block 1 shows its transactions.
CREATE TABLE orphaned_blocks (
  index_block_hash        BLOB PRIMARY KEY,
  height                  INTEGER NOT NULL,
  parent_index_block_hash BLOB NOT NULL,
  block_hash              BLOB NOT NULL,
  burn_block_hash         BLOB NOT NULL,
  burn_block_height       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- v1 answers a block that no canonical one has the height or hash of, and the highest of a Bitcoin block.
CREATE INDEX orphaned_blocks_by_height ON orphaned_blocks (height);
CREATE INDEX orphaned_blocks_by_hash ON orphaned_blocks (block_hash, height);
CREATE INDEX orphaned_blocks_by_burn_hash ON orphaned_blocks (burn_block_hash, height);
CREATE INDEX orphaned_blocks_by_burn_height ON orphaned_blocks (burn_block_height, height);

-- By which the orphaned blocks but block 0 are found.
CREATE TABLE orphaned_transactions (
  tx_id            BLOB NOT NULL,
  index_block_hash BLOB NOT NULL,
  -- as in transactions
  type             INTEGER NOT NULL,
  -- identifier of the one it deploys
  contract         TEXT,
  PRIMARY KEY (tx_id, index_block_hash)
) STRICT, WITHOUT ROWID;
-- Those of an orphaned block.
CREATE INDEX orphaned_transactions_by_block ON orphaned_transactions (index_block_hash);
CREATE INDEX orphaned_transactions_by_contract ON orphaned_transactions (contract) WHERE contract IS NOT NULL;

-- The journal's entry that holds the payload of a block, to revert it or to apply it again.
CREATE TABLE block_payloads (
  index_block_hash BLOB NOT NULL UNIQUE,
  journal_id       INTEGER NOT NULL
) STRICT;

-- Zonefiles and other attachments as the node posted them, in the order they came.
CREATE TABLE attachments (
  id               INTEGER PRIMARY KEY,
  content_hash     BLOB NOT NULL,
  tx_id            BLOB NOT NULL,
  index_block_hash BLOB NOT NULL,
  contract_id      TEXT NOT NULL,
  -- serialized Clarity value
  metadata         BLOB NOT NULL,
  content          BLOB NOT NULL,
  -- two names can be given the same content by one transaction
  UNIQUE (tx_id, content_hash, index_block_hash, metadata)
) STRICT;

-- What zonefiles say of subdomains. A row counts while the transaction of its attachment is in the canonical block that
-- the attachment names, which may come after it.
CREATE TABLE subdomains (
  attachment_id INTEGER NOT NULL,
  -- place of the record in the zonefile
  record        INTEGER NOT NULL,
  -- in full: joe.alice.btc
  subdomain     TEXT NOT NULL,
  -- the name it is part of: alice.btc
  name          TEXT NOT NULL,
  -- as written
  owner         TEXT NOT NULL,
  -- URL of whoever resolves it; empty where the zonefile names nobody
  resolver      TEXT NOT NULL,
  zonefile      BLOB NOT NULL,
  PRIMARY KEY (attachment_id, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX subdomains_by_subdomain ON subdomains (subdomain);
CREATE INDEX subdomains_by_name ON subdomains (name, subdomain);
CREATE INDEX subdomains_by_owner ON subdomains (owner, subdomain);

-- What the name system was before this chain (Stacks 1), as an operator imported it. It counts from block 1 on, where the
-- chain says nothing newer of a name.
CREATE TABLE old_namespaces (
  namespace         TEXT PRIMARY KEY,
  -- as in namespaces and namespace_prices
  lifetime          INTEGER NOT NULL,
  base              TEXT NOT NULL,
  coefficient       TEXT NOT NULL,
  exponents         TEXT NOT NULL,
  nonalpha_discount TEXT NOT NULL,
  no_vowel_discount TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE old_names (
  name          TEXT PRIMARY KEY,
  namespace     TEXT NOT NULL,
  owner         TEXT NOT NULL,
  zonefile_hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX old_names_by_namespace ON old_names (namespace, name);
CREATE INDEX old_names_by_owner ON old_names (owner);

-- Of names, by RIPEMD-160 of SHA-256.
CREATE TABLE old_zonefiles (
  hash    BLOB PRIMARY KEY,
  content TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE old_subdomains (
  subdomain     TEXT PRIMARY KEY,
  name          TEXT NOT NULL,
  owner         TEXT NOT NULL,
  resolver      TEXT NOT NULL,
  zonefile_hash BLOB NOT NULL,
  zonefile      TEXT NOT NULL
) STRICT;
CREATE INDEX old_subdomains_by_name ON old_subdomains (name, subdomain);
CREATE INDEX old_subdomains_by_owner ON old_subdomains (owner, subdomain);

----------------------------------------------------------------------------------------------------------------- mempool

-- Every transaction that was announced or came back from an orphaned block, unless the chain holds it. Rows of dropped
-- ones stay, since they are still answered.
CREATE TABLE mempool_transactions (
  tx_id                BLOB NOT NULL UNIQUE,
  -- 0 pending, 1 mined, -10 replaced by fee, -11 replaced across fork, -12 too expensive, -13 stale, -14 collected here,
  -- -15 problematic, -16 replaced by fee and dropped by the node besides
  state                INTEGER NOT NULL,
  -- Unix microseconds: the newest receipt comes first, in whichever second it was
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
-- What waits, newest first.
CREATE INDEX mempool_pending ON mempool_transactions (received_at, tx_id) WHERE state = 0;
-- Those that spend the same nonce, whatever became of them.
CREATE INDEX mempool_by_sender_nonce ON mempool_transactions (sender_id, nonce);
CREATE INDEX mempool_by_sponsor_nonce ON mempool_transactions (sponsor_id, sponsor_nonce) WHERE sponsor_id IS NOT NULL;
-- What an account has waiting, as origin and as sponsor.
CREATE INDEX mempool_pending_by_sender ON mempool_transactions (sender_id, nonce) WHERE state = 0;
CREATE INDEX mempool_pending_by_sponsor ON mempool_transactions (sponsor_id, sponsor_nonce) WHERE state = 0 AND sponsor_id IS NOT NULL;
-- What is on its way to an account.
CREATE INDEX mempool_by_recipient ON mempool_transactions (recipient_id, received_at, tx_id) WHERE state = 0 AND recipient_id IS NOT NULL;
-- What is old enough to be collected before Nakamoto.
CREATE INDEX mempool_by_receipt_height ON mempool_transactions (receipt_block_height) WHERE state = 0;
-- What is offered for each type of transaction, how long each waits and how large it is.
CREATE INDEX mempool_pending_fees ON mempool_transactions (type, fee, receipt_block_height, size) WHERE state = 0;
-- The other orders of v1's list.
CREATE INDEX mempool_pending_by_fee ON mempool_transactions (fee, tx_id) WHERE state = 0;
CREATE INDEX mempool_pending_by_size ON mempool_transactions (size, tx_id) WHERE state = 0;

-- When transactions of the chain were received that had been announced: those of its newest 6,000 blocks, which a
-- reorganization may bring back.
CREATE TABLE mined_receipts (
  position             INTEGER PRIMARY KEY,
  -- as in mempool_transactions
  received_at          INTEGER NOT NULL,
  receipt_block_height INTEGER NOT NULL
) STRICT;

-- Drops by the node of transactions that didn't wait: not announced yet, or in a block. They hold once the transaction would
-- begin to wait, and are kept for 6,000 blocks.
CREATE TABLE early_drops (
  tx_id             BLOB PRIMARY KEY,
  -- the state that it will have, as in mempool_transactions
  state             INTEGER NOT NULL,
  replaced_by_tx_id BLOB,
  -- of the tip when the node posted it
  height            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX early_drops_by_height ON early_drops (height);

-- The pending transactions that a principal sends, sponsors, receives by, or is the contract of.
CREATE TABLE pending_principals (
  principal_id INTEGER NOT NULL,
  received_at  INTEGER NOT NULL,
  tx_id        BLOB NOT NULL,
  PRIMARY KEY (principal_id, received_at, tx_id)
) STRICT, WITHOUT ROWID;

-- How many those are; a row exists while there is one.
CREATE TABLE pending_counts (
  principal_id INTEGER PRIMARY KEY,
  transactions INTEGER NOT NULL
) STRICT;

-------------------------------------------------------------------------------------------------------------- chainhooks

-- What is here can't be made again from the journal: a rebuild carries it over (store/hooks-carry.ts). Times are Unix
-- milliseconds. A delivery is queued in the transaction of its block.

CREATE TABLE hooks (
  id                     INTEGER PRIMARY KEY,
  uuid                   TEXT NOT NULL UNIQUE,
  -- whose it is: the owner of the API key
  consumer               TEXT NOT NULL,
  created_at             INTEGER NOT NULL,
  -- JSON, as it was sent
  definition             TEXT NOT NULL,
  url                    TEXT NOT NULL,
  -- 0 idle: no block is evaluated; 1 live: it stands where hook_progress does; 2 it catches up from its own cursor;
  -- 3 paused, where it was enabled, and 4 where it was idle: the log was restored to an earlier point, and nothing is sent until
  -- somebody enables or disables it
  stage                  INTEGER NOT NULL,
  -- 0 new, 1 streaming, 2 expired, 3 interrupted; of a live one that is new, streaming from its first block on
  status                 INTEGER NOT NULL,
  -- the last block that was evaluated, while it isn't live; height 0 and no bytes before block 1
  cursor_height          INTEGER NOT NULL,
  cursor_hash            BLOB NOT NULL,
  -- blocks evaluated and blocks that matched; while it is live, what hook_progress counted since `joined` comes on top
  evaluated              INTEGER NOT NULL,
  occurrences            INTEGER NOT NULL,
  -- hook_progress.evaluated when it went live
  joined                 INTEGER NOT NULL,
  -- both counts when the present budget began, and where hook_progress.evaluated is when a live one is used up
  window_evaluated       INTEGER NOT NULL,
  window_occurrences     INTEGER NOT NULL,
  expires_at             INTEGER,
  last_evaluated_at      INTEGER,
  last_evaluated_height  INTEGER,
  last_occurrence_at     INTEGER,
  last_occurrence_height INTEGER,
  -- of the last live delivery
  sequence               INTEGER NOT NULL,
  interrupted_reason     TEXT,
  -- the delivery that interrupted it, the first to go when it is enabled again
  stuck_delivery         INTEGER,
  consecutive_failures   INTEGER NOT NULL,
  last_delivery_at       INTEGER,
  last_delivery_status   INTEGER,
  -- deleted ones stay as long as their log
  deleted_at             INTEGER
) STRICT;
-- The hooks of a consumer, newest first.
CREATE INDEX hooks_by_consumer ON hooks (consumer, created_at DESC, uuid) WHERE deleted_at IS NULL;
-- Those among them that were interrupted, or whose last attempt failed.
CREATE INDEX hooks_failing ON hooks (consumer, created_at DESC, uuid)
 WHERE deleted_at IS NULL AND (status = 3 OR consecutive_failures > 0);
-- Those that the coming blocks use up, and those that take part in evaluation.
CREATE INDEX hooks_expiring ON hooks (expires_at) WHERE stage = 1 AND expires_at IS NOT NULL;
CREATE INDEX hooks_by_stage ON hooks (stage) WHERE stage > 0;

-- Where live hooks stand, in its one row: they are evaluated together, so that a block costs one row and not one a hook.
CREATE TABLE hook_progress (
  id            INTEGER PRIMARY KEY CHECK (id = 1),
  -- blocks ever evaluated
  evaluated     INTEGER NOT NULL,
  cursor_height INTEGER NOT NULL,
  cursor_hash   BLOB NOT NULL,
  evaluated_at  INTEGER,
  -- greatest epoch of a lease with delivery results; 0 where no hosts shared a log
  epoch         INTEGER NOT NULL
) STRICT;
INSERT INTO hook_progress VALUES (1, 0, 0, x'', NULL, 0);

-- What signs a consumer's deliveries; the one before signs beside it for a day.
CREATE TABLE hook_secrets (
  consumer   TEXT PRIMARY KEY,
  secret     BLOB NOT NULL,
  previous   BLOB,
  rotated_at INTEGER NOT NULL
) STRICT;

-- Deliveries in the order they were made: the outbox and the log.
CREATE TABLE hook_deliveries (
  id              INTEGER PRIMARY KEY,
  webhook_id      TEXT NOT NULL UNIQUE,
  hook_id         INTEGER NOT NULL,
  -- 0 live, 1 evaluate, 2 backfill, 3 redelivery: each queue of a hook goes in order, beside the others
  lane            INTEGER NOT NULL,
  -- 0 live, 1 catch-up, 2 evaluate, 3 backfill, 4 redelivery
  reason          INTEGER NOT NULL,
  -- of the live queue
  sequence        INTEGER,
  -- 0 pending, 1 failed and to be tried again, 2 delivered, 3 dead, 4 cancelled
  state           INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  next_attempt_at INTEGER,
  delivered_at    INTEGER,
  -- when the first attempt of the present budget was made
  tried_since     INTEGER,
  attempts        INTEGER NOT NULL,
  -- JSON: its blocks
  blocks          TEXT NOT NULL,
  min_height      INTEGER NOT NULL,
  max_height      INTEGER NOT NULL,
  body_bytes      INTEGER NOT NULL,
  body_sha256     BLOB NOT NULL,
  backfill_id     INTEGER,
  -- why there is no body
  problem         TEXT
) STRICT;
-- What waits in a queue.
CREATE INDEX hook_deliveries_queue ON hook_deliveries (hook_id, lane, id) WHERE state <= 1;
-- The log of a hook, all of it and by state.
CREATE INDEX hook_deliveries_log ON hook_deliveries (hook_id, id);
CREATE INDEX hook_deliveries_by_state ON hook_deliveries (hook_id, state, id);
-- What is old enough to be forgotten.
CREATE INDEX hook_deliveries_done ON hook_deliveries (created_at) WHERE state IN (2, 4);
-- What a backfill has under way.
CREATE INDEX hook_deliveries_by_backfill ON hook_deliveries (backfill_id) WHERE backfill_id IS NOT NULL AND state <= 1;

-- Their bodies: JSON, compressed with zstd.
CREATE TABLE hook_bodies (
  delivery_id INTEGER PRIMARY KEY,
  body        BLOB NOT NULL
) STRICT;

CREATE TABLE hook_attempts (
  delivery_id INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  url_host    TEXT NOT NULL,
  status_code INTEGER,
  error       TEXT,
  -- what the receiver said, the first of it
  excerpt     TEXT,
  PRIMARY KEY (delivery_id, attempt)
) STRICT, WITHOUT ROWID;

-- Which transactions of which blocks a hook was notified of: a rollback names them again, whatever the filters are by then.
CREATE TABLE hook_ledger (
  index_block_hash  BLOB NOT NULL,
  hook_id           INTEGER NOT NULL,
  height            INTEGER NOT NULL,
  burn_block_height INTEGER NOT NULL,
  -- JSON: their places in the block
  places            TEXT NOT NULL,
  PRIMARY KEY (index_block_hash, hook_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_ledger_by_hook ON hook_ledger (hook_id, height);
CREATE INDEX hook_ledger_by_burn_height ON hook_ledger (burn_block_height);

CREATE TABLE hook_backfills (
  id                   INTEGER PRIMARY KEY,
  uuid                 TEXT NOT NULL UNIQUE,
  hook_id              INTEGER NOT NULL,
  -- 0 queued, 1 running, 2 completed, 3 cancelled, 4 failed
  state                INTEGER NOT NULL,
  -- 1 where it only counts
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

-- Where the index stands, in its one row.
CREATE TABLE progress (
  id                INTEGER PRIMARY KEY CHECK (id = 1),
  chain_id          INTEGER,
  -- number of the last event that is in the index, and its chain value (store/files/journal-entry.ts)
  journal_id        INTEGER NOT NULL,
  journal_chain     BLOB NOT NULL,
  -- of the newest Bitcoin block the node spoke of
  burn_block_height INTEGER NOT NULL,
  mempool_pending   INTEGER NOT NULL,
  -- greater with every change of the mempool, and at least the change's time in Unix microseconds: for ETags
  mempool_version   INTEGER NOT NULL,
  -- the same of what commands say of tokens
  tokens_version    INTEGER NOT NULL,
  -- how often an event changed blocks below the tip without a fork: the node's own event of a filled block, or a filled
  -- Bitcoin block between others; for ETags and caches
  completions       INTEGER NOT NULL,
  -- random name of the log, which its command log.identity sets; null before the first entry
  log_identity      BLOB CHECK (length(log_identity) = 16)
) STRICT;
INSERT INTO progress VALUES (1, NULL, 0, zeroblob(32), 0, 0, 0, 0, 0, NULL);

-- The start of a partial history, by the payload of its first block: one row. An index of the whole chain has none.
CREATE TABLE history_start (
  -- of the first block
  height            INTEGER PRIMARY KEY,
  -- of the block below it
  index_block_hash  BLOB NOT NULL,
  block_hash        BLOB NOT NULL,
  -- of the Bitcoin block that elected its tenure
  burn_block_hash   BLOB NOT NULL,
  burn_block_height INTEGER NOT NULL
) STRICT;

-- What accounts had after the block below the first one, as the node said: those that blocks here touched, once it was asked.
CREATE TABLE starting_accounts (
  principal_id  INTEGER PRIMARY KEY,
  -- micro-STX, locked ones too; decimal
  balance       TEXT NOT NULL,
  -- micro-STX; decimal
  locked        TEXT NOT NULL,
  -- Bitcoin height at which the lock ends; 0 without one
  unlock_height INTEGER NOT NULL,
  -- the next nonce
  nonce         INTEGER NOT NULL
) STRICT;

-- Accounts that blocks here touched, and that the node wasn't asked about yet.
CREATE TABLE unasked_accounts (
  principal_id INTEGER PRIMARY KEY
) STRICT;

-- What the operator asked to find by decoded values: logs of a contract by their fields, calls of it by their arguments.
CREATE TABLE value_indexes (
  id            INTEGER PRIMARY KEY,
  -- 1 logs, 2 calls
  subject       INTEGER NOT NULL,
  -- as the operator wrote it: the contract need not exist
  contract      TEXT NOT NULL,
  -- a field of the logs, or a function; empty for all
  scope         TEXT NOT NULL,
  -- 0 where nobody asks for it any more, and its entries are being removed
  wanted        INTEGER NOT NULL,
  -- The entries are of logs and calls from this place on. It moves down to 0 while those of before are added.
  from_position INTEGER NOT NULL,
  from_event    INTEGER NOT NULL
) STRICT;

-- The decoded values, and where they stand. Those of one value are in the order of the chain.
CREATE TABLE value_index_entries (
  index_id    INTEGER NOT NULL,
  -- names with dots between them; an argument's is its function and its place. The keys of both are in rows/value-keys.ts
  path        TEXT NOT NULL,
  value       TEXT NOT NULL,
  position    INTEGER NOT NULL,
  -- 0 for a call
  event_index INTEGER NOT NULL,
  PRIMARY KEY (index_id, path, value, position, event_index)
) STRICT, WITHOUT ROWID;

-- What happened, in order, for subscribers: other threads and processes read it here. The newest ones only,
-- and none of what was imported or made anew.
CREATE TABLE changes (
  id      INTEGER PRIMARY KEY,
  -- 1 a block joined the chain, 2 a block arrived beside the chain, 3 a block left the chain; of transactions:
  -- 4 admitted to the mempool, 5 back in it from an orphaned block, 6 dropped from it
  kind    INTEGER NOT NULL,
  -- index block hash or transaction id
  subject BLOB NOT NULL
) STRICT;

-- What the faucets gave, as long as it counts against their limits.
CREATE TABLE faucet_requests (
  -- stx, btc or sbtc
  currency     TEXT NOT NULL,
  address      TEXT NOT NULL,
  -- Unix milliseconds
  requested_at INTEGER NOT NULL,
  -- of the client
  ip           TEXT NOT NULL
) STRICT;
CREATE INDEX faucet_requests_by_address ON faucet_requests (currency, address, requested_at);
