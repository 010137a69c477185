/**
 * A small chain with fixed hashes: three blocks with two transactions each, and two pending transactions.
 *
 * Hashes are one byte repeated, so that they are short to write and to tell apart. A transaction has events of all kinds
 * that lists contain, independent of its payload: the index accepts the node's events as they are.
 */
import { toHex } from '../../src/codec/hex.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import {
  alice,
  announcement,
  block,
  bob,
  deployment,
  type MadeBlock,
  nodeEvent,
  receipt,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';

/** Who signs every transaction of the chain. */
export const ADDRESS = alice.address;
/** The other side of every transfer. */
export const HOLDER = bob.address;
/** An address that never appears on the chain. */
export const OTHER = 'ST29V10QEA7BRZBTWRFC4M70NJ4J6RJB5P1C6EE84';
/** One character of `ADDRESS` mistyped. */
export const MISTYPED = ADDRESS.slice(0, -1) + (ADDRESS.endsWith('S') ? 'R' : 'S');
export const CONTRACT = `${ADDRESS}.pool-v1`;
export const TOKEN = `${CONTRACT}::coin?`;
export const NFT = `${CONTRACT}::ape`;

/** 32 bytes of one value. */
export const bytes = (value: number, length = 32) => new Uint8Array(length).fill(value);
export const hash = (value: number, length = 32) => toHex(bytes(value, length));

/** The value u3, u4 or u5, serialized, with 0x. */
const uint = (value: number) => `0x01${value.toString(16).padStart(32, '0')}`;

/** The STX supply after the first block, which stays constant. */
export const SUPPLY = '1000050';

type Event = readonly [type: string, body: object];

/** The events of the transaction at an index of the block at a height; their indexes count on through the block. */
const eventsAt = (height: number, txIndex: number): readonly Event[] => EVENTS[`${height}/${txIndex}`] ?? [];

const printed: Event = ['contract_event', { contract_identifier: CONTRACT, topic: 'print', raw_value: '0x03' }];
const stx = (sender: string, recipient: string, amount: string): Event => [
  'stx_transfer_event',
  { sender, recipient, amount, memo: '0x6869' },
];
const ft = (asset_identifier: string, amount: string): Event => [
  'ft_transfer_event',
  { asset_identifier, sender: HOLDER, recipient: ADDRESS, amount },
];
const nftMint = (asset_identifier: string, value: number): Event => [
  'nft_mint_event',
  { asset_identifier, recipient: ADDRESS, raw_value: uint(value) },
];

const EVENTS: Readonly<Record<string, readonly Event[]>> = {
  '1/0': [
    ['stx_mint_event', { recipient: ADDRESS, amount: '1000000' }],
    ['stx_mint_event', { recipient: HOLDER, amount: '50' }],
    printed,
  ],
  '1/1': [
    ['ft_mint_event', { asset_identifier: TOKEN, recipient: HOLDER, amount: '50' }],
    ['ft_mint_event', { asset_identifier: `${TOKEN}-b`, recipient: HOLDER, amount: '20' }],
    nftMint(NFT, 3),
    nftMint(NFT, 5),
  ],
  '2/0': [printed, ft(`${TOKEN}-b`, '20')],
  '2/1': [stx(ADDRESS, HOLDER, '5'), stx(HOLDER, ADDRESS, '5'), nftMint(`${NFT}-b`, 4)],
  '3/0': [printed, stx(ADDRESS, HOLDER, '5'), ft(TOKEN, '20'), nftMint(`${NFT}-b`, 3)],
  '3/1': [
    stx(HOLDER, ADDRESS, '5'),
    ft(TOKEN, '10'),
    ['nft_transfer_event', { asset_identifier: NFT, sender: ADDRESS, recipient: HOLDER, raw_value: uint(3) }],
  ],
};

/** The nonce of each transaction counts those before it; 1/1 deploys the contract, all others are transfers. */
function transactionAt(height: number, txIndex: number): Transaction {
  const nonce = (height - 1) * 2 + txIndex;
  if (height === 1 && txIndex === 1) return deployment(alice, nonce, 75, 'pool-v1');
  return transfer(alice, nonce, 75, undefined, bob);
}

/** The id of a transaction of the chain: `0x31` repeated is the second of block 3. */
export const idAt = (height: number, txIndex: number): string => hash(height * 16 + txIndex);

/** The difference between two branches: the first byte of the block hashes. */
export interface Branch {
  hashes: number;
  indexHashes: number;
}
const MAIN: Branch = { hashes: 0xb0, indexHashes: 0xc0 };

const MICROSECONDS = 1_000_000;
/** When a block is made and comes, in Unix seconds. */
const secondsAt = (height: number) => height * 1000;

/** Block 3 starts a new tenure, on a new Bitcoin block. */
const tenureOf = (height: number) => (height >= 3 ? { tenure: 8, burn: 103 } : { tenure: 7, burn: 102 });

/** A block on another; blocks 1 to 3 have two transactions, those above them none. @param fields of the payload that differ */
export function chainBlock(
  parent: MadeBlock | null,
  fields: object = {},
  { hashes, indexHashes }: Branch = MAIN,
): MadeBlock {
  const height = (parent?.height ?? 0) + 1;
  const { tenure, burn } = tenureOf(height);
  const indexes = height <= 3 ? [0, 1] : [];
  const cost = { read_count: 1, read_length: 2, runtime: 3, write_count: 4, write_length: 5 };
  let eventIndex = 0;
  const events = indexes.flatMap((txIndex) =>
    eventsAt(height, txIndex).map(([type, body]) => nodeEvent(idAt(height, txIndex), eventIndex++, type, body)),
  );
  const mined = block(
    parent,
    `sample ${height}`,
    indexes.map((txIndex) => receipt(transactionAt(height, txIndex), txIndex, { txid: idAt(height, txIndex) })),
    {
      block_hash: hash(hashes + height),
      index_block_hash: hash(indexHashes + height),
      parent_block_hash: hash(hashes + height - 1),
      parent_index_block_hash: parent?.hash ?? hash(indexHashes),
      block_time: secondsAt(height),
      burn_block_hash: hash(burn),
      burn_block_height: burn,
      burn_block_time: burn * 10,
      miner_txid: hash(0xd0 + height),
      tenure_height: tenure,
      anchored_cost: cost,
      signer_signature: [hash(0x51, 65), hash(0x52, 65)],
      events,
      ...fields,
    },
  );
  const receivedAt = secondsAt(height) * MICROSECONDS;
  return { ...mined, hash: hash(indexHashes + height), event: { ...mined.event, receivedAt } };
}

/** Blocks 1 to 3. */
export function chainBlocks(branch: Branch = MAIN): readonly [MadeBlock, MadeBlock, MadeBlock] {
  const first = chainBlock(null, {}, branch);
  const second = chainBlock(first, {}, branch);
  return [first, second, chainBlock(second, {}, branch)];
}

/** Two transfers that wait, the older first. */
export const waiting: readonly [Transaction, Transaction] = [
  transfer(alice, 6, 75, undefined, bob),
  transfer(alice, 7, 75, undefined, bob),
];

/** The events that make the chain, and announce its pending transactions. */
export const sampleEvents = (branch: Branch = MAIN): readonly ReceivedEvent[] => [
  ...chainBlocks(branch).map(({ event }) => event),
  announcement([waiting[0]], secondsAt(3) + 1),
  announcement([waiting[1]], secondsAt(3) + 2),
];
