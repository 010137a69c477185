/** Calls of a contract and what it logged, filtered as the page of a contract does. */
import type { Answer } from './answer.ts';
import { api, bodyOf } from './api.ts';

type FoundLogs = Answer<'/stackside/v1/smart-contracts/{contract_id}/logs'>;
type FoundCalls = Answer<'/stackside/v1/smart-contracts/{contract_id}/calls'>;

/** The filter of a list; an empty text filters nothing. */
export interface ContractFilter {
  /** The name of a field of the logged tuple, or of an argument of the function. */
  name: string;
  /** A value, or an operator and a value: `gte:1000`. */
  condition: string;
  /** Heights of the first and last block. */
  from: string;
  to: string;
}

/** The query of a list. @param kind what the name is of @param other further parameters; an empty one is left out @param limit items on a page */
export function searchQuery(
  kind: 'field' | 'arg',
  { name, condition, from, to }: ContractFilter,
  other: Readonly<Record<string, string>>,
  limit: number,
): Record<string, string> {
  const named = name === '' ? kind : `${kind}.${name}`;
  const all = { ...other, [named]: condition, from_height: from, to_height: to, limit: String(limit) };
  return Object.fromEntries(Object.entries(all).filter(([, text]) => text !== ''));
}

/** Logs of a contract, newest first. @throws RequestError, which says how to make the filter cheaper */
export const contractLogs = (
  contract: string,
  query: Record<string, string>,
  signal: AbortSignal,
): Promise<FoundLogs> =>
  bodyOf(
    api.GET('/stackside/v1/smart-contracts/{contract_id}/logs', {
      params: { path: { contract_id: contract }, query },
      signal,
    }),
  );

/** Transactions that call a contract, newest first. @throws RequestError */
export const contractCalls = (
  contract: string,
  query: Record<string, string>,
  signal: AbortSignal,
): Promise<FoundCalls> =>
  bodyOf(
    api.GET('/stackside/v1/smart-contracts/{contract_id}/calls', {
      params: { path: { contract_id: contract }, query },
      signal,
    }),
  );

/** The path of the API that has a list. */
export const searchPath = (contract: string, list: 'logs' | 'calls', query: Record<string, string>): string =>
  `/stackside/v1/smart-contracts/${contract}/${list}?${new URLSearchParams(query)}`;
