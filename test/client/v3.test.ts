/** A client generated from the OpenAPI document calls every v3 route over a simulated chain. */
import { expect, test } from 'bun:test';
import { data, startTour } from './tour.ts';

const { client, document, visited } = await startTour();

test('the generated client reads transactions, blocks and the mempool of v3', async () => {
  const status = await data(client.GET('/extended'));
  expect(status.chain_tip?.block_height).toBe(60);

  const list = await data(client.GET('/extended/v3/transactions', { params: { query: { limit: 50 } } }));
  expect(list.results.length).toBe(50);
  const tx_id = list.results[0]?.tx_id ?? '';
  const tx = await data(
    client.GET('/extended/v3/transactions/{tx_id}', {
      params: { path: { tx_id }, query: { include: ['function_args', 'source_code', 'post_conditions', 'result'] } },
    }),
  );
  expect(tx.tx_id).toBe(tx_id);
  await data(client.GET('/extended/v3/transactions/{tx_id}/events', { params: { path: { tx_id } } }));

  const height_or_hash = 'latest';
  const ofBlock = await data(
    client.GET('/extended/v3/blocks/{height_or_hash}/transactions', { params: { path: { height_or_hash } } }),
  );
  expect(ofBlock.results[0]?.block.height).toBe(60);
  const waiting = await data(client.GET('/extended/v3/mempool/transactions'));
  expect(waiting.results.length).toBe(Math.min(waiting.total, waiting.limit));
});

test('the types of the generated client give data after an error check', async () => {
  const { data: list, error } = await client.GET('/extended/v3/transactions');
  if (error) throw new Error(JSON.stringify(error));
  expect(list.results.length).toBeGreaterThan(0);
});

test('the generated client reads principals, tokens and contracts of v3', async () => {
  const holders = await data(client.GET('/extended/v3/tokens/stx/holders'));
  const principal = holders.results.find((holder) => !holder.principal.includes('.'))?.principal ?? '';
  const path = { principal };

  const supply = await data(client.GET('/extended/v3/tokens/stx/supply'));
  expect(BigInt(supply.total)).toBeGreaterThan(0n);
  const stx = await data(client.GET('/extended/v3/principals/{principal}/balances/stx', { params: { path } }));
  expect(stx.balance).toBe(holders.results.find((holder) => holder.principal === principal)?.balance ?? '');
  await data(client.GET('/extended/v3/principals/{principal}/nonces', { params: { path } }));
  await data(client.GET('/extended/v3/principals/{principal}/mempool/transactions', { params: { path } }));
  for (const direction of ['inbound', 'outbound'] as const) {
    await data(client.GET(`/extended/v3/principals/{principal}/transfers/stx/${direction}`, { params: { path } }));
  }

  const mine = await data(client.GET('/extended/v3/principals/{principal}/transactions', { params: { path } }));
  const tx_id = mine.results[0]?.transaction.tx_id ?? '';
  const changes = await data(
    client.GET('/extended/v3/principals/{principal}/transactions/{tx_id}/balance-changes', {
      params: { path: { principal, tx_id } },
    }),
  );
  const several = await data(
    client.GET('/extended/v3/principals/{principal}/balance-changes', { params: { path, query: { tx_id: [tx_id] } } }),
  );
  expect(several.results.map(({ asset }) => asset)).toEqual(changes.results.map(({ asset }) => asset));
});

test('the generated client follows a fungible token from its holders to its transfers', async () => {
  const holder = await firstWith('/extended/v3/principals/{principal}/balances/ft');
  const asset_identifier = holder.asset_identifier;
  const params = { path: { principal: holder.principal, asset_identifier } };
  const balance = await data(
    client.GET('/extended/v3/principals/{principal}/balances/ft/{asset_identifier}', { params }),
  );
  const holders = await data(
    client.GET('/extended/v3/tokens/ft/{asset_identifier}/holders', { params: { path: { asset_identifier } } }),
  );
  const [first] = holders.results;
  const ofFirst = await data(
    client.GET('/extended/v3/principals/{principal}/balances/ft/{asset_identifier}', {
      params: { path: { principal: first?.principal ?? '', asset_identifier } },
    }),
  );
  expect(ofFirst.balance).toBe(first?.balance ?? '');
  const supply = await data(
    client.GET('/extended/v3/tokens/ft/{asset_identifier}/supply', { params: { path: { asset_identifier } } }),
  );
  expect(BigInt(supply.total)).toBeGreaterThanOrEqual(BigInt(balance.balance));
  const transfers = await data(
    client.GET('/extended/v3/principals/{principal}/transfers/ft/{asset_identifier}', { params }),
  );
  expect(transfers.total).toBeGreaterThan(0);

  const contract_id = asset_identifier.split('::')[0] ?? '';
  const contract = await data(
    client.GET('/extended/v3/smart-contracts/{contract_id}', {
      params: { path: { contract_id }, query: { include: ['source_code'] } },
    }),
  );
  expect(contract.source_code).toBeString();
});

test('the generated client follows an NFT from its owner to its history', async () => {
  const owned = await firstWith('/extended/v3/principals/{principal}/balances/nft');
  const history = await data(
    client.GET('/extended/v3/tokens/nft/{asset_identifier}/{value}/history', {
      params: { path: { asset_identifier: owned.asset_identifier, value: owned.value?.hex ?? '' } },
    }),
  );
  expect(history.results[0]?.recipient).toBe(owned.principal);
  expect(history.results.at(-1)?.sender).toBeNull();
});

test('the generated client reads bonds with their members and positions', async () => {
  const bonds = await data(client.GET('/extended/v3/staking/bonds'));
  const bond = bonds.results.find(({ registrations }) => registrations.registered_count > 0)!;
  const path = { bond_index: bond.index };
  const { transaction, ...same } = await data(
    client.GET('/extended/v3/staking/bonds/{bond_index}', { params: { path } }),
  );
  expect(same).toEqual(bond);
  const call = await data(
    client.GET('/extended/v3/transactions/{tx_id}', { params: { path: { tx_id: transaction.tx_id } } }),
  );
  expect(call.type).toBe('contract_call');

  const allowed = await data(client.GET('/extended/v3/staking/bonds/{bond_index}/allowlist', { params: { path } }));
  expect(allowed.total).toBe(bond.registrations.allowed_count);
  const registered = await data(
    client.GET('/extended/v3/staking/bonds/{bond_index}/registrations', { params: { path } }),
  );
  expect(registered.total).toBe(bond.registrations.registered_count);
  const { staker: principal, type, signer, balances } = registered.results[0]!;
  const options = { params: { path: { ...path, principal } } };
  const allowance = await data(client.GET('/extended/v3/staking/bonds/{bond_index}/allowlist/{principal}', options));
  expect(allowed.results).toContainEqual(allowance);
  const registration = await data(
    client.GET('/extended/v3/staking/bonds/{bond_index}/registrations/{principal}', options),
  );
  expect(registration).toMatchObject({ staker: principal, type, signer, balances });

  const positions = await data(
    client.GET('/extended/v3/principals/{principal}/staking/bonds', { params: { path: { principal } } }),
  );
  const staking = await data(
    client.GET('/extended/v3/principals/{principal}/staking', { params: { path: { principal } } }),
  );
  expect(staking.bonds.count).toBe(positions.total);
  expect(positions.results.map(({ bond_index }) => bond_index)).toContain(bond.index);

  const signers = await data(client.GET('/extended/v3/staking/signers'));
  const init = { params: { path: { principal: signers.results[0]!.signer } } };
  expect(await data(client.GET('/extended/v3/staking/signers/{principal}', init))).toMatchObject(signers.results[0]!);
  const stakers = await data(
    client.GET('/extended/v3/staking/signers/{principal}/stakers', { params: { path: { principal: signer } } }),
  );
  expect(stakers.results).toContainEqual({ staker: principal, types: expect.arrayContaining(['btc']) });

  const cycle_number = 'current';
  const cycle = await data(
    client.GET('/extended/v3/staking/cycles/{cycle_number}/signers', { params: { path: { cycle_number } } }),
  );
  expect(cycle.results.reduce((sum, { weight }) => sum + weight.percent, 0)).toBeCloseTo(100);
  const { locked, bonds: inCycle } = await data(
    client.GET('/extended/v3/staking/cycles/{cycle_number}', { params: { path: { cycle_number } } }),
  );
  expect(BigInt(locked.stx.total)).toBe(BigInt(locked.stx.stx_only) + BigInt(locked.stx.bonds));
  expect(inCycle.indexes).toHaveLength(inCycle.total);
});

test('these tests call every v3 route', () => {
  const paths = Object.keys(document.paths).filter((path) => path === '/extended' || path.startsWith('/extended/v3/'));
  expect([...visited].sort()).toEqual(paths.sort());
});

/** The first item of that list of any holder of STX. */
async function firstWith<P extends `/extended/v3/principals/{principal}/balances/${'ft' | 'nft'}`>(
  path: P,
): Promise<{ principal: string; asset_identifier: string; value?: { hex: string } }> {
  const holders = await data(client.GET('/extended/v3/tokens/stx/holders', { params: { query: { limit: 50 } } }));
  for (const { principal } of holders.results) {
    const list = await data(
      client.GET(path as '/extended/v3/principals/{principal}/balances/nft', { params: { path: { principal } } }),
    );
    const first = list.results[0];
    if (first !== undefined) return { principal, ...first };
  }
  throw new Error(`no holder has ${path}`);
}
