/** Headers of deprecated routes, and their 410 after the sunset. */
import { describe, expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Deprecation, DeprecationPolicy } from '../../src/http/deprecation.ts';
import { notFound } from '../../src/http/errors.ts';
import type { SentText } from '../../src/http/parameters.ts';
import { plugin, route } from '../../src/http/route.ts';
import { routeContext } from '../api/route-context.ts';
import { sampleIndex } from '../api/test-app.ts';

const DATE = '2027-06-30T00:00:00.000Z';
const WARNING = '299 - "Deprecated: See http://localhost/docs for more information"';

const lowerCased = Type.Transform(Type.String())
  .Decode((text) => text)
  .Encode((text) => text.toLowerCase());

function oldRoute(deprecated: Deprecation, policy: Partial<DeprecationPolicy> = {}, now = Date.parse(DATE) - 1) {
  let handled = 0;
  const old = route({
    path: '/old/{id}/item',
    operationId: 'getOldItem',
    summary: 'An item',
    tag: 'Old',
    params: { id: Type.String({ pattern: '^[a-z]+$' }) },
    query: { kinds: Type.Optional(Type.Array(lowerCased)) },
    response: Type.Object({ id: Type.String() }),
    notFound: 'Item not found',
    deprecated,
    moved: (url) => (url.includes('/UP/') ? '/old/up/item' : null),
    etag: () => 'tag',
    history: 'none',
    handle: ({ params: { id } }) => {
      handled++;
      if (id === 'unknown') throw notFound('no such item');
      return { id };
    },
  });
  const context = routeContext({
    snapshots: sampleIndex(),
    deprecation: { enabled: true, sunset: null, ...policy },
    now: () => now,
  });
  const app = new Elysia().use(plugin(context, [old]));
  const get = (path: string, headers: Record<string, string> = {}) =>
    Promise.resolve(app.handle(new Request(`http://localhost${path}`, { headers })));
  return { get, detail: old.detail, handled: () => handled };
}

const REPLACED: Deprecation = { replacement: '/new/{id}' };

describe('a deprecated route', () => {
  test.each([
    ['/old/abc/item', 200],
    ['/old/unknown/item', 404],
    ['/old/123/item', 400],
    ['/old/UP/item', 302],
  ])('%s returns %d with a warning', async (path, status) => {
    const response = await oldRoute(REPLACED).get(path);
    expect(response.status).toBe(status);
    expect(response.headers.get('warning')).toBe(WARNING);
    expect(response.headers.has('sunset')).toBe(false);
  });

  test('also sends the warning with a 304', async () => {
    const response = await oldRoute(REPLACED).get('/old/abc/item', { 'if-none-match': '"tag"' });
    expect(response.status).toBe(304);
    expect(response.headers.get('warning')).toBe(WARNING);
  });

  const parts = {
    upper: (sent: SentText) => sent('id')?.toUpperCase() ?? null,
    none: () => null,
    now: () => 'current',
  };
  test.each<[link: string | null, deprecated: Deprecation]>([
    ['</new/abc>; rel="successor-version"', REPLACED],
    [
      '</new/abc>; rel="successor-version", </newer>; rel="successor-version"',
      { replacement: ['/new/{id}', '/newer'] },
    ],
    [null, { replacement: null }],
    ['</near>; rel="related"', { replacement: null, related: '/near' }],
    ['</near/abc>; rel="related"', { replacement: null, related: '/near/{id}' }],
    [null, { replacement: null, related: '/near/{kinds}' }],
    ['</near/current>; rel="related"', { replacement: null, related: '/near/{now}', parts }],
    ['</new/ABC>; rel="successor-version"', { replacement: ['/new/{upper}', '/{none}'], parts }],
  ])('sends the link %p for %j', async (link, deprecated) => {
    const { headers } = await oldRoute(deprecated).get('/old/abc/item?x=1');
    expect(headers.get('link')).toBe(link);
  });

  test('sends no link for an invalid request', async () => {
    expect((await oldRoute(REPLACED).get('/old/123/item')).headers.has('link')).toBe(false);
  });

  test("can't be declared with a link that needs an unknown parameter", () => {
    expect(() => oldRoute({ replacement: '/new/{other}' })).toThrow('has no parameter other');
    expect(() => oldRoute({ replacement: null, related: '/near/{other}' })).toThrow('has no parameter other');
  });

  test('is marked as deprecated in the OpenAPI document', () => {
    expect(oldRoute(REPLACED).detail).toMatchObject({ deprecated: true, responses: { 410: {} } });
  });
});

describe('the sunset of a deprecated route', () => {
  test('is announced in a header before the date', async () => {
    const response = await oldRoute(REPLACED, { sunset: Date.parse(DATE) }).get('/old/abc/item');
    expect(response.status).toBe(200);
    expect(response.headers.get('sunset')).toBe('Wed, 30 Jun 2027 00:00:00 GMT');
  });

  test.each<[string, Partial<DeprecationPolicy>, number]>([
    ['at the date', { sunset: Date.parse(DATE) }, Date.parse(DATE)],
    ['after the date', { sunset: Date.parse(DATE) }, Date.parse(DATE) + 1],
    ['switched off', { enabled: false }, 0],
  ])('%s: returns 410 without running the handler', async (_, policy, now) => {
    const { get, handled } = oldRoute(REPLACED, policy, now);
    for (const path of ['/old/abc/item', '/old/123/item']) {
      const response = await get(path);
      expect(response.status).toBe(410);
      expect(response.headers.get('warning')).toBe(WARNING);
      expect(await response.json()).toEqual({
        statusCode: 410,
        code: 'GONE',
        error: 'Gone',
        message: 'This endpoint is gone; use /new/{id}',
      });
    }
    expect(handled()).toBe(0);
  });
});
