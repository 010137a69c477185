/** Common schemas of bodies, and serializers of their values. */
import { type SchemaOptions, type TSchema, Type } from '@sinclair/typebox';
import { exactNumber, type RawNumber } from '../../base/json.ts';
import type { ExecutionCost } from '../../chain/block.ts';
import type { StackingPrint } from '../../chain/pox/stacking.ts';
import { poxAddressText } from '../../codec/bitcoin-address.ts';
import { clarityRepr } from '../../codec/clarity-text.ts';
import { toHex } from '../../codec/hex.ts';
import { memoText } from '../../codec/utf8.ts';
import type { CycleShare } from '../../store/model/staking.ts';
import { fields, named, object } from './fields.ts';

const HEX = '^0x([0-9a-f]{2})*$';
export const Hex = Type.String({ $id: 'Hex', pattern: HEX });
/** Creates {@link Hex} with another description. */
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

/** Supply in the year 2050 by the emission schedule, in micro-STX. */
export const STX_IN_2050 = '2318000000000000';

/** A value of the schema, or null. */
export const nullable = <T extends TSchema>(schema: T, options: SchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options);

/** Schema of an enumeration of strings. */
export const words = <const W extends readonly string[]>(...list: W) =>
  Type.Union(list.map((word) => Type.Literal(word as W[number])));

/** A Clarity value in hex and as text, made from its serialized bytes. */
export const [ClarityPair, clarity] = object<Uint8Array>('ClarityValue')(
  // Calls `clarityRepr` by its name, so that a test can count the decoded values.
  { hex: [Hex, toHex], repr: [Type.String(), (bytes) => clarityRepr(bytes)] },
);
export const Memo = named('Memo', { hex: Hex, repr: Type.String({ description: 'Readable text of the memo' }) });

export const Asset = Type.Union(
  [
    Type.Object({ type: Type.Literal('stx') }),
    named('TokenAsset', { type: words('ft', 'nft'), identifier: Type.String() }),
  ],
  { $id: 'Asset' },
);

export const [EventPosition, eventPosition] = object<{ txId: Uint8Array; eventIndex: number }>('EventPosition')({
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  event_index: [Type.Integer({ minimum: 0 }), ({ eventIndex }) => eventIndex],
});

export const [CostObject, executionCost] = object<ExecutionCost>()({
  read_count: [Uint64, ({ readCount }) => exactNumber(readCount)],
  read_length: [Uint64, ({ readLength }) => exactNumber(readLength)],
  runtime: [Uint64, ({ runtime }) => exactNumber(runtime)],
  write_count: [Uint64, ({ writeCount }) => exactNumber(writeCount)],
  write_length: [Uint64, ({ writeLength }) => exactNumber(writeLength)],
});
/** The cost of a transaction or a block as v1 and v2 return it. */
export const costFields = fields<{ cost: ExecutionCost }>()({
  execution_cost_read_count: [Uint64, ({ cost }) => exactNumber(cost.readCount)],
  execution_cost_read_length: [Uint64, ({ cost }) => exactNumber(cost.readLength)],
  execution_cost_runtime: [Uint64, ({ cost }) => exactNumber(cost.runtime)],
  execution_cost_write_count: [Uint64, ({ cost }) => exactNumber(cost.writeCount)],
  execution_cost_write_length: [Uint64, ({ cost }) => exactNumber(cost.writeLength)],
});

export { exactNumber };

/** A memo in hex and as text without its padding; null if there is none. */
export const memo = (bytes: Uint8Array | null) =>
  bytes === null ? null : { hex: toHex(bytes), repr: memoText(bytes) };

/** ISO 8601 in UTC. @param time Unix seconds */
export const isoTime = (time: number): string => new Date(time * 1000).toISOString();

/** ISO 8601 in UTC; empty if the time is unknown. @param time Unix seconds; 0 or less if unknown */
export const timeText = (time: number): string => (time > 0 ? isoTime(time) : '');

/** The Bitcoin address of a print; null if there is none, or if it has a form that Bitcoin doesn't have. */
export const bitcoinAddress = ({ poxAddress, network }: StackingPrint): string | null =>
  poxAddress === null ? null : poxAddressText(poxAddress, network);

/** A signer's share of the cycle's weight in percent. The order of the operations must not change: clients compare the doubles. */
export const weightPercent = ({ signer, cycle }: CycleShare): number =>
  cycle.weight === 0 ? 0 : (signer.weight / cycle.weight) * 100;

/** Decimal places of a quotient. */
const DECIMAL_PLACES = 20n;

/** A signer's share of the stacked STX in percent: the quotient with 20 decimals, rounded half up, times 100, as a double. */
export function stackedPercent({ signer, cycle }: CycleShare): number {
  if (cycle.stacked === 0n) return 0;
  const scaled = (2n * signer.stacked * 10n ** DECIMAL_PLACES + cycle.stacked) / (2n * cycle.stacked);
  return Number(`${scaled}e-${DECIMAL_PLACES - 2n}`);
}
