import { toHex } from '../../../codec/hex.ts';
import { payloadOf } from './raw.ts';

/** The tenure change that a raw transaction carries, as v1 and v2 return it. */
export function tenureChange(raw: Uint8Array) {
  const payload = payloadOf(raw, 'tenure_change');
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
