/** Warnings about the filters of a chainhook: valid values that are probably mistakes, and filters that can never match. */
import type { Network } from '../../chain/network.ts';
import { contractNames } from '../../codec/abi.ts';
import { DEPLOYED_NAME_PATTERN, parseStacksAddress, splitPrincipal } from '../../codec/address.ts';
import { decodeClarity, MAX_UINT } from '../../codec/clarity.ts';
import { fromHex } from '../../codec/hex.ts';
import { literalOf, serializedForms } from '../../codec/value-condition.ts';
import type { HookDefinition } from './definition.ts';
import type { Filter } from './filter-schemas.ts';

/** Returns the interface of a contract that is deployed at the tip, as JSON; null if there is none. */
export type InterfaceOf = (contractId: string) => string | null;

type Warning = readonly [parameter: string, problem: string];

const VERSIONS: Readonly<Record<Network['kind'], readonly number[]>> = { mainnet: [22, 20], testnet: [26, 21] };
const PRINCIPALS = new Set(['principal', 'sender', 'receiver', 'recipient', 'contract_identifier', 'asset_identifier']);
const DEPLOYED_NAME = new RegExp(`^${DEPLOYED_NAME_PATTERN}$`);
/** The only topic of contract events. */
const PRINT = 'print';
const NEVER = 'the filter never matches';

/** Finds mistakes in the principals of a filter. */
function* principalWarnings(filter: Filter, network: Network['kind']): Iterable<Warning> {
  for (const [name, value] of Object.entries(filter)) {
    if (typeof value !== 'string' || !PRINCIPALS.has(name)) continue;
    const address = parseStacksAddress(splitPrincipal(value).address);
    if (address === null) yield [name, 'the address has a wrong checksum; it never matches'];
    else if (!VERSIONS[network].includes(address.version)) yield [name, `the address is not of ${network}`];
  }
}

/** Finds values that no transaction or event can ever have, independently of the deployed contracts. */
function* impossibleValues(filter: Filter): Iterable<Warning> {
  const { type } = filter;
  if (type === 'contract_call' || type === 'contract_deploy' || type === 'contract_log') {
    const { sender, contract_identifier: contract } = filter;
    if (sender?.includes('.')) yield ['sender', `a contract can't send a transaction; ${NEVER}`];
    if (contract !== undefined) {
      const { address, contractName } = splitPrincipal(contract);
      if (!DEPLOYED_NAME.test(contractName ?? '')) {
        yield ['contract_identifier', `the name of a deployed contract has at most 40 characters; ${NEVER}`];
      }
      if (type === 'contract_deploy' && sender !== undefined && sender !== address) {
        yield ['sender', `only ${address} can deploy ${contract}; ${NEVER}`];
      }
    }
  }
  if (type === 'contract_log' && filter.topic !== undefined && filter.topic !== PRINT) {
    yield ['topic', `contracts log with the topic ${PRINT} only; ${NEVER}`];
  }
  if ('min_amount' in filter && filter.min_amount !== undefined && BigInt(filter.min_amount) > MAX_UINT) {
    yield ['min_amount', `the amount is above 2^128-1, the largest that Clarity has; ${NEVER}`];
  }
  if ('value' in filter && filter.value !== undefined && !isClarityValue(String(filter.value))) {
    yield ['value', `this is not a Clarity value; ${NEVER}`];
  }
}

/** Reports whether a text that the schema accepts means a value: hex must be one value, an integer must have 128 bits. */
function isClarityValue(text: string): boolean {
  if (!text.startsWith('0x')) return serializedForms(literalOf(text)).length > 0;
  const bytes = fromHex(text);
  const value = decodeClarity(bytes);
  return value.ok && value.value.bytes.length === bytes.length;
}

/** Finds a function that a deployed contract doesn't have. */
function* missingFunction(filter: Filter, interfaceOf: InterfaceOf): Iterable<Warning> {
  if (filter.type !== 'contract_call') return;
  const { contract_identifier: contract, function_name: name } = filter;
  if (contract === undefined || name === undefined) return;
  const { callable } = contractNames(interfaceOf(contract));
  if (callable === null || callable.has(name)) return;
  yield ['function_name', `${contract} doesn't have a public function ${name}; the filter can only match failed calls`];
}

/** Finds a token that a deployed contract doesn't have. */
function* missingToken(filter: Filter, interfaceOf: InterfaceOf): Iterable<Warning> {
  if (!('asset_identifier' in filter) || filter.asset_identifier === undefined) return;
  const asset = filter.asset_identifier;
  const [contract = '', name = ''] = asset.split('::');
  const { ft, nft } = contractNames(interfaceOf(contract));
  if (ft === null || nft === null) return;
  const isFt = filter.type.startsWith('ft_');
  if ((isFt ? ft : nft).has(name)) return;
  const isOther = (isFt ? nft : ft).has(name);
  const problem = isOther
    ? `${asset} is ${isFt ? 'a non-fungible' : 'a fungible'} token`
    : `${contract} doesn't define ${isFt ? 'a fungible' : 'a non-fungible'} token ${name}`;
  yield ['asset_identifier', `${problem}; ${NEVER}`];
}

/** Returns sentences about the filters of a definition, each with the path of the parameter. */
export function findWarnings(
  { filters: { events }, network }: Pick<HookDefinition, 'filters' | 'network'>,
  interfaceOf: InterfaceOf,
): string[] {
  if (events.length === 0) return ['filters.events: the list is empty; the chainhook never matches'];
  return events.flatMap((filter, index) => {
    const warnings = [
      ...principalWarnings(filter, network),
      ...impossibleValues(filter),
      ...missingFunction(filter, interfaceOf),
      ...missingToken(filter, interfaceOf),
    ];
    return warnings.map(([parameter, problem]) => `filters.events.${index}.${parameter}: ${problem}`);
  });
}
