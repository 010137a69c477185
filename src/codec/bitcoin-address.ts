import { secp256k1 } from '@noble/curves/secp256k1.js';
import { bech32, bech32m, createBase58check } from '@scure/base';
import { ADDRESS_VERSION, parseStacksAddress, stacksAddress } from './address.ts';
import type { ClarityValue } from './clarity.ts';
import { clarity } from './clarity-encode.ts';
import { sha256 } from './hash.ts';
import { toHex } from './hex.ts';

/** The network of a Bitcoin address. Regtest differs from testnet only in segwit addresses: `bcrt1…`, not `tb1…`. */
export type BitcoinNetwork = 'mainnet' | 'testnet' | 'regtest';

/** A Bitcoin address in the form of PoX contracts: u8 version (0 to 6) and 20 or 32 bytes of hash. */
export interface PoxAddress {
  version: number;
  hashBytes: Uint8Array;
}

/** Versions of the PoX tuple. Bitcoin can't distinguish 1 to 3: all three hash a script. */
const POX = { p2pkh: 0, p2sh: 1, p2shP2wpkh: 2, p2shP2wsh: 3, p2wpkh: 4, p2wsh: 5, p2tr: 6 } as const;

const KEY_HASH_LENGTH = 20;
const SCRIPT_HASH_LENGTH = 32;

/** Version bytes of base58check addresses. */
const BASE58 = { mainnet: { key: 0, script: 5 }, testnet: { key: 111, script: 196 } } as const;

/** Human-readable parts of segwit addresses (BIP-173). */
const SEGWIT_PREFIX: Record<BitcoinNetwork, string> = { mainnet: 'bc', testnet: 'tb', regtest: 'bcrt' };

/** Stacks and Bitcoin versions of the same hash160 (SIP-005). */
const VERSION_PAIRS: readonly (readonly [stacks: number, bitcoin: number])[] = [
  [ADDRESS_VERSION.mainnet.key, BASE58.mainnet.key],
  [ADDRESS_VERSION.mainnet.script, BASE58.mainnet.script],
  [ADDRESS_VERSION.testnet.key, BASE58.testnet.key],
  [ADDRESS_VERSION.testnet.script, BASE58.testnet.script],
];

/**
 * Maximum characters of an address (BIP-173). The length is checked before decoding, because the cost of base 58 grows
 * with its square.
 */
const MAX_TEXT_LENGTH = 90;

const base58check = createBase58check(sha256);

/**
 * Returns the legacy Bitcoin address of the same hash160, or null if the Stacks address is invalid.
 *
 * A version that belongs to no network is used unchanged. The text then isn't a valid Bitcoin address, but such owners
 * occur, and the API has always shown them this way.
 */
export function stacksToBitcoin(address: string): string | null {
  const parsed = parseStacksAddress(address);
  if (parsed === null) return null;
  const pair = VERSION_PAIRS.find(([stacks]) => stacks === parsed.version);
  return base58Address(pair?.[1] ?? parsed.version, parsed.hash160);
}

/** Returns the Stacks address of a legacy Bitcoin address, or null for segwit addresses and other versions. */
export function bitcoinToStacks(address: string): string | null {
  const parsed = parseBase58(address);
  return parsed === null ? null : addressOfHash(parsed.version, parsed.hash160);
}

/** Returns the Stacks address of a hash160. @param version of the legacy Bitcoin address of the same hash */
function addressOfHash(version: number, hash160: Uint8Array): string | null {
  const pair = VERSION_PAIRS.find(([, bitcoin]) => bitcoin === version);
  return pair === undefined ? null : stacksAddress(pair[0], hash160);
}

/**
 * Returns the Stacks address with the same hash160 as a Bitcoin address, which the same key can spend from. The Bitcoin
 * address may be legacy or segwit (`bc1q…`, P2WPKH). Returns null for other witness programs and invalid addresses.
 */
export function stacksOfBitcoin(address: string): string | null {
  const legacy = bitcoinToStacks(address);
  if (legacy !== null) return legacy;
  const segwit = parseSegwit(address);
  if (segwit?.version !== 0 || segwit.program.length !== KEY_HASH_LENGTH) return null;
  const isMainnet = segwit.prefix === SEGWIT_PREFIX.mainnet;
  return addressOfHash(isMainnet ? BASE58.mainnet.key : BASE58.testnet.key, segwit.program);
}

/** Returns the text of a PoX address, or null if its version is unknown or its hash has the wrong length. */
export function poxAddressText({ version, hashBytes }: PoxAddress, network: BitcoinNetwork): string | null {
  const legacy = network === 'mainnet' ? BASE58.mainnet : BASE58.testnet;
  const expected = version < POX.p2wsh ? KEY_HASH_LENGTH : SCRIPT_HASH_LENGTH;
  if (hashBytes.length !== expected) return null;
  switch (version) {
    case POX.p2pkh:
      return base58Address(legacy.key, hashBytes);
    case POX.p2sh:
    case POX.p2shP2wpkh:
    case POX.p2shP2wsh:
      return base58Address(legacy.script, hashBytes);
    case POX.p2wpkh:
    case POX.p2wsh:
      return bech32.encode(SEGWIT_PREFIX[network], [0, ...bech32.toWords(hashBytes)]);
    case POX.p2tr:
      return bech32m.encode(SEGWIT_PREFIX[network], [1, ...bech32m.toWords(hashBytes)]);
    default:
      return null;
  }
}

/** Returns a PoX address in the form in which it is stored and compared: `0x`, one byte of version, the hash. */
export function poxAddressRaw({ version, hashBytes }: PoxAddress): string {
  return toHex(Uint8Array.of(version, ...hashBytes));
}

/**
 * Returns the address in a PoX tuple `{ hashbytes: (buff 20 or 32), version: (buff 1) }`, also inside a `some`. Returns
 * null for `none` and for any other value. Hash lengths aren't checked, so that the API can still show a wrong hash
 * raw.
 */
export function poxAddressOf(value: ClarityValue): PoxAddress | null {
  if (value.type === 'some') return poxAddressOf(value.value);
  if (value.type !== 'tuple') return null;
  const version = value.value.get('version');
  const hashBytes = value.value.get('hashbytes');
  if (version?.type !== 'buffer' || version.value.length !== 1 || hashBytes?.type !== 'buffer') return null;
  return { version: version.value[0]!, hashBytes: hashBytes.value };
}

/** Returns the serialized PoX tuple of an address. */
export function poxTuple({ version, hashBytes }: PoxAddress): Uint8Array {
  return clarity.tuple({ hashbytes: clarity.buffer(hashBytes), version: clarity.buffer(Uint8Array.of(version)) });
}

/**
 * Returns the PoX address of a Bitcoin address of any network, or null if it has none.
 *
 * Compare version and hash to find an address: `tb1…` and `bcrt1…` of a testnet have the same. Script addresses get
 * version 1.
 */
export function parseBitcoinAddress(address: string): PoxAddress | null {
  const legacy = parseBase58(address);
  if (legacy !== null) {
    const isKey = legacy.version === BASE58.mainnet.key || legacy.version === BASE58.testnet.key;
    return { version: isKey ? POX.p2pkh : POX.p2sh, hashBytes: legacy.hash160 };
  }
  const segwit = parseSegwit(address);
  if (segwit === null || segwit.version > 1) return null;
  if (segwit.version === 1) return { version: POX.p2tr, hashBytes: segwit.program };
  return { version: segwit.program.length === KEY_HASH_LENGTH ? POX.p2wpkh : POX.p2wsh, hashBytes: segwit.program };
}

/**
 * Reports whether a text is a Bitcoin address of mainnet, testnet or regtest. Witness versions without a PoX form
 * count. Blanks, mixed case in segwit, a wrong checksum, and a taproot program that isn't a public key don't.
 */
export function isBitcoinAddress(address: string): boolean {
  if (parseBase58(address) !== null) return true;
  const segwit = parseSegwit(address);
  return segwit !== null && (segwit.version !== 1 || isPublicKey(segwit.program));
}

/**
 * Returns a Bitcoin address as nodes spell it: a segwit address in lower case, with `tb` in place of regtest's `bcrt`.
 * Any other text is unchanged.
 */
export function nodeSpelling(address: string): string {
  const segwit = parseSegwit(address);
  if (segwit === null) return address;
  const { prefix, version, program } = segwit;
  const { encode, toWords } = version === 0 ? bech32 : bech32m;
  const nodePrefix = prefix === SEGWIT_PREFIX.regtest ? SEGWIT_PREFIX.testnet : prefix;
  return encode(nodePrefix, [version, ...toWords(program)]);
}

/**
 * Reports whether 32 bytes are the x coordinate of a point (BIP-340). Nobody could spend from any other taproot output.
 */
function isPublicKey(program: Uint8Array): boolean {
  return orNull(() => secp256k1.Point.fromBytes(Uint8Array.of(EVEN_Y, ...program))) !== null;
}

/** First byte of a compressed point with an even y (SEC 1). */
const EVEN_Y = 2;

/** Returns the address of a public key's or script's hash160. @param version such as 0x00 or 0x6f */
export function base58Address(version: number, hash: Uint8Array): string {
  return base58check.encode(Uint8Array.of(version, ...hash));
}

/** Returns the Bitcoin version (0, 5, 111 or 196) and the hash160. */
function parseBase58(address: string): { version: number; hash160: Uint8Array } | null {
  if (address.length > MAX_TEXT_LENGTH) return null;
  const payload = orNull(() => base58check.decode(address));
  if (payload?.length !== 1 + KEY_HASH_LENGTH) return null;
  const version = payload[0]!;
  return VERSION_PAIRS.some(([, bitcoin]) => bitcoin === version) ? { version, hash160: payload.subarray(1) } : null;
}

/** Returns the human-readable part, witness version and program (BIP-173; BIP-350 for versions above 0). */
function parseSegwit(address: string): { prefix: string; version: number; program: Uint8Array } | null {
  if (address.length > MAX_TEXT_LENGTH) return null;
  const plain = bech32.decodeUnsafe(address);
  const decoded = plain ?? bech32m.decodeUnsafe(address);
  if (decoded === undefined || !Object.values(SEGWIT_PREFIX).includes(decoded.prefix)) return null;
  const [version, ...words] = decoded.words;
  if (version === undefined || version > 16 || (version === 0) !== (plain !== undefined)) return null;
  const program = bech32.fromWordsUnsafe(words);
  if (program === undefined || !isProgramLength(version, program.length)) return null;
  return { prefix: decoded.prefix, version, program };
}

function isProgramLength(version: number, length: number): boolean {
  if (version === 0) return length === KEY_HASH_LENGTH || length === SCRIPT_HASH_LENGTH;
  if (version === 1) return length === SCRIPT_HASH_LENGTH;
  return length >= 2 && length <= 40;
}

/** Returns the result, or null if the library rejects the text. */
function orNull<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch {
    return null;
  }
}
