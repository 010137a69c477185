/**
 * Orders and windows of every list that has them: one order is the reverse of the other, and a window is the part of the whole
 * list between its ends. The routes come from the API's table, so that new routes are tested, too.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  crowdedChain,
  type OrderedList,
  orderedRoutes,
  simulatedChain,
  WalkedWorld,
} from '../support/api/walked-lists.ts';
import { assertProperty, Seen } from '../support/property.ts';

interface Item {
  block_height?: number;
  time?: string;
  block?: { height: number; time: number };
}

/** Chains with a fork at each height, and two that the longer branch won. */
const worlds: WalkedWorld[] = [];
/** Lists, with all their rows in descending order. */
const lists: { world: WalkedWorld; list: OrderedList; allRows: string[] }[] = [];
beforeAll(async () => {
  worlds.push(new WalkedWorld(simulatedChain(5), 24), new WalkedWorld(crowdedChain(), 9));
  for (const world of worlds) {
    for (const below of [3, 0, 2]) world.mine(below);
    for (const list of world.orderedLists()) {
      lists.push({ world, list, allRows: await world.walked(list, '&order=desc', 50) });
    }
  }
});
afterAll(() => {
  for (const world of worlds) world[Symbol.dispose]();
});

/** Reverses a list. Tokens without a name or with the same name stay in the order of their contracts. */
function inReverse({ route, target }: OrderedList, rows: readonly string[]): string[] {
  if (!route.startsWith('/metadata/')) return rows.toReversed();
  const key = target.endsWith('symbol') ? 'symbol' : 'name';
  const alike = Map.groupBy(rows, (row) => (JSON.parse(row) as Record<string, string>)[key] ?? null);
  return [...alike.values()].reverse().flat();
}

test('the ascending list is the reverse of the descending one', async () => {
  const walked = new Set<string>();
  for (const { world, list, allRows } of lists) {
    const { target } = list;
    expect({ target, rows: await world.walked(list, '&order=desc', 4) }).toEqual({ target, rows: allRows });
    const rows = inReverse(list, allRows);
    expect({ target, rows: await world.walked(list, '&order=asc', 3) }).toEqual({ target, rows });
    if (allRows.length > 1) walked.add(list.route);
  }
  expect([...walked].sort()).toEqual([...new Set(orderedRoutes().map(({ path }) => path))].sort());
});

const heightOf = ({ block_height, block }: Item): number => block_height ?? block!.height;
const timeOf = ({ time, block }: Item): number => (time === undefined ? block!.time : Date.parse(time) / 1_000);

test('a window in either order is the part of the whole list between its ends', async () => {
  const windowed = lists.filter(({ list, allRows }) => list.takesWindow && allRows.length > 4);
  const routes = [...new Set(windowed.map(({ list }) => list.route))];
  const taking = orderedRoutes().filter(({ detail }) => detail.parameters.some(({ name }) => name === 'from_height'));
  expect(routes.sort()).toEqual([...new Set(taking.map(({ path }) => path))].sort());
  const seen = new Seen({ ...Object.fromEntries(routes.map((route) => [route, 2])), 'by time': 6 });
  const end = fc.option(fc.nat({ max: 10_000 }), { nil: null });
  await assertProperty(
    fc.asyncProperty(
      fc.constantFrom(...windowed),
      fc.tuple(end, end, end, end),
      fc.boolean(),
      fc.integer({ min: 1, max: 50 }),
      async ({ world, list, allRows }, ends, isUp, limit) => {
        const items = allRows.map((text) => JSON.parse(text) as Item);
        const [low, high, since, until] = ends.map((nth) => (nth === null ? null : items[nth % items.length]!));
        const query = new URLSearchParams();
        const bounds = { from_height: low, to_height: high, from_time: since, to_time: until };
        for (const [name, item] of Object.entries(bounds)) {
          if (item != null) query.set(name, String(name.endsWith('height') ? heightOf(item) : timeOf(item)));
        }
        const isBackwards = (from: string, to: string) =>
          query.has(from) && query.has(to) && Number(query.get(to)) < Number(query.get(from));
        for (const [from, to] of [
          ['from_height', 'to_height'],
          ['from_time', 'to_time'],
        ] as const) {
          if (isBackwards(from, to)) query.delete(to);
        }
        const bound = (name: string, none: number): number => Number(query.get(name) ?? none);
        const expected = allRows.filter(
          (_, nth) =>
            heightOf(items[nth]!) >= bound('from_height', 0) &&
            heightOf(items[nth]!) <= bound('to_height', Number.MAX_SAFE_INTEGER) &&
            timeOf(items[nth]!) >= bound('from_time', 0) &&
            timeOf(items[nth]!) <= bound('to_time', Number.MAX_SAFE_INTEGER),
        );
        if (expected.length > 0) seen.add(list.route);
        if (query.has('from_time') && expected.length > 0) seen.add('by time');
        query.set('order', isUp ? 'asc' : 'desc');
        const { target } = list;
        const rows = await world.walked(list, `&${query}`, limit);
        const due = isUp ? expected.toReversed() : expected;
        expect([target, String(query), rows]).toEqual([target, String(query), due]);
      },
    ),
    { seen, cases: 30 },
  );
});

test('a window that ends before it starts, or an unknown order, is rejected with the name of the parameter', async () => {
  for (const { world, list } of lists) {
    const refusals = list.takesWindow
      ? [
          ['from_height=9&to_height=8', 'querystring/to_height must be >= from_height'],
          ['from_time=9&to_time=8', 'querystring/to_time must be >= from_time'],
        ]
      : [];
    for (const [query, message] of [...refusals, ['order=up', 'querystring/order']]) {
      const { status, body } = await world.get(`${list.target}&${query}`);
      const text = body.message ?? body.error;
      expect([list.target, status, text]).toEqual([list.target, 400, expect.stringContaining(message!)]);
    }
  }
});
