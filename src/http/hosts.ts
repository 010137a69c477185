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
  /** Which addresses it may be called by: `loopback`, or any, since no page can have one that isn't its own. */
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

/** Whether a page of another origin makes the request. Programs other than browsers say nothing of a page. */
export function isFromOtherPage({ headers }: Request): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return true;
  const origin = headers.get('origin');
  return origin !== null && URL.parse(origin)?.host !== headers.get('host')?.toLowerCase();
}
