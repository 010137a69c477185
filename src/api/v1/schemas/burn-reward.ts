/** What Bitcoin blocks paid to stackers. */
import { Type } from '@sinclair/typebox';
import { Hash, Height, Sats } from '../../shared/values.ts';

const BitcoinAddress = Type.String({ description: 'Bitcoin address' });

const place = { canonical: Type.Literal(true), burn_block_hash: Hash, burn_block_height: Height };

export const RewardSlot = Type.Object(
  { ...place, address: BitcoinAddress, slot_index: Type.Integer() },
  { $id: 'RewardSlot' },
);

export const BurnReward = Type.Object(
  {
    ...place,
    burn_amount: Sats,
    reward_recipient: BitcoinAddress,
    reward_amount: Sats,
    reward_index: Type.Integer(),
  },
  { $id: 'BurnReward' },
);

export const RewardTotal = Type.Object(
  { reward_recipient: BitcoinAddress, reward_amount: Sats },
  { $id: 'BurnRewardTotal' },
);
