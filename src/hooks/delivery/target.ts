/**
 * Where deliveries may go. A hook's URL is its owner's choice and the request is made from inside the operator's network,
 * so whatever isn't public is refused unless the operator allowed it. The address that was checked is the one that is
 * connected to: a name may stand for another one a moment later.
 */
import { lookup } from 'node:dns/promises';
import { contains, type Network, parseAddress, parseNetwork } from '../../http/ip-address.ts';
import { isLocalName, networksNamed, notPublic, reached } from './special-addresses.ts';

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
export type Resolve = (host: string) => Promise<Address[]>;

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
    const network = named === null ? parseNetwork(part) : null;
    if (named !== null) parsed.push(...named);
    else if (network !== null) parsed.push(network);
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
    if (bytes === null) throw new TargetRefused(`its host is at ${address}, which is no address of the Internet`);
    if (allowed.some((network) => contains(network, bytes) || contains(network, reached(bytes)))) return 'allowed';
    const reason = notPublic(bytes);
    if (reason !== null) {
      throw new TargetRefused(`its host is at ${address}, which is not public (${reason}; see --hook-targets)`);
    }
    if (isLocalName(host)) throw localName(host);
    return 'public';
  }

  /** What can be told from the URL alone. @throws TargetRefused */
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
