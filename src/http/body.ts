/**
 * JSON bodies of requests: read, limited, and checked by the schemas that also document them.
 *
 * A body that isn't there is none, whatever the headers say: clients send `Content-Type: application/json` with nothing
 * after it.
 */
import type { Static, TSchema } from '@sinclair/typebox';
import { TypeCompiler, type ValueError, ValueErrorType } from '@sinclair/typebox/compiler';
import { ApiError, ParameterError } from './errors.ts';
import { BodyError, bodyText } from './request-body.ts';

/** Bytes of the largest body. */
export const MAX_BODY = 1024 * 1024;

/** Where and how a value breaks its schema. */
export interface Mistake {
  /** Names and indexes from the outside in; empty for the value itself. */
  path: string[];
  /** In words that follow the field's name: `must be integer`. */
  rule: string;
}

/** A function that finds the first mistake in a value, null where it has none. */
export function checker(schema: TSchema): (value: unknown) => Mistake | null {
  const compiled = TypeCompiler.Compile(schema);
  return (value) => {
    if (compiled.Check(value)) return null;
    const error = compiled.Errors(value).First();
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
      return { path: names, rule: `must match pattern "${schema.pattern}"` };
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

/** The status and the words that refuse a body. @param limit in bytes */
export const bodyRefused = ({ reason }: BodyError, limit: number): [status: 400 | 413, message: string] =>
  reason === 'too_large' ? [413, `The body must not be longer than ${limit} bytes`] : [400, 'The body is not complete'];

function refused(error: unknown): never {
  throw error instanceof BodyError ? new ApiError(...bodyRefused(error, MAX_BODY)) : error;
}

/**
 * The JSON value of a request's body, undefined where it has none.
 * @throws ApiError 400 where it isn't JSON or its end never came, 413 where it is too long, 415 where it says to be something else
 */
export async function jsonBody(request: Request): Promise<unknown> {
  const text = await bodyText(request, MAX_BODY).catch(refused);
  if (text === '') return undefined;
  const type = request.headers.get('content-type');
  if (type === null || !/^application\/json\s*(;|$)/i.test(type)) {
    throw new ApiError(415, 'The body must be JSON, with Content-Type: application/json');
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(400, 'The body is not valid JSON', 'VALIDATION');
  }
}

/**
 * A function from a request to its body. Fields that the schema doesn't name pass unless it is closed.
 *
 * Messages name the field as parameters are named: `body/transaction/fee must be integer`.
 */
export function bodyReader<B extends TSchema>(schema: B): (request: Request) => Promise<Static<B>> {
  const mistakeIn = checker(schema);
  return async (request) => {
    const value = await jsonBody(request);
    const mistake = value === undefined ? { path: [], rule: 'is required' } : mistakeIn(value);
    if (mistake !== null) throw new ParameterError(`${['body', ...mistake.path].join('/')} ${mistake.rule}`);
    return value as Static<B>;
  };
}
