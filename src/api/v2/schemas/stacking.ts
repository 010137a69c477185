/** Reward cycles with their signers and stackers, and what Bitcoin transactions paid. */
import { Type } from '@sinclair/typebox';
import { Amount, Hash, Height, Hex, nullable, Principal, Sats, words } from '../../shared/values.ts';

const percent = Type.Number({ minimum: 0, maximum: 100 });

export const PoxCycle = Type.Object(
  {
    block_height: Type.Integer({ description: 'Height of the block that chose the signers' }),
    index_block_hash: Hash,
    cycle_number: Type.Integer(),
    total_weight: Type.Integer(),
    total_stacked_amount: Amount,
    total_signers: Type.Integer(),
  },
  { $id: 'PoxCycle' },
);

export const PoxSigner = Type.Object(
  {
    signing_key: Hex,
    signer_address: Type.String({ description: 'Stacks address derived from the hash of the key' }),
    weight: Type.Integer(),
    stacked_amount: Amount,
    weight_percent: percent,
    stacked_amount_percent: percent,
    solo_stacker_count: Type.Integer({
      description: 'Number of such stackers in pox-4; 0 in cycles of other versions',
    }),
    pooled_stacker_count: Type.Integer({
      description: 'Number of such stackers in pox-4; 0 in cycles of other versions',
    }),
  },
  { $id: 'PoxSigner' },
);

export const PoxStacker = Type.Object(
  {
    stacker_address: Principal,
    stacked_amount: Amount,
    pox_address: nullable(Type.String({ description: 'Bitcoin address' })),
    stacker_type: words('solo', 'pooled'),
  },
  { $id: 'PoxStacker' },
);

export const PoxTransaction = Type.Object(
  {
    burn_block_height: Height,
    burn_block_hash: Hash,
    tx_id: Hash,
    recipient: Type.String({ description: 'Bitcoin address' }),
    utxo_idx: Type.Integer(),
    amount: Sats,
  },
  { $id: 'PoxTransaction' },
);
