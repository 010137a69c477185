/** Hand-made blocks, microblocks and transactions, for cases that a simulated node doesn't send. */
import { deploymentPayload } from '../../../src/codec/boot-transaction.ts';
import { toHex } from '../../../src/codec/hex.ts';
import { transactionId } from '../../../src/codec/transaction.ts';
import { networks } from '../../../src/devnet/network.ts';
import { contractCall, signTransaction, tokenTransfer } from '../../../src/devnet/transaction.ts';
import { type Account, accounts } from '../../../src/devnet/wallet.ts';
import type { ReceivedEvent } from '../../../src/store/ingest/ingest.ts';
import { jsonOf } from './payload-text.ts';

const network = networks.testnet;

export const [alice, bob, carol, sponsor] = accounts('handmade', 'user', 4, network) as [
  Account,
  Account,
  Account,
  Account,
];

/** Start of hand-made chains, in Unix seconds. */
export const START = 1_700_000_000;
const SECONDS_PER_BLOCK = 60;

export const hashOf = (label: string): string => `0x${new Bun.CryptoHasher('sha256').update(label).digest('hex')}`;
const ZEROS = `0x${'00'.repeat(32)}`;

export interface Transaction {
  /** With 0x. */
  id: string;
  raw: string;
}

/** Returns a transfer of micro-STX. If there is a `payer`, it pays the fee with its nonce. */
export function transfer(
  from: Account,
  nonce: number | bigint,
  fee: number | bigint,
  payer?: { account: Account; nonce: number | bigint },
  to: Account = carol,
): Transaction {
  const raw = signTransaction(
    {
      payload: tokenTransfer(to.address, 1n, `nonce ${nonce}`),
      origin: { account: from, nonce, fee: payer === undefined ? BigInt(fee) : 0n },
      sponsor: payer === undefined ? undefined : { ...payer, fee: BigInt(fee) },
    },
    network,
  );
  return { id: toHex(transactionId(raw)), raw: toHex(raw) };
}

/** Returns a transaction with a payload. */
export function signed(from: Account, nonce: number, fee: number, payload: Uint8Array): Transaction {
  const raw = signTransaction({ payload, origin: { account: from, nonce, fee: BigInt(fee) } }, network);
  return { id: toHex(transactionId(raw)), raw: toHex(raw) };
}

/** A contract of a few bytes. */
export const deployment = (from: Account, nonce: number, fee: number, name = 'pool'): Transaction =>
  signed(from, nonce, fee, deploymentPayload(name, '(begin)', null));

/** Returns a call of a function. */
export const call = (
  from: Account,
  nonce: number,
  fee: number,
  contract: string,
  name: string,
  args: readonly Uint8Array[] = [],
): Transaction => signed(from, nonce, fee, contractCall(contract, name, args));

/** Returns a transaction as a block lists it. `fields` replace its fields. */
export const receipt = ({ id, raw }: Transaction, index: number, fields: object = {}) => ({
  txid: id,
  tx_index: index,
  raw_tx: raw,
  status: 'success',
  raw_result: '0x0703',
  execution_cost: { runtime: 0, read_count: 0, read_length: 0, write_count: 0, write_length: 0 },
  contract_interface: null,
  microblock_sequence: null,
  microblock_hash: null,
  microblock_parent_hash: null,
  burnchain_op: null,
  vm_error: null,
  ...fields,
});

export interface MadeBlock {
  hash: string;
  height: number;
  event: ReceivedEvent;
}

/** A block with its parent's chain below it; null is nothing below block 1. Nakamoto unless `signer_bitvec` is null. */
export function block(
  parent: MadeBlock | null,
  label: string,
  transactions: readonly (Transaction | object)[] = [],
  fields: object = {},
): MadeBlock {
  const height = (parent?.height ?? 0) + 1;
  const time = START + height * SECONDS_PER_BLOCK;
  const hash = hashOf(`index of ${label}`);
  const body = {
    block_hash: hashOf(`block ${label}`),
    index_block_hash: hash,
    parent_index_block_hash: parent?.hash ?? hashOf('index of nothing'),
    parent_block_hash: hashOf(`parent of ${label}`),
    block_height: height,
    block_time: time,
    burn_block_hash: hashOf(`burn block ${height}`),
    burn_block_height: 100 + height,
    burn_block_time: time - 1,
    miner_txid: hashOf(`miner of ${label}`),
    parent_microblock: ZEROS,
    parent_microblock_sequence: 0,
    matured_miner_rewards: [],
    transactions: transactions.map((item, index) => ('raw' in item ? receipt(item as Transaction, index) : item)),
    events: [],
    signer_bitvec: '000100000001' + '80',
    ...fields,
  };
  return { hash, height, event: { path: '/new_block', text: jsonOf(body), receivedAt: time * 1_000_000 } };
}

export const announcement = (transactions: readonly Transaction[], seconds = START): ReceivedEvent => ({
  path: '/new_mempool_tx',
  text: JSON.stringify(transactions.map(({ raw }) => raw)),
  receivedAt: seconds * 1_000_000,
});

export const drop = (
  transactions: readonly Transaction[],
  reason: string,
  by: Transaction | null = null,
): ReceivedEvent => ({
  path: '/drop_mempool_tx',
  text: JSON.stringify({ dropped_txids: transactions.map(({ id }) => id), reason, new_txid: by?.id ?? null }),
  receivedAt: START * 1_000_000,
});

export interface Microblock {
  label: string;
  /** Label of the previous microblock, null for the first. */
  after: string | null;
  sequence: number;
  transactions: readonly Transaction[];
}

export const microblockHash = (label: string): string => hashOf(`microblock ${label}`);

/** Returns the fields by which a transaction refers to its microblock. */
export const inMicroblock = ({ label, after, sequence }: Microblock) => ({
  microblock_hash: microblockHash(label),
  microblock_parent_hash: after === null ? hashOf('the anchor block') : microblockHash(after),
  microblock_sequence: sequence,
});

export const stream = (anchor: MadeBlock, microblocks: readonly Microblock[]): ReceivedEvent => ({
  path: '/new_microblocks',
  text: JSON.stringify({
    parent_index_block_hash: anchor.hash,
    burn_block_hash: hashOf(`burn block ${anchor.height}`),
    burn_block_height: 100 + anchor.height,
    burn_block_timestamp: START,
    transactions: microblocks.flatMap((microblock) =>
      microblock.transactions.map((transaction, index) => receipt(transaction, index, inMicroblock(microblock))),
    ),
    events: [],
  }),
  receivedAt: START * 1_000_000,
});

/** Returns blocks without transactions, each on the one before. */
export function blocksOn(parent: MadeBlock | null, ...labels: string[]): MadeBlock[] {
  const blocks: MadeBlock[] = [];
  for (const label of labels) blocks.push(block(blocks.at(-1) ?? parent, label));
  return blocks;
}

/** Returns an event of a transaction as a block lists it. */
export const nodeEvent = (txid: string, event_index: number, type: string, fields: object) => ({
  txid,
  event_index,
  committed: true,
  type,
  [type]: fields,
});

/** Returns the event of a contract that prints a value. */
export const printEvent = (txid: string, index: number, contract_identifier: string, value: Uint8Array) =>
  nodeEvent(txid, index, 'contract_event', { contract_identifier, topic: 'print', raw_value: toHex(value) });
