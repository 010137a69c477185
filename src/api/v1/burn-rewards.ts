/** What Bitcoin paid to those who stacked by pox to pox-4. pox-5 pays through bonds, and nothing is added here. */
import { Type } from '@sinclair/typebox';
import { isBitcoinAddress, stacksToBitcoin } from '../../codec/bitcoin-address.ts';
import { ApiError } from '../../http/errors.ts';
import {
  legacyOffsetQuery,
  OffsetPage,
  offsetPage,
  UncountedPage,
  uncountedPage,
} from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import { type SentText, spelling } from '../../http/spelling.ts';
import { example } from '../shared/examples/examples.ts';
import { AddressParameter } from '../shared/parameters.ts';
import { BurnReward, RewardSlot, RewardTotal } from './schemas/burn-reward.ts';
import { burnReward, rewardSlot } from './serialize/burn-reward.ts';

const tag = 'Burn rewards';

const LIMITS = { maximum: 250, default: 96 };
const query = legacyOffsetQuery(LIMITS);

/** The Bitcoin address to look for: of a Stacks address the one of the same hash. */
function bitcoinAddress(given: string): string {
  const text = given.trim();
  if (isBitcoinAddress(text)) return text;
  const converted = stacksToBitcoin(text);
  if (converted !== null && isBitcoinAddress(converted)) return converted;
  throw new ApiError(400, `Address ${text} is not a valid Bitcoin or STX address.`, 'VALIDATION');
}

const address = Type.Transform(
  Type.String({
    description: 'Bitcoin address of any kind, or the Stacks address of the same hash',
    examples: example('bitcoin_address'),
  }),
)
  .Decode(bitcoinAddress)
  .Encode((text) => text);

const spelledAddress = spelling(AddressParameter);

/** Bonds pay to Stacks principals: a request for a Bitcoin address names none. */
const stacksPrincipal = {
  principal: (sent: SentText) => spelledAddress(sent('address')?.trim() ?? ''),
};

export const burnRewards = [
  route({
    path: '/extended/v1/burnchain/reward_slot_holders',
    operationId: 'getRewardSlotHolders',
    summary: 'Reward slot holders',
    description: 'Returns the addresses that Bitcoin blocks had to pay rewards to, newest block first.',
    tag,
    query,
    response: OffsetPage(RewardSlot),
    deprecated: { replacement: null },
    etag: null,
    handle: async ({ query, read }) =>
      offsetPage(query, await read.burnRewards.slots(null, query.limit, query.offset), rewardSlot),
  }),
  route({
    path: '/extended/v1/burnchain/reward_slot_holders/{address}',
    operationId: 'getRewardSlotsOfAddress',
    summary: 'Reward slots of an address',
    description: 'Returns the Bitcoin blocks that had to pay rewards to an address, newest first.',
    tag,
    params: { address },
    query,
    response: OffsetPage(RewardSlot),
    deprecated: { replacement: null },
    etag: null,
    handle: async ({ params: { address }, query, read }) =>
      offsetPage(query, await read.burnRewards.slots(address, query.limit, query.offset), rewardSlot),
  }),
  route({
    path: '/extended/v1/burnchain/rewards',
    operationId: 'getBurnRewards',
    summary: 'Bitcoin rewards',
    description: 'Returns the rewards that Bitcoin blocks paid, newest block first.',
    tag,
    query,
    response: UncountedPage(BurnReward),
    deprecated: { replacement: null, related: '/extended/v3/staking/bonds' },
    etag: null,
    handle: async ({ query, read }) =>
      uncountedPage(query, await read.burnRewards.rewards(null, query.limit, query.offset), burnReward),
  }),
  route({
    path: '/extended/v1/burnchain/rewards/{address}',
    operationId: 'getBurnRewardsOfAddress',
    summary: 'Bitcoin rewards of an address',
    description:
      'Returns the rewards that Bitcoin blocks paid to an address, newest block first. Bonds pay to Stacks principals: see `/extended/v3/principals/{principal}/staking/bonds`.',
    tag,
    params: { address },
    query,
    response: UncountedPage(BurnReward),
    deprecated: { replacement: '/extended/v3/principals/{principal}/staking/bonds', parts: stacksPrincipal },
    etag: null,
    handle: async ({ params: { address }, query, read }) =>
      uncountedPage(query, await read.burnRewards.rewards(address, query.limit, query.offset), burnReward),
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
    handle: async ({ params: { address }, read }) => ({
      reward_recipient: address,
      reward_amount: await read.burnRewards.total(address),
    }),
  }),
];
