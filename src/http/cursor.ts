/**
 * Cursors as text that only the list they came from takes back.
 *
 * A byte for the side, a check sum, then the key as JSON, all as base64url. The check sum covers the list's name and
 * scope as well as the side and the key, so one comparison finds a cursor that was cut, mistyped, or made by another
 * list, another principal or another block. It guards against mistakes, not against forgery: a forged cursor can only
 * name a page elsewhere. Nothing else goes into the text, so every thread and host makes and takes the same one.
 */
import { parsedJson } from '../base/json.ts';
import { type Cursor, type CursorKey, cursorSides } from '../store/model/page.ts';

/** The first byte of a cursor that names a page from an item on. */
const FIRST_SIDE = 1;
const HEAD_BYTES = 5;
const MAX_PARTS = 8;

/** @param list the list's name and what narrows it: `principal-transactions SP…` */
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
