/** A client generated from the OpenAPI document calls every v2 route over a simulated chain. */
import { expect, test } from 'bun:test';
import { data, startTour } from './tour.ts';

const { client, document, visited } = await startTour();

test('the generated client reads blocks of v2', async () => {
  const list = await data(client.GET('/extended/v2/blocks', { params: { query: { limit: 30 } } }));
  expect(list.results.map(({ height }) => height)).toEqual(Array.from({ length: 30 }, (_, index) => 60 - index));
  const cursor = list.prev_cursor ?? '';
  const older = await data(client.GET('/extended/v2/blocks', { params: { query: { limit: 30, cursor } } }));
  expect(older.results.at(-1)?.height).toBe(1);
  const back = { limit: 30, cursor: older.next_cursor ?? '' };
  expect((await data(client.GET('/extended/v2/blocks', { params: { query: back } }))).results).toEqual(list.results);

  const tip = list.results[0]!;
  for (const height_or_hash of ['latest', '60', tip.hash, tip.index_block_hash.slice(2)]) {
    const path = { height_or_hash };
    expect(await data(client.GET('/extended/v2/blocks/{height_or_hash}', { params: { path } }))).toEqual(tip);
  }
  const path = { height_or_hash: 'latest' };
  await data(client.GET('/extended/v2/blocks/{height_or_hash}/signer-signatures', { params: { path } }));
  const timestamp = tip.block_time;
  const byTime = await data(
    client.GET('/extended/v2/blocks/by-block-time/{timestamp}', { params: { path: { timestamp } } }),
  );
  expect(byTime).toEqual(tip);
  const { last_30d } = await data(client.GET('/extended/v2/blocks/average-times'));
  expect(last_30d).toBeGreaterThan(0);
  const tenure_height = tip.tenure_height;
  const tenure = await data(
    client.GET('/extended/v2/block-tenures/{tenure_height}/blocks', { params: { path: { tenure_height } } }),
  );
  expect(tenure.results[0]).toEqual(tip);
});

test('the generated client reads burn blocks of v2', async () => {
  const list = await data(client.GET('/extended/v2/burn-blocks'));
  const path = { height_or_hash: 'latest' };
  const newest = await data(client.GET('/extended/v2/burn-blocks/{height_or_hash}', { params: { path } }));
  expect(list.results[0]).toEqual(newest);
  const anchored = await data(client.GET('/extended/v2/burn-blocks/{height_or_hash}/blocks', { params: { path } }));
  expect(anchored.results.map(({ hash }) => hash)).toEqual(newest.stacks_blocks.slice(0, anchored.limit));
  expect(anchored.total).toBe(newest.stacks_blocks.length);
});

test('the generated client reads fees and contracts of v2', async () => {
  const { all } = await data(client.GET('/extended/v2/mempool/fees'));
  expect(all.low_priority).toBeGreaterThanOrEqual(all.no_priority);

  const list = await data(client.GET('/extended/v3/transactions', { params: { query: { limit: 50 } } }));
  const called = list.results.flatMap((tx) => (tx.type === 'contract_call' ? tx.contract_call.contract_id : []));
  const contract_id = [...new Set(called), 'unknown'];
  expect(called.length).toBeGreaterThan(0);
  const logs = await Promise.all(
    contract_id.map((id) =>
      data(client.GET('/extended/v2/smart-contracts/{contract_id}/logs', { params: { path: { contract_id: id } } })),
    ),
  );
  expect(logs.some(({ total }) => total > 0)).toBe(true);
  const answer = await data(
    client.GET('/extended/v2/smart-contracts/status', { params: { query: { contract_id: [...new Set(called)] } } }),
  );
  expect(Object.values(answer).map((item) => item.found && item.result.status)).toEqual(
    [...new Set(called)].map(() => 'success'),
  );
});

test('the generated client reads reward cycles of v2', async () => {
  const { results } = await data(client.GET('/extended/v2/pox/cycles'));
  const { cycle_number, total_signers, total_weight } = results[0]!;
  const path = { cycle_number };
  expect(await data(client.GET('/extended/v2/pox/cycles/{cycle_number}', { params: { path } }))).toEqual(results[0]!);
  const signers = await data(client.GET('/extended/v2/pox/cycles/{cycle_number}/signers', { params: { path } }));
  expect(signers.total).toBe(total_signers);
  expect(signers.results.reduce((sum, { weight }) => sum + weight, 0)).toBe(total_weight);
  for (const signer of signers.results) {
    const init = { params: { path: { cycle_number, signer_key: signer.signing_key.slice(2) } } };
    expect(await data(client.GET('/extended/v2/pox/cycles/{cycle_number}/signers/{signer_key}', init))).toEqual(signer);
    const stackers = await data(
      client.GET('/extended/v2/pox/cycles/{cycle_number}/signers/{signer_key}/stackers', init),
    );
    expect(stackers.total).toBe(signer.solo_stacker_count + signer.pooled_stacker_count);
  }
});

test('the generated client reads PoX payments of v2', async () => {
  const path = { height_or_hash: 'latest' };
  const latest = await data(
    client.GET('/extended/v2/burn-blocks/{height_or_hash}/pox-transactions', { params: { path } }),
  );
  const paid = latest.results[0]!;
  const list = '/extended/v2/addresses/{burnchain_address}/pox-transactions';
  const query = { limit: 30 };
  const rewards = await data(client.GET(list, { params: { path: { burnchain_address: paid.recipient }, query } }));
  expect(rewards.results).toContainEqual(paid);
  expect(rewards.total).toBeGreaterThanOrEqual(rewards.results.length);
});

test('these tests call every current v2 route', () => {
  const current = Object.entries(document.paths).filter(([, { get }]) => get?.deprecated !== true);
  const paths = current.map(([path]) => path).filter((path) => path.startsWith('/extended/v2/'));
  expect([...visited].filter((path) => path.startsWith('/extended/v2/')).sort()).toEqual(paths.sort());
});
