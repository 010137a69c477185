/** Cursors of every list of the API: page by page, while blocks and forks arrive. */
import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { lazy } from '../../src/base/cache.ts';
import {
  crowdedChain,
  cursorRoutes,
  forged,
  type GrowingChain,
  pageRoutes,
  simulatedChain,
  type WalkedList,
  type WalkedPage,
  type WalkedRow,
  WalkedWorld,
} from '../support/api/walked-lists.ts';
import { assertProperty, Seen } from '../support/property.ts';

/** Random choices. */
interface RandomSource {
  below(limit: number): number;
}

/** Lists without a total, because counting them is too expensive. */
const isUncounted = (target: string): boolean =>
  /^\/stackside\/v1\/(tokens\/ft\/[^/]+\/transfers|transactions|contracts|tokens\/n?ft|names|names\/bns-v2|principals\/[^/]+\/dropped-transactions|forks)\?/.test(
    target,
  );

/** A list during a walk, and the rows that were shown since the walk last turned. */
class Walk {
  towards: 'next' | 'previous';
  /** Whether the walk has turned already. */
  turned = false;
  /** Keys that were shown, by page. */
  #shown: string[][] = [];
  /** Keys of the rows that the walk must show if they stay, in the list's order. */
  #due: string[] = [];
  /** The whole list, as it is now. */
  #rows: WalkedRow[] = [];

  private constructor(
    readonly list: WalkedList,
    public page: WalkedPage,
    rows: WalkedRow[],
    backwards: boolean,
  ) {
    this.towards = backwards ? 'previous' : 'next';
    this.#rows = rows;
    this.#begin();
  }

  /** Starts a few pages after the start of a list; null if the list no longer exists. */
  static async begin(world: WalkedWorld, list: WalkedList, random: RandomSource): Promise<Walk | null> {
    const rows = await world.rows(list);
    let page = await world.page(list, 1 + random.below(6), null);
    if (rows === null || page === null) return null;
    for (let ahead = random.below(5); ahead > 0 && page?.next; ahead--) {
      page = await world.page(list, 1 + random.below(6), page.next);
    }
    return page === null ? null : new Walk(list, page, rows, random.below(2) === 0);
  }

  #begin(): void {
    const [first, last] = this.#placesOf(this.page);
    const keys = this.#rows.map(({ key }) => key);
    this.#due = this.towards === 'next' ? keys.slice(first) : keys.slice(0, last);
    this.#shown = [keys.slice(first, last)];
  }

  /** Returns the positions of a page's rows in the present list, and checks its neighbours and its total. */
  #placesOf({ items, total, next, previous }: WalkedPage): [first: number, last: number] {
    const { target } = this.list;
    const count = this.#rows.length;
    expect({ target, total }).toEqual({ target, total: isUncounted(target) ? null : count });
    if (items.length === 0) {
      // If a page has lost its rows, the previous or next page leads to the remaining ones.
      expect({ target, isDeadEnd: next === null && previous === null }).toEqual({ target, isDeadEnd: count === 0 });
      return this.towards === 'next' ? [count, count] : [0, 0];
    }
    const first = this.#rows.findIndex(({ text }) => text === items[0]);
    const last = first + items.length;
    expect({ target, items }).toEqual({ target, items: this.#rows.slice(first, last).map(({ text }) => text) });
    const isEnd = [first === 0, last === this.#rows.length];
    expect({ target, isEnd: [previous === null, next === null] }).toEqual({ target, isEnd });
    return [first, last];
  }

  /** Reads the next page. At the end, checks the walk and reverses it. @returns whether the walk continues */
  async goOn(world: WalkedWorld, limit: number): Promise<boolean> {
    const link = this.page[this.towards];
    if (link === null) return this.#turn();
    const page = await world.page(this.list, limit, link);
    if (page === null) throw new Error(`${this.list.target} is gone in the middle of a walk`);
    const [first, last] = this.#placesOf(page);
    this.#shown.push(this.#rows.slice(first, last).map(({ key }) => key));
    this.page = page;
    if (page.current !== null) {
      expect((await world.page(this.list, limit, page.current))?.items).toEqual(page.items);
    }
    return page[this.towards] !== null || this.#turn();
  }

  /** Ends a walk forward or back. @returns whether the walk continues */
  #turn(): boolean {
    this.#check();
    if (this.turned) return false;
    this.turned = true;
    this.towards = this.towards === 'next' ? 'previous' : 'next';
    this.#begin();
    return true;
  }

  /** Reads the list again after the chain has changed. @returns false if the list no longer exists */
  async lookAgain(world: WalkedWorld): Promise<boolean> {
    const rows = await world.rows(this.list);
    if (rows === null) return false;
    this.#rows = rows;
    const remaining = new Set(rows.map(({ key }) => key));
    this.#due = this.#due.filter((key) => remaining.has(key));
    return true;
  }

  #check(): void {
    const { target } = this.list;
    const keys = (this.towards === 'next' ? this.#shown : this.#shown.toReversed()).flat();
    const due = new Set(this.#due);
    expect({ target, shown: keys.filter((key) => due.has(key)) }).toEqual({ target, shown: this.#due });
    expect({ target, twice: keys.length - new Set(keys).size }).toEqual({ target, twice: 0 });
  }
}

test('every list of v3 accepts a cursor', () => {
  const withCursor = new Set(cursorRoutes().map(({ path }) => path));
  expect(pageRoutes().flatMap(({ path }) => (withCursor.has(path) ? [] : path))).toEqual([]);
  expect(withCursor.size).toBeGreaterThanOrEqual(30);
});

/** Walks every list of a world there and back while blocks and forks arrive, and counts the further pages of each. */
async function walkAll(chain: GrowingChain, forks: number[], random: RandomSource, seen: Seen): Promise<void> {
  using world = new WalkedWorld(chain, 9);
  const started = await Promise.all(world.lists().map((list) => Walk.begin(world, list, random)));
  let walks = started.filter((walk) => walk !== null);
  expect(walks.length).toBeGreaterThan(20);
  while (walks.length > 0) {
    const going: Walk[] = [];
    for (const walk of walks) {
      const { page } = walk;
      if (await walk.goOn(world, 1 + random.below(6))) going.push(walk);
      if (walk.page !== page && walk.page.items.length > 0) seen.add(`further pages of ${walk.list.route}`);
    }
    walks = going;
    const below = forks.pop();
    if (below === undefined) continue;
    world.mine(below);
    seen.add(below === 0 ? 'blocks on the tip' : 'forks');
    walks = (await Promise.all(walks.map(async (walk) => ((await walk.lookAgain(world)) ? [walk] : [])))).flat();
  }
}

test('a walk there and back shows each remaining row once and in order, while blocks and forks arrive', async () => {
  const chances = fc.infiniteStream(fc.nat({ max: 2 ** 20 }));
  // In one of the worlds, each list has at least eight rows, and a page shows at most six.
  const pages = Object.fromEntries(cursorRoutes().map(({ path }) => [`further pages of ${path}`, 1]));
  const seen = new Seen({ ...pages, forks: 1, 'blocks on the tip': 1 });
  await assertProperty(
    fc.asyncProperty(
      fc.nat({ max: 10_000 }),
      fc.shuffledSubarray([0, 1, 3], { minLength: 3 }),
      chances,
      async (seed, forks, stream) => {
        const random: RandomSource = { below: (limit) => Number(stream.next().value) % limit };
        await walkAll(simulatedChain(seed), forks.slice(), random, seen);
        await walkAll(crowdedChain(), forks.slice(1), random, seen);
      },
    ),
    { seen, cases: 1, shrink: false },
  );
});

/** A world that no test changes. */
const crowded = lazy(() => new WalkedWorld(crowdedChain(), 6));
afterAll(() => crowded()[Symbol.dispose]());

/** Made-up keys of a given number of bytes: numbers, texts, bytes and invalid keys. */
const madeUpKeys = (bytes: number): string[] =>
  [
    ['[', '9', ']'],
    ['["', 'z', '"]'],
    ['["', 'a', '"]'],
    ['[-1,"', 'f', '"]'],
    ['["",1,"', '0', '"]'],
    ['[1,2,3,"', '0', '"]'],
    ['[', ' ', ']'],
    ['{', ' ', '}'],
    ['', 'x', ''],
  ]
    .map(
      ([start = '', filler = '', end = '']) =>
        start + filler.repeat(Math.max(0, bytes - start.length - end.length)) + end,
    )
    .filter((key) => key.length === bytes);

test('a made-up key returns a page or is rejected with the name of the parameter', async () => {
  const world = crowded();
  let refusals = 0;
  for (const list of world.lists()) {
    const second = await world.page(list, 1, (await world.page(list, 1, null))?.next ?? null);
    const cursors = [second?.current, second?.next, second?.previous].filter((cursor) => typeof cursor === 'string');
    for (const cursor of cursors) {
      for (const key of madeUpKeys(Buffer.from(cursor, 'base64url').length - 5)) {
        const { status, body } = await world.get(`${list.target}&cursor=${forged(cursor, key)}`);
        const { message, details } = body as { message?: string; details?: string };
        if (status === 400) refusals += 1;
        const named = status === 200 || (message ?? details)?.includes('cursor');
        expect([list.target, key, status, named]).toEqual([list.target, key, status === 200 ? 200 : 400, true]);
      }
    }
  }
  expect(refusals).toBeGreaterThan(100);
});

/** A key of equal length with one part less, or, for a single part, with a part of another type. */
function ofAnotherForm(json: string): string {
  const [first, ...others]: (number | string)[] = JSON.parse(json);
  if (others.length > 0) return JSON.stringify([first, ...others.slice(0, -1)]).padEnd(json.length);
  const bytes = json.length - '[]'.length;
  return typeof first === 'number' ? `["${'x'.repeat(bytes - 2)}"]` : `[${'9'.repeat(bytes)}]`;
}

test('a key with a value of the wrong type is rejected', async () => {
  const world = crowded();
  let refused = 0;
  for (const list of world.lists()) {
    const first = await world.page(list, 1, null);
    for (const cursor of [first?.current, first?.next].filter((text) => typeof text === 'string')) {
      const json = Buffer.from(cursor, 'base64url').subarray(5).toString();
      // A key with a single digit doesn't have room for another type.
      if (/^\[(\d?|"\d*")\]$/.test(json)) continue;
      const key = ofAnotherForm(json);
      const { status } = await world.get(`${list.target}&cursor=${forged(cursor, key)}`);
      expect({ list: list.target, key, status }).toEqual({ list: list.target, key, status: 400 });
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(30);
});

test('a walk of the latest block stays in the block where it started', async () => {
  using world = new WalkedWorld(simulatedChain(2), 6);
  const list = { route: '', target: '/extended/v3/blocks/latest/transactions?' };
  const whole = (await world.page(list, 50, null))!.items;
  let page = (await world.page(list, 1, null))!;
  const items = [...page.items];
  world.mine(0);
  while (page.next !== null) {
    page = (await world.page(list, 1, page.next))!;
    items.push(...page.items);
  }
  expect(items).toEqual(whole);
  expect(items.length).toBeGreaterThan(1);
  expect((await world.page(list, 50, null))?.items).not.toEqual(whole);
});

test('two indexes of one chain create equal cursors', async () => {
  using first = new WalkedWorld(simulatedChain(7), 6);
  using second = new WalkedWorld(simulatedChain(7), 6);
  const lists = first.lists();
  expect(second.lists()).toEqual(lists);
  for (const list of lists) expect(await first.page(list, 2, null)).toEqual((await second.page(list, 2, null))!);
});
