/** Lists: what they are asked and the envelopes they answer, by cursor, by offset, or by both (flat). */
import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { parsedJson } from '../base/json.ts';
import {
  type Cursor,
  type CursorKey,
  cursorSides,
  type OffsetPage as Found,
  type OffsetStart,
  type Page,
} from '../store/model/page.ts';
import { invalidCursor, notFound } from './errors.ts';
import { MaybeWritten, serializedLazily } from './json.ts';

/** The first byte of a cursor that names a page from an item on. */
const FIRST_SIDE = 1;
const HEAD_BYTES = 5;
const MAX_PARTS = 8;

/**
 * A cursor as text that only the list it came from accepts.
 *
 * A byte for the side, a check sum, then the key as JSON, all as base64url. The check sum covers the list's name and
 * scope as well as the side and the key, so one comparison finds a cursor that was cut, mistyped, or made by another
 * list, another principal or another block. It guards against mistakes, not against forgery: a forged cursor can only
 * name a page elsewhere. Nothing else goes into the text, so every thread and host makes and accepts the same one.
 * @param list the list's name and what narrows it: `principal-transactions SP…`
 */
export function encodeCursor(list: string, { side, key }: Cursor): string {
  const json = new TextEncoder().encode(JSON.stringify(key));
  const place = cursorSides.indexOf(side);
  const bytes = new Uint8Array(HEAD_BYTES + json.length);
  bytes[0] = FIRST_SIDE + place;
  bytes.set(json, HEAD_BYTES);
  new DataView(bytes.buffer).setUint32(1, checkSum(list, place, json));
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}

/** The cursor, or null for a text that is none of this list. */
export function decodeCursor(list: string, text: string): Cursor | null {
  const bytes = fromBase64Url(text);
  if (bytes === null || bytes.length < HEAD_BYTES) return null;
  const place = bytes[0]! - FIRST_SIDE;
  const side = cursorSides[place];
  if (side === undefined) return null;
  const json = bytes.subarray(HEAD_BYTES);
  if (new DataView(bytes.buffer, bytes.byteOffset).getUint32(1) !== checkSum(list, place, json)) return null;
  const key = parseKey(new TextDecoder().decode(json));
  if (key === null || (key.length === 0 && side !== 'from')) return null;
  return { side, key };
}

function checkSum(list: string, place: number, json: Uint8Array): number {
  return Bun.hash.crc32(json, Bun.hash.crc32(list, place));
}

function fromBase64Url(text: string): Uint8Array | null {
  try {
    return Uint8Array.fromBase64(text, { alphabet: 'base64url' });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
}

function parseKey(json: string): CursorKey | null {
  const key = parsedJson(json);
  if (!Array.isArray(key) || key.length > MAX_PARTS) return null;
  return key.every((part) => typeof part === 'string' || Number.isSafeInteger(part)) ? key : null;
}

/** The characters of a cursor. */
const CURSOR_TEXT = '[A-Za-z0-9_-]+';
const MAX_CURSOR = 1024;

export const cursorQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 50, default: 20, description: 'Maximum number of items on a page' }),
  cursor: Type.Optional(
    Type.String({
      pattern: `^${CURSOR_TEXT}$`,
      maxLength: MAX_CURSOR,
      description: 'Names the page: a cursor from an earlier answer, unchanged. Leave it out for the first page.',
    }),
  ),
};

/** The schema of a cursor that names a page, null where there is none. */
const neighbour = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/**
 * The schema of a list, which is called as its items and its kind are: `BlockPage`.
 * @param kind schema of what the lists have besides their items
 * @param item schema of one item, which has a name
 */
export function listOf<P extends TProperties, T extends TSchema>(kind: TObject<P>, item: T) {
  if (item.$id === undefined) throw new Error(`the items of a ${kind.$id} have no name`);
  return Type.Object(
    { ...kind.properties, results: Type.Array(MaybeWritten(item)) },
    { $id: `${item.$id}${kind.$id}`, extends: kind },
  );
}

const limit = Type.Integer();
const PageCursors = Type.Object(
  {
    next: neighbour('Cursor of the next page; null on the last page'),
    previous: neighbour('Cursor of the previous page; null on the first page'),
    current: Type.String({ description: 'Cursor of this page' }),
  },
  { $id: 'PageCursors' },
);
const CountedPage = Type.Object(
  { total: Type.Integer({ description: 'Number of items in the whole list' }), limit, cursor: PageCursors },
  { $id: 'Page' },
);
const PageWithoutTotal = Type.Object(
  {
    total: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Number of items in the whole list; null for a list that a filter makes, which is not counted',
    }),
    limit,
    cursor: PageCursors,
  },
  { $id: 'UncountedPage' },
);

/** The schema of a page. @param item schema of one item */
export const CursorPage = <T extends TSchema>(item: T) => listOf(CountedPage, item);

/** The schema of a page of a list that isn't always counted. @param item schema of one item */
export const UncountedCursorPage = <T extends TSchema>(item: T) => listOf(PageWithoutTotal, item);

/** Null for the first page. @throws ParameterError for a cursor that is not of this list */
export function pageCursor(list: string, text: string | undefined): Cursor | null {
  if (text === undefined) return null;
  const cursor = decodeCursor(list, text);
  if (cursor === null) throw invalidCursor();
  return cursor;
}

/** The text of a neighbour's cursor; null where there is no such page. */
const neighbourText = (list: string, cursor: Cursor | null): string | null =>
  cursor === null ? null : encodeCursor(list, cursor);

/**
 * A page with the cursors of its neighbours.
 * @param list name that the cursors are bound to
 * @param item serializes one item
 */
export function cursorPage<T, R, Count extends number | null = number>(
  list: string,
  limit: number,
  page: Page<T, Count>,
  item: (of: T) => R,
) {
  return {
    total: page.total,
    limit,
    cursor: {
      next: neighbourText(list, page.next),
      previous: neighbourText(list, page.previous),
      current: encodeCursor(list, page.current),
    },
    results: serializedLazily(page.items, item),
  };
}

interface Limits {
  maximum: number;
  default: number;
}

const itemsBefore = Type.Integer({ minimum: 0, default: 0, description: 'Number of items to skip before the page' });

/** The parameter `limit` of routes on which 0 stands for the default. */
export const limitOrDefault = ({ maximum, default: usual }: Limits) =>
  Type.Transform(
    Type.Integer({
      minimum: 0,
      maximum,
      default: usual,
      description: `Maximum number of items on a page; 0 stands for the default, ${usual}`,
    }),
  )
    .Decode((limit) => (limit === 0 ? usual : limit))
    .Encode((limit) => limit);

/** The query of routes on which a limit of 0 asks for the total alone. */
export const offsetQuery = (limits: Limits) => ({
  limit: Type.Integer({ minimum: 0, ...limits, description: 'Maximum number of items on a page' }),
  offset: itemsBefore,
});

/** The query of v1's lists, on which a limit of 0 stands for the default. */
export const legacyOffsetQuery = (limits: Limits) => ({ limit: limitOrDefault(limits), offset: itemsBefore });

export const List = Type.Object(
  {
    limit: Type.Integer(),
    offset: Type.Integer(),
    total: Type.Integer({ description: 'Number of items in the whole list' }),
  },
  { $id: 'List' },
);
const UncountedList = Type.Object({ limit: Type.Integer(), offset: Type.Integer() }, { $id: 'UncountedList' });

/** The schema of a page with the length of its list. @param item schema of one item */
export const OffsetPage = <T extends TSchema>(item: T) => listOf(List, item);

/** The schema of a page of v1's lists that don't state their length. @param item schema of one item */
export const UncountedPage = <T extends TSchema>(item: T) => listOf(UncountedList, item);

/** A page with the length of its list. @param item serializes one item */
export const offsetPage = <T, R>(
  { limit, offset }: { limit: number; offset: number },
  page: Found<T>,
  item: (of: T) => R,
) => ({ limit, offset, total: page.total, results: serializedLazily(page.items, item) });

/** A page without the length of its list. @param item serializes one item */
export const uncountedPage = <T, R>(
  { limit, offset }: { limit: number; offset: number },
  page: Found<T>,
  item: (of: T) => R,
) => ({ limit, offset, results: serializedLazily(page.items, item) });

/** A text that clients put together themselves and give as cursor: the name of the item that a page starts with. */
export interface ItemName<Name> {
  /** A regular expression for the whole text. */
  pattern: string;
  description: string;
  read(text: string): Name;
}

/** The query parameter `cursor` of such a list. */
export const flatCursor = ({ pattern, description }: ItemName<unknown>) =>
  Type.Optional(
    Type.String({
      pattern: `^(${CURSOR_TEXT}|${pattern})$`,
      maxLength: MAX_CURSOR,
      description:
        'Names the page: a cursor from an earlier answer, unchanged. Leave it out for the newest page. ' +
        `The name of the item that the page starts with is accepted as well: ${description}.`,
    }),
  );

interface FlatQuery {
  /** Largest and default `limit`. */
  maximum: number;
  default: number;
  /** The farthest a page may start from its cursor. */
  reach: number;
  item: ItemName<unknown>;
}

/** The query of such a list: `limit`, `offset` and `cursor`. */
export const flatQuery = ({ maximum, default: usual, reach, item }: FlatQuery) => ({
  limit: limitOrDefault({ maximum, default: usual }),
  offset: Type.Integer({
    minimum: 0,
    maximum: reach,
    default: 0,
    description: 'Number of items to skip after the cursor, or after the newest item without one',
  }),
  cursor: flatCursor(item),
});

/** Their `next` is the newer page, `prev` the older one: the opposite of {@link CursorPage}. */
const Flat = Type.Object(
  {
    limit: Type.Integer(),
    offset: Type.Integer(),
    total: Type.Integer({ description: 'Number of items in the whole list' }),
    next_cursor: neighbour('Cursor of the newer page; null on the newest page'),
    prev_cursor: neighbour('Cursor of the older page; null on the oldest page'),
    cursor: neighbour('Cursor of this page; null if it is empty'),
  },
  { $id: 'FlatPage' },
);

/** The schema of a page. @param item schema of one item */
export const FlatPage = <T extends TSchema>(item: T) => listOf(Flat, item);

/** What a 404 of such a list means. */
export const NO_CURSOR = 'Cursor not found';

/**
 * Where a page starts, by the query: the cursor, or the newest item, and the offset from there.
 * @param list name that the cursors are bound to
 * @throws ParameterError for a cursor that is not of this list
 */
export function flatStart<Name>(
  list: string,
  item: ItemName<Name>,
  { cursor, offset }: { cursor?: string; offset: number },
): OffsetStart<Name> {
  const isName = cursor !== undefined && new RegExp(`^(${item.pattern})$`).test(cursor);
  return isName
    ? { cursor: null, item: item.read(cursor), offset }
    : { cursor: pageCursor(list, cursor), item: null, offset };
}

/**
 * A page with the cursors of its neighbours.
 * @param list name that the cursors are bound to
 * @param page undefined where the cursor, or the offset from it, leads to no item
 * @param item serializes one item
 * @throws ApiError 404 where there is no page
 */
export function flatPage<T, R>(
  list: string,
  { limit, offset }: { limit: number; offset: number },
  page: Page<T> | undefined,
  item: (of: T) => R,
) {
  if (page === undefined) throw notFound(NO_CURSOR);
  return {
    limit,
    offset,
    total: page.total,
    next_cursor: neighbourText(list, page.previous),
    prev_cursor: neighbourText(list, page.next),
    cursor: page.items.length === 0 ? null : encodeCursor(list, page.current),
    results: serializedLazily(page.items, item),
  };
}
