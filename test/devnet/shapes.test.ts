/** The comparison of event formats. */
import { expect, test } from 'bun:test';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { lacking, shapesOf } from './shapes.ts';

const of = (body: unknown, path = '/new_block') => shapesOf([{ path, body: JSON.stringify(body) }]);

test('a key or type that only one side has is named by its path, without its contents', () => {
  const node = of({ a: 1, b: { c: [{ d: null }] }, extra: { inner: { deep: 1 } } });
  const demo = of({ a: 'text', b: { c: [{ d: 5 }] } });
  expect(lacking(node, demo)).toEqual(['/new_block a: number', '/new_block b.c[].d: null', '/new_block extra']);
  expect(lacking(demo, node)).toEqual(['/new_block a: string', '/new_block b.c[].d: number']);
  expect(lacking(of({}, '/new_thing'), demo)).toEqual(['/new_thing']);
  expect(lacking(node, node)).toEqual([]);
});

test('items of a list are distinguished by type, and interfaces of contracts are data', () => {
  const events = (...items: object[]) => of({ events: items, transactions: [{ contract_interface: { x: items } }] });
  const both = events({ type: 'mint', amount: '1' }, { type: 'lock', unlock: 5 });
  expect(lacking(both, events({ type: 'mint', amount: '1' }))).toEqual(['/new_block events[lock]']);
});

test('two chains of the simulated node have one form', () => {
  const [one, other] = [1, 2].map((seed) => shapesOf(devnetEvents({ seed, blocks: 250, accounts: 40 })));
  expect(lacking(one!, other!)).toEqual([]);
});
