/** The Bitcoin side of the simulated chain: its blocks, and the effects of their operations on Stacks (SIP-007). */
import { exactNumber } from '../base/json.ts';
import { MAX_UINT } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import { toHex } from '../codec/hex.ts';
import { type StackArguments, stackStx } from './contracts/pox-4.ts';
import { noCost, type Receipt } from './execute.ts';
import type { Network } from './network.ts';
import { poxAddress } from './pox.ts';
import type { Prng } from './prng.ts';
import { memoBytes } from './transaction.ts';
import { type Account, bitcoinAddress } from './wallet.ts';
import type { World } from './world.ts';

/** A Bitcoin block with its sortition, from the node's point of view. */
export interface BurnBlock {
  readonly hash: string;
  readonly height: number;
  /** Unix seconds. */
  readonly time: number;
  /** Consensus hash of the tenure elected in this block, 20 bytes. */
  readonly consensusHash: Uint8Array;
  readonly parent: BurnBlock | undefined;
  readonly operations: readonly BurnOperation[];
}

/** An operation by a Bitcoin transaction (SIP-007), without a Stacks transaction. */
type BurnOperation = {
  /** Id of the Bitcoin transaction, with 0x. */
  readonly txId: string;
  readonly sender: Account;
} & (
  | { readonly kind: 'transfer'; readonly recipient: Account; readonly amount: bigint; readonly memo: Uint8Array }
  /** `hash160`: hash of the key that gets the rewards. */
  | { readonly kind: 'stack'; readonly hash160: Uint8Array; readonly stacking: Omit<StackArguments, 'start-burn-ht'> }
);

/**
 * Burn height of the genesis block. All simulated epochs are active there, and the next reward cycle is so close that
 * even a short chain chooses signers and starts bonds.
 */
export const firstBurnHeight = 214;
/** Satoshis that each of two reward addresses gets from a miner's commitment. */
const commitment = 20_000;

/** Makes Bitcoin blocks on any parent, so it can fork. */
export class BurnChain {
  readonly #rewardAccounts: readonly Account[];

  /** @param users send operations on Stacks @param firstHeight of the genesis block */
  constructor(
    readonly prng: Prng,
    readonly users: readonly Account[],
    rewardAccounts: readonly Account[],
    readonly network: Network,
    readonly firstHeight = firstBurnHeight,
  ) {
    this.#rewardAccounts = rewardAccounts;
  }

  first(time: number): BurnBlock {
    return this.#block(this.firstHeight, time, undefined, []);
  }

  /** Makes the next block: about ten minutes after its parent, and not before `earliest` (Unix seconds). */
  next(parent: BurnBlock, earliest: number): BurnBlock {
    const time = Math.max(earliest + 1, parent.time + this.prng.between(200, 1000));
    const height = parent.height + 1;
    const operation = drawOperation(this.prng, this.users, this.network);
    return this.#block(height, time, parent, operation === undefined ? [] : [operation]);
  }

  /** Makes the body of `/new_burn_block`. */
  payload(block: BurnBlock): object {
    const { prng, network } = this;
    const holders = [prng.pick(this.#rewardAccounts), prng.pick(this.#rewardAccounts)].map(({ hash160 }) =>
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

/** Returns the blocks after `from` up to `to`, oldest first; undefined if `to` isn't built on `from`. */
export function burnBlocksBetween(from: BurnBlock, to: BurnBlock): BurnBlock[] | undefined {
  const blocks: BurnBlock[] = [];
  let block: BurnBlock | undefined = to;
  while (block !== undefined && block.height > from.height) {
    blocks.unshift(block);
    block = block.parent;
  }
  return block === from ? blocks : undefined;
}

/** Draws an operation for some of the Bitcoin blocks. */
function drawOperation(prng: Prng, users: readonly Account[], network: Network): BurnOperation | undefined {
  if (!prng.chance(0.15) || users.length === 0) return undefined;
  const txId = toHex(prng.bytes(32));
  const sender = prng.pick(users);
  if (prng.chance(0.7)) {
    const otherUsers = users.filter((user) => user !== sender);
    const recipient = otherUsers.length === 0 ? sender : prng.pick(otherUsers);
    const amount = BigInt(prng.between(1_000, 50_000_000));
    return { kind: 'transfer', txId, sender, recipient, amount, memo: memoBytes(`from ${network.name} bitcoin`) };
  }
  const [amount, period] = [BigInt(prng.between(1_000_000, 900_000_000)), BigInt(prng.between(1, 12))];
  const hash160 = prng.bytes(20);
  const stacking = {
    'amount-ustx': amount,
    'lock-period': period,
    'pox-addr': { bytes: poxAddress(hash160) },
    'signer-key': Uint8Array.of(prng.between(2, 3), ...prng.bytes(32)),
    'signer-sig': undefined,
    'max-amount': MAX_UINT,
    'auth-id': BigInt(prng.u32()),
  };
  return { kind: 'stack', txId, sender, hash160, stacking };
}

/** Executes an operation. If the operation fails, its receipt has no events, or there is no receipt. */
export function executeOperation(
  operation: BurnOperation,
  burn: Pick<BurnBlock, 'hash' | 'height'>,
  world: World,
  burnHeight: number,
  network: Network,
): Receipt | undefined {
  const { txId, sender } = operation;
  const base = { txId, rawTx: '0x00', abi: null, cost: noCost, vmError: null };
  const burnFields = {
    burn_block_height: burn.height,
    burn_header_hash: burn.hash.slice(2),
    burn_txid: txId.slice(2),
    vtxindex: 1,
  };
  const from = addressObject(sender, network);

  if (operation.kind === 'transfer') {
    const { recipient, amount, memo } = operation;
    if (world.spendable(sender.address, burnHeight) < amount || sender === recipient) return undefined;
    const event = {
      type: 'stx_transfer_event',
      sender: sender.address,
      recipient: recipient.address,
      amount,
      memo,
    } as const;
    world.apply(event);
    const transfer = {
      ...burnFields,
      memo: toHex(memo),
      recipient: addressObject(recipient, network),
      sender: from,
      transfered_ustx: exactNumber(amount),
    };
    const result = clarity.ok(clarity.bool(true));
    return { ...base, status: 'success', result, events: [event], burnchainOp: { transfer_stx: transfer } };
  }

  const { hash160, stacking } = operation;
  // Like a node without pox-4, which ignores operations that it can't execute.
  if (!world.isActive('pox-4', burnHeight)) return undefined;
  const contract = `${network.boot}.pox-4`;
  const context = { contract, world, sender: sender.address, burnHeight };
  const outcome = stackStx(context, { ...stacking, 'start-burn-ht': BigInt(burnHeight) });
  for (const event of outcome.events) world.apply(event);
  for (const [key, value] of outcome.writes ?? []) world.store(contract, key, value);
  const operationFields = {
    auth_id: Number(stacking['auth-id']),
    ...burnFields,
    max_amount: exactNumber(stacking['max-amount']),
    num_cycles: Number(stacking['lock-period']),
    reward_addr: bitcoinAddress(hash160, network),
    sender: from,
    signer_key: stacking['signer-key'].toHex(),
    stacked_ustx: exactNumber(stacking['amount-ustx']),
  };
  return {
    ...base,
    status: outcome.ok ? 'success' : 'abort_by_response',
    result: outcome.result,
    events: outcome.events,
    burnchainOp: { stack_stx: operationFields },
  };
}

function addressObject({ address, hash160 }: Account, network: Network) {
  return { address, address_hash_bytes: toHex(hash160), address_version: network.addressVersion };
}
