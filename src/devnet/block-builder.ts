import type { Block } from './block.ts';
import { burnBlocksBetween } from './burn-chain.ts';
import { executeOperation } from './burn-operation.ts';
import { execute, isMinable, type Receipt } from './execute.ts';
import type { Network } from './network.ts';
import { nakamotoCoinbase, tenureChange, tenureChangeCauses } from './payloads.ts';
import type { Prng } from './prng.ts';
import type { Traffic } from './traffic.ts';
import { type MadeTransaction, makeTransaction, payerOf, type SignedTransaction } from './transaction.ts';
import { anchorModes } from './transaction-encode.ts';
import type { Account } from './wallet.ts';
import type { World } from './world.ts';

/** What fills a block: its receipts in order, and the users' transactions among them. */
export interface BlockBody {
  readonly receipts: readonly Receipt[];
  readonly transactions: readonly SignedTransaction[];
  /** Users' transactions that were generated for this block. */
  readonly fresh: readonly MadeTransaction[];
  /** The sum of fees, in micro-STX. */
  readonly fees: bigint;
}

/** The place a block is built for; `world` is changed by building. */
export interface BlockPlace {
  readonly parent: Block;
  readonly burn: Block['burn'];
  readonly burnView: Block['burn'];
  readonly world: World;
  readonly miner: Account;
  /** Set when the block begins a tenure: whom its coinbase pays. */
  readonly newTenure?: { readonly recipient: string } | undefined;
  /** Whether the tenure is extended only for a Bitcoin block, and not because its budget was spent. */
  readonly quiet: boolean;
}

/** Fills blocks in the order of the node's receipts: operations from Bitcoin, the miner's own, then the users'. */
export class BlockBuilder {
  constructor(
    readonly prng: Prng,
    readonly traffic: Traffic,
    readonly network: Network,
  ) {}

  /**
   * @param count how many of users' transactions
   * @param waiting transactions to take first, as far as they can be mined here
   * @param busy addresses whose next nonce is promised to a transaction that waits
   * @param submitted transactions that are not counted: all that can be mined here are taken, in order of their nonces
   */
  fill(
    place: BlockPlace,
    count: number,
    waiting: readonly SignedTransaction[],
    busy: ReadonlySet<string>,
    submitted: readonly SignedTransaction[],
  ): BlockBody {
    const { world } = place;
    const burnHeight = place.burn.height;
    const at = { height: place.parent.height + 1, burnHeight };
    const receipts: Receipt[] = this.#operations(place);
    for (const own of this.#bookkeeping(place)) receipts.push(execute(own, world, at));

    const transactions: SignedTransaction[] = [];
    const fresh: MadeTransaction[] = [];
    const take = (transaction: SignedTransaction) => {
      receipts.push(execute(transaction, world, at));
      transactions.push(transaction);
    };
    const takeMinable = (transaction: SignedTransaction): boolean => {
      const minable = isMinable(transaction, world, burnHeight);
      if (minable) take(transaction);
      return minable;
    };
    // Each that is mined may make another one minable: the next nonce, or the funds for it.
    for (let left = submitted, before = -1; left.length !== before; ) {
      before = left.length;
      left = left.filter((transaction) => !takeMinable(transaction));
    }
    const filled = transactions.length + count;
    for (const transaction of waiting) {
      if (transactions.length < filled) takeMinable(transaction);
    }
    while (transactions.length < filled) {
      const transaction = this.traffic.next(world, burnHeight, busy);
      if (!isMinable(transaction, world, burnHeight))
        throw new Error(`made up ${transaction.id}, which can't be mined`);
      fresh.push(transaction);
      take(transaction);
    }
    const fees = transactions.reduce((sum, transaction) => sum + payerOf(transaction).fee, 0n);
    return { receipts, transactions, fresh, fees };
  }

  /** A tenure's first block holds what Bitcoin blocks since the parent's asked for. */
  #operations({ parent, burn, world, newTenure }: BlockPlace): Receipt[] {
    if (newTenure === undefined) return [];
    const receipts: Receipt[] = [];
    for (const block of burnBlocksBetween(parent.burn, burn) ?? []) {
      for (const operation of block.operations) {
        const receipt = executeOperation(operation, block, world, burn.height, this.network);
        if (receipt !== undefined) receipts.push(receipt);
      }
    }
    return receipts;
  }

  #bookkeeping(place: BlockPlace): SignedTransaction[] {
    const { parent, burn, burnView, world, miner, newTenure, quiet } = place;
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
        sign(tenureChange({ ...change, cause: tenureChangeCauses.blockFound }), 0),
        sign(nakamotoCoinbase(prng.bytes(32), recipient, prng.bytes(80)), 1),
      ];
    }
    // A tenure is extended when another burn block came without a new miner, or when its budget was spent.
    if (burnView === parent.burnView && (quiet || !prng.chance(0.06))) return [];
    const cause = burnView === parent.burnView ? prng.pick(budgetCauses) : tenureChangeCauses.extended;
    return [sign(tenureChange({ ...change, cause }), 0)];
  }
}

const budgetCauses = [
  tenureChangeCauses.extended,
  tenureChangeCauses.extendedRuntime,
  tenureChangeCauses.extendedReadCount,
  tenureChangeCauses.extendedReadLength,
  tenureChangeCauses.extendedWriteCount,
  tenureChangeCauses.extendedWriteLength,
] as const;
