/** Values against the schemas that also document them: what is wrong in a request, and, in tests, in an answer. */
import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler, type ValueError, ValueErrorType } from '@sinclair/typebox/compiler';
import { Value } from '@sinclair/typebox/value';
import { lazy } from '../base/cache.ts';

/** Where and how a value breaks its schema. */
interface Mistake {
  /** Names and indexes from the outside in; empty for the value itself. */
  path: string[];
  /** The rule in words that follow the field's name: `must be integer`. */
  rule: string;
}

/**
 * A function that finds the first mistake in a value, null where it has none. The schema is compiled for its first value:
 * the API has hundreds of them, and compiling them all would delay the start.
 */
export function checker(schema: TSchema): (value: unknown) => Mistake | null {
  const compiled = lazy(() => TypeCompiler.Compile(schema));
  return (value) => {
    const check = compiled();
    if (check.Check(value)) return null;
    const error = check.Errors(value).First();
    return error === undefined ? { path: [], rule: 'must have the documented form' } : mistakeOf(error);
  };
}

function mistakeOf({ type, path, schema, message }: ValueError): Mistake {
  const names = path.split('/').slice(1).map(unescaped);
  switch (type) {
    case ValueErrorType.ObjectRequiredProperty:
      return { path: names, rule: 'is required' };
    case ValueErrorType.ObjectAdditionalProperties:
      return { path: names, rule: 'is not allowed' };
    case ValueErrorType.Literal:
      return { path: names, rule: `must be ${JSON.stringify(schema.const)}` };
    case ValueErrorType.Union:
      return { path: names, rule: choice(schema) };
    case ValueErrorType.StringPattern:
      // `rule` of a schema says in words what its pattern does.
      return {
        path: names,
        rule: typeof schema.rule === 'string' ? `must be ${schema.rule}` : `must match pattern "${schema.pattern}"`,
      };
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.NumberMinimum:
      return { path: names, rule: `must be >= ${schema.minimum}` };
    case ValueErrorType.IntegerMaximum:
    case ValueErrorType.NumberMaximum:
      return { path: names, rule: `must be <= ${schema.maximum}` };
    case ValueErrorType.ArrayMinItems:
      return { path: names, rule: `must NOT have fewer than ${schema.minItems} items` };
    case ValueErrorType.ArrayMaxItems:
      return { path: names, rule: `must NOT have more than ${schema.maxItems} items` };
    case ValueErrorType.ArrayUniqueItems:
      return { path: names, rule: 'must NOT have duplicate items' };
    case ValueErrorType.StringMinLength:
      return { path: names, rule: `must NOT have fewer than ${schema.minLength} characters` };
    case ValueErrorType.StringMaxLength:
      return { path: names, rule: `must NOT have more than ${schema.maxLength} characters` };
    case ValueErrorType.ObjectMinProperties:
      return { path: names, rule: `must NOT have fewer than ${schema.minProperties} properties` };
    default:
      return { path: names, rule: typeof schema.type === 'string' ? `must be ${schema.type}` : lowerFirst(message) };
  }
}

function choice({ anyOf }: TSchema): string {
  const branches: TSchema[] = anyOf ?? [];
  const words = branches.map((branch): unknown => branch.const ?? branch.type);
  return `must be ${words.every((word) => typeof word === 'string') ? words.join(' or ') : 'of a documented form'}`;
}

/** A part of a JSON pointer (RFC 6901) as it is named. */
const unescaped = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~');
const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** Where and how a body breaks its schema. */
class ResponseMismatch extends Error {
  override readonly name = 'ResponseMismatch';
}

/** @throws ResponseMismatch on a wrong or missing value, and on one that the schema doesn't name */
export function checkedBody(path: string, schema: TSchema, text: string): void {
  const body: unknown = JSON.parse(text);
  const error = Value.Errors(schema, body).First();
  if (error !== undefined) {
    throw new ResponseMismatch(`${path} answers at ${error.path || '/'}: ${error.message}, got ${text.slice(0, 500)}`);
  }
  const declared = Value.Clean(schema, Value.Clone(body));
  if (!Value.Equal(declared, body)) {
    const extra = JSON.stringify(Value.Diff(declared, body).filter(({ type }) => type === 'insert'));
    throw new ResponseMismatch(`${path} answers what its schema doesn't name: ${extra}`);
  }
}

/**
 * Holds an error against what its route declares for the status. What failed of ours is declared by none.
 * @param responses by status, as the document has them
 * @throws ResponseMismatch
 */
export async function checkedError(
  path: string,
  responses: Readonly<Record<string, { content?: Record<string, { schema: TSchema }> }>>,
  response: Response,
): Promise<void> {
  if (response.status === 500) return;
  const schema = responses[response.status]?.content?.['application/json']?.schema;
  const text = await response.clone().text();
  if (schema === undefined) throw new ResponseMismatch(`${path} declares no body for ${response.status}, got ${text}`);
  checkedBody(`${path} with ${response.status}`, schema, text);
}
