/** Routes of chainhooks: errors that name the field, isolation of consumers, and the life of hooks. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { simulatedEvents } from '../support/data/ingest.ts';
import { until } from '../support/time/until.ts';
import {
  appliedHeights,
  definition,
  filtersOf,
  type HookServer,
  hookServer,
  NOWHERE,
  receiver,
  started,
} from './server.ts';

const A = 'ST2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQVX8X0G';
const URL_OK = 'https://127.0.0.1/hook';
const valid = definition(URL_OK, [{ type: 'coinbase' }]);
const events = simulatedEvents({ seed: 3, blocks: 30, accounts: 12, transactionsPerBlock: 4, forkEvery: 0 });
const indexOf = (height: number) =>
  events.findLastIndex(({ path, text }) => path === '/new_block' && JSON.parse(text).block_height <= height);
const upTo = (height: number) => events.slice(0, 1 + indexOf(height));

const fiveKinds = filtersOf('tenure_change', 'stx_event', 'contract_call', 'ft_event', 'coinbase');
const threeKinds = fiveKinds.slice(0, 3);

const feed = (server: HookServer, from: number, to: number) => {
  server.feed(upTo(to).slice(upTo(from).length));
};

describe('rejects a definition with the problem', () => {
  let server: HookServer;
  beforeAll(async () => {
    server = await hookServer();
    server.ingest.receive(events[0]!);
    server.feed(upTo(2).slice(1));
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const filter = (event: object) => ({ ...valid, filters: { events: [event] } });
  const options = (value: unknown) => ({ ...valid, options: value });
  const url = (value: string) => ({ ...valid, action: { type: 'http_post', url: value } });
  const { name: _name, ...nameless } = valid;
  const argument = (equals: string) => ({ type: 'contract_call', argument: { index: 0, equals } });
  const inFilter: [problem: string, event: object][] = [
    ['type is required', {}],
    ['type has another name now: contract_log', { type: 'print_event' }],
    ['type must be one of balance_change, ', { type: 'constructor' }],
    ['to is not allowed', { type: 'stx_transfer', to: A }],
    ['sender is not allowed', { type: 'coinbase', sender: A }],
    ['principal is required', { type: 'balance_change' }],
    ['sender must be a Stacks address', { type: 'stx_transfer', sender: 'me' }],
    ['recipient must not be given with receiver', { type: 'stx_transfer', receiver: A, recipient: A }],
    ['value is larger than 2^53', { type: 'nft_event', value: 2 ** 60 }],
    ['cause must be block_found or extended', { type: 'tenure_change', cause: 'other' }],
    ['memo must be an object with equals or contains', { type: 'stx_transfer', memo: {} }],
    ['memo.contains must NOT have fewer than 1 characters', { type: 'stx_transfer', memo: { contains: '' } }],
    ['argument.index is required', { type: 'contract_call', argument: { equals: 'u1' } }],
    ['argument.equals must have the hex digits of a serialized Clarity value after 0x', argument('0xq')],
    ['argument.equals must be an integer that fits into 128 bits', argument(`u${2n ** 128n}`)],
    ['minamount is not allowed: did you mean min_amount?', { type: 'stx_transfer', minamount: '1' }],
  ];
  const inOptions: [problem: string, options: object][] = [
    ['decode is not allowed', { decode: true }],
    ['decode_clarity_value is not allowed: did you mean decode_clarity_values?', { decode_clarity_value: true }],
    ['expire_after_evaluation is not allowed: did you mean expire_after_evaluations?', { expire_after_evaluation: 1 }],
    ['start_at_block_height is not allowed; use POST', { start_at_block_height: 1 }],
    ['start_block is not allowed; use POST', { start_block: 1 }],
    ['end_block is not allowed; use POST', { end_block: 1 }],
    ['include_block_metadata must be boolean or null', { include_block_metadata: 1 }],
    ['expire_after_evaluations must be an integer from 0', { expire_after_evaluations: -1 }],
    ['expire_after_occurrences must be an integer from 0', { expire_after_occurrences: 1.5 }],
    ['alert_url must be a URL that begins with', { alert_url: 'me@example.org' }],
    ['alert_url is not allowed: its host is at 10.0.0.1', { alert_url: 'https://10.0.0.1/' }],
  ];
  test.each<[problem: string, body: unknown]>([
    ['body must be object', []],
    ['name is required', nameless],
    ['name must be string', { ...valid, name: 1 }],
    ['name must NOT have more than 256 characters', { ...valid, name: 'n'.repeat(257) }],
    ['version must be "1"', { ...valid, version: '2' }],
    ['chain must be "stacks"', { ...valid, chain: 'bitcoin' }],
    ['network must be mainnet or testnet', { ...valid, network: 'devnet' }],
    ['network must be testnet, like this server', { ...valid, network: 'mainnet' }],
    ['filters is required', { ...valid, filters: undefined }],
    ['filters.events is required', { ...valid, filters: {} }],
    ['filters.events must be array', { ...valid, filters: { events: {} } }],
    ['filters.events must NOT have more than 500 items', { ...valid, filters: { events: Array(501).fill({}) } }],
    ['options must be object or null', options(1)],
    ['action is required', { ...valid, action: undefined }],
    ['action.type must be "http_post"', { ...valid, action: { type: 'file', url: URL_OK } }],
    ['action.url must be an absolute URL', url('hook')],
    ['action.url is not allowed: it must begin with http:// or https://', url('ftp://x/')],
    ['action.url is not allowed: it must not contain a user', url('https://u:p@127.0.0.1/')],
    ['action.url is not allowed: its port must not be 0', url('http://127.0.0.1:0/')],
    ['action.url is not allowed: its host is at 10.0.0.1', url('https://10.0.0.1/')],
    ['action.url is not allowed', url('http://169.254.169.254/')],
    ['then_that belongs to an earlier version of chainhooks; use action', { ...valid, then_that: {} }],
    ...inFilter.map(([problem, event]): [string, object] => [`filters.events.0.${problem}`, filter(event)]),
    ...inOptions.map(([problem, value]): [string, object] => [`options.${problem}`, options(value)]),
  ])('%s', async (details, body) => {
    const { status, body: problem } = await server.request('POST', '/chainhooks/me', body as object);
    expect([status, Object.keys(problem), problem.error]).toEqual([400, ['error', 'details'], 'Invalid request body']);
    expect(problem.details).toStartWith(details);
    expect((await server.request('GET', '/chainhooks/me')).body.total).toBe(0);
  });

  test('rejects invalid bodies and parameters of other routes', async () => {
    const path = '/chainhooks/me/00000000-0000-4000-8000-000000000001';
    const [many, redeliver] = ['/chainhooks/me/enabled', `${path}/deliveries/redeliver`];
    const preview = '/chainhooks/preview';
    const range = { filters: { events: [] }, from_height: 0, to_height: 999_999 };
    const withHash = { ...range, index_block_hash: '00'.repeat(32) };
    const enable = (filters: object) => ({ enabled: true, filters });
    const refusals = [
      ['GET', '/chainhooks/me?limit=61', undefined, 'limit must be <= 60'],
      ['GET', '/chainhooks/me?limit=0', undefined, 'limit must be >= 1'],
      ['GET', '/chainhooks/me?offset=-1', undefined, 'offset must be >= 0'],
      ['GET', '/chainhooks/me/x', undefined, 'uuid must be a UUID'],
      ['PATCH', many, { enabled: true }, 'filters is required'],
      ['PATCH', many, enable({}), 'filters must be an object with uuids, webhook_url, statuses or paused'],
      ['PATCH', many, enable({ webhook_url: 'nope' }), 'filters.webhook_url must be an absolute URL'],
      ['PATCH', many, enable({ statuses: ['active'] }), 'filters.statuses.0 must be new or'],
      ['PATCH', `${path}/enabled`, { enabled: true, resume_from: -1 }, 'resume_from must be tip, last_evaluated or a'],
      ['POST', `${path}/evaluate`, {}, 'body must be an object with index_block_hash or block_height'],
      ['POST', redeliver, {}, 'body must be an object with state, from_height, to_height, since'],
      ['POST', redeliver, { from_height: 9, to_height: 3 }, 'from_height must not be above to_height'],
      ['GET', `${path}/deliveries?from_height=9&to_height=3`, undefined, 'from_height must not be above to_height'],
      ['POST', redeliver, { since: 9, until: 3 }, 'since must not be after until'],
      ['POST', preview, { ...range, from_height: 999_999 }, 'from_height must not be above the tip'],
      ['POST', preview, { ...range, block_height: 1 }, 'block_height is not allowed together with from'],
      ['POST', preview, withHash, 'index_block_hash is not allowed together with a range of heights'],
      ['POST', preview, { filters: { events: [] } }, 'block_height, index_block_hash, or from_height'],
      ['POST', preview, { block_height: 1 }, 'filters is required'],
      ['GET', `${path}/deliveries?states=dead`, undefined, 'states is not a parameter of this route: did you mean st'],
      [
        'GET',
        `/chainhooks/v1${path.slice(11)}/deliveries?all=1`,
        undefined,
        'all is not a parameter of this route: it',
      ],
      ['GET', `${path}/backfills?state=queued`, undefined, 'state is not a parameter of this route: it has'],
    ] as const;
    for (const [method, path, body, details] of refusals) {
      const { status, body: problem } = await server.request(method, path, body);
      expect([path, status, problem.details.startsWith(details) || problem.details]).toEqual([path, 400, true]);
    }
    expect((await server.request('GET', `/chainhooks/me/${crypto.randomUUID()}`)).status).toBe(404);
    expect((await server.request('POST', '/chainhooks/me', '{')).body.details).toBe('The body is not valid JSON');
    expect((await server.request('POST', '/chainhooks/me', 'x', { 'content-type': 'text/plain' })).status).toBe(415);
  });
});

test('an accepted definition is returned as sent, with warnings about likely mistakes', async () => {
  await using server = await hookServer();
  const unset = { include_post_conditions: null, enable_on_registration: null };
  const sent = {
    ...definition(URL_OK, [
      { type: 'stx_transfer', recipient: A.replace('ST2', 'ST3') },
      { type: 'ft_event', asset_identifier: `SP000000000000000000002Q6VF78.a::b` },
    ]),
    options: { expire_after_evaluations: null, decode_clarity_values: false, ...unset },
    action: { type: 'http_post', url: URL_OK, method: 'PUT' },
    version: 1,
    unknown: 'is dropped',
    enabled: true,
    option: { decode_clarity_values: true },
  };
  const { status, body } = await server.request('POST', '/chainhooks/v1/me/', sent);
  expect(status).toBe(200);
  const { unknown: _unknown, enabled: _enabled, option: _option, ...echo } = sent;
  expect(body.definition).toEqual({ ...echo, action: { type: 'http_post', url: URL_OK }, version: '1' });
  expect(body.status.enabled).toBe(false);
  expect(body.status.warnings).toEqual([
    'unknown: the key is ignored, since it is not allowed',
    'enabled: the key is ignored, since it is not allowed; use PATCH /chainhooks/me/{uuid}/enabled',
    'option: the key is ignored, since it is not allowed: did you mean options?',
    'action.method: the key is ignored, since it is not allowed',
    'filters.events.0.recipient: the address has a wrong checksum; it never matches',
    'filters.events.1.asset_identifier: the address is not of testnet',
  ]);
  const cleared = await server.request('PATCH', `/chainhooks/v1/me/${body.uuid.toUpperCase()}`, { options: null });
  expect([cleared.status, cleared.body.definition.options]).toEqual([200, null]);
  const moved = await server.request('PATCH', `/chainhooks/me/${body.uuid}`, { network: 'mainnet' });
  expect(moved.body.details).toContain("can't be changed");
  const changed = await server.request('PATCH', `/chainhooks/me/${body.uuid}`, {
    name: 'other',
    url: URL_OK,
    enabled: true,
    action: { type: 'http_post', url: URL_OK, authorization_header: 'x' },
  });
  expect([changed.status, changed.body.definition]).toEqual([200, { ...cleared.body.definition, name: 'other' }]);
  expect(changed.body.status.enabled).toBe(false);
  expect(changed.body.status.warnings.slice(0, 3)).toEqual([
    'url: the key is ignored, since it is not allowed',
    'enabled: the key is ignored, since it is not allowed; use PATCH /chainhooks/me/{uuid}/enabled',
    'action.authorization_header: the key is ignored, since it is not allowed',
  ]);
  const refused = [
    [{ name: 'n'.repeat(257) }, 'name must NOT have more than 256 characters'],
    [{ then_that: {} }, 'then_that belongs to an earlier version of chainhooks; use action'],
  ] as const;
  for (const [change, details] of refused) {
    const answer = await server.request('PATCH', `/chainhooks/me/${body.uuid}`, change);
    expect([answer.status, answer.body.details]).toEqual([400, details]);
  }
  const same = await server.request('PATCH', `/chainhooks/me/${body.uuid}`, cleared.body.definition);
  expect([same.status, same.body.definition]).toEqual([200, cleared.body.definition]);
  const headers = { 'content-type': 'application/json' };
  const removed = await fetch(`${server.url}/chainhooks/me/${body.uuid}/`, { method: 'DELETE', headers });
  expect([removed.status, await removed.text()]).toEqual([204, '']);
  expect((await server.request('GET', `/chainhooks/me/${body.uuid}`)).status).toBe(404);
  expect((await server.request('GET', `/chainhooks/me/${body.uuid}/deliveries`)).status).toBe(200);
});

describe('the life of a hook', () => {
  test('is new until its first block, then streaming, and misses the blocks while disabled', async () => {
    await using server = await hookServer();
    using target = receiver();
    const uuid = await server.register(target.url, {}, threeKinds);
    feed(server, -1, 5);
    expect(await server.status(uuid)).toMatchObject({ status: 'new', enabled: false, evaluated_block_count: 0 });
    await server.setEnabled(uuid, true);
    const unstarted = { status: 'new', enabled: true, evaluated_block_count: 0, lag_blocks: 0 };
    expect(await server.status(uuid)).toMatchObject(unstarted);
    feed(server, 5, 10);
    const atTen = { status: 'streaming', evaluated_block_count: 5, last_evaluated_block_height: 10 };
    expect(await server.status(uuid)).toMatchObject(atTen);
    await server.setEnabled(uuid, true);
    await server.setEnabled(uuid, false);
    feed(server, 10, 15);
    expect(await server.status(uuid)).toMatchObject({ ...atTen, enabled: false });
    await server.setEnabled(uuid, true);
    feed(server, 15, 20);
    expect(await server.status(uuid)).toMatchObject({ evaluated_block_count: 10, last_evaluated_block_height: 20 });
    await server.untilDrained(uuid);
    const delivered = appliedHeights(target.received);
    expect(delivered.filter((height) => height <= 5 || (height > 10 && height <= 15))).toEqual([]);
    expect(delivered).toEqual(delivered.toSorted((a, b) => a - b));
    const repeated = await server.setEnabled(uuid, false);
    expect(repeated.status).toBe(204);
    await server.setEnabled(uuid, true, { resume_from: 12 });
    await until(async () => (await server.status(uuid)).evaluated_block_count === 19);
    await server.untilDrained(uuid);
    const caughtUp = appliedHeights(target.received).slice(delivered.length);
    expect([caughtUp[0]! >= 12, caughtUp.at(-1)! <= 20]).toEqual([true, true]);
    expect(target.received.at(-1)?.headers['x-chainhook-reason']).toBe('catch_up');
    const beyondLimit = await server.setEnabled(uuid, false);
    expect(beyondLimit.status).toBe(204);
    expect((await server.setEnabled(uuid, true, { resume_from: 99 })).status).toBe(400);
    expect(await server.status(uuid)).toMatchObject({ enabled: false });
  });

  test('cannot start elsewhere while it is enabled', async () => {
    await using server = await hookServer();
    feed(server, -1, 5);
    const uuid = await server.register(URL_OK, { enable_on_registration: true });
    const setEnabled = (body: object) => server.request('PATCH', `/chainhooks/me/${uuid}/enabled`, body);
    for (const resume_from of [3, 'tip'] as const) {
      const { status, body } = await setEnabled({ enabled: true, resume_from });
      expect([status, body.details]).toEqual([
        400,
        'resume_from needs a disabled chainhook; disable it first, or send past blocks with POST /chainhooks/me/{uuid}/backfills',
      ]);
    }
    expect((await setEnabled({ enabled: true, resume_from: 'last_evaluated' })).status).toBe(204);
    const { status, body } = await setEnabled({ enabled: false, resume_from: 3 });
    expect([status, body.details]).toEqual([400, 'resume_from is not allowed if enabled is false']);
    expect((await server.status(uuid)).enabled).toBe(true);
  });

  test.each([
    [{ expire_after_evaluations: 4 }, 'evaluated_block_count'],
    [{ expire_after_occurrences: 2 }, 'occurrence_count'],
    [{ expire_after_evaluations: 1, expire_after_occurrences: 100 }, 'evaluated_block_count'],
  ])(
    'with %p: the last block is delivered, the hook expires, and enabling it renews the limit',
    async (limits, count) => {
      const [limit] = Object.values(limits) as [number];
      await using server = await hookServer();
      using target = receiver();
      const uuid = await server.register(target.url, { ...limits, ...started }, fiveKinds);
      feed(server, -1, 15);
      const expired = await server.status(uuid);
      expect(expired).toMatchObject({ status: 'expired', enabled: false });
      expect(expired[count]).toBe(limit);
      await server.untilDrained(uuid);
      expect(appliedHeights(target.received)).toHaveLength(expired.occurrence_count);
      await server.setEnabled(uuid, true);
      expect(await server.status(uuid)).toMatchObject({ status: 'streaming', enabled: true });
      feed(server, 15, 30);
      const repeated = await server.status(uuid);
      expect([repeated.status, repeated[count]]).toEqual(['expired', 2 * limit]);
    },
  );

  test('changed filters apply from the next block on, and a changed limit includes past counts', async () => {
    await using server = await hookServer();
    const uuid = await server.register(NOWHERE, started, []);
    feed(server, -1, 6);
    expect(await server.status(uuid)).toMatchObject({ evaluated_block_count: 6, occurrence_count: 0 });
    const changed = { filters: { events: threeKinds }, options: { expire_after_evaluations: 5 } };
    await server.request('PATCH', `/chainhooks/me/${uuid}`, changed);
    expect(await server.status(uuid)).toMatchObject({ status: 'streaming', occurrence_count: 0 });
    feed(server, 6, 12);
    const final = await server.status(uuid);
    expect(final).toMatchObject({ status: 'expired', evaluated_block_count: 7 });
    expect(final.occurrence_count).toBe(1);
  });
});

describe('after a write', () => {
  /** A server whose acknowledged events stay pending: no timer commits them. */
  const pending = () => hookServer({}, undefined, {}, () => () => {});

  test('every route shows at least the acknowledged events', async () => {
    await using server = await pending();
    using target = receiver();
    const uuid = await server.register(target.url, started, fiveKinds);
    const url = `/chainhooks/me/${uuid}`;
    // Each height is requested through a different route, and only these requests commit the events.
    feed(server, -1, 1);
    expect(await server.status(uuid)).toMatchObject({ last_evaluated_block_height: 1, lag_blocks: 0 });
    feed(server, 1, 2);
    const { body: page } = await server.request('GET', '/chainhooks/me');
    expect(page.results[0].status).toMatchObject({ last_evaluated_block_height: 2, lag_blocks: 0 });
    feed(server, 2, 4);
    const { body: log } = await server.request('GET', `${url}/deliveries`);
    expect(log.results[0].apply[0].height).toBe(4);
    feed(server, 4, 5);
    const { body: preview } = await server.request('POST', `${url}/preview`, { block_height: 5 });
    expect(preview.matched_blocks).toBe(1);
    feed(server, 5, 6);
    expect((await server.request('POST', `${url}/evaluate`, { block_height: 6 })).status).toBe(204);
    feed(server, 6, 7);
    const range = { from_height: 1, to_height: 7, dry_run: true };
    const { status, body: job } = await server.request('POST', `${url}/backfills`, range);
    expect([status, job.to_height]).toEqual([202, 7]);
    feed(server, 7, 8);
    expect((await server.request('POST', `${url}/test`, { block_height: 8 })).body.payload.event.apply).toHaveLength(1);
    feed(server, 8, 9);
    const ninth = { filters: { events: fiveKinds }, from_height: 9, to_height: 9 };
    const { body: definitions } = await server.request('POST', '/chainhooks/preview', ninth);
    expect(definitions.matched_blocks).toBe(1);
    feed(server, 9, 10);
    const { body: newest } = await server.request('POST', `${url}/test`);
    expect(newest.payload.event.apply[0].block_identifier.index).toBe(10);
  });

  test('reads show the changed hook, secret and backfills', async () => {
    await using server = await pending();
    feed(server, -1, 2);
    const uuid = await server.register(NOWHERE, {}, fiveKinds);
    const url = `/chainhooks/me/${uuid}`;
    feed(server, 2, 3);
    expect((await server.request('PATCH', url, { name: 'renamed' })).body.definition.name).toBe('renamed');
    expect((await server.request('GET', url)).body.definition.name).toBe('renamed');
    const { body: secret } = await server.request('POST', '/chainhooks/me/secret');
    expect((await server.request('GET', '/chainhooks/me/secret')).body).toEqual(secret);
    const { body: job } = await server.request('POST', `${url}/backfills`, { from_height: 1, dry_run: true });
    expect(job.to_height).toBe(3);
    expect((await server.request('GET', `${url}/backfills/${job.id}`)).body.id).toBe(job.id);
    await server.request('DELETE', url);
    expect((await server.request('GET', url)).status).toBe(404);
  });
});
