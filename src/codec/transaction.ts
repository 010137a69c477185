import { ADDRESS_VERSION, addressAt } from './address.ts';
import { BytesReader, type Decoded, DecodeError, decoded, decodedOrThrow } from './bytes-reader.ts';
import { sha512_256 } from './hash.ts';
import { type Payload, readPayload, UNKNOWN_PAYLOAD } from './payload.ts';
import { walkPostConditions } from './post-conditions.ts';

/**
 * The account that sends or sponsors a transaction, and its proof (SIP-005, SIP-027).
 *
 * `fee` is in micro-STX. `signer` is the hash160 of the key or script, unchecked; `address` is its text on the
 * transaction's network. Signatures are never verified: the node has verified them, and the transactions of the boot
 * block contain zeros.
 */
export interface SpendingCondition {
  hashMode: number;
  signer: Uint8Array;
  address: string;
  nonce: bigint;
  fee: bigint;
  proof: SingleSignature | MultiSignature;
}

interface SingleSignature {
  type: 'single';
  /** Encoding of the key: 0 compressed, 1 uncompressed. */
  keyEncoding: number;
  /** 65 bytes: recovery id, r, s. */
  signature: Uint8Array;
}

export interface MultiSignature {
  type: 'multi';
  /** u32 count, then fields, each an id (0 and 1 key, 2 and 3 signature) and 33 or 65 bytes: the exact span. */
  fields: Uint8Array;
  signaturesRequired: number;
}

const HASH_LENGTH = 20;
const KEY_LENGTH = 33;
const SIGNATURE_LENGTH = 65;

/** Hash modes: 0 to 3 of SIP-005. Modes 5 and 7 are 1 and 3 with signatures in any order (SIP-027). */
const HASH_MODE = { p2pkh: 0, p2sh: 1, p2wpkh: 2, p2wsh: 3, p2shUnordered: 5, p2wshUnordered: 7 } as const;

/** A condition without the text of its address, which takes longer to compute than to read everything else. */
type BareCondition = Omit<SpendingCondition, 'address'>;

function readSpendingCondition(reader: BytesReader): BareCondition {
  const hashMode = reader.u8('a hash mode');
  if (!isHashMode(hashMode)) throw reader.unknown('a hash mode (0, 1, 2, 3, 5 or 7)', hashMode);
  const signer = reader.span(HASH_LENGTH, 'a signer');
  const nonce = reader.u64('a nonce');
  const fee = reader.u64('a fee');
  const single = hashMode === HASH_MODE.p2pkh || hashMode === HASH_MODE.p2wpkh;
  const proof = single ? readSingleSignature(reader, hashMode) : readMultiSignature(reader, hashMode);
  return { hashMode, signer, nonce, fee, proof };
}

function withAddress({ hashMode, signer, nonce, fee, proof }: BareCondition, network: keyof typeof ADDRESS_VERSION) {
  const { key, script } = ADDRESS_VERSION[network];
  const version = hashMode === HASH_MODE.p2pkh ? key : script;
  return { hashMode, signer, address: addressAt(version, signer, 0), nonce, fee, proof };
}

function isHashMode(mode: number): boolean {
  return mode <= HASH_MODE.p2wsh || mode === HASH_MODE.p2shUnordered || mode === HASH_MODE.p2wshUnordered;
}

function readSingleSignature(reader: BytesReader, hashMode: number): SingleSignature {
  const keyEncoding = reader.u8('a key encoding');
  // A witness program commits to a compressed key, so mode 2 has only the compressed form.
  const highest = hashMode === HASH_MODE.p2wpkh ? 0 : 1;
  if (keyEncoding > highest) throw reader.unknown(`a key encoding of at most ${highest}`, keyEncoding);
  return { type: 'single', keyEncoding, signature: reader.span(SIGNATURE_LENGTH, 'a signature') };
}

/**
 * Reads a multi-signature condition. Doesn't check the count of signatures: a transaction that isn't fully signed yet
 * is valid input.
 */
function readMultiSignature(reader: BytesReader, hashMode: number): MultiSignature {
  const witness = hashMode === HASH_MODE.p2wsh || hashMode === HASH_MODE.p2wshUnordered;
  const start = reader.offset;
  for (let left = reader.count('auth fields'); left > 0; left--) {
    const id = reader.u8('an auth field');
    if (id > 3) throw reader.unknown('an auth field (0x00 to 0x03)', id);
    if (witness && id % 2 === 1) {
      throw new DecodeError('an auth field with a compressed key', `0x0${id}`, reader.offset - 1);
    }
    // An uncompressed key (id 1) is also sent compressed.
    reader.skip(id < 2 ? KEY_LENGTH : SIGNATURE_LENGTH, 'an auth field');
  }
  const fields = reader.spanFrom(start);
  return { type: 'multi', fields, signaturesRequired: reader.u16('the signatures required') };
}

export type { Payload, TenureChangeCause } from './payload.ts';

/** Names of payloads in the API: `token_transfer`, `contract_call`, … */
export type TransactionType = Payload['type'];

/** A decoded transaction. Byte fields are views of the input. */
export interface Transaction {
  txId: Uint8Array;
  /** The version: 0 mainnet, 0x80 testnet. The other bits of the byte are unused and cleared. */
  version: number;
  /**
   * The chain id: 1 mainnet, 0x80000000 testnet, others for private networks, 0 for transactions that the node creates.
   */
  chainId: number;
  origin: SpendingCondition;
  /** Null unless the transaction is sponsored; then the sponsor pays its fee. */
  sponsor: SpendingCondition | null;
  /** The anchor mode: 1 on chain only, 2 off chain only, 3 any. Newer nodes may send others. */
  anchorMode: number;
  /** Mode byte, u32 count and conditions: the exact span, for `decodePostConditions`. */
  postConditions: Uint8Array;
  payload: Payload;
}

const TESTNET_BIT = 0x80;
/** Types of authorizations (SIP-005). */
export const AUTH = { standard: 0x04, sponsored: 0x05 } as const;

/**
 * Decodes a raw transaction (SIP-005). Every byte must belong to it.
 *
 * Checks only the form: the node checks signatures, epochs, names and chain ids. Arguments and post-conditions are
 * walked but not built, so decoding their spans later can't fail.
 */
export function decodeTransaction(raw: Uint8Array): Decoded<Transaction> {
  return decoded(() => withIds(readTransaction(raw, 'supported kinds'), raw));
}

/**
 * Decodes like {@link decodeTransaction}, but accepts unsupported kinds of a newer node. From a post-condition of an
 * unknown kind on, all bytes are in `postConditions`; a payload of an unknown kind has the type `unknown`. A signer of
 * an unknown kind makes the rest unreadable, and is an error.
 */
export function decodeKnownParts(raw: Uint8Array): Decoded<Transaction> {
  return decoded(() => withIds(readTransaction(raw, 'all kinds'), raw));
}

/**
 * Returns the id of a transaction: SHA-512/256 of its bytes as received, because serializing it again can give other
 * bytes.
 */
export function transactionId(raw: Uint8Array): Uint8Array {
  return sha512_256(raw);
}

const networkOf = (version: number): keyof typeof ADDRESS_VERSION =>
  (version & TESTNET_BIT) === 0 ? 'mainnet' : 'testnet';

/** A transaction without its id and its addresses, which are hashes. */
interface BareTransaction extends Omit<Transaction, 'txId' | 'origin' | 'sponsor'> {
  origin: BareCondition;
  sponsor: BareCondition | null;
}

function withIds({ version, chainId, origin, sponsor, ...rest }: BareTransaction, raw: Uint8Array): Transaction {
  const network = networkOf(version);
  return {
    txId: transactionId(raw),
    version,
    chainId,
    origin: withAddress(origin, network),
    sponsor: sponsor === null ? null : withAddress(sponsor, network),
    ...rest,
  };
}

function readTransaction(raw: Uint8Array, accepted: 'supported kinds' | 'all kinds'): BareTransaction {
  const reader = new BytesReader(raw);
  const isStrict = accepted === 'supported kinds';
  const version = reader.u8('a transaction version') & TESTNET_BIT;
  const chainId = reader.u32('a chain id');
  const auth = reader.u8('an auth type');
  if (auth !== AUTH.standard && auth !== AUTH.sponsored) throw reader.unknown('an auth type (0x04 or 0x05)', auth);
  const origin = readSpendingCondition(reader);
  const sponsor = auth === AUTH.sponsored ? readSpendingCondition(reader) : null;
  const anchorMode = reader.u8('an anchor mode');
  if (isStrict && (anchorMode < 1 || anchorMode > 3)) {
    throw reader.unknown('an anchor mode (0x01 to 0x03)', anchorMode);
  }
  const body = isStrict ? readBody(reader) : readKnownBody(reader);
  return { version, chainId, origin, sponsor, anchorMode, ...body };
}

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
  const body = unlessUnknown(() => readBody(reader));
  if (!(body instanceof DecodeError)) return body;
  const payload: Payload = { type: 'unknown', typeId: UNKNOWN_PAYLOAD, reason: body.message };
  reader.offset = start;
  const conditions = unlessUnknown(() => readPostConditions(reader));
  // After a condition of an unknown kind, its end can't be found.
  const postConditions = conditions instanceof DecodeError ? reader.bytes.subarray(start) : conditions;
  return { postConditions, payload };
}

/** Returns the result of `read`, or its error if a kind is unknown. */
function unlessUnknown<T>(read: () => T): T | DecodeError {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError && error.isUnknownKind) return error;
    throw error;
  }
}

/**
 * Splits the transactions of a block, which are concatenated without lengths (SIP-005). @param count number of
 * transactions
 */
export function splitTransactions(bytes: Uint8Array, count: number): Decoded<Uint8Array[]> {
  return decoded(() => {
    const reader = new BytesReader(bytes);
    const spans: Uint8Array[] = [];
    while (spans.length < count) {
      const start = reader.offset;
      reader.skip(1, 'a transaction version');
      reader.skip(4, 'a chain id');
      const auth = reader.u8('an auth type');
      readSpendingCondition(reader);
      if (auth === AUTH.sponsored) readSpendingCondition(reader);
      reader.skip(1, 'an anchor mode');
      readPostConditions(reader);
      readPayload(reader);
      spans.push(reader.spanFrom(start));
    }
    return spans;
  });
}

/**
 * Decodes a transaction from the index, which has its id and its addresses. It was decoded when it arrived, so an error is a
 * defect.
 */
export const decodedTransaction = (raw: Uint8Array): BareTransaction =>
  decodedOrThrow(decoded(() => readTransaction(raw, 'all kinds')));

/** Returns the payload of a raw transaction. @throws Error if its type differs from the index */
export function payloadOf<T extends TransactionType>(raw: Uint8Array, type: T) {
  const { payload } = decodedTransaction(raw);
  if (payload.type !== type) throw new Error(`a ${payload.type} is indexed as ${type}`);
  return payload as Extract<Payload, { type: T }>;
}
