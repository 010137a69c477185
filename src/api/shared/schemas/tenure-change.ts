import { Type } from '@sinclair/typebox';
import { tenureChangeCauses } from '../../../codec/tenure-change.ts';
import { Hash, Hex, words } from './values.ts';

export const tenureChangeCause = { ...words(...tenureChangeCauses), $id: 'TenureChangeCause' };

export const tenureChange = Type.Object(
  {
    tenure_consensus_hash: Hex,
    prev_tenure_consensus_hash: Hex,
    burn_view_consensus_hash: Hex,
    previous_tenure_end: Hash,
    previous_tenure_blocks: Type.Integer(),
    cause: tenureChangeCause,
    pubkey_hash: Hex,
  },
  { $id: 'TenureChange' },
);
