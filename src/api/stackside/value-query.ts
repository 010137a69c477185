/** Conditions on decoded values, as a query names them: `field.amount=gte:1000`. */
import { Type } from '@sinclair/typebox';
import { ConditionError, conditionOf } from '../../codec/value-condition.ts';
import { ParameterError } from '../../http/errors.ts';
import { textsUnder } from '../../http/parameters.ts';
import type { FieldFilter, HeightSpan } from '../../store/model/contract.ts';
import { example } from '../shared/examples/examples.ts';

/** Names and conditions of one request, and characters of a name. */
const MOST_NAMES = 8;
const MOST_CONDITIONS = 4;
const LONGEST_NAME = 1_024;

const GRAMMAR =
  'A condition is a value, which must be equal, or an operator before it: `eq:`, `gt:`, `gte:`, `lt:`, `lte:`, or `between:` with two integers and a comma between them. A value is written `1000` (an integer of either type), `u1000` (unsigned), `true`, `false`, `none`, `SP…` (a principal), `0x…` (a serialized Clarity value), `"text"`, or any other text for a string. A repeated parameter must meet all its conditions.';

/** What the document says of parameters whose names are made up. @param what the names of these */
export const conditionParameter = (what: string) =>
  Type.Optional(Type.String({ description: `${what} ${GRAMMAR}`, examples: ['gte:1000'] }));

const height = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 4_294_967_295, description, examples: example('block_height') }));

export const heightsQuery = {
  from_height: height('Height of the first block (default: that of the chain)'),
  to_height: height('Height of the last block, which is included (default: the tip)'),
};

/** The heights of a query. @throws ParameterError where they end before they begin */
export function heightsOf({ from_height, to_height }: { from_height?: number; to_height?: number }): HeightSpan {
  if (from_height !== undefined && to_height !== undefined && to_height < from_height) {
    throw new ParameterError({ place: 'querystring', path: ['to_height'] }, 'must be >= from_height');
  }
  return { from: from_height ?? null, to: to_height ?? null };
}

/**
 * The conditions of a query on names behind a prefix.
 * @param target path and query
 * @throws ParameterError naming the parameter and the rule that it breaks
 */
export function conditionsUnder(target: string, prefix: string): FieldFilter[] {
  const texts = textsUnder(target, prefix);
  if (texts.size > MOST_NAMES) {
    const at = { place: 'querystring', path: [prefix] } as const;
    throw new ParameterError(at, `must NOT have more than ${MOST_NAMES} names`);
  }
  return [...texts].map(([named, given]) => {
    const path = named.slice(prefix.length + 1);
    const refuse = (rule: string) => new ParameterError({ place: 'querystring', path: [named] }, rule);
    if (named.includes('..') || named.endsWith('.')) throw refuse('must have a name after each dot');
    if (path.length > LONGEST_NAME) throw refuse(`must NOT have a name of more than ${LONGEST_NAME} characters`);
    if (given.length > MOST_CONDITIONS) throw refuse(`must NOT be given more than ${MOST_CONDITIONS} times`);
    return { path, named, conditions: given.map((text) => condition(text, refuse)) };
  });
}

function condition(text: string, refuse: (rule: string) => ParameterError) {
  try {
    return conditionOf(text);
  } catch (error) {
    if (error instanceof ConditionError) throw refuse(error.rule);
    throw error;
  }
}
