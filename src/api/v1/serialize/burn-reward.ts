import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { BurnReward, RewardSlot } from '../../../store/model/staking.ts';
import type { BurnReward as RewardSchema, RewardSlot as SlotSchema } from '../schemas/burn-reward.ts';

const place = ({ hash, height }: BurnReward['burnBlock']) => ({
  canonical: true as const,
  burn_block_hash: toHex(hash),
  burn_block_height: height,
});

/** A slot of a Bitcoin block's rewards. */
export const rewardSlot = ({ burnBlock, address, index }: RewardSlot): Static<typeof SlotSchema> => ({
  ...place(burnBlock),
  address,
  slot_index: index,
});

/** A reward that a Bitcoin block paid, in satoshis. */
export const burnReward = ({
  burnBlock,
  burnAmount,
  recipient,
  amount,
  index,
}: BurnReward): Static<typeof RewardSchema> => ({
  ...place(burnBlock),
  burn_amount: burnAmount,
  reward_recipient: recipient,
  reward_amount: amount,
  reward_index: index,
});
