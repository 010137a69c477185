/**
 * A cursor belongs to one list. Every route rejects a cursor from another principal, asset, block or cycle, or returns nothing
 * of the other list. The routes come from the OpenAPI document, so that new routes are tested, too.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { networks } from '../../src/devnet/network.ts';
import { accounts } from '../../src/devnet/wallet.ts';
import type { HookApi } from '../../src/hooks/routes/hooks.ts';
import type { Cursor } from '../../src/store/model/page.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { type OpenApi, openApi } from '../support/api/api.ts';
import { appOf } from '../support/api/app.ts';
import { type GetRoute, getRoutes } from '../support/api/random-urls.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { snapshotsBy } from '../support/data/snapshots-by.ts';
import { hashOf } from '../support/events/handmade.ts';

const cursor: Cursor = { side: 'after', key: ['1'] };
/** A page without items, of a list with further pages. */
const page = { items: [], total: 2, current: cursor, next: cursor, previous: null, day: 0 };

/** Creates a stub that returns the page from every method, except for the given members. */
const stub = <T extends object>(answer: object, overrides: Readonly<Record<string, unknown>> = {}): T => {
  const answering = (name: string | symbol) => (name in overrides ? overrides[String(name)] : answer);
  const group = () => new Proxy(() => answer, { get: (_, name) => () => answering(name) });
  return new Proxy({} as T, { get: (_, name) => (name in overrides ? overrides[String(name)] : group()) });
};

/** Nothing has a tag. */
const reader = stub<Reader>(Object.assign(Promise.resolve(page), page), {
  file: 1,
  tip: null,
  historyFrom: null,
  blockHash: undefined,
  state: undefined,
  withoutPayouts: [],
});
const app = appOf({
  snapshots: snapshotsBy(() => reader),
  version: 'stackside v0.0.0 (test:test)',
  log: (event) => {
    throw new Error(event.event, { cause: event.cause });
  },
  hooks: stub<HookApi>(page),
  openHooks: true,
});

const [user = '', other = ''] = accounts('cursors', 'user', 2, networks.testnet).map(({ address }) => address);
/** Two values of each parameter that selects the list. */
const values: Readonly<Record<string, readonly [string, string]>> = {
  principal: [user, other],
  contract_id: [`${user}.token`, `${other}.token`],
  asset_identifier: [`${user}.token::coin`, `${other}.token::coin`],
  value: ['7', toHex(clarity.uint(8n))],
  tx_id: [hashOf('one'), hashOf('other')],
  height_or_hash: ['7', hashOf('a block')],
  bond_index: ['0', '1'],
  cycle_number: ['7', '8'],
  tenure_height: ['7', '8'],
  type: ['contract_call', 'token_transfer'],
  sort_by: ['fee', 'age'],
  sender: [user, other],
  deployer: [user, other],
  recipient: [user, other],
  min_amount: ['7', '8'],
  max_amount: ['8', '9'],
  from_time: ['7', '8'],
  to_time: ['8', '9'],
  day: ['2026-11-23', '2026-11-24'],
  namespace: ['btc', 'id'],
  prefix: ['a', 'b'],
  uuid: ['01234567-89ab-cdef-0123-456789abcdef', '01234567-89ab-cdef-0123-456789abcdee'],
};
/** Parameters that control how a list is read, or that filter a list whose cursors are plain numbers. */
const notTheList = new Set([
  ...['limit', 'offset', 'cursor', 'exclude_function_args', 'state', 'reason', 'from_height', 'to_height', 'topic'],
  ...['function_name', 'status', 'field.NAME', 'arg.NAME'],
]);
/** Conditions are the list of transactions; of other lists a window of times is a part. */
const isOfTheList = (path: string, name: string): boolean =>
  !notTheList.has(name) && (!/^(from|to)_time$/.test(name) || path === '/stackside/v1/transactions');
const principalOnly = /signers|stakers/;
/** Reports whether a parameter is left out: a list takes either contracts or a deployer. */
const isLeftOut = (name: string, changed: string | null): boolean =>
  changed === 'deployer' ? name === 'contract_id' : name === 'deployer';

/** Lists that accept an item's name instead of a cursor. */
const takesNames = ({ parameters }: GetRoute): boolean => parameters.some(({ name }) => name === 'offset');

async function routesWithCursors(): Promise<GetRoute[]> {
  const answer = await app.handle(new Request('http://localhost/docs/json'));
  return getRoutes(await answer.json()).filter(({ parameters }) => parameters.some(({ name }) => name === 'cursor'));
}

/** The first value of each parameter, except for the given one. */
function url({ path, parameters }: GetRoute, changed: string | null, cursor: string | null): string {
  const query = new URLSearchParams({ limit: '1' });
  let filled = path;
  for (const { name, in: place, schema } of parameters) {
    if (!isOfTheList(path, name) || isLeftOut(name, changed)) continue;
    const texts = values[name] ?? schema.enum ?? [];
    if (texts.length === 0) throw new Error(`${path}: no values for ${name}`);
    const [first, second] = name === 'principal' && principalOnly.test(path) ? texts.map((id) => `${id}.pool`) : texts;
    const value = (name === changed ? second : first) ?? '';
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else query.set(name, value);
  }
  if (cursor !== null) query.set('cursor', cursor);
  return `http://localhost${filled}?${query}`;
}

/** The next page's cursor, in either envelope. */
async function nextOf(route: GetRoute): Promise<string> {
  const answer = await app.handle(new Request(url(route, null, null)));
  const body = (await answer.json()) as { cursor: { next: string } | null; prev_cursor?: string };
  const next = body.prev_cursor ?? body.cursor?.next;
  expect([route.path, answer.status, next]).toEqual([route.path, 200, expect.any(String)]);
  return next ?? '';
}

describe('a cursor', () => {
  test('is rejected by the same list if another parameter differs', async () => {
    const listed = await routesWithCursors();
    expect(listed.length).toBeGreaterThanOrEqual(28);
    let count = 0;
    for (const route of listed) {
      const next = await nextOf(route);
      const statusOf = async (changed: string | null) =>
        (await app.handle(new Request(url(route, changed, next)))).status;
      expect({ path: route.path, own: await statusOf(null) }).toEqual({ path: route.path, own: 200 });
      for (const { name } of route.parameters) {
        if (!isOfTheList(route.path, name)) continue;
        count += 1;
        expect([route.path, name, await statusOf(name)]).toEqual([route.path, name, 400]);
      }
    }
    expect(count).toBeGreaterThanOrEqual(20);
  });

  test('differs between all routes', async () => {
    const listed = await routesWithCursors();
    const cursors = await Promise.all(listed.map(nextOf));
    expect(new Set(cursors).size).toBe(listed.length);
  });
});

describe("an item's name used as a cursor", () => {
  let directory: DataDirectory;
  let api: OpenApi;
  beforeAll(() => {
    const options = { seed: 5, blocks: 60, accounts: 10, transactionsPerBlock: 8 };
    directory = ingestOf(simulatedEvents(options));
    api = openApi(directory.path);
  });
  afterAll(() => {
    api[Symbol.dispose]();
    directory[Symbol.dispose]();
  });

  interface Flat {
    results: unknown[];
    total: number;
    prev_cursor: string | null;
  }
  const list = async (path: string): Promise<{ status: number; body: Flat }> => {
    const response = await api.get(path);
    return { status: response.status, body: (await response.json()) as Flat };
  };

  interface Transaction {
    sender: { address: string };
    block: { height: number; index_hash: string; tx_index: number };
    payload?: { contract_id?: string };
    contract_call?: { contract_id: string };
  }
  const transactions = async () => (await list('/extended/v3/transactions?limit=50')).body.results as Transaction[];

  /** Names of blocks, transactions and logs of the chain, in the form of each list. */
  const namesOf = async (path: string): Promise<string[]> =>
    (await transactions())
      .filter((_, index) => index % 3 === 0)
      .map(({ block: { height, index_hash, tx_index } }) => {
        if (path.includes('{tenure_height}')) return index_hash;
        return path.includes('{contract_id}')
          ? `${height}:2147483647:${tx_index}:0`
          : `${index_hash}:2147483647:${tx_index}`;
      });

  /** Lists that have items in the chain, by the route's path. */
  async function subjects(path: string): Promise<string[]> {
    if (path.includes('{tenure_height}')) {
      const { results } = (await list('/extended/v2/blocks?limit=30')).body as { results: { tenure_height: number }[] };
      return [...new Set(results.map((row) => String(row.tenure_height)))];
    }
    const results = await transactions();
    const contracts = path.includes('{contract_id}')
      ? results.flatMap((row) => row.payload?.contract_id ?? row.contract_call?.contract_id ?? [])
      : results.map(({ sender }) => sender.address);
    return [...new Set(contracts)];
  }

  test('returns no rows of another list', async () => {
    const listed = await routesWithCursors();
    const flat = listed.filter((route) => takesNames(route) && route.parameters.some((item) => item.in === 'path'));
    expect(flat.map(({ path }) => path).sort()).toEqual([
      '/extended/v2/addresses/{principal}/transactions',
      '/extended/v2/block-tenures/{tenure_height}/blocks',
      '/extended/v2/smart-contracts/{contract_id}/logs',
    ]);
    for (const { path } of flat) {
      const names = await namesOf(path);
      const walks: { target: string; rows: Set<string> }[] = [];
      for (const subject of await subjects(path)) {
        const target = path.replace(/\{\w+\}/, subject);
        const rows = new Set<string>();
        let next = '';
        do {
          const { status, body } = await list(`${target}?limit=20${next}`);
          if (status !== 200) break;
          for (const item of body.results) rows.add(JSON.stringify(item));
          next = body.prev_cursor === null ? '' : `&cursor=${body.prev_cursor}`;
        } while (next !== '');
        if (rows.size > 1) walks.push({ target, rows });
        if (walks.length === 3) break;
      }
      expect({ path, lists: walks.length > 1 }).toEqual({ path, lists: true });
      for (const walk of walks) {
        for (const name of names) {
          const { status, body } = await list(`${walk.target}?limit=20&cursor=${name}`);
          const foreign = status === 200 ? body.results.filter((item) => !walk.rows.has(JSON.stringify(item))) : [];
          expect([walk.target, [200, 404].includes(status), foreign]).toEqual([walk.target, true, []]);
        }
      }
    }
  });
});
