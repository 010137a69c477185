/** The fields of Clarity values, for searches by value. */
import { type ClarityValue, decodeArguments, decodeClarity } from './clarity.ts';

/** A value without named parts at the end of a path. */
export type ClarityField = Exclude<ClarityValue, { type: 'tuple' | 'some' | 'ok' | 'err' }>;

/** Fields by path: names of tuple entries, joined by dots. The value itself has an empty path. */
export type ClarityFields = ReadonlyMap<string, ClarityField>;

/** Maximum number of fields of a value. If a value has more, the first fields in byte order count. */
export const MAX_FIELDS = 256;

/** Unwraps `some`, `ok` and `err`. */
export function unwrap(value: ClarityValue): ClarityField | Extract<ClarityValue, { type: 'tuple' }> {
  let inner = value;
  while (inner.type === 'some' || inner.type === 'ok' || inner.type === 'err') inner = inner.value;
  return inner;
}

const joinPath = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** Collects the fields of a value. @returns whether there is room for more fields */
function collect(value: ClarityValue, path: string, fields: Map<string, ClarityField>): boolean {
  const inner = unwrap(value);
  if (inner.type !== 'tuple') {
    // A name can contain a dot if no contract made the bytes. The first field of a path counts.
    if (!fields.has(path)) fields.set(path, inner);
    return fields.size < MAX_FIELDS;
  }
  for (const [name, entry] of inner.value) if (!collect(entry, joinPath(path, name), fields)) return false;
  return true;
}

/**
 * Returns the fields of a serialized value; empty if the bytes aren't a value. `some`, `ok` and `err` add nothing to a
 * path, and a list is one field.
 * @param under prefix of all paths
 */
export function fieldsOf(bytes: Uint8Array, under = ''): ClarityFields {
  const fields = new Map<string, ClarityField>();
  const value = decodeClarity(bytes);
  if (value.ok) collect(value.value, under, fields);
  return fields;
}

/**
 * Returns the fields of a call's arguments, below the function's name and the argument's index: `transfer.0`,
 * `transfer.1.amount`. Empty if the bytes aren't a list of arguments.
 */
export function fieldsOfCall(functionName: string, functionArgs: Uint8Array): ClarityFields {
  const spans = decodeArguments(functionArgs);
  if (!spans.ok) return new Map();
  return new Map(spans.value.flatMap((span, place) => [...fieldsOf(span, `${functionName}.${place}`)]));
}

/** Reports whether a path is the scope or below it; every path is below the empty scope. */
export const isWithin = (path: string, scope: string): boolean =>
  scope === '' || path === scope || path.startsWith(`${scope}.`);
