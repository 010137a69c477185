import type { AbiType } from '../codec/abi.ts';
import type { ClarityValue } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import type { ChainEvent } from './chain-event.ts';
import type { PostConditions } from './post-conditions.ts';
import type { Prng } from './prng.ts';
import type { WorldView } from './world-view.ts';

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
