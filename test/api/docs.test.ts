/** The OpenAPI document: complete and consistent. */

import { expect, test } from 'bun:test';
import { type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { devnetRoutes } from '../../src/api/devnet/routes.ts';
import recordedAnswers from '../../src/api/shared/examples/answers.json' with { type: 'json' };
import recordedValues from '../../src/api/shared/examples/values.json' with { type: 'json' };
import { systemRoutes } from '../../src/api/stackside/system.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Turns } from '../../src/base/turns.ts';
import { changeRoutes } from '../../src/hooks/routes/changes.ts';
import { hookRoutes } from '../../src/hooks/routes/hooks.ts';
import { isPartial } from '../../src/http/history.ts';
import { complete, operation, type RecordedExample } from '../../src/http/openapi.ts';
import { routesOf } from '../support/api/app.ts';
import { checkedBody } from '../support/api/checked-app.ts';
import { recordExamples, targetOf } from '../support/generate/examples.ts';
import { pageWithRoutes, routesPage } from '../support/generate/route-tables.ts';
import { unpack } from '../support/unpack.ts';
import { sampleIndex, testApp } from './test-app.ts';

interface Body {
  description: string;
  required?: boolean;
  content?: Record<string, { schema: object; example?: unknown }>;
}
type Json = Record<string, unknown>;
interface Operation {
  deprecated?: boolean;
  security?: object[];
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  parameters: { name: string; in: string; required?: boolean; schema: Json; description?: string; example: unknown }[];
  requestBody?: Body;
  responses: Record<string, Body>;
}
interface Schema {
  $ref?: string;
  type?: string | string[];
  items?: Schema;
  additionalProperties?: Schema;
  properties?: Record<string, Schema>;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  const?: string;
  enum?: string[];
  examples?: unknown[];
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    securitySchemes: Record<string, object>;
    schemas: Record<string, Schema>;
    [kind: string]: Record<string, object>;
  };
}

const text = await (await testApp().request('/docs/json')).text();
/** The document as it is served. */
const whole = JSON.parse(text) as Document;
const { schemas } = whole.components;
/** The operations, with their parameters but for headers. */
const operations = Object.entries(whole.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const parameters = operation.parameters.filter((item) => item.in !== 'header');
    return { path, method, operation: { ...operation, parameters } };
  }),
);
const operationOf = (method: string, path: string) =>
  operations.find((candidate) => candidate.path === path && candidate.method === method)!.operation;
const noServer = { snapshots: sampleIndex(), clock: systemClock, turns: new Turns(systemClock), elsewhere: null };
const ofOperator = systemRoutes(null, () => () => undefined);
const ofDevnet = devnetRoutes(null);
const hooks = [...hookRoutes('', null), ...ofOperator, ...changeRoutes(noServer)].filter(({ hidden }) => !hidden);
const open = routesOf('').filter(({ hidden }) => !hidden);
const routes = new Map([...open, ...hooks, ...ofDevnet].map((route) => [route.detail.operationId, route]));

test('the document contains exactly the declared routes', () => {
  const declared = [...routes.values()].map(({ method, path }) => `${method.toLowerCase()} ${path}`);
  expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(declared.sort());
});

/** Patterns without a `rule`, which has the pattern of a text, or the choices of a union, in words. */
function patternsWithoutRule(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { pattern, rule } = schema as { pattern?: unknown; rule?: unknown };
  if (typeof rule === 'string') return [];
  return [
    ...(typeof pattern === 'string' ? [`${path}: ${pattern}`] : []),
    ...Object.entries(schema).flatMap(([name, part]) => patternsWithoutRule(part, `${path}/${name}`)),
  ];
}

test('every pattern of a parameter or body has a rule in words, so that no 400 shows a regular expression', () => {
  const patterns = [...routes.values()].flatMap(({ path, query, detail }) =>
    patternsWithoutRule([query, detail.parameters, detail.requestBody], path),
  );
  expect(patterns).toEqual([]);
});

test('every operation has a unique id, a summary, a tag and an answer', () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { operation } of operations) {
    const { summary, tags, responses } = operation;
    expect(summary).toMatch(/^[A-Z].{3,59}[^.]$/);
    expect(tags).toHaveLength(1);
    const [type, content] = Object.entries((responses[200] ?? responses[202])?.content ?? {})[0] ?? [];
    if (responses[204] !== undefined) {
      expect(type).toBeUndefined();
      continue;
    }
    expect(type).toMatch(/^(application\/json|text\/plain)$/);
    expect(content?.schema).toBeObject();
  }
});

/** Whole sentences that describe the operation: `Returns …`. */
const SENTENCES = /^[A-Z][a-z]+s .*[.]$/;

test("every operation's description consists of sentences", () => {
  for (const { operationId, description } of operations.map(({ operation }) => operation)) {
    expect([operationId, description]).toEqual([operationId, expect.stringMatching(SENTENCES)]);
  }
});

test('a 404 describes the missing object', () => {
  for (const { operationId, responses } of operations.map(({ operation }) => operation)) {
    const { description } = responses[404] ?? {};
    if (description !== undefined)
      expect([operationId, description]).toEqual([operationId, expect.stringMatching(/^[A-Z]\S+ .*(not )?found/)]);
  }
});

test('every parameter has a description and a valid example', async () => {
  const { request } = testApp();
  for (const { method, operation } of operations) {
    const { operationId, parameters } = operation;
    const route = routes.get(operationId)!;
    const examples = new Map(parameters.map(({ name, example }) => [name, example]));
    const needed = parameters.filter(({ required }) => required).map(({ name }) => name);
    for (const { name, description, example } of parameters) {
      const { schema } = route.detail.parameters.find((parameter) => parameter.name === name)!;
      // Cursors come from an earlier answer.
      const accepted = name === 'cursor' ? example === undefined : Value.Check(schema, example);
      expect([operationId, name, typeof description, accepted]).toEqual([operationId, name, 'string', true]);
      // A request checks rules that a schema can't express, such as a checksum. NAME stands for names from a contract.
      if (method !== 'get' || hooks.includes(route) || name.endsWith('.NAME') || name === 'cursor') continue;
      const query = Object.fromEntries([...needed, name].map((key) => [key, examples.get(key)]));
      const response = await request(targetOf(route, query));
      if (response.status !== 400) continue;
      // As errors of a parameter name it: `params/name`.
      const unnamed = expect.not.stringContaining(`/${name}`);
      expect([operationId, name, await response.text()]).toEqual([operationId, name, unnamed]);
    }
  }
});

test('an operation of non-fungible tokens has a non-fungible token as its example', () => {
  for (const { operationId, summary, parameters } of operations.map(({ operation }) => operation)) {
    if (!/non-fungible/i.test(summary)) continue;
    const assets = parameters.filter(({ name }) => name.startsWith('asset_identifier')).map(({ example }) => example);
    expect([operationId, assets.flat()]).not.toEqual([operationId, [recordedValues.ft]]);
  }
});

test('an operation lists the statuses that it rejects requests with', () => {
  // Each operation that reads the index documents the error of an unreadable index.
  const isOfIndex = ([status, { description }]: [string, Body]) =>
    status === '503' && description.includes('min-height');
  const statuses = new Map(
    operations.map(({ operation: { operationId, responses } }) => [
      operationId,
      Object.entries(responses)
        .filter((entry) => !isOfIndex(entry))
        .map(([status]) => status),
    ]),
  );
  const those = (refused: string) => [...statuses].filter(([, codes]) => codes.includes(refused)).map(([id]) => id);
  const faucets = ['runFaucetBtc', 'runFaucetSbtc', 'runFaucetStx'];
  const managing = operations.filter(
    ({ path, operation }) => path.startsWith('/chainhooks/') && operation.tags[0] === 'Chainhooks',
  );
  const hookIds = [
    ...managing.map(({ operation: { operationId } }) => operationId),
    ...ofOperator.map(({ detail: { operationId } }) => operationId),
  ];
  expect(hookIds.length).toBeGreaterThan(20);
  const devnetIds = ofDevnet.map(({ detail: { operationId } }) => operationId);
  expect(those('421').sort()).toEqual([...hookIds, ...devnetIds].sort());
  expect(those('403').sort()).toEqual([...hookIds, ...devnetIds, ...faucets, 'getBtcBalance'].sort());
  expect(those('429').sort()).toEqual([...hookIds, ...faucets, 'getChanges'].sort());
  expect(those('503').sort()).toEqual([...hookIds, ...faucets, 'getBtcBalance', 'getChanges'].sort());
  const conflicting = [
    ...['getChanges', 'getConsumerSecret', 'makeArchiveBase', 'redeliver', 'rotateConsumerSecret', 'skipDelivery'],
    ...['testChainhook', 'startInspection', 'cancelInspection', 'refreshTokens'],
    ...['sendDevnetTransfer', 'deployDevnetContract', 'callDevnetContract'],
  ];
  expect(those('409').sort()).toEqual(conflicting.sort());
  expect(statuses.get('redeliver')).toContain('410');
});

test('an operation that needs a key documents the answer without one', () => {
  const open = operations.filter(({ operation }) => operation.responses[401] === undefined).map(({ path }) => path);
  expect(open.filter((path) => path.startsWith('/chainhooks'))).toEqual(['/chainhooks']);
  expect(open).toContain('/extended');
});

test('an operation that needs a key names the header', () => {
  const { key } = whole.components.securitySchemes;
  expect(key).toEqual({ type: 'apiKey', in: 'header', name: 'X-Api-Key' });
  for (const { path, operation } of operations) {
    const needed = operation.responses[401] === undefined ? [] : [{ key: [] }];
    expect({ path, security: operation.security ?? [] }).toEqual({ path, security: needed });
  }
});

/** The schema of an answer in the OpenAPI document. */
const schemaOfAnswer = ({ content = {} }: Body): Schema => (Object.values(content)[0]?.schema ?? {}) as Schema;
const named = ({ $ref = '' }: Schema): Schema => schemas[$ref.split('/').at(-1) ?? '']!;

test('each answer of a current route has an example that fits its schema', () => {
  for (const { operation } of operations.filter(({ operation }) => !operation.deprecated)) {
    const { operationId, responses } = operation;
    const [, declared] =
      Object.entries(routes.get(operationId)!.detail.responses).find(([status]) => /^20[02]/.test(status)) ?? [];
    const { schema } = declared?.content?.['application/json'] ?? {};
    if (schema === undefined) continue;
    const answer = named(schemaOfAnswer(responses[200] ?? responses[202]!));
    const items = answer.properties?.results?.items;
    const isList = schema.extends !== undefined && items !== undefined;
    const example = isList
      ? { ...(named(answer.allOf![0]!).examples?.[0] as object), results: named(items).examples ?? [] }
      : answer.examples?.[0];
    expect([operationId, typeof example]).not.toEqual([operationId, 'undefined']);
    checkedBody(operationId, schema, JSON.stringify(example));
  }
});

test('every request body has an example that its schema accepts', () => {
  for (const { operationId, requestBody, deprecated } of operations.map(({ operation }) => operation)) {
    if (requestBody === undefined || deprecated) continue;
    const { schema } = routes.get(operationId)!.detail.requestBody!.content!['application/json']!;
    const { example } = requestBody.content!['application/json']!;
    expect([operationId, Value.Check(schema, example)]).toEqual([operationId, true]);
  }
});

test('the examples equal the answers of the simulated chain (bun run generate writes them)', async () => {
  const { values, answers } = await recordExamples();
  expect(values).toEqual(recordedValues);
  const current = [...routes.values()].filter(({ deprecated }) => deprecated === null);
  expect(Object.keys(answers).sort()).toEqual(current.map(({ detail }) => detail.operationId).sort());
  expect(Object.keys(recordedAnswers).sort()).toEqual(Object.keys(answers).sort());
  for (const [operationId, recorded] of Object.entries(recordedAnswers as Record<string, RecordedExample>)) {
    // As text, since answers have their members in order.
    expect([operationId, JSON.stringify(answers[operationId])]).toEqual([operationId, JSON.stringify(recorded)]);
  }
});

test('every tag has an introduction', () => {
  const used = new Set(operations.flatMap(({ operation }) => operation.tags));
  expect(whole.tags.map(({ name }) => name).sort()).toEqual([...used].sort());
  for (const { name, description } of whole.tags)
    expect([name, description]).toEqual([name, expect.stringMatching(/^[A-Z].*[.]$/)]);
});

test("the document's server URL is relative", () => {
  expect(whole.servers.map(({ url }) => url)).toEqual(['/']);
});

test('the parameters in a path equal the documented ones', () => {
  for (const { path, operation } of operations) {
    const described = operation.parameters.filter((parameter) => parameter.in === 'path');
    const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
    expect([path, described.map(({ name }) => name)]).toEqual([path, names]);
    for (const { required, description } of described) expect([required, typeof description]).toEqual([true, 'string']);
  }
});

test('the document has the limits and defaults that the server enforces', () => {
  const { parameters, responses } = operationOf('get', '/extended/v3/transactions');
  const limit = parameters.find(({ name }) => name === 'limit')!;
  expect(limit.schema).toMatchObject({ type: 'integer', minimum: 1, maximum: 50, default: 20 });
  expect(parameters.map(({ required = false }) => required)).toEqual([false, false]);
  expect(Object.keys(responses)).toEqual(['200', '304', '400', '503']);
});

test('a list of ids in a query is documented with its bounds', () => {
  const { parameters, responses } = operationOf('get', '/extended/v3/principals/{principal}/balance-changes');
  const ids = parameters.find(({ name }) => name === 'tx_id')!;
  expect(ids).toMatchObject({ in: 'query', required: true, style: 'form', explode: false } as never);
  expect(ids.schema).toMatchObject({ type: 'array', minItems: 1, maxItems: 20 });
  expect(Object.keys(responses)).toEqual(['200', '304', '400', '404', '503']);
});

test('every reference resolves, and every component is referenced', () => {
  expect(whole.openapi).toBe('3.1.0');
  expect(whole.info.version).toBe('1.2.3');
  const referred = new Set([...text.matchAll(/"#\/components\/(\w+\/\w+)"/g)].map(([, name]) => name!));
  const { securitySchemes: _, ...components } = whole.components;
  const declared = Object.entries(components).flatMap(([kind, parts]) =>
    Object.keys(parts).map((name) => `${kind}/${name}`),
  );
  expect([...referred].sort()).toEqual(declared.sort());
});

test('every response body has a schema name, as does every object in a list or a choice', () => {
  const nameless = (path: string, schema: Schema): string[] => {
    const { type, properties = {}, items, anyOf = [], oneOf = [] } = schema;
    const choices = [...anyOf, ...oneOf].flatMap((part, index) => ('properties' in part ? [`${path}/${index}`] : []));
    const inList = items !== undefined && path.startsWith('results') && type === 'array' && !items.$ref ? [path] : [];
    return [...choices, ...inList, ...Object.entries(properties).flatMap(([name, part]) => nameless(name, part))];
  };
  for (const { operation } of operations) {
    const { operationId, responses } = operation;
    for (const [status, answer] of Object.entries(responses)) {
      for (const [type, { schema }] of Object.entries(answer.content ?? {})) {
        if (type !== 'application/json') continue;
        expect([operationId, status, schema]).toEqual([operationId, status, { $ref: expect.any(String) }]);
      }
    }
  }
  for (const [name, schema] of Object.entries(schemas)) expect([name, nameless(name, schema)]).toEqual([name, []]);
});

test('a resource has one schema name on all routes, and older versions have different names', () => {
  const answerOf = (path: string) =>
    (operationOf('get', path).responses[200]!.content!['application/json']!.schema as Schema).$ref!.split('/').at(-1);
  expect(answerOf('/extended/v3/transactions')).toBe('TransactionSummaryPage');
  expect(answerOf('/extended/v3/transactions/{tx_id}')).toBe('FoundTransaction');
  expect(answerOf('/extended/v1/tx/{tx_id}')).toBe('FoundTransactionV1');
  expect(answerOf('/extended/v2/blocks')).toBe('BlockFlatPage');
  expect(answerOf('/extended/v3/principals/{principal}/balances/ft')).toBe('FtBalancePage');
  expect(answerOf('/chainhooks/me/{uuid}')).toBe('Chainhook');
  expect(Object.keys(schemas).filter((name) => !/^[A-Z][a-zA-Z0-9]+$/.test(name))).toEqual([]);
});

test('objects with one differing member are a choice with a discriminator', () => {
  expect(schemas.Transaction?.discriminator).toEqual({
    propertyName: 'type',
    mapping: expect.objectContaining({ contract_call: '#/components/schemas/ContractCallTransaction' }),
  });
  expect(schemas.ContractCallTransaction).toMatchObject({
    allOf: [{ $ref: '#/components/schemas/TransactionBase' }],
    properties: { type: { const: 'contract_call' } },
  });
  const choices = Object.values(schemas).flatMap(({ oneOf, discriminator }) =>
    oneOf === undefined ? [] : [{ oneOf, discriminator: discriminator! }],
  );
  expect(choices.length).toBeGreaterThan(10);
  for (const { oneOf, discriminator } of choices) {
    const { propertyName, mapping } = discriminator;
    expect([...new Set(Object.values(mapping))]).toEqual(oneOf.map(({ $ref }) => $ref!));
    for (const [word, $ref] of Object.entries(mapping)) {
      const { const: only, enum: words = [only] } = named({ $ref }).properties![propertyName]!;
      expect(words).toContain(word);
    }
  }
});

test('a nullable value accepts null', () => {
  const { properties } = schemas.ChainhookStatus!;
  const reasons = ['secret_unreadable', 'log_restored', null];
  expect(properties?.paused_reason).toMatchObject({ type: ['string', 'null'], enum: reasons });
  expect(schemas.TransactionBase?.properties?.vm_error).toEqual({ type: ['string', 'null'] });
  expect(text).not.toMatch(/"const":[^{}]*"type":\[|"type":\["\w+","null"\][^{}]*"const":/);
});

/** The schemas of a document with these answers. */
function schemasOf(...answers: TSchema[]): Record<string, Schema> {
  const paths = Object.fromEntries(
    answers.map((response, index) => {
      const path = `/${index}`;
      const get = operation({ operationId: path, summary: '', tag: '', etag: null, history: 'none', path, response });
      return [path, { get }];
    }),
  );
  return (complete({ paths }, {}) as Document).components.schemas;
}

test('two different schemas with one name are rejected', () => {
  const one = (member: string) => Type.Object({ [member]: Type.String() }, { $id: 'One' });
  expect(() => schemasOf(one('a'), one('b'))).toThrow('two schemas have the name One');
  expect(schemasOf(one('a'), one('a')).One).toMatchObject({ type: 'object' });
});

test('the documented form of a union accepts the same values', () => {
  const words = (...texts: string[]) => Type.Union(texts.map((word) => Type.Literal(word)));
  const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()]);
  const kind = (word: string, more: TSchema) =>
    Type.Object(
      { kind: Type.Literal(word), a: more, b: more, c: more, d: more, own: Type.Literal(word) },
      { additionalProperties: false },
    );
  const { One, XKinds, Kinds } = schemasOf(
    Type.Object(
      {
        words: words('a', 'b'),
        two: orNull(words('a', 'b')),
        one: orNull(Type.Literal('a')),
        text: orNull(Type.String()),
        ofKind: orNull(Type.Array(Type.String())),
      },
      { $id: 'One' },
    ),
    Type.Union([kind('x', Type.String()), kind('y', Type.String())], { $id: 'Kinds' }),
  );
  expect(One?.properties).toEqual({
    words: { type: 'string', enum: ['a', 'b'] },
    two: { type: ['string', 'null'], enum: ['a', 'b', null] },
    one: { type: ['string', 'null'], enum: ['a', null] },
    text: { type: ['string', 'null'] },
    ofKind: { type: ['array', 'null'], items: { type: 'string' } },
  } as never);
  // An object that takes no other members can't be made of two.
  expect(Kinds?.discriminator?.mapping).toEqual({ x: '#/components/schemas/XKinds', y: '#/components/schemas/YKinds' });
  expect(Object.keys(XKinds?.properties ?? {})).toEqual(['kind', 'a', 'b', 'c', 'd', 'own']);
});

/** Bytes of an operation with its parameters. */
const MAX_OPERATION_BYTES = 8 * 1024;
/** Bytes of the document for each of its operations: with a share of the schemas. */
const MAX_MEAN_BYTES = 3.5 * 1024;

test('no operation of the document exceeds its size limit, and neither does the mean', () => {
  const large = operations.filter(({ operation }) => JSON.stringify(operation).length > MAX_OPERATION_BYTES);
  expect(large.map(({ path }) => path)).toEqual([]);
  expect(Buffer.byteLength(text) / operations.length).toBeLessThan(MAX_MEAN_BYTES);
});

test('exactly the operations with partial history name its header', () => {
  for (const { path, operation } of operations) {
    const names = JSON.stringify(operation.responses).includes('headers/HistoryFrom');
    const route = routes.get(operation.operationId);
    expect([path, names]).toEqual([path, isPartial(route!.history)]);
    if (route?.snapshot === false) expect([path, route.history]).toEqual([path, 'none']);
  }
});

test('exactly the operations that read the index accept a minimum height and return the height', () => {
  for (const [path, methods] of Object.entries(whole.paths)) {
    for (const { operationId, parameters, responses } of Object.values(methods)) {
      const takes = parameters.some(({ name }) => name === 'stackside-min-height');
      const names = JSON.stringify(responses).includes('headers/Height');
      const { snapshot } = routes.get(operationId)!;
      expect([path, operationId, takes, names]).toEqual([path, operationId, snapshot, snapshot]);
    }
  }
});

test('the document is compressed for clients that accept it', async () => {
  const document = (encoding: string) => testApp().request('/docs/json', { headers: { 'accept-encoding': encoding } });
  for (const [encoding, served] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['zstd', 'zstd'],
    ['gzip;q=0', null],
  ] as const) {
    const response = await document(encoding);
    const names = ['content-encoding', 'vary', 'content-type', 'cache-control'];
    const expected = [served, 'accept-encoding', 'application/json; charset=utf-8', 'no-store'];
    expect([encoding, ...names.map((name) => response.headers.get(name))]).toEqual([encoding, ...expected]);
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect(new TextDecoder().decode(served === null ? bytes : unpack[served](bytes))).toBe(text);
    expect(bytes.length < text.length / 5).toBe(served !== null);
  }
});

test('/docs returns the console to a browser, and leads other clients to the document', async () => {
  const { request } = testApp();
  const page = await request('/docs', { headers: { accept: 'text/html' } });
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const response = await request('/docs');
  expect([response.status, response.headers.get('location')]).toEqual([302, '/docs/json']);
});

test('HEAD works for the document', async () => {
  const response = await testApp().request('/docs/json', { method: 'HEAD' });
  expect([response.status, await response.text()]).toEqual([200, '']);
  expect(Number(response.headers.get('content-length'))).toBeGreaterThan(500);
  expect(response.headers.get('x-api-version')).toBe('stackside v1.2.3 (main:abc1234)');
});

test('only optional request bodies are documented as optional', () => {
  const required = new Map(
    operations.flatMap(({ operation: { operationId, requestBody } }) =>
      requestBody === undefined ? [] : [[operationId, requestBody.required]],
    ),
  );
  expect(required.size).toBeGreaterThan(5);
  const optional = [...required].flatMap(([id, isRequired]) => (isRequired ? [] : [id]));
  const devnet = ['mineDevnetBlocks', 'forkDevnet', 'nameDevnetState', 'mineDevnetBitcoinBlocks', 'mineDevnetCycles'];
  expect(optional).toEqual(['testChainhook', ...devnet]);
});

test('each list of v1 and v2 keeps its default and maximum limit', () => {
  const limits = operations.flatMap(({ path, operation: { parameters } }) => {
    const limit = parameters.find(({ name }) => name === 'limit')?.schema;
    const [, list] = /^\/extended\/(v[12]\/.+)/.exec(path) ?? [];
    return limit === undefined || list === undefined ? [] : [{ list, limits: `${limit.default} to ${limit.maximum}` }];
  });
  const grouped = Object.entries(Object.groupBy(limits, (row) => row.limits));
  expect(Object.fromEntries(grouped.map(([key, lists]) => [key, lists?.map(({ list }) => list).sort()]))).toEqual({
    '20 to 30': [
      ...['v1/block', 'v2/addresses/{burnchain_address}/pox-transactions', 'v2/block-tenures/{tenure_height}/blocks'],
      ...['v2/blocks', 'v2/burn-blocks', 'v2/burn-blocks/{height_or_hash}/blocks'],
      'v2/burn-blocks/{height_or_hash}/pox-transactions',
    ],
    '20 to 50': [
      ...['mempool', 'stx_inbound', 'transactions', 'transactions_with_transfers'].map(
        (list) => `v1/address/{principal}/${list}`,
      ),
      ...['v1/contract/by_trait', 'v1/contract/{contract_id}/events'],
      ...['v1/tx', 'v1/tx/block_height/{height}', 'v1/tx/mempool', 'v2/addresses/{principal}/transactions'],
      ...['v2/addresses/{principal}/transactions/{tx_id}/events', 'v2/blocks/{height_or_hash}/transactions'],
    ],
    '20 to 60': ['v2/pox/cycles'],
    '20 to 100': ['v1/address/{principal}/assets', 'v1/tx/events', 'v2/smart-contracts/{contract_id}/logs'],
    '20 to 200': ['v1/microblock', 'v1/tx/block/{block_hash}'],
    '50 to 200': ['v1/tokens/nft/history', 'v1/tokens/nft/holdings', 'v1/tokens/nft/mints'],
    '96 to 200': ['v1/{pox}/events'],
    '96 to 250': [
      'v1/burnchain/reward_slot_holders',
      'v1/burnchain/reward_slot_holders/{address}',
      'v1/burnchain/rewards',
      'v1/burnchain/rewards/{address}',
    ],
    '100 to 200': [
      'v1/tokens/ft/stx/holders',
      'v1/tokens/ft/{token}/holders',
      'v1/{pox}/{pool_principal}/delegations',
      'v2/addresses/{principal}/balances/ft',
      'v2/pox/cycles/{cycle_number}/signers/{signer_key}/stackers',
    ],
    '100 to 250': ['v2/pox/cycles/{cycle_number}/signers'],
    '500 to 1000': ['v2/blocks/{height_or_hash}/signer-signatures'],
  });
});

test('docs/api.md lists the current routes (bun run generate writes them)', async () => {
  expect(await pageWithRoutes()).toBe(await Bun.file(routesPage).text());
});
