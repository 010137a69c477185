/** Several subjects in the body of one request, from one snapshot. */
import { type StaticDecode, type TSchema, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { textReader } from '../../http/parameters.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { named } from './fields.ts';
import { PrincipalParameter } from './parameters.ts';
import { Hash, Height, nullable } from './values.ts';

/** Maximum number of subjects in a request. */
export const MAX_SUBJECTS = 50;

/** Schema of a list with the tip of its snapshot. */
export const ResultsAtTip = named('ResultsAtTip', { block_height: nullable(Height), index_block_hash: nullable(Hash) });

/** Returns the fields of {@link ResultsAtTip}. */
export function tipOf(read: Reader) {
  const tip = read.chain.tip();
  return { block_height: tip?.height ?? null, index_block_hash: tip === null ? null : toHex(tip.indexBlockHash) };
}

/** Creates a decoder of a list in a body. Its items have the form of parameters; an invalid one throws a ParameterError. */
export function listField<S extends TSchema>(name: string, item: S) {
  const read = textReader(item);
  return (texts: readonly string[]) =>
    texts.map((text, index) => read(text, { location: 'body', path: [name, String(index)] }) as StaticDecode<S>);
}

/** Decodes the field `principals` of a body. @throws ParameterError for an invalid principal */
export const readPrincipals = listField('principals', PrincipalParameter);

/** Creates the schema of a list of texts. */
export const texts = (description: string, { minItems = 0, maxItems }: { minItems?: number; maxItems: number }) =>
  Type.Array(Type.String(), { description, minItems, maxItems });
