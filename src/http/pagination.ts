/** Pagination: query parameters and response envelopes of lists, by cursor, by offset, or by both (flat). */
import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { parsedJson } from '../base/json.ts';
import { utf8Bytes } from '../codec/utf8.ts';
import {
  type Cursor,
  type CursorKey,
  cursorSides,
  type OffsetPage as OffsetResult,
  type OffsetStart,
  type Page,
} from '../store/model/page.ts';
import { invalidCursor, notFound } from './errors.ts';
import { MaybeSerialized, type Plain, type Serialized, serializedLazily } from './json.ts';

/** A cursor begins with this number plus the index of its side. */
const FIRST_SIDE = 1;
const HEAD_BYTES = 5;
const MAX_PARTS = 8;

/**
 * Encodes a cursor, as a text that only its own list accepts.
 *
 * Format: base64url of a byte for the side, a checksum, and the key as JSON. The checksum covers the list's name and scope
 * as well as the side and the key, so one comparison detects a cursor that was cut, mistyped, or made by another list, for
 * another principal or another block. It guards against mistakes, not against forgery: a forged cursor can only name
 * another page. The text depends on nothing else, so all threads and hosts make and accept the same cursors.
 * @param list the list's name and scope: `principal-transactions SP…`
 */
export function encodeCursor(list: string, { side, key }: Cursor): string {
  const json = utf8Bytes(JSON.stringify(key));
  const sideIndex = cursorSides.indexOf(side);
  const bytes = new Uint8Array(HEAD_BYTES + json.length);
  bytes[0] = FIRST_SIDE + sideIndex;
  bytes.set(json, HEAD_BYTES);
  const sum = checkSum(list, sideIndex, json);
  // A DataView would double the time, and each page of a list has three cursors.
  bytes[1] = sum >>> 24;
  bytes[2] = sum >>> 16;
  bytes[3] = sum >>> 8;
  bytes[4] = sum;
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}

/** Decodes a cursor; null if the text isn't a cursor of this list. */
export function decodeCursor(list: string, text: string): Cursor | null {
  const bytes = fromBase64Url(text);
  if (bytes === null || bytes.length < HEAD_BYTES) return null;
  const sideIndex = bytes[0]! - FIRST_SIDE;
  const side = cursorSides[sideIndex];
  if (side === undefined) return null;
  const json = bytes.subarray(HEAD_BYTES);
  if (new DataView(bytes.buffer, bytes.byteOffset).getUint32(1) !== checkSum(list, sideIndex, json)) return null;
  const key = parseKey(new TextDecoder().decode(json));
  if (key === null || (key.length === 0 && side !== 'from')) return null;
  return { side, key };
}

function checkSum(list: string, sideIndex: number, json: Uint8Array): number {
  return Bun.hash.crc32(json, Bun.hash.crc32(list, sideIndex));
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

const CURSOR_TEXT = '[A-Za-z0-9_-]+';
const MAX_CURSOR = 1024;

export const cursorQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 50, default: 20, description: 'Maximum number of items on a page' }),
  cursor: Type.Optional(
    Type.String({
      pattern: `^${CURSOR_TEXT}$`,
      rule: 'a cursor from an earlier response, unchanged',
      maxLength: MAX_CURSOR,
      description: 'Cursor from an earlier response, unchanged. Omit it for the first page.',
    }),
  ),
};

/** Schema of a cursor of another page; null if there is no such page. */
const neighbour = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/**
 * Schema of a list. Its name joins the names of the items and the envelope: `BlockPage`.
 * @param kind schema of the envelope without the items
 * @param item schema of one item, with a `$id`
 * @throws Error if the item's schema has no `$id`
 */
export function listOf<P extends TProperties, T extends TSchema>(kind: TObject<P>, item: T) {
  if (item.$id === undefined) throw new Error(`the schema of the items of ${kind.$id} has no $id`);
  return Type.Object(
    { ...kind.properties, results: Type.Array(MaybeSerialized(item)) },
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
export const PageWithoutTotal = Type.Object(
  {
    total: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Number of items in the whole list; null for a filtered list, which is not counted',
    }),
    limit,
    cursor: PageCursors,
  },
  { $id: 'UncountedPage' },
);

/** Schema of a page with the list's total. @param item schema of one item */
export const CursorPage = <T extends TSchema>(item: T) => listOf(CountedPage, item);

/** Schema of a page whose total may be null. @param item schema of one item */
export const UncountedCursorPage = <T extends TSchema>(item: T) => listOf(PageWithoutTotal, item);

/** Decodes the query's cursor; null for the first page. @throws ParameterError for a cursor that is not of this list */
function readCursor(list: string, text: string | undefined): Cursor | null {
  if (text === undefined) return null;
  const cursor = decodeCursor(list, text);
  if (cursor === null) throw invalidCursor();
  return cursor;
}

/** Encodes the cursor of the next or previous page; null if there is no such page. */
const neighbourText = (list: string, cursor: Cursor | null): string | null =>
  cursor === null ? null : encodeCursor(list, cursor);

/** Serializes the items of a page. @param serialize omitted if they are serialized already */
const resultsOf = <T, R>(items: readonly T[], serialize: ((item: T) => R) | undefined): Serialized<Plain<R>>[] =>
  serialize === undefined ? (items as unknown as Serialized<Plain<R>>[]) : serializedLazily(items, serialize);

/**
 * Reads the limit and cursor of a page (`start`), and returns a function that serializes the page.
 * @param list name that the cursors are bound to
 * @throws ParameterError for a cursor that is not of this list
 */
export function cursorList(list: string, { limit, cursor }: { limit: number; cursor?: string | undefined }) {
  const start: [limit: number, cursor: Cursor | null] = [limit, readCursor(list, cursor)];
  return {
    start,
    /**
     * Serializes the page with the cursors of the next and previous pages.
     * @param serialize serializes one item; omitted if the items are serialized already
     */
    page: <T, R = T, Count extends number | null = number>(page: Page<T, Count>, serialize?: (item: T) => R) => ({
      total: page.total,
      limit,
      cursor: {
        next: neighbourText(list, page.next),
        previous: neighbourText(list, page.previous),
        current: encodeCursor(list, page.current),
      },
      results: resultsOf(page.items, serialize),
    }),
  };
}

interface Limits {
  minimum?: number;
  maximum: number;
  default: number;
}

const itemsBefore = Type.Integer({ minimum: 0, default: 0, description: 'Number of items to skip before the page' });

/** The parameter `limit` of routes where 0 means the default. */
export const limitOrDefault = ({ maximum, default: defaultLimit }: Limits) =>
  Type.Transform(
    Type.Integer({
      minimum: 0,
      maximum,
      default: defaultLimit,
      description: `Maximum number of items on a page; 0 stands for the default, ${defaultLimit}`,
    }),
  )
    .Decode((limit) => (limit === 0 ? defaultLimit : limit))
    .Encode((limit) => limit);

/** Query parameters of lists by offset that return only the total for a limit of 0. */
export const offsetQuery = (limits: Limits) => ({
  limit: Type.Integer({ minimum: 0, ...limits, description: 'Maximum number of items on a page' }),
  offset: itemsBefore,
});

/** Query parameters of v1's lists. A limit of 0 means the default. */
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

/** Schema of a page by offset with the list's total. @param item schema of one item */
export const OffsetPage = <T extends TSchema>(item: T) => listOf(List, item);

/** Schema of a page of v1's lists without a total. @param item schema of one item */
export const UncountedPage = <T extends TSchema>(item: T) => listOf(UncountedList, item);

/** Serializes a page by offset with the list's total. @param serialize serializes one item */
export const offsetPage = <T, R = T>(
  { limit, offset }: { limit: number; offset: number },
  page: OffsetResult<T>,
  serialize?: (item: T) => R,
) => ({ limit, offset, total: page.total, results: resultsOf(page.items, serialize) });

/** Serializes a page by offset without a total. @param serialize serializes one item */
export const uncountedPage = <T, R>(
  { limit, offset }: { limit: number; offset: number },
  page: OffsetResult<T>,
  serialize: (item: T) => R,
) => ({ limit, offset, results: resultsOf(page.items, serialize) });

/** An item's name that clients may give as cursor, such as a height: the page starts with this item. */
export interface ItemName<Name> {
  /** A regular expression for the whole text. */
  pattern: string;
  description: string;
  read(text: string): Name;
}

/** The query parameter `cursor` of a flat list. */
export const flatCursor = ({ pattern, description }: ItemName<unknown>) =>
  Type.Optional(
    Type.String({
      pattern: `^(${CURSOR_TEXT}|${pattern})$`,
      rule: `a cursor from an earlier response, unchanged, or ${description}`,
      maxLength: MAX_CURSOR,
      description:
        'Cursor from an earlier response, unchanged. Omit it for the newest page. ' +
        `The position of the first item is accepted as well: ${description}.`,
    }),
  );

/**
 * Query parameters of a flat list: `limit`, `offset` and `cursor`.
 * @param maximum largest `limit` @param reach largest `offset`
 */
export const flatQuery = ({ maximum, reach, item }: { maximum: number; reach: number; item: ItemName<unknown> }) => ({
  limit: limitOrDefault({ maximum, default: 20 }),
  offset: Type.Integer({
    minimum: 0,
    maximum: reach,
    default: 0,
    description: `Number of items to skip after the cursor, or after the newest item without one. To skip more than ${reach}, follow the cursors`,
  }),
  cursor: flatCursor(item),
});

/** `next` is the newer page, `prev` the older one: the opposite of {@link CursorPage}. */
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

/** Schema of a page of a flat list. @param item schema of one item */
export const FlatPage = <T extends TSchema>(item: T) => listOf(Flat, item);

export const NO_CURSOR = 'Cursor not found';

/**
 * Reads the limit and first item of a page of a flat list (`start`), and returns a function that serializes the page.
 * @param list name that the cursors are bound to
 * @throws ParameterError for a cursor that is not of this list
 */
export function flatList<Name>(
  list: string,
  item: ItemName<Name>,
  { limit, cursor, offset }: { limit: number; cursor?: string; offset: number },
) {
  const isName = cursor !== undefined && new RegExp(`^(${item.pattern})$`).test(cursor);
  const from: OffsetStart<Name> = isName
    ? { cursor: null, item: item.read(cursor), offset }
    : { cursor: readCursor(list, cursor), item: null, offset };
  const start: [limit: number, start: OffsetStart<Name>] = [limit, from];
  return {
    start,
    /**
     * Serializes the page with the cursors of the next and previous pages.
     * @param page its items are serialized already; undefined if there is no item at the cursor and offset
     * @throws ApiError 404 for an undefined page
     */
    page<T>(page: Page<T> | undefined) {
      if (page === undefined) throw notFound(NO_CURSOR);
      return {
        limit,
        offset,
        total: page.total,
        next_cursor: neighbourText(list, page.previous),
        prev_cursor: neighbourText(list, page.next),
        cursor: page.items.length === 0 ? null : encodeCursor(list, page.current),
        results: resultsOf<T, T>(page.items, undefined),
      };
    },
  };
}
