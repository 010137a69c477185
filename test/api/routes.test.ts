/** Parameters, answers and 404s of each route. */

import { describe, expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { RULES } from '../../src/api/shared/identifiers.ts';
import { stacksAddress } from '../../src/codec/address.ts';
import { encodeCursor } from '../../src/http/pagination.ts';
import { plugin, route } from '../../src/http/route.ts';
import { HEAD } from '../../src/store/model/page.ts';
import { checkedBody, withCheckedResponses } from '../support/api/checked-app.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { alice, block, bob, drop, hashOf, receipt, transfer } from '../support/events/handmade.ts';
import { routeContext } from './route-context.ts';
import { ADDRESS, bytes, CONTRACT, hash, OTHER, sampleEvents, waiting } from './sample-chain.ts';
import { isOfStaking, sampleRoutes } from './sample-routes.ts';
import { emptyIndex, sampleIndex, testApp } from './test-app.ts';

const sampleApp = testApp();

const CURSOR = 'querystring/cursor must be a cursor from an earlier response, unchanged';
/** A right check sum, under a version byte that no network has. */
const NO_NETWORK = stacksAddress(1, bytes(0x31, 20));

interface List {
  total: number;
  limit: number;
  cursor: { next: string | null; previous: string | null; current: string };
  results: Record<string, unknown>[];
}

/** The lists of v3 with cursors that contain items of the sample chain. */
const lists = sampleRoutes
  .filter((route) => route.path.startsWith('/extended/v3/') && !isOfStaking(route))
  .filter(({ route }) => route.detail.parameters.some(({ name }) => name === 'cursor'))
  .map(({ path }) => path);

describe.each(lists)('%s', (path) => {
  test('has 20 items per page by default', async () => {
    for (const [query, limit] of [
      ['', 20],
      ['?limit=50', 50],
      ['?limit=1', 1],
    ] as const) {
      expect(await sampleApp.json(path + query)).toMatchObject({ status: 200, body: { limit } });
    }
  });

  test.each([
    ['', CURSOR],
    ['3:0:0', CURSOR],
    ['a'.repeat(1025), 'querystring/cursor must NOT have more than 1024 characters'],
    ['abc', 'querystring/cursor must be a cursor that this list returned; omit it to get the first page'],
  ])('rejects the cursor %p', async (cursor, message) => {
    const { status, body } = await sampleApp.json(`${path}?cursor=${cursor}`);
    expect([status, body]).toMatchObject([400, { code: 'VALIDATION', message }]);
  });
});

describe('the first page of an empty index', () => {
  test.each([
    ['transactions', '/extended/v3/transactions'],
    ['mempool-transactions', '/extended/v3/mempool/transactions'],
  ])('of %s has a cursor that starts a walk once there are items', async (list, path) => {
    const { request } = testApp(emptyIndex());
    const current = encodeCursor(list, HEAD);
    expect(await (await request(path)).text()).toBe(
      `{"total":0,"limit":20,"cursor":{"next":null,"previous":null,"current":"${current}"},"results":[]}`,
    );
    expect((await sampleApp.json(`${path}?cursor=${current}`)).body).toEqual((await sampleApp.json(path)).body);
  });
});

describe('GET /extended', () => {
  test('returns the tip', async () => {
    const { request } = sampleApp;
    expect(await (await request('/extended')).text()).toBe(
      `{"server_version":"stackside v1.2.3 (main:abc1234)","status":"ready","chain_tip":{"block_height":3,"block_hash":"${hash(0xb3)}","index_block_hash":"${hash(0xc3)}","burn_block_height":103}}`,
    );
  });

  test('returns no tip before the first block', async () => {
    const { json } = testApp(emptyIndex());
    const { body } = await json<object>('/extended');
    expect(Object.keys(body)).toEqual(['server_version', 'status']);
  });
});

describe('GET /extended/v3/transactions/{tx_id}', () => {
  const path = (id: string) => `/extended/v3/transactions/${id}`;
  const [, { id: pending }] = waiting;
  const digits = pending.slice(2);

  test.each([`0x${digits}`, digits, `0x${digits.toUpperCase()}`, digits.toUpperCase()])('accepts %s', async (id) => {
    const { status, body } = await sampleApp.json(path(id));
    expect(status).toBe(200);
    expect(body).toMatchObject({ tx_id: pending, status: 'pending', replaced_by_tx_id: null });
  });

  test.each(['0xzz', '0x', hash(1).slice(0, -1), `${hash(1)}0`, `0X${digits}`, 'latest'])('rejects %s', async (id) => {
    for (const tail of ['', '/events']) {
      const { status, body } = await sampleApp.json(path(id) + tail);
      expect(status).toBe(400);
      expect(body).toMatchObject({ message: `params/tx_id must be ${RULES.txId}` });
    }
  });

  test('a dropped transaction names its replacement', async () => {
    const [, replaced] = waiting;
    const rival = transfer(alice, 7, 100);
    const { json } = testApp(memoryIndex([...sampleEvents(), drop([replaced], 'ReplaceByFee', rival)]));
    const { body } = await json(path(replaced.id));
    expect(body).toMatchObject({ status: 'dropped_replace_by_fee', replaced_by_tx_id: rival.id });
    expect((await json('/extended/v3/mempool/transactions')).body).toMatchObject({ total: 1 });
  });

  test.each(['', '/events'])('%s returns 404 for an unknown id', async (tail) => {
    const { status, body } = await sampleApp.json(path(hash(0x99)) + tail);
    expect([status, body]).toEqual([404, { statusCode: 404, error: 'Not Found', message: 'Transaction not found' }]);
  });

  test.each([
    ['include=nonsense', 'querystring/include/0 must be equal to one of the allowed values'],
    ['include=', 'querystring/include/0 must be equal to one of the allowed values'],
    ['include=result&include=a', 'querystring/include/1 must be equal to one of the allowed values'],
  ])('rejects ?%s', async (query, message) => {
    const { status, body } = await sampleApp.json(`${path(hash(0x31))}?${query}`);
    expect(status).toBe(400);
    expect((body as { message: string }).message).toStartWith(message);
  });

  test.each([
    ['', []],
    ['?include=result', ['result']],
    ['?include=result,%20result&include=result', ['result']],
    ['?include=result,post_conditions', ['post_conditions', 'result']],
    ['?include=result&include=post_conditions', ['post_conditions', 'result']],
    ['?include=function_args,source_code', []],
    ['?include[]=result&exclude=x', []],
  ])('the query "%s" adds %p to a transfer', async (query, added) => {
    const { body } = await sampleApp.json<object>(path(hash(0x31)) + query);
    expect(Object.keys(body).slice(13)).toEqual(added as string[]);
  });
});

describe('GET /extended/v3/blocks/{height_or_hash}/transactions', () => {
  const path = (id: string) => `/extended/v3/blocks/${id}/transactions`;

  test.each(['3', '003', 'latest', hash(0xb3), hash(0xc3), hash(0xb3).slice(2).toUpperCase()])(
    'accepts %s',
    async (id) => {
      const { status, body } = await sampleApp.json(path(id));
      expect(status).toBe(200);
      const { total, results } = body as List;
      expect(total).toBe(2);
      expect(results.map(({ tx_id }) => tx_id)).toEqual([hash(0x31), hash(0x30)]);
    },
  );

  test('block 1 includes the transactions of block 0 after its own, with one time and unique indexes', async () => {
    const zero = block(null, 'zero', [transfer(bob, 0, 200), transfer(bob, 1, 200)].map(receipt), {
      block_height: 0,
      index_block_hash: hashOf('index of nothing'),
      block_time: null,
      burn_block_time: 0,
    });
    const transfers = [transfer(alice, 0, 200), transfer(alice, 1, 200), transfer(alice, 2, 200)];
    const mined = block(null, 'one', transfers.map(receipt));
    const { json } = testApp(memoryIndex([zero.event, mined.event]));
    const list = async (path: string) => ((await json(path)).body as List).results;
    const time = ((await json('/extended/v2/blocks/1')).body as { block_time: number }).block_time;
    const v3 = (await list('/extended/v3/blocks/1/transactions')).map(({ block: place }) => place);
    expect(v3.map((place) => place as object)).toMatchObject([4, 3, 2, 1, 0].map((tx_index) => ({ tx_index, time })));
    const v1 = await list('/extended/v1/tx/block_height/1');
    expect(v1).toMatchObject([4, 3, 2, 1, 0].map((tx_index) => ({ tx_index, block_time: time })));
    const v2 = await list('/extended/v2/blocks/1/transactions');
    expect(v2).toMatchObject([0, 1, 2, 3, 4].map((tx_index) => ({ tx_index, block_time: time })));
    const [received] = await list(`/extended/v3/principals/${bob.address}/transactions`);
    expect(received?.transaction).toMatchObject({ block: { tx_index: 4, time } });
  });

  test('the total omits a failed Bitcoin operation, as in v2', async () => {
    const failed = receipt({ id: hash(0x77), raw: '0x00' }, 0, { status: 'abort_by_response' });
    const mined = block(null, 'one', [failed, receipt(transfer(alice, 0, 200), 1)]);
    const { json } = testApp(memoryIndex([mined.event]));
    for (const version of ['v2', 'v3']) {
      const { total, results } = (await json(`/extended/${version}/blocks/1/transactions`)).body as List;
      expect([version, total, results.length]).toEqual([version, 1, 1]);
    }
  });

  test.each(['0', '4', '2147483648', '9007199254740993', '9'.repeat(400), '1'.repeat(64), hash(0x77)])(
    'returns 404 for %s',
    async (id) => {
      const { status, body } = await sampleApp.json(path(id));
      expect([status, body]).toEqual([404, { statusCode: 404, error: 'Not Found', message: 'Block not found' }]);
    },
  );

  test.each(['-1', '0x12', '1.5', '1e3', 'Latest', 'tip', '%20', hash(1).slice(0, -1)])('rejects %s', async (id) => {
    const { status, body } = await sampleApp.json(path(id));
    expect(status).toBe(400);
    expect(body).toMatchObject({ message: `params/height_or_hash must be ${RULES.block}` });
  });
});

describe('a principal', () => {
  const BEGINNING = '/extended/v3/principals/{principal}/';
  const derived = sampleRoutes
    .filter((list) => list.route.path.startsWith(BEGINNING) && !isOfStaking(list))
    .map(({ path }) => path.slice(BEGINNING.length - '{principal}'.length + ADDRESS.length));
  const both = [...derived.filter((tail) => tail !== 'nonces'), `balance-changes?tx_id=${hash(0x31)}`];
  const tails = ['nonces', ...both];
  const ask = (principal: string, tail: string) => sampleApp.json(`/extended/v3/principals/${principal}/${tail}`);

  test.each(tails)('that is unknown has empty %s', async (tail) => {
    expect((await ask(OTHER, tail)).status).toBe(200);
  });

  test.each(both)('may be a contract for %s', async (tail) => {
    expect((await ask(CONTRACT, tail)).status).toBe(200);
    expect((await ask(encodeURIComponent(CONTRACT), tail)).status).toBe(200);
  });

  test.each(both)('in an invalid form is rejected for %s', async (tail) => {
    const wrong = ['x', ADDRESS.toLowerCase(), `${ADDRESS}.`, `${ADDRESS}-pool`, `${ADDRESS}.1a`, `${CONTRACT}::a`];
    for (const principal of [...wrong, `${ADDRESS}.${'a'.repeat(129)}`]) {
      const { status, body } = await ask(principal, tail);
      expect([principal, status]).toEqual([principal, 400]);
      expect(body).toMatchObject({ message: `params/principal must be ${RULES.principal}` });
    }
  });

  test('must be a standard address for nonces', async () => {
    const { status, body } = await ask(CONTRACT, 'nonces');
    expect(status).toBe(400);
    expect(body).toMatchObject({ message: `params/principal must be ${RULES.address}` });
  });

  test.each(tails)('with a version that no network uses is accepted for %s', async (tail) => {
    expect((await ask(NO_NETWORK, tail)).status).toBe(200);
  });
});

test('a checked application rejects an answer that violates its schema, with the path', async () => {
  const listed = route({
    path: '/list',
    operationId: 'getList',
    summary: 'A list',
    description: 'Returns a list.',
    tag: 'Lists',
    response: Type.Object({ results: Type.Array(Type.Integer()) }),
    etag: null,
    history: 'none',
    handle: () => ({ results: ['much' as never] }),
  });
  const app = new Elysia().use(plugin(routeContext({ snapshots: sampleIndex() }), [listed]));
  const answer = withCheckedResponses(app).handle(new Request('http://localhost/list'));
  expect(answer).rejects.toThrow('/list answers at /results/0');
});

test("a route with answers for each caller can't have an ETag", () => {
  const declared = (etag: (() => string) | null) =>
    route({
      path: '/mine',
      operationId: 'getMine',
      summary: 'Your list',
      tag: 'Lists',
      response: Type.Object({ caller: Type.String() }),
      access: (request) => () => request.headers.get('x-api-key') ?? '',
      etag,
      history: 'none',
      handle: ({ caller }) => ({ caller }),
    });
  expect(() => declared(null)).not.toThrow();
  expect(() => declared(() => 'tip')).toThrow('/mine has access and a tag');
});

test('a route with an ETag must read a snapshot', () => {
  const declared = (etag: (() => string) | null) =>
    route({
      path: '/constant',
      operationId: 'getConstant',
      summary: 'A constant',
      tag: 'Lists',
      response: Type.Object({}),
      snapshot: false,
      etag,
      history: 'none',
      handle: () => ({}),
    });
  expect(() => declared(null)).not.toThrow();
  expect(() => declared(() => 'tip')).toThrow('/constant has a tag and no snapshot');
});

test('checkedBody rejects members that the schema lacks', () => {
  const schema = Type.Object({ rows: Type.Array(Type.Object({ a: Type.Integer() })) });
  expect(() => checkedBody('/x', schema, '{"rows":[{"a":1}]}')).not.toThrow();
  expect(() => checkedBody('/x', schema, '{"rows":[{"a":1,"b":2}]}')).toThrow('"path":"/rows/0/b"');
});
