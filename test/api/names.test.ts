/** The routes of the name system: parameters, answers, and errors for unknown names. */
import { describe, expect, test } from 'bun:test';
import { namePrice, namespacePrice, type PriceFunction } from '../../src/chain/name-system.ts';
import { openNew } from '../support/data/ingest.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { snapshotsOf } from '../support/data/snapshots-by.ts';
import { bob, carol } from '../support/events/handmade.ts';
import { attached, hashOfText, launched, mintTo, nameBlock, operated } from '../support/events/names.ts';
import { testApp } from './test-app.ts';

const OWNER = bob.address;
const price: PriceFunction = {
  base: 4n,
  coefficient: 250n,
  exponents: [7n, 6n, 5n, 4n, 3n, 2n, 1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n],
  nonalphaDiscount: 2n,
  noVowelDiscount: 5n,
};

const JOE = 'z';
const ZONEFILE = `$ORIGIN alice.btc
joe TXT "owner=${OWNER}" "zf0=${btoa(JOE)}"
_resolver URI 10 1 "https://registrar.example.com"
`;

const registered = {
  alice: operated({ op: 'name-register', zonefile: 'four', token: mintTo(OWNER) }),
  bob: operated({ op: 'name-register', zonefile: 'none', name: 'bob', token: mintTo(carol.address) }),
  bad: operated({ op: 'name-register', zonefile: 'first', name: 'bad', token: mintTo(carol.address) }),
  zed: operated({ op: 'name-register', zonefile: 'last', name: 'zed', token: mintTo(OWNER) }),
};
const first = nameBlock(null, 'first', launched(52_595), launched(0, 'id'), ...Object.values(registered));
const ANN = `ann TXT "owner=${OWNER}" "zf0=YQ=="\n`;
const BAD_ZONEFILE = `${ANN}_resolver URI 10 1 "javascript:alert(1)//"\n`;
/** The zonefiles of three names: one with a resolver, one without, and one with a resolver that is not an HTTP URL. */
const updates = {
  bob: operated({ op: 'name-update', zonefile: ANN, name: 'bob' }),
  alice: operated({ op: 'name-update', zonefile: ZONEFILE }),
  bad: operated({ op: 'name-update', zonefile: BAD_ZONEFILE, name: 'bad' }),
};
const second = nameBlock(first, 'second', ...Object.values(updates));
const attachments = [
  attached(registered.alice, first, 'name-register', 'four'),
  attached(updates.alice, second, 'name-update', ZONEFILE),
  attached(updates.bob, second, 'name-update', ANN, 'bob'),
  attached(updates.bad, second, 'name-update', BAD_ZONEFILE, 'bad'),
];
/** The end of each answer's tag: the number of attachments, and 0 because no name is from before the chain. */
const VERSION_TAG = new RegExp(`-${attachments.length}-0-[0-9a-f]+"$`);

const { request, logged } = testApp(memoryIndex([first.event, second.event, ...attachments]));

async function ask(path: string, headers: Record<string, string> = {}) {
  const response = await request(path, { headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
}

const FOUR = hashOfText('four').toHex();

describe('returns 200 for', () => {
  const ofAlice = { address: OWNER, blockchain: 'stacks', last_txid: updates.alice.transaction.id };
  const zonefile = { zonefile: ZONEFILE, zonefile_hash: hashOfText(ZONEFILE).toHex() };
  const owned = ['alice.btc', 'ann.bad.btc', 'ann.bob.btc', 'joe.alice.btc', 'zed.btc'];
  const joeHash = new Bun.CryptoHasher('sha256').update(JOE).digest().subarray(16).toHex();
  const subdomain = { status: 'registered_subdomain', zonefile: JOE, zonefile_hash: joeHash };
  test.each<[string, unknown]>([
    ['/v1/names', ['alice.btc', 'bad.btc', 'bob.btc', 'zed.btc']],
    ['/v1/names?page=0&unanchored=true&limit=1', ['alice.btc', 'bad.btc', 'bob.btc', 'zed.btc']],
    ['/v1/namespaces', { namespaces: ['btc', 'id'] }],
    ['/v1/namespaces/btc/names', ['alice.btc', 'bad.btc', 'bob.btc', 'zed.btc']],
    ['/v1/names/alice.btc', { ...ofAlice, expire_block: 52_596, status: 'name-update', ...zonefile }],
    ['/v1/names/joe.alice.btc', { ...ofAlice, resolver: 'https://registrar.example.com', ...subdomain }],
    ['/v1/names/alice.btc/subdomains', ['joe.alice.btc']],
    ['/v1/names/nobody.btc/subdomains', []],
    ['/v1/names/alice.btc/zonefile', { zonefile: ZONEFILE }],
    [`/v1/names/alice.btc/zonefile/${FOUR}`, { zonefile: 'four' }],
    [`/v1/names/alice.btc/zonefile/0x${FOUR}`, { zonefile: 'four' }],
    [`/v1/addresses/stacks/${OWNER}`, { names: owned }],
    ['/v1/addresses/stacks/nonsense', { names: [] }],
    ['/v2/prices/namespaces/b', { units: 'STX', amount: '640000000000' }],
    ['/v2/prices/names/alice.btc', { units: 'STX', amount: '10000' }],
  ])('%s', async (path, body) => {
    const answer = await ask(path);
    expect([answer.status, answer.body]).toEqual([200, body]);
    expect(answer.headers.get('warning')).toStartWith('299 - ');
    expect(answer.headers.get('etag')).toMatch(VERSION_TAG);
  });
});

describe('rejects with only the error text:', () => {
  type Refusal = [path: string, status: number, error: string];
  const numbers = { abc: 'integer', '-1': '>= 0', '1.5': 'integer', '': 'integer', '10001': '<= 10000' };
  const pages = (path: string) =>
    Object.entries(numbers).map(
      ([page, rule]): Refusal => [`${path}?page=${page}`, 400, `querystring/page must be ${rule}`],
    );
  const named = '/v1/names/alice.btc';
  const unanchored = ['/v1/names', '/v1/namespaces', '/v1/namespaces/btc/names', named, `${named}/subdomains`];
  test.each<Refusal>([
    ...pages('/v1/names'),
    ...pages('/v1/namespaces/btc/names'),
    ...[...unanchored, `${named}/zonefile`, `${named}/zonefile/${FOUR}`].map(
      (path): Refusal => [`${path}?unanchored=1`, 400, 'querystring/unanchored must be boolean'],
    ),
    ['/v1/names?page=0&page=0', 400, 'querystring/page must be given once, not 2 times'],
    ['/v1/names?page=1', 400, 'Invalid page'],
    ['/v1/names?page=10000', 400, 'Invalid page'],
    ['/v1/namespaces/btc/names?page=1', 400, 'Invalid page'],
    ['/v1/namespaces/none/names', 400, 'No such namespace'],
    ['/v1/names/nobody.btc', 404, 'cannot find name nobody.btc'],
    ['/v1/names/bad', 404, 'cannot find name bad'],
    ['/v1/names/a.b.alice.btc', 404, 'cannot find name a.b.alice.btc'],
    ['/v1/names/joe.nobody.btc', 404, 'cannot find subdomain joe.nobody.btc'],
    ['/v1/names/joe.bob.btc', 404, 'missing resolver from a malformed zonefile'],
    ['/v1/names/joe.bad.btc', 404, 'missing resolver from a malformed zonefile'],
    ['/v1/names/nobody.btc/zonefile', 404, 'No such name or zonefile does not exist'],
    [`/v1/names/alice.btc/zonefile/${'00'.repeat(20)}`, 404, 'No such name or zonefile'],
    [
      '/v1/names/alice.btc/zonefile/xyz',
      400,
      'params/zoneFileHash must be a hash in hexadecimal digits, with or without 0x before them',
    ],
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

test('an address of another blockchain and an invalid parameter return the full error object', async () => {
  const refused = { statusCode: 400, error: 'Bad Request' };
  expect((await ask(`/v1/addresses/bitcoin/${OWNER}`)).body).toEqual({ ...refused, message: 'Unsupported blockchain' });
  const invalid = { ...refused, code: 'VALIDATION', message: 'querystring/unanchored must be boolean' };
  expect((await ask(`/v1/addresses/stacks/${OWNER}?unanchored=yes`)).body).toEqual(invalid);
});

test('the names of an address link to a successor with the same address', async () => {
  const { headers } = await ask(`/v1/addresses/stacks/${OWNER}`);
  const successor = `/extended/v3/principals/${OWNER}/balances/nft`;
  expect(headers.get('link')).toBe(`<${successor}>; rel="successor-version"`);
  expect((await ask('/v1/names')).headers.get('link')).toBeNull();
});

test('an unregistered subdomain redirects to the resolver of its name', async () => {
  const answer = await ask('/v1/names/eve.alice.btc?unanchored=false');
  expect(answer.status).toBe(302);
  expect(answer.headers.get('location')).toBe('https://registrar.example.com/v1/names/eve.alice.btc?unanchored=false');
  expect(answer.headers.get('etag')).toMatch(VERSION_TAG);
  const cached = await ask('/v1/names/eve.alice.btc', { 'if-none-match': answer.headers.get('etag') ?? '' });
  expect(cached.status).toBe(304);
});

test('a zonefile that arrives between two blocks changes the answer', async () => {
  using open = openNew();
  for (const { event } of [first, second]) open.ingest.receive(event);
  using snapshots = snapshotsOf(open.directory);
  const { request } = testApp(snapshots);
  const path = '/v1/names/alice.btc/zonefile';
  const before = await request(path);
  await request(path);
  for (const event of attachments) open.ingest.receive(event);
  const after = await request(path, { headers: { 'if-none-match': before.headers.get('etag') ?? '' } });
  expect([await before.json(), await after.json()]).toEqual([{ zonefile: '' }, { zonefile: ZONEFILE }]);
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
  ])('of namespace %j', (namespace, amount) => {
    expect(namespacePrice(namespace)).toBe(amount);
  });

  test.each<[string, bigint | undefined]>([
    // 250 * 4^7 * 10
    ['a', 40_960_000n],
    // Without a vowel, divided by 5.
    ['z', 8_192_000n],
    // A digit divides by 2, and only the greater discount counts.
    ['a1', (250n * 4n ** 6n * 10n) / 2n],
    ['z1', ((250n * 4n ** 6n) / 5n) * 10n],
    ['a'.repeat(48), 10_000n],
    ['a'.repeat(49), undefined],
    ['', undefined],
  ])('of name %j', (label, amount) => {
    expect(namePrice(label, price)).toBe(amount);
  });

  test("are undefined if they exceed the contract's integers", () => {
    const with_ = (changed: Partial<PriceFunction>) => namePrice('a', { ...price, ...changed });
    expect(with_({ exponents: [2n ** 127n] })).toBeUndefined();
    expect(with_({ base: 1n, exponents: [2n ** 127n] })).toBe(2500n);
    expect(with_({ base: 2n ** 127n, exponents: [2n] })).toBeUndefined();
    expect(with_({ coefficient: 2n ** 127n })).toBeUndefined();
    expect(with_({ exponents: [] })).toBeUndefined();
  });
});

test('none of these requests logs an error', () => expect(logged).toEqual([]));

test.each(['httpx://example.com', 'xhttp://example.com', 'ftp://example.com'])(
  'no redirect leads to a resolver at %s',
  async (resolver) => {
    const zonefile = `${ANN}_resolver URI 10 1 "${resolver}"\n`;
    const update = operated({ op: 'name-update', zonefile, name: 'bad' });
    const changed = nameBlock(first, `resolver ${resolver}`, update);
    const came = attached(update, changed, 'name-update', zonefile, 'bad');
    const { json } = testApp(memoryIndex([first.event, changed.event, came]));
    const body = { error: 'missing resolver from a malformed zonefile' };
    expect(await json('/v1/names/eve.bad.btc')).toMatchObject({ status: 404, body });
  },
);
