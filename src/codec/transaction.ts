import { BytesReader } from './bytes-reader.ts';
import { type Decoded, DecodeError, decoded } from './decode-error.ts';
import { sha512_256 } from './hash.ts';
import { type Payload, readPayload } from './payload.ts';
import { walkPostConditions } from './post-conditions.ts';
import { readSpendingCondition, type SpendingCondition } from './spending-condition.ts';

export type { Payload } from './payload.ts';
export type { SpendingCondition } from './spending-condition.ts';
export type { TenureChangeCause } from './tenure-change.ts';

/** What a payload is called in the API: `token_transfer`, `contract_call`, … */
export type TransactionType = Payload['type'];

/** A decoded transaction. Byte fields are views of the bytes given. */
export interface Transaction {
  txId: Uint8Array;
  /** The version: 0 mainnet, 0x80 testnet. The other bits of the byte have no meaning and are left out. */
  version: number;
  /**
   * The chain id: 1 mainnet, 0x80000000 testnet, others for private networks, 0 for transactions that the node makes
   * itself.
   */
  chainId: number;
  origin: SpendingCondition;
  /** Null unless the transaction is sponsored; the sponsor's fee is then the one paid. */
  sponsor: SpendingCondition | null;
  /** The anchor mode: 1 on chain only, 2 off chain only, 3 any. */
  anchorMode: number;
  /** The post-condition mode: 1 allow, 2 deny, 3 originator. */
  postConditionMode: number;
  /** Mode byte, u32 count and conditions: the exact span, for `decodePostConditions`. */
  postConditions: Uint8Array;
  payload: Payload;
}

const TESTNET_BIT = 0x80;
const AUTH = { standard: 0x04, sponsored: 0x05 } as const;

/**
 * Decodes a raw transaction (SIP-005); every byte must belong to it.
 *
 * Checks the form only: signatures, epochs, names and chain ids are the node's judgement. Arguments and
 * post-conditions are walked, so that a later decoding of their spans can't fail, but not built.
 */
export function decodeTransaction(raw: Uint8Array): Decoded<Transaction> {
  return decoded(() => readTransaction(new BytesReader(raw)));
}

/**
 * The id of a transaction: SHA-512/256 of its bytes as received. Never of bytes written again, which can differ.
 */
export function transactionId(raw: Uint8Array): Uint8Array {
  return sha512_256(raw);
}

function readTransaction(reader: BytesReader): Transaction {
  const version = reader.u8('a transaction version') & TESTNET_BIT;
  const network = version === 0 ? 'mainnet' : 'testnet';
  const chainId = reader.u32('a chain id');
  const auth = reader.u8('an auth type');
  if (auth !== AUTH.standard && auth !== AUTH.sponsored) throw reader.unknown('an auth type (0x04 or 0x05)', auth);
  const origin = readSpendingCondition(reader, network);
  const sponsor = auth === AUTH.sponsored ? readSpendingCondition(reader, network) : null;
  const anchorMode = reader.u8('an anchor mode');
  if (anchorMode < 1 || anchorMode > 3) throw reader.unknown('an anchor mode (0x01 to 0x03)', anchorMode);
  const start = reader.offset;
  const postConditionMode = walkPostConditions(reader);
  const postConditions = reader.spanFrom(start);
  const payload = readPayload(reader);
  if (reader.left > 0) throw new DecodeError('the end of the transaction', `${reader.left} more bytes`, reader.offset);
  const txId = transactionId(reader.bytes);
  return { txId, version, chainId, origin, sponsor, anchorMode, postConditionMode, postConditions, payload };
}
