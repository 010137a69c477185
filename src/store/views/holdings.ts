/** Views of the holdings of principals, and of their rewards. */

import { storedBnsOperation, storedFamily, storedNameOperation, TOKEN } from '../rows/enums.ts';
import { isBegun } from '../rows/expressions.ts';
import {
  amount,
  blockHeight,
  bytes,
  clarityValue,
  fineTime,
  hex,
  inBlock,
  integer,
  NULL_IF_PARTIAL,
  PER_SECOND,
  positionColumns,
  text,
  time,
  unlessPartial,
  unsigned,
  type ViewColumn,
  view,
  word,
} from './view.ts';

const { position, tx_id, tx_id_bytes, block_time } = positionColumns;
const place = { block_height: blockHeight, position, tx_id, tx_id_bytes, block_time };

const balance = (column: string) => amount(unsigned(column), 'Micro-STX, or base units of the token');

const balances = view({
  name: 'balances',
  help: 'One row per balance above zero of STX (including locked STX) or a fungible token. Empty if `v1_chain` has a `history_from`.',
  columns: {
    principal: text('a.address', 'Address or contract identifier'),
    asset_type: text("'stx'", '`stx` or `ft`'),
    asset_identifier: text('NULL', 'Token; null for STX'),
    balance: balance('a.balance'),
  },
  from: [
    {
      columns: ['p.address', "'stx'", 'NULL', balance('a.balance')],
      from: `principals p JOIN accounts a ON a.principal_id = p.id WHERE a.balance > 'A0' AND NOT ${isBegun}`,
    },
    {
      columns: ['p.address', "'ft'", 't.identifier', balance('f.balance')],
      from: `principals p JOIN ft_balances f ON f.principal_id = p.id JOIN assets t ON t.id = f.asset_id
 WHERE f.balance > 'A0' AND NOT ${isBegun}`,
    },
  ],
  indexed: ['principal', 'asset_identifier'],
});

const fungibleTokens = view({
  name: 'fungible_tokens',
  help: 'One row per fungible token that had an event.',
  columns: {
    asset_identifier: text('a.identifier', 'Token'),
    supply: amount(unlessPartial('f.supply'), `Base units that were minted, less burnt ones; ${NULL_IF_PARTIAL}`),
    holder_count: integer(unlessPartial('f.holders'), `Number of principals with a balance; ${NULL_IF_PARTIAL}`),
    event_count: integer(unlessPartial('f.events'), `Events of the token; ${NULL_IF_PARTIAL}`),
  },
  from: `asset_totals f JOIN assets a ON a.id = f.asset_id AND f.token = ${TOKEN.ft}`,
  indexed: ['asset_identifier'],
});

const metadataOfTokens = view({
  name: 'tokens',
  help: 'One row per token of a SIP-010, SIP-009 or SIP-013 contract, with its metadata.',
  columns: {
    contract_id: text('p.address', 'Contract'),
    family: word('c.family', storedFamily, 'Family of the token'),
    token_id: text('CAST(substr(k.token_id, 2) AS TEXT)', 'Number of the token; 1 for a fungible one'),
    asset_identifier: text('a.identifier', 'Fungible token that the contract declares first; null for other families'),
    name: text('k.name', 'Name of a fungible token by its contract; null if unknown'),
    symbol: text('k.symbol', 'Symbol by the contract of a fungible token'),
    decimals: text('k.decimals', 'Decimals by the contract, up to 128 bits'),
    supply: amount('k.supply', 'Base units by the contract, with the mints and burns since'),
    token_uri: text('k.uri', 'URI by the contract, with the number of the token in it'),
    answered_at: fineTime('k.written_at', PER_SECOND.milliseconds, 'Time of the last response; null before the first'),
    ...place,
  },
  from: `token_contracts c JOIN tokens k ON k.contract_id = c.contract_id
  JOIN principals p ON p.id = c.contract_id JOIN transactions t ON t.position = c.position JOIN blocks b ON ${inBlock('t.position')}
  LEFT JOIN assets a ON a.id = c.asset_id`,
  indexed: ['contract_id'],
});

const nfts = view({
  name: 'nfts',
  help: 'One row per instance of a non-fungible token, with its last event.',
  columns: {
    asset_identifier: text('a.identifier', 'Token'),
    value: clarityValue(hex('i.value', 'Instance as a serialized Clarity value')),
    value_bytes: bytes('i.value', 'Instance as bytes; give `asset_identifier` too, so that an index finds it'),
    owner: text('owner.address', 'Owner; null for an instance that was burnt'),
    block_height: blockHeight,
    position,
    tx_id,
    tx_id_bytes,
    event_index: integer('i.event_index', 'Index of the last event in its transaction'),
    event_count: integer(unlessPartial('i.events'), `Events of the instance; ${NULL_IF_PARTIAL}`),
  },
  from: `nft_instances i JOIN assets a ON a.id = i.asset_id
  JOIN transactions t ON t.position = i.position JOIN blocks b ON ${inBlock('t.position')}
  LEFT JOIN principals owner ON owner.id = i.owner_id`,
  indexed: ['asset_identifier', 'owner'],
});

const minerRewards = view({
  name: 'miner_rewards',
  help: 'One row per reward that matured in a block of the canonical chain.',
  columns: {
    block_height: integer('r.height', 'Height of the block'),
    block_time: time('b.block_time', 'Time of the block'),
    reward_index: integer('r.reward_index', 'Place among the rewards of the block'),
    recipient: text('recipient.address', 'Principal that got the reward'),
    miner: text('miner.address', 'Miner of the block that the reward is for'),
    coinbase: amount('r.coinbase', 'Coinbase in micro-STX'),
    fees_anchored: amount('r.fees_anchored', 'Fees of anchored transactions in micro-STX'),
    fees_streamed_confirmed: amount('r.fees_streamed_confirmed', 'Fees of confirmed microblocks in micro-STX'),
    fees_streamed_produced: amount('r.fees_streamed_produced', 'Fees of produced microblocks in micro-STX'),
    from_index_block_hash: hex('r.from_index_block_hash', 'Index block hash of the block that the reward is for'),
  },
  from: `miner_rewards r JOIN blocks b ON b.height = r.height
  JOIN principals recipient ON recipient.id = r.recipient_id
  JOIN principals miner ON miner.id = r.miner_id`,
  indexed: ['block_height', 'recipient'],
  order: ['block_height', 'reward_index'],
  range: 'block_height',
});

/** Returns SQL for the hex of a serialized Clarity buffer that contains a text. */
const bufferOf = (text: string): string => `'02' || printf('%08x', length(${text})) || lower(hex(${text}))`;

/** A column of hex whose expression makes the digits. */
const derivedHex = (sql: string, help: string): ViewColumn => ({ type: 'hex', sql, help });

const REVOKED = storedNameOperation.numberOf('name-revoke');

const names = view({
  name: 'names',
  help: 'One row per name that an operation on this chain changed, with the last operation.',
  columns: {
    name: text('o.name', 'Name with its namespace, such as `alice.btc`'),
    namespace: text('o.namespace', 'Namespace'),
    is_active: integer(`o.operation <> ${REVOKED}`, '0 if the last operation revoked the name'),
    operated_by: text('p.address', 'Principal that made the last operation: after a transfer, the former owner'),
    ...place,
    token_value: derivedHex(
      `'0x0c00000002046e616d65' || ${bufferOf('substr(o.name, 1, length(o.name) - length(o.namespace) - 1)')} ||
      '096e616d657370616365' || ${bufferOf('o.namespace')}`,
      'Serialized Clarity value of the NFT of `bns::names`: `v1_nfts` has its owner',
    ),
  },
  from: `name_operations o JOIN transactions t ON t.position = o.position JOIN blocks b ON ${inBlock('t.position')}
  JOIN principals p ON p.id = o.sender_id
 WHERE o.current = 1`,
  indexed: ['name'],
  order: ['name'],
});

const bnsNames = view({
  name: 'bns_names',
  help: 'One row per name of BNS-V2 that is not burnt. Give `contract_id` together with `name`, so that an index finds the name.',
  columns: {
    contract_id: text('c.address', 'Contract of the names'),
    name: text('o.name', 'Name with its namespace, such as `alice.btc`'),
    namespace: text('o.namespace', 'Namespace'),
    token_id: integer('o.bns_id', 'Number of the NFT'),
    token_value: derivedHex(
      "CAST('0x01' || printf('%032x', o.bns_id) AS TEXT)",
      'Serialized Clarity value of the NFT: `v1_nfts` has its owner',
    ),
    last_operation: word('o.operation', storedBnsOperation, 'Last operation'),
    renewal_burn_block_height: integer(
      'o.renewal_height',
      'Bitcoin height that the last operation printed for the renewal; 0 for none, null if it printed none',
    ),
    ...place,
  },
  from: `bns_names o JOIN principals c ON c.id = o.contract_id
  JOIN transactions t ON t.position = o.position JOIN blocks b ON ${inBlock('t.position')}
 WHERE o.current = 1`,
  indexed: ['contract_id'],
});

export const holdingViews = [balances, fungibleTokens, metadataOfTokens, nfts, minerRewards, names, bnsNames];
