/**
 * Where deliveries may go. A hook's URL is its owner's choice and the request is made from inside the operator's network,
 * so whatever isn't public is refused unless the operator allowed it. The address that was checked is the one that is
 * connected to: a name may stand for another one a moment later.
 */
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

/** What a delivery is not sent to; the message may be shown to the owner of the hook. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

export interface Address {
  address: string;
  family: 4 | 6;
}

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<Address[]>;

export const systemResolve: Resolve = async (host) => {
  const found = await lookup(host, { all: true, verbatim: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/** Not public, by the registries of special-purpose addresses (RFC 6890 and its successors). */
const special: readonly (readonly [network: string, bits: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['::', 128],
  ['::1', 128],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

const kindOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

function listOf(networks: readonly (readonly [network: string, bits: number])[]): BlockList {
  const list = new BlockList();
  for (const [network, bits] of networks) list.addSubnet(network, bits, kindOf(network));
  return list;
}

const notPublic = listOf(special);

/** Networks as the operator writes them, `10.0.0.0/8` or a single address; null where one is none. */
export function parseNetworks(text: string): (readonly [network: string, bits: number])[] | null {
  const parsed: (readonly [string, number])[] = [];
  for (const part of text.split(',').map((piece) => piece.trim())) {
    if (part === '') continue;
    const [network = '', bits] = part.split('/');
    const family = isIP(network);
    if (family === 0) return null;
    const most = family === 6 ? 128 : 32;
    const length = bits === undefined ? most : Number(bits);
    if (bits !== undefined && (!/^\d{1,3}$/.test(bits) || length > most)) return null;
    parsed.push([network, length]);
  }
  return parsed;
}

/** An IPv4 address inside an IPv6 one (RFC 4291, RFC 6052), null where there is none. */
function embedded(address: string): string | null {
  const [head, tail] = expanded(address);
  if (head !== '0000:0000:0000:0000:0000:ffff' && head !== '0064:ff9b:0000:0000:0000:0000') return null;
  return tail;
}

/** The first six groups of an IPv6 address in full, and the last two as IPv4. */
function expanded(address: string): [head: string, tail: string] {
  let text = address.replace(/%.*$/, '');
  const dotted = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  if (dotted !== null) {
    const [a, b, c, d] = dotted.slice(1).map(Number) as [number, number, number, number];
    text = `${text.slice(0, dotted.index)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [left = '', right] = text.split('::');
  const before = left === '' ? [] : left.split(':');
  const after = right === undefined || right === '' ? [] : right.split(':');
  const zeros = right === undefined ? [] : new Array<string>(8 - before.length - after.length).fill('0');
  const groups = [...before, ...zeros, ...after].map((group) => group.padStart(4, '0'));
  const [high, low] = [Number.parseInt(groups[6] ?? '0', 16), Number.parseInt(groups[7] ?? '0', 16)];
  return [groups.slice(0, 6).join(':'), `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`];
}

export interface TargetRules {
  /** Networks that may be called though they are not public. */
  allowed: readonly (readonly [network: string, bits: number])[];
  /** Whether public targets may be called without TLS. */
  plainHttp: boolean;
}

/** A target that passed: its addresses may be connected to. */
export interface Target {
  url: URL;
  addresses: Address[];
}

export function targetGuard({ allowed, plainHttp }: TargetRules, resolve: Resolve = systemResolve) {
  const allowedList = listOf(allowed);

  function isAllowed(address: string): boolean {
    const inner = kindOf(address) === 'ipv6' ? embedded(address) : null;
    return allowedList.check(address, kindOf(address)) || (inner !== null && allowedList.check(inner, 'ipv4'));
  }

  function isPublic(address: string): boolean {
    if (kindOf(address) === 'ipv4') return !notPublic.check(address, 'ipv4');
    const inner = embedded(address);
    return inner === null ? !notPublic.check(address, 'ipv6') : !notPublic.check(inner, 'ipv4');
  }

  /** What can be told from the URL alone. @throws TargetRefused */
  function checkForm(url: URL): void {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new TargetRefused('it must begin with https://');
    if (url.username !== '' || url.password !== '') throw new TargetRefused('it must not hold a user or password');
  }

  return {
    /**
     * The addresses that a URL may be called at.
     * @throws TargetRefused where any address of its host may not be called; errors of the resolver
     */
    async check(text: string): Promise<Target> {
      const url = new URL(text);
      checkForm(url);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      const family = isIP(host);
      const addresses = family === 0 ? await resolve(host) : [{ address: host, family: family === 6 ? 6 : 4 } as const];
      if (addresses.length === 0) throw new TargetRefused('its host has no address');
      let special = true;
      for (const { address } of addresses) {
        if (isAllowed(address)) continue;
        special = false;
        if (!isPublic(address)) {
          throw new TargetRefused(`its host is at ${address}, which is not public (see --hook-targets)`);
        }
      }
      if (url.protocol === 'http:' && !special && !plainHttp) {
        throw new TargetRefused('it must begin with https:// (see --hook-http)');
      }
      return { url, addresses };
    },
  };
}
export type TargetGuard = ReturnType<typeof targetGuard>;
