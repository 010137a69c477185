/** Calls and logs of a contract, with the filters of the contract's page. */
import type { Answer } from './answer.ts';
import { api, bodyOf } from './api.ts';

type FoundLogs = Answer<'/stackside/v1/smart-contracts/{contract_id}/logs'>;
type FoundCalls = Answer<'/stackside/v1/smart-contracts/{contract_id}/calls'>;

/** The filter of a list. An empty text filters nothing. */
export interface ContractFilter {
  /** Name of a field of the logged tuple, or of an argument of the function. */
  name: string;
  /** A value, or an operator and a value: `gte:1000`. */
  condition: string;
  /** Heights of the first and last block. */
  from: string;
  to: string;
}

/**
 * Returns the query of a list. @param kind the kind of thing that the name belongs to @param other further parameters;
 * empty ones are left out @param limit items per page
 */
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

/**
 * Requests the logs of a contract, newest first. @throws RequestError, whose message explains how to make the filter
 * cheaper
 */
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

/** Requests the transactions that call a contract, newest first. @throws RequestError */
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

/** Returns the API path of a list. */
export const searchPath = (contract: string, list: 'logs' | 'calls', query: Record<string, string>): string =>
  `/stackside/v1/smart-contracts/${contract}/${list}?${new URLSearchParams(query)}`;
