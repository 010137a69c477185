/**
 * Whom a request is addressed to, and by whose page. A web page of anybody can point a name of its own to this machine and
 * send requests here by that name (DNS rebinding); it can't choose the name that the browser puts into `Host`.
 */
import { isLoopback, parseAddress } from './ip-address.ts';

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
