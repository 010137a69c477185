import { toHex } from '../codec/hex.ts';
import type { Block } from './block.ts';
import { eventPayload } from './chain-event.ts';
import { type Cost, noCost, type Receipt } from './execute.ts';
import type { Prng } from './prng.ts';
import { type Account, sign } from './wallet.ts';

/** Burn heights at which what earlier stacking contracts locked was released. */
const unlockHeights = { pox_v1_unlock_height: 105, pox_v2_unlock_height: 107, pox_v3_unlock_height: 110 };
/** The same of pox-4, where it is still to come. */
const MAX_HEIGHT = 0xffff_ffff;
const zeros = `0x${'00'.repeat(32)}`;
const ones = `0x${'ff'.repeat(32)}`;

/** What a block holds besides its place in the chain. */
export interface BlockContent {
  readonly receipts: readonly Receipt[];
  readonly maturedRewards: readonly object[];
  /** The next cycle's signers and its number, in the one block that chooses them. */
  readonly rewardSet?: { readonly set: object; readonly cycle: number } | undefined;
}

/** Body of `/new_block` for a block mined on `parent`, signed by its miner and the signers. */
export function blockPayload(
  block: Block,
  parent: Block,
  content: BlockContent,
  signers: readonly Account[],
  prng: Prng,
): object {
  const digest = Uint8Array.fromHex(block.blockHash.slice(2));
  // One signer in ten is not heard of in time.
  const present = signers.map(() => prng.chance(0.9));
  return {
    ...common(block, content, prng),
    block_time: block.time,
    consensus_hash: toHex(block.burn.consensusHash),
    cycle_number: content.rewardSet?.cycle ?? null,
    miner_signature: toHex(sign(digest, block.tenure.miner.privateKey)),
    parent_block_hash: parent.blockHash,
    parent_burn_block_hash: parent.burn.hash,
    parent_burn_block_height: parent.burn.height,
    parent_burn_block_timestamp: parent.burn.time,
    parent_index_block_hash: parent.indexBlockHash,
    reward_set: content.rewardSet?.set ?? null,
    signer_bitvec: bitvec(present),
    // Unlike every other hash in the body, these come without 0x.
    signer_signature: signers.filter((_, i) => present[i]).map((signer) => sign(digest, signer.privateKey).toHex()),
    signer_signature_hash: block.blockHash,
  };
}

/** Body of `/new_block` for block 0, which nobody mined. */
export function genesisPayload(block: Block, content: BlockContent, prng: Prng): object {
  return {
    ...common(block, content, prng),
    block_time: null,
    consensus_hash: toHex(block.burn.consensusHash),
    cycle_number: null,
    parent_block_hash: ones,
    parent_burn_block_hash: zeros,
    parent_burn_block_height: 0,
    parent_burn_block_timestamp: 0,
    parent_index_block_hash: ones,
    reward_set: null,
    signer_bitvec: null,
  };
}

function common(block: Block, content: BlockContent, prng: Prng): object {
  const { receipts } = content;
  let index = 0;
  const events = receipts.flatMap(({ txId, events }) => events.map((event) => eventPayload(event, txId, index++)));
  return {
    anchored_cost: totalCost(receipts),
    block_hash: block.blockHash,
    block_height: block.height,
    burn_block_hash: block.burn.hash,
    burn_block_height: block.burn.height,
    burn_block_time: block.burn.time,
    confirmed_microblocks_cost: noCost,
    // The node keeps events in a hash map, so that they come in no order at all.
    events: prng.shuffle(events),
    index_block_hash: block.indexBlockHash,
    matured_miner_rewards: content.maturedRewards,
    miner_txid: block.tenure.minerTxId,
    parent_microblock: zeros,
    parent_microblock_sequence: 0,
    ...unlockHeights,
    pox_v4_unlock_height: Math.min(block.world.pox5Height ?? MAX_HEIGHT, MAX_HEIGHT),
    tenure_height: block.tenure.height,
    transactions: receipts.map(receiptPayload),
  };
}

function receiptPayload(receipt: Receipt, index: number): object {
  const { problematic } = receipt;
  return {
    burnchain_op: receipt.burnchainOp,
    contract_interface: receipt.abi,
    execution_cost: receipt.cost,
    microblock_hash: null,
    microblock_parent_hash: null,
    microblock_sequence: null,
    ...(problematic === undefined ? {} : { problematic_skipped: problematic }),
    raw_result: toHex(receipt.result),
    raw_tx: receipt.rawTx,
    status: receipt.status,
    tx_index: index,
    txid: receipt.txId,
    vm_error: receipt.vmError,
  };
}

function totalCost(receipts: readonly Receipt[]): Cost {
  const total = { ...noCost };
  for (const { cost } of receipts) {
    total.read_count += cost.read_count;
    total.read_length += cost.read_length;
    total.runtime += cost.runtime;
    total.write_count += cost.write_count;
    total.write_length += cost.write_length;
  }
  return total;
}

/** Count of bits (u16), count of bytes (u32), then the bits, the first one highest; hex without 0x. */
function bitvec(bits: readonly boolean[]): string {
  const bytes = new Uint8Array(6 + Math.ceil(bits.length / 8));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, bits.length);
  view.setUint32(2, bytes.length - 6);
  for (const [i, bit] of bits.entries()) if (bit) bytes[6 + (i >> 3)]! |= 0x80 >> (i & 7);
  return bytes.toHex();
}
