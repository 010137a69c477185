/** Rewards that Bitcoin blocks paid to stackers. */
import { Type } from '@sinclair/typebox';
import { isBitcoinAddress, stacksToBitcoin } from '../../codec/bitcoin-address.ts';
import { toHex } from '../../codec/hex.ts';
import { ApiError } from '../../http/errors.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage, UncountedPage, uncountedPage } from '../../http/pagination.ts';
import { normalizer, type SentText } from '../../http/parameters.ts';
import { route } from '../../http/route.ts';
import type {
  PayingBlock,
  BurnReward as StoredBurnReward,
  RewardSlot as StoredRewardSlot,
} from '../../store/model/staking.ts';
import { example } from '../shared/examples/examples.ts';
import { fields, Hash, Height, literal, named, object, Sats } from '../shared/fields.ts';
import { AddressParameter, textParameter } from '../shared/parameters.ts';

const BitcoinAddress = Type.String({ description: 'Bitcoin address' });

const place = fields<PayingBlock>()({
  canonical: literal(true),
  burn_block_hash: [Hash, ({ hash }) => toHex(hash)],
  burn_block_height: [Height, ({ height }) => height],
});

const [RewardSlot, rewardSlot] = object<StoredRewardSlot>('RewardSlot')({
  ...place,
  address: [BitcoinAddress, ({ address }) => address],
  slot_index: [Type.Integer(), ({ index }) => index],
});

const [BurnReward, burnReward] = object<StoredBurnReward>('BurnReward')({
  ...place,
  burn_amount: [Sats, ({ burnAmount }) => burnAmount],
  reward_recipient: [BitcoinAddress, ({ recipient }) => recipient],
  reward_amount: [Sats, ({ amount }) => amount],
  reward_index: [Type.Integer(), ({ index }) => index],
});

const RewardTotal = named('BurnRewardTotal', { reward_recipient: BitcoinAddress, reward_amount: Sats });

const tag = 'Burn rewards';

/** The Bitcoin address of a parameter; a Stacks address means the Bitcoin address of the same hash. */
function bitcoinAddress(address: string): string {
  const text = address.trim();
  if (isBitcoinAddress(text)) return text;
  const converted = stacksToBitcoin(text);
  if (converted !== null) return converted;
  throw new ApiError(400, `Address ${text} is not a valid Bitcoin or STX address.`, 'VALIDATION');
}

const address = textParameter(bitcoinAddress, (text) => text, {
  description: 'Bitcoin address of any kind, or the Stacks address of the same hash',
  examples: example('bitcoin_address'),
});

const normalizeAddress = normalizer(AddressParameter);

/** The replacement's parameter. Bonds pay to Stacks principals, so a request for a Bitcoin address has none. */
const stacksPrincipal = { principal: (textOf: SentText) => normalizeAddress(textOf('address')?.trim() ?? '') };

const family = {
  tag,
  query: legacyOffsetQuery({ maximum: 250, default: 96 }),
  etag: null,
  history: 'payouts',
} as const;

export const burnRewards = [
  route({
    ...family,
    path: '/extended/v1/burnchain/reward_slot_holders',
    operationId: 'getRewardSlotHolders',
    summary: 'Reward slot holders',
    description: 'Returns the addresses that Bitcoin blocks had to pay rewards to, newest block first.',
    response: OffsetPage(RewardSlot),
    deprecated: {
      replacement: null,
      related: '/extended/v3/staking/cycles/{cycle_number}/signers',
      parts: { cycle_number: () => 'current' },
    },
    handle: ({ query, read }) => offsetPage(query, read.burnRewards.slots(null, query.limit, query.offset), rewardSlot),
  }),
  route({
    ...family,
    path: '/extended/v1/burnchain/reward_slot_holders/{address}',
    operationId: 'getRewardSlotsOfAddress',
    summary: 'Reward slots of an address',
    description: 'Returns the Bitcoin blocks that had to pay rewards to an address, newest first.',
    params: { address },
    response: OffsetPage(RewardSlot),
    deprecated: { replacement: null },
    handle: ({ params: { address }, query, read }) =>
      offsetPage(query, read.burnRewards.slots(address, query.limit, query.offset), rewardSlot),
  }),
  route({
    ...family,
    path: '/extended/v1/burnchain/rewards',
    operationId: 'getBurnRewards',
    summary: 'Bitcoin rewards',
    description: 'Returns the rewards that Bitcoin blocks paid, newest block first.',
    response: UncountedPage(BurnReward),
    deprecated: { replacement: null, related: '/extended/v3/staking/bonds' },
    handle: ({ query, read }) =>
      uncountedPage(query, read.burnRewards.rewards(null, query.limit, query.offset), burnReward),
  }),
  route({
    ...family,
    path: '/extended/v1/burnchain/rewards/{address}',
    operationId: 'getBurnRewardsOfAddress',
    summary: 'Bitcoin rewards of an address',
    description:
      'Returns the rewards that Bitcoin blocks paid to an address, newest block first. Bonds pay to Stacks principals: see `/extended/v3/principals/{principal}/staking/bonds`.',
    params: { address },
    response: UncountedPage(BurnReward),
    deprecated: { replacement: '/extended/v3/principals/{principal}/staking/bonds', parts: stacksPrincipal },
    handle: ({ params: { address }, query, read }) =>
      uncountedPage(query, read.burnRewards.rewards(address, query.limit, query.offset), burnReward),
  }),
  route({
    path: '/extended/v1/burnchain/rewards/{address}/total',
    operationId: 'getBurnRewardTotalOfAddress',
    summary: 'Total Bitcoin rewards of an address',
    description:
      'Returns the sum of all rewards that Bitcoin blocks paid to an address. Bonds pay to Stacks principals: see `/extended/v3/principals/{principal}/staking`.',
    tag,
    params: { address },
    response: RewardTotal,
    deprecated: { replacement: '/extended/v3/principals/{principal}/staking', parts: stacksPrincipal },
    etag: null,
    history: 'all-payouts',
    handle: ({ params: { address }, read }) => ({
      reward_recipient: address,
      reward_amount: read.burnRewards.total(address),
    }),
  }),
];
