/** Blocks as a node stores and sends them since Nakamoto (SIP-021): a header, then the transactions. */
import { BytesReader, type Decoded, decoded } from './bytes-reader.ts';
import { sha512_256 } from './hash.ts';

/** The fields of a block's header that Stackside uses. Byte fields are views of the bytes that were decoded. */
interface NakamotoHeader {
  /** Height of the block. */
  chainLength: number;
  /** Consensus hash of the sortition that elected the tenure; 20 bytes. */
  consensusHash: Uint8Array;
  /** Index block hash of the parent. */
  parentBlockId: Uint8Array;
  /** {@link transactionRoot} of the ids of the block's transactions. */
  transactionRoot: Uint8Array;
  /** Unix seconds. */
  timestamp: number;
  /** 65 bytes: recovery id, r, s. */
  minerSignature: Uint8Array;
  /** 65 bytes each, in the order of the reward set. */
  signerSignatures: Uint8Array[];
  /** Count of bits (u16), count of bytes (u32), bits: `signer_bitvec` in events. */
  poxTreatment: Uint8Array;
}

export interface NakamotoBlock {
  header: NakamotoHeader;
  /** SHA-512/256 of the header without the signers' signatures. */
  blockHash: Uint8Array;
  /** The index block hash: SHA-512/256 of block hash and consensus hash. */
  blockId: Uint8Array;
  transactionCount: number;
  /** The bytes of all transactions, concatenated. */
  transactions: Uint8Array;
}

const HASH_LENGTH = 32;
const CONSENSUS_HASH_LENGTH = 20;
const SIGNATURE_LENGTH = 65;

/** Decodes the bytes of a block. The transactions are not decoded. */
export function decodeNakamotoBlock(bytes: Uint8Array): Decoded<NakamotoBlock> {
  return decoded(() => {
    const reader = new BytesReader(bytes);
    reader.skip(1, 'a version');
    const chainLength = Number(reader.u64('a chain length'));
    reader.skip(8, 'the satoshi spent');
    const consensusHash = reader.span(CONSENSUS_HASH_LENGTH, 'a consensus hash');
    const parentBlockId = reader.span(HASH_LENGTH, 'a parent block id');
    const root = reader.span(HASH_LENGTH, 'a transaction root');
    reader.skip(HASH_LENGTH, 'a state index root');
    const timestamp = Number(reader.u64('a timestamp'));
    const minerSignature = reader.span(SIGNATURE_LENGTH, "a miner's signature");
    const unsigned = reader.spanFrom(0);
    const signerSignatures: Uint8Array[] = [];
    for (let left = reader.count("signers' signatures"); left > 0; left--) {
      signerSignatures.push(reader.span(SIGNATURE_LENGTH, "a signer's signature"));
    }
    const start = reader.offset;
    reader.skip(2, 'the count of bits');
    reader.skip(reader.count('bytes of bits'), 'bits');
    const poxTreatment = reader.spanFrom(start);
    const transactionCount = reader.count('transactions');
    const blockHash = sha512_256(Buffer.concat([unsigned, poxTreatment]));
    return {
      header: {
        chainLength,
        consensusHash,
        parentBlockId,
        transactionRoot: root,
        timestamp,
        minerSignature,
        signerSignatures,
        poxTreatment,
      },
      blockHash,
      blockId: indexBlockHash(blockHash, consensusHash),
      transactionCount,
      transactions: bytes.subarray(reader.offset),
    };
  });
}

/** Returns the hash that identifies a block on one branch of Bitcoin (SIP-005). */
export const indexBlockHash = (blockHash: Uint8Array, consensusHash: Uint8Array): Uint8Array<ArrayBuffer> =>
  sha512_256(Buffer.concat([blockHash, consensusHash]));

/** Prefixes of hashed leaves and nodes of the tree. */
const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

/**
 * Returns the root of the Merkle tree of a block's transactions (SIP-005). The last hash of an odd level, even a single
 * leaf, is used twice. The root of no transactions is all zeros.
 */
export function transactionRoot(ids: readonly Uint8Array[]): Uint8Array {
  if (ids.length === 0) return new Uint8Array(HASH_LENGTH);
  let level = ids.map((id) => sha512_256(Buffer.concat([LEAF, id])));
  do {
    level = Array.from({ length: Math.ceil(level.length / 2) }, (_, index) => {
      const left = level[2 * index]!;
      return sha512_256(Buffer.concat([NODE, left, level[2 * index + 1] ?? left]));
    });
  } while (level.length > 1);
  return level[0]!;
}
