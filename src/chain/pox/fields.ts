/** The fields of printed tuples, as declarations: a name, and what kind of value stands under it. */
import type { ClarityValue } from '../../codec/clarity.ts';

export type Tuple = ReadonlyMap<string, ClarityValue>;

/** The entries of a tuple; null for any other value. */
export const tupleOf = (value: ClarityValue | undefined): Tuple | null =>
  value?.type === 'tuple' ? value.value : null;

/** A print that lacks the fields that its topic requires. */
export class UnreadablePrint extends Error {
  override readonly name = 'UnreadablePrint';
}

/** Reads a field. @throws UnreadablePrint where it is missing or of another kind */
export type Field<T> = (tuple: Tuple) => T;
export type Fields = Readonly<Record<string, Field<unknown>>>;
export type ValuesOf<F extends Fields> = { [Name in keyof F]: ReturnType<F[Name]> };

/** Reads every declared field of a tuple. @throws UnreadablePrint where one is missing or of another kind */
export function valuesOf<F extends Fields>(fields: F, tuple: Tuple): ValuesOf<F> {
  const values: Record<string, unknown> = {};
  for (const name in fields) values[name] = fields[name]?.(tuple);
  return values as ValuesOf<F>;
}

/** What a value is read as; undefined for one of another kind. */
type Kind<T> = (value: ClarityValue) => T | undefined;

const required =
  <T>(kind: Kind<T>) =>
  (name: string): Field<T> =>
  (tuple) => {
    const value = tuple.get(name);
    if (value === undefined) throw new UnreadablePrint(`Missing field ${name}`);
    const read = kind(value);
    if (read === undefined) throw new UnreadablePrint(`Field ${name} is a ${value.type}`);
    return read;
  };

/** Declares a field that may be missing, `none`, or wrapped in a `some`; null where there is no value. */
const optional =
  <T>(kind: Kind<T>) =>
  (name: string): Field<T | null> =>
  (tuple) => {
    const given = tuple.get(name);
    const value = given?.type === 'some' ? given.value : given;
    if (value === undefined || value.type === 'none') return null;
    const read = kind(value);
    if (read === undefined) throw new UnreadablePrint(`Field ${name} is a ${value.type}`);
    return read;
  };

const uintKind: Kind<bigint> = (value) => (value.type === 'uint' ? value.value : undefined);
/** Reads a `uint` as a number. A value above 2^53 - 1 is refused: cycles, bonds and heights never reach it. */
const countKind: Kind<number> = (value) =>
  value.type === 'uint' && value.value <= Number.MAX_SAFE_INTEGER ? Number(value.value) : undefined;
const bufferKind: Kind<Uint8Array> = (value) => (value.type === 'buffer' ? value.value : undefined);

export const uint = required(uintKind);
export const optionalUint = optional(uintKind);
/** Declares a field that holds a count, a height or an index, as a number. */
export const count = required(countKind);
export const optionalCount = optional(countKind);
export const buffer = required(bufferKind);
export const optionalBuffer = optional(bufferKind);
export const principal = required((value) => (value.type === 'principal' ? value.value : undefined));
export const tuple = required((value) => (value.type === 'tuple' ? value.value : undefined));
