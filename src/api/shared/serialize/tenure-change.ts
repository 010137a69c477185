import { toHex } from '../../../codec/hex.ts';
import type { Payload } from '../../../codec/payload.ts';
import { payloadOf } from '../../../codec/transaction.ts';

type TenureChange = Extract<Payload, { type: 'tenure_change' }>;

/** The fields of a tenure change, as every version of the API and chainhooks return them. */
export function tenureChangeFields(payload: TenureChange) {
  return {
    tenure_consensus_hash: toHex(payload.tenureConsensusHash),
    prev_tenure_consensus_hash: toHex(payload.prevTenureConsensusHash),
    burn_view_consensus_hash: toHex(payload.burnViewConsensusHash),
    previous_tenure_end: toHex(payload.previousTenureEnd),
    previous_tenure_blocks: payload.previousTenureBlocks,
    cause: payload.cause,
    pubkey_hash: toHex(payload.pubkeyHash),
  };
}

/** The tenure change that a raw transaction carries. */
export const tenureChange = (raw: Uint8Array) => tenureChangeFields(payloadOf(raw, 'tenure_change'));
