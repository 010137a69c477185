/**
 * What a contract is to the simulation: its interface, what a call sees, does and returns, and the arguments of calls from
 * outside.
 */

import type { AbiType } from '../codec/abi.ts';
import type { ClarityValue } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import type { Prng } from './prng.ts';
import type { StakingMove, StakingState } from './staking-state.ts';

/** What a deployment carries as `contract_interface`. */
export interface ContractInterface {
  clarity_version: string;
  epoch: string;
  functions: {
    access: 'public' | 'private' | 'read_only';
    args: { name: string; type: AbiType }[];
    name: string;
    outputs: { type: AbiType };
  }[];
  fungible_tokens: { name: string }[];
  maps: { key: AbiType; name: string; value: AbiType }[];
  non_fungible_tokens: { name: string; type: AbiType }[];
  variables: { access: 'constant' | 'variable'; name: string; type: AbiType }[];
}

/** The place of a contract call: the state, the contract, the sender and the height. */
export interface CallContext {
  /** Read only: what a call changes, it changes by its events and writes. */
  readonly world: WorldView;
  readonly contract: string;
  readonly sender: string;
  readonly burnHeight: number;
}

/** Content that a call names by its hash alone, and peers pass on beside the chain. */
export interface Attachment {
  readonly contract: string;
  readonly index: number;
  readonly hash: Uint8Array;
  /** A serialized Clarity value. */
  readonly metadata: Uint8Array;
  readonly content: Uint8Array;
}

/** The outcome of a call: `result` is a serialized response; everything else takes effect only if it is `(ok …)`. */
export interface Outcome {
  readonly ok: boolean;
  readonly result: Uint8Array;
  readonly events: readonly ChainEvent[];
  /** What the contract keeps from now on, by key. */
  readonly writes?: readonly (readonly [key: string, value: string])[];
  readonly attachments?: readonly Attachment[];
  /** Why the call failed at run time, where it returned no response. */
  readonly vmError?: string;
}

/** What can be read of a contract: the state, the contract and the height. */
export type ReadContext = Pick<CallContext, 'world' | 'contract' | 'burnHeight'>;

/** One call of a public function: what goes on the wire, and what it does wherever the transaction is mined. */
export interface ContractCall {
  readonly functionName: string;
  readonly args: readonly Uint8Array[];
  readonly postConditions?: PostConditions;
  run(context: CallContext): Outcome;
}

/** A contract to be called, and the means to make up a call. */
export interface Scene extends CallContext {
  readonly prng: Prng;
  /** Somebody who could be sent something: an account, or now and then a contract. */
  recipient(): string;
}

/** A contract whose behaviour is known here; the source is for show. */
export interface ContractTemplate {
  readonly name: string;
  /** Undefined for deployments that don't state one. */
  readonly clarityVersion: number | undefined;
  readonly source: string;
  readonly abi: ContractInterface;
  /** Whether the contract of this name has functions on every network that are not simulated. */
  readonly isPartial?: boolean;
  /** Somebody who owns one of the contract's tokens, where most callers would own none. */
  holder?(world: WorldView, contract: string, prng: Prng): string | undefined;
  /** A call that makes sense where it is made up; elsewhere it may fail. */
  propose(scene: Scene): ContractCall;
  /** What transactions from outside may call, of the interface's public functions; the others are not simulated. */
  readonly calls?: Readonly<Record<string, (args: readonly ClarityValue[]) => Pick<ContractCall, 'run'>>>;
  /** Read-only functions that are simulated; each returns a serialized value. */
  readonly reads?: Readonly<Record<string, (context: ReadContext, args: readonly ClarityValue[]) => Uint8Array>>;
  /** Serialized values of constants. */
  readonly constants?: Readonly<Record<string, Uint8Array>>;
  /** Serialized values of variables. */
  readonly variables?: Readonly<Record<string, (context: ReadContext) => Uint8Array>>;
  /** Serialized entries of maps, by serialized key; undefined for a key without an entry. */
  readonly maps?: Readonly<Record<string, (context: ReadContext, key: Uint8Array) => Uint8Array | undefined>>;
}

export function ok(value: Uint8Array, ...events: ChainEvent[]): Outcome {
  return { ok: true, result: clarity.ok(value), events };
}

export function err(code: bigint): Outcome {
  return { ok: false, result: clarity.err(clarity.uint(code)), events: [] };
}

/** The outcome of a call that ends without a response, which is shown as `(err none)`. */
export const runtimeError = (vmError: string): Outcome => ({
  ok: false,
  result: clarity.err(clarity.none()),
  events: [],
  vmError,
});

type Function = ContractInterface['functions'][number];

/** A public function's entry in the interface; errors are unsigned integers. */
export function publicFunction(name: string, args: Record<string, AbiType>, okType: AbiType = 'bool'): Function {
  return {
    access: 'public',
    args: Object.entries(args).map(([argument, type]) => ({ name: argument, type })),
    name,
    outputs: { type: { response: { ok: okType, error: 'uint128' } } },
  };
}

/** A read-only function's entry in the interface. */
export function readOnlyFunction(name: string, args: Record<string, AbiType>, output: AbiType): Function {
  const declared = Object.entries(args).map(([argument, type]) => ({ name: argument, type }));
  return { access: 'read_only', args: declared, name, outputs: { type: output } };
}

/** A contract interface with the parts given; the others are empty. */
export function contractInterface(parts: Partial<ContractInterface>): ContractInterface {
  return {
    clarity_version: 'Clarity3',
    epoch: 'Epoch32',
    functions: [],
    fungible_tokens: [],
    maps: [],
    non_fungible_tokens: [],
    variables: [],
    ...parts,
  };
}

/** Mode byte, count and items: the two fields of SIP-005 in a row, as they are in a transaction. */
export type PostConditions = Uint8Array;

/**
 * What a transaction did to assets, or printed. The names are the node's own types of event.
 *
 * Amounts are in micro-STX or the token's smallest unit; `value` is a serialized Clarity value; an asset is written
 * `ADDRESS.contract::token`. `staking` is not said to anybody: it is what pox-5 remembers of a print.
 */
export type ChainEvent =
  | { type: 'contract_event'; contract: string; value: Uint8Array; staking?: StakingMove }
  | { type: 'stx_transfer_event'; sender: string; recipient: string; amount: bigint; memo?: Uint8Array }
  | { type: 'stx_mint_event'; recipient: string; amount: bigint }
  | { type: 'stx_burn_event'; sender: string; amount: bigint }
  /** `unlockHeight` counts burn blocks. */
  | { type: 'stx_lock_event'; address: string; amount: bigint; unlockHeight: number; contract: string }
  | { type: 'ft_transfer_event'; asset: string; sender: string; recipient: string; amount: bigint }
  | { type: 'ft_mint_event'; asset: string; recipient: string; amount: bigint }
  | { type: 'ft_burn_event'; asset: string; sender: string; amount: bigint }
  | { type: 'nft_transfer_event'; asset: string; sender: string; recipient: string; value: Uint8Array }
  | { type: 'nft_mint_event'; asset: string; recipient: string; value: Uint8Array }
  | { type: 'nft_burn_event'; asset: string; sender: string; value: Uint8Array };

/** micro-STX that can't be moved until a burn height. */
export interface Lock {
  readonly amount: bigint;
  /** Burn height at which the amount is free again. */
  readonly unlockHeight: number;
}

export interface WorldView {
  /** Micro-STX, those locked included. */
  balance(principal: string): bigint;
  locked(principal: string, burnHeight: number): Lock | undefined;
  spendable(principal: string, burnHeight: number): bigint;
  fungibleBalance(asset: string, principal: string): bigint;
  /** How many of the smallest unit of an asset there are. */
  fungibleSupply(asset: string): bigint;
  /** Undefined when the token was never minted or is burnt. */
  ownerOf(asset: string, value: Uint8Array): string | undefined;
  /** How many tokens of an asset were ever minted. */
  mintedOf(asset: string): number;
  /** What a contract keeps under a key. */
  stored(contract: string, key: string): string | undefined;
  /** Micro-STX that exist. */
  supply(): bigint;
  /** Whether a stacking contract takes calls at a burn height. */
  isActive(contract: 'pox-4' | 'pox-5', burnHeight: number): boolean;
  /** What pox-5 remembers. */
  readonly staking: StakingState;
}

const codePoints = (text: string): number => [...text].length;

/** Whether a value may be passed where a type is declared. Nothing may be passed for a type that isn't known. */
export function isOfType(value: ClarityValue, type: AbiType): boolean {
  if (typeof type === 'string') return isOfPlainType(value, type);
  if ('buffer' in type) return value.type === 'buffer' && value.value.length <= type.buffer.length;
  if ('string-ascii' in type) return value.type === 'string-ascii' && value.value.length <= type['string-ascii'].length;
  if ('string-utf8' in type)
    return value.type === 'string-utf8' && codePoints(value.value) <= type['string-utf8'].length;
  if ('optional' in type) {
    return value.type === 'none' || (value.type === 'some' && isOfType(value.value, type.optional));
  }
  if ('response' in type) {
    if (value.type === 'ok') return isOfType(value.value, type.response.ok);
    return value.type === 'err' && isOfType(value.value, type.response.error);
  }
  if ('list' in type) {
    const { length, type: item } = type.list;
    return value.type === 'list' && value.value.length <= length && value.value.every((entry) => isOfType(entry, item));
  }
  if (value.type !== 'tuple' || value.value.size !== type.tuple.length) return false;
  return type.tuple.every(({ name, type: field }) => {
    const entry = value.value.get(name);
    return entry !== undefined && isOfType(entry, field);
  });
}

function isOfPlainType(value: ClarityValue, type: Extract<AbiType, string>): boolean {
  switch (type) {
    case 'uint128':
      return value.type === 'uint';
    case 'int128':
      return value.type === 'int';
    case 'bool':
    case 'principal':
    case 'none':
      return value.type === type;
    case 'trait_reference':
      return value.type === 'principal' && value.value.includes('.');
  }
}

const wrongType = (expected: string): TypeError =>
  new TypeError(`an argument is not ${expected}, though it was checked`);

/** The number of an argument that was checked to be a uint. */
export function uintOf(value: ClarityValue | undefined): bigint {
  if (value?.type !== 'uint') throw wrongType('a uint');
  return value.value;
}

/** The text of an argument that was checked to be a principal. */
export function principalOf(value: ClarityValue | undefined): string {
  if (value?.type !== 'principal') throw wrongType('a principal');
  return value.value;
}

/** The bytes of an argument that was checked to be a buffer. */
export function bufferOf(value: ClarityValue | undefined): Uint8Array {
  if (value?.type !== 'buffer') throw wrongType('a buffer');
  return value.value;
}

/** The text of an argument that was checked to be an ASCII string. */
export function textOf(value: ClarityValue | undefined): string {
  if (value?.type !== 'string-ascii') throw wrongType('an ASCII string');
  return value.value;
}

/** What an argument that was checked to be optional holds; undefined for `none`. */
export function someOf(value: ClarityValue | undefined): ClarityValue | undefined {
  if (value?.type === 'none') return undefined;
  if (value?.type !== 'some') throw wrongType('optional');
  return value.value;
}

/** The items of an argument that was checked to be a list. */
export function itemsOf(value: ClarityValue | undefined): readonly ClarityValue[] {
  if (value?.type !== 'list') throw wrongType('a list');
  return value.value;
}

/** A field of a value that was checked to be a tuple. */
export function fieldOf(value: ClarityValue | undefined, name: string): ClarityValue | undefined {
  if (value?.type !== 'tuple') throw wrongType('a tuple');
  return value.value.get(name);
}
