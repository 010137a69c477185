/** The parts of a request's absolute URL, cut out without a parser: this runs for every request. */

/** Where the path begins, after scheme and host. */
export const pathStart = (url: string): number => url.indexOf('/', url.indexOf('://') + 3);

/** The path and query as they were sent. */
export const pathAndQuery = (url: string): string => url.slice(pathStart(url));

/** Where the query begins, with its `?`; the end of the URL where there is none. */
function pathEnd(url: string): number {
  const mark = url.indexOf('?');
  return mark < 0 ? url.length : mark;
}

/** The path as it was sent. */
export const pathOf = (url: string): string => url.slice(pathStart(url), pathEnd(url));

/** Encodings of letters, digits, `-`, `.`, `_` and `~`. */
const NEEDLESS = /%(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])/g;

/**
 * The URL with those characters of its path decoded that need no percent-encoding: with and without it a path is the same
 * (RFC 3986, section 6.2.2.2).
 */
export function withPlainPath(url: string): string {
  const path = pathOf(url);
  if (!path.includes('%')) return url;
  return url.slice(0, pathStart(url)) + path.replace(NEEDLESS, decodeURIComponent) + url.slice(pathEnd(url));
}

/** The text after `?`, empty where there is none. */
export function queryText(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

/** A segment of the path, undecoded, empty where there is none: of `/a/b` the first is `a`. */
export function pathSegment(url: string, number: number): string {
  const end = pathEnd(url);
  let start = pathStart(url) + 1;
  for (let before = number - 1; before > 0; before--) {
    start = url.indexOf('/', start) + 1;
    if (start === 0 || start > end) return '';
  }
  const next = url.indexOf('/', start);
  return url.slice(start, next < 0 || next > end ? end : next);
}

/** A part of a URL without its percent-encoding; null where that is malformed, or isn't UTF-8. */
export function decoded(text: string): string | null {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return null;
  }
}

/**
 * The `moved` of a route whose id needs `0x`.
 * @param place which segment of the path the id is, from 1
 * @param shape what an id without `0x` looks like; anything else is left to the route to refuse
 * @param withQuery whether the query goes along
 */
export const prefixed =
  (place: number, { shape, withQuery }: { shape: RegExp; withQuery: boolean }) =>
  (url: string): string | null => {
    const id = pathSegment(url, place);
    if (id.startsWith('0x') || !shape.test(id)) return null;
    const segments = pathOf(url).split('/');
    segments[place] = `0x${id}`;
    const query = queryText(url);
    return segments.join('/') + (withQuery && query !== '' ? `?${query}` : '');
  };

export const HASH_DIGITS = /^[0-9a-fA-F]{64}$/;
export const ANY_TEXT = /./;
