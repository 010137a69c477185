/** Lists the deprecated routes and their successors, as published. The server declares these routes deprecated, and no others. */

import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { DeprecationPolicy } from '../../src/http/deprecation.ts';
import type { Route } from '../../src/http/route.ts';
import { routesOf } from '../support/api/app.ts';
import { routeContext } from './route-context.ts';

/** Successors of each deprecated route, with the parameter names of the deprecated path. */
type Table = Readonly<Record<string, string | readonly string[]>>;

const V2: Table = {
  'GET /extended/v2/addresses/{address}/transactions/{tx_id}/events':
    '/extended/v3/principals/{address}/transactions/{tx_id}/balance-changes',
  'GET /extended/v2/addresses/{address}/transactions': '/extended/v3/principals/{address}/transactions',
  'GET /extended/v2/addresses/{principal}/balances/stx': '/extended/v3/principals/{principal}/balances/stx',
  'GET /extended/v2/addresses/{principal}/balances/ft': '/extended/v3/principals/{principal}/balances/ft',
  'GET /extended/v2/addresses/{principal}/balances/ft/{token}':
    '/extended/v3/principals/{principal}/balances/ft/{token}',
  'GET /extended/v2/blocks/{height_or_hash}/transactions': '/extended/v3/blocks/{height_or_hash}/transactions',
};

const V1: Table = {
  'GET /extended/v1/tx': '/extended/v3/transactions',
  'GET /extended/v1/tx/{tx_id}': '/extended/v3/transactions/{tx_id}',
  'GET /extended/v1/tx/{tx_id}/raw': '/v3/transaction/{tx_id}',
  'GET /extended/v1/tx/mempool': '/extended/v3/mempool/transactions',
  'GET /extended/v1/tx/block/{block_hash}': '/extended/v3/blocks/{block_hash}/transactions',
  'GET /extended/v1/tx/block_height/{height}': '/extended/v3/blocks/{height}/transactions',
  'GET /extended/v1/tx/events': [],
  'GET /extended/v1/address/{principal}/stx': '/extended/v3/principals/{principal}/balances/stx',
  'GET /extended/v1/address/{principal}/balances': [
    '/extended/v3/principals/{principal}/balances/stx',
    '/extended/v3/principals/{principal}/balances/ft',
    '/extended/v3/principals/{principal}/balances/nft',
  ],
  'GET /extended/v1/address/{principal}/transactions': '/extended/v3/principals/{principal}/transactions',
  'GET /extended/v1/address/{principal}/transactions_with_transfers':
    '/extended/v3/principals/{principal}/transactions',
  'GET /extended/v1/address/{principal}/{tx_id}/with_transfers':
    '/extended/v3/principals/{principal}/transactions/{tx_id}/balance-changes',
  'GET /extended/v1/address/{principal}/mempool': '/extended/v3/principals/{principal}/mempool/transactions',
  'GET /extended/v1/address/{principal}/nonces': '/extended/v3/principals/{principal}/nonces',
  'GET /extended/v1/address/{principal}/assets': [],
  'GET /extended/v1/address/{principal}/stx_inbound': '/extended/v3/principals/{principal}/transfers/stx/inbound',
  // By parameters of the query.
  'GET /extended/v1/tokens/nft/holdings': '/extended/v3/principals/{principal}/balances/nft',
  'GET /extended/v1/tokens/nft/history': '/extended/v3/tokens/nft/{asset_identifier}/{value}/history',
  'GET /extended/v1/tokens/nft/mints': [],
  'GET /extended/v1/tokens/ft/{token}/holders': '/extended/v3/tokens/ft/{token}/holders',
  'GET /extended/v1/tokens/ft/stx/holders': '/extended/v3/tokens/stx/holders',
  'GET /extended/v1/block': '/extended/v2/blocks',
  'GET /extended/v1/block/{hash}': '/extended/v2/blocks/{hash}',
  'GET /extended/v1/block/by_height/{height}': '/extended/v2/blocks/{height}',
  'GET /extended/v1/block/by_burn_block_height/{burn_block_height}':
    '/extended/v2/burn-blocks/{burn_block_height}/blocks',
  'GET /extended/v1/block/by_burn_block_hash/{burn_block_hash}': '/extended/v2/burn-blocks/{burn_block_hash}/blocks',
  'GET /extended/v1/contract/{contract_id}': '/extended/v3/smart-contracts/{contract_id}',
  'GET /extended/v1/contract/{contract_id}/events': '/extended/v2/smart-contracts/{contract_id}/logs',
  'GET /extended/v1/contract/by_trait': [],
  'GET /extended/v1/burnchain/reward_slot_holders': [],
  'GET /extended/v1/burnchain/reward_slot_holders/{address}': [],
  'GET /extended/v1/burnchain/rewards': [],
  'GET /extended/v1/burnchain/rewards/{address}': '/extended/v3/principals/{principal}/staking/bonds',
  'GET /extended/v1/burnchain/rewards/{address}/total': '/extended/v3/principals/{principal}/staking',
  'POST /extended/v1/fee_rate': '/v2/fees/transaction',
  'GET /extended/v1/stx_supply': '/extended/v3/tokens/stx/supply',
  'GET /extended/v1/stx_supply/total/plain': '/extended/v3/tokens/stx/supply',
  'GET /extended/v1/stx_supply/circulating/plain': '/extended/v3/tokens/stx/supply',
  'GET /extended/v1/stx_supply/legacy_format': '/extended/v3/tokens/stx/supply',
  'GET /extended/v1/info/network_block_times': '/extended/v2/blocks/average-times',
  'GET /extended/v1/info/network_block_time/{network}': '/extended/v2/blocks/average-times',
  'GET /extended/v1/faucets/btc/{address}': [],
  // Microblocks no longer exist.
  'GET /extended/v1/microblock': [],
  'GET /extended/v1/microblock/{hash}': [],
  'GET /extended/v1/microblock/unanchored/txs': [],
};

/** Related routes of the deprecated routes without a successor. */
const RELATED: Readonly<Record<string, string>> = {
  'GET /extended/v1/address/{}/assets': '/extended/v3/principals/{}/balance-changes',
  'GET /extended/v1/burnchain/reward_slot_holders': '/extended/v3/staking/cycles/{}/signers',
  'GET /extended/v1/burnchain/rewards': '/extended/v3/staking/bonds',
};

const NAMES: Table = {
  'GET /v1/names': [],
  'GET /v1/names/{name}': [],
  'GET /v1/names/{name}/subdomains': [],
  'GET /v1/names/{name}/zonefile': [],
  'GET /v1/names/{name}/zonefile/{zoneFileHash}': [],
  'GET /v1/namespaces': [],
  'GET /v1/namespaces/{tld}/names': [],
  'GET /v1/addresses/{blockchain}/{address}': '/extended/v3/principals/{address}/balances/nft',
  'GET /v2/prices/names/{name}': [],
  'GET /v2/prices/namespaces/{tld}': [],
};

/** Routes of the node's RPC, which is reachable through the same port. */
const OF_THE_NODE = ['/v2/fees/transaction', '/v3/transaction/{}'];

/** A path without the names of its parameters, which are ours to choose, and without its query. */
const shape = (path: string): string => path.replace(/\{\w+\}/g, '{}').replace(/\?.*/, '');

const tables = { ...V2, ...V1, ...NAMES };
const rows = Object.entries(tables).map(([route, successors]) => ({
  route: shape(route),
  successors: [successors].flat(),
}));
const routes = routesOf();
const nameOf = ({ method, path }: Route): string => shape(`${method} ${path}`);
const deprecated = routes.filter((route) => route.deprecated !== null);

test('declares exactly the routes of the tables deprecated', () => {
  const expected = rows.map(({ route }) => route);
  expect(deprecated.map(nameOf).sort()).toEqual(expected.sort());
});

const successorsOf = ({ deprecated: declaration }: Route): string[] =>
  declaration === null || declaration.replacement === null ? [] : [declaration.replacement].flat().map(shape);

test.each(deprecated.map((route) => [nameOf(route), route] as const))('%s names its successors', (name, route) => {
  const row = rows.find((candidate) => candidate.route === name);
  expect(successorsOf(route)).toEqual(row?.successors.map(shape) ?? ['no row']);
});

test('a deprecated route without a successor names a related route', () => {
  const related = deprecated.flatMap((route) => {
    const path = route.deprecated?.related;
    return path === undefined ? [] : [[nameOf(route), shape(path)] as const];
  });
  expect(Object.fromEntries(related)).toEqual(RELATED);
});

test('every successor is a declared route that is not deprecated, or a route of the node', () => {
  const lasting = new Set([
    ...OF_THE_NODE,
    ...routes.filter((route) => route.deprecated === null).map(({ path }) => shape(path)),
  ]);
  for (const { route, successors } of rows) {
    for (const successor of [...successors, ...(RELATED[route] === undefined ? [] : [RELATED[route]])])
      expect({ route, successor, lasts: lasting.has(shape(successor)) }).toEqual({ route, successor, lasts: true });
  }
});

describe('for any request, the deprecated route sends a warning, or 410 when switched off:', () => {
  /** Requests a route with some text for each parameter: the answer has the deprecation headers even for invalid text. */
  const ask = ({ method, path, serve }: Route, deprecation: DeprecationPolicy) => {
    const url = `http://localhost${path.replace(/\{\w+\}/g, '1')}`;
    return serve(routeContext({ deprecation }))(new Request(url, { method }));
  };
  test.each(deprecated.map((route) => [nameOf(route), route] as const))('%s', async (_, route) => {
    const answer = await ask(route, { enabled: true, sunset: null });
    expect(answer.headers.get('warning')).toStartWith('299 - "Deprecated: ');
    expect(route.detail).toMatchObject({ deprecated: true });
    const removed = await ask(route, { enabled: false, sunset: null });
    expect([removed.status, removed.headers.get('warning')]).toEqual([410, answer.headers.get('warning')]);
  });
});

test('no other route is marked deprecated', () => {
  for (const route of routes.filter(({ deprecated: declaration }) => declaration === null)) {
    expect([nameOf(route), 'deprecated' in route.detail]).toEqual([nameOf(route), false]);
  }
});

test('the migration page has a row for each deprecated route', async () => {
  const page = await Bun.file(join(import.meta.dir, '../../docs/migration.md')).text();
  const rowsOfPage = [...page.matchAll(/^\| (`(?:GET|POST) [^|]+) \|/gm)];
  const named = rowsOfPage.flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, route]) => shape(route!)),
  );
  expect(named.sort()).toEqual(rows.map(({ route }) => route).sort());
});
