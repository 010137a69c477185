/** Warnings about the filters of a chainhook: valid values that are probably mistakes, and filters that can never match. */

import { plural } from '../../base/format.ts';
import type { Network } from '../../chain/network.ts';
import { type AbiType, abiTypeString, contractNames, valueTypes } from '../../codec/abi.ts';
import { DEPLOYED_NAME_PATTERN, isVersionOf, parseStacksAddress, splitPrincipal } from '../../codec/address.ts';
import { type ClarityValue, decodeClarity, MAX_UINT } from '../../codec/clarity.ts';
import { memoText, utf8Bytes } from '../../codec/utf8.ts';
import { literalOf, serializedForms } from '../../codec/value-condition.ts';
import type { HookDefinition } from './definition.ts';
import type { Filter } from './filter-schemas.ts';

/** Returns the interface of a contract that is deployed at the tip, as JSON; null if there is none. */
export type InterfaceOf = (contractId: string) => string | null;

type Warning = readonly [parameter: string, problem: string];

const PRINCIPALS = new Set(['principal', 'sender', 'receiver', 'recipient', 'contract_identifier', 'asset_identifier']);
const DEPLOYED_NAME = new RegExp(`^${DEPLOYED_NAME_PATTERN}$`);
/** The only topic of contract events. */
const PRINT = 'print';
const NEVER = 'the filter never matches';
const FAILED_ONLY = 'the filter can only match failed calls';

/** Finds mistakes in the principals of a filter. */
function* principalWarnings(filter: Filter, network: Network['kind']): Iterable<Warning> {
  for (const [name, value] of Object.entries(filter)) {
    if (typeof value !== 'string' || !PRINCIPALS.has(name)) continue;
    const address = parseStacksAddress(splitPrincipal(value).address);
    if (address === null) yield [name, 'the address has a wrong checksum; it never matches'];
    else if (!isVersionOf(network, address.version)) yield [name, `the address is not of ${network}`];
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
  if ('value' in filter && filter.value !== undefined && typesOf(String(filter.value)).length === 0) {
    yield ['value', `this is not a Clarity value; ${NEVER}`];
  }
}

/** The form of hex in `memo.equals`, whose schema limits its length. */
const HEX = /^0x([0-9a-fA-F]{2})+$/;
/** Maximum bytes of a memo. */
const MAX_MEMO_BYTES = 34;
const READABLE = 'the readable text of a memo has single blanks, no control characters and trimmed ends';

/** Reports whether a memo can have a readable text, or contain it. */
function isReadable(text: string, parameter: string): boolean {
  // A part of a memo may start or end with a blank.
  const memo = parameter === 'contains' ? `x${text}x` : text;
  return memoText(utf8Bytes(memo)) === memo;
}

/** Finds texts that no memo can contain, and hex that isn't complete. */
function* memoWarnings(filter: Filter): Iterable<Warning> {
  if (filter.type !== 'stx_transfer' || filter.memo === undefined) return;
  for (const [name, text] of Object.entries(filter.memo)) {
    const isHex = name === 'equals' && text.startsWith('0x');
    if (isHex && HEX.test(text)) continue;
    if (utf8Bytes(text).length > MAX_MEMO_BYTES)
      yield [`memo.${name}`, `a memo has at most ${MAX_MEMO_BYTES} bytes; ${NEVER}`];
    else if (isHex)
      yield ['memo.equals', 'hex needs an even number of digits after 0x; only a memo with exactly this text matches'];
    else if (!isReadable(text, name)) yield [`memo.${name}`, `${READABLE}; ${NEVER}`];
  }
}

/** Reports whether the parentheses outside of strings are balanced. */
function isBalanced(text: string): boolean {
  let depth = 0;
  for (const [character] of text.replace(/"(?:[^"\\]|\\.)*"/g, '').matchAll(/[()]/g)) {
    depth += character === '(' ? 1 : -1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

/** Finds the `repr` of an argument that isn't complete. */
function* argumentWarnings(filter: Filter): Iterable<Warning> {
  if (filter.type !== 'contract_call' || filter.argument === undefined) return;
  const { equals } = filter.argument;
  if (equals.startsWith('(') && !isBalanced(equals))
    yield ['argument.equals', 'the parentheses are unbalanced; only a string argument with exactly this text matches'];
}

/** Returns the types of the values that a text can stand for; none if it isn't the text of a value. */
function typesOf(text: string): ClarityValue['type'][] {
  const types: ClarityValue['type'][] = [];
  for (const form of serializedForms(literalOf(text))) {
    const value = decodeClarity(form);
    if (value.ok && value.value.bytes.length === form.length) types.push(value.value.type);
  }
  return types;
}

/** Returns the types of values with a repr that starts like a text, except for types whose repr is also a literal. */
function reprTypes(text: string): string[] {
  if (text.startsWith('0x')) return ['buffer'];
  const word = /^\((some|ok|err|list|tuple)\b/.exec(text)?.[1];
  return word === undefined ? [] : [word];
}

/** Reports whether a value of a declared type can have one of some types. Values of unknown types can have any. */
function isPossible(type: AbiType, types: readonly string[]): boolean {
  const allowed = valueTypes(type);
  return allowed === null || allowed.some((name) => types.includes(name));
}

/** Finds a function that a deployed contract doesn't have, and an argument that the function doesn't have. */
function* missingFunction(filter: Filter, interfaceOf: InterfaceOf): Iterable<Warning> {
  if (filter.type !== 'contract_call') return;
  const { contract_identifier: contract, function_name: name, argument } = filter;
  if (contract === undefined || name === undefined) return;
  const { callable } = contractNames(interfaceOf(contract));
  if (callable === null) return;
  const args = callable.get(name);
  if (args === undefined) yield ['function_name', `${contract} doesn't have a public function ${name}; ${FAILED_ONLY}`];
  if (args === undefined || args === null || argument === undefined) return;
  const { index, equals } = argument;
  const declared = args[index];
  if (declared === undefined) {
    yield ['argument.index', `${name} of ${contract} has ${plural(args.length, 'argument')}; ${FAILED_ONLY}`];
  } else if (!isPossible(declared.type, [...typesOf(equals), ...reprTypes(equals)])) {
    const type = abiTypeString(declared.type);
    yield ['argument.equals', `the argument ${declared.name} has the type ${type}; ${FAILED_ONLY}`];
  }
}

/** Finds a token that a deployed contract doesn't have, and a value that its tokens can't have. */
function* missingToken(filter: Filter, interfaceOf: InterfaceOf): Iterable<Warning> {
  if (!('asset_identifier' in filter) || filter.asset_identifier === undefined) return;
  const asset = filter.asset_identifier;
  const [contract = '', name = ''] = asset.split('::');
  const { ft, nft } = contractNames(interfaceOf(contract));
  if (ft === null || nft === null) return;
  const isFt = filter.type.startsWith('ft_');
  const isOther = (isFt ? nft : ft).has(name);
  if (!(isFt ? ft : nft).has(name)) {
    const problem = isOther
      ? `${asset} is ${isFt ? 'a non-fungible' : 'a fungible'} token`
      : `${contract} doesn't define ${isFt ? 'a fungible' : 'a non-fungible'} token ${name}`;
    yield ['asset_identifier', `${problem}; ${NEVER}`];
  }
  const type = nft.get(name);
  if (type === undefined || !('value' in filter) || filter.value === undefined) return;
  const types = typesOf(String(filter.value));
  if (types.length > 0 && !isPossible(type, types)) {
    yield ['value', `the values of ${asset} have the type ${abiTypeString(type)}; ${NEVER}`];
  }
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
      ...memoWarnings(filter),
      ...argumentWarnings(filter),
      ...missingFunction(filter, interfaceOf),
      ...missingToken(filter, interfaceOf),
    ];
    return warnings.map(([parameter, problem]) => `filters.events.${index}.${parameter}: ${problem}`);
  });
}
