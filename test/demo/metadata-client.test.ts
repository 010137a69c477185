/** The published client of token metadata, every method, against a demo: its node answers for its tokens' contracts. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createClient } from '@hirosystems/token-metadata-api-client';
import { type Typed, typeErrors } from '../client/type-check.ts';
import { until } from '../support/time/until.ts';
import { type Demo, demo as startDemo } from './demo.ts';

let demo: Demo;
let client: ReturnType<typeof createClient>;
const typed: Typed[] = [];
beforeAll(async () => {
  demo = await startDemo({ pastBlocks: '15' });
  client = createClient({ baseUrl: demo.api });
  await until(async () => {
    const { data } = await client.GET('/metadata/v1/', {});
    return data?.tokens?.sft !== undefined && data.job_queue !== undefined && data.job_queue.pending === undefined;
  }, 'the answers about all tokens');
});
afterAll(async () => demo[Symbol.asyncDispose]());

/** The identifiers of the contracts that were deployed. */
async function contracts(): Promise<string[]> {
  const answer = await fetch(`${demo.api}/extended/v1/tx?type=smart_contract&limit=50`);
  const { results } = (await answer.json()) as { results: { smart_contract: { contract_id: string } }[] };
  return results.map(({ smart_contract }) => smart_contract.contract_id);
}

const recordType = (path: string, body: unknown) => {
  // A matcher may change the compared values.
  typed.push({ type: `Answer<paths['${path}']['get']>`, body: structuredClone(body) });
  return body;
};

test('the client reads the status', async () => {
  const { data } = await client.GET('/metadata/v1/', {});
  expect(recordType('/metadata/v1/', data)).toMatchObject({ status: 'ready', tokens: { ft: expect.any(Number) } });
});

test('the client reads the list of fungible tokens, and each token', async () => {
  const { data } = await client.GET('/metadata/v1/ft', {
    params: { query: { order_by: 'symbol', order: 'desc', name: 'demo', limit: 10, offset: 0 } },
  });
  // Its types lack a member that items have.
  const results = data?.results.map((item) => ({ ...item, asset_identifier: undefined }));
  recordType('/metadata/v1/ft', JSON.parse(JSON.stringify({ ...data, results })));
  expect(data?.total).toBeGreaterThan(0);
  for (const listed of data?.results ?? []) {
    const principal = listed.contract_principal;
    const response = await client.GET('/metadata/v1/ft/{principal}', { params: { path: { principal } } });
    expect(recordType('/metadata/v1/ft/{principal}', response.data)).toMatchObject({
      name: 'Demo Coin',
      symbol: 'DEMO',
      decimals: 6,
      total_supply: expect.stringMatching(/^[0-9]+$/),
      token_uri: expect.stringMatching(/^data:/),
    });
  }
});

test('the client reads non-fungible and semi-fungible tokens', async () => {
  for (const [kind, name] of [
    ['nft', '.collectible-'],
    ['sft', '.gems-'],
  ] as const) {
    const tokens: unknown[] = [];
    for (const principal of (await contracts()).filter((id) => id.includes(name))) {
      for (let token_id = 1; token_id <= 5; token_id++) {
        const path = `/metadata/v1/${kind}/{principal}/{token_id}` as const;
        const { data } = await client.GET(path, { params: { path: { principal, token_id } } });
        if (data !== undefined) tokens.push(recordType(path, data));
      }
    }
    expect([kind, tokens.length]).not.toEqual([kind, 0]);
    for (const token of tokens) expect(token).toMatchObject({ token_uri: expect.any(String) });
  }
});

test('errors have the bodies that the client declares', async () => {
  const [principal = ''] = (await contracts()).filter((id) => id.includes('.token-'));
  const errorOf = async (path: string) => {
    const answer = await fetch(`${demo.api}/metadata/v1/${path}`);
    return { status: answer.status, body: await answer.json() };
  };
  expect(await errorOf(`ft/${principal}x`)).toEqual({ status: 404, body: { error: 'Contract not found' } });
  expect(await errorOf(`nft/${principal}/1`)).toEqual({ status: 404, body: { error: 'Token not found' } });
  expect(await errorOf(`ft/${principal}?locale=xx`)).toEqual({ status: 422, body: { error: 'Locale not found' } });
});

test('each answer has the type that the client declares', () => {
  const imports = [
    "import type { paths } from '@hirosystems/token-metadata-api-client/lib/generated/schema';",
    'type Answer<O> = O extends { responses: { 200: { content: infer C } } } ? C[keyof C] : never;',
  ].join('\n');
  expect(typed.length).toBeGreaterThan(4);
  expect(typeErrors(imports, typed)).toEqual([]);
});
