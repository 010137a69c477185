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

/** A segment of the path, undecoded, empty where there is none: of `/a/b` the first is `a`. */
export function pathSegment(url: string, number: number): string {
  const mark = url.indexOf('?');
  const end = mark < 0 ? url.length : mark;
  let start = pathStart(url) + 1;
  for (let before = number - 1; before > 0; before--) {
    start = url.indexOf('/', start) + 1;
    if (start === 0 || start > end) return '';
  }
  const next = url.indexOf('/', start);
  return url.slice(start, next < 0 || next > end ? end : next);
}
