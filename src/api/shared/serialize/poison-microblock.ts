import { toHex } from '../../../codec/hex.ts';
import type { Payload } from '../../../codec/payload.ts';
import { payloadOf } from '../../../codec/transaction.ts';

type PoisonMicroblock = Extract<Payload, { type: 'poison_microblock' }>;

/** The two microblock headers that conflict, as every version of the API and chainhooks return them. */
export const poisonMicroblockFields = ({ header1, header2 }: PoisonMicroblock) => ({
  microblock_header_1: toHex(header1),
  microblock_header_2: toHex(header2),
});

/** The conflicting headers that a raw transaction carries. */
export const poisonMicroblock = (raw: Uint8Array) => poisonMicroblockFields(payloadOf(raw, 'poison_microblock'));
