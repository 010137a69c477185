/** Blocks of the simulated chain: their parts, filling, rewards, and events. */

import { principalBytes } from '../codec/address.ts';
import { deploymentPayload, unlockPayload } from '../codec/boot-transaction.ts';
import { clarity, u32 } from '../codec/clarity-encode.ts';
import { sha512_256 } from '../codec/hash.ts';
import { fromHex, toHex } from '../codec/hex.ts';
import { indexBlockHash, transactionRoot } from '../codec/nakamoto-block.ts';
import { tenureChangeCauses } from '../codec/payload.ts';
import { transactionId } from '../codec/transaction.ts';
import { type BurnBlock, burnBlocksBetween, executeOperation } from './burn-chain.ts';
import { concat, u8, u64 } from './bytes.ts';
import { type ChainEvent, COST_DIMENSIONS, type Cost } from './contract.ts';
import { pox5 } from './contracts/pox-5.ts';
import { execute, isMinable, noCost, type Receipt } from './execute.ts';
import type { Network } from './network.ts';
import type { RewardCycles } from './pox.ts';
import type { Prng } from './prng.ts';
import type { Traffic } from './traffic.ts';
import {
  anchorModes,
  makeTransaction,
  nakamotoCoinbase,
  payerOf,
  type SignedTransaction,
  type SimulatedTransaction,
  tenureChange,
  unsignedBootTransaction,
} from './transaction.ts';
import { type Account, bitcoinAddress, sign } from './wallet.ts';
import type { World } from './world.ts';

const POX_5_CLARITY = 6;

/** A miner's turn. It begins with a tenure change and lasts until the next one. */
export interface Tenure {
  /** Number of the tenure; the genesis block has tenure 0. */
  readonly height: number;
  readonly miner: Account;
  /** Recipient of the coinbase: the miner, or the principal that its coinbase transaction names. */
  readonly recipient: string;
  /** The miner's commitment on Bitcoin, with 0x. */
  readonly minerTxId: string;
  /** Consensus hashes of the tenure and of the previous tenure, 20 bytes each; null for the tenure before tenure 0. */
  readonly consensusHash: Uint8Array;
  readonly parentConsensusHash: Uint8Array | null;
  /** Index block hash of the first block of the previous tenure; null for tenure 0. */
  readonly parentIndexBlockHash: string | null;
  /** Hashes of the first block, which rewards refer to. */
  readonly blockHash: string;
  readonly indexBlockHash: string;
}

/** A miner's earnings in a tenure. They are credited some tenures later, when they mature. */
interface Earning {
  readonly tenure: Tenure;
  /** Micro-STX. */
  readonly fees: bigint;
}

/** A block of the simulated chain, with the state after it. */
export interface Block {
  /** Hashes with 0x. */
  readonly blockHash: string;
  readonly indexBlockHash: string;
  /** Null for block 0. */
  readonly header: SealedHeader | null;
  /** Index block hash of the parent; null for block 0. */
  readonly parent: string | null;
  readonly height: number;
  /** Unix seconds. */
  readonly time: number;
  /** The burn block that elected the tenure. */
  readonly burn: BurnBlock;
  /** The newest burn block that the miner has seen: `burn` or a later one. */
  readonly burnView: BurnBlock;
  readonly tenure: Tenure;
  /** Number of the tenure's blocks up to and including this block. */
  readonly blocksInTenure: number;
  /** Sum of fees in the tenure up to and including this block, in micro-STX. */
  readonly fees: bigint;
  /** Earnings that haven't matured yet, oldest first. */
  readonly earnings: readonly Earning[];
  readonly world: World;
  /** Transactions of users, without coinbase and tenure changes. */
  readonly transactions: readonly SignedTransaction[];
  /** Receipts of all its transactions, in order. */
  readonly receipts: readonly Receipt[];
  /** The reward sets that this block and earlier blocks chose, the newest last. */
  readonly rewardSets: readonly ChosenRewardSet[];
}

/** The stackers and signers of a cycle. */
interface ChosenRewardSet {
  readonly cycle: number;
  readonly set: ReturnType<typeof rewardSet>;
}

export interface SealedHeader {
  /** Bytes of the header in the node's format. */
  readonly bytes: Uint8Array;
  /** Hashes with 0x. */
  readonly blockHash: string;
  readonly indexBlockHash: string;
  readonly transactionRoot: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly minerSignature: Uint8Array;
  /** Signatures of the signers that answered in time. */
  readonly signerSignatures: readonly Uint8Array[];
  /** The signers that answered in time, in the form of `signer_bitvec`. */
  readonly bitvec: Uint8Array;
}

/** Approximate satoshis that miners spend in a Bitcoin block. */
const BURN_SPENT = 40_000;

/**
 * Returns the transactions in a block's body. Operations on Bitcoin, and transactions that the node creates, have only
 * receipts.
 */
export const bodyOf = (receipts: readonly Receipt[]): readonly Receipt[] =>
  receipts.filter(({ burnchainOp, rawTx }) => burnchainOp === null && !isUnsigned(rawTx));

/** Reports whether a transaction has chain id 0. */
const isUnsigned = (rawTx: string): boolean => rawTx.startsWith('00000000', 4);

/**
 * Makes a transaction that the node creates. @param signers combined hash of the signers; by default the hash of the
 * boot address
 */
export function bootReceipt(
  payload: Uint8Array,
  network: Network,
  parts: Partial<Receipt>,
  signers?: Uint8Array | undefined,
): Receipt {
  const raw = unsignedBootTransaction(payload, network, signers);
  return {
    txId: toHex(transactionId(raw)),
    rawTx: toHex(raw),
    status: 'success',
    result: clarity.ok(clarity.bool(true)),
    events: [],
    abi: null,
    cost: noCost,
    vmError: null,
    burnchainOp: null,
    ...parts,
  };
}

/** The STX of the genesis block that are unlocked at a height. */
export interface Unlock {
  readonly recipient: string;
  /** Micro-STX. */
  readonly amount: bigint;
}

/** Makes a header, signed by its miner and the signers. @param time Unix seconds @param state root, 32 bytes */
export function sealedHeader(
  { parent, burn, miner }: BlockContext,
  receipts: readonly Receipt[],
  time: number,
  state: Uint8Array,
  signers: readonly Account[],
  prng: Prng,
): SealedHeader {
  const root = transactionRoot(bodyOf(receipts).map(({ txId }) => fromHex(txId)));
  const content = concat(
    u8(0),
    u64(parent.height + 1),
    u64(burn.height * BURN_SPENT),
    burn.consensusHash,
    fromHex(parent.indexBlockHash),
    root,
    state,
    u64(time),
  );
  const minerSignature = sign(sha512_256(content), miner.privateKey);
  // One signer in ten doesn't answer in time.
  const present = signers.filter(() => prng.chance(0.9));
  const bits = bitvec(signers.map((signer) => present.includes(signer)));
  const hash = sha512_256(concat(content, minerSignature, bits));
  const signerSignatures = present.map((signer) => sign(hash, signer.privateKey));
  return {
    bytes: concat(content, minerSignature, u32(signerSignatures.length), ...signerSignatures, bits),
    blockHash: toHex(hash),
    indexBlockHash: toHex(indexBlockHash(hash, burn.consensusHash)),
    transactionRoot: root,
    stateRoot: state,
    minerSignature,
    signerSignatures,
    bitvec: bits,
  };
}

/** The content of a block: its receipts in order, and the users' transactions among them. */
export interface BlockBody {
  readonly receipts: readonly Receipt[];
  readonly transactions: readonly SignedTransaction[];
  /** Users' transactions that were generated for this block. */
  readonly fresh: readonly SimulatedTransaction[];
  /** The sum of fees, in micro-STX. */
  readonly fees: bigint;
}

/** The context of a block that is being built. Building the block changes `world`. */
export interface BlockContext {
  readonly parent: Block;
  readonly burn: Block['burn'];
  readonly burnView: Block['burn'];
  readonly world: World;
  readonly miner: Account;
  /** Recipient of the coinbase, for the first block of a tenure. */
  readonly newTenure?: { readonly recipient: string } | undefined;
  /** Whether the tenure is extended only for Bitcoin blocks, never for its budget. */
  readonly quiet: boolean;
}

/**
 * Fills blocks in the order of the node's receipts: operations from Bitcoin, the miner's transactions, then the users'
 * transactions.
 */
export class BlockBuilder {
  constructor(
    readonly prng: Prng,
    readonly traffic: Traffic,
    readonly network: Network,
    readonly unlocks: ReadonlyMap<number, readonly Unlock[]>,
  ) {}

  /**
   * Fills a block.
   * @param count number of users' transactions
   * @param waiting transactions to include first, if they can be mined here
   * @param busy addresses whose next nonce belongs to a waiting transaction
   * @param submitted transactions that are not counted: all that can be mined here are included, in order of their
   * nonces
   */
  fill(
    context: BlockContext,
    count: number,
    waiting: readonly SignedTransaction[],
    busy: ReadonlySet<string>,
    submitted: readonly SignedTransaction[],
  ): BlockBody {
    const { world } = context;
    const burnHeight = context.burn.height;
    const heights = { height: context.parent.height + 1, burnHeight };
    const receipts: Receipt[] = [...this.#epochContracts(context), ...this.#operations(context)];
    for (const transaction of this.#bookkeeping(context)) receipts.push(execute(transaction, world, heights));

    const transactions: SignedTransaction[] = [];
    const fresh: SimulatedTransaction[] = [];
    const include = (transaction: SignedTransaction) => {
      receipts.push(execute(transaction, world, heights));
      transactions.push(transaction);
    };
    const includeMinable = (transaction: SignedTransaction): boolean => {
      const minable = isMinable(transaction, world, burnHeight);
      if (minable) include(transaction);
      return minable;
    };
    // A mined transaction may allow others to be mined, by its nonce or its funds.
    for (let left = submitted, previousLength = -1; left.length !== previousLength; ) {
      previousLength = left.length;
      left = left.filter((transaction) => !includeMinable(transaction));
    }
    const targetCount = transactions.length + count;
    for (const transaction of waiting) {
      if (transactions.length < targetCount) includeMinable(transaction);
    }
    while (transactions.length < targetCount) {
      const transaction = this.traffic.next(world, burnHeight, busy);
      if (!isMinable(transaction, world, burnHeight))
        throw new Error(`made up ${transaction.id}, which can't be mined`);
      fresh.push(transaction);
      include(transaction);
    }
    const fees = transactions.reduce((sum, transaction) => sum + payerOf(transaction).fee, 0n);
    receipts.push(...this.#unlocked(heights.height, world));
    return { receipts, transactions, fresh, fees };
  }

  /** Returns the contract of the epoch that activates pox-5, for the epoch's first block. */
  #epochContracts({ parent, burn, world }: BlockContext): Receipt[] {
    const { pox5Height } = world;
    if (pox5Height === undefined || parent.burn.height >= pox5Height || burn.height < pox5Height) return [];
    const { name, source, abi } = pox5;
    world.install({ id: `${this.network.boot}.${name}`, template: pox5, height: parent.height + 1 });
    return [bootReceipt(deploymentPayload(name, source, POX_5_CLARITY), this.network, { abi })];
  }

  #unlocked(height: number, world: World): Receipt[] {
    const due = this.unlocks.get(height);
    if (due === undefined) return [];
    const events = due.map(({ recipient, amount }) => ({ type: 'stx_mint_event' as const, recipient, amount }));
    for (const event of events) world.apply(event);
    return [bootReceipt(unlockPayload(principalBytes(this.network.boot)!, height), this.network, { events })];
  }

  /** Executes the operations of Bitcoin blocks since the parent's Bitcoin block, in a tenure's first block. */
  #operations({ parent, burn, world, newTenure }: BlockContext): Receipt[] {
    if (newTenure === undefined) return [];
    const blocks = burnBlocksBetween(parent.burn, burn) ?? [];
    return blocks.flatMap((block) =>
      block.operations.flatMap(
        (operation) => executeOperation(operation, block, world, burn.height, this.network) ?? [],
      ),
    );
  }

  #bookkeeping(context: BlockContext): SignedTransaction[] {
    const { parent, burn, burnView, world, miner, newTenure, quiet } = context;
    const { prng, network } = this;
    const nonce = world.nonce(miner.address);
    const sign = (payload: Uint8Array, offset: number) =>
      makeTransaction(
        { payload, origin: { account: miner, nonce: nonce + offset, fee: 0n }, anchorMode: anchorModes.onChainOnly },
        { kind: 'system' },
        network,
      );
    const change = {
      tenure: burn.consensusHash,
      previousTenure: parent.burn.consensusHash,
      burnView: burnView.consensusHash,
      previousTenureEnd: Uint8Array.fromHex(parent.indexBlockHash.slice(2)),
      previousTenureBlocks: parent.blocksInTenure,
      minerHash: miner.hash160,
    };
    if (newTenure !== undefined) {
      const recipient = newTenure.recipient === miner.address ? undefined : newTenure.recipient;
      return [
        sign(tenureChange({ ...change, cause: 'block_found' }), 0),
        sign(nakamotoCoinbase(prng.bytes(32), recipient, prng.bytes(80)), 1),
      ];
    }
    // A tenure is extended after a burn block without a new miner, or when its budget is spent.
    if (burnView === parent.burnView && (quiet || !prng.chance(0.06))) return [];
    const cause = burnView === parent.burnView ? prng.pick(tenureChangeCauses.slice(1)) : 'extended';
    return [sign(tenureChange({ ...change, cause }), 0)];
  }
}

/** Micro-STX that each tenure mints. */
const coinbaseAmount = 500_000_000n;
/** Number of tenures until a reward is credited; 100 on the public networks. */
const maturity = 6;

/** Returns the rewards that are due after the block's tenure. Tenure 0, the genesis block, has no miner. */
export function earningsAt({ tenure, fees, earnings }: Block): readonly Earning[] {
  return tenure.height === 0 ? [] : [...earnings, { tenure, fees }];
}

/**
 * Reports whether all of a tenure's rewards are paid: its coinbase when it matures, its fees with the next tenure's
 * coinbase.
 */
export function isPaid({ tenure }: Earning, tenureHeight: number): boolean {
  return tenure.height + maturity < tenureHeight;
}

/** Credits the rewards that mature in a tenure, and returns them in the form that the block reports. */
export function matureRewards(earnings: readonly Earning[], tenureHeight: number, world: World, boot: string) {
  const maturedHeight = tenureHeight - maturity;
  const earning = earnings.find(({ tenure }) => tenure.height === maturedHeight);
  if (earning === undefined) return [];
  const previous = earnings.find(({ tenure }) => tenure.height === maturedHeight - 1);
  const { tenure } = earning;
  world.mint(tenure.recipient, coinbaseAmount);
  if (previous !== undefined) world.credit(previous.tenure.recipient, previous.fees);
  const from = {
    from_index_consensus_hash: tenure.indexBlockHash,
    from_stacks_block_hash: tenure.blockHash,
    tx_fees_anchored: '0',
    tx_fees_streamed_confirmed: '0',
  };
  return [
    {
      ...from,
      coinbase_amount: String(coinbaseAmount),
      miner_address: tenure.miner.address,
      recipient: tenure.recipient,
      tx_fees_streamed_produced: '0',
    },
    {
      ...from,
      coinbase_amount: '0',
      miner_address: previous?.tenure.miner.address ?? boot,
      recipient: previous?.tenure.recipient ?? boot,
      tx_fees_streamed_produced: String(previous?.fees ?? 0n),
    },
  ];
}

/**
 * Returns the signers of the next cycle and its reward addresses, one entry per reward slot. pox-5 pays no rewards on
 * Bitcoin.
 */
export function rewardSet(prng: Prng, signers: readonly Account[], network: Network, isOfPox5: boolean) {
  const threshold = 50_000_000_000n;
  const weighted = signers.map((signer) => ({ signer, weight: prng.between(1, 8) }));
  return {
    pox_ustx_threshold: isOfPox5 ? null : String(threshold),
    rewarded_addresses: weighted.flatMap(({ signer, weight }) =>
      Array.from({ length: isOfPox5 ? 0 : weight }, () => bitcoinAddress(signer.hash160, network)),
    ),
    signers: weighted
      .map(({ signer, weight }) => ({
        signing_key: signer.publicKey.toHex(),
        stacked_amt: String(threshold * BigInt(weight) + BigInt(prng.u32())),
        weight,
      }))
      .sort((a, b) => (a.signing_key < b.signing_key ? -1 : 1)),
    start_cycle_state: { missed_reward_slots: [] },
  };
}

/**
 * Returns the cycle for which signers are chosen at a Bitcoin height: after the first block of the prepare phase, up to
 * the first block of the cycle. Returns null at other heights.
 */
function chosenCycle(burnHeight: number, cycles: RewardCycles): number | null {
  const next = Math.ceil(burnHeight / cycles.length);
  return burnHeight > cycles.prepareStartOf(next) ? next : null;
}

/**
 * Returns the cycle for which a tenure chooses the signers, if it is the first tenure in its phase; null for other
 * tenures.
 */
export function newlyChosenCycle(parentBurnHeight: number, burnHeight: number, cycles: RewardCycles): number | null {
  const cycle = chosenCycle(burnHeight, cycles);
  return cycle === chosenCycle(parentBurnHeight, cycles) ? null : cycle;
}

/** Burn heights at which the locks of earlier stacking contracts ended. */
const unlockHeights = { pox_v1_unlock_height: 105, pox_v2_unlock_height: 107, pox_v3_unlock_height: 110 };
/** Unlock height of pox-4 if it is unknown. */
const MAX_HEIGHT = 0xffff_ffff;
const zeros = `0x${'00'.repeat(32)}`;
const ones = `0x${'ff'.repeat(32)}`;

/**
 * Makes the body of `/new_block`.
 * @param parent null for block 0, which has no miner
 * @param rewards that matured in the block
 */
export function blockPayload(block: Block, parent: Block | null, rewards: readonly object[], prng: Prng): object {
  const { header, receipts, burn } = block;
  const chosen = block.rewardSets[parent?.rewardSets.length ?? 0];
  let index = 0;
  const events = receipts.flatMap(({ txId, events }) => events.map((event) => eventPayload(event, txId, index++)));
  return {
    anchored_cost: totalCost(receipts),
    block_hash: block.blockHash,
    block_height: block.height,
    burn_block_hash: burn.hash,
    burn_block_height: burn.height,
    burn_block_time: burn.time,
    confirmed_microblocks_cost: noCost,
    // A node stores events in a hash map, so their order is arbitrary.
    events: prng.shuffle(events),
    index_block_hash: block.indexBlockHash,
    matured_miner_rewards: rewards,
    miner_txid: block.tenure.minerTxId,
    parent_microblock: zeros,
    parent_microblock_sequence: 0,
    ...unlockHeights,
    pox_v4_unlock_height: Math.min(block.world.pox5Height ?? MAX_HEIGHT, MAX_HEIGHT),
    tenure_height: block.tenure.height,
    transactions: receipts.map(receiptPayload),
    block_time: header === null ? null : block.time,
    consensus_hash: toHex(burn.consensusHash),
    cycle_number: chosen?.cycle ?? null,
    ...(header === null ? {} : { miner_signature: toHex(header.minerSignature) }),
    parent_block_hash: parent?.blockHash ?? ones,
    parent_burn_block_hash: parent?.burn.hash ?? zeros,
    parent_burn_block_height: parent?.burn.height ?? 0,
    parent_burn_block_timestamp: parent?.burn.time ?? 0,
    parent_index_block_hash: parent?.indexBlockHash ?? ones,
    reward_set: chosen?.set ?? null,
    // Without 0x, unlike other hashes in the body.
    signer_bitvec: header?.bitvec.toHex() ?? null,
    ...(header === null
      ? {}
      : {
          signer_signature: header.signerSignatures.map((signature) => signature.toHex()),
          signer_signature_hash: block.blockHash,
        }),
  };
}

/** Returns an entry of `events`. `index` counts over the whole block, or over a replayed transaction. */
export function eventPayload(event: ChainEvent, txId: string, index: number) {
  return { committed: true, event_index: index, [event.type]: eventBody(event), txid: txId, type: event.type };
}

/** Returns the node's form of an event, with its members in alphabetical order. */
function eventBody(event: ChainEvent): Record<string, string> {
  if (event.type === 'stx_lock_event') {
    return {
      contract_identifier: event.contract,
      locked_address: event.address,
      locked_amount: String(event.amount),
      unlock_height: String(event.unlockHeight),
    };
  }
  return {
    ...('amount' in event ? { amount: String(event.amount) } : {}),
    ...('asset' in event ? { asset_identifier: event.asset } : {}),
    ...('contract' in event ? { contract_identifier: event.contract } : {}),
    // The only hex in events without 0x; empty if there is no memo.
    ...(event.type === 'stx_transfer_event' ? { memo: event.memo?.toHex() ?? '' } : {}),
    ...('value' in event ? { raw_value: toHex(event.value) } : {}),
    ...('recipient' in event ? { recipient: event.recipient } : {}),
    ...('sender' in event ? { sender: event.sender } : {}),
    ...(event.type === 'contract_event' ? { topic: 'print' } : {}),
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
    for (const dimension of COST_DIMENSIONS) total[dimension] += cost[dimension];
  }
  return total;
}

/** Makes a bit vector: count of bits (u16), count of bytes (u32), then the bits, the first one highest. */
function bitvec(bits: readonly boolean[]): Uint8Array {
  const bytes = new Uint8Array(6 + Math.ceil(bits.length / 8));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, bits.length);
  view.setUint32(2, bytes.length - 6);
  for (const [i, bit] of bits.entries()) if (bit) bytes[6 + (i >> 3)]! |= 0x80 >> (i & 7);
  return bytes;
}
