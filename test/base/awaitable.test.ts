/** What is there at once goes on at once; what comes later, and what fails, ends the same way. */
import { expect, test } from 'bun:test';
import { type Awaitable, andThen, orElse } from '../../src/base/awaitable.ts';

const failing = (): never => {
  throw new Error('broken');
};
const reason = (error: unknown) => (error as Error).message;

test('a value that is there goes on at once, without a promise', () => {
  expect(andThen(2, (value) => value + 1)).toBe(3);
  expect(orElse(() => 2, reason as () => never)).toBe(2);
});

test('a value that comes later goes on then', async () => {
  const later = andThen(Promise.resolve(2), (value) => value + 1);
  expect(later).toBeInstanceOf(Promise);
  expect(await later).toBe(3);
  expect(await andThen<number, number>(2, async (value) => value + 1)).toBe(3);
});

test.each<[string, () => Awaitable<string>]>([
  ['throws', failing],
  ['rejects', () => Promise.reject(new Error('broken'))],
  ['throws once its value is there', () => andThen('', failing)],
  ['throws once its value has come', () => andThen(Promise.resolve(''), failing)],
])('another value takes the place of one whose computation %s', async (_, compute) => {
  expect(await orElse(compute, reason)).toBe('broken');
});
