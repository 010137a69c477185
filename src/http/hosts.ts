/**
 * IP addresses and host names, checks of `Host` and `Origin`, and the address of a client behind proxies. Addresses are
 * compared as bytes, never as texts.
 */
import { isIP } from 'node:net';

/** 4 bytes of an IPv4 address, 16 of an IPv6 address. */
export type AddressBytes = Uint8Array;

export interface Network {
  bytes: AddressBytes;
  /** Length of the prefix in bits. */
  bits: number;
}

const IPV6_BYTES = 16;

/** The bytes of groups between colons. The last group may be an IPv4 address. */
const groupBytes = (groups: string): number[] =>
  groups.split(':').flatMap((group) => {
    if (group === '') return [];
    const number = Number.parseInt(group, 16);
    return group.includes('.') ? group.split('.').map(Number) : [number >> 8, number & 0xff];
  });

/**
 * The bytes of an address in its usual text form.
 * @returns null for any other text: names, IPv4 addresses in octal, hex or with fewer parts, addresses with a zone
 */
export function parseAddress(text: string): AddressBytes | null {
  const version = text.includes('%') ? 0 : isIP(text);
  if (version === 0) return null;
  if (version === 4) return Uint8Array.from(text.split('.'), Number);
  const [start = '', end = ''] = text.split('::');
  const [startBytes, endBytes] = [groupBytes(start), groupBytes(end)];
  const zeros = new Array<number>(IPV6_BYTES - startBytes.length - endBytes.length).fill(0);
  return Uint8Array.from([...startBytes, ...zeros, ...endBytes]);
}

/** Parses a network such as `10.0.0.0/8`, or a single address; null for any other text. */
export function parseNetwork(text: string): Network | null {
  const [address = '', length, ...more] = text.split('/');
  const bytes = parseAddress(address);
  if (bytes === null || more.length > 0) return null;
  const bitCount = bytes.length * 8;
  if (length === undefined) return { bytes, bits: bitCount };
  return /^\d{1,3}$/.test(length) && Number(length) <= bitCount ? { bytes, bits: Number(length) } : null;
}

/**
 * Parses a comma-separated list of networks such as `10.0.0.0/8, ::1`.
 * @param byWord returns the networks that a word in lower case stands for; null for any other text
 * @returns null if an item isn't a network
 */
export function parseNetworks(text: string, byWord: (word: string) => Network[] | null = () => null): Network[] | null {
  const networks: Network[] = [];
  for (const item of text.split(',').map((part) => part.trim())) {
    if (item === '') continue;
    const parsed = byWord(item.toLowerCase()) ?? parseNetwork(item);
    if (parsed === null) return null;
    networks.push(...[parsed].flat());
  }
  return networks;
}

/** Whether a network contains an address; an IPv4 network contains no IPv6 address, and vice versa. */
export function contains({ bytes, bits }: Network, address: AddressBytes): boolean {
  if (bytes.length !== address.length) return false;
  const fullBytes = bits >> 3;
  for (let index = 0; index < fullBytes; index++) if (bytes[index] !== address[index]) return false;
  const rest = bits & 7;
  return rest === 0 || ((bytes[fullBytes] ?? 0) ^ (address[fullBytes] ?? 0)) >> (8 - rest) === 0;
}

/** Parses a network that is a constant of the code. @throws Error if it is invalid */
export function network(text: string): Network {
  const range = parseNetwork(text);
  if (range === null) throw new Error(`${text} isn't a network`);
  return range;
}

const MAPPED = network('::ffff:0:0/96');
const LOOPBACK = [network('127.0.0.0/8'), network('::1')];

/** The IPv4 address that an IPv6 socket shows as `::ffff:192.0.2.1`; any other address as it is. */
export const unmapped = (address: AddressBytes): AddressBytes =>
  contains(MAPPED, address) ? address.subarray(-4) : address;

/** Whether only this machine reaches the address. */
export const isLoopback = (address: AddressBytes): boolean =>
  LOOPBACK.some((loopback) => contains(loopback, unmapped(address)));

const HOST = /^(\[[^\s\][]+\]|[^\s:/?#@\][]+)(:\d{1,5})?$/;

/** Normalises a name or address for comparison: lower case, without brackets, without a final dot. */
const plain = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');

/** Parses a comma-separated list of names. */
export const hostNames = (text: string): string[] =>
  text
    .split(',')
    .map((name) => plain(name.trim()))
    .filter((name) => name !== '');

/** The hosts under which hooks may be managed. */
export interface HostRules {
  /** Names of this server, in addition to `localhost`. */
  names: readonly string[];
  /** Which IP addresses `Host` may have: `loopback` only, or any (DNS rebinding needs a name, so no page can fake an address). */
  addresses: 'loopback' | 'any';
}

/** Makes a function that checks whether the `Host` header of a request names this server. */
export function hostCheck({ names, addresses }: HostRules): (header: string | null) => boolean {
  const ownNames = new Set(['localhost', ...names.map(plain)]);
  return (header) => {
    const host = plain(HOST.exec(header ?? '')?.[1] ?? '');
    const address = parseAddress(host);
    if (address !== null) return addresses === 'any' || isLoopback(address);
    return ownNames.has(host);
  };
}

/** Whether an `Origin` is the server that the request is addressed to. @param origin null if there is none */
const isOwnOrigin = (origin: string | null, { headers }: Request): boolean =>
  origin !== null && URL.parse(origin)?.host === headers.get('host')?.toLowerCase();

/** Whether a page of another origin makes the request. Programs other than browsers send no such headers. */
export function isFromOtherPage(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return true;
  const origin = request.headers.get('origin');
  return origin !== null && !isOwnOrigin(origin, request);
}

/**
 * Returns whether the browser states that a page of this server makes the request. `Sec-Fetch-Site` decides if it is sent,
 * since a reverse proxy may have changed `Host`. Over plain HTTP, under other names than localhost, browsers send only
 * `Origin`.
 */
export function isFromOwnPage(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site');
  return site === null ? isOwnOrigin(request.headers.get('origin'), request) : site === 'same-origin';
}

const isIn = (networks: readonly Network[], address: AddressBytes): boolean =>
  networks.some((network) => contains(network, address));

/** Returns the address of a client. @param peer address of the other end of the connection, as text; empty if unknown */
export type AddressOf = (peer: string, headers: Headers) => string;

/**
 * Makes a function that finds the client of a request. The client is the peer, unless the peer is a trusted proxy. Then the
 * function reads `X-Forwarded-For` from its last address, which the peer wrote, to the first one that isn't a trusted proxy.
 * That one is the client, since a client can forge all addresses before its own. If a proxy names no address, the proxy is the
 * client.
 * @param untrusted called with a peer that sends `X-Forwarded-For` but isn't a trusted proxy
 */
export function clientBehind(trusted: readonly Network[], untrusted: (peer: string) => void = () => {}): AddressOf {
  const isTrusted = (text: string): boolean => {
    const address = parseAddress(text);
    return address !== null && isIn(trusted, unmapped(address));
  };
  return (peer, headers) => {
    const forwarded = headers.get('x-forwarded-for');
    if (forwarded === null) return peer;
    let client = peer;
    for (const hop of forwarded.split(',').reverse()) {
      if (!isTrusted(client)) break;
      const next = hop.trim();
      if (parseAddress(next) === null) break;
      client = next;
    }
    if (client === peer && !isTrusted(peer)) untrusted(peer);
    return client;
  };
}

/** Bytes that addresses of one site share, by the length of the address: a whole IPv4 address, a /64 of IPv6. */
const SITE_BYTES: Readonly<Record<number, number>> = { 4: 4, 16: 8 };
/** Bytes that addresses of one provider share: a /16 of IPv4, a /32 of IPv6. */
const PROVIDER_BYTES: Readonly<Record<number, number>> = { 4: 2, 16: 4 };

/** Returns the first bytes of an address in hex; any other text as it is. @param lengths number of bytes by length */
function prefixOf(text: string, lengths: Readonly<Record<number, number>>): string {
  const parsed = parseAddress(text);
  if (parsed === null) return text;
  const address = unmapped(parsed);
  return address.subarray(0, lengths[address.length]).toHex();
}

/** Returns the network of the provider that an address belongs to, in hex. */
export const providerNetwork = (text: string): string => prefixOf(text, PROVIDER_BYTES);

/** Returns the addresses that count as one client, in hex: an IPv4 address, or the /64 of an IPv6 address, since a site has all of it. */
export const addressGroup = (text: string): string => prefixOf(text, SITE_BYTES);
