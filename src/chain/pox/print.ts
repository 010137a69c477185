/**
 * The common form of the stacking contracts' prints. For pox-2 to pox-4 the node makes the print,
 * `(ok {name, stacker, …, data: {…}})`. The contract pox-5 prints a tuple with a `topic`. pox has no such prints.
 */
import type { BitcoinNetwork } from '../../codec/bitcoin-address.ts';
import { type ClarityValue, clarityValueOf } from '../../codec/clarity.ts';
import type { ChainEvent } from '../block.ts';
import { PayloadError } from '../payload-reader.ts';

export type Tuple = ReadonlyMap<string, ClarityValue>;

/** Returns the entries of a tuple; null for any other value. */
export const tupleOf = (value: ClarityValue | null | undefined): Tuple | null =>
  value?.type === 'tuple' ? value.value : null;

/** Returns the number of a uint; null for any other value. */
export const uintOf = (value: ClarityValue | undefined): bigint | null => (value?.type === 'uint' ? value.value : null);

/** Reads a field. @throws PayloadError if it is missing or has another type */
export type Field<T> = (tuple: Tuple) => T;
export type Fields = Readonly<Record<string, Field<unknown>>>;
export type ValuesOf<F extends Fields> = { [Name in keyof F]: ReturnType<F[Name]> };

/** Reads every declared field of a tuple. @throws PayloadError if a field is missing or has another type */
export function valuesOf<F extends Fields>(fields: F, tuple: Tuple): ValuesOf<F> {
  const values: Record<string, unknown> = {};
  for (const name in fields) values[name] = fields[name]?.(tuple);
  return values as ValuesOf<F>;
}

/** Converts a value; undefined if it has another type. */
type Kind<T> = (value: ClarityValue) => T | undefined;

/** @throws PayloadError if the value has another type */
function converted<T>(kind: Kind<T>, name: string, value: ClarityValue): T {
  const result = kind(value);
  if (result === undefined) throw new PayloadError(`Field ${name} is a ${value.type}`);
  return result;
}

const required =
  <T>(kind: Kind<T>) =>
  (name: string): Field<T> =>
  (tuple) => {
    const value = tuple.get(name);
    if (value === undefined) throw new PayloadError(`Missing field ${name}`);
    return converted(kind, name, value);
  };

/** Declares a field that may be missing, `none`, or wrapped in a `some`; it is null if there is no value. */
const optional =
  <T>(kind: Kind<T>) =>
  (name: string): Field<T | null> =>
  (tuple) => {
    const field = tuple.get(name);
    const value = field?.type === 'some' ? field.value : field;
    return value === undefined || value.type === 'none' ? null : converted(kind, name, value);
  };

const uintKind: Kind<bigint> = (value) => (value.type === 'uint' ? value.value : undefined);
/** Reads a `uint` as a number. Rejects values above 2^53 - 1, which cycles, bonds and heights never reach. */
const countKind: Kind<number> = (value) =>
  value.type === 'uint' && value.value <= Number.MAX_SAFE_INTEGER ? Number(value.value) : undefined;
const bufferKind: Kind<Uint8Array> = (value) => (value.type === 'buffer' ? value.value : undefined);

export const uint = required(uintKind);
export const optionalUint = optional(uintKind);
/** Declares a field with a count, a height or an index, as a number. */
export const count = required(countKind);
export const optionalCount = optional(countKind);
export const buffer = required(bufferKind);
export const optionalBuffer = optional(bufferKind);
export const principal = required((value) => (value.type === 'principal' ? value.value : undefined));
export const tuple = required((value) => (value.type === 'tuple' ? value.value : undefined));

export interface PoxPrint {
  /** The contract's name, such as `pox-3`. */
  contractName: string;
  /** The network for the text form of Bitcoin addresses: regtest for all chains except mainnet. */
  network: BitcoinNetwork;
  /** The name of the operation, such as `stack-stx`; for pox-5, the topic. */
  name: string;
  stacker: string | null;
  /** All fields of the print. */
  fields: Tuple;
  /** The fields that are specific to `name`, if the print has a separate tuple for them; otherwise empty. */
  data: Tuple;
}

/** The stacking contracts of mainnet and of all other chains. */
const POX_CONTRACT = /^(SP000000000000000000002Q6VF78|ST000000000000000000002AMW42H)\.(pox(?:-[2-5])?)$/;

/** Returns the name of the stacking contract that printed an event, and its network; null for any other event. */
export function printingPox(event: ChainEvent): { contractName: string; network: BitcoinNetwork } | null {
  if (event.kind !== 'contract_log' || event.topic !== 'print') return null;
  const match = POX_CONTRACT.exec(event.contractId);
  if (match === null) return null;
  return { contractName: match[2] ?? '', network: match[1]?.startsWith('SP') ? 'mainnet' : 'regtest' };
}

/** Returns the print of an event; null for other events, and for prints of another form. */
export function poxPrint(event: ChainEvent): PoxPrint | null {
  const printing = printingPox(event);
  if (printing === null || event.kind !== 'contract_log') return null;
  const value = clarityValueOf(event.value);
  if (value === null) return null;
  const topic = tupleOf(value)?.get('topic');
  if (value.type === 'tuple' && topic?.type === 'string-ascii') {
    return { ...printing, name: topic.value, stacker: null, fields: value.value, data: new Map() };
  }
  const fields = value.type === 'ok' ? tupleOf(value.value) : null;
  const name = fields?.get('name');
  if (fields === null || name?.type !== 'string-ascii') return null;
  const stacker = fields.get('stacker');
  return {
    ...printing,
    name: name.value,
    stacker: stacker?.type === 'principal' ? stacker.value : null,
    fields,
    data: tupleOf(fields.get('data')) ?? new Map(),
  };
}
