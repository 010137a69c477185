/** The total of v1's list of events equals the number of events that its pages have. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { indexPath } from '../../src/store/files/database.ts';
import { type OpenApi, openApi } from '../support/api/api.ts';
import type { DataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, received } from '../support/data/ingest.ts';

const LIST = '/extended/v1/tx/events';
const MOVES = 'stx_asset,fungible_token_asset,non_fungible_token_asset,stx_lock';

let directory: DataDirectory;
let api: OpenApi;
let db: Database;

beforeAll(() => {
  const events = [
    ...devnetEvents({ seed: 4, blocks: 60, accounts: 10, transactionsPerBlock: 6, staking: 20, forkEvery: 9 }),
  ];
  directory = ingestOf(events.map(received));
  api = openApi(directory.path);
  db = new Database(indexPath(directory.path), { readonly: true });
});

afterAll(() => {
  db.close();
  api[Symbol.dispose]();
  directory[Symbol.dispose]();
});

const get = async (query: string) =>
  (await (await api.get(`${LIST}?${query}`)).json()) as { events: object[]; total?: number | null };

/** The number of events on all pages. */
async function countEvents(query: string): Promise<number> {
  let count = 0;
  for (;;) {
    const { events } = await get(`${query}&limit=100&offset=${count}`);
    if (events.length === 0) return count;
    count += events.length;
  }
}

const texts = (sql: string): string[] =>
  db
    .query<{ text: string }, []>(sql)
    .all()
    .map(({ text }) => text);

test('a response without include_total omits the total', async () => {
  const [id] = texts("SELECT '0x' || lower(hex(tx_id)) AS text FROM transactions LIMIT 1");
  expect(Object.keys(await get(`tx_id=${id}`)).sort()).toEqual(['events', 'limit', 'offset']);
});

test('the total of a transaction counts the requested types', async () => {
  const ids = texts(
    "SELECT '0x' || lower(hex(tx_id)) AS text FROM transactions WHERE event_count > 0 ORDER BY event_count DESC LIMIT 8",
  );
  expect(ids.length).toBeGreaterThan(4);
  for (const id of ids) {
    for (const types of ['', '&type=smart_contract_log', `&type=${MOVES}`, '&type=stx_asset']) {
      const query = `tx_id=${id}${types}`;
      expect([query, (await get(`${query}&include_total=true`)).total]).toEqual([query, await countEvents(query)]);
    }
  }
  expect((await get(`tx_id=0x${'0'.repeat(64)}&include_total=true`)).total).toBe(0);
});

test('the total of an address counts moves, logs or both, and is null for other types', async () => {
  const addresses = texts('SELECT address AS text FROM accounts ORDER BY transactions DESC LIMIT 10');
  const contracts = texts('SELECT key AS text FROM counters WHERE kind = 6 ORDER BY count DESC LIMIT 5');
  expect(contracts.length).toBeGreaterThan(2);
  for (const address of [...addresses, ...contracts]) {
    for (const types of ['', '&type=smart_contract_log', `&type=${MOVES}`]) {
      const query = `address=${address}${types}`;
      expect([query, (await get(`${query}&include_total=true`)).total]).toEqual([query, await countEvents(query)]);
    }
    expect((await get(`address=${address}&type=stx_asset&include_total=true`)).total).toBeNull();
  }
});

test('a transaction has the events and arguments that each request asks for, also from the cache', async () => {
  const { id } = db
    .query<{ id: string }, []>(
      `SELECT lower(hex(t.tx_id)) AS id FROM transactions t JOIN events e ON e.position = t.position
        WHERE t.type = 2 GROUP BY t.position HAVING count(*) > 2 LIMIT 1`,
    )
    .get()!;
  const read = async (query: string) => {
    const answer = await api.get(`/extended/v1/tx/0x${id}?${query}`);
    return (await answer.json()) as { events: object[]; contract_call: { function_args?: object[] } };
  };
  const all = await read('event_limit=100');
  expect(all.events.length).toBeGreaterThan(2);
  for (const limit of [1, 2, 20, 2, 1]) {
    expect((await read(`event_limit=${limit}`)).events).toEqual(all.events.slice(0, limit));
    expect((await read(`event_limit=${limit}&event_offset=1`)).events).toEqual(all.events.slice(1, limit + 1));
  }
  for (const excluded of [true, false, true, false]) {
    const { function_args } = (await read(`exclude_function_args=${excluded}`)).contract_call;
    expect(function_args === undefined).toBe(excluded);
  }
});
