/**
 * Which addresses and names are not public, and why: IANA's registries of special-purpose addresses (RFC 6890 and its
 * successors) and of special-use names, and what is known to lead into a network from outside of them.
 */
import { type AddressBytes, contains, type Network, network, unmapped } from '../../http/ip-address.ts';

/** Each network with what it is. An address of several is told as the first of them. */
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
export const networksNamed = (name: string): Network[] | null =>
  name === 'loopback' || name === 'private' ? special.flatMap(([one, reason]) => (reason === name ? [one] : [])) : null;

/** The well-known prefix of NAT64: a connection ends at the IPv4 address in the last 4 bytes (RFC 6052). */
const NAT64 = network('64:ff9b::/96');

/** The IPv4 address that a connection to an IPv6 one ends at, where that is known; any other address as it is. */
export const reached = (address: AddressBytes): AddressBytes =>
  contains(NAT64, address) ? address.subarray(-4) : unmapped(address);

/** Why an address isn't public, null where it is. */
export function notPublic(address: AddressBytes): string | null {
  const end = reached(address);
  return special.find(([network]) => contains(network, end))?.[1] ?? null;
}

/** Names of one machine or network (RFC 6761, 6762, 8375; `internal` by ICANN), with whatever stands before them. */
const LOCAL_NAMES = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa'];

/** Whether a name means something else in every network. @param name in lower case, without a dot at its end */
export const isLocalName = (name: string): boolean =>
  LOCAL_NAMES.some((local) => name === local || name.endsWith(`.${local}`));
