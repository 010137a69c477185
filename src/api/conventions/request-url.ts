/** The parts of a request's absolute URL, cut out without a parser: this runs for every request. */

/** Where the path begins, after scheme and host. */
export const pathStart = (url: string): number => url.indexOf('/', url.indexOf('://') + 3);

/** The path and query as they were sent. */
export const pathAndQuery = (url: string): string => url.slice(pathStart(url));

/** The text after `?`, empty where there is none. */
export function queryText(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

/** The segments of the path, undecoded: `/a/b` gives `''`, `a`, `b`. */
export function pathSegments(url: string): string[] {
  const mark = url.indexOf('?');
  return url.slice(pathStart(url), mark < 0 ? undefined : mark).split('/');
}
