/** The comparison of event formats. */
import { expect, test } from 'bun:test';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { findMissing, shapesOf } from './shapes.ts';

const shapeOf = (body: unknown, path = '/new_block') => shapesOf([{ path, body: JSON.stringify(body) }]);

test('a key or type that only one side has is named by its path, without its contents', () => {
  const node = shapeOf({ a: 1, b: { c: [{ d: null }] }, extra: { inner: { deep: 1 } } });
  const demo = shapeOf({ a: 'text', b: { c: [{ d: 5 }] } });
  expect(findMissing(node, demo)).toEqual(['/new_block a: number', '/new_block b.c[].d: null', '/new_block extra']);
  expect(findMissing(demo, node)).toEqual(['/new_block a: string', '/new_block b.c[].d: number']);
  expect(findMissing(shapeOf({}, '/new_thing'), demo)).toEqual(['/new_thing']);
  expect(findMissing(node, node)).toEqual([]);
});

test('items of a list are distinguished by type, and interfaces of contracts are data', () => {
  const events = (...items: object[]) =>
    shapeOf({ events: items, transactions: [{ contract_interface: { x: items } }] });
  const both = events({ type: 'mint', amount: '1' }, { type: 'lock', unlock: 5 });
  expect(findMissing(both, events({ type: 'mint', amount: '1' }))).toEqual(['/new_block events[lock]']);
});

test('two chains of the simulated node have the same form', () => {
  const [first, second] = [1, 2].map((seed) => shapesOf(devnetEvents({ seed, blocks: 250, accounts: 40 })));
  expect(findMissing(first!, second!)).toEqual([]);
});
