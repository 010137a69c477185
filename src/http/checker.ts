/** Validation of requests by TypeBox schemas. */
import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler, type ValueError, ValueErrorType } from '@sinclair/typebox/compiler';
import { lazy } from '../base/cache.ts';
import { nearestName } from '../base/nearest-name.ts';

/** The location of a value that breaks its schema, and the broken rule. */
interface Mistake {
  /** Member names and array indexes from the root to the wrong value; empty for the root. */
  path: string[];
  /** The rule in words that follow the field's name: `must be integer`. */
  rule: string;
}

/**
 * Returns a function that finds the first mistake in a value, or null if the value is valid. A schema is compiled at its
 * first use: the API has hundreds of schemas, and compiling them all would delay the start.
 */
export function checker(schema: TSchema): (value: unknown) => Mistake | null {
  const compiled = lazy(() => TypeCompiler.Compile(schema));
  return (value) => {
    const check = compiled();
    if (check.Check(value)) return null;
    const error = check.Errors(value).First();
    return error === undefined ? { path: [], rule: 'must have the documented form' } : toMistake(error);
  };
}

function toMistake(error: ValueError): Mistake {
  const path = error.path.split('/').slice(1).map(unescapeToken);
  return { path, rule: brokenRule(error, path.at(-1) ?? '') };
}

function brokenRule({ type, schema, message }: ValueError, name: string): string {
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return 'is required';
    case ValueErrorType.ObjectAdditionalProperties:
      return unknownMember(name, schema);
    case ValueErrorType.Literal:
      return `must be ${JSON.stringify(schema.const)}`;
    case ValueErrorType.Union:
      return schema.rule === undefined ? choice(schema) : patternMistake(schema.rule);
    case ValueErrorType.StringPattern:
      return patternMistake(schema.rule);
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.NumberMinimum:
      return `must be >= ${schema.minimum}`;
    case ValueErrorType.IntegerMaximum:
    case ValueErrorType.NumberMaximum:
      return `must be <= ${schema.maximum}`;
    case ValueErrorType.ArrayMinItems:
      return `must NOT have fewer than ${schema.minItems} items`;
    case ValueErrorType.ArrayMaxItems:
      return `must NOT have more than ${schema.maxItems} items`;
    case ValueErrorType.ArrayUniqueItems:
      return 'must NOT have duplicate items';
    case ValueErrorType.StringMinLength:
      return `must NOT have fewer than ${schema.minLength} characters`;
    case ValueErrorType.StringMaxLength:
      return `must NOT have more than ${schema.maxLength} characters`;
    case ValueErrorType.ObjectMinProperties:
      return schema.rule === undefined
        ? `must NOT have fewer than ${schema.minProperties} properties`
        : patternMistake(schema.rule);
    default:
      return typeof schema.type === 'string' ? `must be ${schema.type}` : lowerFirst(message);
  }
}

/** Returns the broken rule for a member that the schema doesn't have, with the name that was probably meant. */
export function unknownMember(name: string, { properties }: TSchema): string {
  const similar = nearestName(name, Object.keys(properties ?? {}));
  return similar === null ? 'is not allowed' : `is not allowed: did you mean ${similar}?`;
}

function choice({ anyOf }: TSchema): string {
  const branches: TSchema[] = anyOf ?? [];
  const words = branches.map((branch): unknown => branch.const ?? branch.type);
  return `must be ${words.every((word) => typeof word === 'string') ? words.join(' or ') : 'of a documented form'}`;
}

/** Decodes one reference token of a JSON pointer (RFC 6901). */
const unescapeToken = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');
const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** The mistake of a text that doesn't match a pattern. @param rule the pattern in words: the `rule` of its schema */
export const patternMistake = (rule: unknown): string =>
  typeof rule === 'string' ? `must be ${rule}` : 'must have the documented form';
