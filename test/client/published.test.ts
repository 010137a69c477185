/**
 * The client package of wallets and explorers calls each of its routes on a simulated chain. The compiler checks the
 * responses against the package's types.
 */
import { expect, test } from 'bun:test';
import { createClient } from '@stacks/blockchain-api-client';
import { startTour } from './tour.ts';
import { type Typed, typeErrors } from './type-check.ts';

type Query = Record<string, unknown>;
interface Visit {
  path?: Query;
  query?: Query;
  body?: unknown;
}

const tour = await startTour();
const client = createClient({ baseUrl: 'http://localhost', fetch: tour.fetch });
const answers = new Map<string, unknown[]>();

async function request(method: 'GET' | 'POST', path: string, { body, ...params }: Visit = {}): Promise<unknown> {
  const ask = client[method] as (
    path: string,
    init: object,
  ) => Promise<{ data?: unknown; error?: unknown; response: Response }>;
  const { data, error, response } = await ask(path, { params, body });
  expect([path, params, response.status, error]).toEqual([path, params, 200, undefined]);
  const earlier = answers.get(`${method.toLowerCase()} ${path}`) ?? [];
  answers.set(`${method.toLowerCase()} ${path}`, [...earlier, data]);
  return data;
}
const get = (path: string, visit?: Visit) => request('GET', path, visit);
const post = (path: string, visit?: Visit) => request('POST', path, visit);

interface Transaction {
  tx_id: string;
  tx_type: string;
  block_hash: string;
  block_height: number;
  burn_block_height: number;
  sender_address: string;
  contract_call?: { contract_id: string; function_name: string };
  token_transfer?: { recipient_address: string };
}
interface List<T> {
  total: number;
  results: T[];
}

test('the published client reads transactions', async () => {
  const newest = (await get('/extended/v1/tx/', { query: { limit: 50 } })) as List<Transaction>;
  expect(newest.results).toHaveLength(50);
  const tx = newest.results[0]!;
  for (const type of ['token_transfer', 'smart_contract', 'contract_call', 'coinbase', 'tenure_change']) {
    const { results } = (await get('/extended/v1/tx/', { query: { type, limit: 3 } })) as List<Transaction>;
    expect(results.map(({ tx_type }) => tx_type)).toEqual([type, type, type].slice(0, results.length));
    expect(results.length).toBeGreaterThan(0);
    for (const { tx_id } of results) await get('/extended/v1/tx/{tx_id}', { path: { tx_id } });
  }
  const call = newest.results.find(({ tx_type }) => tx_type === 'contract_call')!;
  const { contract_id, function_name } = call.contract_call!;
  const query = { from_address: call.sender_address, contract_id, function_name, sort_by: 'fee', order: 'asc' };
  const same = (await get('/extended/v1/tx/', { query })) as List<Transaction>;
  expect(same.results.map(({ tx_id }) => tx_id)).toContain(call.tx_id);

  await get('/extended/v1/tx/{tx_id}/raw', { path: { tx_id: tx.tx_id } });
  const pending = (await get('/extended/v1/tx/mempool', { query: { limit: 50 } })) as List<Transaction>;
  expect(pending.results.length).toBeGreaterThan(0);
  const waiting = pending.results[0]!;
  await get('/extended/v1/tx/{tx_id}', { path: { tx_id: waiting.tx_id } });
  await get('/extended/v1/tx/mempool/stats');
  const tx_id = [tx.tx_id, waiting.tx_id, `0x${'ff'.repeat(32)}`];
  const several = (await get('/extended/v1/tx/multiple', { query: { tx_id } })) as Record<string, { found: boolean }>;
  expect(Object.values(several).map(({ found }) => found)).toEqual([true, true, false]);
  await get('/extended/v1/tx/events', { query: { tx_id: call.tx_id } });
  await get('/extended/v1/tx/events', { query: { address: call.sender_address, limit: 50 } });
  await get('/extended/v1/tx/block/{block_hash}', { path: { block_hash: tx.block_hash } });
  await get('/extended/v1/tx/block_height/{height}', { path: { height: tx.block_height } });
});

test('the published client reads blocks', async () => {
  const blocks = (await get('/extended/v1/block/')) as List<{
    hash: string;
    height: number;
    burn_block_hash: string;
    burn_block_height: number;
  }>;
  const { hash, height, burn_block_hash, burn_block_height } = blocks.results[3]!;
  for (const [path, parameters] of [
    ['/extended/v1/block/{hash}', { hash }],
    ['/extended/v1/block/by_height/{height}', { height }],
  ] as const) {
    expect(await get(path, { path: parameters })).toMatchObject({ hash, canonical: true });
  }
  await get('/extended/v1/block/by_burn_block_height/{burn_block_height}', { path: { burn_block_height } });
  await get('/extended/v1/block/by_burn_block_hash/{burn_block_hash}', { path: { burn_block_hash } });
  await get('/extended/v1/microblock/');
  await get('/extended/v1/microblock/unanchored/txs');
  await get('/extended/v2/blocks/');
  await get('/extended/v2/blocks/{height_or_hash}', { path: { height_or_hash: hash } });
  await get('/extended/v2/blocks/{height_or_hash}/transactions', { path: { height_or_hash: 'latest' } });
  await get('/extended/v2/blocks/{height_or_hash}/signer-signatures', { path: { height_or_hash: 'latest' } });
  await get('/extended/v2/blocks/average-times');
  await get('/extended/v2/blocks/by-block-time/{timestamp}', { path: { timestamp: 2_000_000_000 } });
  await get('/extended/v2/block-tenures/{tenure_height}/blocks', { path: { tenure_height: 1 } });
  await get('/extended/v2/burn-blocks/');
  await get('/extended/v2/burn-blocks/{height_or_hash}', { path: { height_or_hash: 'latest' } });
  await get('/extended/v2/burn-blocks/{height_or_hash}/blocks', { path: { height_or_hash: burn_block_height } });
});

test('the published client reads contracts', async () => {
  const { results } = (await get('/extended/v1/tx/', {
    query: { type: 'contract_call', limit: 50 },
  })) as List<Transaction>;
  const ids = [...new Set(results.map(({ contract_call }) => contract_call!.contract_id))];
  for (const contract_id of ids) {
    const contract = (await get('/extended/v1/contract/{contract_id}', { path: { contract_id } })) as { abi: string };
    expect(JSON.parse(contract.abi)).toHaveProperty('functions');
    await get('/extended/v1/contract/{contract_id}/events', { path: { contract_id } });
    await get('/extended/v2/smart-contracts/{contract_id}/logs', { path: { contract_id } });
    const { functions } = JSON.parse(contract.abi) as { functions: { name: string }[] };
    const trait_abi = JSON.stringify({ functions: functions.slice(0, 2) });
    const implementers = (await get('/extended/v1/contract/by_trait', { query: { trait_abi } })) as List<{
      contract_id: string;
    }>;
    expect(implementers.results.map((row) => row.contract_id)).toContain(contract_id);
  }
  await get('/extended/v2/smart-contracts/status', { query: { contract_id: [...ids, `${ids[0]}-none`] } });
  await get('/extended/v2/mempool/fees');
});

test('the published client reads search results', async () => {
  const { results } = (await get('/extended/v1/tx/', { query: { limit: 50 } })) as List<Transaction>;
  const call = results.find(({ tx_type }) => tx_type === 'contract_call')!;
  const pending = (await get('/extended/v1/tx/mempool')) as List<Transaction>;
  const ids = {
    tx_id: call.tx_id,
    mempool_tx_id: pending.results[0]!.tx_id,
    block_hash: call.block_hash,
    contract_address: call.contract_call!.contract_id,
    standard_address: call.sender_address,
  };
  for (const [entity_type, id] of Object.entries(ids)) {
    for (const include_metadata of [false, true]) {
      const answer = await get('/extended/v1/search/{id}', { path: { id }, query: { include_metadata } });
      expect(answer).toMatchObject({ found: true, result: { entity_id: id, entity_type } });
      expect('metadata' in (answer as { result: object }).result).toBe(include_metadata);
    }
  }
});

test('the published client reads addresses', async () => {
  const { results } = (await get('/extended/v1/tx/', { query: { limit: 50 } })) as List<Transaction>;
  const principals = [...new Set(results.map(({ sender_address }) => sender_address))].slice(0, 6);
  for (const principal of principals) {
    const path = { principal, address: principal };
    await get('/extended/v1/address/{principal}/stx', { path });
    await get('/extended/v1/address/{principal}/stx', { path, query: { until_block: '20' } });
    const { fungible_tokens } = (await get('/extended/v1/address/{principal}/balances', { path })) as {
      fungible_tokens: object;
    };
    await get('/extended/v1/address/{principal}/transactions', { path });
    const moved = (await get('/extended/v1/address/{principal}/transactions_with_transfers', { path })) as List<{
      tx: Transaction;
    }>;
    const tx_id = moved.results[0]!.tx.tx_id;
    await get('/extended/v1/address/{principal}/{tx_id}/with_transfers', { path: { ...path, tx_id } });
    await get('/extended/v1/address/{principal}/assets', { path });
    await get('/extended/v1/address/{principal}/stx_inbound', { path });
    await get('/extended/v1/address/{principal}/mempool', { path });
    await get('/extended/v1/address/{principal}/nonces', { path });
    await get('/extended/v1/address/{principal}/nonces', { path, query: { block_height: 20 } });
    await get('/extended/v1/tokens/nft/holdings', { query: { principal, tx_metadata: true } });
    await get('/extended/v2/addresses/{address}/transactions', { path });
    await get('/extended/v2/addresses/{address}/transactions/{tx_id}/events', { path: { ...path, tx_id } });
    await get('/extended/v2/addresses/{principal}/balances/stx', { path });
    await get('/extended/v2/addresses/{principal}/balances/ft', { path });
    for (const token of Object.keys(fungible_tokens).slice(0, 1)) {
      await get('/extended/v2/addresses/{principal}/balances/ft/{token}', { path: { ...path, token } });
    }
  }
});

test('the published client reads tokens', async () => {
  const { results } = (await get('/extended/v1/tx/', { query: { limit: 50 } })) as List<Transaction>;
  type Asset = { asset_identifier: string; value: { hex: string } };
  let asset: Asset | undefined;
  for (const { sender_address: principal } of results) {
    const holdings = (await get('/extended/v1/tokens/nft/holdings', { query: { principal } })) as List<Asset>;
    asset ??= holdings.results[0];
    const { fungible_tokens } = (await get('/extended/v1/address/{principal}/balances', { path: { principal } })) as {
      fungible_tokens: object;
    };
    for (const token of Object.keys(fungible_tokens)) {
      await get('/extended/v1/tokens/ft/{token}/holders', { path: { token } });
    }
  }
  await get('/extended/v1/tokens/ft/{token}/holders', { path: { token: 'stx' } });
  const { asset_identifier, value } = asset!;
  await get('/extended/v1/tokens/nft/history', { query: { asset_identifier, value: value.hex, tx_metadata: true } });
  await get('/extended/v1/tokens/nft/mints', { query: { asset_identifier } });
});

test('the published client reads names', async () => {
  const { namespaces } = (await get('/v1/namespaces/')) as { namespaces: string[] };
  expect(namespaces.length).toBeGreaterThan(0);
  const names = new Set<string>((await get('/v1/names/')) as string[]);
  for (const tld of namespaces) {
    for (const name of (await get('/v1/namespaces/{tld}/names', { path: { tld } })) as string[]) names.add(name);
    await get('/v2/prices/namespaces/{tld}', { path: { tld } });
  }
  expect(names.size).toBeGreaterThan(0);
  let zonefiles = 0;
  for (const name of [...names].slice(0, 10)) {
    const path = { name };
    const details = (await get('/v1/names/{name}', { path })) as {
      address: string;
      zonefile?: string;
      zonefile_hash?: string;
    };
    await get('/v1/names/{name}/subdomains', { path });
    await get('/v2/prices/names/{name}', { path });
    await get('/v1/addresses/{blockchain}/{address}', { path: { blockchain: 'stacks', address: details.address } });
    if (!details.zonefile || !details.zonefile_hash) continue;
    zonefiles++;
    await get('/v1/names/{name}/zonefile', { path });
    await get('/v1/names/{name}/zonefile/{zoneFileHash}', { path: { name, zoneFileHash: details.zonefile_hash } });
  }
  expect(zonefiles).toBeGreaterThan(0);
});

test('the published client reads supply, block times and fees', async () => {
  await get('/extended/v1/stx_supply/');
  await get('/extended/v1/stx_supply/legacy_format');
  await get('/extended/v1/info/network_block_times');
  await get('/extended/v1/info/network_block_time/{network}', { path: { network: 'mainnet' } });
  await post('/extended/v1/fee_rate/', { body: { transaction: '0x00' } });
  for (const kind of ['total', 'circulating']) {
    const response = await tour.fetch(new Request(`http://localhost/extended/v1/stx_supply/${kind}/plain`));
    expect(response.headers.get('content-type')).toStartWith('text/plain');
    expect(await response.text()).toMatch(/^\d+\.\d{6}$/);
  }
});

test('the published client reads stacking data', async () => {
  const pox = 'pox4';
  const events = (await get('/extended/v1/{pox}/events', { path: { pox }, query: { limit: 200 } })) as List<{
    tx_id: string;
    stacker: string;
    name: string;
    delegate_to?: string;
    data: { delegate_to?: string };
  }>;
  expect(events.results.length).toBeGreaterThan(0);
  for (const { tx_id, stacker, data } of events.results.slice(0, 10)) {
    await get('/extended/v1/{pox}/tx/{tx_id}', { path: { pox, tx_id } });
    await get('/extended/v1/{pox}/stacker/{principal}', { path: { pox, principal: stacker } });
    const path = { pox, pool_principal: data.delegate_to ?? stacker };
    await get('/extended/v1/{pox}/{pool_principal}/delegations', { path });
  }
  const holders = (await get('/extended/v1/burnchain/reward_slot_holders')) as List<{ address: string }>;
  const rewards = (await get('/extended/v1/burnchain/rewards')) as { results: { reward_recipient: string }[] };
  expect(holders.results.length).toBeGreaterThan(0);
  expect(rewards.results.length).toBeGreaterThan(0);
  const { address } = holders.results[0]!;
  await get('/extended/v1/burnchain/reward_slot_holders/{address}', { path: { address } });
  const path = { address: rewards.results[0]!.reward_recipient };
  await get('/extended/v1/burnchain/rewards/{address}', { path });
  await get('/extended/v1/burnchain/rewards/{address}/total', { path });
  await get('/extended/v2/addresses/{burnchain_address}/pox-transactions', {
    path: { burnchain_address: path.address },
  });
  await get('/extended/v2/burn-blocks/{height_or_hash}/pox-transactions', { path: { height_or_hash: 'latest' } });
  const cycles = (await get('/extended/v2/pox/cycles')) as List<{ cycle_number: number }>;
  for (const { cycle_number } of cycles.results.slice(0, 3)) {
    await get('/extended/v2/pox/cycles/{cycle_number}', { path: { cycle_number } });
    const signers = (await get('/extended/v2/pox/cycles/{cycle_number}/signers', { path: { cycle_number } })) as List<{
      signing_key: string;
    }>;
    for (const { signing_key: signer_key } of signers.results.slice(0, 2)) {
      await get('/extended/v2/pox/cycles/{cycle_number}/signers/{signer_key}', { path: { cycle_number, signer_key } });
      await get('/extended/v2/pox/cycles/{cycle_number}/signers/{signer_key}/stackers', {
        path: { cycle_number, signer_key },
      });
    }
  }
});

/** Routes of the package that other tests call. */
const askedElsewhere = [
  /^\/extended\/v3\//, // the tour of the generated client
  /\/plain$/, // no JSON
  /^\/extended\/v1\/faucets\//, // need a node
  /^\/extended$/,
  /^\/extended\/v1\/microblock\/\{hash\}$/, // the simulated node has none
];

test('these tests call every v1 and v2 route of the package', async () => {
  const schema = Bun.resolveSync('@stacks/blockchain-api-client', import.meta.dir).replace(
    /lib\/.*$/,
    'lib/generated/schema.d.ts',
  );
  const declared = [...(await Bun.file(schema).text()).matchAll(/^ {4}"(\/[^"]*)"/gm)].map(([, path]) => path!);
  expect(declared.length).toBeGreaterThan(100);
  const called = new Set([...answers.keys()].map((key) => key.split(' ')[1]));
  const missing = declared.filter((path) => !called.has(path) && !askedElsewhere.some((pattern) => pattern.test(path)));
  expect(missing).toEqual([]);
});

test('every answer has the type that the package declares', () => {
  const bodies = [...answers].flatMap(([key, samples]) => {
    const [method, path] = key.split(' ');
    // The package declares no answer for these.
    if (path?.includes('{pox}')) return [];
    const type = `Answer<paths['${path}']['${method}']>`;
    return samples.map((body): Typed => ({ type, body }));
  });
  const imports = [
    "import type { paths } from '@stacks/blockchain-api-client';",
    'type Answer<O> = O extends { responses: { 200: { content: infer C } } } ? C[keyof C] : never;',
  ].join('\n');
  expect(bodies.length).toBeGreaterThan(100);
  expect(typeErrors(imports, bodies)).toEqual([]);
});
