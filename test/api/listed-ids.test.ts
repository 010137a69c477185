/** Every route accepts every identifier that the API shows. */
import { beforeAll, expect, test } from 'bun:test';
import { stacksAddress } from '../../src/codec/address.ts';
import { MAX_NAME_LENGTH } from '../../src/codec/bytes-reader.ts';
import { clarity } from '../../src/codec/clarity-encode.ts';
import { toHex } from '../../src/codec/hex.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { appOf } from '../support/api/app.ts';
import {
  type GetRoute,
  getRoutes,
  isOfOperator,
  type Parameter,
  randomUrl,
  type Schema,
  Subjects,
} from '../support/api/random-urls.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import {
  alice,
  announcement,
  block,
  bob,
  deployment,
  nodeEvent,
  receipt,
  transfer,
} from '../support/events/handmade.ts';
import { testApp } from './test-app.ts';

const CONTRACT = `${alice.address}.pool`;
const LONG = `${alice.address}.${'long-name_'.repeat(12)}8-longer`;
const ASSET = `${'piece!?+<>=/*-_'.repeat(9).slice(0, 128)}`;
/** An address of a version that no network uses. */
const FOREIGN = stacksAddress(1, new Uint8Array(20).fill(0x31));
/** The longest value of a `(string-utf8 256)`: four bytes for each character. */
const VALUE = toHex(clarity.utf8('\u{1f980}'.repeat(256)));

/** Identifiers that are valid on the chain, and unlike the usual ones. */
const UNUSUAL: readonly string[] = [
  FOREIGN,
  `${FOREIGN}.${'c'.repeat(41)}`,
  LONG,
  `${LONG}::${ASSET}`,
  `${CONTRACT}::${ASSET}`,
  VALUE,
];

/** Transfers of every kind between usual and unusual principals, of usual and unusual assets. */
function chainEvents() {
  const [first, second] = [deployment(alice, 0, 300), transfer(alice, 1, 300, undefined, bob)];
  const parties = { sender: LONG, recipient: `${FOREIGN}.${'c'.repeat(41)}` };
  const assets = [`${CONTRACT}::coin`, `${CONTRACT}::${ASSET}`, `${LONG}::${ASSET}`];
  const events: (readonly [type: string, body: object])[] = [
    ['stx_mint_event', { recipient: LONG, amount: '1000' }],
    ['stx_transfer_event', { ...parties, amount: '5' }],
    ['stx_transfer_event', { sender: alice.address, recipient: FOREIGN, amount: '5' }],
    ['contract_event', { contract_identifier: LONG, topic: 'print', raw_value: '0x03' }],
    ['contract_event', { contract_identifier: CONTRACT, topic: 'print', raw_value: '0x03' }],
    ...assets.flatMap((asset_identifier): typeof events => [
      ['ft_mint_event', { asset_identifier, recipient: LONG, amount: '9' }],
      ['ft_transfer_event', { asset_identifier, ...parties, amount: '4' }],
      ...['0x0100000000000000000000000000000001', VALUE].flatMap((raw_value): typeof events => [
        ['nft_mint_event', { asset_identifier, recipient: LONG, raw_value }],
        ['nft_transfer_event', { asset_identifier, ...parties, raw_value }],
      ]),
    ]),
  ];
  const mined = block(null, 'listed', [receipt(first, 0), receipt(second, 1)], {
    events: events.map(([type, body], index) => nodeEvent(second.id, index, type, body)),
  });
  return [mined.event, announcement([transfer(bob, 0, 300)])];
}

type Kind = 'hash' | 'address' | 'contract' | 'asset' | 'value';

/** A usual identifier of each kind. */
const samples: Readonly<Record<Kind, string>> = {
  hash: `0x${'ab'.repeat(32)}`,
  address: alice.address,
  contract: CONTRACT,
  asset: `${CONTRACT}::coin`,
  value: '0x0100000000000000000000000000000001',
};
const kinds = Object.keys(samples) as Kind[];

const forms: readonly (readonly [kind: Kind, form: RegExp])[] = [
  ['asset', /^S[0-9A-Z]{27,40}\.[^:]+::.+$/],
  ['contract', /^S[0-9A-Z]{27,40}\.[\w-]+$/],
  ['address', /^S[0-9A-Z]{27,40}$/],
  ['hash', /^0x[0-9a-f]{64}$/],
];

/** Adds all identifiers in an answer. @param path names of the members from the root to the part */
function collect(part: unknown, path: readonly string[], kindById: Map<string, Kind>): void {
  if (typeof part === 'string') {
    const kind =
      path.at(-1) === 'hex' && path.at(-2) === 'value' ? 'value' : forms.find(([, form]) => form.test(part))?.[0];
    if (kind !== undefined) kindById.set(part, kind);
  } else if (typeof part === 'object' && part !== null) {
    for (const [name, value] of Object.entries(part)) {
      collect(name, [], kindById);
      collect(value, [...path, name], kindById);
    }
  }
}

// Some senders of the transfers have no balance, so that their balances are negative.
const { json, request } = testApp(memoryIndex(chainEvents()), {}, appOf);
let document: { components: { schemas: Record<string, Schema> }; paths: Record<string, Record<string, object>> };
let routes: GetRoute[];
/** The identifiers that the API shows, with their kinds. */
const shownIds = new Map<string, Kind>();

/** The URL of a route about the sample identifiers. @param chosen a parameter with its value */
function url({ path, parameters }: GetRoute, chosen: readonly [name: string, value: string]): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const { name, required, in: place, schema } of parameters) {
    const value = name === chosen[0] ? chosen[1] : (exampleOf(schema) ?? '1');
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else if (required || name === chosen[0]) query.set(name, value);
  }
  return `${filled}?${query}`;
}

type WithExamples = Schema & { examples?: unknown[]; maxLength?: number };

const exampleOf = (schema: WithExamples): string | undefined =>
  (
    schema.examples?.[0] ??
    schema.enum?.[0] ??
    schema.anyOf?.[0]?.const ??
    (schema.items && exampleOf(schema.items))
  )?.toString();

/** Whether a route refuses a value of a parameter. */
async function isRefused(route: GetRoute, { name }: Parameter, value: string): Promise<string | null> {
  const response = await request(url(route, [name, value]), { redirect: 'manual' });
  const text = await response.text();
  return response.status === 400 && text.includes(name) ? text : null;
}

/** Whether a parameter is a text of another kind, such as a function's name, that an identifier happens to fit into. */
const isOtherText = ({ name, schema }: Parameter, kind: Kind): boolean => {
  const { maxLength, examples = [] } = (schema.items ?? schema) as WithExamples;
  if (name === 'cursor' || maxLength === undefined) return name === 'cursor';
  // A search finds identifiers, which are longer than any name, but no values.
  return (
    (maxLength <= MAX_NAME_LENGTH || kind === 'value') &&
    !examples.some((example) => forms.some(([, form]) => form.test(`${example}`)))
  );
};

beforeAll(async () => {
  document = (await json('/docs/json')).body as never;
  routes = getRoutes(document).filter((route) => !isOfOperator(route));
  const subjects = new Subjects();
  for (const { path, text } of chainEvents()) subjects.add({ path, body: text } as never);
  const prng = new Prng('listed identifiers');
  for (const route of routes) {
    for (let draw = 0; draw < 10; draw++) {
      const response = await request(randomUrl(route, subjects, prng), { redirect: 'manual' });
      if (response.status !== 200 || !response.headers.get('content-type')?.includes('json')) continue;
      collect(await response.json(), [], shownIds);
    }
  }
});

test('the lists show the unusual identifiers', () => {
  expect(UNUSUAL.filter((id) => !shownIds.has(id))).toEqual([]);
});

test('every route accepts each identifier that the API shows', async () => {
  const refused: object[] = [];
  const counts = new Map<Kind, number>(kinds.map((kind) => [kind, 0]));
  for (const route of routes) {
    for (const parameter of route.parameters) {
      for (const kind of kinds) {
        if (isOtherText(parameter, kind) || (await isRefused(route, parameter, samples[kind])) !== null) continue;
        counts.set(kind, counts.get(kind)! + 1);
        for (const [value, shownKind] of shownIds) {
          if (shownKind !== kind) continue;
          const message = await isRefused(route, parameter, value);
          if (message !== null) refused.push({ path: route.path, name: parameter.name, value, message });
        }
      }
    }
  }
  expect(refused).toEqual([]);
  for (const count of counts.values()) expect(count).toBeGreaterThan(5);
});

test('v1 search finds a contract principal that holds STX and is not deployed', async () => {
  for (const metadata of [false, true]) {
    const { status, body } = await json(`/extended/v1/search/${LONG}?include_metadata=${metadata}`);
    expect([status, body as object]).toEqual([
      200,
      { found: true, result: { entity_id: LONG, entity_type: 'contract_address' } },
    ]);
  }
  expect((await json(`/extended/v1/search/${LONG.slice(0, -1)}`)).status).toBe(404);
});

/** All patterns of the texts in a schema. */
function patternsIn(schema: unknown, patterns = new Set<string>()): Set<string> {
  if (typeof schema !== 'object' || schema === null) return patterns;
  for (const [name, part] of Object.entries(schema)) {
    if (name === 'pattern' && typeof part === 'string') patterns.add(part);
    else if (name === '$ref' && typeof part === 'string' && !patterns.has(part)) {
      patterns.add(part);
      patternsIn(document.components.schemas[part.split('/').at(-1)!], patterns);
    } else patternsIn(part, patterns);
  }
  return patterns;
}

test('every identifier pattern in a request body accepts each identifier that the API shows', () => {
  const bodies = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map((operation) => (operation as { requestBody?: object }).requestBody),
  );
  const patterns = [...patternsIn(bodies)].filter((text) => !text.startsWith('#')).map((text) => new RegExp(text));
  const failed = patterns.flatMap((pattern) =>
    [...shownIds]
      .filter(
        ([value, kind]) => /address|contract|asset/.test(kind) && pattern.test(samples[kind]) && !pattern.test(value),
      )
      .map(([value]) => [pattern, value]),
  );
  expect(failed).toEqual([]);
  expect(patterns.some((pattern) => pattern.test(samples.asset))).toBe(true);
});
