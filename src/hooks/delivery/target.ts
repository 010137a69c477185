/**
 * Where deliveries may go. A hook's URL is its owner's choice and the request is made from inside the operator's network,
 * so whatever isn't public is refused unless the operator allowed it. The address that was checked is the one that is
 * connected to: a name may stand for another one a moment later.
 */
import { lookup } from 'node:dns/promises';
import {
  type AddressBytes,
  contains,
  type Network,
  network,
  parseAddress,
  parseNetwork,
  unmapped,
} from '../../http/hosts.ts';

/**
 * Which addresses and names are not public, and why: IANA's registries of special-purpose addresses (RFC 6890 and its
 * successors) and of special-use names, and what is known to lead into a network from outside of them. An address of several
 * is reported as the first of them.
 */
const special: readonly (readonly [network: Network, reason: string])[] = (
  [
    ['0.0.0.0/8', 'this host or network'],
    ['10.0.0.0/8', 'private'],
    ['100.64.0.0/10', 'shared by customers of a provider'],
    ['127.0.0.0/8', 'loopback'],
    ['168.63.129.16/32', 'the platform service of a cloud'],
    ['169.254.0.0/16', 'link-local'],
    ['172.16.0.0/12', 'private'],
    ['192.0.0.0/24', 'reserved for protocols'],
    ['192.0.2.0/24', 'documentation'],
    ['192.88.99.0/24', 'a relay of 6to4'],
    ['192.168.0.0/16', 'private'],
    ['198.18.0.0/15', 'benchmarks'],
    ['198.51.100.0/24', 'documentation'],
    ['203.0.113.0/24', 'documentation'],
    ['224.0.0.0/4', 'multicast'],
    ['255.255.255.255/32', 'broadcast'],
    ['240.0.0.0/4', 'reserved'],
    ['::/128', 'unspecified'],
    ['::1/128', 'loopback'],
    ['::/96', 'an IPv4 address in a form that was given up'],
    ['::ffff:0:0:0/96', 'a translated IPv4 address'],
    ['64:ff9b:1::/48', 'an IPv4 address behind a local NAT64'],
    ['100::/64', 'discarded'],
    ['100:0:0:1::/64', 'reserved'],
    ['2001::/32', 'an IPv4 address behind Teredo'],
    ['2001::/23', 'reserved for protocols'],
    ['2001:db8::/32', 'documentation'],
    ['2002::/16', 'an IPv4 address behind 6to4'],
    ['3fff::/20', 'documentation'],
    ['5f00::/16', 'segments of a route'],
    ['fc00::/7', 'private'],
    ['fe80::/10', 'link-local'],
    ['fec0::/10', 'site-local'],
    ['ff00::/8', 'multicast'],
    // Of IPv6 only 2000::/3 is given out for the Internet.
    ['::/3', 'reserved'],
    ['4000::/2', 'reserved'],
    ['8000::/1', 'reserved'],
  ] as const
).map(([text, reason]) => [network(text), reason]);

/** The networks of a kind that an operator may allow by its name; null for another name. */
const networksNamed = (name: string): Network[] | null =>
  name === 'loopback' || name === 'private' ? special.flatMap(([one, reason]) => (reason === name ? [one] : [])) : null;

/** The well-known prefix of NAT64: a connection ends at the IPv4 address in the last 4 bytes (RFC 6052). */
const NAT64 = network('64:ff9b::/96');

/** The IPv4 address that a connection to an IPv6 one ends at, where that is known; any other address as it is. */
const reached = (address: AddressBytes): AddressBytes =>
  contains(NAT64, address) ? address.subarray(-4) : unmapped(address);

/** Why an address isn't public, null where it is. */
export function notPublic(address: AddressBytes): string | null {
  const end = reached(address);
  return special.find(([one]) => contains(one, end))?.[1] ?? null;
}

/** Names of one machine or network (RFC 6761, 6762, 8375; `internal` by ICANN), with whatever is before them. */
const LOCAL_NAMES = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa'];

/** Whether a name means something else in every network. @param name in lower case, without a dot at its end */
const isLocalName = (name: string): boolean =>
  LOCAL_NAMES.some((local) => name === local || name.endsWith(`.${local}`));

/** What a delivery is not sent to; the message may be shown to the owner of the hook. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

/** The resolver knows no address of a host, now at least. */
export class TargetUnresolved extends Error {
  override readonly name = 'TargetUnresolved';
}

export interface Address {
  address: string;
  family: 4 | 6;
}

/** All addresses of a name. */
type Resolve = (host: string) => Promise<Address[]>;

/** The addresses of a host by the system's resolver. @throws the resolver's error */
export const systemResolve: Resolve = async (host) => {
  const found = await lookup(host, { all: true, verbatim: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/**
 * Networks as the operator writes them, with commas: `10.0.0.0/8`, a single address, or `loopback` or `private` for all that a
 * refusal calls so; null where one is none.
 */
export function parseNetworks(text: string): Network[] | null {
  const parsed: Network[] = [];
  for (const part of text.split(',').map((piece) => piece.trim())) {
    if (part === '') continue;
    const named = networksNamed(part.toLowerCase());
    const one = named === null ? parseNetwork(part) : null;
    if (named !== null) parsed.push(...named);
    else if (one !== null) parsed.push(one);
    else return null;
  }
  return parsed;
}

export interface TargetRules {
  /** Networks that may be called though they are not public. */
  allowed: readonly Network[];
  /** Whether public targets may be called without TLS. */
  plainHttp: boolean;
}

/** A target that passed: its addresses may be connected to. */
export interface Target {
  url: URL;
  addresses: Address[];
}

const localName = (host: string): TargetRefused =>
  new TargetRefused(`its host ${host} is a name of this machine or network, which is not public (see --hook-targets)`);

/**
 * The guard of receivers: which URLs and addresses a delivery may go to.
 * @param resolve finds the addresses of a host
 */
export function targetGuard({ allowed, plainHttp }: TargetRules, resolve: Resolve = systemResolve) {
  /** Whether the operator allowed it. @throws TargetRefused where it is neither allowed nor public */
  function checkAddress({ address }: Address, host: string): 'allowed' | 'public' {
    const bytes = parseAddress(address);
    if (bytes === null) throw new TargetRefused(`its host has the address ${address}, which is not an IP address`);
    if (allowed.some((one) => contains(one, bytes) || contains(one, reached(bytes)))) return 'allowed';
    const reason = notPublic(bytes);
    if (reason !== null) {
      throw new TargetRefused(`its host is at ${address}, which is not public (${reason}; see --hook-targets)`);
    }
    if (isLocalName(host)) throw localName(host);
    return 'public';
  }

  /** Checks the URL alone. @throws TargetRefused */
  function checkForm(url: URL): void {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new TargetRefused('it must begin with https://');
    if (url.username !== '' || url.password !== '') throw new TargetRefused('it must not hold a user or password');
  }

  async function resolved(host: string): Promise<Address[]> {
    try {
      return await resolve(host);
    } catch (cause) {
      throw new TargetUnresolved(cause instanceof Error ? cause.message : String(cause), { cause });
    }
  }

  return {
    /**
     * The addresses that a URL may be called at, and the URL as it is to be called.
     * @throws TargetRefused where any address of its host may not be called; TargetUnresolved where the resolver
     *   knows none
     */
    async check(text: string): Promise<Target> {
      const url = new URL(text);
      checkForm(url);
      // A dot at the end changes nothing but who takes it for another host.
      url.hostname = url.hostname.replace(/\.+$/, '');
      const host = url.hostname.replace(/^\[|\]$/g, '');
      if (isLocalName(host) && allowed.length === 0) throw localName(host);
      const literal = parseAddress(host);
      const addresses: Address[] =
        literal === null ? await resolved(host) : [{ address: host, family: literal.length === 4 ? 4 : 6 }];
      if (addresses.length === 0) throw new TargetRefused('its host has no address');
      const verdicts = addresses.map((address) => checkAddress(address, host));
      if (url.protocol === 'http:' && verdicts.includes('public') && !plainHttp) {
        throw new TargetRefused('it must begin with https:// (see --hook-http)');
      }
      return { url, addresses };
    },
  };
}
export type TargetGuard = ReturnType<typeof targetGuard>;
