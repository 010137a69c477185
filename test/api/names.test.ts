/** The routes of the name system: their parameters, answers, and what they say where there is nothing. */
import { describe, expect, test } from 'bun:test';
import { namePrice, namespacePrice } from '../../src/api/names/prices.ts';
import type { PriceFunction } from '../../src/chain/name-system.ts';
import { createApp } from '../../src/commands/app.ts';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { asReader, fakeChain } from './fake-store.ts';
import { bytes, hash, VERSION } from './samples.ts';

const OWNER = 'SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7';
const price: PriceFunction = {
  base: 4n,
  coefficient: 250n,
  exponents: [7n, 6n, 5n, 4n, 3n, 2n, 1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n],
  nonalphaDiscount: 2n,
  noVowelDiscount: 5n,
};

const made: Partial<Reader['names']> = {
  version: async () => '7-0',
  page: async (page) => (page === 0 ? ['alice.btc', 'bob.id'] : []),
  ofNamespace: async (namespace, page) => (namespace !== 'btc' ? undefined : page === 0 ? ['alice.btc'] : []),
  namespaces: async () => ['btc', 'id'],
  price: async (namespace) => (namespace === 'btc' ? price : undefined),
  find: async (name) =>
    name !== 'alice.btc'
      ? undefined
      : {
          owner: OWNER,
          operation: 'name-update',
          txId: bytes(3),
          expireBlock: 52_596,
          zonefileHash: bytes(4, 20),
          zonefile: '$ORIGIN alice.btc\n',
        },
  findSubdomain: async (name) =>
    name !== 'joe.alice.btc'
      ? undefined
      : { owner: OWNER, txId: bytes(3), resolver: '', zonefileHash: bytes(5, 16), zonefile: 'z' },
  resolver: async (name) => {
    if (name.endsWith('.alice.btc')) return 'https://registrar.example.com';
    if (name.endsWith('.bob.id')) return '';
    return name.endsWith('.bad.id') ? 'javascript:alert(1)//\r\n' : undefined;
  },
  zonefile: async (name, given) => {
    if (name !== 'alice.btc') return undefined;
    return given === null ? 'newest' : given.length === 20 && given[0] === 4 ? 'four' : undefined;
  },
  subdomains: async (name) => (name === 'alice.btc' ? ['joe.alice.btc'] : []),
  ofOwner: async (address) => (address === OWNER ? ['b.btc', 'joe.alice.btc', 'a.btc'] : []),
};

function api(names: Partial<Reader['names']> = made) {
  const reader = asReader({ names, chain: { tip: async () => fakeChain().tip } });
  const app = createApp({
    snapshots: { read: (request) => request(reader), close: () => {} },
    version: VERSION,
    log: (event) => {
      throw new Error(event.event, { cause: event.cause });
    },
    checkResponses: true,
  });
  return async (path: string, headers: Record<string, string> = {}) => {
    const response = await app.handle(new Request(`http://localhost${path}`, { headers }));
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
  };
}

const ask = api();
const FOUR = bytes(4, 20).toHex();

describe('is answered:', () => {
  test.each<[string, unknown]>([
    ['/v1/names', ['alice.btc', 'bob.id']],
    ['/v1/names?page=0&unanchored=true&limit=1', ['alice.btc', 'bob.id']],
    ['/v1/namespaces', { namespaces: ['btc', 'id'] }],
    ['/v1/namespaces/btc/names', ['alice.btc']],
    [
      '/v1/names/alice.btc',
      {
        address: OWNER,
        blockchain: 'stacks',
        expire_block: 52_596,
        last_txid: hash(3),
        status: 'name-update',
        zonefile: '$ORIGIN alice.btc\n',
        zonefile_hash: FOUR,
      },
    ],
    [
      '/v1/names/joe.alice.btc',
      {
        address: OWNER,
        blockchain: 'stacks',
        last_txid: hash(3),
        resolver: '',
        status: 'registered_subdomain',
        zonefile: 'z',
        zonefile_hash: bytes(5, 16).toHex(),
      },
    ],
    ['/v1/names/alice.btc/subdomains', ['joe.alice.btc']],
    ['/v1/names/nobody.btc/subdomains', []],
    ['/v1/names/alice.btc/zonefile', { zonefile: 'newest' }],
    [`/v1/names/alice.btc/zonefile/${FOUR}`, { zonefile: 'four' }],
    [`/v1/names/alice.btc/zonefile/0x${FOUR}`, { zonefile: 'four' }],
    [`/v1/addresses/stacks/${OWNER}`, { names: ['a.btc', 'b.btc', 'joe.alice.btc'] }],
    ['/v1/addresses/stacks/nonsense', { names: [] }],
    ['/v2/prices/namespaces/b', { units: 'STX', amount: '640000000000' }],
    ['/v2/prices/names/alice.btc', { units: 'STX', amount: '160000' }],
  ])('%s', async (path, body) => {
    const answer = await ask(path);
    expect([answer.status, answer.body]).toEqual([200, body]);
    expect(answer.headers.get('warning')).toStartWith('299 - ');
    expect(answer.headers.get('etag')).toMatch(/-7-0-[0-9a-f]+"$/);
  });
});

describe('is refused, with what is wrong alone:', () => {
  const pages = (path: string) =>
    ['abc', '-1', '1.5', ''].map((page): [string, number, string] => [
      `${path}?page=${page}`,
      400,
      page === '-1' ? 'querystring/page must be >= 0' : 'querystring/page must be integer',
    ]);
  const unanchored = (path: string): [string, number, string] => [
    `${path}?unanchored=1`,
    400,
    'querystring/unanchored must be boolean',
  ];
  test.each<[string, number, string]>([
    ...pages('/v1/names'),
    ...pages('/v1/namespaces/btc/names'),
    unanchored('/v1/names'),
    unanchored('/v1/namespaces'),
    unanchored('/v1/namespaces/btc/names'),
    unanchored('/v1/names/alice.btc'),
    unanchored('/v1/names/alice.btc/subdomains'),
    unanchored('/v1/names/alice.btc/zonefile'),
    unanchored(`/v1/names/alice.btc/zonefile/${FOUR}`),
    ['/v1/names?page=0&page=0', 400, 'querystring/page must be given once, not 2 times'],
    ['/v1/names?page=1', 400, 'Invalid page'],
    ['/v1/namespaces/btc/names?page=1', 400, 'Invalid page'],
    ['/v1/namespaces/none/names', 400, 'No such namespace'],
    ['/v1/names/nobody.btc', 404, 'cannot find name nobody.btc'],
    ['/v1/names/bad', 404, 'cannot find name bad'],
    ['/v1/names/a.b.alice.btc', 404, 'cannot find name a.b.alice.btc'],
    ['/v1/names/joe.nobody.btc', 404, 'cannot find subdomain joe.nobody.btc'],
    ['/v1/names/joe.bob.id', 404, 'missing resolver from a malformed zonefile'],
    ['/v1/names/joe.bad.id', 404, 'missing resolver from a malformed zonefile'],
    ['/v1/names/nobody.btc/zonefile', 404, 'No such name or zonefile does not exist'],
    [`/v1/names/alice.btc/zonefile/${'00'.repeat(20)}`, 404, 'No such name or zonefile'],
    ['/v1/names/alice.btc/zonefile/xyz', 400, 'params/zoneFileHash must match pattern "^(0x)?([a-fA-F0-9]{2})+$"'],
    ['/v2/prices/namespaces/123456789012345678901', 400, 'Invalid namespace'],
    ['/v2/prices/names/alice', 400, 'Invalid name'],
    ['/v2/prices/names/joe.alice.btc', 400, 'Invalid name'],
    ['/v2/prices/names/alice.none', 400, 'Invalid name'],
  ])('%s', async (path, status, error) => {
    const answer = await ask(path);
    expect([answer.status, answer.body]).toEqual([status, { error }]);
    expect(answer.headers.get('warning')).toStartWith('299 - ');
    expect(answer.headers.get('etag')).toBeNull();
  });
});

test('an address of another blockchain is refused, and a whole error tells of a wrong parameter', async () => {
  const refused = { statusCode: 400, error: 'Bad Request' };
  expect((await ask(`/v1/addresses/bitcoin/${OWNER}`)).body).toEqual({ ...refused, message: 'Unsupported blockchain' });
  expect((await ask(`/v1/addresses/stacks/${OWNER}?unanchored=yes`)).body).toEqual({
    ...refused,
    code: 'VALIDATION',
    message: 'querystring/unanchored must be boolean',
  });
});

test('the names of an address have a successor, which takes the same address', async () => {
  const { headers } = await ask(`/v1/addresses/stacks/${OWNER}`);
  expect(headers.get('link')).toBe(`</extended/v3/principals/${OWNER}/balances/nft>; rel="successor-version"`);
  expect((await ask('/v1/names')).headers.get('link')).toBeNull();
});

test('who asks for a subdomain that only its resolver knows is sent there', async () => {
  const answer = await ask('/v1/names/eve.alice.btc?unanchored=false');
  expect(answer.status).toBe(302);
  expect(answer.headers.get('location')).toBe('https://registrar.example.com/v1/names/eve.alice.btc?unanchored=false');
  expect(answer.headers.get('etag')).toMatch(/-7-0-[0-9a-f]+"$/);
  const again = await ask('/v1/names/eve.alice.btc', { 'if-none-match': answer.headers.get('etag') ?? '' });
  expect(again.status).toBe(304);
});

test('a zonefile that comes between two blocks makes another answer', async () => {
  let zonefile = '';
  let version = '0-0';
  const get = api({ ...made, version: async () => version, zonefile: async () => zonefile });
  const first = await get('/v1/names/alice.btc/zonefile');
  await get('/v1/names/alice.btc/zonefile');
  [zonefile, version] = ['here it is', '1-0'];
  const second = await get('/v1/names/alice.btc/zonefile', { 'if-none-match': first.headers.get('etag') ?? '' });
  expect([first.body, second.body]).toEqual([{ zonefile: '' }, { zonefile: 'here it is' }]);
});

describe('prices', () => {
  test.each([
    ['', undefined],
    ['a', 640_000_000_000n],
    ['ab', 64_000_000_000n],
    ['abc', 64_000_000_000n],
    ['abcd', 6_400_000_000n],
    ['abcdefg', 6_400_000_000n],
    ['abcdefgh', 640_000_000n],
    ['a'.repeat(20), 640_000_000n],
    ['a'.repeat(21), undefined],
  ])('namespace %j', (namespace, amount) => {
    expect(namespacePrice(namespace)).toBe(amount);
  });

  test.each<[string, bigint | undefined]>([
    // 250 * 4^7 * 10
    ['a', 40_960_000n],
    // Without a vowel, divided by 5.
    ['z', 8_192_000n],
    // A digit divides by 2, and the greater discount alone counts.
    ['a1', (250n * 4n ** 6n * 10n) / 2n],
    ['z1', ((250n * 4n ** 6n) / 5n) * 10n],
    ['a'.repeat(48), 10_000n],
    ['a'.repeat(49), undefined],
    ['', undefined],
  ])('name %j', (label, amount) => {
    expect(namePrice(label, price)).toBe(amount);
  });

  test('beyond the contract’s numbers there are none', () => {
    const with_ = (changed: Partial<PriceFunction>) => namePrice('a', { ...price, ...changed });
    expect(with_({ exponents: [2n ** 127n] })).toBeUndefined();
    expect(with_({ base: 1n, exponents: [2n ** 127n] })).toBe(2500n);
    expect(with_({ base: 2n ** 127n, exponents: [2n] })).toBeUndefined();
    expect(with_({ coefficient: 2n ** 127n })).toBeUndefined();
    expect(with_({ exponents: [] })).toBeUndefined();
  });
});
