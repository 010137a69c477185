/** Primary names of addresses (BNS-V2) and metadata of fungible tokens. A page requests each only once. */
import { type Signal, signal } from '@preact/signals';
import { assetContractOf } from '../../../codec/address.ts';
import { type Answer, assertRequestError, get, post } from '../api/api.ts';
import { type TokenUnit, tokenUnit } from '../chain/format.ts';
import { server } from './server-status.tsx';

/** Maximum addresses in a request. */
const MAX_BATCH = 50;

/** Names by address; null for an address without one. */
const names = signal<ReadonlyMap<string, string | null>>(new Map());
const requested = new Set<string>();
let addresses: string[] = [];

async function loadNames(principals: string[]): Promise<void> {
  const { results } = await post('/stackside/v1/names/bns-v2/primary', {}, { principals });
  names.value = new Map([...names.value, ...results.map(({ principal, name }) => [principal, name] as const)]);
}

function loadAllNames(): void {
  const all = addresses;
  addresses = [];
  // The page shows elsewhere that the server is away. The addresses stay without names.
  for (let start = 0; start < all.length; start += MAX_BATCH)
    loadNames(all.slice(start, start + MAX_BATCH)).catch(assertRequestError);
}

/** Reports whether the server can return names: it knows the whole chain. */
function hasNames(): boolean {
  const { height = null, history_from: from } = server.value.status?.index ?? {};
  return height !== null && from === undefined;
}

/** Returns the primary name of an address; null until the response arrives, and if the address has none. */
export function primaryNameOf(principal: string): string | null {
  const name = names.value.get(principal) ?? null;
  if (requested.has(principal) || principal.includes('.') || !hasNames()) return name;
  requested.add(principal);
  if (addresses.length === 0) setTimeout(loadAllNames);
  addresses.push(principal);
  return name;
}

type Token = Answer<'/metadata/v1/ft'>['results'][number];

/** Milliseconds before the metadata of a token without decimals is requested again. */
const RETRY_MS = 60_000;

const tokens = new Map<string, { token: Signal<Token | null>; expiresAt: number }>();

/** Maximum tokens in a response: the contracts with identifiers that start like the requested one. */
const MAX_RESULTS = 60;

/** The last request in each of four queues: a list may have hundreds of tokens, and the next page must not wait for all. */
const queues = Array.from({ length: 4 }, () => Promise.resolve());

async function loadToken(contract: string, token: Signal<Token | null>): Promise<void> {
  // The list returns nothing if the token is missing. The route of one token would return an error, which the browser
  // would show.
  const { results } = await get('/metadata/v1/ft', { address: contract, limit: MAX_RESULTS });
  const metadata = results.find(({ contract_principal }) => contract_principal === contract);
  if (metadata === undefined) return;
  token.value = metadata;
  if (metadata.decimals !== undefined) tokens.set(contract, { token, expiresAt: Number.POSITIVE_INFINITY });
}

/** Returns the metadata of a fungible token; null until it arrives, and if its contract has none for the asset. */
export function tokenOf(asset: string): Token | null {
  const contract = assetContractOf(asset);
  let cached = tokens.get(contract);
  if (cached === undefined || performance.now() >= cached.expiresAt) {
    const token = cached?.token ?? signal<Token | null>(null);
    cached = { token, expiresAt: performance.now() + RETRY_MS };
    tokens.set(contract, cached);
    // The page shows elsewhere that the server is away. Amounts stay in the smallest unit.
    const queue = tokens.size % queues.length;
    queues[queue] = queues[queue]!.then(() => loadToken(contract, token)).catch(assertRequestError);
  }
  const metadata = cached.token.value;
  return metadata?.asset_identifier === asset ? metadata : null;
}

/** Returns symbol and decimals of a fungible token; null if they are unknown. */
export const unitOf = (asset: string): TokenUnit =>
  tokenUnit(asset, tokenOf(asset) ?? {}) ?? { symbol: null, decimals: null };
