/** Lazy values and caches with a size limit. */
import { expect, test } from 'bun:test';
import { lazy, lruCache, memoize } from '../../src/base/cache.ts';

test('a lazy value is computed once at its first use, and again after it is cleared', () => {
  const computed: number[] = [];
  const value = lazy(() => {
    computed.push(computed.length);
    return undefined;
  });
  expect(computed).toEqual([]);
  expect([value(), value()]).toEqual([undefined, undefined]);
  expect(computed).toEqual([0]);
  value.clear();
  value();
  expect(computed).toEqual([0, 1]);
});

test('a memo recomputes evicted and failed values', () => {
  const computed: string[] = [];
  const length = memoize((text) => {
    computed.push(text);
    if (text === '') throw new Error('empty');
    return text.length;
  }, 4);
  expect([length('a'), length('bb'), length('a')]).toEqual([1, 2, 1]);
  expect(computed).toEqual(['a', 'bb']);
  for (const _ of [1, 2]) expect(() => length('')).toThrow('empty');
  expect(computed).toEqual(['a', 'bb', '', '']);
  for (let n = 3; n < 20; n++) length('c'.repeat(n));
  length('a');
  expect(computed.at(-1)).toBe('a');
});

test('an entry that is set repeatedly evicts no other', () => {
  const cache = lruCache<string, number>(10);
  cache.set('kept', 0, 1);
  for (let n = 0; n < 100; n++) cache.set('busy', n, 1);
  expect([cache.get('kept'), cache.get('busy')]).toEqual([0, 99]);
});

test('the least recently used entries are evicted, by their sizes', () => {
  const cache = lruCache<string, number>(10);
  cache.set('used', 0, 1);
  for (let n = 0; n < 40; n++) {
    cache.set(`other ${n}`, n, 2);
    expect(cache.get('used')).toBe(0);
  }
  const left = Array.from({ length: 40 }, (_, n) => n).filter((n) => cache.get(`other ${n}`) !== undefined);
  expect(left.at(-1)).toBe(39);
  expect(left.length).toBeLessThanOrEqual(8);
});
