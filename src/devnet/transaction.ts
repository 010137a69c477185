/** Makes and signs transactions (SIP-005), and describes the transactions that the simulation executes. */

import { principalBytes } from '../codec/address.ts';
import { bootTransaction } from '../codec/boot-transaction.ts';
import { clarity, encodeArguments, u32 } from '../codec/clarity-encode.ts';
import { sha512_256 } from '../codec/hash.ts';
import { toHex } from '../codec/hex.ts';
import { type TenureChangeCause, tenureChangeCauses } from '../codec/payload.ts';
import { AUTH, transactionId } from '../codec/transaction.ts';
import { utf8Bytes } from '../codec/utf8.ts';
import { concat, shortText, u8, u16, u64 } from './bytes.ts';
import type { ContractCall, ContractTemplate, Execution, PostConditions } from './contract.ts';
import type { Network } from './network.ts';
import { type Account, sign } from './wallet.ts';

export type Action =
  | { kind: 'transfer'; recipient: string; amount: bigint; memo: Uint8Array }
  /** `flaw`: the analysis error of invalid code, or null. `isFromClient`: simulated users don't call the contract. */
  | { kind: 'deploy'; name: string; template: ContractTemplate; flaw: string | null; isFromClient: boolean }
  | { kind: 'call'; contract: string; call: ContractCall }
  /** The result of a Clarity engine, with the deployed contract and the action that it executed. */
  | { kind: 'executed'; result: Execution; deployed: { id: string; template: ContractTemplate } | null; input: Action }
  /** Coinbase and tenure change. */
  | { kind: 'system' };

/** Status of the transaction in any block, unless the call fails. */
export type Fate = 'success' | 'abort_by_post_condition' | 'problematic_skipped';

/** An account with the nonce that a transaction uses, and the fee in micro-STX that it offers. */
export interface Party {
  readonly account: { readonly address: string };
  readonly nonce: number | bigint;
  readonly fee: bigint;
}

/** Tokens that a command of the devnet adds to a principal, together with a transfer that has the event. */
export interface Mint {
  /** The fungible token, such as `ST….shop::gold`. */
  readonly asset: string;
  readonly recipient: string;
  /** Base units, in decimal. */
  readonly amount: string;
}

/** An announced or mined transaction; several branches can mine it. */
export interface SignedTransaction {
  /** The transaction id, with 0x. */
  readonly id: string;
  readonly raw: Uint8Array;
  readonly origin: Party;
  readonly sponsor: Party | undefined;
  readonly action: Action;
  readonly fate: Fate;
  /** Bytes of mode, count and conditions, if they must be checked. */
  readonly postConditions?: Uint8Array;
  readonly mint?: Mint;
}

/** A transaction that the simulation made up and signed. */
export interface SimulatedTransaction extends SignedTransaction {
  readonly origin: Signer;
}

/** Signs a transaction, with the data for its execution. */
export function makeTransaction(
  unsigned: UnsignedTransaction,
  action: Action,
  network: Network,
  fate: Fate = 'success',
): SimulatedTransaction {
  const raw = signTransaction(unsigned, network);
  return { id: toHex(transactionId(raw)), raw, origin: unsigned.origin, sponsor: unsigned.sponsor, action, fate };
}

/** Returns the payer of the fee: the sponsor, or the origin if there is none. */
export function payerOf(transaction: SignedTransaction): Party {
  return transaction.sponsor ?? transaction.origin;
}

/** A party that signs here. */
export interface Signer extends Party {
  readonly account: Account;
}

interface UnsignedTransaction {
  /** Payload with its type byte first, made by the functions below (SIP-005; tenure change and its coinbase: SIP-021). */
  readonly payload: Uint8Array;
  readonly origin: Signer;
  /** Sponsor that pays the fee instead of the origin. The origin's fee is then usually 0. */
  readonly sponsor?: Signer | undefined;
  /** Coinbase transactions must be `onChainOnly`. Since Nakamoto, other transactions ignore it. */
  readonly anchorMode?: AnchorMode;
  readonly postConditions?: PostConditions;
}

/** Values of the anchor mode byte (SIP-005). */
export const anchorModes = { onChainOnly: 0x01, any: 0x03 } as const;
type AnchorMode = (typeof anchorModes)[keyof typeof anchorModes];

const singleSignature = 0x00;
const severalSignatures = 0x01;
const compressedKey = 0x00;
const noSignature = new Uint8Array(65);
const noSigner = new Uint8Array(20);

/**
 * Signs a transaction (SIP-005, "Transaction signing and verifying") and returns its bytes.
 *
 * Signs a chain of hashes. The chain starts with the transaction with a cleared authorization: nonce, fee and signature
 * zero, and a blank sponsor, so that the origin can sign before the sponsor is chosen. Each signer adds the
 * authorization flag, fee and nonce, signs the hash, and passes on the hash that includes the signature.
 */
export function signTransaction(transaction: UnsignedTransaction, network: Network): Uint8Array {
  const { origin, sponsor, payload } = transaction;
  const start = concat(u8(network.transactionVersion), u32(network.chainId));
  const rest = concat(
    u8(transaction.anchorMode ?? anchorModes.any),
    transaction.postConditions ?? noPostConditions,
    payload,
  );
  const flag = u8(sponsor === undefined ? AUTH.standard : AUTH.sponsored);

  const clearedOrigin = spendingCondition(origin.account.hash160, 0, 0n, noSignature);
  const clearedSponsor = sponsor === undefined ? new Uint8Array() : spendingCondition(noSigner, 0, 0n, noSignature);
  const initialHash = sha512_256(concat(start, flag, clearedOrigin, clearedSponsor, rest));

  // The origin signs with the standard flag, even in sponsored transactions.
  const first = signLink(initialHash, AUTH.standard, origin);
  const auth = [spendingCondition(origin.account.hash160, origin.nonce, origin.fee, first.signature)];
  if (sponsor !== undefined) {
    const { signature } = signLink(first.hash, AUTH.sponsored, sponsor);
    auth.push(spendingCondition(sponsor.account.hash160, sponsor.nonce, sponsor.fee, signature));
  }
  return concat(start, flag, ...auth, rest);
}

/** Bytes before the authorization, and bytes of an authorization with one signature. */
const START_BYTES = 5;
const AUTH_BYTES = 104;

/** Reports whether a transaction has one signature, and no sponsor. */
export function hasOneSignature(raw: Uint8Array): boolean {
  const [authType, hashMode] = raw.subarray(START_BYTES);
  return authType === AUTH.standard && hashMode === singleSignature;
}

/**
 * Signs a transaction with one signature again with another fee.
 * @param origin its signer, with its nonce
 */
export function withFee(raw: Uint8Array, origin: Signer, network: Network): Uint8Array {
  // The anchor mode, then the post-conditions and the payload.
  const rest = raw.subarray(START_BYTES + AUTH_BYTES);
  const parts = { anchorMode: rest[0] as AnchorMode, postConditions: new Uint8Array(), payload: rest.subarray(1) };
  return signTransaction({ ...parts, origin }, network);
}

/**
 * Returns a transaction that the node creates, as in the genesis block: chain id 0, nonce and fee 0, and empty
 * signatures.
 * @param signers combined hash of the signers; by default the hash of the boot address
 */
export function unsignedBootTransaction(payload: Uint8Array, network: Network, signers?: Uint8Array): Uint8Array {
  if (signers === undefined) return bootTransaction(network.name === 'mainnet', payload);
  return concat(
    u8(network.transactionVersion),
    u32(0),
    u8(AUTH.standard),
    concat(u8(severalSignatures), signers, u64(0), u64(0), u32(0), u16(0)),
    u8(anchorModes.onChainOnly),
    noPostConditions,
    payload,
  );
}

function signLink(hash: Uint8Array, flag: number, signer: Signer) {
  const digest = sha512_256(concat(hash, u8(flag), u64(signer.fee), u64(signer.nonce)));
  const signature = sign(digest, signer.account.privateKey);
  return { signature, hash: sha512_256(concat(digest, u8(compressedKey), signature)) };
}

function spendingCondition(
  hash160: Uint8Array,
  nonce: number | bigint,
  fee: bigint,
  signature: Uint8Array,
): Uint8Array {
  return concat(u8(singleSignature), hash160, u64(nonce), u64(fee), u8(compressedKey), signature);
}

/** Makes a transfer of micro-STX to a principal. The memo has at most 34 bytes and is padded with zeros. */
export function tokenTransfer(recipient: string, amount: bigint, memo: string): Uint8Array {
  return concat(u8(0x00), clarity.principal(recipient), u64(amount), memoBytes(memo));
}

/** Returns the 34 bytes of a memo. */
export function memoBytes(memo: string): Uint8Array {
  const bytes = new Uint8Array(34);
  bytes.set(utf8Bytes(memo).subarray(0, 34));
  return bytes;
}

/** Returns a call of a public function. The arguments are serialized Clarity values. */
export function contractCall(contract: string, functionName: string, args: readonly Uint8Array[]): Uint8Array {
  return concat(u8(0x02), principalBytes(contract)!, shortText(functionName), encodeArguments([...args]));
}

/**
 * Returns the coinbase of a Nakamoto tenure: 32 bytes that the miner chose, the recipient, and the 80-byte VRF proof.
 */
export function nakamotoCoinbase(data: Uint8Array, recipient: string | undefined, vrfProof: Uint8Array): Uint8Array {
  const optionalRecipient = recipient === undefined ? clarity.none() : clarity.some(clarity.principal(recipient));
  return concat(u8(0x08), data, optionalRecipient, vrfProof);
}

interface TenureChange {
  /**
   * Consensus hashes, 20 bytes each: of this tenure, of the previous tenure, and of the burn block that the miner sees.
   */
  readonly tenure: Uint8Array;
  readonly previousTenure: Uint8Array;
  readonly burnView: Uint8Array;
  /** Index block hash of the parent block. */
  readonly previousTenureEnd: Uint8Array;
  /** Number of blocks of the ending tenure, or, for an extension, of this tenure so far. */
  readonly previousTenureBlocks: number;
  readonly cause: TenureChangeCause;
  /** Hash160 of the miner's key. */
  readonly minerHash: Uint8Array;
}

export function tenureChange(change: TenureChange): Uint8Array {
  return concat(
    u8(0x07),
    change.tenure,
    change.previousTenure,
    change.burnView,
    change.previousTenureEnd,
    u32(change.previousTenureBlocks),
    u8(tenureChangeCauses.indexOf(change.cause)),
    change.minerHash,
  );
}

/** Codes for comparing the sent amount with the condition's amount (SIP-005). */
export const amountCodes = { equal: 0x01, greater: 0x02, lessOrEqual: 0x05 } as const;
type AmountCode = (typeof amountCodes)[keyof typeof amountCodes];

const ALLOW = 0x01;
const DENY = 0x02;
const NFT_SENT = 0x10;

/** Mode `allow` without conditions: all transfers are allowed. */
const noPostConditions: PostConditions = concat(u8(ALLOW), u32(0));

/** Serializes the conditions. Other assets may not be transferred. */
export function postConditions(items: readonly Uint8Array[]): PostConditions {
  return concat(u8(DENY), u32(items.length), ...items);
}

/** Makes a condition on the micro-STX that `principal` sends. */
export function stxCondition(principal: string, code: AmountCode, amount: bigint): Uint8Array {
  return concat(u8(0x00), conditionPrincipal(principal), u8(code), u64(amount));
}

/** Makes a condition on the smallest units of `asset` (`ADDRESS.contract::token`) that `principal` sends. */
export function fungibleCondition(principal: string, asset: string, code: AmountCode, amount: bigint): Uint8Array {
  return concat(u8(0x01), conditionPrincipal(principal), assetInfo(asset), u8(code), u64(amount));
}

/** Makes a condition that `principal` sends the token `id` (a serialized Clarity value) of `asset`. */
export function nonFungibleCondition(principal: string, asset: string, id: Uint8Array): Uint8Array {
  return concat(u8(0x02), conditionPrincipal(principal), assetInfo(asset), id, u8(NFT_SENT));
}

function conditionPrincipal(principal: string): Uint8Array {
  return concat(u8(principal.includes('.') ? 0x03 : 0x02), principalBytes(principal)!);
}

function assetInfo(asset: string): Uint8Array {
  const [contract = '', token = ''] = asset.split('::');
  return concat(principalBytes(contract)!, shortText(token));
}
