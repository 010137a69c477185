/** Path prefixes that are passed on to other services, such as one of token metadata. */
import { OperatorError } from '../base/errors.ts';
import { ApiError } from '../http/errors.ts';
import type { Forward } from '../http/forward.ts';
import { hostCheck } from '../http/hosts.ts';
import { pathAndQuery, withPlainPath } from '../http/request-url.ts';
import { bodyToPassOn, passedBack, upstream } from '../http/upstream.ts';

/** A prefix of paths, and the URL that takes its place. */
export interface ProxyPrefix {
  /** The prefix without a slash at its end, such as `/metadata`. */
  prefix: string;
  /** The URL without a slash at its end, such as `http://127.0.0.1:3001/metadata`. */
  url: string;
}

const PREFIX = /^(?:\/[\w.~-]+)+$/;

/** One prefix; null where the text is none. */
function parsePrefix(text: string): ProxyPrefix | null {
  const at = text.indexOf('=');
  const [prefix, target] = [text.slice(0, at), text.slice(at + 1)];
  const url = URL.parse(target);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === null || !isHttp || url.username !== '' || url.password !== '' || /[?#]/.test(target)) return null;
  if (!PREFIX.test(prefix) || prefix.split('/').some((segment) => /^\.+$/.test(segment))) return null;
  return { prefix, url: url.href.replace(/\/+$/, '') };
}

/**
 * Prefixes as the operator writes them, separated by blanks: `/metadata=http://127.0.0.1:3001/metadata`.
 * @returns null where a part is no prefix with a URL, or a prefix stands there twice
 */
export function parseProxyPrefixes(text: string): ProxyPrefix[] | null {
  const parts = text.split(/\s+/).filter((part) => part !== '');
  const prefixes = parts.map(parsePrefix).filter((one) => one !== null);
  const isWhole =
    prefixes.length === parts.length && new Set(prefixes.map(({ prefix }) => prefix)).size === parts.length;
  return isWhole ? prefixes : null;
}

/**
 * Refuses prefixes that lead to the API itself, which would ask itself without end.
 * @param api where the API listens
 * @throws OperatorError
 */
export function requireOtherServers(prefixes: readonly ProxyPrefix[], api: { host: string; port: number }): void {
  const isOwn = hostCheck({ names: [api.host], addresses: 'loopback' });
  for (const { prefix, url } of prefixes) {
    const { protocol, host, port } = new URL(url);
    if (protocol !== 'http:' || Number(port || 80) !== api.port || !isOwn(host)) continue;
    throw new OperatorError(
      `--proxy-prefix ${prefix} leads to ${url}, which is the API itself.`,
      'Give the URL of the other service.',
    );
  }
}

/**
 * Finds `..` as a segment of a path, however it and the slashes around it are encoded. Each server on the way
 * resolves a URL in its own manner; only a path without such a segment is the same for all.
 */
const UPWARDS = /(?:[/\\]|%(?:25)*2f|%(?:25)*5c)(?:\.|%(?:25)*2e){2}(?:[/\\;]|%(?:25)*2f|%(?:25)*5c|%(?:25)*3b|$)/i;

/** Headers with keys of this server, which other services are not to see. */
const KEYS = ['authorization', 'x-api-key', 'x-chainhook-consumer', 'x-stackside-peer'];
/** Headers of answers that would change what a browser keeps of this server's origin. */
const OF_THE_ORIGIN = [
  'set-cookie',
  'set-cookie2',
  'clear-site-data',
  'strict-transport-security',
  'service-worker-allowed',
];

export interface PrefixProxyOptions extends ProxyPrefix {
  /** Largest body of a request, in bytes. */
  bodyLimit: number;
  /** What this process calls itself in `Via`. */
  via: string;
  timeoutMs?: number;
}

/** Passes requests below a prefix on. The path after the prefix follows the service's URL. */
export function prefixProxy({ prefix, url, bodyLimit, via, timeoutMs }: PrefixProxyOptions): Forward {
  const name = `The service of ${prefix}`;
  const limit = timeoutMs === undefined ? {} : { timeoutMs };
  const { ask } = upstream({ name, url, via, withheld: KEYS, ...limit });

  /** Where a redirect of the service leads, in the paths of this server. */
  function locationHere(location: string): string {
    const resolved = URL.parse(location, `${url}/`)?.href ?? location;
    const isBelow = resolved === url || resolved.startsWith(`${url}/`);
    return isBelow ? prefix + resolved.slice(url.length) : location;
  }

  return async (request) => {
    const target = pathAndQuery(withPlainPath(request.url));
    if (UPWARDS.test(target.split('?', 1)[0] ?? '')) throw new ApiError(400, `The path leads out of ${prefix}`);
    const body = await bodyToPassOn(request, bodyLimit);
    const answer = passedBack(await ask(target.slice(prefix.length), request, body), OF_THE_ORIGIN);
    const location = answer.headers.get('location');
    if (location !== null) answer.headers.set('location', locationHere(location));
    // A page of the service must not act as a page of this server, which may be signed in.
    answer.headers.set('content-security-policy', 'sandbox');
    answer.headers.set('x-content-type-options', 'nosniff');
    return answer;
  };
}
