/** The metadata routes of tokens: their exact answers in every state of the lookup. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { TESTNET_CHAIN_ID } from '../../src/chain/network.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import type { Account } from '../../src/devnet/wallet.ts';
import { commandsOf } from '../../src/store/ingest/commands.ts';
import type { FailedTry, TokenAnswer, TokenCommands } from '../../src/store/ingest/token-commands.ts';
import type { TokenFacts } from '../../src/store/model/token.ts';
import { openSnapshots } from '../../src/store/read/snapshots.ts';
import { checkedApp } from '../support/api/checked-app.ts';
import { type OpenIngest, openNew } from '../support/data/ingest.ts';
import {
  alice,
  block,
  bob,
  carol,
  deployment,
  type MadeBlock,
  nodeEvent,
  printEvent,
  receipt,
  type Transaction,
  transfer,
} from '../support/events/handmade.ts';

const VERSION = 'stackside v0.0.0 (test:test)';

/** Functions of an interface, by name with the types of their arguments. */
const functions = (declared: Record<string, unknown[]>) =>
  Object.entries(declared).map(([name, types]) => ({
    name,
    access: 'read_only',
    args: types.map((type) => ({ name: 'it', type })),
    outputs: { type: 'bool' },
  }));
const uint = 'uint128';
const interfaces = {
  ft: {
    functions: functions({
      transfer: [uint, 'principal', 'principal', { optional: { buffer: { length: 34 } } }],
      'get-name': [],
      'get-symbol': [],
      'get-decimals': [],
      'get-balance': ['principal'],
      'get-total-supply': [],
      'get-token-uri': [],
    }),
    fungible_tokens: [{ name: 'coin' }, { name: 'other' }],
    non_fungible_tokens: [],
  },
  nft: {
    functions: functions({
      'get-last-token-id': [],
      'get-token-uri': [uint],
      'get-owner': [uint],
      transfer: [uint, 'principal', 'principal'],
    }),
    fungible_tokens: [],
    non_fungible_tokens: [{ name: 'art', type: uint }],
  },
  sft: {
    functions: functions({
      'get-balance': [uint, 'principal'],
      'get-overall-balance': ['principal'],
      'get-total-supply': [uint],
      'get-overall-supply': [],
      'get-decimals': [uint],
      'get-token-uri': [uint],
      transfer: [uint, uint, 'principal', 'principal'],
      'transfer-memo': [uint, uint, 'principal', 'principal', { buffer: { length: 34 } }],
    }),
    fungible_tokens: [],
    non_fungible_tokens: [],
  },
};
type Family = keyof typeof interfaces;
const families = Object.keys(interfaces) as Family[];

/** An index with token contracts, for which the test sets the node's answers. */
function tokenChain() {
  const open: OpenIngest = openNew({ chainId: TESTNET_CHAIN_ID });
  const { run, runBatches } = commandsOf<TokenCommands>(open.ingest.commander({ ...systemClock, now: () => time }));
  let time = 1_800_000_000_000;
  let tip: MadeBlock | null = null;
  const nonces = new Map<Account, number>();
  const snapshots = openSnapshots(open.directory);
  const appOf = (asksAboutTokens: boolean) =>
    checkedApp({ snapshots, version: VERSION, log: () => {}, asksAboutTokens });
  const apps = { on: appOf(true), off: appOf(false) };

  function nextNonce(account: Account): number {
    const nonce = nonces.get(account) ?? 0;
    nonces.set(account, nonce + 1);
    return nonce;
  }

  function mine(transactions: readonly object[] = [], fields: object = {}): MadeBlock {
    tip = block(tip, `${(tip?.height ?? 0) + 1}`, transactions, fields);
    open.ingest.receive(tip.event);
    return tip;
  }
  const chain = {
    open,
    mine,
    /** Deploys a contract of tokens in a block. @returns its identifier and the transaction */
    deploy(family: Family, name: string, by = alice): { id: string; deployed: Transaction } {
      const deployed = deployment(by, nextNonce(by), 100, name);
      mine([receipt(deployed, 0, { contract_interface: { variables: [], maps: [], ...interfaces[family] } })]);
      return { id: `${by.address}.${name}`, deployed };
    },
    /** Mints token 1 of a contract of semi-fungible tokens. */
    mintSft(id: string): void {
      const value = clarity.tuple({
        type: clarity.ascii('sft_mint'),
        'token-id': clarity.uint(1n),
        amount: clarity.uint(5n),
        recipient: clarity.principal(alice.address),
      });
      const minted = transfer(carol, nextNonce(carol), 100);
      mine([minted], { events: [printEvent(minted.id, 0, id, value)] });
    },
    /** Mints units of a fungible token. */
    mintFt(id: string, amount: string, recipient: string): void {
      const minted = transfer(carol, nextNonce(carol), 100);
      const mint = { asset_identifier: `${id}::coin`, recipient, amount };
      mine([minted], { events: [nodeEvent(minted.id, 0, 'ft_mint_event', mint)] });
    },
    async say(answer: TokenAnswer): Promise<void> {
      time += 1_000;
      expect(await run('tokens.answer', { answers: [answer] })).toBe(1);
    },
    /** The node's answer about a token. */
    async facts(id: string, token: string, answer: TokenFacts | FailedTry): Promise<void> {
      await chain.say({ work: 'facts', contract: id, token, tip: tip!.hash, answer });
    },
    /** Stores the node's answer with the last token id of a contract of non-fungible tokens. */
    async last(id: string, answer: { last: number | null } | FailedTry): Promise<void> {
      await chain.say({ work: 'last_token_id', contract: id, tip: tip!.hash, answer });
      if ('last' in answer) await runBatches('tokens.spread', { contract: id });
    },
    refresh: (id: string) => run('tokens.refresh', { contract: id, tokens: ['1'] }),
    async request(
      path: string,
      headers: Record<string, string> = {},
      source: 'on' | 'off' = 'on',
      init: RequestInit = {},
    ) {
      open.ingest.commit();
      return apps[source].handle(new Request(`http://localhost${path}`, { headers, ...init }));
    },
    async get(path: string, headers: Record<string, string> = {}, source: 'on' | 'off' = 'on') {
      const response = await chain.request(path, headers, source);
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text), text, headers: response.headers };
    },
    [Symbol.dispose]() {
      snapshots.close();
      open[Symbol.dispose]();
    },
  };
  return chain;
}

const unknown: TokenFacts = { name: null, symbol: null, decimals: null, supply: null, uri: null };
const invalid: FailedTry = { state: 'invalid', wait: null };
const clarityError = {
  error: 'Token error',
  message: 'The token contract produced a Clarity error when trying to fetch metadata',
};
const inProgress = { error: 'Token metadata fetch in progress' };

describe.each(families)('one token of %s', (family) => {
  const chain = tokenChain();
  afterAll(() => chain[Symbol.dispose]());
  const url = (id: string, query = ''): string => `/metadata/v1/${family}/${id}${family === 'ft' ? '' : '/1'}${query}`;
  /** A contract with its token 1. */
  async function token(name: string) {
    const contract = chain.deploy(family, name);
    if (family === 'nft') await chain.last(contract.id, { last: 1 });
    if (family === 'sft') chain.mintSft(contract.id);
    return contract;
  }

  test('returns 404 for an unknown contract, one of another kind, or one without tokens', async () => {
    const nobody = `${alice.address}.nobody`;
    expect(await chain.get(url(nobody))).toMatchObject({ status: 404, body: { error: 'Contract not found' } });
    const other = chain.deploy(family === 'ft' ? 'nft' : 'ft', 'other-kind');
    expect(await chain.get(url(other.id))).toMatchObject({ status: 404, body: { error: 'Token not found' } });
    if (family === 'ft') return;
    const { id } = chain.deploy(family, 'empty');
    const answer = await chain.get(url(id));
    expect([answer.status, answer.body]).toEqual([404, { error: 'Token not found' }]);
    expect(answer.headers.get('etag')).toBeNull();
  });

  test('returns 422 if its metadata was not read yet', async () => {
    const { id } = await token('unread');
    const answer = await chain.get(url(id));
    expect([answer.status, answer.body]).toEqual([422, inProgress]);
    expect(answer.headers.get('etag')).toBeNull();
    expect((await chain.get(url(id, '?locale=en'))).body).toEqual({ error: 'Locale not found' });
    // Nobody will read it.
    expect((await chain.get(url(id), {}, 'off')).status).toBe(200);
  });

  test('returns 422 if its contract fails', async () => {
    const { id } = await token('wrong');
    await chain.facts(id, '1', invalid);
    expect(await chain.get(url(id))).toMatchObject({ status: 422, body: clarityError });
    if (family !== 'nft') return;
    const { id: invalidId } = chain.deploy('nft', 'all-wrong');
    await chain.last(invalidId, invalid);
    expect(await chain.get(url(invalidId, '?locale=x'))).toMatchObject({ status: 422, body: clarityError });
  });

  test('returns the stored data if the lookup has failed permanently', async () => {
    const { id } = await token('given-up');
    await chain.facts(id, '1', { state: 'failed', wait: null });
    const { status, body } = await chain.get(url(id));
    expect(status).toBe(200);
    if (family !== 'ft') expect(body).toEqual({});
    else expect(Object.keys(body)).toEqual(['tx_id', 'sender_address', 'asset_identifier']);
  });

  const facts = { name: 'River', symbol: 'RVR', decimals: '0', supply: '0', uri: 'https://x.example/1' };
  const expected = (deployed: Transaction, id: string) => {
    const { name, symbol, uri: token_uri } = facts;
    const amounts = { decimals: 0, total_supply: '0' };
    const contract = { tx_id: deployed.id, sender_address: alice.address, asset_identifier: `${id}::coin` };
    return {
      nft: { token_uri },
      sft: { token_uri, ...amounts },
      ft: { name, symbol, token_uri, ...amounts, ...contract },
    }[family];
  };
  test('returns the metadata without a locale after a successful lookup', async () => {
    const { id, deployed } = await token('read');
    await chain.facts(id, '1', facts);
    const answer = await chain.get(url(id));
    expect(answer.body).toEqual(expected(deployed, id));
    // The path without a version answers the same.
    expect((await chain.get(url(id).replace('/v1', ''))).text).toBe(answer.text);
    expect((await chain.get(url(id, '?locale='))).text).toBe(answer.text);
    expect(await chain.get(url(id, '?locale=en'))).toMatchObject({ status: 422, body: { error: 'Locale not found' } });
    await chain.refresh(id);
    // The metadata stays available during the next lookup.
    expect((await chain.get(url(id))).text).toBe(answer.text);
  });

  test('has an ETag that changes with the token', async () => {
    const { id } = await token('tagged');
    await chain.facts(id, '1', facts);
    const first = await chain.get(url(id));
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(first.headers.get('cache-control')).toBe('public, no-cache, must-revalidate');
    for (const query of ['', '?x=1']) {
      expect((await chain.get(url(id, query))).headers.get('etag')).toBe(etag);
      const again = await chain.get(url(id, query), { 'if-none-match': `W/"x", ${etag}` });
      expect(again).toMatchObject({ status: 304, body: null });
    }
    // A block without events of the token.
    chain.mine();
    expect((await chain.get(url(id), { 'if-none-match': etag })).status).toBe(304);
    await chain.refresh(id);
    await chain.facts(id, '1', { ...facts, uri: 'https://x.example/new' });
    const second = await chain.get(url(id), { 'if-none-match': etag });
    expect([second.status, second.body.token_uri]).toEqual([200, 'https://x.example/new']);
    expect(second.headers.get('etag')).not.toBe(etag);
  });
});

describe('the list of fungible tokens', () => {
  const chain = tokenChain();
  const { deploy } = chain;
  const idByName: Record<string, string> = {};
  const beta = { name: 'beta', symbol: 'X', decimals: '6', supply: '5', uri: 'https://x.example' };
  const large = { decimals: String(2n ** 127n), supply: String(2n ** 128n - 1n) };
  beforeAll(async () => {
    for (const [name, by, facts] of [
      ['b', alice, beta],
      ['a', alice, { ...unknown, name: 'Alpha', symbol: 'zz', decimals: '0' }],
      ['c', bob, { ...unknown, name: 'CHARLIE_100%', symbol: 'aa' }],
      ['same', bob, { ...unknown, name: 'Alpha', symbol: 'x', ...large }],
      ['unread', alice, null],
    ] as const) {
      idByName[name] = deploy('ft', name, by).id;
      if (facts !== null) await chain.facts(idByName[name], '1', facts);
    }
    deploy('nft', 'no-ft');
  });
  afterAll(() => chain[Symbol.dispose]());
  const list = async (query = '') => {
    const { status, body } = await chain.get(`/metadata/v1/ft${query}`);
    expect(status).toBe(200);
    const ids = new Map(Object.entries(idByName).map(([name, id]) => [id, name]));
    return {
      total: body.total,
      names: body.results.map((token: { contract_principal: string }) => ids.get(token.contract_principal)),
    };
  };
  /** Two equal tokens are ordered by contract identifier. */
  const alike = () => ['a', 'same'].sort((a, b) => (idByName[a]! < idByName[b]! ? -1 : 1));

  test('is sorted by name without regard to case, then by contract, with unnamed tokens last', async () => {
    expect(await list()).toEqual({ total: 5, names: [...alike(), 'b', 'c', 'unread'] });
    expect(await list('?order=desc')).toEqual({ total: 5, names: ['unread', 'c', 'b', ...alike()] });
    const x = ['b', 'same'].sort((a, b) => (idByName[a]! < idByName[b]! ? -1 : 1));
    expect(await list('?order_by=symbol')).toEqual({ total: 5, names: ['c', ...x, 'a', 'unread'] });
    expect(await list('?order_by=symbol&order=desc')).toEqual({ total: 5, names: ['unread', 'a', ...x, 'c'] });
  });

  test('can be searched by any part of a name or symbol', async () => {
    const search = async (text: string) => {
      const { body } = await chain.get(`/stackside/v1/search?q=${encodeURIComponent(text)}`);
      const tokens = body.results.filter(({ kind }: { kind: string }) => kind === 'token');
      return tokens.map(({ id, label, match }: Record<string, string>) => [id?.split('::')[0], label, match]);
    };
    expect(await search('zZ')).toEqual([[idByName.a, 'zz, Alpha', 'exact']]);
    expect(await search('lie_100%')).toEqual([[idByName.c, 'aa, CHARLIE_100%', 'part']]);
    expect(new Set(await search('X'))).toEqual(
      new Set([
        [idByName.b, 'X, beta', 'exact'],
        [idByName.same, 'x, Alpha', 'exact'],
      ]),
    );
    await chain.refresh(idByName.b!);
    await chain.facts(idByName.b!, '1', { ...beta, name: 'Beta 2', symbol: null });
    expect(await search('x')).toEqual([[idByName.same, 'x, Alpha', 'exact']]);
    expect(await search('a 2')).toEqual([[idByName.b, 'Beta 2', 'part']]);
    await chain.refresh(idByName.b!);
    await chain.facts(idByName.b!, '1', beta);
  });

  test('returns the stored metadata of each token', async () => {
    const { body } = await chain.get('/metadata/v1/ft?name=beta');
    expect(body).toEqual({
      limit: 20,
      offset: 0,
      total: 1,
      results: [
        {
          name: 'beta',
          symbol: 'X',
          decimals: 6,
          total_supply: '5',
          token_uri: 'https://x.example',
          tx_id: expect.stringMatching(/^0x[0-9a-f]{64}$/),
          sender_address: alice.address,
          asset_identifier: `${idByName.b}::coin`,
          contract_principal: idByName.b,
        },
      ],
    });
    const unread = await chain.get(`/metadata/ft?address=${idByName.unread}`);
    const always = ['tx_id', 'sender_address', 'asset_identifier', 'contract_principal'];
    expect(Object.keys(unread.body.results[0])).toEqual(always);
    const large = await chain.get(`/metadata/v1/ft?address=${idByName.same}`);
    expect(large.text).toContain(`"decimals":${2n ** 127n},"total_supply":"${2n ** 128n - 1n}"`);
  });

  test('returns only tokens that match all filters', async () => {
    expect((await list('?name=LPH')).names).toEqual([...alike()]);
    expect(await list('?name=nobody')).toEqual({ total: 0, names: [] });
    expect((await list('?name=_100%25')).names).toEqual(['c']);
    expect((await list('?name=%25')).names).toEqual(['c']);
    expect((await list('?name=_l')).names).toEqual([]);
    expect((await list('?symbol=X&order_by=symbol')).total).toBe(2);
    expect((await list('?symbol=x&name=bet')).names).toEqual(['b']);
    expect((await list('?symbol=')).total).toBe(5);
    expect((await list('?name=&symbol=z')).total).toBe(0);
    expect((await list(`?address=${bob.address}`)).total).toBe(2);
    expect((await list(`?address=${idByName.a}`)).names).toEqual(['a']);
    expect((await list(`?address=${alice.address}.%25`)).names).toEqual([]);
    expect(await list('?valid_metadata_only=true')).toEqual({ total: 0, names: [] });
    expect((await list('?valid_metadata_only=false')).total).toBe(5);
    expect((await list('?unknown=1')).total).toBe(5);
  });

  test('supports offset and counts all tokens', async () => {
    expect(await list('?limit=2&offset=2')).toEqual({ total: 5, names: ['b', 'c'] });
    expect(await list('?offset=50')).toEqual({ total: 5, names: [] });
    expect((await chain.get('/metadata/ft?limit=60')).body.limit).toBe(60);
  });

  test.each([
    ...['limit=61', 'limit=0', 'limit=x', 'offset=-1', 'order_by=supply', 'order=up', 'valid_metadata_only=1'],
    ...['address=xyz', 'address=', 'name=a&name=b'],
  ])('rejects %s', async (query) => {
    const [parameter] = query.split('=');
    const { status, body } = await chain.get(`/metadata/v1/ft?${query}`);
    const message = expect.stringContaining(`querystring/${parameter}`);
    expect([status, body]).toEqual([400, { statusCode: 400, code: 'VALIDATION', error: 'Bad Request', message }]);
  });

  test.each([
    '/metadata/v1/ft/nothing',
    `/metadata/v1/ft/${alice.address}`,
    `/metadata/v1/ft/${alice.address}.1x`,
    `/metadata/v1/ft/${alice.address.toLowerCase()}.x`,
    `/metadata/v1/nft/${alice.address}.x/-1`,
    `/metadata/v1/nft/${alice.address}.x/1.5`,
    `/metadata/v1/nft/${alice.address}.x/x`,
    `/metadata/v1/sft/${alice.address}.x/${2n ** 128n}`,
  ])('rejects %s', async (path) => {
    const { status, body, headers } = await chain.get(path);
    expect([status, body.code]).toEqual([400, 'VALIDATION']);
    expect(headers.get('etag')).toBeNull();
  });

  test('has an ETag that changes with blocks and with metadata', async () => {
    const etag = async () => (await chain.get('/metadata/v1/ft?limit=1')).headers.get('etag') ?? '';
    const first = await etag();
    expect((await chain.get('/metadata/v1/ft?limit=1', { 'if-none-match': first })).status).toBe(304);
    chain.mine();
    const second = await etag();
    await chain.refresh(idByName.a!);
    await chain.facts(idByName.a!, '1', { ...unknown, name: 'Alpha', symbol: 'zz', decimals: '0' });
    expect(new Set([first, second, await etag()]).size).toBe(3);
  });

  test("accepts the largest token number, and doesn't verify address checksums", async () => {
    const wrongSum = `SP${'0'.repeat(37)}1.x`;
    expect(await chain.get(`/metadata/v1/sft/${wrongSum}/${2n ** 128n - 1n}`)).toMatchObject({ status: 404 });
  });
});

test('the search finds a token without events by its asset identifier, and by parts of it', async () => {
  using chain = tokenChain();
  const { id } = chain.deploy('ft', 'silver-coin');
  const other = chain.deploy('nft', 'silver-coins');
  const asset = `${id}::coin`;
  const find = async (text: string) => {
    const { body } = await chain.get(`/stackside/v1/search?q=${encodeURIComponent(text)}`);
    return body.results.map(({ kind, match, id }: Record<string, string>) => [kind, match, id]);
  };
  expect(await find(asset)).toEqual([['token', 'exact', asset]]);
  expect(await find(asset.toLowerCase())).toEqual([['token', 'exact', asset]]);
  expect(await find(`${id}::co`)).toEqual([['token', 'start', asset]]);
  for (const text of ['silver-coin::coin', `${id.slice(20)}::c`, 'silver-coin::']) {
    expect([text, await find(text)]).toEqual([text, [['token', 'part', asset]]]);
  }
  for (const text of [`${id}::other`, `${other.id}::coin`, 'silver::coin', '::'])
    expect([text, await find(text)]).toEqual([text, []]);
  chain.mintFt(id, '7', bob.address);
  expect(await find(asset)).toEqual([['token', 'exact', asset]]);
});

test("a mint changes the supply, and transfer lists include the token's unit", async () => {
  using chain = tokenChain();
  const { id } = chain.deploy('ft', 'coin');
  const asset = `${id}::coin`;
  const lists = async () => {
    const transfers = await chain.get(`/stackside/v1/tokens/ft/${asset}/transfers`);
    const history = await chain.get(`/stackside/v1/principals/${bob.address}/history`);
    const body = JSON.stringify({ principals: [bob.address], fungible_tokens: [asset] });
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    const answer = await chain.request('/stackside/v1/principals/balances', {}, 'on', init);
    const balances = (await answer.json()) as { results: { fungible_tokens: object[] }[] };
    return [
      transfers.body.results[0],
      history.body.movements.find((movement: { asset: { type: string } }) => movement.asset.type === 'ft'),
      balances.results[0]?.fungible_tokens[0],
    ];
  };
  chain.mintFt(id, '7', bob.address);
  for (const item of await lists()) expect(item).toMatchObject({ symbol: null, decimals: null });
  await chain.facts(id, '1', { ...unknown, symbol: 'RVR', decimals: '6', supply: '7', name: 'River' });
  for (const item of await lists()) expect(item).toMatchObject({ symbol: 'RVR', decimals: 6 });
  const before = await chain.get(`/metadata/v1/ft/${id}`);
  chain.mintFt(id, '5', bob.address);
  const after = await chain.get(`/metadata/v1/ft/${id}`, { 'if-none-match': before.headers.get('etag') ?? '' });
  expect([before.body.total_supply, after.status, after.body.total_supply]).toEqual(['7', 200, '12']);
});

test('the status counts tokens, and omits empty counts', async () => {
  using chain = tokenChain();
  const before = await chain.get('/metadata/v1/');
  const ready = { server_version: VERSION, status: 'ready', chain_tip: { block_height: 1 } };
  expect([before.status, before.body]).toEqual([200, ready]);
  for (const path of ['/metadata/v1', '/metadata', '/metadata/'])
    expect((await chain.get(path)).text).toBe(before.text);
  const etag = before.headers.get('etag') ?? '';
  expect(await chain.get('/metadata/v1', { 'if-none-match': etag })).toMatchObject({ status: 304 });
  chain.deploy('ft', 'a');
  const { id } = chain.deploy('nft', 'b');
  await chain.last(id, { last: 3 });
  const after = await chain.get('/metadata/v1/', { 'if-none-match': etag });
  expect([after.status, after.body]).toEqual([
    200,
    {
      ...ready,
      chain_tip: { block_height: 2 },
      tokens: { ft: 1, nft: 3 },
      token_contracts: { 'sip-009': 1, 'sip-010': 1 },
      job_queue: { pending: 4, done: 1 },
    },
  ]);
});
