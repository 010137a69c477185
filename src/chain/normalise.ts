/** Converts a node's block payload, of any release from 2.0 on, to a {@link Block}. */

import { exactJson } from '../base/json.ts';
import { BytesReader, type Decoded, DecodeError, decoded } from '../codec/bytes-reader.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import { decodeKnownParts } from '../codec/transaction.ts';
import { bitcoinOperationContent, unreadContent } from './bitcoin-operation.ts';
import {
  ANCHORED_SEQUENCE,
  type Block,
  type ChainTransaction,
  type ExecutionCost,
  type Microblock,
  type RewardSet,
  type TransactionContent,
} from './block.ts';
import { eventsByTransaction, withPrefix } from './event-payloads.ts';
import { MAINNET_CHAIN_ID, type Network, TESTNET_CHAIN_ID } from './network.ts';
import { type ParsedBlock, PayloadError, readPayload } from './payload-reader.ts';
import { type BlockPayload, isKnownStatus, MAX_STORED_INTEGER, type TransactionPayload } from './payload-schemas.ts';

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

const addCosts = (a: ExecutionCost, b: ExecutionCost): ExecutionCost => ({
  runtime: sum(a.runtime, b.runtime),
  readCount: sum(a.readCount, b.readCount),
  readLength: sum(a.readLength, b.readLength),
  writeCount: sum(a.writeCount, b.writeCount),
  writeLength: sum(a.writeLength, b.writeLength),
});

/** Decodes a transaction's raw bytes. Parts that this program doesn't support stay undecoded. */
export function transactionContent(raw: Uint8Array): Decoded<TransactionContent> {
  const transaction = decodeKnownParts(raw);
  if (!transaction.ok) return transaction;
  const { txId, chainId, origin, sponsor, anchorMode, postConditions, payload } = transaction.value;
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

/** Transactions that a node announced, and the reasons for skipped ones. */
export interface AnnouncedTransactions {
  contents: TransactionContent[];
  skipped: string[];
}

/**
 * Decodes announced transactions. Anybody can broadcast any bytes: unreadable transactions are skipped, the others
 * accepted.
 */
export function announcedTransactions(rawTransactions: readonly string[]): AnnouncedTransactions {
  const announced: AnnouncedTransactions = { contents: [], skipped: [] };
  for (const raw of rawTransactions) {
    try {
      const content = transactionContent(fromHex(raw));
      if (content.ok) announced.contents.push(content.value);
      else announced.skipped.push(content.error.message);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      announced.skipped.push(error.message);
    }
  }
  return announced;
}

/**
 * Returns the chain id of the first signed transaction. If there is none, returns the chain id that the version bit of
 * an unsigned transaction suggests.
 */
export function chainIdOf(payload: Pick<BlockPayload, 'transactions'>): { chainId: number; certain: boolean } | null {
  let guess: number | null = null;
  for (const { raw_tx } of payload.transactions) {
    if (raw_tx === BITCOIN_OPERATION) continue;
    const transaction = decodeKnownParts(fromHex(raw_tx));
    if (!transaction.ok) continue;
    const { chainId, version } = transaction.value;
    if (chainId !== 0) return { chainId, certain: true };
    guess ??= version & 0x80 ? TESTNET_CHAIN_ID : MAINNET_CHAIN_ID;
  }
  return guess === null ? null : { chainId: guess, certain: false };
}

function microblockOf(transaction: TransactionPayload): Microblock | null {
  const { microblock_hash, microblock_parent_hash, microblock_sequence } = transaction;
  if (!microblock_hash || !microblock_parent_hash || typeof microblock_sequence !== 'number') return null;
  return { hash: fromHex(microblock_hash), parentHash: fromHex(microblock_parent_hash), sequence: microblock_sequence };
}

/** Removes U+0000, which common databases can't store in text columns. The API has therefore never returned it. */
const withoutNul = (text: string): string => text.replaceAll('\u0000', '');

/** Checks that a transaction's nonces fit in a column. No chain gets near the bound. */
function checkNonces({ txId, sender, sponsor }: TransactionContent): void {
  if (sender.nonce <= MAX_STORED_INTEGER && (sponsor?.nonce ?? 0n) <= MAX_STORED_INTEGER) return;
  throw new PayloadError(`Transaction ${toHex(txId)}: a nonce above ${MAX_STORED_INTEGER} can't be stored`);
}

/**
 * Returns the content of a block's transaction. If this program doesn't support the kind of signer, the sender is
 * unknown: the transaction is then treated as one that the node created, without a nonce and a fee.
 * @throws PayloadError if the bytes aren't a transaction
 */
function contentInBlock({ txid, raw_tx }: TransactionPayload, network: Network): TransactionContent {
  const raw = fromHex(raw_tx);
  const content = transactionContent(raw);
  if (content.ok) return content.value;
  const { error } = content;
  if (!error.isUnknownKind) throw new PayloadError(`Transaction ${txid}: ${error.message}`);
  return unreadContent(fromHex(txid), raw, error.message, network);
}

function chainTransactions(block: ParsedBlock, network: Network): ChainTransaction[] {
  const eventsOf = eventsByTransaction(block.events, block.transactions);
  const transactions: ChainTransaction[] = [];
  for (const payload of block.transactions) {
    const events = eventsOf.get(withPrefix(payload.txid)) ?? [];
    const txId = fromHex(payload.txid);
    const result = fromHex(payload.raw_result);
    let content: TransactionContent | null;
    if (payload.raw_tx === BITCOIN_OPERATION) {
      content = bitcoinOperationContent({
        txId,
        result,
        operation: payload.burnchain_op ?? null,
        events: [...events],
        network,
        burnBlockHeight: block.burn_block_height,
      });
      // A failed operation has neither an effect nor a Stacks transaction.
      if (content === null) continue;
    } else {
      content = { ...contentInBlock(payload, network), txId };
      checkNonces(content);
    }
    const contractInterface = payload.contract_interface ?? payload.contract_abi ?? null;
    transactions.push({
      ...content,
      txIndex: payload.tx_index,
      ...(isKnownStatus(payload.status)
        ? { status: payload.status }
        : { status: 'unknown', unknownStatus: payload.status }),
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

/** Compares by chain order: microblock sequence, then index. */
const chainOrder = (a: ChainTransaction, b: ChainTransaction): number =>
  sequenceOf(a) - sequenceOf(b) || a.txIndex - b.txIndex;

function rewardSetOf({ reward_set, cycle_number }: ParsedBlock): RewardSet | null {
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
 * Converts a block's payload.
 * @throws PayloadError if a transaction can't be decoded, or an event belongs to no transaction
 */
export function blockOf(payload: ParsedBlock, network: Network): Block {
  // No block is from 1970: a time of 0 is a missing one.
  const time = payload.block_time || (payload.burn_block_time ?? payload.block_time ?? null);
  if (time === null) throw new PayloadError('Block message has no block_time or burn_block_time');
  const transactions = chainTransactions(payload, network).sort(chainOrder);
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
      : transactions.reduce((total, transaction) => addCosts(total, transaction.cost), NO_COST),
    signerBits: bits ? signerBits(fromHex(bits)) : null,
    signerSignatures: payload.signer_signature?.map(fromHex) ?? null,
    announcedTransactions: payload.transactions.length,
    transactions,
    minerRewards: payload.matured_miner_rewards.map((reward) => ({
      recipient: reward.recipient,
      miner: reward.miner_address ?? reward.recipient,
      coinbase: BigInt(reward.coinbase_amount),
      feesAnchored: BigInt(reward.tx_fees_anchored),
      feesStreamedConfirmed: BigInt(reward.tx_fees_streamed_confirmed),
      feesStreamedProduced: BigInt(reward.tx_fees_streamed_produced),
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
 * Converts the stored payload of a block.
 * @param text the JSON of its payload
 * @throws PayloadError as {@link blockOf}
 */
export function blockOfText(text: string, network: Network): Block {
  const payload = readPayload('/new_block', text);
  if (payload.kind !== 'block') throw new Error('the stored payload of a block belongs to another event');
  return blockOf(payload.block, network);
}

/**
 * Returns block 1 with the transactions of block 0 appended: the API serves boot contracts and genesis mints in block
 * 1. Their indexes continue the indexes of block 1.
 */
export function withGenesis(block: Block, genesis: Block): Block {
  const boot = genesis.transactions.map((transaction) => ({
    ...transaction,
    txIndex: block.announcedTransactions + transaction.txIndex,
    genesis: {
      blockTime: genesis.blockTime,
      parentIndexBlockHash: genesis.parentIndexBlockHash,
      parentBurnBlockTime: genesis.parentBurnBlockTime,
    },
  }));
  return {
    ...block,
    announcedTransactions: block.announcedTransactions + genesis.announcedTransactions,
    transactions: [...block.transactions, ...boot],
    minerRewards: [...genesis.minerRewards, ...block.minerRewards],
  };
}

/**
 * Returns the signer bit vector of a block event as a text of `0` and `1`, one per reward slot. The bytes are: u16 bit
 * count, u32 byte count, then the bits, each byte from its highest bit. Returns null if the counts and the bytes don't
 * match.
 */
export function signerBits(bytes: Uint8Array): string | null {
  const bits = decoded(() => {
    const reader = new BytesReader(bytes);
    const bitCount = reader.u16('the count of bits');
    const vector = reader.span(reader.u32('the count of bytes'), 'the bits');
    return { bitCount, vector, whole: reader.left === 0 };
  });
  if (!bits.ok || !bits.value.whole) return null;
  const { bitCount, vector } = bits.value;
  if (vector.length !== Math.ceil(bitCount / 8)) return null;
  let text = '';
  for (let bit = 0; bit < bitCount; bit++) text += (vector[bit >> 3]! >> (7 - (bit & 7))) & 1;
  return text;
}
