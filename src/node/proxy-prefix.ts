/** Path prefixes that are passed on to other services, such as one of token metadata. */
import { OperatorError } from '../base/errors.ts';
import type { Forward } from '../http/forward.ts';
import { hostCheck } from '../http/hosts.ts';
import { pathAndQuery, withPlainPath } from '../http/request-url.ts';
import { bodyToPassOn, upstream } from '../http/upstream.ts';

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

export interface PrefixProxyOptions extends ProxyPrefix {
  /** Largest body of a request, in bytes. */
  bodyLimit: number;
  /** What this process calls itself in `Via`. */
  via: string;
  timeoutMs?: number;
}

/** Passes requests below a prefix on. The path after the prefix follows the service's URL. */
export function prefixProxy({ prefix, url, bodyLimit, via, timeoutMs }: PrefixProxyOptions): Forward {
  const { ask, passedBack } = upstream({
    name: `The service of ${prefix}`,
    url,
    prefix,
    via,
    isOurKey: () => true,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  return async (request) => {
    const target = pathAndQuery(withPlainPath(request.url));
    return passedBack(await ask(target, request, await bodyToPassOn(request, bodyLimit)));
  };
}
