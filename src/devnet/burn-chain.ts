import { toHex } from '../codec/hex.ts';
import { bitcoinAddress } from './bitcoin.ts';
import { type BurnBlock, type BurnOperation, drawOperation } from './burn-operation.ts';
import type { Network } from './network.ts';
import type { Prng } from './prng.ts';
import type { Account } from './wallet.ts';

/**
 * Burn height of the genesis block: past the activation of every epoch, as far as the simulation goes, and so near the
 * next reward cycle that a short chain sees its signers chosen, and its bonds begin.
 */
const firstBurnHeight = 214;
/** Satoshi each of the two rewarded addresses gets from one miner's commitment. */
const commitment = 20_000;

/** The Bitcoin side: makes blocks on any parent, so that it can fork too. */
export class BurnChain {
  readonly #rewarded: readonly Account[];

  constructor(
    readonly prng: Prng,
    readonly users: readonly Account[],
    rewarded: readonly Account[],
    readonly network: Network,
  ) {
    this.#rewarded = rewarded;
  }

  first(time: number): BurnBlock {
    return this.#block(firstBurnHeight, time, undefined, []);
  }

  /** The next block; it comes ten minutes after its parent, more or less, and not before `earliest` (Unix s). */
  next(parent: BurnBlock, earliest: number): BurnBlock {
    const time = Math.max(earliest + 1, parent.time + this.prng.between(200, 1000));
    const height = parent.height + 1;
    const operation = drawOperation(this.prng, this.users, this.network);
    return this.#block(height, time, parent, operation === undefined ? [] : [operation]);
  }

  /** Body of `/new_burn_block`. */
  payload(block: BurnBlock): object {
    const { prng, network } = this;
    const holders = [prng.pick(this.#rewarded), prng.pick(this.#rewarded)].map(({ hash160 }) =>
      bitcoinAddress(hash160, network),
    );
    const commits = Array.from({ length: prng.between(1, 3) }, () => ({
      reward_recipients: holders.map((recipient, output) => ({ amt: commitment, recipient, utxo_idx: output + 1 })),
      txid: toHex(prng.bytes(32)),
    }));
    const received = new Map<string, number>();
    for (const { reward_recipients } of commits) {
      for (const { recipient, amt } of reward_recipients) received.set(recipient, (received.get(recipient) ?? 0) + amt);
    }
    return {
      burn_amount: prng.chance(0.1) ? commitment * 2 : 0,
      burn_block_hash: block.hash,
      burn_block_height: block.height,
      consensus_hash: toHex(block.consensusHash),
      parent_burn_block_hash: block.parent?.hash ?? `0x${'00'.repeat(32)}`,
      pox_transactions: commits,
      reward_recipients: prng.shuffle([...received].map(([recipient, amt]) => ({ amt, recipient }))),
      reward_slot_holders: holders,
    };
  }

  #block(height: number, time: number, parent: BurnBlock | undefined, operations: readonly BurnOperation[]): BurnBlock {
    // Proof of work: Bitcoin block hashes begin with zeros.
    const hash = toHex(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, ...this.prng.bytes(24)));
    return { hash, height, time, consensusHash: this.prng.bytes(20), parent, operations };
  }
}

/** The blocks after `from` up to `to`, oldest first; undefined if `to` isn't built on `from`. */
export function burnBlocksBetween(from: BurnBlock, to: BurnBlock): BurnBlock[] | undefined {
  const blocks: BurnBlock[] = [];
  let block: BurnBlock | undefined = to;
  while (block !== undefined && block.height > from.height) {
    blocks.unshift(block);
    block = block.parent;
  }
  return block === from ? blocks : undefined;
}
