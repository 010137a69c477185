/** Reads the text of one parameter as a value, by the rules of its schema. */
import { TransformKind, type TSchema } from '@sinclair/typebox';
import { ParameterError, type ParameterPlace } from './errors.ts';

/**
 * @throws ParameterError naming the parameter and the rule it breaks
 */
export type ReadText = (text: string, at: ParameterPlace) => unknown;

/** Thrown by the decoder of a schema, for what no pattern can tell, such as a check sum. */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
  /** @param what what the text should have been: `STX address` */
  constructor(
    readonly what: string,
    readonly reason: string,
  ) {
    super(reason);
  }
}

/** Makes the reader of a parameter's text. @throws Error for a schema of a type that no parameter has */
export function textReader(schema: TSchema): ReadText {
  const read = plainReader(schema);
  const decode = decoderOf(schema);
  if (decode === null) return read;
  return (text, at) => {
    const value = read(text, at);
    try {
      return decode(value);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      const { what, reason } = error;
      throw new ParameterError(at, (name) => `invalid ${what} in ${name}: ${reason}`);
    }
  };
}

/**
 * A list, given as repeated keys, with commas, or both; with `explode` in its schema as repeated keys alone. Spaces after
 * commas don't count. Messages number its items from 0: `querystring/tx_id/1`.
 */
export function listReader(schema: TSchema, at: ParameterPlace): (texts: readonly string[]) => unknown[] {
  const { items, maxItems, explode } = schema as TSchema & { items: TSchema };
  const read = textReader(items);
  return (texts) => {
    const parts = explode === true ? texts : texts.flatMap((text) => text.split(/, */));
    if (parts.length > maxItems) throw new ParameterError(at, `must NOT have more than ${maxItems} items`);
    return parts.map((part, index) => read(part, { ...at, path: [...at.path, String(index)] }));
  };
}

function decoderOf(schema: TSchema): ((value: unknown) => unknown) | null {
  if (!(TransformKind in schema)) return null;
  const { Decode } = schema[TransformKind] as { Decode(value: unknown): unknown };
  return Decode;
}

function plainReader(schema: TSchema): ReadText {
  if (schema.anyOf !== undefined || schema.const !== undefined) return choiceReader(schema);
  if (schema.type === 'integer') return integerReader(schema);
  if (schema.type === 'boolean') return readBoolean;
  if (schema.type === 'string') return stringReader(schema);
  throw new Error(`no reader for a parameter of type ${schema.type}`);
}

function integerReader({ minimum, maximum }: TSchema): ReadText {
  return (text, at) => {
    if (!/^-?[0-9]+$/.test(text)) throw new ParameterError(at, 'must be integer');
    const value = Number(text);
    if (value < minimum) throw new ParameterError(at, `must be >= ${minimum}`);
    if (value > maximum) throw new ParameterError(at, `must be <= ${maximum}`);
    if (!Number.isSafeInteger(value)) throw new ParameterError(at, 'must be integer');
    return value;
  };
}

function readBoolean(text: string, at: ParameterPlace): boolean {
  if (text !== 'true' && text !== 'false') throw new ParameterError(at, 'must be boolean');
  return text === 'true';
}

function choiceReader(schema: TSchema): ReadText {
  const branches: TSchema[] = schema.anyOf ?? [schema];
  const allowed = new Set(branches.map((branch): unknown => branch.const));
  if (branches.some((branch) => typeof branch.const !== 'string')) throw new Error('not a choice of words');
  const rule = `must be equal to one of the allowed values (${[...allowed].join(', ')})`;
  return (text, at) => {
    if (!allowed.has(text)) throw new ParameterError(at, rule);
    return text;
  };
}

function stringReader({ pattern, minLength, maxLength }: TSchema): ReadText {
  const shape = pattern === undefined ? null : new RegExp(pattern);
  return (text, at) => {
    if (text.length < minLength) throw new ParameterError(at, `must NOT have fewer than ${minLength} characters`);
    if (text.length > maxLength) throw new ParameterError(at, `must NOT have more than ${maxLength} characters`);
    if (shape !== null && !shape.test(text)) throw new ParameterError(at, `must match pattern "${pattern}"`);
    return text;
  };
}
