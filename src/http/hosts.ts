/** Addresses and names of hosts, and what of them a request may name. */
/** IP addresses as bytes: whatever is decided about an address is decided on these, never on its text. */

/** 4 bytes of an IPv4 address, 16 of an IPv6 address. */
export type AddressBytes = Uint8Array;

/** The addresses that begin with the same bits. */
export interface Network {
  bytes: AddressBytes;
  /** How many leading bits all of them share. */
  bits: number;
}

const GROUPS = 8;
const DECIMAL_BYTE = /^(0|[1-9]\d{0,2})$/;
const HEX_GROUP = /^[0-9a-fA-F]{1,4}$/;

function parseIPv4(text: string): AddressBytes | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => DECIMAL_BYTE.test(part) && Number(part) <= 255)) return null;
  return Uint8Array.from(parts, Number);
}

/** The bytes of groups between colons. @param atEnd whether they end the address, where an IPv4 address may stand */
function groupBytes(text: string, atEnd: boolean): number[] | null {
  if (text === '') return [];
  const groups = text.split(':');
  const bytes: number[] = [];
  for (const [index, group] of groups.entries()) {
    const dotted = atEnd && index === groups.length - 1 ? parseIPv4(group) : null;
    if (dotted !== null) bytes.push(...dotted);
    else if (HEX_GROUP.test(group)) bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff);
    else return null;
  }
  return bytes;
}

function parseIPv6(text: string): AddressBytes | null {
  const [left = '', right, ...more] = text.split('::');
  if (more.length > 0) return null;
  const before = groupBytes(left, right === undefined);
  if (before === null) return null;
  if (right === undefined) return before.length === 2 * GROUPS ? Uint8Array.from(before) : null;
  const after = groupBytes(right, true);
  // The two colons stand for one group of zeros at least.
  const zeros = after === null ? 0 : 2 * GROUPS - before.length - after.length;
  if (after === null || zeros < 2) return null;
  return Uint8Array.from([...before, ...new Array<number>(zeros).fill(0), ...after]);
}

/**
 * The bytes of an address in its usual text form.
 * @returns null for everything else: names, IPv4 addresses in octal, hex or with fewer parts, addresses with a zone
 */
export const parseAddress = (text: string): AddressBytes | null =>
  text.includes(':') ? parseIPv6(text) : parseIPv4(text);

/** A network as `10.0.0.0/8`, or one address alone; null for everything else. */
export function parseNetwork(text: string): Network | null {
  const [address = '', length, ...more] = text.split('/');
  const bytes = parseAddress(address);
  if (bytes === null || more.length > 0) return null;
  const most = bytes.length * 8;
  if (length === undefined) return { bytes, bits: most };
  return /^\d{1,3}$/.test(length) && Number(length) <= most ? { bytes, bits: Number(length) } : null;
}

/** Whether an address is of a network; never across the two families. */
export function contains({ bytes, bits }: Network, address: AddressBytes): boolean {
  if (bytes.length !== address.length) return false;
  const whole = bits >> 3;
  for (let at = 0; at < whole; at++) if (bytes[at] !== address[at]) return false;
  const rest = bits & 7;
  return rest === 0 || ((bytes[whole] ?? 0) ^ (address[whole] ?? 0)) >> (8 - rest) === 0;
}

/** A network that is written in the code. @throws Error where it is none */
export function network(text: string): Network {
  const parsed = parseNetwork(text);
  if (parsed === null) throw new Error(`${text} is no network`);
  return parsed;
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

/** A name or address as it is compared: in lower case, without brackets and without a dot at its end. */
const plain = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');

/** Names as the operator writes them, with commas. */
export const hostNames = (text: string): string[] =>
  text
    .split(',')
    .map((name) => plain(name.trim()))
    .filter((name) => name !== '');

/** The hosts under which hooks may be managed. */
export interface HostRules {
  /** Names of this server besides `localhost`. */
  names: readonly string[];
  /** The addresses by which this server may be called: `loopback`, or any, since no page can have one that isn't its own. */
  addresses: 'loopback' | 'any';
}

/** @returns whether the `Host` of a request is one of this server's */
export function hostCheck({ names, addresses }: HostRules): (header: string | null) => boolean {
  const own = new Set(['localhost', ...names.map(plain)]);
  return (header) => {
    const host = plain(HOST.exec(header ?? '')?.[1] ?? '');
    const address = parseAddress(host);
    if (address !== null) return addresses === 'any' || isLoopback(address);
    return own.has(host);
  };
}

/** Whether the `Origin` of a request, null for none, is the server that the request is addressed to. */
const isOwnOrigin = (origin: string | null, { headers }: Request): boolean =>
  origin !== null && URL.parse(origin)?.host === headers.get('host')?.toLowerCase();

/** Whether a page of another origin makes the request. Programs other than browsers say nothing of a page. */
export function isFromOtherPage(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return true;
  const origin = request.headers.get('origin');
  return origin !== null && !isOwnOrigin(origin, request);
}

/**
 * Whether the browser says that a page of this server makes the request. `Sec-Fetch-Site` decides where it is sent: a proxy
 * in front may have changed `Host`, and browsers that ask over plain HTTP by another name than localhost send `Origin` alone.
 */
export function isFromOwnPage(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site');
  return site === null ? isOwnOrigin(request.headers.get('origin'), request) : site === 'same-origin';
}
