/** The OpenAPI document in the form that the console's API reference shows. */
import { expect, test } from 'bun:test';
import {
  type ApiDocument,
  exampleOf,
  fieldsOf,
  isMatch,
  limitsText,
  type Operation,
  readReference,
  type Schemas,
  toCurl,
  toRequest,
  typeText,
  variantsOf,
} from '../../src/console/app/chain/api-reference.ts';
import { testApp } from '../api/test-app.ts';

const document = (await (await testApp().request('/docs/json')).json()) as ApiDocument;
const { groups, schemas } = readReference(document);
const operations = groups.flatMap((group) => group.operations);
const operationOf = (id: string): Operation => operations.find((operation) => operation.id === id)!;
const empty = { values: {}, body: '', key: '', type: '' };

test('the reference has each operation of the document once, with its parameters and responses', () => {
  const methods = Object.values(document.paths).flatMap((path) => Object.keys(path));
  expect(operations.length).toBe(methods.length);
  expect(new Set(operations.map(({ id }) => id)).size).toBe(methods.length);
  for (const { parameters, answers } of operations) {
    for (const { name, schema } of parameters) expect([typeof name, typeof schema]).toEqual(['string', 'object']);
    for (const { description } of answers) expect(description).not.toBe('');
  }
});

test('each successful JSON response has a type in words, and each current one has an example', () => {
  for (const { id, answers, isDeprecated } of operations) {
    const schema = answers.find(({ status }) => status === '200')?.schema ?? null;
    if (schema === null) continue;
    expect([id, typeText(schema, schemas)]).not.toEqual([id, 'any']);
    if (!isDeprecated) expect([id, exampleOf(schema, schemas)]).not.toEqual([id, undefined]);
  }
});

test('a list has the example of its page with the example of its items', () => {
  const { schema } = operationOf('getTransactions').answers[0]!;
  expect(exampleOf(schema!, schemas)).toMatchObject({
    limit: 20,
    cursor: { previous: null },
    results: [{ tx_id: expect.stringMatching(/^0x/) }],
  });
});

test('a search finds the operations that contain each word', () => {
  const ids = operations.filter((operation) => isMatch(operation, 'holders FT')).map(({ id }) => id);
  expect(ids).toContain('getFtHolders');
  expect(ids).not.toContain('getTransactions');
  expect(operations.every((operation) => isMatch(operation, ''))).toBe(true);
});

const example: Schemas = {
  Base: { type: 'object', required: ['id'], properties: { id: { type: 'string', examples: ['a'] } } },
  Leaf: { allOf: [{ $ref: '#/components/schemas/Base' }], properties: { next: { $ref: '#/components/schemas/Leaf' } } },
  Name: { type: 'string', examples: ['x'] },
};
const leaf = { $ref: '#/components/schemas/Leaf' };

test.each([
  [{ type: ['string', 'null'] }, 'string or null'],
  [{ type: 'array', items: { $ref: '#/components/schemas/Name' } }, 'array of string'],
  [{ anyOf: [leaf, { type: 'null' }] }, 'Leaf or null'],
  [{ enum: ['a', null] }, '"a" | null'],
  [{ const: 'a' }, '"a"'],
  [{ properties: {} }, 'any'],
  [{ properties: { a: {} } }, 'object'],
])('the type of %j is %s', (schema, words) => {
  expect(typeText(schema, example)).toBe(words);
});

test('an object has the members of the objects that it extends', () => {
  expect(fieldsOf(leaf, example).map(({ name, isRequired }) => [name, isRequired])).toEqual([
    ['id', true],
    ['next', false],
  ]);
  expect(fieldsOf({ additionalProperties: { type: 'string' } }, example).map(({ name }) => name)).toEqual(['…']);
  expect(variantsOf({ anyOf: [leaf, { type: 'null' }] }, example)).toEqual([leaf]);
});

test('limits and defaults are words', () => {
  expect(limitsText({ minimum: 0, maximum: 5, default: 2 })).toBe('at least 0, at most 5, default 2');
  expect(limitsText({})).toBe('');
});

test('a request has escaped path parameters, its query without empty values, and its headers', () => {
  const request = toRequest(operationOf('getFtHolders'), {
    ...empty,
    values: { asset_identifier: 'S.t::a/b', limit: ' 5 ', cursor: '', 'stackside-min-height': '7' },
    key: 'secret',
  });
  expect(request).toEqual({
    method: 'GET',
    path: '/extended/v3/tokens/ft/S.t%3A%3Aa%2Fb/holders?limit=5',
    headers: { 'stackside-min-height': '7', 'x-api-key': 'secret' },
    body: null,
  });
});

test('a list of values is sent as repeated keys or with commas, according to the document', () => {
  const repeated = { name: 'a', in: 'query', schema: {}, explode: true } as const;
  const operation = {
    ...operationOf('getTransactions'),
    parameters: [repeated, { ...repeated, name: 'b', explode: false }],
  };
  expect(toRequest(operation, { ...empty, values: { a: '1, 2', b: '1,2' } }).path).toEndWith('?a=1&a=2&b=1%2C2');
});

test('a body is sent as JSON, and quoted in the curl command', () => {
  const request = toRequest(operationOf('registerChainhook'), { ...empty, body: `{"name":"it's"}`, type: 'text/csv' });
  expect(toCurl(request, 'https://api.example')).toBe(
    String.raw`curl -X POST 'https://api.example/chainhooks/me' \
  -H 'accept: text/csv' \
  -H 'content-type: application/json' \
  -d '{"name":"it'\''s"}'`,
  );
  expect(toRequest(operationOf('registerChainhook'), empty).body).toBeNull();
});
