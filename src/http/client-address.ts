/** The address of a client, also behind proxies. */
import { type AddressBytes, contains, type Network, parseAddress, unmapped } from './hosts.ts';

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

/** Bytes of the IPv6 network of a site: a /64. */
const SITE_BYTES = 8;

/** Bytes of the network of a provider: a /32 of IPv6, a /16 of IPv4. */
const PROVIDER_BYTES = { 4: 2, 16: 4 };

/** Returns the network of the provider that an address belongs to, in hex. */
export function providerNetwork(text: string): string {
  const parsed = parseAddress(text);
  if (parsed === null) return text;
  const address = unmapped(parsed);
  return address.subarray(0, address.length === 4 ? PROVIDER_BYTES[4] : PROVIDER_BYTES[16]).toHex();
}

/** Returns the addresses that count as one client, in hex: an IPv4 address, or the /64 of an IPv6 address, since a site has all of it. */
export function addressGroup(text: string): string {
  const parsed = parseAddress(text);
  if (parsed === null) return text;
  const address = unmapped(parsed);
  return address.subarray(0, SITE_BYTES).toHex();
}
