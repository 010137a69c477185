import type { BytesReader } from './bytes-reader.ts';
import { PREFIX, readAddress, readPrincipalValue, walkClarity } from './clarity.ts';
import { lossyText } from './utf8.ts';

/**
 * Causes of tenure changes, by wire number: a new Bitcoin block, or an extended budget (SIP-034 for one budget of
 * five).
 */
export const tenureChangeCauses = [
  'block_found',
  'extended',
  'extended_runtime',
  'extended_read_count',
  'extended_read_length',
  'extended_write_count',
  'extended_write_length',
] as const;
export type TenureChangeCause = (typeof tenureChangeCauses)[number];

/**
 * The payload of a transaction (SIP-005, SIP-021). `typeId` is the byte on the wire; several ids have the same name in the API.
 * Amounts are micro-STX. Byte fields are views of the transaction.
 */
export type Payload =
  | { type: 'token_transfer'; typeId: 0; recipient: string; amount: bigint; memo: Uint8Array }
  | {
      type: 'smart_contract';
      typeId: 1 | 6;
      contractName: string;
      /**
       * The Clarity version; null for type id 1, which has the version of its epoch. Unknown versions are unchanged.
       */
      clarityVersion: number | null;
      /** Source text, with U+FFFD for invalid UTF-8, and without U+0000. */
      source: string;
    }
  | {
      type: 'contract_call';
      typeId: 2;
      contractId: string;
      functionName: string;
      /** u32 count, then the serialized values: the exact span, walked but not decoded. */
      functionArgs: Uint8Array;
    }
  | {
      type: 'poison_microblock';
      typeId: 3;
      /** 132 bytes each. */
      header1: Uint8Array;
      header2: Uint8Array;
    }
  | {
      type: 'coinbase';
      typeId: 4 | 5 | 8;
      /** 32 bytes that the miner chose. */
      data: Uint8Array;
      altRecipient: string | null;
      /** 80 bytes; only with id 8. */
      vrfProof: Uint8Array | null;
    }
  | {
      type: 'tenure_change';
      typeId: 7;
      tenureConsensusHash: Uint8Array;
      prevTenureConsensusHash: Uint8Array;
      burnViewConsensusHash: Uint8Array;
      /** Index block hash of the last block of the previous tenure. */
      previousTenureEnd: Uint8Array;
      previousTenureBlocks: number;
      cause: TenureChangeCause;
      /** hash160 of the miner's key. */
      pubkeyHash: Uint8Array;
    }
  /**
   * A payload type that this program doesn't support; its bytes are in the raw transaction. `reason` is the decoding
   * error.
   */
  | { type: 'unknown'; typeId: typeof UNKNOWN_PAYLOAD; reason: string };

/** The id of an unknown payload, in place of its wire id. */
export const UNKNOWN_PAYLOAD = 30;

const MEMO_LENGTH = 34;
const MICROBLOCK_HEADER_LENGTH = 132;
const COINBASE_LENGTH = 32;
const VRF_PROOF_LENGTH = 80;
const CONSENSUS_HASH_LENGTH = 20;
const BLOCK_HASH_LENGTH = 32;
const HASH160_LENGTH = 20;

/** Reads a payload: its type byte, then the fields of the type. */
export function readPayload(reader: BytesReader): Payload {
  const typeId = reader.u8('a payload type');
  switch (typeId) {
    case 0:
      return {
        type: 'token_transfer',
        typeId,
        recipient: readPrincipalValue(reader),
        amount: reader.u64('an amount'),
        memo: reader.span(MEMO_LENGTH, 'a memo'),
      };
    case 1:
    case 6:
      return readSmartContract(reader, typeId);
    case 2:
      return readContractCall(reader);
    case 3:
      return {
        type: 'poison_microblock',
        typeId,
        header1: reader.span(MICROBLOCK_HEADER_LENGTH, 'a microblock header'),
        header2: reader.span(MICROBLOCK_HEADER_LENGTH, 'a microblock header'),
      };
    case 4:
    case 5:
    case 8:
      return readCoinbase(reader, typeId);
    case 7:
      return readTenureChange(reader);
    default:
      throw reader.unknown('a payload type (0x00 to 0x08)', typeId);
  }
}

function readSmartContract(reader: BytesReader, typeId: 1 | 6): Payload {
  const clarityVersion = typeId === 6 ? reader.u8('a Clarity version') : null;
  const contractName = reader.name('a contract name');
  const source = reader.span(reader.u32('the length of the source'), 'the source');
  return { type: 'smart_contract', typeId, contractName, clarityVersion, source: sourceText(source) };
}

/** Returns the source text without U+0000, which ends a text in many databases and clients. */
function sourceText(bytes: Uint8Array): string {
  return lossyText(bytes).replaceAll('\0', '');
}

function readContractCall(reader: BytesReader): Payload {
  const address = readAddress(reader, 'the called contract');
  const contractId = `${address}.${reader.name('a contract name')}`;
  const functionName = reader.name('a function name');
  const start = reader.offset;
  for (let left = reader.count('arguments'); left > 0; left--) walkClarity(reader);
  return { type: 'contract_call', typeId: 2, contractId, functionName, functionArgs: reader.spanFrom(start) };
}

function readCoinbase(reader: BytesReader, typeId: 4 | 5 | 8): Payload {
  const data = reader.span(COINBASE_LENGTH, 'a coinbase');
  if (typeId === 4) return { type: 'coinbase', typeId, data, altRecipient: null, vrfProof: null };
  if (typeId === 5) {
    const altRecipient = readPrincipalValue(reader);
    return { type: 'coinbase', typeId, data, altRecipient, vrfProof: null };
  }
  const altRecipient = readOptionalPrincipal(reader);
  return { type: 'coinbase', typeId, data, altRecipient, vrfProof: reader.span(VRF_PROOF_LENGTH, 'a VRF proof') };
}

/** Reads the recipient of a Nakamoto coinbase: a Clarity optional of a principal (SIP-021). */
function readOptionalPrincipal(reader: BytesReader): string | null {
  const prefix = reader.u8('an optional recipient');
  if (prefix === PREFIX.none) return null;
  if (prefix !== PREFIX.some) throw reader.unknown('an optional recipient (0x09 or 0x0a)', prefix);
  return readPrincipalValue(reader);
}

function readTenureChange(reader: BytesReader): Payload {
  const tenureConsensusHash = reader.span(CONSENSUS_HASH_LENGTH, 'a consensus hash');
  const prevTenureConsensusHash = reader.span(CONSENSUS_HASH_LENGTH, 'a consensus hash');
  const burnViewConsensusHash = reader.span(CONSENSUS_HASH_LENGTH, 'a consensus hash');
  const previousTenureEnd = reader.span(BLOCK_HASH_LENGTH, 'the end of the previous tenure');
  const previousTenureBlocks = reader.u32('the blocks of the previous tenure');
  const causeId = reader.u8('a tenure change cause');
  const cause = tenureChangeCauses[causeId];
  if (cause === undefined) throw reader.unknown('a tenure change cause (0x00 to 0x06)', causeId);
  return {
    type: 'tenure_change',
    typeId: 7,
    tenureConsensusHash,
    prevTenureConsensusHash,
    burnViewConsensusHash,
    previousTenureEnd,
    previousTenureBlocks,
    cause,
    pubkeyHash: reader.span(HASH160_LENGTH, 'a public key hash'),
  };
}
