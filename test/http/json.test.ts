/** JSON text of answers that contain values in parts. */
import { expect, test } from 'bun:test';
import { jsonOf, jsonText, serializedLazily } from '../../src/http/json.ts';

const value = { name: 'a "name"', none: undefined, big: 1 };

/**
 * Bodies that contain a value at positions where the writer looks for parts, and at positions where it finds them by
 * chance.
 */
const places = (item: unknown) => [
  item,
  [item],
  { results: [item, { before: 1, none: undefined, value: item, after: [item] }], total: 2 },
  { results: [{ plain: 1 }, { first: 1, value: item }, { deep: { list: [1, item] } }] },
  { deep: { value: item }, shallow: item },
  { first: [], list: [{ plain: 1 }, { value: item }] },
];

test('a value has the same JSON in every place, whether it is an object, a text or serialized lazily', () => {
  const expected = places(value).map((place) => JSON.stringify(place));
  const text = jsonText<typeof value>(JSON.stringify(value));
  expect(places(text).map(jsonOf)).toEqual(expected);
  expect(places(serializedLazily([value], (item) => item)[0]).map(jsonOf)).toEqual(expected);
  expect(places(serializedLazily([text], (item) => item)[0]).map(jsonOf)).toEqual(expected);
});

test('JSON.stringify parses a text, and preserves the digits of its numbers', () => {
  const text = jsonText<{ nonce: number }>('{"nonce":18446744073709551615}');
  expect(JSON.stringify({ value: text })).toBe('{"value":{"nonce":18446744073709551615}}');
  // Also after a value that was written in parts.
  expect(jsonOf({ value: text })).toBe('{"value":{"nonce":18446744073709551615}}');
  expect(JSON.stringify([text])).toBe('[{"nonce":18446744073709551615}]');
});

test('an error in a serializer ends the text, and leaves nothing for the next', () => {
  const failing = serializedLazily([1], () => {
    throw new Error('no value');
  });
  expect(() => jsonOf({ results: failing })).toThrow('no value');
  expect(() => jsonOf({ big: 1n })).toThrow();
  expect(JSON.stringify({ value: jsonText('1') })).toBe('{"value":1}');
});

test('the type checker refuses to read members of a text, since it has none', () => {
  const text = jsonText<{ name: string }>('{"name":"a"}');
  // @ts-expect-error: a member of the value
  expect(text.name).toBeUndefined();
});
