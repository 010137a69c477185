/** The GET routes of v2 and v3 with paths that the sample chain has an answer for, derived from the routes. */

import type { Route } from '../../src/http/route.ts';
import { routesOf } from '../support/api/app.ts';
import { ADDRESS, CONTRACT, hash, NFT, TOKEN } from './sample-chain.ts';
import { VERSION } from './test-app.ts';

/** Values of path parameters by name. */
const values: Readonly<Record<string, string>> = {
  principal: ADDRESS,
  contract_id: CONTRACT,
  asset_identifier: TOKEN,
  value: '3',
  tx_id: hash(0x31),
  height_or_hash: '3',
  timestamp: '2500',
  tenure_height: '7',
  bond_index: '0',
  cycle_number: '1',
  signer_key: hash(2, 33),
  burnchain_address: 'mhYeZXrSEuyf2wbJ14qZ2apG7ofMLDj9Ss',
};

/** Values for the routes of one kind of thing, by the beginning of their paths. */
const exceptions: readonly (readonly [beginning: string, values: Readonly<Record<string, string>>])[] = [
  ['/extended/v2/burn-blocks/', { height_or_hash: '102' }],
  ['/extended/v3/tokens/nft/', { asset_identifier: NFT }],
];

export interface SampleRoute {
  route: Route;
  path: string;
}

const isOfV2OrV3 = ({ method, path, deprecated }: Route): boolean =>
  method === 'GET' && deprecated === null && /^\/extended(\/v[23]\/.*)?$/.test(path);

/** @throws Error that names a path parameter without a value */
function pathOf({ path }: Route): string {
  const special = exceptions.find(([beginning]) => path.startsWith(beginning))?.[1];
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = special?.[name] ?? values[name];
    if (value === undefined) throw new Error(`${path}: sample-routes.ts has no value of ${name}`);
    return encodeURIComponent(value);
  });
}

const hasRequiredQuery = ({ detail }: Route): boolean =>
  detail.parameters.some((parameter) => parameter.in === 'query' && parameter.required === true);

/** All current GET routes of v2 and v3 that don't need a query. */
export const sampleRoutes: readonly SampleRoute[] = routesOf(VERSION)
  .filter((route) => isOfV2OrV3(route) && !hasRequiredQuery(route))
  .map((route) => ({ route, path: pathOf(route) }));

/** Whether the sample chain lacks a route's data: it has no bonds, stakers, signers or reward cycles. */
export const isOfStaking = ({ route }: SampleRoute): boolean => /\/staking\b|\/pox\/cycles\//.test(route.path);
