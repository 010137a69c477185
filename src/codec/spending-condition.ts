import { addressAt } from './address.ts';
import type { BytesReader } from './bytes-reader.ts';
import { DecodeError } from './decode-error.ts';

/**
 * The account that sends or sponsors a transaction, and its proof (SIP-005, SIP-027).
 *
 * `fee` is in micro-STX. `signer` is the hash160 of the key or script, taken as given; `address` is its text on the
 * transaction's network. Signatures are never verified: the node has done it, and the transactions of the boot block
 * carry zeros.
 */
export interface SpendingCondition {
  hashMode: number;
  signer: Uint8Array;
  address: string;
  nonce: bigint;
  fee: bigint;
  proof: SingleSignature | MultiSignature;
}

export interface SingleSignature {
  type: 'single';
  /** 0 compressed, 1 uncompressed. */
  keyEncoding: number;
  /** 65 bytes: recovery id, r, s. */
  signature: Uint8Array;
}

export interface MultiSignature {
  type: 'multi';
  /** u32 count, then fields of an id (0 and 1 key, 2 and 3 signature) and 33 or 65 bytes: the exact span. */
  fields: Uint8Array;
  signaturesRequired: number;
}

const HASH_LENGTH = 20;
const KEY_LENGTH = 33;
const SIGNATURE_LENGTH = 65;

/** Hash modes: 0 to 3 of SIP-005; 5 and 7 are 1 and 3 with signatures in any order (SIP-027). */
const HASH_MODE = { p2pkh: 0, p2sh: 1, p2wpkh: 2, p2wsh: 3, p2shUnordered: 5, p2wshUnordered: 7 } as const;

/** Address versions by network, for a single key and for every mode that hashes a script. */
const VERSION = { mainnet: { key: 22, script: 20 }, testnet: { key: 26, script: 21 } } as const;

/** Reads an origin's or sponsor's condition. */
export function readSpendingCondition(reader: BytesReader, network: keyof typeof VERSION): SpendingCondition {
  const hashMode = reader.u8('a hash mode');
  if (!isHashMode(hashMode)) throw reader.unknown('a hash mode (0, 1, 2, 3, 5 or 7)', hashMode);
  const signer = reader.span(HASH_LENGTH, 'a signer');
  const version = hashMode === HASH_MODE.p2pkh ? VERSION[network].key : VERSION[network].script;
  const address = addressAt(version, reader.bytes, reader.offset - HASH_LENGTH);
  const nonce = reader.u64('a nonce');
  const fee = reader.u64('a fee');
  const single = hashMode === HASH_MODE.p2pkh || hashMode === HASH_MODE.p2wpkh;
  const proof = single ? readSingleSignature(reader, hashMode) : readMultiSignature(reader, hashMode);
  return { hashMode, signer, address, nonce, fee, proof };
}

function isHashMode(mode: number): boolean {
  return mode <= HASH_MODE.p2wsh || mode === HASH_MODE.p2shUnordered || mode === HASH_MODE.p2wshUnordered;
}

function readSingleSignature(reader: BytesReader, hashMode: number): SingleSignature {
  const keyEncoding = reader.u8('a key encoding');
  // A witness program commits to a compressed key, so mode 2 has no uncompressed form.
  const highest = hashMode === HASH_MODE.p2wpkh ? 0 : 1;
  if (keyEncoding > highest) throw reader.unknown(`a key encoding of at most ${highest}`, keyEncoding);
  return { type: 'single', keyEncoding, signature: reader.span(SIGNATURE_LENGTH, 'a signature') };
}

/** The count of signatures is not checked: a transaction still being signed is legitimate input. */
function readMultiSignature(reader: BytesReader, hashMode: number): MultiSignature {
  const witness = hashMode === HASH_MODE.p2wsh || hashMode === HASH_MODE.p2wshUnordered;
  const start = reader.offset;
  for (let left = reader.count('auth fields'); left > 0; left--) {
    const id = reader.u8('an auth field');
    if (id > 3) throw reader.unknown('an auth field (0x00 to 0x03)', id);
    if (witness && id % 2 === 1) {
      throw new DecodeError('an auth field with a compressed key', `0x0${id}`, reader.offset - 1);
    }
    // An uncompressed key (id 1) is sent compressed as well.
    reader.skip(id < 2 ? KEY_LENGTH : SIGNATURE_LENGTH, 'an auth field');
  }
  const fields = reader.spanFrom(start);
  return { type: 'multi', fields, signaturesRequired: reader.u16('the signatures required') };
}
