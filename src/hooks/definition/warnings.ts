/** Warnings about the filters of a chainhook: valid values that are probably mistakes. The preview shows what matches. */

import type { Network } from '../../chain/network.ts';
import { isVersionOf, parseStacksAddress, splitPrincipal } from '../../codec/address.ts';
import type { HookDefinition } from './definition.ts';
import type { Filter } from './filter-schemas.ts';

type Warning = readonly [parameter: string, problem: string];

const PRINCIPALS = new Set(['principal', 'sender', 'receiver', 'recipient', 'contract_identifier', 'asset_identifier']);
/** The only topic of contract events. */
const PRINT = 'print';

function* principalWarnings(filter: Filter, network: Network['kind']): Iterable<Warning> {
  for (const [name, value] of Object.entries(filter)) {
    if (typeof value !== 'string' || !PRINCIPALS.has(name)) continue;
    const address = parseStacksAddress(splitPrincipal(value).address);
    if (address === null) yield [name, 'the address has a wrong checksum; it never matches'];
    else if (!isVersionOf(network, address.version)) yield [name, `the address is not of ${network}`];
  }
}

/** Finds values that no transaction or event can have. */
function* impossibleValues(filter: Filter): Iterable<Warning> {
  const { type } = filter;
  const isOfTransaction = type === 'contract_call' || type === 'contract_deploy' || type === 'contract_log';
  if (isOfTransaction && filter.sender?.includes('.'))
    yield ['sender', "a contract can't send a transaction; the filter never matches"];
  if (type === 'contract_log' && filter.topic !== undefined && filter.topic !== PRINT)
    yield ['topic', `contracts log with the topic ${PRINT} only; the filter never matches`];
}

/** Returns sentences about the filters of a definition, each with the path of the parameter. */
export function findWarnings({ filters: { events }, network }: Pick<HookDefinition, 'filters' | 'network'>): string[] {
  if (events.length === 0) return ['filters.events: the list is empty; the chainhook never matches'];
  return events.flatMap((filter, index) =>
    [...principalWarnings(filter, network), ...impossibleValues(filter)].map(
      ([parameter, problem]) => `filters.events.${index}.${parameter}: ${problem}`,
    ),
  );
}
