/** Unexpected values, and JSON in which one of them replaces a valid value. */
import type { Prng } from '../../../src/devnet/prng.ts';

/** JSON texts, so that they may hold numbers that JavaScript can't. */
const junkTexts: readonly string[] = [
  ...['null', 'true', '-1', '0', '1.5', '1e300', '-1e-300'],
  ...['9007199254740993', '18446744073709551616', '""', '"0x"', '"0xzz"'],
  ...['"\\u0000"', '"\\ud800"', '"1e3"', '"__proto__"'],
  ...['[]', '{}', '{"toString":0,"valueOf":0}', '{"__proto__":{"length":1e9}}'],
  `${'['.repeat(100)}${']'.repeat(100)}`,
  `${'{"a":'.repeat(2_000)}0${'}'.repeat(2_000)}`,
  // Deeper than any stack.
  `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
];

export function junk(prng: Prng): string {
  if (prng.chance(0.1)) return JSON.stringify('x'.repeat(prng.between(1, 50_000)));
  if (prng.chance(0.1)) return `"0x${prng.bytes(prng.between(0, 200)).toHex()}"`;
  return prng.pick(junkTexts);
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A mark that doesn't occur in other texts: raw JSON replaces it. */
const MARK = '\u0001junk\u0001';

/** The places of a value that can be replaced. */
function placesIn(value: Json, places: [holder: Json[] | Record<string, Json>, key: string | number][] = []) {
  if (typeof value !== 'object' || value === null) return places;
  for (const [key, inner] of Object.entries(value)) {
    places.push([value as Record<string, Json>, key]);
    placesIn(inner, places);
  }
  return places;
}

/** Bytes turned or left out, as of a text that was cut or damaged on its way. */
function damage(text: string, prng: Prng): string {
  if (text === '' || prng.chance(0.5)) return text.slice(0, prng.below(text.length + 1));
  const index = prng.below(text.length);
  return text.slice(0, index) + String.fromCharCode(prng.below(256)) + text.slice(index + 1);
}

/** A JSON text with something in it that wasn't meant; now and then no JSON at all. */
export function mutate(text: string, prng: Prng): string {
  if (prng.chance(0.1)) return damage(text, prng);
  if (prng.chance(0.05)) return junk(prng);
  const value = JSON.parse(text) as Json;
  const places = placesIn(value);
  if (places.length === 0) return junk(prng);
  const [holder, key] = prng.pick(places);
  if (prng.chance(0.2)) {
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
    return JSON.stringify(value);
  }
  (holder as Record<string | number, Json>)[key] = MARK;
  return JSON.stringify(value).replace(JSON.stringify(MARK), () => junk(prng));
}
