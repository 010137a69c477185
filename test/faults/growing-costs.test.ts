/**
 * No request's cost grows with the chain: of an index that is four times as long it reads as many pages as of the short
 * one. STACKSIDE_RUNS sets how many URLs of each route are tried.
 */
import { beforeAll, expect, test } from 'bun:test';
import type { NodeEvent } from '../../src/devnet/node-event.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { conditionsOfDefinition } from '../../src/hooks/definition/definition.ts';
import type { Filter } from '../../src/hooks/definition/filter-schemas.ts';
import { scanner, search } from '../../src/hooks/matching/scan.ts';
import type { WorkLimits } from '../../src/store/read/index-reader.ts';
import { type GetRoute, getRoutes, type Parameter, randomUrl, Subjects } from '../support/api/random-urls.ts';
import { ingestOf, openAt, received } from '../support/data/ingest.ts';
import { keepToEnd } from '../support/data/keep-to-end.ts';
import {
  bytesRead,
  type Cost,
  canCountReads,
  countedApi,
  PAGE_BYTES,
  withSmallPages,
} from '../support/data/page-reads.ts';
import { casesOf, firstSeed } from '../support/property.ts';

const SHORT = 100;
const LONG = 4 * SHORT;

/** Reached by the short chain, so that a query which only they bound costs the same in both. */
const limits: WorkLimits = {
  search: { sorted: 20, rows: 60, entries: 200 },
  walkRows: 60,
  activity: { transfers: 10, points: 5 },
  deployments: 8,
  foundRows: 8,
  logs: { merged: 2, principals: 20 },
  values: { unindexed: 5, few: 5, quick: 5, sorted: 10, rows: 10, bytes: 10_000 },
};

/** Limits that rare transactions reach even on the short chain: growth that these limits end has a bound. */
const lowLimits: WorkLimits = { ...limits, search: { sorted: 2, rows: 5, entries: 200 }, walkRows: 5 };

/** A URL that failed once: of the deployments since a time, the short chain has few, and the long one fewer than the limit. */
const FOUND = '/extended/v1/tx?limit=2&type=smart_contract&offset=4&start_time=1735699565';

/**
 * More pages that a request may read of the long chain than of the short one: trees are higher, the balance
 * of an account comes from up to 64 transactions after a checkpoint, and rows differ in length. A request that walks a table or an
 * index of all transactions reads hundreds more.
 */
const SOME = 80;

/** Routes that answer with the whole of a list, and not with a page of it. */
const unpaged: Readonly<Record<string, string>> = {
  '/v1/addresses/{blockchain}/{address}': 'all names of an owner',
  '/extended/v1/{pox}/stacker/{principal}': 'all that a stacker did',
  '/stackside/v1/principals/{principal}/history': 'all that an account did, streamed',
};

/** Optional parameters that a URL has at most, and URLs for each pair of them. */
const MAX_PARAMETERS = 3;
const URLS_A_PAIR = 1;

/** Number of accounts, contracts and tokens to request. */
const BUSIEST = 5;

const { keep } = keepToEnd();
let directories: string[] = [];
const subjects = new Subjects();

const heightOf = ({ path, body }: NodeEvent): number => (path === '/new_block' ? JSON.parse(body).block_height : 0);

/** Keeps the names that appear in the most events, because their lists are the longest. */
function leaveBusiest(names: Set<string>, events: readonly NodeEvent[]): void {
  const busy = (name: string): number => events.filter(({ body }) => body.includes(name)).length;
  const ranked = [...names].map((name) => ({ name, events: busy(name) })).sort((a, b) => b.events - a.events);
  for (const { name } of ranked.slice(BUSIEST)) names.delete(name);
}

beforeAll(() => {
  if (!canCountReads) return;
  const options = { seed: 3, blocks: LONG, transactionsPerBlock: 6, accounts: 5, forkEvery: 0 };
  const events = [...devnetEvents(options)];
  const end = events.findIndex((event) => heightOf(event) > SHORT);
  directories = [events.slice(0, end), events].map((some) => keep(ingestOf(some.map(received))));
  for (const directory of directories) withSmallPages(directory);
  for (const event of events.slice(0, end)) subjects.add(event);
  for (const set of [subjects.principals, subjects.contracts, subjects.assets]) leaveBusiest(set, events);
});

/** A page of few items, so that it holds no more of the long chain than of the short one. */
const smallPage = (parameter: Parameter): Parameter => ({
  ...parameter,
  required: true,
  schema: { anyOf: [{ const: '1' }, { const: '2' }] },
});

/** URLs with few of a route's parameters each: the more filters there are, the less is left to read. */
function* urlsOf({ path, parameters }: GetRoute, prng: Prng): Generator<string> {
  const always = parameters.flatMap((item) =>
    item.name === 'limit' ? [smallPage(item)] : item.required ? [item] : [],
  );
  const optional = parameters.filter(({ name, required }) => !required && name !== 'limit' && name !== 'cursor');
  const pairs = (optional.length * (optional.length + 1)) / 2;
  for (let count = 0; count < casesOf(2 + URLS_A_PAIR * pairs); count++) {
    const chosen = Array.from({ length: prng.below(MAX_PARAMETERS + 1) }, () => optional[prng.below(optional.length)]);
    const drawn = [...new Set(chosen)].flatMap((item) => (item === undefined ? [] : [{ ...item, required: true }]));
    yield randomUrl({ path, parameters: [...always, ...drawn] }, subjects, prng);
  }
}

const grows = (short: Cost, long: Cost): boolean =>
  // Requests for data that the short chain lacks cost nothing there.
  short.status !== 404 && long.pages > short.pages + SOME;

test.skipIf(!canCountReads)(
  "a request reads no more pages of a longer chain (skipped if the system doesn't count reads)",
  async () => {
    const [shorter, longer] = directories;
    if (shorter === undefined || longer === undefined) throw new Error('there are no chains');
    using short = countedApi(shorter, limits);
    using long = countedApi(longer, limits);
    const prng = new Prng(`growing costs ${firstSeed}`);
    const routes = getRoutes(await short.document());
    expect(Object.keys(unpaged).filter((path) => routes.every((route) => route.path !== path))).toEqual([]);
    using shortWithLess = countedApi(shorter, lowLimits);
    using longWithLess = countedApi(longer, lowLimits);
    const drawn = routes.filter(({ path }) => !(path in unpaged)).flatMap((route) => [...urlsOf(route, prng)]);
    const urls = new Set([FOUND, ...drawn]);
    const grown: object[] = [];
    for (const url of urls) {
      const [before, after] = [await short.costOf(url), await long.costOf(url)];
      if (!grows(before, after)) continue;
      if (grows(await shortWithLess.costOf(url), await longWithLess.costOf(url))) grown.push({ url, before, after });
    }
    expect(grown).toEqual([]);
    expect(urls.size).toBeGreaterThan(250);
  },
);

const NOBODYS = 'ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM.nobodys';
/** Filters that match in many blocks, and filters that match in none. */
const filters: readonly Filter[] = [
  { type: 'coinbase' },
  { type: 'stx_event' },
  { type: 'contract_call' },
  { type: 'contract_call', contract_identifier: NOBODYS },
  { type: 'contract_deploy', sender: NOBODYS },
];

/** Pages that are read to find the newest block that a filter matches, by who has just opened the files. */
async function pagesOfSearch(directory: string, filter: Filter): Promise<number> {
  using open = openAt(directory);
  const { history, hooks } = open.ingest;
  const conditions = conditionsOfDefinition({ filters: { events: [filter] } });
  const scan = scanner({ history, candidates: hooks.candidates }, conditions);
  const before = bytesRead();
  await search().newest('', scan, history.tip().height + 1);
  return Math.round((bytesRead() - before) / PAGE_BYTES);
}

test.skipIf(!canCountReads)(
  "a search for a chainhook's last match reads no more of a longer chain (skipped if the system doesn't count reads)",
  async () => {
    const [short, long] = directories;
    if (short === undefined || long === undefined) throw new Error('there are no chains');
    const grown: object[] = [];
    for (const filter of filters) {
      const [before, after] = [await pagesOfSearch(short, filter), await pagesOfSearch(long, filter)];
      if (after > before + SOME) grown.push({ filter, before, after });
    }
    expect(grown).toEqual([]);
  },
);
