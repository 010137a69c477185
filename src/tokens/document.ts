/** Documents about tokens (SIP-016): fetched from a token's URI, parsed, and laid over each other by locale. */
import { lruCache } from '../base/cache.ts';
import type { Clock } from '../base/clock.ts';
import { MAX_FOREIGN_DEPTH } from '../base/json.ts';
import { inTime, LateError } from '../http/outgoing.ts';
import type { TokenDocument } from '../store/model/token.ts';
import type { KeepImage } from './images.ts';
import { filledUri } from './uri.ts';
import type { FetchUri } from './web.ts';

/** Maximum bytes of a document. */
const MOST_BYTES = 1_000_000;
/** Maximum characters that are stored for a token, in all its locales: each repeats what it doesn't change. */
const MOST_STORED = 2_000_000;
/** Maximum locales of a token; others are left out. */
const MOST_LOCALES = 50;
/** Maximum characters of a locale's name. */
const MOST_LOCALE = 64;

/** What came of reading a token's document. */
export type DocumentOutcome =
  /** The documents by locale, the default one first; none if the document has no name. */
  | { kind: 'read'; documents: TokenDocument[] }
  | {
      kind: 'failed';
      error: 'document_too_large' | 'document_timeout' | 'document_unreadable' | 'document_refused';
      /** Whether another try may have another outcome. */
      again: boolean;
    }
  /** Nothing was asked, or the host asked to wait. `until` is in Unix milliseconds. This is not a failed try. */
  | { kind: 'wait'; until: number };

/** Which token a document is about. */
export interface DocumentSubject {
  /** The token's URI, with or without its placeholders. */
  uri: string;
  token: bigint;
  /** Whether `{id}` in values of the document is the token's number: SIP-016 has it where tokens have numbers. */
  isNumbered: boolean;
}

/** The document can't be used. */
class DocumentError extends Error {
  override readonly name = 'DocumentError';
}

/** Strings, comments, names and numbers of JSON5. */
const TOKEN =
  /"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|$)|'[^'\\]*(?:\\[\s\S][^'\\]*)*(?:'|$)|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?(?:\*\/|$)|[\p{L}$_\\][\p{L}\p{N}\p{M}$_\\]*|[-+]?[.\d](?:[eE][-+]|[\w.])*/gu;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
/** Marks the place of such a number. Half a surrogate pair can't be part of a text: what is not a mark is replaced. */
const MARK = /^\ud800(\d+)$/;

/**
 * Parses JSON5. Numbers keep the digits they are written with, keys are members of objects whatever their names, and texts are
 * well-formed. @throws DocumentError
 */
function parsed(text: string, replaced: (text: string) => string): unknown {
  const numbers: string[] = [];
  const marked = text.replace(TOKEN, (token) =>
    JSON_NUMBER.test(token) && String(Number(token)) !== token ? `'\\ud800${numbers.push(token) - 1}'` : token,
  );
  let value: unknown;
  try {
    value = Bun.JSON5.parse(marked);
  } catch (error) {
    // A RangeError: nested too deep to be parsed.
    if (error instanceof SyntaxError || error instanceof RangeError) throw new DocumentError(error.message);
    throw error;
  }
  const cleaned = (part: unknown, depth: number): unknown => {
    if (depth > MAX_FOREIGN_DEPTH) throw new DocumentError('nested too deep');
    if (typeof part === 'string') {
      const number = numbers[Number(MARK.exec(part)?.[1] ?? -1)];
      return number === undefined ? replaced(part.toWellFormed()) : JSON.rawJSON(number);
    }
    // JSON has no word for these.
    if (typeof part === 'number') return Number.isFinite(part) ? part : null;
    if (Array.isArray(part)) return part.map((item) => cleaned(item, depth + 1));
    if (typeof part !== 'object' || part === null) return part;
    // Unlike an assignment, this makes members of keys such as __proto__.
    return Object.fromEntries(
      Object.entries(part).map(([key, item]) => [key.toWellFormed(), cleaned(item, depth + 1)]),
    );
  };
  return cleaned(value, 0);
}

/** The text of any value; null for null. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  return JSON.isRawJSON(value) ? value.rawJSON : JSON.stringify(value);
}

interface Attribute {
  trait_type: string;
  display_type?: string;
  value: unknown;
}

/** The attributes, if each item is one; null otherwise. */
function attributesOf(list: unknown): Attribute[] | null {
  if (!Array.isArray(list)) return null;
  const attributes: Attribute[] = [];
  for (const item of list) {
    if (typeof item !== 'object' || item === null) return null;
    const { trait_type, display_type = null, value } = item as Record<string, unknown>;
    if (typeof trait_type !== 'string' || (display_type !== null && typeof display_type !== 'string')) return null;
    if (value !== undefined) attributes.push({ trait_type, ...(display_type === null ? {} : { display_type }), value });
  }
  return attributes.length === 0 ? null : attributes;
}

const IMAGE_KEYS = ['image', 'imageUrl', 'image_url', 'image_uri', 'image_canonical_uri'] as const;

/** The parts of a document that are used. */
interface Parts {
  /** Undefined where the document has no such key, null for a name that says nothing. */
  name: string | null | undefined;
  description: string | null;
  image: string | null;
  attributes: Attribute[] | null;
  properties: Record<string, unknown> | null;
  localization: { uri: string; default: string; locales: string[] } | null;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);

function localizationOf(value: unknown): Parts['localization'] {
  if (!isObject(value)) return null;
  const { uri, default: base, locales } = value;
  if (typeof uri !== 'string' || typeof base !== 'string' || !Array.isArray(locales)) return null;
  const names = locales.filter((locale): locale is string => typeof locale === 'string');
  return names.length === locales.length ? { uri, default: base, locales: names } : null;
}

/**
 * Reads a document.
 * @param replaced what becomes of each text in it
 * @throws DocumentError if it isn't JSON5 or not an object
 */
function partsOf(bytes: Uint8Array, replaced: (text: string) => string): Parts {
  const value = parsed(new TextDecoder().decode(bytes), replaced);
  if (!isObject(value)) throw new DocumentError('not an object');
  const own = (key: string): unknown => (Object.hasOwn(value, key) ? value[key] : undefined);
  const image = IMAGE_KEYS.map(own).find((found) => found !== undefined && found !== null);
  const properties = own('properties');
  const name = own('name');
  const isNumber = typeof name === 'number' || JSON.isRawJSON(name);
  const saysNothing = name === null || name === '' || (isNumber && Number(textOf(name)) === 0);
  return {
    name: name === undefined ? undefined : saysNothing ? null : textOf(name),
    description: textOf(own('description')),
    image: typeof image === 'string' && image !== '' ? image : null,
    attributes: attributesOf(own('attributes')),
    properties: isObject(properties) && Object.keys(properties).length > 0 ? properties : null,
    localization: localizationOf(own('localization')),
  };
}

/** The document of a locale: its texts and properties are laid over the base's, its attributes replace them. */
const merged = (base: Parts, { name, ...over }: Parts): Parts => ({
  name: name ?? base.name,
  description: over.description ?? base.description,
  image: over.image ?? base.image,
  attributes: over.attributes,
  properties: base.properties === null ? over.properties : { ...base.properties, ...over.properties },
  localization: null,
});

const stored = (value: object | null): string | null => (value === null ? null : JSON.stringify(value));

interface ReaderOptions {
  fetchUri: FetchUri;
  /** Keeps an image; null where images are only linked. */
  keepImage: KeepImage | null;
  clock: Clock;
}

/** Time for a document in all its locales, in milliseconds. */
const ALL_LOCALES_MS = 120_000;
/** Time for the images of a document, in milliseconds. */
const IMAGES_MS = 60_000;
/** How often a document waits for the host of its image that asked to wait; afterwards it does without the image. */
const MOST_IMAGE_WAITS = 5;
/** Tokens whose images' hosts asked to wait, at most. */
const MOST_WAITING = 10_000;

/** What a part of the document can't be read for. */
class Unread extends Error {
  override readonly name = 'Unread';
  constructor(readonly outcome: Exclude<DocumentOutcome, { kind: 'read' }>) {
    super(outcome.kind);
  }
}

const unread = (error: Extract<DocumentOutcome, { kind: 'failed' }>['error'], again: boolean): Unread =>
  new Unread({ kind: 'failed', error, again });

/** Reads the document of a token. Never rejects: a failure is an outcome. @param signal ends the reading */
export type ReadDocument = (subject: DocumentSubject, signal: AbortSignal) => Promise<DocumentOutcome>;

/** Makes the function that reads documents. */
export function documentReader({ fetchUri, keepImage, clock }: ReaderOptions): ReadDocument {
  const imageWaits = lruCache<string, number>(MOST_WAITING);

  async function parts(uri: string, { token, isNumbered }: DocumentSubject, signal: AbortSignal): Promise<Parts> {
    const fetched = await fetchUri(uri, MOST_BYTES, signal);
    if (fetched.kind === 'wait') throw new Unread(fetched);
    if (fetched.kind === 'failed') {
      switch (fetched.reason) {
        case 'uri':
          throw unread('document_unreadable', false);
        case 'too_large':
          throw unread('document_too_large', false);
        case 'timeout':
          throw unread('document_timeout', true);
        case 'refused':
          throw unread('document_refused', false);
      }
    }
    try {
      return partsOf(fetched.bytes, (text) => (isNumbered ? text.replaceAll('{id}', String(token)) : text));
    } catch (error) {
      if (error instanceof DocumentError) throw unread('document_unreadable', true);
      throw error;
    }
  }

  async function documents(subject: DocumentSubject, signal: AbortSignal): Promise<TokenDocument[]> {
    const base = await parts(filledUri(subject.uri, subject.token), subject, signal);
    if (base.name === undefined) throw unread('document_unreadable', true);
    if (base.name === null) return [];
    const { localization } = base;
    const found: TokenDocument[] = [];
    let length = 0;
    const add = (locale: string, { name, description, image, attributes, properties }: Parts): void => {
      const json = { attributes: stored(attributes), properties: stored(properties) };
      const document = { locale, name: name ?? '', description, image, ...json };
      length += JSON.stringify(document).length;
      if (length > MOST_STORED) throw unread('document_too_large', false);
      found.push(document);
    };
    add(localization?.default ?? '', base);
    if (localization === null) return found;
    const others = new Set(localization.locales.filter((locale) => locale !== '' && locale.length <= MOST_LOCALE));
    others.delete(localization.default);
    for (const locale of [...others].slice(0, MOST_LOCALES)) {
      add(locale, merged(base, await parts(filledUri(localization.uri, subject.token, locale), subject, signal)));
    }
    return found;
  }

  /** Keeps the images. @throws Unread if the host of one asked to wait, and the document can wait for it */
  async function keepImages(found: readonly TokenDocument[], subject: DocumentSubject, signal: AbortSignal) {
    if (keepImage === null) return;
    for (const image of new Set(found.map(({ image }) => image))) {
      const kept = image === null ? null : await keepImage(image, signal);
      if (kept?.kind !== 'wait') continue;
      const key = `${subject.token} ${subject.uri}`;
      const waits = (imageWaits.get(key) ?? 0) + 1;
      imageWaits.set(key, waits, 1);
      if (waits <= MOST_IMAGE_WAITS) throw new Unread(kept);
    }
  }

  return async (subject, signal) => {
    try {
      const read = (ending: AbortSignal) => documents(subject, ending);
      const found = await inTime({ clock, timeoutMs: ALL_LOCALES_MS, signal }, read);
      await inTime({ clock, timeoutMs: IMAGES_MS, signal }, (ending) => keepImages(found, subject, ending)).catch(
        (error: unknown) => {
          // The document does without images that take too long.
          if (!(error instanceof LateError)) throw error;
        },
      );
      return { kind: 'read', documents: found };
    } catch (error) {
      if (error instanceof LateError) return { kind: 'failed', error: 'document_timeout', again: true };
      if (error instanceof Unread) return error.outcome;
      throw error;
    }
  };
}
