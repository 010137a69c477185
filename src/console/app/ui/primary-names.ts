/** Primary names of addresses (BNS-V2). All addresses that a page shows are requested together, once while it is open. */
import { signal } from '@preact/signals';
import { api, bodyOf, RequestError } from '../api/api.ts';
import { server } from './server-status.ts';

/** Maximum addresses in a request. */
const MAX_ASKED = 50;

/** Names by address; null for an address without one. */
const names = signal<ReadonlyMap<string, string | null>>(new Map());
const requested = new Set<string>();
let waiting: string[] = [];

async function ask(principals: string[]): Promise<void> {
  try {
    const { results } = await bodyOf(api.POST('/stackside/v1/names/bns-v2/primary', { body: { principals } }));
    names.value = new Map([...names.value, ...results.map(({ principal, name }) => [principal, name] as const)]);
  } catch (error) {
    // The page shows elsewhere that the server is away. The addresses stay without names.
    if (!(error instanceof RequestError)) throw error;
  }
}

function askAll(): void {
  const all = waiting;
  waiting = [];
  for (let at = 0; at < all.length; at += MAX_ASKED) void ask(all.slice(at, at + MAX_ASKED));
}

/** Reports whether the server can return names: it knows the whole chain. */
const hasNames = (): boolean => {
  const { status } = server.value;
  return status !== null && status.index.height !== null && status.index.history_from === undefined;
};

/** Returns the primary name of an address; null until the response arrives, and if the address has none. */
export function primaryNameOf(principal: string): string | null {
  const name = names.value.get(principal) ?? null;
  if (requested.has(principal) || principal.includes('.') || !hasNames()) return name;
  requested.add(principal);
  if (waiting.length === 0) setTimeout(askAll);
  waiting.push(principal);
  return name;
}
