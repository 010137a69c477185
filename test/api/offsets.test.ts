/** Every list of the API with an offset: each page is the matching part of the whole list. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  crowdedChain,
  type GrowingChain,
  type OffsetList,
  offsetKinds,
  simulatedChain,
  WalkedWorld,
} from '../support/api/walked-lists.ts';
import { assertProperty, Seen } from '../support/property.ts';

/** Number of rows that a list needs so that its pages differ. */
const MIN_ROWS = 4;

/** Lists that are shorter in every world, and why. */
const SHORT: Readonly<Record<string, string>> = {
  '/extended/v1/{pox}/{pool_principal}/delegations unanchored true':
    'It asks for the delegations of the next block, which is not found until it has arrived.',
};

const WITH_TRANSFERS = '/extended/v1/address/{principal}/transactions_with_transfers';

/** A page of that list shows the greatest index of each block first; which rows it has is as in the others. */
function byIndex(rows: readonly string[]): string[] {
  const placed = rows.map((row) => ({ row, tx: JSON.parse(row).tx as { block_height: number; tx_index: number } }));
  placed.sort(({ tx: a }, { tx: b }) => b.block_height - a.block_height || b.tx_index - a.tx_index);
  return placed.map(({ row }) => row);
}

/** The rows that a page should have. */
function partOf({ name, route }: OffsetList, whole: readonly string[], limit: number, offset: number): string[] {
  // That list of a single block is not paged.
  if (name === `${WITH_TRANSFERS} height`) return [...whole];
  const part = whole.slice(offset, offset + limit);
  return route === WITH_TRANSFERS ? byIndex(part) : part;
}

/** The whole list, read with the largest pages; null if it doesn't exist. */
async function wholeOf(world: WalkedWorld, list: OffsetList): Promise<string[] | null> {
  // Reads single rows if pages are in another order than the list.
  const limit = list.route === WITH_TRANSFERS && !list.name.endsWith(' height') ? 1 : list.limit.maximum;
  const rows: string[] = [];
  for (;;) {
    const page = await world.offsetPage(list, limit, rows.length);
    if (page === null) return rows.length === 0 ? null : rows;
    rows.push(...page.items);
    if (page.items.length < limit) return rows;
  }
}

/** Reads pages of every list of a world. Each page must be its part of the whole list. */
async function readAll(chain: GrowingChain, blocks: number, below: (limit: number) => number, seen: Seen) {
  using world = new WalkedWorld(chain, blocks);
  for (const list of world.offsetLists()) {
    const { name, target, limit: limits, offset: offsets } = list;
    const whole = await wholeOf(world, list);
    if (whole === null) continue;
    if (whole.length >= MIN_ROWS) seen.add(name);
    const pages = [MIN_ROWS, limits.maximum].map((max) => [below(max + 1), below(whole.length + 2)] as const);
    for (const [few, far] of [[2, 1] as const, ...pages]) {
      const limit = Math.max(limits.minimum, few);
      const offset = Math.min(offsets.maximum, far);
      // Past the end of a list there may be no page.
      const page = (await world.offsetPage(list, limit, offset)) ?? { items: [] };
      // A limit of 0 returns only the total, or means the default.
      const usedLimit = page.limit ?? (limit === 0 ? limits.fallback : limit);
      expect([limit, ...(limit === 0 ? [limits.fallback] : [])]).toContain(usedLimit);
      expect({ target, limit, ...page }).toEqual({
        target,
        limit,
        items: partOf(list, whole, usedLimit, offset),
        ...('limit' in page ? { limit: usedLimit, offset } : {}),
        ...('total' in page ? { total: whole.length } : {}),
      });
    }
  }
}

test('every page equals its part of the whole list, for any limit and offset', async () => {
  // A short chain has two contracts of fungible tokens at most; test/api/metadata.test.ts walks their list.
  const isLong = (name: string) => !(name in SHORT) && !name.startsWith('/metadata/');
  const long = offsetKinds().flatMap(({ name }) => (isLong(name) ? [name] : []));
  const seen = new Seen(Object.fromEntries(long.map((name) => [name, 1])));
  await assertProperty(
    fc.asyncProperty(fc.nat({ max: 10_000 }), fc.infiniteStream(fc.nat({ max: 2 ** 20 })), async (seed, stream) => {
      const below = (limit: number) => Number(stream.next().value) % limit;
      await readAll(simulatedChain(seed), 24, below, seen);
      await readAll(crowdedChain(), 9, below, seen);
    }),
    { seen, cases: 1, shrink: false },
  );
});
