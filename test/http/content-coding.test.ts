/** Compressed responses: the chosen coding, ETags, and the cache. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { codingFor } from '../../src/http/content-coding.ts';
import { responseCache } from '../../src/http/response-cache.ts';
import { testApp } from '../api/test-app.ts';
import { assertProperty } from '../support/property.ts';
import { unpack } from '../support/unpack.ts';

const LONG = '/extended/v3/transactions?limit=50';
const SHORT = '/extended/v3/transactions?limit=1';
const { request } = testApp();
const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') => request(path, { method, headers });

const codings = ['zstd', 'gzip', 'br'] as const;

test.each([
  [null, null],
  ['', null],
  ['identity', null],
  ['deflate', null],
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['gzip, deflate, br, zstd', 'zstd'],
  ['gzip, deflate, br', 'gzip'],
  ['br;q=1.0, gzip;q=0.8, *;q=0.1', 'br'],
  ['zstd;q=0, gzip', 'gzip'],
  ['gzip;q=0', null],
  ['gzip;q=0.0, *', null],
  ['*', 'gzip'],
  ['*;q=0', null],
  ['gzip;q=0.5, identity', null],
  ['gzip;q=0.5, identity;q=0.5', 'gzip'],
  ['zstd;q=0.2, br;q=0.3', 'br'],
  ['gzip;q=2', 'gzip'],
  [`${'x, '.repeat(200)}gzip`, 'gzip'],
] as const)('Accept-Encoding %p gets the coding %p', (header, coding) => {
  expect(codingFor(header)).toBe(coding);
});

test('any Accept-Encoding gets a coding that it names, or none', () => {
  const part = fc.tuple(
    fc.constantFrom(...codings, 'identity', '*', 'deflate', ''),
    fc.constantFrom('', ';q=0', ';q=0.5', ';q=x'),
  );
  const header = fc.array(part, { maxLength: 5 }).map((parts) => parts.map((item) => item.join('')).join(','));
  assertProperty(
    fc.property(header, (text) => {
      const coding = codingFor(text);
      if (coding !== null) expect(text).toMatch(new RegExp(`${coding}|\\*`));
    }),
    { always: 'each header is read' },
  );
});

describe.each(codings)('a client that accepts %s', (coding) => {
  const accepting = { 'accept-encoding': coding };

  test('gets the same content compressed, with a weak ETag, when it is made and when it is cached', async () => {
    const plain = await ask(LONG);
    const text = await plain.text();
    for (let times = 0; times < 4; times++) {
      const response = await ask(LONG, accepting);
      expect(response.headers.get('content-encoding')).toBe(coding);
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(response.headers.get('vary')).toBe('Accept-Encoding');
      expect(response.headers.get('etag')).toBe(`W/${plain.headers.get('etag')}`);
      const bytes = await response.bytes();
      expect(bytes.length).toBeLessThan(text.length / 2);
      expect(new TextDecoder().decode(unpack[coding](new Uint8Array(bytes)))).toBe(text);
    }
  });

  test('gets 304 for the ETag of either copy, with the ETag that it named', async () => {
    const strong = (await ask(LONG)).headers.get('etag')!;
    for (const tag of [strong, `W/${strong}`]) {
      const response = await ask(LONG, { ...accepting, 'if-none-match': tag });
      expect([response.status, response.headers.get('etag'), response.headers.get('vary')]).toEqual([
        304,
        tag,
        'Accept-Encoding',
      ]);
    }
  });

  test('gets a short response uncompressed', async () => {
    const response = await ask(SHORT, accepting);
    const text = await response.text();
    expect(text.length).toBeLessThan(1_024);
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(response.headers.get('etag')).toStartWith('"');
  });

  test('gets the length of the compressed content for HEAD', async () => {
    const length = String((await (await ask(LONG, accepting)).bytes()).length);
    const head = await ask(LONG, accepting, 'HEAD');
    expect([head.headers.get('content-length'), head.headers.get('content-encoding')]).toEqual([length, coding]);
  });
});

test('a response is not compressed without Accept-Encoding, and varies by that header', async () => {
  const response = await ask(LONG);
  expect(response.headers.get('content-encoding')).toBeNull();
  expect(response.headers.get('vary')).toBe('Accept-Encoding');
});

test('the response to a POST is compressed', async () => {
  const principals = Array.from({ length: 50 }, () => 'ST000000000000000000002AMW42H');
  const response = await request('/stackside/v1/principals/balances', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
    body: JSON.stringify({ principals }),
  });
  expect([response.headers.get('content-encoding'), response.headers.get('etag')]).toEqual(['gzip', null]);
  expect(
    JSON.parse(new TextDecoder().decode(Bun.gunzipSync(new Uint8Array(await response.bytes())))).results,
  ).toHaveLength(50);
});

test('a cached answer is compressed once for each coding, and again for another ETag', () => {
  const cache = responseCache();
  const text = '{"a":1}'.repeat(1_000);
  for (let times = 0; times < 2; times++) cache.set('/a', 'tag', text);
  const first = cache.compress('/a', 'tag', text, 'gzip');
  expect(cache.compress('/a', 'tag', text, 'gzip')).toBe(first);
  expect(cache.compress('/a', 'tag', text, 'zstd')).not.toBe(first);
  expect(cache.get('/a', 'tag')).toBe(text);
  const other = '{"b":2}'.repeat(1_000);
  cache.set('/a', 'other', other);
  expect(new TextDecoder().decode(Bun.gunzipSync(cache.compress('/a', 'other', other, 'gzip')))).toBe(other);
});
