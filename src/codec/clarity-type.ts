import type { ClarityValue } from './clarity.ts';

/** Stands where a value does not tell the type: the content of `none`, the other side of a response, an empty list. */
export const UNKNOWN_TYPE = 'UnknownType';

/**
 * The type of a value as the API shows it for an argument whose contract interface is unknown: `(buff 4)`,
 * `(optional uint)`. Sizes are those of the value; a list has the type of its first item.
 */
export function clarityTypeOf(value: ClarityValue): string {
  switch (value.type) {
    case 'int':
    case 'uint':
    case 'bool':
    case 'principal':
      return value.type;
    case 'buffer':
      return `(buff ${value.value.length})`;
    case 'string-ascii':
      return `(string-ascii ${value.value.length})`;
    case 'string-utf8':
      // Four times the code points: the room a string of that length is declared to take.
      return `(string-utf8 ${4 * codePoints(value.value)})`;
    case 'none':
      return `(optional ${UNKNOWN_TYPE})`;
    case 'some':
      return `(optional ${clarityTypeOf(value.value)})`;
    case 'ok':
      return `(response ${clarityTypeOf(value.value)} ${UNKNOWN_TYPE})`;
    case 'err':
      return `(response ${UNKNOWN_TYPE} ${clarityTypeOf(value.value)})`;
    case 'list': {
      const [first] = value.value;
      return `(list ${value.value.length} ${first === undefined ? UNKNOWN_TYPE : clarityTypeOf(first)})`;
    }
    case 'tuple': {
      let text = '(tuple';
      for (const [key, entry] of value.value) text += ` (${key} ${clarityTypeOf(entry)})`;
      return `${text})`;
    }
  }
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
