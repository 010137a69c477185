/**
 * Simulated contracts: their interface, and the reads, effects and results of calls; also the arguments of external
 * calls.
 */

import type { AbiType } from '../codec/abi.ts';
import type { ClarityValue } from '../codec/clarity.ts';
import { clarity } from '../codec/clarity-encode.ts';
import type { Prng } from './prng.ts';
import type { StakingMove, StakingState } from './staking-state.ts';

/** The `contract_interface` of a deployment. */
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

export interface CallContext {
  /** Read-only state. A call changes the state only by its events and writes. */
  readonly world: WorldView;
  readonly contract: string;
  readonly sender: string;
  readonly burnHeight: number;
  /** Set for a call that a simulated user made up, which is subject to fewer checks than a transaction of a client. */
  readonly user?: {
    /** The content whose hash the call names. Peers exchange it. */
    readonly content?: string | undefined;
  };
}

/** Content that peers exchange off the chain. A call names its hash. */
export interface Attachment {
  readonly contract: string;
  readonly index: number;
  readonly hash: Uint8Array;
  /** A serialized Clarity value. */
  readonly metadata: Uint8Array;
  readonly content: Uint8Array;
}

/**
 * The outcome of a call. `result` is a serialized response. Everything else takes effect only if the result is
 * `(ok …)`.
 */
export interface Outcome {
  readonly ok: boolean;
  readonly result: Uint8Array;
  readonly events: readonly ChainEvent[];
  /** New values in the contract's storage, by key. */
  readonly writes?: readonly (readonly [key: string, value: string])[];
  readonly attachments?: readonly Attachment[];
  /** Runtime error of a call without a response. */
  readonly vmError?: string;
}

/** The context of a read-only call. */
export type ReadContext = Pick<CallContext, 'world' | 'contract' | 'burnHeight'>;

/** A call of a public function: its bytes, and its effect in any block. */
export interface ContractCall {
  readonly functionName: string;
  readonly args: readonly Uint8Array[];
  readonly postConditions?: PostConditions;
  run(context: CallContext): Outcome;
}

/** A context for making up calls of a contract. */
export interface Scene extends CallContext {
  readonly prng: Prng;
  /** Returns a random recipient: an account, or sometimes a contract. */
  recipient(): string;
}

/** A contract with simulated functions. Its source is only displayed. */
export interface ContractTemplate {
  readonly name: string;
  /** Undefined for deployments without a version. */
  readonly clarityVersion: number | undefined;
  readonly source: string;
  readonly abi: ContractInterface;
  /** Whether the contract has functions that the simulation lacks. */
  readonly isPartial?: boolean;
  /** Returns a random owner of one of the contract's tokens, for calls that most callers couldn't make. */
  holder?(world: WorldView, contract: string, prng: Prng): string | undefined;
  /**
   * Makes up a call that makes sense in this context. In another context, it may fail. Undefined if simulated users
   * don't call the contract.
   */
  propose?(scene: Scene): ContractCall;
  /**
   * Makes up a call that empties a balance of one of the contract's assets; returns undefined if the sender can empty
   * none.
   */
  empty?(scene: Scene): ContractCall | undefined;
  readonly functions?: Readonly<Record<string, SimulatedFunction>>;
  /** Functions that return serialized values. */
  readonly variables?: Readonly<Record<string, (context: ReadContext) => Uint8Array>>;
  /** Serialized entries of maps, by serialized key; undefined if the key has no entry. */
  readonly maps?: Readonly<Record<string, (context: ReadContext, key: Uint8Array) => Uint8Array | undefined>>;
}

export function ok(value: Uint8Array, ...events: ChainEvent[]): Outcome {
  return { ok: true, result: clarity.ok(value), events };
}

export function err(code: bigint): Outcome {
  return { ok: false, result: clarity.err(clarity.uint(code)), events: [] };
}

/** Returns the outcome of a call that fails at run time. Its result is shown as `(err none)`. */
export const runtimeError = (vmError: string): Outcome => ({
  ok: false,
  result: clarity.err(clarity.none()),
  events: [],
  vmError,
});

/** Arguments of a call, by name. */
type NamedArguments = Readonly<Record<string, unknown>>;
type ArgumentTypes = Readonly<Record<string, AbiType>>;

export interface SimulatedFunction {
  readonly access: 'public' | 'read_only';
  readonly args: ArgumentTypes;
  readonly output: AbiType;
  /** Whether only simulated users call the function. */
  readonly isForUsers?: boolean;
  /** Runs a public function; undefined if simulated users' calls have other effects. */
  run?(context: CallContext, args: NamedArguments): Outcome;
  /** Returns the serialized result of a read-only function. */
  read?(context: ReadContext, args: NamedArguments): Uint8Array;
}

/** A value that a simulated function reads only in its serialized form. */
type Serialized = Pick<ClarityValue, 'bytes'>;

/** The JavaScript value of an argument: undefined for `none`. */
type ArgumentOf<T> = T extends 'uint128'
  ? bigint
  : T extends 'principal'
    ? string
    : T extends { buffer: unknown }
      ? Uint8Array
      : T extends { optional: infer Content }
        ? ArgumentOf<Content> | undefined
        : T extends { list: { type: infer Item } }
          ? readonly ArgumentOf<Item>[]
          : Serialized;
export type ArgumentsOf<A> = { readonly [Name in keyof A]: ArgumentOf<A[Name]> };

function toArgument(value: ClarityValue): unknown {
  switch (value.type) {
    case 'uint':
    case 'principal':
    case 'buffer':
      return value.value;
    case 'none':
      return undefined;
    case 'some':
      return toArgument(value.value);
    case 'list':
      return value.value.map(toArgument);
    default:
      return value;
  }
}

function serializeArgument(type: AbiType, value: unknown): Uint8Array {
  if (type === 'uint128') return clarity.uint(value as bigint);
  if (type === 'principal') return clarity.principal(value as string);
  if (typeof type === 'object') {
    if ('buffer' in type) return clarity.buffer(value as Uint8Array);
    if ('list' in type)
      return clarity.list((value as unknown[]).map((item) => serializeArgument(type.list.type, item)));
    if ('optional' in type) {
      return value === undefined ? clarity.none() : clarity.some(serializeArgument(type.optional, value));
    }
  }
  return (value as Serialized).bytes;
}

/** Returns the arguments of a call by name. @param values of the declared types */
export const namedArguments = ({ args }: SimulatedFunction, values: readonly ClarityValue[]): NamedArguments =>
  Object.fromEntries(Object.keys(args).map((name, index) => [name, toArgument(values[index]!)]));

/** Declares a public function. @param run its effect @param error the type of its errors */
export const publicFunction = <A extends ArgumentTypes>(
  args: A,
  run?: (context: CallContext, args: ArgumentsOf<A>) => Outcome,
  okType: AbiType = 'bool',
  error: AbiType = 'uint128',
) => ({ access: 'public' as const, args, output: { response: { ok: okType, error } }, ...(run && { run }) });

/** Declares a function that only simulated users call: it lacks arguments or checks of the real contract. */
export const usersFunction = <A extends ArgumentTypes>(...declaration: Parameters<typeof publicFunction<A>>) => ({
  ...publicFunction(...declaration),
  isForUsers: true,
});

/** Returns why the simulation can't execute a function, and what can. */
export const notSimulated = (functionName: string, contract: string): string =>
  `The simulated node doesn't execute ${functionName} of ${contract}; a devnet with a Clarinet project does`;

/** Declares a read-only function. @param read returns its serialized result */
export const readOnlyFunction = <A extends ArgumentTypes>(
  args: A,
  output: AbiType,
  read: (context: ReadContext, args: ArgumentsOf<A>) => Uint8Array,
) => ({ access: 'read_only' as const, args, output, read });

/** Returns the entries of functions in the interface. */
export const interfaceOf = (functions: Readonly<Record<string, SimulatedFunction>>): ContractInterface['functions'] =>
  Object.entries(functions).map(([name, { access, args, output }]) => ({
    access,
    args: Object.entries(args).map(([argument, type]) => ({ name: argument, type })),
    name,
    outputs: { type: output },
  }));

/** Makes a call of a simulated user. @param content the content whose hash the call names, if peers exchange it */
export function userCall<F extends Readonly<Record<string, { args: object }>>, N extends keyof F & string>(
  functions: F,
  functionName: N,
  args: ArgumentsOf<F[N]['args']>,
  { content, ...rest }: Pick<ContractCall, 'postConditions'> & NonNullable<CallContext['user']> = {},
): ContractCall {
  const { args: types, run } = functions[functionName] as unknown as SimulatedFunction;
  const namedArgs: NamedArguments = args;
  return {
    functionName,
    // Serialized only when it is needed: most calls that would empty a balance are made but not chosen.
    get args() {
      return Object.entries(types).map(([name, type]) => serializeArgument(type, namedArgs[name]));
    },
    run: (context) => run!({ ...context, user: { content } }, namedArgs),
    ...rest,
  };
}

/** Returns a tuple type with these fields. */
export const tupleType = (fields: Readonly<Record<string, AbiType>>) => ({
  tuple: Object.entries(fields).map(([name, type]) => ({ name, type })),
});

/** Returns the type of a response without errors. */
export const okOf = (ok: AbiType): AbiType => ({ response: { ok, error: 'none' } });

/** Returns a contract interface with the given parts. The other parts are empty. */
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

/**
 * Returns a contract that a network has, with some of its functions.
 * @param title its purpose, for the source
 * @param parts of the interface, in addition to the functions
 */
export const networkContract = (
  name: string,
  title: string,
  functions: NonNullable<ContractTemplate['functions']>,
  parts: Partial<ContractInterface> = {},
): ContractTemplate => ({
  name,
  clarityVersion: undefined,
  source: `;; ${title}; its source is not part of the simulation.\n`,
  isPartial: true,
  abi: contractInterface({ functions: interfaceOf(functions), ...parts }),
  functions,
});

/** Returns a contract that an engine executes. @param abi empty until the engine has analysed it */
export const executedContract = (
  name: string,
  source: string,
  clarityVersion: number | undefined,
  abi: ContractInterface = contractInterface({ clarity_version: `Clarity${clarityVersion ?? 3}` }),
): ContractTemplate => ({ name, source, clarityVersion, abi });

/** The five dimensions of the block limit. */
export const COST_DIMENSIONS = ['read_count', 'read_length', 'runtime', 'write_count', 'write_length'] as const;
export type Cost = Record<(typeof COST_DIMENSIONS)[number], number>;

/** The result of a transaction, as an engine or the simulation executed it. */
export interface Execution {
  readonly status: 'success' | 'abort_by_response' | 'abort_by_post_condition';
  /** A serialized Clarity value. */
  readonly result: Uint8Array;
  /** Events that took effect; empty unless the status is success. */
  readonly events: readonly ChainEvent[];
  readonly cost: Cost;
  readonly vmError: string | null;
  readonly abi: ContractInterface | null;
}

/** The bytes of the post-condition mode, count and items, as in SIP-005. */
export type PostConditions = Uint8Array;

/**
 * An event of a transaction. The names are the node's event types.
 *
 * Amounts are in micro-STX or the token's smallest unit. `value` is a serialized Clarity value. An asset is written
 * `ADDRESS.contract::token`. `staking` is not published: it changes the simulated state of pox-5.
 */
export type ChainEvent =
  | { type: 'contract_event'; contract: string; value: Uint8Array; staking?: StakingMove }
  | { type: 'stx_transfer_event'; sender: string; recipient: string; amount: bigint; memo?: Uint8Array }
  | { type: 'stx_mint_event'; recipient: string; amount: bigint }
  | { type: 'stx_burn_event'; sender: string; amount: bigint }
  /** `unlockHeight` is a burn height. */
  | { type: 'stx_lock_event'; address: string; amount: bigint; unlockHeight: number; contract: string }
  | { type: 'ft_transfer_event'; asset: string; sender: string; recipient: string; amount: bigint }
  | { type: 'ft_mint_event'; asset: string; recipient: string; amount: bigint }
  | { type: 'ft_burn_event'; asset: string; sender: string; amount: bigint }
  | { type: 'nft_transfer_event'; asset: string; sender: string; recipient: string; value: Uint8Array }
  | { type: 'nft_mint_event'; asset: string; recipient: string; value: Uint8Array }
  | { type: 'nft_burn_event'; asset: string; sender: string; value: Uint8Array };

/** Micro-STX that are locked until a burn height. */
export interface Lock {
  readonly amount: bigint;
  /** Burn height at which the lock ends. */
  readonly unlockHeight: number;
}

export interface WorldView {
  /** Returns micro-STX, including locked micro-STX. */
  balance(principal: string): bigint;
  locked(principal: string, burnHeight: number): Lock | undefined;
  spendable(principal: string, burnHeight: number): bigint;
  fungibleBalance(asset: string, principal: string): bigint;
  /** Returns the supply of an asset in its smallest unit. */
  fungibleSupply(asset: string): bigint;
  /** Returns the owner of a token; undefined if it was never minted, or was burnt. */
  ownerOf(asset: string, value: Uint8Array): string | undefined;
  /** Returns the number of tokens of an asset that were ever minted. */
  mintedOf(asset: string): number;
  stored(contract: string, key: string): string | undefined;
  /** Returns the total supply in micro-STX. */
  supply(): bigint;
  /** Reports whether a stacking contract accepts calls at a burn height. */
  isActive(contract: 'pox-4' | 'pox-5', burnHeight: number): boolean;
  readonly staking: StakingState;
}

const codePoints = (text: string): number => [...text].length;

/** Reports whether a value has a declared type; false for unknown types. */
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
  if (type === 'trait_reference') return value.type === 'principal' && value.value.includes('.');
  return value.type === type || `${value.type}128` === type;
}
