/** Windows and orders of lists of the chain: each is the part of the whole list that it names. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { received } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { testApp } from './test-app.ts';

interface Item {
  block_height?: number;
  time?: string;
  block?: { height: number; time: number };
}
interface Listed {
  total: number | null;
  cursor: { next: string | null };
  results: Item[];
}

const chain = [...devnetEvents({ seed: 5, blocks: 60, accounts: 8, transactionsPerBlock: 6 })];
const { json } = testApp(memoryIndex(chain.map(received)));

async function walked(target: string, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  const at = `${target}${target.includes('?') ? '&' : '?'}limit=${limit}`;
  for (let cursor = ''; ; ) {
    const { status, body } = await json(at + cursor);
    const page = body as Listed;
    expect([status, (page as { message?: string }).message]).toEqual([200, undefined]);
    items.push(...page.results);
    if (page.cursor.next === null) return items;
    cursor = `&cursor=${page.cursor.next}`;
  }
}

const heightOf = ({ block_height, block }: Item): number => block_height ?? block!.height;
const timeOf = ({ time, block }: Item): number => (time === undefined ? block!.time : Date.parse(time) / 1_000);

async function lists(): Promise<string[]> {
  const fts = (await json('/stackside/v1/tokens/ft?limit=50')).body as { results: { asset_identifier: string }[] };
  const found: { ft: string; contract: string; calls: number }[] = [];
  for (const { asset_identifier: ft } of fts.results) {
    const [contract = ''] = ft.split('::');
    const { body } = await json(`/stackside/v1/smart-contracts/${contract}/calls`);
    found.push({ ft, contract, calls: (body as Listed).total ?? 0 });
  }
  const { ft, contract } = found.reduce((a, b) => (b.calls > a.calls ? b : a));
  return [
    '/stackside/v1/transactions',
    `/stackside/v1/transactions?contract_id=${contract}`,
    `/stackside/v1/smart-contracts/${contract}/calls`,
    `/stackside/v1/smart-contracts/${contract}/logs`,
    `/stackside/v1/tokens/ft/${encodeURIComponent(ft)}/transfers`,
  ];
}

test('a window in either order is the part of the whole list between its ends', async () => {
  const wholes = await Promise.all((await lists()).map(async (target) => ({ target, all: await walked(target, 50) })));
  for (const { target, all } of wholes) expect([target, all.length > 3]).toEqual([target, true]);
  const seen = new Seen({ rows: 20, 'by time': 3 });
  const end = fc.option(fc.nat({ max: 10_000 }), { nil: null });
  await assertProperty(
    fc.asyncProperty(
      fc.constantFrom(...wholes),
      fc.tuple(end, end, end, end),
      fc.boolean(),
      fc.integer({ min: 1, max: 50 }),
      async ({ target, all }, ends, isUp, limit) => {
        const [low, high, since, until] = ends.map((nth) => (nth === null ? null : all[nth % all.length]!));
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
        const given = (name: string, none: number): number => Number(query.get(name) ?? none);
        const expected = all.filter(
          (item) =>
            heightOf(item) >= given('from_height', 0) &&
            heightOf(item) <= given('to_height', Number.MAX_SAFE_INTEGER) &&
            timeOf(item) >= given('from_time', 0) &&
            timeOf(item) <= given('to_time', Number.MAX_SAFE_INTEGER),
        );
        if (isUp) query.set('order', 'asc');
        seen.add('rows', expected.length);
        if (query.has('from_time') && expected.length > 0) seen.add('by time');
        const asked = query.size === 0 ? target : `${target}${target.includes('?') ? '&' : '?'}${query}`;
        expect(await walked(asked, limit)).toEqual(isUp ? expected.toReversed() : expected);
      },
    ),
    { seen, cases: 40 },
  );
});

test('a window that ends before it begins is refused by its name', async () => {
  const [target] = await lists();
  for (const [query, message] of [
    ['from_height=9&to_height=8', 'querystring/to_height must be >= from_height'],
    ['from_time=9&to_time=8', 'querystring/to_time must be >= from_time'],
    ['order=up', 'querystring/order'],
  ] as const) {
    const { status, body } = await json(`${target}?${query}`);
    expect([status, (body as { message: string }).message]).toEqual([400, expect.stringContaining(message)]);
  }
});
