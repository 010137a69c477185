/** Ids in the path that lack their `0x`: routes of v1 send the caller to the path that has it. */
import { pathOf, pathSegment, queryText } from './request-url.ts';

/**
 * The `moved` of a route whose id needs `0x`.
 * @param place which segment of the path the id is, from 1
 * @param shape what an id without `0x` looks like; anything else is left to the route to refuse
 * @param keepQuery whether the query goes along
 */
export const prefixed =
  (place: number, { shape, keepQuery }: { shape: RegExp; keepQuery: boolean }) =>
  (url: string): string | null => {
    const id = pathSegment(url, place);
    if (id.startsWith('0x') || !shape.test(id)) return null;
    const segments = pathOf(url).split('/');
    segments[place] = `0x${id}`;
    const query = queryText(url);
    return segments.join('/') + (keepQuery && query !== '' ? `?${query}` : '');
  };

export const HASH_DIGITS = /^[0-9a-fA-F]{64}$/;
export const ANY_TEXT = /./;
