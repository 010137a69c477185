/** Metadata of fungible tokens. Each is asked for once while the page is open; what was not known then, again. */
import { type Signal, signal } from '@preact/signals';
import type { Answer } from '../api/answer.ts';
import { api, bodyOf, RequestError } from '../api/api.ts';
import { assetContract, type TokenUnit, unitIn } from '../chain/format.ts';

type Token = Answer<'/metadata/v1/ft'>['results'][number];

/** Milliseconds after which a token whose decimals were not known is asked for again. */
const AGAIN_MS = 60_000;

const tokens = new Map<string, { token: Signal<Token | null>; askAgainAt: number }>();

/** Tokens in an answer: the contracts whose identifiers begin like the one that is looked for. */
const MOST_ALIKE = 60;

/** Requests at a time: a list may have hundreds of tokens. */
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
  // The list answers with nothing where the route of one token answers with an error, which the browser would show.
  const params = { query: { address: contract, limit: MOST_ALIKE } };
  try {
    const { results } = await bodyOf(api.GET('/metadata/v1/ft', { params }));
    const found = results.find(({ contract_principal }) => contract_principal === contract);
    if (found === undefined) return;
    token.value = found;
    if (found.decimals !== undefined) tokens.set(contract, { token, askAgainAt: Number.POSITIVE_INFINITY });
  } catch (error) {
    // The page says elsewhere that the server is away, and amounts stay in the smallest unit.
    if (!(error instanceof RequestError)) throw error;
  }
}

/** The metadata of a fungible token; null until the answer comes, and where its contract has none for this asset. */
export function tokenOf(asset: string): Token | null {
  const contract = assetContract(asset);
  let known = tokens.get(contract);
  if (known === undefined || performance.now() >= known.askAgainAt) {
    const token = known?.token ?? signal<Token | null>(null);
    known = { token, askAgainAt: performance.now() + AGAIN_MS };
    tokens.set(contract, known);
    waiting.push(() => ask(contract, token));
    askNext();
  }
  const found = known.token.value;
  return found?.asset_identifier === asset ? found : null;
}

/** Symbol and decimals of a fungible token; null where they are not known. */
export const unitOf = (asset: string): TokenUnit =>
  unitIn(asset, tokenOf(asset) ?? {}) ?? { symbol: null, decimals: null };
