/** Path, query and body parameters of all versions: those of v3 first, then those that only v1 and v2 have. */
import { type StaticDecode, type StringOptions, type TSchema, type TString, Type } from '@sinclair/typebox';
import { canonicalPrincipal, isPrincipal } from '../../codec/address.ts';
import { MAX_UINT, MIN_INT } from '../../codec/clarity.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { fromHex, toHex } from '../../codec/hex.ts';
import { ParameterError } from '../../http/errors.ts';
import { InvalidValue, textReader } from '../../http/parameters.ts';
import type { BlockId, BlockWindow } from '../../store/model/block.ts';
import type { ListOrder } from '../../store/model/page.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from './examples/examples.ts';
import { Hash, Height, named, nullable, words } from './fields.ts';
import { PATTERNS, RULES } from './identifiers.ts';
import { typeWords } from './transaction.ts';

/** Makes a parameter that is decoded. @param decode throws InvalidValue for a text without a value */
export const textParameter = <Value>(
  decode: (text: string) => Value,
  encode: (value: Value) => string,
  options: StringOptions,
) => Type.Transform(Type.String(options)).Decode(decode).Encode(encode);

/** Makes a parameter of bytes in hex. */
export const hexParameter = (options: StringOptions) => textParameter(fromHex, toHex, options);

export const TxId = hexParameter({
  pattern: '^(0x)?[a-fA-F0-9]{64}$',
  rule: RULES.txId,
  description: 'Transaction id, with or without 0x',
  examples: example('tx_id'),
});

const blockParameter = (description: string) =>
  textParameter(blockId, blockText, {
    pattern: '^(latest|(0x)?[a-fA-F0-9]{64}|[0-9]+)$',
    rule: RULES.block,
    description: `${description} A value of 64 digits is a hash.`,
    examples: example('block_height').map(String),
  });

export const BlockParameter = blockParameter('Height, block hash, index block hash, or `latest`.');
export const BurnBlockParameter = blockParameter('Height or hash of a Bitcoin block, or `latest`.');

/** Greater than any height: the tip. */
export const TIP = Number.MAX_SAFE_INTEGER;

/** A block by its height or one of its hashes. */
export type HeightOrHash = Exclude<BlockId, 'latest'>;

/** Parses a hash of 64 hexadecimal digits, or a height. */
export function heightOrHash(text: string): HeightOrHash {
  if (/^(0x)?[a-fA-F0-9]{64}$/.test(text)) return { hash: fromHex(text) };
  return { height: Math.min(Number(text), Number.MAX_SAFE_INTEGER) };
}

function blockId(text: string): BlockId {
  return text === 'latest' ? text : heightOrHash(text);
}

/** Returns the id of a block as a request has it. */
export function blockText(id: BlockId): string {
  if (id === 'latest') return id;
  return 'height' in id ? String(id.height) : toHex(id.hash);
}

const identifierText = (kind: 'principal' | 'address' | 'contract', description: string, examples: unknown[]) =>
  Type.String({ pattern: PATTERNS[kind], rule: RULES[kind], description, examples });

/** Identifiers as the client wrote them: their checksum isn't checked. */
export const PrincipalText = identifierText(
  'principal',
  'Standard address or contract identifier',
  example('principal'),
);
const AddressText = identifierText('address', 'Standard address', example('principal'));
export const ContractText = identifierText('contract', 'Contract identifier', example('contract_id'));

/** Makes a parameter of an identifier. @param decode checks the text, and returns the identifier; throws InvalidValue */
const identifierParameter = (text: TString, decode: (text: string) => string) =>
  Type.Transform(text)
    .Decode(decode)
    .Encode((identifier) => identifier);

export const PrincipalParameter = identifierParameter(PrincipalText, parsePrincipal);
export const AddressParameter = identifierParameter(AddressText, parsePrincipal);
export const ContractParameter = identifierParameter(ContractText, parsePrincipal);

const assetParameter = (examples: unknown[]) =>
  identifierParameter(
    Type.String({
      examples,
      pattern: PATTERNS.asset,
      rule: RULES.asset,
      description:
        'Asset identifier: contract identifier, `::`, and name of the token in the contract. Percent-encode `/` and `?`.',
    }),
    parseAsset,
  );

export const AssetParameter = assetParameter(example('ft'));
export const NftAssetParameter = assetParameter(example('nft'));

/** The value of an instance on routes that other servers of the API also have. */
export const NftValueParameter = textParameter(nftValue, toHex, {
  examples: example('nft_value'),
  pattern: '^(0x[a-fA-F0-9]*|[a-fA-F0-9]+)$',
  rule: 'decimal digits, or 0x and the hexadecimal digits of a serialized Clarity value',
  description:
    'Value of the instance: decimal digits for an unsigned integer, or the serialized Clarity value in hex with 0x. The head of a request has at most 16 KiB.',
});

/** The value of an instance on Stackside's own routes: also an integer as a `repr` has it. */
export const OwnNftValueParameter = textParameter(
  (text) => (text.startsWith('-') ? negativeValue(BigInt(text)) : nftValue(text.replace('u', ''))),
  toHex,
  {
    examples: example('nft_value'),
    pattern: '^(0x[a-fA-F0-9]*|u?[0-9]+|-[0-9]+)$',
    rule: 'an integer, such as 7, u7 or -7, or 0x and the hexadecimal digits of a serialized Clarity value',
    description:
      'Value of the instance: `7` or `u7` for an unsigned integer, `-7` for a negative integer, or the serialized Clarity value in hex with 0x. The head of a request has at most 16 KiB.',
  },
);

/** The query parameter `include`: parts of a resource that are returned only on request. */
export const includeQuery = <const P extends readonly string[]>(...parts: P) => ({
  include: Type.Optional(
    Type.Array(words(...parts), { description: 'Optional parts to return, separated by commas or as repeated keys' }),
  ),
});

/**
 * Returns the canonical text of a principal. Addresses of every version are accepted, since a transfer can name any of them.
 * @throws InvalidValue
 */
function parsePrincipal(text: string): string {
  const principal = canonicalPrincipal(text);
  if (principal !== null) return principal;
  throw new InvalidValue('STX address', 'its checksum is wrong, so a character may be mistyped');
}

function parseAsset(text: string): string {
  const colons = text.indexOf('::');
  return parsePrincipal(text.slice(0, colons)) + text.slice(colons);
}

/** A value that no instance has. */
const UNMATCHED_VALUE = new Uint8Array(0);

/** Parses an instance's value. Hex without 0x, a number above Clarity's and odd hex digits match no instance, without an error. */
function nftValue(text: string): Uint8Array {
  if (text.startsWith('0x')) return text.length % 2 === 0 ? fromHex(text) : UNMATCHED_VALUE;
  if (!/^[0-9]+$/.test(text)) return UNMATCHED_VALUE;
  const id = BigInt(text);
  return id <= MAX_UINT ? clarity.uint(id) : UNMATCHED_VALUE;
}

/** Returns the value of a negative integer. A number below Clarity's matches no instance. `-0` is the integer 0. */
const negativeValue = (id: bigint): Uint8Array => (id >= MIN_INT ? clarity.int(id) : UNMATCHED_VALUE);

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

function requireChecksum(text: string): string {
  if (isPrincipal(text)) return text;
  throw new InvalidValue(
    'STX address or principal',
    `the checksum of "${text}" is wrong, so a character may be mistyped`,
  );
}

/** As {@link PrincipalParameter} and {@link AddressParameter}, with the errors of v1 and v2, which quote the text. */
export const LegacyPrincipal = identifierParameter(PrincipalText, requireChecksum);
export const LegacyAddress = identifierParameter(AddressText, requireChecksum);

/** A hash in the path. Its length isn't checked: a hash of a wrong length is answered like an unknown one. */
export const HexHash = textParameter(hexBytes, toHex, {
  description: 'Hash in hex, with 0x',
  examples: example('block_hash'),
});

function hexBytes(text: string): Uint8Array {
  if (!text.startsWith('0x')) throw new InvalidValue('hash', 'Hex string is missing the "0x" prefix');
  if (text.length % 2 === 1) throw new InvalidValue('hash', 'Hex string is an odd number of digits');
  if (!/^0x[0-9a-fA-F]*$/.test(text)) throw new InvalidValue('hash', 'Invalid hash characters');
  return fromHex(text);
}

export const BlockHeight = Type.Integer({ minimum: 0, description: 'Block height', examples: example('block_height') });

/** Has no effect: there are no unconfirmed microblocks. */
export const unanchored = Type.Boolean({
  default: false,
  description: 'Once included unconfirmed microblocks (Stacks 2.x); has no effect',
});

export const excludeFunctionArgs = Type.Boolean({
  default: false,
  description: 'Whether to leave out the arguments of contract calls',
});

export const TransactionTypes = Type.Optional(
  Type.Array(words(...typeWords), {
    description: 'Transaction types to return, separated by commas or as repeated keys',
  }),
);

const height = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 4_294_967_295, description, examples: example('block_height') }));

const unixTime = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 253_402_300_799, description, examples: example('block_time') }));

/** The order of a list of the chain, and the heights and times of its blocks. */
export const windowQuery = {
  order: Type.Optional(
    Type.Union([Type.Literal('desc'), Type.Literal('asc')], {
      description: '`desc`: newest first (default); `asc`: oldest first. A cursor belongs to the order of its list.',
      examples: ['asc'],
    }),
  ),
  from_height: height('Height of the first block (default: the first block of the chain)'),
  to_height: height('Height of the last block, which is included (default: the tip)'),
  from_time: unixTime('Earliest time of the block, in Unix seconds'),
  to_time: unixTime('Latest time of the block, in Unix seconds'),
};

/** Name of a list in its cursors, which are bound to its order. */
export const inOrder = (list: string, order: ListOrder): string => (order === 'asc' ? `${list} asc` : list);

interface WindowQuery {
  from_height?: number;
  to_height?: number;
  from_time?: number;
  to_time?: number;
}

function requireOrder(window: WindowQuery, from: 'from_height' | 'from_time', to: 'to_height' | 'to_time'): void {
  const [first, last] = [window[from], window[to]];
  if (first === undefined || last === undefined || last >= first) return;
  throw new ParameterError({ location: 'querystring', path: [to] }, `must be >= ${from}`);
}

/** The window of a query. @throws ParameterError if it ends before it begins */
export function parseWindow(window: WindowQuery): BlockWindow {
  requireOrder(window, 'from_time', 'to_time');
  requireOrder(window, 'from_height', 'to_height');
  const { from_height: from = null, to_height: to = null, from_time: since = null, to_time: until = null } = window;
  return { heights: { from, to }, since, until };
}
