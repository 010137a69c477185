/**
 * Small copies of tokens' images, in a directory of the operator. They are files of this host alone: neither the log nor the
 * index knows of them. A copy is made anew from the pixels of the original, so that whatever else was in its bytes is gone.
 */
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lazy } from '../base/cache.ts';
import { OperatorError } from '../base/errors.ts';
import { wholeFile } from '../base/files.ts';
import type { FetchUri } from './web.ts';

/** Maximum bytes of an image that is fetched. */
const MOST_BYTES = 10_000_000;
/** Maximum pixels of an image: each takes four bytes while it is made smaller. */
const MOST_PIXELS = 25_000_000;
/** Maximum width and height of a copy, in pixels. */
const SIDE = 300;
/** Maximum bytes of all copies, unless a test says otherwise. */
const MOST_KEPT = 2_000_000_000;

/** Beginnings of PNG, JPEG, GIF and WebP; other formats of pictures are programs, or depend on the system. */
const PICTURES = /^(?:89504e470d0a1a0a|ffd8ff|47494638(?:37|39)61|52494646.{8}57454250)/;

export type TokenImageEvent =
  | { event: 'token_images_full'; directory: string; bytes: number }
  | { event: 'token_image_unwritten'; path: string; cause: unknown };

/** What became of an image: there is a copy, there is none, or its host asked to wait, until a time in Unix milliseconds. */
type KeptImage = { kind: 'kept' } | { kind: 'none' } | { kind: 'wait'; until: number };

/** Keeps a copy of the image at a URI. Never rejects. */
export type KeepImage = (uri: string, signal: AbortSignal) => Promise<KeptImage>;

const nameOf = (uri: string): string => createHash('sha256').update(uri).digest('hex');
const fileOf = (directory: string, name: string): string => join(directory, `${name}.png`);

/** The copies in a directory, as the API reads them. */
export const tokenImages = (directory: string) => ({
  /** The name of the copy of an image, 64 hex digits; null without one. @param uri as the document has it */
  nameOf(uri: string): string | null {
    const name = nameOf(uri);
    return existsSync(fileOf(directory, name)) ? name : null;
  },
  /** The copy as PNG; null if there is none. */
  async read(name: string): Promise<Uint8Array<ArrayBuffer> | null> {
    const file = Bun.file(fileOf(directory, name));
    return (await file.exists()) ? file.bytes() : null;
  },
});

/** Makes the small copy of an image; null if it isn't one. */
export async function smallCopy(bytes: Uint8Array): Promise<Uint8Array | null> {
  if (!PICTURES.test(bytes.subarray(0, 12).toHex())) return null;
  try {
    // Not the libraries of the system: the same bytes make the same copy everywhere.
    Bun.Image.backend = 'bun';
    return await new Bun.Image(bytes, { maxPixels: MOST_PIXELS })
      .resize(SIDE, SIDE, { fit: 'inside', withoutEnlargement: true })
      .png()
      .bytes();
  } catch {
    // Whatever Bun.Image can't read is no picture that could be shown.
    return null;
  }
}

interface KeeperOptions {
  directory: string;
  fetchUri: FetchUri;
  log: (event: TokenImageEvent) => void;
  mostKept?: number;
}

/**
 * Makes the function that keeps images in a directory, which it creates.
 * @throws OperatorError if the directory can't be written to
 */
export function imageKeeper({ directory, fetchUri, log, mostKept = MOST_KEPT }: KeeperOptions): KeepImage {
  try {
    mkdirSync(directory, { recursive: true });
    accessSync(directory, constants.W_OK);
  } catch (cause) {
    throw new OperatorError(`Images can't be written to ${directory}.`, 'Give another directory (--token-images).', {
      cause,
    });
  }
  const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const before = lazy(() => readdirSync(directory).reduce((sum, name) => sum + sizeOf(join(directory, name)), 0));
  let added = 0;
  let isFull = false;
  /** One at a time, since each takes memory for its pixels. */
  let last: Promise<unknown> = Promise.resolve();

  function write(uri: string, copy: Uint8Array): KeptImage {
    const path = fileOf(directory, nameOf(uri));
    const grown = copy.length - sizeOf(path);
    const bytes = before() + added + grown;
    if (bytes > mostKept) {
      if (!isFull) log({ event: 'token_images_full', directory, bytes: mostKept });
      isFull = true;
      return { kind: 'none' };
    }
    const file = wholeFile(path);
    try {
      writeFileSync(file.partial, copy);
      file.commit();
      added += grown;
      return { kind: 'kept' };
    } finally {
      file.discard();
    }
  }

  function written(uri: string, copy: Uint8Array): KeptImage {
    try {
      return write(uri, copy);
    } catch (cause) {
      log({ event: 'token_image_unwritten', path: fileOf(directory, nameOf(uri)), cause });
      return { kind: 'none' };
    }
  }

  return async (uri, signal) => {
    const fetched = await fetchUri(uri, MOST_BYTES, signal);
    if (fetched.kind === 'wait') return fetched;
    if (fetched.kind === 'failed') return { kind: 'none' };
    const made = last.then(() => smallCopy(fetched.bytes));
    last = made;
    const copy = await made;
    return copy === null ? { kind: 'none' } : written(uri, copy);
  };
}
