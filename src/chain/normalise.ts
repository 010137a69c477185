/** A node's block payload, of any release from 2.0 on, to a {@link Block}. */
import type { DecodeError } from '../codec/decode-error.ts';
import { exactJson } from '../codec/exact-number.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import { signerBits } from '../codec/signer-bits.ts';
import { decodeTransaction } from '../codec/transaction.ts';
import { bitcoinOperationContent } from './bitcoin-operation.ts';
import {
  ANCHORED_SEQUENCE,
  type Block,
  type ChainEvent,
  type ChainTransaction,
  type ExecutionCost,
  type Microblock,
  type RewardSet,
  type TransactionContent,
} from './block.ts';
import type { Network } from './network.ts';
import { eventBody, PayloadError, readPayload } from './payload-reader.ts';
import {
  type BlockPayload,
  type EventPayload,
  MAX_STORED_INTEGER,
  type MicroblocksPayload,
  type TransactionPayload,
} from './payload-schemas.ts';

const BITCOIN_OPERATION = '0x00';

const NO_COST: ExecutionCost = { runtime: 0, readCount: 0, readLength: 0, writeCount: 0, writeLength: 0 };

type CostPayload = NonNullable<BlockPayload['anchored_cost']>;

const executionCost = (cost: CostPayload): ExecutionCost => ({
  runtime: cost.runtime,
  readCount: cost.read_count,
  readLength: cost.read_length,
  writeCount: cost.write_count,
  writeLength: cost.write_length,
});

const sum = (a: number | bigint, b: number | bigint): number | bigint => {
  const total = BigInt(a) + BigInt(b);
  if (total > MAX_STORED_INTEGER) {
    throw new PayloadError(`Field transactions: an execution_cost adds up to more than ${MAX_STORED_INTEGER}`);
  }
  return total <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(total) : total;
};

const addedCost = (a: ExecutionCost, b: ExecutionCost): ExecutionCost => ({
  runtime: sum(a.runtime, b.runtime),
  readCount: sum(a.readCount, b.readCount),
  readLength: sum(a.readLength, b.readLength),
  writeCount: sum(a.writeCount, b.writeCount),
  writeLength: sum(a.writeLength, b.writeLength),
});

/** Raw bytes to what the transaction says. */
export function transactionContent(
  raw: Uint8Array,
): { ok: true; value: TransactionContent } | { ok: false; error: DecodeError } {
  const decoded = decodeTransaction(raw);
  if (!decoded.ok) return decoded;
  const { txId, chainId, origin, sponsor, anchorMode, postConditions, payload } = decoded.value;
  return {
    ok: true,
    value: {
      txId,
      raw,
      sender: { address: origin.address, nonce: origin.nonce },
      sponsor: sponsor === null ? null : { address: sponsor.address, nonce: sponsor.nonce },
      fee: sponsor === null ? origin.fee : sponsor.fee,
      chainId,
      anchorMode,
      postConditions,
      payload,
      bitcoinOperation: false,
    },
  };
}

function chainEvent(event: EventPayload): ChainEvent {
  const type = event.type;
  switch (type) {
    case 'contract_event': {
      const { contract_identifier, topic, raw_value } = eventBody(event, type);
      return { kind: 'contract_log', contractId: contract_identifier, topic, value: fromHex(raw_value) };
    }
    case 'stx_transfer_event': {
      const { sender, recipient, amount, memo } = eventBody(event, type);
      const hasMemo = memo !== undefined && memo !== '' && memo !== '0x';
      return { kind: 'stx', action: 'transfer', sender, recipient, amount, memo: hasMemo ? fromHex(memo) : null };
    }
    case 'stx_mint_event': {
      const { recipient, amount } = eventBody(event, type);
      return { kind: 'stx', action: 'mint', sender: null, recipient, amount, memo: null };
    }
    case 'stx_burn_event': {
      const { sender, amount } = eventBody(event, type);
      return { kind: 'stx', action: 'burn', sender, recipient: null, amount, memo: null };
    }
    case 'stx_lock_event': {
      const { locked_amount, unlock_height, locked_address, contract_identifier } = eventBody(event, type);
      return {
        kind: 'stx_lock',
        address: locked_address,
        amount: locked_amount,
        unlockHeight: Number(unlock_height),
        // Nodes before 2.1 name no contract: there was only one.
        contractName: contract_identifier?.split('.')[1] ?? 'pox',
      };
    }
    case 'ft_transfer_event': {
      const { asset_identifier, sender, recipient, amount } = eventBody(event, type);
      return { kind: 'ft', action: 'transfer', asset: asset_identifier, sender, recipient, amount };
    }
    case 'ft_mint_event': {
      const { asset_identifier, recipient, amount } = eventBody(event, type);
      return { kind: 'ft', action: 'mint', asset: asset_identifier, sender: null, recipient, amount };
    }
    case 'ft_burn_event': {
      const { asset_identifier, sender, amount } = eventBody(event, type);
      return { kind: 'ft', action: 'burn', asset: asset_identifier, sender, recipient: null, amount };
    }
    case 'nft_transfer_event': {
      const { asset_identifier, sender, recipient, raw_value } = eventBody(event, type);
      return { kind: 'nft', action: 'transfer', asset: asset_identifier, sender, recipient, value: fromHex(raw_value) };
    }
    case 'nft_mint_event': {
      const { asset_identifier, recipient, raw_value } = eventBody(event, type);
      return {
        kind: 'nft',
        action: 'mint',
        asset: asset_identifier,
        sender: null,
        recipient,
        value: fromHex(raw_value),
      };
    }
    case 'nft_burn_event': {
      const { asset_identifier, sender, raw_value } = eventBody(event, type);
      return {
        kind: 'nft',
        action: 'burn',
        asset: asset_identifier,
        sender,
        recipient: null,
        value: fromHex(raw_value),
      };
    }
    default:
      throw new PayloadError(`Unknown event type ${type}`);
  }
}

const withoutPrefix = (hex: string): string => (hex.startsWith('0x') ? hex.slice(2) : hex).toLowerCase();

/**
 * The events of each transaction by its id (hex without prefix), in the node's order.
 *
 * A node sends them unordered, and older ones also those of transactions that failed: what an aborted transaction
 * printed or moved did not happen.
 */
function eventsByTransaction(
  events: readonly EventPayload[],
  transactions: readonly TransactionPayload[],
): Map<string, EventPayload[]> {
  const byTransaction = new Map<string, EventPayload[]>();
  for (const transaction of transactions) byTransaction.set(withoutPrefix(transaction.txid), []);
  for (const event of events) {
    if (!event.committed) continue;
    const list = byTransaction.get(withoutPrefix(event.txid));
    if (list === undefined) throw new PayloadError(`Unexpected missing tx during event parsing by tx_id ${event.txid}`);
    list.push(event);
  }
  for (const transaction of transactions) {
    const list = byTransaction.get(withoutPrefix(transaction.txid));
    if (list === undefined) continue;
    if (transaction.status !== 'success') list.length = 0;
    else list.sort((a, b) => a.event_index - b.event_index);
  }
  return byTransaction;
}

function microblockOf(transaction: TransactionPayload): Microblock | null {
  const { microblock_hash, microblock_parent_hash, microblock_sequence } = transaction;
  if (!microblock_hash || !microblock_parent_hash || typeof microblock_sequence !== 'number') return null;
  return {
    hash: fromHex(microblock_hash),
    parentHash: fromHex(microblock_parent_hash),
    sequence: microblock_sequence,
  };
}

/** U+0000 can't stand in the text columns of the databases clients know, so it never was shown. */
const withoutNul = (text: string): string => text.replaceAll('\u0000', '');

/** Checks the nonce of a signed transaction: no chain gets near the bound, and a row could hold no more. */
function checkNonces({ txId, sender, sponsor }: TransactionContent): void {
  if (sender.nonce <= MAX_STORED_INTEGER && (sponsor?.nonce ?? 0n) <= MAX_STORED_INTEGER) return;
  throw new PayloadError(`Transaction ${toHex(txId)}: a nonce above ${MAX_STORED_INTEGER} can not be stored`);
}

/** What a block or microblock payload says of where its transactions stand. */
interface Surroundings {
  network: Network;
  burnBlockHeight: number;
}

function chainTransactions(
  payloads: readonly TransactionPayload[],
  eventPayloads: readonly EventPayload[],
  { network, burnBlockHeight }: Surroundings,
): ChainTransaction[] {
  const eventsOf = eventsByTransaction(eventPayloads, payloads);
  const transactions: ChainTransaction[] = [];
  for (const payload of payloads) {
    const events = (eventsOf.get(withoutPrefix(payload.txid)) ?? []).map(chainEvent);
    const txId = fromHex(payload.txid);
    const result = fromHex(payload.raw_result);
    let content: TransactionContent | null;
    if (payload.raw_tx === BITCOIN_OPERATION) {
      content = bitcoinOperationContent({
        txId,
        result,
        operation: payload.burnchain_op ?? null,
        events,
        network,
        burnBlockHeight,
      });
      // An operation that failed did nothing, and a Stacks transaction never existed.
      if (content === null) continue;
    } else {
      const decoded = transactionContent(fromHex(payload.raw_tx));
      if (!decoded.ok) {
        throw new PayloadError(`Transaction ${payload.txid}: ${decoded.error.message}`, { cause: decoded.error });
      }
      content = { ...decoded.value, txId };
      checkNonces(content);
    }
    const contractInterface = payload.contract_interface ?? payload.contract_abi ?? null;
    transactions.push({
      ...content,
      txIndex: payload.tx_index,
      status: payload.status,
      result,
      cost: payload.execution_cost ? executionCost(payload.execution_cost) : NO_COST,
      vmError: payload.vm_error == null ? null : withoutNul(payload.vm_error),
      contractInterface: contractInterface === null ? null : exactJson(contractInterface),
      microblock: microblockOf(payload),
      events,
      genesis: null,
    });
  }
  return transactions;
}

const sequenceOf = (transaction: ChainTransaction): number => transaction.microblock?.sequence ?? ANCHORED_SEQUENCE;

/** The order of the chain: microblock sequence, then index; of equals, genesis before block 1's own. */
const chainOrder = (a: ChainTransaction, b: ChainTransaction): number =>
  sequenceOf(a) - sequenceOf(b) || a.txIndex - b.txIndex || Number(b.genesis !== null) - Number(a.genesis !== null);

const prefixed = (hex: string): Uint8Array => fromHex(hex);

function rewardSetOf({ reward_set, cycle_number }: BlockPayload): RewardSet | null {
  if (reward_set == null || cycle_number == null) return null;
  return {
    cycle: cycle_number,
    signers: (reward_set.signers ?? []).map(({ signing_key, stacked_amt, weight }) => ({
      key: fromHex(signing_key),
      weight,
      stacked: BigInt(stacked_amt),
    })),
  };
}

/**
 * The block a payload announces.
 * @throws PayloadError when a transaction can't be decoded, or an event belongs to none
 */
export function blockOf(payload: BlockPayload, network: Network): Block {
  const time = payload.block_time ?? payload.burn_block_time ?? null;
  if (time === null) throw new PayloadError('Block message has no block_time or burn_block_time');
  const transactions = chainTransactions(payload.transactions, payload.events, {
    network,
    burnBlockHeight: payload.burn_block_height,
  }).sort(chainOrder);
  const bits = payload.signer_bitvec;
  return {
    height: payload.block_height,
    blockHash: fromHex(payload.block_hash),
    indexBlockHash: fromHex(payload.index_block_hash),
    parentBlockHash: fromHex(payload.parent_block_hash),
    parentIndexBlockHash: fromHex(payload.parent_index_block_hash),
    blockTime: time,
    burnBlockHash: fromHex(payload.burn_block_hash),
    burnBlockHeight: payload.burn_block_height,
    burnBlockTime: payload.burn_block_time ?? time,
    parentBurnBlockTime: payload.parent_burn_block_timestamp ?? null,
    minerTxId: fromHex(payload.miner_txid),
    parentMicroblockHash: fromHex(payload.parent_microblock),
    parentMicroblockSequence: payload.parent_microblock_sequence,
    tenureHeight: payload.tenure_height ?? null,
    cost: payload.anchored_cost
      ? executionCost(payload.anchored_cost)
      : transactions.reduce((total, transaction) => addedCost(total, transaction.cost), NO_COST),
    signerBits: bits ? signerBits(fromHex(bits)) : null,
    signerSignatures: payload.signer_signature?.map(prefixed) ?? null,
    announcedTransactions: payload.transactions.length,
    transactions,
    minerRewards: payload.matured_miner_rewards.map((reward) => ({
      recipient: reward.recipient,
      miner: reward.miner_address ?? reward.recipient,
      coinbase: BigInt(reward.coinbase_amount),
      feesAnchored: BigInt(reward.tx_fees_anchored),
      feesStreamedConfirmed: BigInt(reward.tx_fees_streamed_confirmed),
      feesStreamedProduced: BigInt(reward.tx_fees_streamed_produced),
      fromBlockHash: fromHex(reward.from_stacks_block_hash),
      fromIndexBlockHash: fromHex(reward.from_index_consensus_hash),
    })),
    poxUnlockHeights: [
      payload.pox_v1_unlock_height ?? null,
      payload.pox_v2_unlock_height ?? null,
      payload.pox_v3_unlock_height ?? null,
      payload.pox_v4_unlock_height ?? null,
    ],
    rewardSet: rewardSetOf(payload),
  };
}

/**
 * A stored block again, as it was when it came.
 * @param text the JSON of its payload
 * @throws PayloadError as {@link blockOf}
 */
export function blockOfText(text: string, network: Network): Block {
  const payload = readPayload('/new_block', text);
  if (payload.kind !== 'block') throw new Error('the payload of a block is that of another event');
  return blockOf(payload.block, network);
}

/**
 * Block 1 with the transactions of block 0, which clients know as block 1's: the boot contracts and genesis mints
 * have no block of their own in the API. Their index is moved on by one.
 */
export function withGenesis(block: Block, genesis: Block): Block {
  const boot = genesis.transactions.map((transaction) => ({
    ...transaction,
    txIndex: transaction.txIndex + 1,
    genesis: {
      blockTime: genesis.blockTime,
      parentIndexBlockHash: genesis.parentIndexBlockHash,
      parentBurnBlockTime: genesis.parentBurnBlockTime,
    },
  }));
  return {
    ...block,
    announcedTransactions: block.announcedTransactions + genesis.announcedTransactions,
    transactions: [...block.transactions, ...boot].sort(chainOrder),
    minerRewards: [...genesis.minerRewards, ...block.minerRewards],
  };
}

/** The microblocks of a stream message, in the order of their sequence, each with its transactions. */
export interface StreamedMicroblock extends Microblock {
  transactions: ChainTransaction[];
}

/**
 * What a microblock stream message holds (Stacks 2.x).
 * @throws PayloadError when a transaction can't be decoded or names no microblock
 */
export function streamedMicroblocks(payload: MicroblocksPayload, network: Network): StreamedMicroblock[] {
  const transactions = chainTransactions(payload.transactions, payload.events, {
    network,
    burnBlockHeight: payload.burn_block_height,
  });
  const byHash = new Map<string, StreamedMicroblock>();
  for (const transaction of transactions) {
    const { microblock } = transaction;
    if (microblock === null) throw new PayloadError('Missing field transactions.microblock_hash');
    const key = toHex(microblock.hash);
    const known = byHash.get(key);
    if (known === undefined) byHash.set(key, { ...microblock, transactions: [transaction] });
    else known.transactions.push(transaction);
  }
  return [...byHash.values()].sort((a, b) => a.sequence - b.sequence);
}
