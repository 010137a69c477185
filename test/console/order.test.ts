/** Answers of the API that come in another order than their questions. */
import { expect, test } from 'bun:test';
import { inOrder, onlyLast } from '../../src/console/app/api/order.ts';

test('an answer that comes after a newer one does not count, and an older one that comes before it does', () => {
  const ask = inOrder();
  const [first, second, third] = [ask(), ask(), ask()];
  expect([first(), third(), second(), third()]).toEqual([true, true, false, true]);
  expect(ask()()).toBe(true);
});

test('an answer does not count once something else was asked for', () => {
  const ask = onlyLast();
  const first = ask();
  expect(first()).toBe(true);
  const second = ask();
  expect([first(), second()]).toEqual([false, true]);
});
