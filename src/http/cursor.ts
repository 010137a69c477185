/**
 * Cursors: the key of an item, as text that only the list it came from takes back.
 *
 * Version byte, check sum, then the key as JSON, all as base64url. The check sum covers the list's name and scope as
 * well as the key, so one comparison finds a cursor that was cut, mistyped, or made by another list, another principal
 * or another block. It guards against mistakes, not against forgery: a forged cursor can only start a page elsewhere.
 */
import type { CursorKey } from '../store/model/page.ts';

/** Raised when keys change their meaning, which makes the cursors of old answers invalid. */
const VERSION = 1;
const HEAD = 5;
const MAX_PARTS = 8;

/** @param list the list's name and what narrows it: `principal-transactions SP…` */
export function encodeCursor(list: string, key: CursorKey): string {
  const json = new TextEncoder().encode(JSON.stringify(key));
  const bytes = new Uint8Array(HEAD + json.length);
  bytes[0] = VERSION;
  bytes.set(json, HEAD);
  new DataView(bytes.buffer).setUint32(1, checkSum(list, json));
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}

/** The key, or null for a text that is no cursor of this list. */
export function decodeCursor(list: string, text: string): CursorKey | null {
  const bytes = fromBase64Url(text);
  if (bytes === null || bytes.length < HEAD || bytes[0] !== VERSION) return null;
  const json = bytes.subarray(HEAD);
  if (new DataView(bytes.buffer, bytes.byteOffset).getUint32(1) !== checkSum(list, json)) return null;
  return parseKey(new TextDecoder().decode(json));
}

function checkSum(list: string, json: Uint8Array): number {
  return Bun.hash.crc32(json, Bun.hash.crc32(list));
}

function fromBase64Url(text: string): Uint8Array | null {
  try {
    return Uint8Array.fromBase64(text, { alphabet: 'base64url' });
  } catch {
    return null;
  }
}

function parseKey(json: string): CursorKey | null {
  let key: unknown;
  try {
    key = JSON.parse(json);
  } catch {
    return null;
  }
  if (!Array.isArray(key) || key.length === 0 || key.length > MAX_PARTS) return null;
  return key.every((part) => typeof part === 'string' || Number.isSafeInteger(part)) ? key : null;
}
