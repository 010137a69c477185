/** Request bodies, on a route declared for these tests. */
import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { plugin, route } from '../../src/http/route.ts';
import { routeContext } from '../api/route-context.ts';

const context = routeContext();
const sum = route({
  method: 'POST',
  path: '/sum/{name}',
  operationId: 'sum',
  summary: 'Adds numbers',
  tag: 'Test',
  params: { name: Type.String() },
  body: Type.Object({
    numbers: Type.Array(Type.Integer({ minimum: 0, maximum: 9 }), { minItems: 1 }),
    sign: Type.Optional(Type.Union([Type.Literal('plus'), Type.Literal('minus')])),
    closed: Type.Optional(Type.Object({}, { additionalProperties: false })),
  }),
  response: Type.Object({ name: Type.String(), sum: Type.Integer() }),
  etag: null,
  history: 'none',
  snapshot: false,
  handle: ({ params, body }) => ({ name: params.name, sum: body.numbers.reduce((a, b) => a + b, 0) }),
});
const app = new Elysia().use(plugin(context, [sum]));

async function post(
  body: string | undefined,
  headers: Record<string, string> = { 'content-type': 'application/json' },
) {
  const init = body === undefined ? { method: 'POST', headers } : { method: 'POST', headers, body };
  const response = await app.handle(new Request('http://localhost/sum/x', init));
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** A valid body with a value that adds this many levels. */
const nested = (levels: number): string => `{"numbers":[1,2],"more":${'['.repeat(levels)}${']'.repeat(levels)}}`;

test('a body may be nested up to the depth limit', async () => {
  expect((await post(nested(15))).body).toEqual({ name: 'x', sum: 3 });
});

test('a body is parsed, and its answer is sent with no-store', async () => {
  const { status, body, headers } = await post('{"numbers":[1,2],"more":true}', {
    'content-type': 'application/json; charset=utf-8',
  });
  expect([status, body]).toEqual([200, { name: 'x', sum: 3 }]);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('etag')).toBeNull();
});

test.each([
  ['{}', 'body/numbers is required'],
  ['[]', 'body must be object'],
  ['{"numbers":1}', 'body/numbers must be array'],
  ['{"numbers":[]}', 'body/numbers must NOT have fewer than 1 items'],
  ['{"numbers":[1,"2"]}', 'body/numbers/1 must be integer'],
  ['{"numbers":[1,-1]}', 'body/numbers/1 must be >= 0'],
  ['{"numbers":[10]}', 'body/numbers/0 must be <= 9'],
  ['{"numbers":[1],"sign":"times"}', 'body/sign must be plus or minus'],
  ['{"numbers":[1],"closed":{"a/b":1}}', 'body/closed/a/b is not allowed'],
  ['{', 'The body is not valid JSON'],
  [nested(16), 'The body must not be nested deeper than 16 levels'],
  // Rejected without being parsed, because it ends inside brackets.
  ['['.repeat(20), 'The body must not be nested deeper than 16 levels'],
  ['', 'body is required'],
  [undefined, 'body is required'],
])('%s is rejected with the name of the field', async (sent, message) => {
  const { status, body } = await post(sent);
  expect([status, body]).toEqual([400, { statusCode: 400, code: 'VALIDATION', error: 'Bad Request', message }]);
});

test("returns 415 for a body that isn't JSON, and 413 for one that is too long", async () => {
  expect((await post('{"numbers":[1]}', { 'content-type': 'text/plain' })).status).toBe(415);
  expect((await post(`{"numbers":[1],"x":"${'x'.repeat(1024 * 1024)}"}`)).status).toBe(413);
});
