/** The parts of a request's absolute URL. They are found without a URL parser, since this runs for every request. */

/** Index of the path, after scheme and host. */
export const pathStart = (url: string): number => url.indexOf('/', url.indexOf('://') + 3);

/** The path and query as they were sent. */
export const pathAndQuery = (url: string): string => url.slice(pathStart(url));

/** Index of the `?`; the URL's length if there is no query. */
function pathEnd(url: string): number {
  const mark = url.indexOf('?');
  return mark < 0 ? url.length : mark;
}

/** The path as it was sent. */
export const pathOf = (url: string): string => url.slice(pathStart(url), pathEnd(url));

/** Percent-encoded letters, digits, `-`, `.`, `_` and `~`, which need no encoding. */
const NEEDLESS_ENCODING = /%(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])/g;

/** Decodes needless percent-encoding in the path: both forms are the same path (RFC 3986, section 6.2.2.2). */
export function withPlainPath(url: string): string {
  const path = pathOf(url);
  if (!path.includes('%')) return url;
  return url.slice(0, pathStart(url)) + path.replace(NEEDLESS_ENCODING, decodeURIComponent) + url.slice(pathEnd(url));
}

/** The text after `?`; empty if there is none. */
export function queryText(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

/** A segment of the path, undecoded; empty if there is none. Segment 1 of `/a/b` is `a`. */
export function pathSegment(url: string, number: number): string {
  const end = pathEnd(url);
  let start = pathStart(url) + 1;
  for (let remaining = number - 1; remaining > 0; remaining--) {
    start = url.indexOf('/', start) + 1;
    if (start === 0 || start > end) return '';
  }
  const next = url.indexOf('/', start);
  return url.slice(start, next < 0 || next > end ? end : next);
}

/**
 * Makes the `moved` function of a route whose id needs `0x`.
 * @param place number of the id's segment in the path, from 1
 * @param shape pattern of an id without `0x`; the route itself refuses other texts
 * @param withQuery whether the redirect has the query
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
