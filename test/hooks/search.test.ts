/** Searches for matches in past blocks: the blocks that they read, and their limits. */
import { expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { conditionsOfDefinition } from '../../src/hooks/definition/definition.ts';
import { MAX_BLOCKS, type Scanner, scanner, search } from '../../src/hooks/matching/scan.ts';
import { HookProblem } from '../../src/hooks/problem.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { CONSUMER, type DirectHooks, directHooks } from './direct.ts';
import { definition, everything, receiver, upTo } from './server.ts';

const BLOCKS = 30;
const world = { accounts: 12, transactionsPerBlock: 6, forkEvery: 6, forkDepth: 3 };
const events = simulatedEvents({ seed: 5, blocks: BLOCKS, ...world });
/** Heights of the blocks that are read from now on. */
function watchReads({ hooks: { history } }: DirectHooks): number[] {
  const read: number[] = [];
  const { block } = history;
  history.block = (hash) => {
    const record = block(hash);
    read.push(record.height);
    return record;
  };
  return read;
}
const nothing = { type: 'stx_transfer', min_amount: '340282366920938463463374607431768211455' };

test('a test delivery reads from the tip down to the first match', async () => {
  await using direct = directHooks();
  using target = receiver();
  const uuid = await direct.register(definition(target.url, everything));
  direct.feed(events);
  const read = watchReads(direct);
  const { payload, searched_from_height: from } = await direct.trial.test(CONSUMER, uuid, {});
  const shownPayload = payload as { event: { apply: { block_identifier: { index: number } }[] } };
  expect(read).toEqual([BLOCKS]);
  expect([from, shownPayload.event.apply[0]?.block_identifier.index]).toEqual([BLOCKS, BLOCKS]);
  read.length = 0;
  const below = await direct.trial.test(CONSUMER, uuid, { before_height: 12 });
  expect([below.searched_from_height, read]).toEqual([11, [11]]);
  expect((await direct.trial.test(CONSUMER, uuid, { block_height: 7 })).searched_from_height).toBeNull();
  const both = direct.trial.test(CONSUMER, uuid, { block_height: 7, before_height: 8 });
  expect(await both.catch((error: unknown) => error)).toMatchObject({
    status: 400,
    message: 'before_height is not allowed together with block_height',
  });
});

test('a test sends nothing if no block matches, and names the lowest height it searched', async () => {
  await using direct = directHooks();
  using target = receiver();
  const uuid = await direct.register(definition(target.url, [nothing]));
  const refusal = (choice: { before_height?: number } = {}) =>
    direct.trial.test(CONSUMER, uuid, choice).catch((error: unknown) => error);
  expect(await refusal()).toMatchObject({ status: 404, message: 'The chain has no block to search' });
  direct.feed(events);
  const read = watchReads(direct);
  const message = 'No block from height 1 on matches the filters; set before_height to 1 to search older blocks';
  expect(await refusal()).toMatchObject({ status: 404, message });
  expect(read).toEqual(upTo(BLOCKS).reverse());
  expect(await refusal({ before_height: 1 })).toMatchObject({ status: 404 });
  expect(target.received).toEqual([]);
});

test('a search reads a bounded number of heights on a chain of any height', async () => {
  const looked: number[] = [];
  const scan: Scanner = {
    next: () => null,
    matchIn: () => null,
    previous(from, to) {
      if (to < from) return null;
      looked.push(to);
      return { height: to, matched: null, transactions: 0 };
    },
  };
  expect(await search().newest('', scan, 5 * MAX_BLOCKS)).toEqual({ matched: null, searchedFrom: 4 * MAX_BLOCKS });
  expect(looked.length).toBe(MAX_BLOCKS);
});

test('a search stops at its transaction limit, and can continue from there', async () => {
  await using direct = directHooks();
  direct.feed(events);
  const { history, store } = direct.hooks;
  const conditions = conditionsOfDefinition({ filters: { events: [nothing] } } as never);
  const scan = scanner({ history, candidates: store.candidates }, conditions);
  const bounded = search(systemClock, 20);
  const read = watchReads(direct);
  const ends: (number | null)[] = [];
  for (let below: number | null = BLOCKS + 1; below !== null; ) {
    const scanned = await bounded.newest('', scan, below);
    expect(scanned.matched).toBeNull();
    below = scanned.searchedFrom;
    ends.push(below);
  }
  expect(ends.length).toBeGreaterThan(5);
  expect(ends.slice(-2)).toEqual([1, null]);
  expect(read).toEqual(upTo(BLOCKS).reverse());
});

test('a search for a hook with principals reads the same blocks in both directions', async () => {
  await using direct = directHooks();
  direct.feed(events);
  const { history, store } = direct.hooks;
  const senders = new Set<string>();
  for (let height = 1; height <= BLOCKS; height++) {
    for (const { sender } of history.block(history.hashAt(height)!).transactions) senders.add(sender.address);
  }
  expect(senders.size).toBeGreaterThan(3);
  const read = watchReads(direct);
  for (const sender of senders) {
    const conditions = conditionsOfDefinition({ filters: { events: [{ type: 'contract_call', sender }] } } as never);
    const scan = scanner({ history, candidates: store.candidates }, conditions);
    const up: number[] = [];
    for (let row = scan.next(1, BLOCKS); row !== null; row = scan.next(row.height + 1, BLOCKS)) up.push(row.height);
    const down: number[] = [];
    for (let row = scan.previous(1, BLOCKS); row !== null; row = scan.previous(1, row.height - 1))
      down.push(row.height);
    expect(down).toEqual(up.toReversed());
  }
  expect(read.length).toBeLessThan(2 * BLOCKS * senders.size);
});

test('searches run one at a time, a failed one delays none, and too many are rejected', async () => {
  const searches = search();
  const order: string[] = [];
  const scan = (name: string, fails = false): Scanner => ({
    matchIn: () => null,
    next: () => null,
    previous: () => {
      order.push(name);
      if (fails) throw new Error(name);
      return null;
    },
  });
  const first = searches.newest('one', scan('first', true), 2);
  const second = searches.newest('one', scan('second'), 2);
  const crowd = Array.from({ length: 20 }, () =>
    searches.newest('one', scan('crowd'), 2).catch((error: unknown) => error),
  );
  // A search of another consumer waits for the accepted ones, and isn't rejected because of the others.
  const another = searches.newest('another', scan('another'), 2);
  expect(await first.catch((error: Error) => error.message)).toBe('first');
  expect(await second).toEqual({ matched: null, searchedFrom: 1 });
  const outcomes = await Promise.all(crowd);
  expect(outcomes.filter((outcome) => outcome instanceof HookProblem && outcome.status === 429)).toHaveLength(18);
  expect(await another).toEqual({ matched: null, searchedFrom: 1 });
  expect(order).toEqual(['first', 'second', 'crowd', 'crowd', 'another']);
  expect(await searches.newest('one', scan('later'), 2)).toEqual({ matched: null, searchedFrom: 1 });
});
