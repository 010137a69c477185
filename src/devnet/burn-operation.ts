import { clarity } from '../codec/clarity-encode.ts';
import { toHex } from '../codec/hex.ts';
import { bitcoinAddress } from './bitcoin.ts';
import { noCost, type Receipt } from './execute.ts';
import { jsonInteger } from './json-integer.ts';
import type { Network } from './network.ts';
import { memoBytes } from './payloads.ts';
import { hashOfAddress, poxAddress, type Stacking, stack } from './pox.ts';
import type { Prng } from './prng.ts';
import type { Account } from './wallet.ts';
import type { World } from './world.ts';

/** A Bitcoin block with its sortition, as the node sees it. */
export interface BurnBlock {
  /** The block hash, with 0x. */
  readonly hash: string;
  readonly height: number;
  /** Unix seconds. */
  readonly time: number;
  /** 20 bytes: what the tenure elected in this block is called by. */
  readonly consensusHash: Uint8Array;
  readonly parent: BurnBlock | undefined;
  readonly operations: readonly BurnOperation[];
}

/** Something done on Stacks by a Bitcoin transaction (SIP-007); there is no Stacks transaction for it. */
export type BurnOperation = {
  /** The Bitcoin transaction's id, with 0x. */
  readonly txId: string;
  readonly sender: Account;
} & (
  | { readonly kind: 'transfer'; readonly recipient: Account; readonly amount: bigint; readonly memo: Uint8Array }
  | { readonly kind: 'stack'; readonly stacking: Stacking }
);

/** Now and then a Bitcoin block holds an operation. */
export function drawOperation(prng: Prng, users: readonly Account[], network: Network): BurnOperation | undefined {
  if (!prng.chance(0.15)) return undefined;
  const txId = toHex(prng.bytes(32));
  const sender = prng.pick(users);
  if (prng.chance(0.7)) {
    const others = users.filter((user) => user !== sender);
    const recipient = others.length === 0 ? sender : prng.pick(others);
    const amount = BigInt(prng.between(1_000, 50_000_000));
    return { kind: 'transfer', txId, sender, recipient, amount, memo: memoBytes(`from ${network.name} bitcoin`) };
  }
  const stacking: Stacking = {
    stacker: sender.address,
    amount: BigInt(prng.between(1_000_000, 900_000_000)),
    period: prng.between(1, 12),
    rewardAddress: poxAddress(prng.bytes(20)),
    signerKey: Uint8Array.of(prng.between(2, 3), ...prng.bytes(32)),
    signerSignature: undefined,
    maximum: 2n ** 128n - 1n,
    authorization: BigInt(prng.u32()),
  };
  return { kind: 'stack', txId, sender, stacking };
}

/** The Bitcoin block that an operation stands in. */
interface BurnPlace {
  /** The block hash, with 0x. */
  readonly hash: string;
  readonly height: number;
}

/** Does what the operation says. One that can't be done has a receipt without events, or none at all. */
export function executeOperation(
  operation: BurnOperation,
  burn: BurnPlace,
  world: World,
  burnHeight: number,
  network: Network,
): Receipt | undefined {
  const { txId, sender } = operation;
  const base = { txId, rawTx: '0x00', abi: null, cost: noCost, vmError: null };
  const place = {
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
      ...place,
      memo: toHex(memo),
      recipient: addressObject(recipient, network),
      sender: from,
      transfered_ustx: jsonInteger(amount),
    };
    const result = clarity.ok(clarity.bool(true));
    return { ...base, status: 'success', result, events: [event], burnchainOp: { transfer_stx: transfer } };
  }

  const { stacking } = operation;
  // As a node without pox-4, which passes over what it can't do.
  if (!world.isActive('pox-4', burnHeight)) return undefined;
  const contract = `${network.boot}.pox-4`;
  const outcome = stack(stacking, { contract, world, burnHeight });
  for (const event of outcome.events) world.apply(event);
  for (const [key, value] of outcome.writes ?? []) world.store(contract, key, value);
  const stacked = {
    auth_id: Number(stacking.authorization),
    ...place,
    max_amount: jsonInteger(stacking.maximum),
    num_cycles: stacking.period,
    reward_addr: bitcoinAddress(hashOfAddress(stacking.rewardAddress), network),
    sender: from,
    signer_key: stacking.signerKey.toHex(),
    stacked_ustx: jsonInteger(stacking.amount),
  };
  return {
    ...base,
    status: outcome.ok ? 'success' : 'abort_by_response',
    result: outcome.result,
    events: outcome.events,
    burnchainOp: { stack_stx: stacked },
  };
}

function addressObject({ address, hash160 }: Account, network: Network) {
  return { address, address_hash_bytes: toHex(hash160), address_version: network.addressVersion };
}
