import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { jsonOf, jsonParts, serializedLazily } from '../../src/http/json.ts';
import { responseCache } from '../../src/http/response-cache.ts';
import { assertProperty } from '../support/property.ts';

test('an answer is cached when it is made a second time, only for the same URL and ETag', () => {
  const cache = responseCache();
  cache.set('/a', 'tag', 'text');
  expect(cache.get('/a', 'tag')).toBeUndefined();
  cache.set('/a', 'tag', 'text');
  expect(cache.get('/a', 'tag')).toBe('text');
  expect(cache.get('/a', 'another')).toBeUndefined();
  expect(cache.get('/b', 'tag')).toBeUndefined();
});

test('an answer with a new ETag replaces the one before', () => {
  const cache = responseCache();
  for (const tag of ['old', 'old', 'new']) cache.set('/a', tag, tag);
  expect(cache.get('/a', 'old')).toBeUndefined();
  expect(cache.get('/a', 'new')).toBe('new');
});

test('unused answers are evicted, used ones stay, and memory has a limit', () => {
  const cache = responseCache();
  const text = 'x'.repeat(50_000);
  for (const url of ['/busy', '/idle']) for (let i = 0; i < 2; i++) cache.set(url, 'tag', text);
  let others = 0;
  for (let i = 0; i < 1000; i++) {
    for (let round = 0; round < 2; round++) cache.set(`/${i}`, 'tag', text);
    cache.get('/busy', 'tag');
  }
  for (let i = 0; i < 1000; i++) if (cache.get(`/${i}`, 'tag') !== undefined) others += 1;
  expect(cache.get('/busy', 'tag')).toBe(text);
  expect(cache.get('/idle', 'tag')).toBeUndefined();
  expect(others * text.length).toBeLessThan(10_000_000);
});

test('an answer of the older generation is returned only for the same ETag', () => {
  const cache = responseCache();
  for (let i = 0; i < 2; i++) cache.set('/old', 'tag', 'text');
  const filler = 'x'.repeat(90_000);
  for (let i = 0; i < 50; i++) for (let round = 0; round < 2; round++) cache.set(`/${i}`, 'tag', filler);
  expect(cache.get('/old', 'another')).toBeUndefined();
  expect(cache.get('/old', 'tag')).toBe('text');
});

test('an answer longer than the limit is not cached', () => {
  const cache = responseCache();
  for (let i = 0; i < 3; i++) cache.set('/long', 'tag', 'x'.repeat(200_000));
  expect(cache.get('/long', 'tag')).toBeUndefined();
});

test('the JSON of a list equals the output of JSON.stringify', () => {
  assertProperty(
    fc.property(fc.jsonValue(), fc.array(fc.jsonValue()), (body, results) => {
      expect(JSON.parse(jsonOf(body))).toEqual(JSON.parse(JSON.stringify(body)));
      const list = { total: 3, cursor: body, results };
      expect(JSON.parse(jsonOf(list))).toEqual(JSON.parse(JSON.stringify(list)));
      expect(JSON.parse(jsonOf({ results }))).toEqual(JSON.parse(JSON.stringify({ results })));
    }),
    { always: 'each list is written' },
  );
});

test('other tasks get their turn while a long list is serialized', async () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `n${index}.btc`);
  let pauses = 0;
  const parts = await jsonParts(names, () => {
    pauses += 1;
    return undefined;
  });
  expect(JSON.parse(parts.join(''))).toEqual(names);
  expect(pauses).toBeGreaterThan(names.length);
});

test('the compiler rejects access to a lazily serialized item', () => {
  const [item] = serializedLazily([{ id: 1 }], (item) => item);
  // @ts-expect-error: the item isn't a value yet, so the compiler rejects this.
  expect(item?.id).toBeUndefined();
  expect(jsonOf(item)).toBe('{"id":1}');
});
