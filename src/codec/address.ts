import { hash160, sha256 } from '#hash';
import { lruCache } from '../base/cache.ts';
import { DecodeError, MAX_NAME_LENGTH } from './bytes-reader.ts';
import { utf8Bytes } from './utf8.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Value of each ASCII character; -1 if it is outside the alphabet. Lower case, O, L and I are read as 0, 1 and 1. */
const VALUES = (() => {
  const values = new Int8Array(128).fill(-1);
  for (let value = 0; value < 32; value++) {
    values[ALPHABET.charCodeAt(value)] = value;
    values[ALPHABET.toLowerCase().charCodeAt(value)] = value;
  }
  for (const [spelling, digit] of ['O0', 'o0', 'L1', 'l1', 'I1', 'i1']) {
    values[spelling!.charCodeAt(0)] = ALPHABET.indexOf(digit!);
  }
  return values;
})();

/** Returns the value 0 to 31 of a character code, or -1. */
function c32Value(code: number): number {
  return VALUES[code] ?? -1;
}

/**
 * Encodes bytes as one big-endian number in Crockford's base 32, without leading zeros. Puts one `0` before it for each
 * leading zero *byte* (SIP-005; not for each zero group of five bits).
 */
export function c32Encode(bytes: Uint8Array): string {
  let text = '';
  let carry = 0;
  let carryBits = 0;
  for (let i = bytes.length - 1; i >= 0; i--) {
    carry |= bytes[i]! << carryBits;
    carryBits += 8;
    while (carryBits >= 5) {
      text = ALPHABET[carry & 31]! + text;
      carry >>= 5;
      carryBits -= 5;
    }
  }
  if (carryBits > 0) text = ALPHABET[carry]! + text;

  let zeroBytes = 0;
  while (bytes[zeroBytes] === 0) zeroBytes++;
  let zeroDigits = 0;
  while (text[zeroDigits] === '0') zeroDigits++;
  return '0'.repeat(zeroBytes) + text.slice(zeroDigits);
}

/** Decodes a c32 text. Returns null if a character is outside the alphabet. The reverse of `c32Encode`. */
export function c32Decode(text: string): Uint8Array | null {
  let zeros = 0;
  while (c32Value(text.charCodeAt(zeros)) === 0) zeros++;
  const bytes: number[] = []; // least significant first
  let carry = 0;
  let carryBits = 0;
  for (let i = text.length - 1; i >= zeros; i--) {
    const value = c32Value(text.charCodeAt(i));
    if (value < 0) return null;
    carry |= value << carryBits;
    carryBits += 5;
    if (carryBits >= 8) {
      bytes.push(carry & 255);
      carry >>= 8;
      carryBits -= 8;
    }
  }
  if (carry > 0) bytes.push(carry);
  // The bits of the first digit can leave one byte more than the number needs.
  while (bytes.at(-1) === 0) bytes.pop();
  for (let zero = 0; zero < zeros; zero++) bytes.push(0);
  return Uint8Array.from(bytes.reverse());
}

/** The address with the all-zero hash, which owns the boot contracts (`pox-4`, `bns`, `costs`). */
export const BOOT_ADDRESS = {
  mainnet: 'SP000000000000000000002Q6VF78',
  testnet: 'ST000000000000000000002AMW42H',
} as const;

/** Versions of a network's addresses: of a single key, and of a script (SIP-005). */
export const ADDRESS_VERSION = { mainnet: { key: 22, script: 20 }, testnet: { key: 26, script: 21 } } as const;

/** Returns whether a network's addresses have a version. @param version undefined without an address */
export const isVersionOf = (network: keyof typeof ADDRESS_VERSION, version: number | undefined): boolean =>
  version === ADDRESS_VERSION[network].key || version === ADDRESS_VERSION[network].script;

/** Bytes of an address on the wire: u8 version, then the hash160 (SIP-005). */
export const ADDRESS_LENGTH = 21;

const HASH_LENGTH = 20;
const CHECKSUM_LENGTH = 4;
/** Maximum characters of an address. The shortest, with a hash of zeros, has 28. */
const MAX_TEXT_LENGTH = 41;

/**
 * A direct-mapped cache of addresses. The slot is two bytes of the hash160, which is evenly distributed. A new address
 * replaces the address in its slot, so the memory is bounded without bookkeeping. An address takes a double SHA-256,
 * the largest single cost of decoding a transaction, and the same few thousand addresses recur all the time.
 */
const CACHE_SLOTS = 1 << 16;
const cachedBytes = new Uint8Array(CACHE_SLOTS * ADDRESS_LENGTH);
const cachedTexts: (string | undefined)[] = new Array(CACHE_SLOTS).fill(undefined);

/**
 * Returns the c32check text of an address (SIP-005): `SP…` for version 22, `SM…` for 20, `ST…` for 26, `SN…` for 21.
 *
 * @throws DecodeError if the version is above 31, which no character stands for, or the hash doesn't have 20 bytes
 */
export function stacksAddress(version: number, hash160: Uint8Array): string {
  if (version > 31) throw new DecodeError('an address version of at most 31', String(version), 0);
  if (hash160.length !== HASH_LENGTH) throw new DecodeError('a hash160 of 20 bytes', `${hash160.length} bytes`, 0);
  return addressAt(version, hash160, 0);
}

/**
 * Returns the text of the address with the hash160 at `hashOffset`. The caller must have checked that there are 20
 * bytes and that the version is below 32.
 *
 * Takes the whole input and an offset because a view per address would cost as much as the look-up.
 */
export function addressAt(version: number, bytes: Uint8Array, hashOffset: number): string {
  const slot = (bytes[hashOffset + 18]! << 8) | (bytes[hashOffset + 19]! ^ version);
  const cachedText = cachedTexts[slot];
  if (cachedText !== undefined && isCached(slot, version, bytes, hashOffset)) return cachedText;

  const start = slot * ADDRESS_LENGTH;
  cachedBytes[start] = version;
  for (let i = 0; i < HASH_LENGTH; i++) cachedBytes[start + 1 + i] = bytes[hashOffset + i]!;
  const versioned = cachedBytes.slice(start, start + ADDRESS_LENGTH);
  const data = new Uint8Array(HASH_LENGTH + CHECKSUM_LENGTH);
  data.set(versioned.subarray(1));
  data.set(checksum(versioned), HASH_LENGTH);
  const text = `S${ALPHABET[version]}${c32Encode(data)}`;
  cachedTexts[slot] = text;
  return text;
}

function isCached(slot: number, version: number, bytes: Uint8Array, hashOffset: number): boolean {
  const start = slot * ADDRESS_LENGTH;
  if (cachedBytes[start] !== version) return false;
  for (let i = 0; i < HASH_LENGTH; i++) {
    if (cachedBytes[start + 1 + i] !== bytes[hashOffset + i]) return false;
  }
  return true;
}

/** Returns the first four bytes of the double SHA-256 of version and hash. */
function checksum(versioned: Uint8Array): Uint8Array {
  return sha256(sha256(versioned)).subarray(0, CHECKSUM_LENGTH);
}

export interface ParsedAddress {
  readonly version: number;
  /** Read-only: the bytes are cached and shared. */
  readonly hash160: Uint8Array;
}

/** Maximum number of cached parsed addresses, by their canonical text; they take some 2 MB. */
const MAX_PARSED = 8_000;
const parsedAddresses = lruCache<string, ParsedAddress>(MAX_PARSED);

/**
 * Returns version and hash160 of an address text, or null if its form or checksum is wrong. The result is cached if the
 * text is canonical, because a request's address recurs in the links of its response.
 *
 * Lower case is accepted, and O, L and I for 0, 1 and 1. The first character must be S: some readers ignore it and
 * accept `XP…`.
 */
export function parseStacksAddress(text: string): ParsedAddress | null {
  const parsedAddress = parsedAddresses.get(text);
  if (parsedAddress !== undefined) return parsedAddress;
  const parsed = parseAddress(text);
  if (parsed === null) return null;
  // The key is a new string: a slice of a longer one, such as a URL, would keep all of that in memory.
  const canonical = stacksAddress(parsed.version, parsed.hash160);
  if (canonical === text) parsedAddresses.set(canonical, parsed, 1);
  return parsed;
}

function parseAddress(text: string): ParsedAddress | null {
  if (text.length > MAX_TEXT_LENGTH || (text[0] !== 'S' && text[0] !== 's')) return null;
  const version = c32Value(text.charCodeAt(1));
  const data = version < 0 ? null : c32Decode(text.slice(2));
  if (data?.length !== HASH_LENGTH + CHECKSUM_LENGTH) return null;
  const versioned = new Uint8Array(ADDRESS_LENGTH);
  versioned[0] = version;
  versioned.set(data.subarray(0, HASH_LENGTH), 1);
  const expected = checksum(versioned);
  for (let i = 0; i < CHECKSUM_LENGTH; i++) if (data[HASH_LENGTH + i] !== expected[i]) return null;
  return { version, hash160: versioned.subarray(1) };
}

/** Pattern of an address, without its checksum. */
export const ADDRESS_PATTERN = '[0123456789ABCDEFGHJKMNPQRSTVWXYZ]{28,41}';
/**
 * Pattern of a contract's name. Clarity values and events may contain principals with names of up to 128 characters, although
 * only a contract with a shorter name ({@link DEPLOYED_NAME_PATTERN}) can be deployed.
 */
export const CONTRACT_NAME_PATTERN = `[a-zA-Z][a-zA-Z0-9_-]{0,${MAX_NAME_LENGTH - 1}}`;
/** Pattern of a contract's name in a transaction: nodes reject transactions that deploy or call one with a longer name. */
export const DEPLOYED_NAME_PATTERN = '[a-zA-Z][a-zA-Z0-9_-]{0,39}';
export const ASSET_NAME_PATTERN = `[a-zA-Z][a-zA-Z0-9_!?+<>=/*-]{0,${MAX_NAME_LENGTH - 1}}`;
/** Maximum characters of an asset identifier: an address of 41, a contract's name, and an asset's name. */
export const MAX_ASSET_LENGTH = 41 + '.'.length + MAX_NAME_LENGTH + '::'.length + MAX_NAME_LENGTH;

const CONTRACT_NAME = new RegExp(`^${CONTRACT_NAME_PATTERN}$`);

/** Reports whether a text is an address, or an address, a dot and a contract name of 1 to 128 characters. */
export function isPrincipal(text: string): boolean {
  return canonicalPrincipal(text) !== null;
}

/**
 * Returns the canonical text of a principal, under which it is stored; null if it is invalid. Only the address has more
 * than one spelling; contract names are case-sensitive.
 */
export function canonicalPrincipal(text: string): string | null {
  const { address, contractName } = splitPrincipal(text);
  if (contractName !== null && !CONTRACT_NAME.test(contractName)) return null;
  const parsed = parseStacksAddress(address);
  if (parsed === null) return null;
  const canonical = stacksAddress(parsed.version, parsed.hash160);
  return contractName === null ? canonical : `${canonical}.${contractName}`;
}

/** Splits a principal's text at its first dot, without checking the parts. */
export function splitPrincipal(text: string): { address: string; contractName: string | null } {
  const dot = text.indexOf('.');
  if (dot < 0) return { address: text, contractName: null };
  return { address: text.slice(0, dot), contractName: text.slice(dot + 1) };
}

/**
 * Returns the bytes of a principal after the type prefix on the wire: 21 bytes of address, then for a contract u8
 * length and name (SIP-005). Returns null if the address is wrong or the name is longer than 128 bytes. The name's
 * grammar isn't checked, so names that only the chain itself uses, such as `__transient`, stay unchanged.
 */
export function principalBytes(text: string): Uint8Array | null {
  const { address, contractName } = splitPrincipal(text);
  const parsed = parseStacksAddress(address);
  if (parsed === null) return null;
  const name = contractName === null ? null : utf8Bytes(contractName);
  if (name !== null && name.length > MAX_NAME_LENGTH) return null;
  const bytes = new Uint8Array(ADDRESS_LENGTH + (name === null ? 0 : 1 + name.length));
  bytes[0] = parsed.version;
  bytes.set(parsed.hash160, 1);
  if (name !== null) {
    bytes[ADDRESS_LENGTH] = name.length;
    bytes.set(name, ADDRESS_LENGTH + 1);
  }
  return bytes;
}

/** Returns the single-signature address of a public key (SIP-005). @param key 33 bytes */
export const addressOfKey = (key: Uint8Array, network: keyof typeof ADDRESS_VERSION): string =>
  stacksAddress(ADDRESS_VERSION[network].key, hash160(key));

/** Returns the name of a contract, `ADDRESS.name`. */
export const contractNameOf = (contract: string): string => contract.slice(contract.indexOf('.') + 1);

/** Returns the name of an asset, `ADDRESS.name::asset`. */
export const assetNameOf = (asset: string): string => asset.slice(asset.lastIndexOf(':') + 1);

/** Returns the contract of an asset; an empty text for anything but an asset's identifier. */
export const assetContractOf = (asset: string): string => asset.slice(0, Math.max(0, asset.lastIndexOf('::')));
