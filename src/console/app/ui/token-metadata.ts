/** Symbols and decimals of fungible tokens. Each is asked for once while the page is open; one that was not known then, again. */
import { type Signal, signal } from '@preact/signals';
import { api, bodyOf, RequestError } from '../api/api.ts';
import { assetContract, type TokenUnit, unitIn } from '../chain/format.ts';

const UNKNOWN: TokenUnit = { symbol: null, decimals: null };

/** Milliseconds after which a token that was not known is asked for again. */
const AGAIN_MS = 60_000;

const units = new Map<string, { unit: Signal<TokenUnit>; askAgainAt: number }>();

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

/**
 * The metadata of a contract's fungible token; undefined where there is none. The list answers with nothing where the route of one
 * token answers with an error, which the browser would show.
 */
export async function fungibleToken(contract: string, signal?: AbortSignal) {
  const params = { query: { address: contract, limit: MOST_ALIKE } };
  const { results } = await bodyOf(api.GET('/metadata/v1/ft', { params, ...(signal === undefined ? {} : { signal }) }));
  return results.find(({ contract_principal }) => contract_principal === contract);
}

async function ask(asset: string, unit: Signal<TokenUnit>): Promise<void> {
  try {
    const facts = await fungibleToken(assetContract(asset));
    const found = facts === undefined ? null : unitIn(asset, facts);
    if (found === null) return;
    unit.value = found;
    if (found.decimals !== null) units.set(asset, { unit, askAgainAt: Number.POSITIVE_INFINITY });
  } catch (error) {
    // The page says elsewhere that the server is away, and amounts stay in the smallest unit.
    if (!(error instanceof RequestError)) throw error;
  }
}

/** Symbol and decimals of a fungible token; unknown until the answer comes. */
export function unitOf(asset: string): Signal<TokenUnit> {
  const known = units.get(asset);
  if (known !== undefined && performance.now() < known.askAgainAt) return known.unit;
  const unit = known?.unit ?? signal(UNKNOWN);
  units.set(asset, { unit, askAgainAt: performance.now() + AGAIN_MS });
  waiting.push(() => ask(asset, unit));
  askNext();
  return unit;
}
