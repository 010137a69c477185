/** Metadata of fungible tokens. Each is requested once while the page is open, and again if it was incomplete. */
import { type Signal, signal } from '@preact/signals';
import type { Answer } from '../api/answer.ts';
import { api, bodyOf, RequestError } from '../api/api.ts';
import { assetContract, type TokenUnit, unitIn } from '../chain/format.ts';

type Token = Answer<'/metadata/v1/ft'>['results'][number];

/** Milliseconds before the metadata of a token without decimals is requested again. */
const AGAIN_MS = 60_000;

const tokens = new Map<string, { token: Signal<Token | null>; askAgainAt: number }>();

/** Maximum tokens in a response: the contracts with identifiers that start like the requested one. */
const MAX_ALIKE = 60;

/** Maximum concurrent requests: a list may have hundreds of tokens. */
const AT_ONCE = 4;
const waiting: (() => Promise<void>)[] = [];
let running = 0;

function askNext(): void {
  const next = running < AT_ONCE ? waiting.shift() : undefined;
  if (next === undefined) return;
  running += 1;
  void next().finally(() => {
    running -= 1;
    askNext();
  });
}

async function ask(contract: string, token: Signal<Token | null>): Promise<void> {
  // The list returns nothing if the token is missing. The route of one token would return an error, which the browser
  // would show.
  const params = { query: { address: contract, limit: MAX_ALIKE } };
  try {
    const { results } = await bodyOf(api.GET('/metadata/v1/ft', { params }));
    const metadata = results.find(({ contract_principal }) => contract_principal === contract);
    if (metadata === undefined) return;
    token.value = metadata;
    if (metadata.decimals !== undefined) tokens.set(contract, { token, askAgainAt: Number.POSITIVE_INFINITY });
  } catch (error) {
    // The page shows elsewhere that the server is away. Amounts stay in the smallest unit.
    if (!(error instanceof RequestError)) throw error;
  }
}

/**
 * Returns the metadata of a fungible token; null until the response arrives, and if its contract has none for this
 * asset.
 */
export function tokenOf(asset: string): Token | null {
  const contract = assetContract(asset);
  let cached = tokens.get(contract);
  if (cached === undefined || performance.now() >= cached.askAgainAt) {
    const token = cached?.token ?? signal<Token | null>(null);
    cached = { token, askAgainAt: performance.now() + AGAIN_MS };
    tokens.set(contract, cached);
    waiting.push(() => ask(contract, token));
    askNext();
  }
  const metadata = cached.token.value;
  return metadata?.asset_identifier === asset ? metadata : null;
}

/** Returns symbol and decimals of a fungible token; null if they are unknown. */
export const unitOf = (asset: string): TokenUnit =>
  unitIn(asset, tokenOf(asset) ?? {}) ?? { symbol: null, decimals: null };
