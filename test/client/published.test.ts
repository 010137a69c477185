/**
 * The current routes over a simulated chain get the questions that `stackside compare` asks. Each body has the schema of
 * the OpenAPI document, and the type that the client package of wallets and explorers declares.
 */
import { expect, test } from 'bun:test';
import { createClient } from '@stacks/blockchain-api-client';
import { makeQuestion, readSamples, routes } from '../../src/commands/compare/questions.ts';
import { startTour } from './tour.ts';
import { type Typed, typeErrors } from './type-check.ts';

/** Questions to each route, with different samples and parameters. */
const QUESTIONS = 6;
/** Routes of the package that have no sample, need a node or are only text. */
const WITHOUT_TYPE = /^\/extended\/v1\/(faucets|microblock\/\{)|\/plain$/;
const NO_TRANSACTION = `0x${'ff'.repeat(32)}`;

interface Row {
  [name: string]: unknown;
}
interface List {
  total: number;
  results: Row[];
}

const tour = await startTour();

/** Requests a target. @returns its status and its body: a text if it isn't JSON */
async function ask(target: string) {
  const { status, headers, body } = await tour.fetch(new Request(`http://localhost${target}`));
  const text = await new Response(body).text();
  const type = headers.get('content-type') ?? '';
  return {
    status,
    type,
    headers: headers as Headers,
    body: type.startsWith('application/json') ? JSON.parse(text) : text,
  };
}

async function get<T = List>(target: string): Promise<T> {
  const { status, body } = await ask(target);
  expect([target, status]).toEqual([target, 200]);
  return body;
}

const samples = await readSamples({ ask }, { lowest: 1, highest: 60 }, 0);
/** Bodies by method and path. */
const answers = new Map<string, unknown[]>();
const record = (route: string, body: unknown) => answers.set(route, [...(answers.get(route) ?? []), body]);

/** Routes without a sample in the simulated chain. */
const NEVER_FOUND = ['/extended/v1/microblock/{hash}'];

test('each route answers its questions', async () => {
  for (const route of routes) {
    for (let turn = 0; turn < QUESTIONS; turn++) {
      const question = makeQuestion(route, samples, turn);
      if (question === null) continue;
      const { status, body } = await ask(question.target);
      // The package doesn't declare the total of events.
      if (status === 200 && !question.target.includes('include_total')) record(`get ${route.path}`, body);
      // An id without 0x redirects, and some samples don't exist, such as the second page of names.
      else expect([200, 302, 400, 404]).toContain(status);
    }
  }
  expect(routes.map(({ path }) => path).filter((path) => !answers.has(`get ${path}`))).toEqual(NEVER_FOUND);
});

test('the questions include every current route of v2 and v3', () => {
  const current = Object.entries(tour.document.paths).filter(([, { get }]) => get !== undefined && !get.deprecated);
  const paths = current.map(([path]) => path).filter((path) => /^\/extended\/v[23]\//.test(path));
  expect(paths.length).toBeGreaterThan(40);
  expect(paths.filter((path) => !answers.has(`get ${path}`))).toEqual([]);
});

const V2 = '/extended/v2';
const STAKING = '/extended/v3/staking';
const { cycle_number: cycle = 0 } = samples.cycles![0]!;
const { bond_index: bond } = samples['registrations for bonds']![0]!;

const V3 = '/extended/v3';
const { principal: holder, asset_identifier: token = '' } = samples['balances of fungible tokens']![0]!;
const asset = encodeURIComponent(token);
const ofHolder = `${V3}/principals/${holder}/balances`;

/** Lists with the routes of their rows. */
const ROUTES_OF_ROWS: readonly [list: string, route: (row: Row) => string][] = [
  [`${V2}/blocks`, ({ hash }) => `${V2}/blocks/${hash}`],
  [`${V2}/blocks`, ({ index_block_hash: hash }) => `${V2}/blocks/${String(hash).slice(2)}`],
  [`${V2}/blocks`, ({ height }) => `${V2}/blocks/${height}`],
  [`${V2}/blocks?limit=1`, () => `${V2}/blocks/latest`],
  [`${V2}/blocks?limit=1`, ({ block_time: time }) => `${V2}/blocks/by-block-time/${time}`],
  [`${V2}/burn-blocks`, ({ burn_block_hash: hash }) => `${V2}/burn-blocks/${hash}`],
  [`${V2}/burn-blocks?limit=1`, () => `${V2}/burn-blocks/latest`],
  [`${V2}/pox/cycles`, ({ cycle_number: number }) => `${V2}/pox/cycles/${number}`],
  [`${V2}/pox/cycles/${cycle}/signers`, ({ signing_key: key }) => `${V2}/pox/cycles/${cycle}/signers/${key}`],
  [`${V2}/block-tenures/${samples.tenures![0]!.tenure_height}/blocks`, ({ hash }) => `${V2}/blocks/${hash}`],
  [`${V2}/burn-blocks/latest/blocks`, ({ hash }) => `${V2}/blocks/${hash}`],
  [`${V3}/transactions`, ({ tx_id: id }) => `${V3}/transactions/${id}`],
  [`${V3}/tokens/stx/holders`, ({ principal }) => `${V3}/principals/${principal}/balances/stx`],
  [`${V3}/tokens/ft/${asset}/holders`, ({ principal }) => `${V3}/principals/${principal}/balances/ft/${asset}`],
  [`${ofHolder}/ft`, () => `${ofHolder}/ft/${asset}`],
  [`${STAKING}/bonds`, ({ index }) => `${STAKING}/bonds/${index}`],
  [`${STAKING}/bonds/${bond}/allowlist`, ({ staker }) => `${STAKING}/bonds/${bond}/allowlist/${staker}`],
  [`${STAKING}/bonds/${bond}/registrations`, ({ staker }) => `${STAKING}/bonds/${bond}/registrations/${staker}`],
  [`${STAKING}/signers`, ({ signer }) => `${STAKING}/signers/${signer}`],
];

test.each(ROUTES_OF_ROWS)('the rows of %s equal the bodies of their routes', async (list, route) => {
  const { results } = await get(list);
  expect(results.length).toBeGreaterThan(0);
  for (const row of results) {
    const body = await get<Row>(route(row));
    // The route of a registration describes another transaction than the list.
    const same = Object.entries(row).filter(([name]) => name in body && name !== 'transaction');
    expect(same.length).toBeGreaterThan(0);
    expect(body).toMatchObject(Object.fromEntries(same));
  }
});

test('counts in lists equal the totals of the lists they count', async () => {
  const cycles = `${V2}/pox/cycles`;
  for (const { cycle_number: number, total_signers: count, total_weight: weight } of (await get(cycles)).results) {
    const signers = await get(`${cycles}/${number}/signers`);
    expect(signers.total).toBe(count as number);
    expect(signers.results.reduce((sum, row) => sum + Number(row.weight), 0)).toBe(weight as number);
    for (const { signing_key: key, solo_stacker_count: solo, pooled_stacker_count: pooled } of signers.results)
      expect((await get(`${cycles}/${number}/signers/${key}/stackers`)).total).toBe(Number(solo) + Number(pooled));
  }
  const { registrations } = await get<{ registrations: Row }>(`${STAKING}/bonds/${bond}`);
  const totals = ['allowlist', 'registrations'].map(
    async (list) => (await get(`${STAKING}/bonds/${bond}/${list}`)).total,
  );
  expect(await Promise.all(totals)).toEqual([registrations.allowed_count, registrations.registered_count] as number[]);
});

test("a payment to stackers is in the list of its recipient, and a staker's positions name the bond", async () => {
  const [paid] = (await get(`${V2}/burn-blocks/latest/pox-transactions`)).results;
  const ofRecipient = await get(`${V2}/addresses/${paid!.recipient}/pox-transactions?limit=30`);
  expect(ofRecipient.results).toContainEqual(paid!);
  const [{ staker, signer }] = (await get(`${STAKING}/bonds/${bond}/registrations`)).results as [Row];
  const positions = await get(`/extended/v3/principals/${staker}/staking/bonds`);
  expect(positions.results.map(({ bond_index: index }) => index)).toContain(bond);
  const { bonds } = await get<{ bonds: { count: number } }>(`/extended/v3/principals/${staker}/staking`);
  expect(bonds.count).toBe(positions.total);
  const { results } = await get(`${STAKING}/signers/${signer}/stakers`);
  expect(results).toContainEqual({ staker, types: expect.arrayContaining(['btc']) });
});

const schema = Bun.resolveSync('@stacks/blockchain-api-client', import.meta.dir).replace(
  /lib\/.*$/,
  'lib/generated/schema.d.ts',
);
const shapeOf = (path: string) => path.replace(/\/$/, '').replaceAll(/\{\w+\}/g, '{}');
/** Paths that the package declares, by their form. */
const declared = new Map(
  [...(await Bun.file(schema).text()).matchAll(/^ {4}"(\/[^"]*)"/gm)].map(([, path = '']) => [shapeOf(path), path]),
);

test('the published client reads several transactions, implementers of a trait, and fees', async () => {
  const client = createClient({ baseUrl: 'http://localhost', fetch: tour.fetch });
  const list = await client.GET('/extended/v1/tx/', { params: { query: { type: ['contract_call'], limit: 1 } } });
  const called = list.data!.results[0] as unknown as { tx_id: string; contract_call: { contract_id: string } };
  const tx_id = [called.tx_id, NO_TRANSACTION];
  const several = await client.GET('/extended/v1/tx/multiple', { params: { query: { tx_id } } });
  expect(Object.values(several.data!).map(({ found }) => found)).toEqual([true, false]);
  record('get /extended/v1/tx/multiple', several.data);
  const { contract_id } = called.contract_call;
  const { abi } = await get<{ abi: string }>(`/extended/v1/contract/${contract_id}`);
  const trait_abi = JSON.stringify({ functions: JSON.parse(abi).functions.slice(0, 2) });
  const implementers = await client.GET('/extended/v1/contract/by_trait', { params: { query: { trait_abi } } });
  expect(implementers.data!.results.map((row) => row.contract_id)).toContain(contract_id);
  record('get /extended/v1/contract/by_trait', implementers.data);
  const fee = await client.POST('/extended/v1/fee_rate/', { body: { transaction: '0x00' } });
  record('post /extended/v1/fee_rate', fee.data);
});

test('every answer has the type that the package declares', () => {
  const answered = new Set([...answers.keys()].map((key) => shapeOf(key.split(' ')[1]!)));
  const missing = [...declared].filter(([shape, path]) => !answered.has(shape) && !WITHOUT_TYPE.test(path));
  expect(missing).toEqual([]);
  const bodies = [...answers].flatMap(([key, samples]) => {
    const [method = '', route = ''] = key.split(' ');
    const path = declared.get(shapeOf(route));
    // The package declares no answer for routes of a stacking contract.
    if (path === undefined || path.includes('{pox}') || WITHOUT_TYPE.test(path)) return [];
    return samples.map((body): Typed => ({ type: `Answer<paths['${path}']['${method}']>`, body }));
  });
  const imports = [
    "import type { paths } from '@stacks/blockchain-api-client';",
    'type Answer<O> = O extends { responses: { 200: { content: infer C } } } ? C[keyof C] : never;',
  ].join('\n');
  expect(bodies.length).toBeGreaterThan(300);
  expect(typeErrors(imports, bodies)).toEqual([]);
});
