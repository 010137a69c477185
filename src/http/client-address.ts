/** The address of a client, also behind proxies. */
import { type AddressBytes, contains, type Network, parseAddress, parseNetwork, unmapped } from './hosts.ts';

/**
 * Parses a comma-separated list of networks such as `10.0.0.0/8, ::1`.
 * @returns null where one is none
 */
export function parseNetworks(text: string): Network[] | null {
  const networks = text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map(parseNetwork);
  return networks.every((one) => one !== null) ? networks : null;
}

const isIn = (networks: readonly Network[], address: AddressBytes): boolean =>
  networks.some((one) => contains(one, address));

/** Tells the address of a client. @param peer address of the other end of the connection, as text; empty if unknown */
export type AddressOf = (peer: string, headers: Headers) => string;

/**
 * The client of a request is the peer, or if that is a trusted proxy, whom it names in `X-Forwarded-For`. The names are read from
 * the last one on, which the peer itself wrote; the first that is no trusted proxy is the client, whatever it wrote before it. What a
 * proxy names that is no address is passed over, and the proxy counts as the client.
 * @param untrusted called with a peer that is no trusted proxy, and forwards requests of others all the same
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
    for (const named of forwarded.split(',').reverse()) {
      if (!isTrusted(client)) break;
      const next = named.trim();
      if (parseAddress(next) === null) break;
      client = next;
    }
    if (client === peer && !isTrusted(peer)) untrusted(peer);
    return client;
  };
}

/** Bytes of an IPv6 address that a site has to itself: a /64. */
const SITE_BYTES = 8;

/** Bytes of the network that a provider has: a /32 of IPv6, a /16 of IPv4. */
const PROVIDER_BYTES = { 4: 2, 16: 4 };

/** The network of a provider that an address belongs to. */
export function providerNetwork(text: string): string {
  const parsed = parseAddress(text);
  if (parsed === null) return text;
  const address = unmapped(parsed);
  return address.subarray(0, address.length === 4 ? PROVIDER_BYTES[4] : PROVIDER_BYTES[16]).toHex();
}

/** The addresses that count as one client: an IPv4 address, or the /64 of an IPv6 address, of which anybody has as many as they like. */
export function addressGroup(text: string): string {
  const parsed = parseAddress(text);
  if (parsed === null) return text;
  const address = unmapped(parsed);
  return address.subarray(0, SITE_BYTES).toHex();
}
