/** The fields of Clarity values: what can be asked for of a value by name. */
import { type ClarityValue, decodeArguments, decodeClarity } from './clarity.ts';

/** A value without parts: what is at a path. */
export type ClarityField = Exclude<ClarityValue, { type: 'tuple' | 'some' | 'ok' | 'err' }>;

/** Fields by their path: names of tuple entries with dots between them. The value itself has an empty path. */
export type ClarityFields = ReadonlyMap<string, ClarityField>;

/** Fields of one value that can be asked for; of a value with more, the first in the order of its bytes. */
export const MOST_FIELDS = 256;

/** What a value is without the `some`, `ok` and `err` around it. */
export function unwrapped(value: ClarityValue): ClarityField | Extract<ClarityValue, { type: 'tuple' }> {
  let inner = value;
  while (inner.type === 'some' || inner.type === 'ok' || inner.type === 'err') inner = inner.value;
  return inner;
}

const joined = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** @returns whether there is room for more */
function collect(value: ClarityValue, path: string, fields: Map<string, ClarityField>): boolean {
  const inner = unwrapped(value);
  if (inner.type !== 'tuple') {
    // A name of an entry may hold a dot in bytes that no contract made: the first that is at a path counts.
    if (!fields.has(path)) fields.set(path, inner);
    return fields.size < MOST_FIELDS;
  }
  for (const [name, entry] of inner.value) if (!collect(entry, joined(path, name), fields)) return false;
  return true;
}

/**
 * The fields of a serialized value; none where the bytes are no value. `some`, `ok` and `err` add nothing to a path, and
 * a list is one field.
 * @param under the path that all of them are under
 */
export function fieldsOf(bytes: Uint8Array, under = ''): ClarityFields {
  const fields = new Map<string, ClarityField>();
  const value = decodeClarity(bytes);
  if (value.ok) collect(value.value, under, fields);
  return fields;
}

/**
 * The fields of a call's arguments, each under the function's name and the argument's place, which is counted from 0:
 * `transfer.0`, `transfer.1.amount`. None where the bytes are no list of arguments.
 */
export function fieldsOfCall(functionName: string, functionArgs: Uint8Array): ClarityFields {
  const spans = decodeArguments(functionArgs);
  if (!spans.ok) return new Map();
  return new Map(spans.value.flatMap((span, place) => [...fieldsOf(span, `${functionName}.${place}`)]));
}

/** Whether a path is the given one, or a part of what is there; every path is a part of the empty one. */
export const isWithin = (path: string, scope: string): boolean =>
  scope === '' || path === scope || path.startsWith(`${scope}.`);
