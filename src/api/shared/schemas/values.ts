/** The small schemas that bodies are made of. */
import { type TSchema, Type } from '@sinclair/typebox';
import type { RawNumber } from '../../../base/json.ts';

const HEX = '^0x([0-9a-f]{2})*$';
export const Hex = Type.String({ $id: 'Hex', pattern: HEX });
/** {@link Hex} with a description of its own. */
export const describedHex = (description: string) => Type.String({ pattern: HEX, description });
export const Hash = Type.String({ $id: 'Hash', pattern: '^0x[0-9a-f]{64}$' });
export const Height = Type.Integer({ minimum: 0 });
export const UnixTime = Type.Integer({ $id: 'UnixTime', description: 'Time in Unix seconds' });
export const IsoTime = Type.String({
  $id: 'IsoTime',
  pattern: '^[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}Z$',
  description: 'ISO 8601 time in UTC',
});
export const OptionalTime = Type.Union([IsoTime, Type.Literal('')], {
  $id: 'OptionalTime',
  description: 'ISO 8601 time in UTC; empty if the time is unknown',
});
/** An integer that may exceed 2^53: clients that need every digit parse it as a big integer. */
export const Uint64 = Type.Unsafe<number | RawNumber>(Type.Integer({ minimum: 0 }));
export const Amount = Type.String({
  $id: 'Amount',
  pattern: '^[0-9]+$',
  description: 'Integer as text, in micro-STX or base units of the token',
});
export const SignedAmount = Type.String({
  $id: 'SignedAmount',
  pattern: '^-?[0-9]+$',
  description: 'Integer as text, in micro-STX or base units of the token',
});
export const Sats = Type.String({ $id: 'Sats', pattern: '^[0-9]+$', description: 'Amount in satoshis' });
export const Principal = Type.String({ $id: 'Principal', description: 'Standard address or contract identifier' });

/** A value of the schema, or null. */
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** One of the given words. */
export const words = <const W extends readonly string[]>(...list: W) =>
  Type.Union(list.map((word) => Type.Literal(word as W[number])));

/** A serialized Clarity value and its text. */
export const ClarityPair = Type.Object({ hex: Hex, repr: Type.String() }, { $id: 'ClarityValue' });
export const Memo = Type.Object(
  { hex: Hex, repr: Type.String({ description: 'Readable text of the memo' }) },
  { $id: 'Memo' },
);

/** What a balance is of. */
export const Asset = Type.Union(
  [
    Type.Object({ type: Type.Literal('stx') }),
    Type.Object({ type: words('ft', 'nft'), identifier: Type.String() }, { $id: 'TokenAsset' }),
  ],
  { $id: 'Asset' },
);

/** A transaction's event. */
export const EventPosition = Type.Object(
  { tx_id: Hash, event_index: Type.Integer({ minimum: 0 }) },
  { $id: 'EventPosition' },
);
