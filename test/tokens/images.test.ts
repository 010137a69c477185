/** Copies of tokens' images, whatever is fetched in place of an image. */
import { expect, test } from 'bun:test';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { OperatorError } from '../../src/base/errors.ts';
import { imageKeeper, smallCopy, type TokenImageEvent, tokenImages } from '../../src/tokens/images.ts';
import type { Fetched } from '../../src/tokens/web.ts';
import { dataDirectory } from '../support/data/data-directory.ts';

function chunk(name: string, content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(12 + content.length);
  bytes.writeUInt32BE(content.length);
  bytes.write(name, 4);
  bytes.set(content, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + content.length)), 8 + content.length);
  return bytes;
}

/** A PNG of one colour. @param text something in its bytes that isn't a pixel */
function png(width: number, height: number, { rows = height, text = '' } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const start = Buffer.from('89504e470d0a1a0a', 'hex');
  const pixels = deflateSync(Buffer.alloc((width * 3 + 1) * rows));
  return Buffer.concat([
    start,
    chunk('IHDR', header),
    chunk('tEXt', Buffer.from(`Comment\0${text}`)),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const signal = new AbortController().signal;

/** A directory of images, and what URIs lead to. */
function keeping(directory: string, mostKept?: number) {
  const said: TokenImageEvent[] = [];
  const found = new Map<string, Fetched>();
  const fetchUri = async (uri: string) => found.get(uri) ?? ({ kind: 'failed', reason: 'refused' } as const);
  const log = (event: TokenImageEvent) => void said.push(event);
  const keep = imageKeeper({ directory, fetchUri, log, ...(mostKept === undefined ? {} : { mostKept }) });
  return {
    said,
    images: tokenImages(directory),
    /** Keeps the bytes as the image at a URI. */
    keep: (uri: string, bytes: Uint8Array) => {
      found.set(uri, { kind: 'read', bytes: Buffer.from(bytes), mediaType: 'image/png' });
      return keep(uri, signal);
    },
    keepFetched: (uri: string, fetched: Fetched) => {
      found.set(uri, fetched);
      return keep(uri, signal);
    },
  };
}

test('an image is kept small, as PNG, without anything that is no pixel', async () => {
  using directory = dataDirectory();
  const { keep, images } = keeping(join(directory.path, 'images'));
  for (const [width, height, size] of [
    [600, 200, [300, 100]],
    [200, 900, [67, 300]],
    [12, 8, [12, 8]],
  ] as const) {
    const uri = `ipfs://${width}`;
    expect(images.nameOf(uri)).toBeNull();
    expect(await keep(uri, png(width, height, { text: '<script>' }))).toEqual({ kind: 'kept' });
    const bytes = await images.read(images.nameOf(uri)!);
    expect(Buffer.from(bytes!).includes('<script>')).toBe(false);
    const { format, ...kept } = await new Bun.Image(bytes!).metadata();
    expect([format, kept.width, kept.height]).toEqual(['png', ...size]);
  }
  expect(await images.read('0'.repeat(64))).toBeNull();
});

test('JPEG, GIF and WebP are images, too', async () => {
  const picture = new Bun.Image(png(4, 4));
  const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
  for (const bytes of [await picture.jpeg().bytes(), await picture.webp().bytes(), gif]) {
    expect((await new Bun.Image((await smallCopy(bytes))!).metadata()).format).toBe('png');
  }
});

test.each([
  ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>')],
  ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')],
  ['nothing', Buffer.alloc(0)],
  ['the beginning of a PNG', png(10, 10).subarray(0, 60)],
  ['HTML that begins like a GIF', Buffer.from('GIF89a<script>alert(1)</script>')],
  ['a BMP', Buffer.from('424d1e000000000000001a0000000c00000001000100010018000000ff00', 'hex')],
  ['a PNG of 2.5 billion pixels', png(50_000, 50_000, { rows: 1 })],
  ['a PNG without most of its pixels', png(2_000, 3_000, { rows: 1 })],
])('%s is no image', async (_, bytes) => {
  using directory = dataDirectory();
  const { keep } = keeping(directory.path);
  expect(await keep('ipfs://x', bytes)).toEqual({ kind: 'none' });
  expect(readdirSync(directory.path)).toEqual([]);
});

test('an image that can’t be fetched is none, or waited for', async () => {
  using directory = dataDirectory();
  const { keepFetched } = keeping(directory.path);
  for (const reason of ['uri', 'too_large', 'timeout', 'refused'] as const) {
    expect(await keepFetched('ipfs://x', { kind: 'failed', reason })).toEqual({ kind: 'none' });
  }
  expect(await keepFetched('ipfs://x', { kind: 'wait', until: 5 })).toEqual({ kind: 'wait', until: 5 });
});

test('all images together have a bound, which is said once', async () => {
  using directory = dataDirectory();
  const size = (await smallCopy(png(10, 10)))!.length;
  writeFileSync(join(directory.path, 'before.png'), Buffer.alloc(size));
  const { keep, said } = keeping(directory.path, 2 * size);
  expect(await keep('a', png(10, 10))).toEqual({ kind: 'kept' });
  // The same image once more takes no more room.
  expect(await keep('a', png(10, 10))).toEqual({ kind: 'kept' });
  expect([await keep('b', png(10, 10)), await keep('c', png(10, 10))]).toEqual([{ kind: 'none' }, { kind: 'none' }]);
  expect(said).toEqual([{ event: 'token_images_full', directory: directory.path, bytes: 2 * size }]);
});

test('a directory that fails loses the image and says so', async () => {
  using directory = dataDirectory();
  const path = join(directory.path, 'images');
  const { keep, said } = keeping(path);
  await keep('a', png(2, 2));
  rmSync(path, { recursive: true });
  expect(await keep('b', png(2, 2))).toEqual({ kind: 'none' });
  expect(said.map(({ event }) => event)).toEqual(['token_image_unwritten']);
  expect(() => keeping(join(directory.path, 'file'))).not.toThrow();
  writeFileSync(join(directory.path, 'plain'), '');
  expect(() => keeping(join(directory.path, 'plain', 'images'))).toThrow(OperatorError);
});
