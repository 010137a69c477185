import { concat, sha512_256, u8, u16, u32, u64 } from './bytes.ts';
import type { Network } from './network.ts';
import { noPostConditions, type PostConditions } from './post-conditions.ts';
import { type Account, sign } from './wallet.ts';

/** Who pays for a transaction, with the nonce it uses of that account and the fee in micro-STX. */
export interface Signer {
  readonly account: Account;
  readonly nonce: number | bigint;
  readonly fee: bigint;
}

/** A transaction before it is signed. */
export interface UnsignedTransaction {
  /** Payload type and payload, as `payloads.ts` makes them. */
  readonly payload: Uint8Array;
  readonly origin: Signer;
  /** Pays the fee instead of the origin, whose own fee is then usually 0. */
  readonly sponsor?: Signer | undefined;
  /** Coinbase transactions must be `onChainOnly`; since Nakamoto it means nothing for others. */
  readonly anchorMode?: AnchorMode;
  readonly postConditions?: PostConditions;
}

/** Values of the anchor mode byte (SIP-005). */
export const anchorModes = { onChainOnly: 0x01, offChainOnly: 0x02, any: 0x03 } as const;
type AnchorMode = (typeof anchorModes)[keyof typeof anchorModes];

const authTypes = { standard: 0x04, sponsored: 0x05 } as const;
const singleSignature = 0x00;
const severalSignatures = 0x01;
const compressedKey = 0x00;
const noSignature = new Uint8Array(65);
const noSigner = new Uint8Array(20);

/**
 * Signs a transaction (SIP-005, "Transaction signing and verifying") and returns its wire bytes.
 *
 * What is signed is a chain of hashes. It starts with the transaction whose authorization is cleared: nonce, fee and
 * signature zero, and a blank sponsor, so that the origin can sign before a sponsor is known. Each signer adds the
 * authorization flag, fee and nonce, signs that, and hands the hash that includes the signature to the next.
 */
export function signTransaction(transaction: UnsignedTransaction, network: Network): Uint8Array {
  const { origin, sponsor, payload } = transaction;
  const start = concat(u8(network.transactionVersion), u32(network.chainId));
  const rest = concat(
    u8(transaction.anchorMode ?? anchorModes.any),
    transaction.postConditions ?? noPostConditions,
    payload,
  );
  const flag = u8(sponsor === undefined ? authTypes.standard : authTypes.sponsored);

  const clearedOrigin = spendingCondition(origin.account.hash160, 0, 0n, noSignature);
  const clearedSponsor = sponsor === undefined ? new Uint8Array() : spendingCondition(noSigner, 0, 0n, noSignature);
  const initialHash = sha512_256(concat(start, flag, clearedOrigin, clearedSponsor, rest));

  // The origin always signs under the standard flag, in a sponsored transaction too.
  const first = signLink(initialHash, authTypes.standard, origin);
  const auth = [spendingCondition(origin.account.hash160, origin.nonce, origin.fee, first.signature)];
  if (sponsor !== undefined) {
    const { signature } = signLink(first.hash, authTypes.sponsored, sponsor);
    auth.push(spendingCondition(sponsor.account.hash160, sponsor.nonce, sponsor.fee, signature));
  }
  return concat(start, flag, ...auth, rest);
}

/**
 * A transaction the node makes for itself, as in the genesis block: on chain id 0, nonce and fee 0, and nothing where
 * signatures would be.
 * @param signers hash of those who would sign, together; by default the boot address alone
 */
export function unsignedBootTransaction(payload: Uint8Array, network: Network, signers?: Uint8Array): Uint8Array {
  return concat(
    u8(network.transactionVersion),
    u32(0),
    u8(authTypes.standard),
    signers === undefined
      ? spendingCondition(noSigner, 0, 0n, noSignature)
      : concat(u8(severalSignatures), signers, u64(0), u64(0), u32(0), u16(0)),
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
