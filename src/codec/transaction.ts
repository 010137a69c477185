import { BytesReader } from './bytes-reader.ts';
import { type Decoded, DecodeError, decoded } from './decode-error.ts';
import { sha512_256 } from './hash.ts';
import { type Payload, readPayload, UNKNOWN_PAYLOAD } from './payload.ts';
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
  /** The anchor mode: 1 on chain only, 2 off chain only, 3 any; others by newer nodes. */
  anchorMode: number;
  /** The post-condition mode: 1 allow, 2 deny, 3 originator; others by newer nodes. */
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
  return decoded(() => readTransaction(new BytesReader(raw), readBody));
}

/**
 * Decodes as {@link decodeTransaction} does, but takes what a newer node may know: from a post-condition or payload of an
 * unknown kind on, the bytes are kept as they are, in `postConditions` or behind a payload of the type `unknown`. Of an
 * unknown kind of signer nothing can be told: the error says so.
 */
export function decodeKnownParts(raw: Uint8Array): Decoded<Transaction> {
  return decoded(() => readTransaction(new BytesReader(raw), readKnownBody));
}

/**
 * The id of a transaction: SHA-512/256 of its bytes as received. Never of bytes written again, which can differ.
 */
export function transactionId(raw: Uint8Array): Uint8Array {
  return sha512_256(raw);
}

function readTransaction(reader: BytesReader, read: (reader: BytesReader) => Body): Transaction {
  const version = reader.u8('a transaction version') & TESTNET_BIT;
  const network = version === 0 ? 'mainnet' : 'testnet';
  const chainId = reader.u32('a chain id');
  const auth = reader.u8('an auth type');
  if (auth !== AUTH.standard && auth !== AUTH.sponsored) throw reader.unknown('an auth type (0x04 or 0x05)', auth);
  const origin = readSpendingCondition(reader, network);
  const sponsor = auth === AUTH.sponsored ? readSpendingCondition(reader, network) : null;
  const anchorMode = reader.u8('an anchor mode');
  if (read === readBody && (anchorMode < 1 || anchorMode > 3)) {
    throw reader.unknown('an anchor mode (0x01 to 0x03)', anchorMode);
  }
  const txId = transactionId(reader.bytes);
  const body = read(reader);
  const postConditionMode = body.postConditions[0] ?? 0;
  return { txId, version, chainId, origin, sponsor, anchorMode, postConditionMode, ...body };
}

/** What a transaction says behind its signers. */
type Body = Pick<Transaction, 'postConditions' | 'payload'>;

function readBody(reader: BytesReader): Body {
  const postConditions = readPostConditions(reader);
  const payload = readPayload(reader);
  if (reader.left > 0) {
    throw new DecodeError('the end of the transaction', `${reader.left} more bytes`, reader.offset, true);
  }
  return { postConditions, payload };
}

function readPostConditions(reader: BytesReader): Uint8Array {
  const start = reader.offset;
  walkPostConditions(reader);
  return reader.spanFrom(start);
}

function readKnownBody(reader: BytesReader): Body {
  const start = reader.offset;
  const whole = unlessUnknown(() => readBody(reader));
  if (!(whole instanceof DecodeError)) return whole;
  const payload: Payload = { type: 'unknown', typeId: UNKNOWN_PAYLOAD, reason: whole.message };
  reader.offset = start;
  const conditions = unlessUnknown(() => readPostConditions(reader));
  // What follows a condition of an unknown kind can't be told from it.
  const postConditions = conditions instanceof DecodeError ? reader.bytes.subarray(start) : conditions;
  return { postConditions, payload };
}

/** What is read, or the error where it has a kind that is not known here. */
function unlessUnknown<T>(read: () => T): T | DecodeError {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError && error.isUnknownKind) return error;
    throw error;
  }
}
