/** The routes that search logs and calls of contracts by their decoded values. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { networks } from '../../src/devnet/network.ts';
import { accounts } from '../../src/devnet/wallet.ts';
import type { Snapshots } from '../../src/store/read/snapshots.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { testApp } from './test-app.ts';

const BOOT = 'ST000000000000000000002AMW42H';
const POX = `${BOOT}.pox-5`;

interface Log {
  block_height: number;
  tx_id: string;
  topic: string;
  value: { repr: string };
}
interface Call {
  block_height: number;
  function_name: string;
  status: string;
  function_args: { name: string; repr: string }[];
}
interface Answer<T> {
  status: number;
  body: {
    total: number | null;
    cursor: { next: string | null; previous: string | null };
    results: T[];
    message: string;
  };
}

let snapshots: Snapshots;
let app: ReturnType<typeof testApp>;
beforeAll(() => {
  const chain = { seed: 2, blocks: 90, accounts: 10, transactionsPerBlock: 5, staking: 40, forkEvery: 6 };
  snapshots = memoryIndex(simulatedEvents(chain));
  app = testApp(snapshots);
});

const base = `/stackside/v1/smart-contracts/${POX}`;
const logs = (query = ''): Promise<Answer<Log>> => app.json(`${base}/logs${query}`);
const calls = (query = '', contract = POX): Promise<Answer<Call>> =>
  app.json(`/stackside/v1/smart-contracts/${contract}/calls${query}`);

test('finds logs by fields, topic and heights, in consecutive pages', async () => {
  const all = (await logs('?limit=50')).body;
  expect(all.results.length).toBeGreaterThan(20);
  expect(all.total).toBeGreaterThanOrEqual(all.results.length);
  const { results, total } = (await logs('?field.topic=stake&limit=50')).body;
  expect(total).toBeNull();
  expect(results.length).toBeGreaterThan(1);
  for (const { value } of results) expect(value.repr).toContain('(topic "stake")');
  const first = (await logs('?field.topic=stake&limit=1')).body;
  const second = (await logs(`?field.topic=stake&limit=1&cursor=${first.cursor.next}`)).body;
  expect([...first.results, ...second.results]).toEqual(results.slice(0, 2));
  const back = (await logs(`?field.topic=stake&limit=1&cursor=${second.cursor.previous}`)).body;
  expect(back.results).toEqual(first.results);
  const height = results[1]!.block_height;
  const here = (await logs(`?field.topic=%22stake%22&from_height=${height}&to_height=${height}`)).body.results;
  expect(here).toEqual(results.filter(({ block_height }) => block_height === height));
  expect((await logs('?topic=other')).body.results).toEqual([]);
  expect((await logs('?topic=print&limit=50')).body.results).toEqual(all.results);
});

test('finds calls by function, status and arguments named in the interface', async () => {
  const named = (await calls('?function_name=stake&limit=50')).body.results;
  expect(named.length).toBeGreaterThan(2);
  for (const { function_name } of named) expect(function_name).toBe('stake');
  const { body } = await calls('?limit=50');
  const failed = body.results.filter(({ status }) => status !== 'success');
  const words = 'abort_by_response,abort_by_post_condition,problematic_skipped';
  expect((await calls(`?status=${words}&limit=50`)).body.results.slice(0, failed.length)).toEqual(failed);
  const { repr, name } = named[0]!.function_args[0]!;
  expect(name).toBe('amount-ustx');
  const matching = named.filter(({ function_args }) => function_args[0]?.repr === repr);
  for (const argument of [`arg.0=${repr}`, `arg.amount-ustx=${repr}`, `arg.amount-ustx=between:${repr},${repr}`]) {
    expect((await calls(`?function_name=stake&${argument}&limit=50`)).body.results).toEqual(matching);
  }
  const names = named[0]!.function_args.map((argument) => `arg.${argument.name}`).join(', ');
  const { message } = (await calls('?function_name=stake&arg.amount=u5')).body;
  expect(message).toBe(`querystring/arg.amount must name an argument of stake: ${names}`);
});

test('rejects an invalid filter with the name of the parameter', async () => {
  const refused: [string, RegExp][] = [
    ['?field.amount=gte:word', /^querystring\/field\.amount must have an integer after gte:$/],
    [`?field.amount=${'9'.repeat(41)}`, /querystring\/field\.amount must be an integer that fits into 128 bits/],
    ['?field.=1', /querystring\/field\. must have a name after each dot/],
    ['?field.a..b=1', /name after each dot/],
    ['?field.a=%E0%A4', /querystring\/field\.a must have valid percent-encoding/],
    [`?field.${'a'.repeat(1_025)}=1`, /more than 1024 characters/],
    [`?${Array.from({ length: 9 }, (_, n) => `field.f${n}=1`).join('&')}`, /more than 8 names/],
    [`?${Array.from({ length: 5 }, (_, n) => `field.f=${n}`).join('&')}`, /more than 4 times/],
    ['?from_height=9&to_height=8', /querystring\/to_height must be >= from_height/],
    ['?from_height=4294967296', /must be <= 4294967295/],
    ['?cursor=AbCd', /querystring.cursor must be a cursor/],
  ];
  for (const [query, message] of refused) {
    const { status, body } = await logs(query);
    expect([query, status, message.test(body.message) ? 'named' : body.message]).toEqual([query, 400, 'named']);
  }
  expect((await calls('?arg.amount=1')).body.message).toMatch(
    /querystring\/arg\.amount must be given with function_name/,
  );
  expect((await calls('?function_name=no-such&arg.x=1')).body.message).toMatch(/by its place, such as arg\.0/);
});

test('finds nothing for unknown names, prefixes of names and unusual values', async () => {
  const names = ['topi=stake', 'topic.x=stake', '__proto__=1', 'constructor=none'];
  const topics = [`${'x'.repeat(3_000)}`, 'stak', '%00', 'none', `%27${BOOT}`].map((text) => `topic=${text}`);
  const range = 'amount-ustx=between:-170141183460469231731687303715884105728,-1';
  for (const query of [...[...names, ...topics, range].map((field) => `?field.${field}`), '?field=5']) {
    const { status, body } = await logs(query);
    expect([query, status, body.results]).toEqual([query, 200, []]);
  }
});

test('explains an empty list by a wrong contract, function or argument', async () => {
  const missing = { status: 404, body: { message: 'Smart contract not found' } };
  expect(await calls('', `${BOOT}.nothing`)).toMatchObject(missing);
  expect(await app.json(`/stackside/v1/smart-contracts/${BOOT}.nothing/logs?field.a=1`)).toMatchObject(missing);
  const wrong: [query: string, message: string][] = [
    ['?function_name=stakes', 'querystring/function_name must name a function of the contract: did you mean stake?'],
    ['?function_name=x&from_height=1', 'querystring/function_name must name a function of the contract'],
    ['?function_name=stake&arg.99=u1', 'querystring/arg.99 must name an argument of stake: arg.amount-ustx, '],
  ];
  for (const [query, message] of wrong) {
    expect(await calls(query)).toMatchObject({ status: 400, body: { message: expect.stringContaining(message) } });
  }
  expect(await calls('?function_name=stake&arg.0=u0')).toMatchObject({ status: 200, body: { results: [] } });
});

describe('logs of several contracts', () => {
  type ContractLog = Log & { contract_id: string };
  const searchLogs = (query: string): Promise<Answer<ContractLog>> => app.json(`/stackside/v1/logs?${query}`);
  const BNS = `${BOOT}.bns`;

  /** Reads all pages of a list. */
  async function walkLogs(query: string, limit: number): Promise<ContractLog[]> {
    const rows: ContractLog[] = [];
    for (let cursor = ''; ; ) {
      const { status, body } = await searchLogs(`${query}&limit=${limit}${cursor}`);
      expect({ query, status }).toEqual({ query, status: 200 });
      rows.push(...body.results);
      if (body.cursor.next === null) return rows;
      cursor = `&cursor=${body.cursor.next}`;
    }
  }
  const logsOf = async (contract_id: string): Promise<ContractLog[]> => {
    const { body } = await app.json(`/stackside/v1/smart-contracts/${contract_id}/logs?limit=50`);
    return (body as Answer<Log>['body']).results.map((log) => ({ contract_id, ...log }));
  };

  test('returns the logs of each contract, or of all contracts of a deployer', async () => {
    const [pox, bns] = [await logsOf(POX), await logsOf(BNS)];
    const both = await walkLogs(`contract_id=${POX}&contract_id=${BNS}`, 7);
    expect(both.filter(({ contract_id }) => contract_id === POX).slice(0, pox.length)).toEqual(pox);
    expect(both.filter(({ contract_id }) => contract_id === BNS).slice(0, bns.length)).toEqual(bns);
    expect(new Set(both.map(({ contract_id }) => contract_id)).size).toBe(2);
    const heights = both.map(({ block_height }) => block_height);
    expect(heights).toEqual(heights.toSorted((a, b) => b - a));
    const all = await walkLogs(`deployer=${BOOT}`, 50);
    expect(all.filter(({ contract_id }) => [POX, BNS].includes(contract_id))).toEqual(both);
    expect((await searchLogs(`deployer=${BOOT}`)).body.total).toBe(all.length);
    expect(await walkLogs(`deployer=${BOOT}&order=asc`, 7)).toEqual(all.toReversed());
    const [newest] = pox;
    const { body } = await app.json(`/extended/v3/transactions/${newest!.tx_id}`);
    const { sender } = body as { sender: { address: string } };
    const sent = await walkLogs(`deployer=${BOOT}&sender=${sender.address}`, 7);
    expect(sent).toContainEqual(newest!);
    expect(sent.length).toBeLessThan(all.length);
    const printed = new Set(all.map(({ tx_id }) => tx_id));
    const calls: { function_name: string; tx_id: string }[] = [];
    for (const contract of [POX, BNS]) {
      const { body } = await app.json(`/stackside/v1/smart-contracts/${contract}/calls?limit=50`);
      calls.push(...(body as { results: typeof calls }).results);
    }
    const called = calls.find(({ tx_id }) => printed.has(tx_id));
    const byFunction = await walkLogs(`deployer=${BOOT}&function_name=${called!.function_name}`, 7);
    expect(byFunction.map(({ tx_id }) => tx_id)).toContain(called!.tx_id);
    expect(byFunction.length).toBeLessThan(all.length);
    const stakes = all.filter(({ value }) => value.repr.includes('(topic "stake")'));
    expect(await walkLogs(`deployer=${BOOT}&field.topic=stake`, 7)).toEqual(stakes);
  });

  test('returns one list for any order and notation of the contracts', async () => {
    const first = (await searchLogs(`contract_id=${POX}&contract_id=${BNS}&limit=2`)).body;
    for (const spelled of [`${BNS},${POX}`, `${POX}, ${BNS}`, `${POX},${BNS},${POX}`]) {
      const query = `contract_id=${encodeURIComponent(spelled)}&limit=2`;
      expect((await searchLogs(query)).body).toEqual(first);
      expect((await searchLogs(`${query}&cursor=${first.cursor.next}`)).status).toBe(200);
    }
  });

  test('requires contracts or a deployer, and rejects a mistake with the name of the parameter', async () => {
    const names = (count: number) => Array.from({ length: count }, (_, n) => `${BOOT}.pool-${n}`);
    const refused: [string, RegExp][] = [
      ['', /^querystring\/contract_id must be given if there is no deployer$/],
      ['topic=print', /^querystring\/contract_id must be given/],
      ['contract_id=', /^querystring\/contract_id\/0 must be a contract identifier/],
      [`contract_id=${POX},`, /^querystring\/contract_id\/1 must be a contract identifier/],
      [`contract_id=${POX}&contract_id=${BOOT}.a%20b`, /^querystring\/contract_id\/1 must be a contract identifier/],
      [`contract_id=${BOOT}`, /^querystring\/contract_id\/0 must be a contract identifier/],
      ['contract_id=ST000000000000000000002AMW42J.pool', /^invalid STX address in querystring\/contract_id\/0/],
      [`contract_id=${names(21).join(',')}`, /^querystring\/contract_id must NOT have more than 20 items$/],
      [`contract_id=${names(21).join('&contract_id=')}`, /^querystring\/contract_id must NOT have more than 20 items$/],
      [`contract=${POX}`, /^querystring\/contract is not a parameter of this route: did you mean contract_id\?$/],
      ['deployer=', /^querystring\/deployer must be a Stacks address/],
      [`deployer=${POX}`, /^querystring\/deployer must be a Stacks address/],
      [`deployer=${BOOT}&deployer=${BOOT}`, /^querystring\/deployer must be given once, not 2 times$/],
      [`deployer=${BOOT}&contract_id=${POX}`, /^querystring\/deployer must NOT be given together with contract_id$/],
      [`deployer=${BOOT}&sender=nobody`, /^querystring\/sender must be a Stacks address/],
      [`deployer=${BOOT}&field.amount=gte:word`, /^querystring\/field\.amount must have an integer after gte:$/],
      [`deployer=${BOOT}&from_height=9&to_height=8`, /^querystring\/to_height must be >= from_height$/],
      [`deployer=${BOOT}&from_time=9&to_time=8`, /^querystring\/to_time must be >= from_time$/],
      [`deployer=${BOOT}&order=up`, /^querystring\/order must be equal to one of/],
      [`deployer=${BOOT}&topic=${'x'.repeat(129)}`, /^querystring\/topic must NOT have more than 128 characters$/],
    ];
    for (const [query, message] of refused) {
      const { status, body } = await searchLogs(query);
      expect([query, status, message.test(body.message) ? 'named' : body.message]).toEqual([query, 400, 'named']);
    }
    const empty = { total: 0, results: [], cursor: { next: null, previous: null } };
    const answer = await searchLogs(`contract_id=${names(20).join(',')}`);
    expect(answer).toMatchObject({ status: 200, body: empty });
  });

  test('rejects a cursor from other contracts, conditions or orders', async () => {
    const { next } = (await searchLogs(`deployer=${BOOT}&limit=1`)).body.cursor;
    const conditions = ['order=asc', 'topic=print', 'field.topic=stake', 'from_height=1'];
    for (const query of [`contract_id=${POX}`, ...conditions.map((condition) => `deployer=${BOOT}&${condition}`)]) {
      const { status, body } = await searchLogs(`${query}&cursor=${next}`);
      expect([query, status, body.message]).toEqual([query, 400, expect.stringMatching(/cursor must be a cursor/)]);
    }
  });

  test('returns no logs for unknown contracts, senders and topics', async () => {
    const [nobody = ''] = accounts('nobody', 'user', 1, networks.testnet).map(({ address }) => address);
    const filters = ['topic=unheard-of', 'field.nothing=1', 'from_height=4000000000', 'from_time=253402300799'];
    const narrowed = [`sender=${nobody}`, ...filters].map((filter) => `deployer=${BOOT}&${filter}`);
    for (const query of [`contract_id=${BOOT}.nothing`, `deployer=${nobody}`, ...narrowed]) {
      const { status, body } = await searchLogs(query);
      expect([query, status, body.results, body.cursor.next]).toEqual([query, 200, [], null]);
    }
  });
});
