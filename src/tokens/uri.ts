/** URIs of tokens' metadata: placeholders, and from where each kind of URI is fetched. */

/** Gateways to networks that have no servers of their own. */
export interface Gateways {
  /** URL without a slash at its end, to which `/ipfs/<cid>` is added. */
  ipfs: string;
  /** A header for requests to the IPFS gateway alone, such as a key. */
  ipfsHeader: readonly [name: string, value: string] | null;
  /** URL without a slash at its end. */
  arweave: string;
}

/** Public IPFS gateways: what they have is fetched from the operator's gateway. */
const REPLACED_GATEWAYS = new Set([
  'ipfs.io',
  'dweb.link',
  'gateway.pinata.cloud',
  'cloudflare-ipfs.com',
  'infura-ipfs.io',
]);

/** Maximum characters of a URI that is fetched; a `data:` URI may be as long as a document. */
const MOST_URI = 8_192;

/**
 * Puts a token's number and a locale into a URI: `{id}` and `$TOKEN_ID` are the number in decimal, `{locale}` the locale, in
 * upper or lower case.
 * @param locale empty for the base document
 */
export const filledUri = (uri: string, token: bigint, locale = ''): string =>
  uri.replace(/\{id\}|\$token_id/gi, () => String(token)).replace(/\{locale\}/gi, () => locale);

/** Where the resource of a URI is. */
export type Place =
  | { kind: 'web'; url: URL; gateway: { base: URL; headers: Record<string, string> } | null }
  /** The resource is in the URI itself. @see dataOf */
  | { kind: 'data'; mediaType: string; text: string; encoding: 'base64' | 'percent' | 'none' };

const DATA = /^data:([^,]*),([\s\S]*)$/i;

function dataPlace(uri: string): Place | null {
  const [, head, text] = DATA.exec(uri) ?? [];
  if (head === undefined || text === undefined) return null;
  const [mediaType = '', ...parameters] = head.split(';').map((part) => part.trim());
  // RFC 2397 has pairs only; `;utf8` is common all the same.
  const isBase64 = parameters.some((parameter) => parameter.toLowerCase() === 'base64');
  const encoding = isBase64 ? 'base64' : text.startsWith('%') ? 'percent' : 'none';
  return { kind: 'data', mediaType: mediaType.toLowerCase(), text, encoding };
}

/** The bytes of a `data:` URI; null if their encoding is wrong. */
export function dataOf({ text, encoding }: Extract<Place, { kind: 'data' }>): Buffer | null {
  try {
    if (encoding === 'base64') return Buffer.from(text.includes('%') ? decodeURIComponent(text) : text, 'base64');
    return Buffer.from(encoding === 'percent' ? decodeURIComponent(text) : text);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

/** A path on a gateway. Null if it leads out of what the gateway serves: `ipfs://x/../../api` may not reach another service. */
function onGateway(base: string, folder: string, path: string, headers: Record<string, string>): Place | null {
  const root = new URL(`${base}${folder}`);
  const url = URL.parse(`${base}${folder}${path.replace(/[?#][\s\S]*$/, '')}`);
  if (url === null || !url.pathname.startsWith(root.pathname) || url.pathname === root.pathname) return null;
  return { kind: 'web', url, gateway: { base: root, headers } };
}

/** From where a URI is fetched; null for a URI that isn't valid, or of a scheme that isn't known. */
export function placeOf(uri: string, { ipfs, ipfsHeader, arweave }: Gateways): Place | null {
  const [, scheme = '', rest = ''] = /^\s*([a-z][a-z0-9+.-]*):([\s\S]*)$/i.exec(uri) ?? [];
  const header = ipfsHeader === null ? {} : { [ipfsHeader[0]]: ipfsHeader[1] };
  if (scheme.toLowerCase() === 'data') return dataPlace(uri.trim());
  if (uri.length > MOST_URI) return null;
  switch (scheme.toLowerCase()) {
    case 'https':
    case 'http': {
      const url = URL.parse(uri.trim());
      if (url === null) return null;
      const [folder] = REPLACED_GATEWAYS.has(url.host) ? (/^\/ip[fn]s\//.exec(url.pathname) ?? []) : [];
      if (folder === undefined) return { kind: 'web', url, gateway: null };
      return onGateway(ipfs, folder, url.pathname.slice(folder.length), header);
    }
    case 'ipfs':
      return onGateway(ipfs, '/ipfs/', rest.replace(/^\/\/(ipfs\/)?/i, ''), header);
    case 'ipns':
      return onGateway(ipfs, '/ipns/', rest.replace(/^\/\/(ipns\/)?/i, ''), header);
    case 'ar':
      return onGateway(arweave, '/', rest.replace(/^\/\//, ''), {});
    default:
      return null;
  }
}
