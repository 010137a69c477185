/** Path and query parameters of v1 routes, and of some v2 routes. */
import { Type } from '@sinclair/typebox';
import { isPrincipal } from '../../codec/address.ts';
import { fromHex, toHex } from '../../codec/hex.ts';
import { InvalidValue } from '../../http/parameters.ts';
import { example } from './examples/examples.ts';
import { AddressText, identifierParameter, PrincipalText } from './parameters.ts';
import { typeWords } from './transaction.ts';
import { words } from './values.ts';

function requireChecksum(text: string): string {
  if (isPrincipal(text)) return text;
  throw new InvalidValue(
    'STX address or principal',
    `the checksum of "${text}" is wrong, so a character may be mistyped`,
  );
}

/** An address, or a contract's identifier. */
export const Principal = identifierParameter(PrincipalText, requireChecksum);
export const Address = identifierParameter(AddressText, requireChecksum);

/** A hash in the path. Its length isn't checked: a hash of a wrong length is answered like an unknown one. */
export const HexHash = Type.Transform(
  Type.String({ description: 'Hash in hex, with 0x', examples: example('block_hash') }),
)
  .Decode(hexBytes)
  .Encode(toHex);

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
