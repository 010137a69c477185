/** Rewards of principals and of a signer's stakers by reward cycle. Only Stackside has these routes. */
import { type Static, Type } from '@sinclair/typebox';
import { chainAndBurnBlock, chainAndBurnTip } from '../../http/etag.ts';
import { CursorPage, cursorList, cursorQuery } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { StackedCycle, StakerShare } from '../../store/model/staking.ts';
import { named } from '../shared/fields.ts';
import { PrincipalParameter } from '../shared/parameters.ts';
import { Amount, nullable, Principal, Sats, words } from '../shared/values.ts';

const CycleRewards = named('CycleRewards', {
  cycle: Type.Integer({ description: 'Number of the reward cycle' }),
  pox_version: words('pox1', 'pox2', 'pox3', 'pox4', 'pox5'),
  type: {
    ...words('solo', 'pooled', 'stake', 'bond'),
    description: 'STX stacked directly or through a pool (pox to pox-4); a stake without a bond, or in a bond (pox-5)',
  },
  bond_index: nullable(Type.Integer()),
  pool: nullable(Principal),
  locked: Type.Object(
    { btc: Sats, stx: Amount },
    { description: 'Locked amounts. For a bond, `btc` is the number of satoshis that earn rewards' },
  ),
  bitcoin_address: nullable(
    Type.String({ description: 'Bitcoin address that receives the rewards (pox to pox-4); null if it is unknown' }),
  ),
  rewards: nullable(
    Type.Object(
      {
        btc: Sats,
        claimed_btc: nullable(Sats),
        claimable_btc: nullable(Sats),
      },
      {
        description:
          'Rewards so far: the payments of the cycle’s Bitcoin blocks to the address, including those for others who share it; for pox-5 the sBTC that the principal accrued, claimed or not. Null if unknown. `claimed_btc` and `claimable_btc` are null for pox to pox-4, which pay to Bitcoin addresses.',
      },
    ),
  ),
});

const cycleRewards = (of: StackedCycle): Static<typeof CycleRewards> => ({
  cycle: of.cycle,
  pox_version: `pox${of.poxVersion}` as Static<typeof CycleRewards>['pox_version'],
  type: of.kind,
  bond_index: of.bond,
  pool: of.pool,
  locked: { btc: String(of.sats), stx: String(of.stx) },
  bitcoin_address: of.bitcoinAddress,
  rewards:
    of.earned === null
      ? null
      : {
          btc: String(of.earned),
          claimed_btc: of.claimed === null ? null : String(of.claimed),
          claimable_btc: of.claimed === null ? null : String(claimable(of.earned, of.claimed)),
        },
});

/** Rewards that no calculation names a cycle for are in no cycle, so a cycle may have more claimed than accrued. */
const claimable = (earned: bigint, claimed: bigint): bigint => (earned > claimed ? earned - claimed : 0n);

const StakerCycle = named('StakerCycle', {
  staker: Principal,
  type: { ...words('stake', 'bond'), description: 'A stake of STX without a bond, or a position in a bond' },
  bond_index: nullable(Type.Integer()),
  locked: Type.Object(
    { btc: Sats, stx: Amount },
    { description: 'Amounts in the cycle; `btc` is the number of satoshis of a bond that earn rewards' },
  ),
  rewards: Type.Object({ btc: Type.Object({ accrued: Sats, claimed: Sats, claimable: Sats }) }),
});

const stakerCycle = ({ staker, bond, stx, sats, earned, claimed }: StakerShare): Static<typeof StakerCycle> => ({
  staker,
  type: bond === null ? 'stake' : 'bond',
  bond_index: bond,
  locked: { btc: String(sats), stx: String(stx) },
  rewards: {
    btc: { accrued: String(earned), claimed: String(claimed), claimable: String(claimable(earned, claimed)) },
  },
});

export const stakingRewards = [
  route({
    path: '/stackside/v1/principals/{principal}/staking-rewards',
    operationId: 'getPrincipalStakingRewards',
    summary: 'Staking rewards of a principal by reward cycle',
    description:
      'Returns the reward cycles up to the present one in which a principal stacked or staked, newest first, with the locked amounts and the rewards. The rewards of pox to pox-4 are payments to the Bitcoin address that the stacker or its pool named: if several stackers share an address, as in a pool, the amount is the sum for all of them, which the pool distributes. For each pox, the newest 2,000 changes by the principal are read.',
    tag: 'Stackside',
    params: { principal: PrincipalParameter },
    query: cursorQuery,
    response: CursorPage(CycleRewards),
    etag: chainAndBurnBlock,
    history: 'all-payouts',
    handle: ({ params: { principal }, query, read }) => {
      const list = cursorList(`staking-rewards ${principal}`, query);
      return list.page(read.staking.cycles(principal, ...list.start), cycleRewards);
    },
  }),
  route({
    path: '/stackside/v1/staking/signers/{principal}/cycles/{cycle_number}/stakers',
    operationId: 'getStakingSignerCycleStakers',
    summary: 'Rewards of the stakers of a signer in a reward cycle',
    description:
      'Returns the stakers that earned or claimed rewards of pox-5 through a signer manager in a reward cycle, ordered by address, with their amounts in the cycle and their accrued, claimed and claimable sBTC. Rewards accrue when the contract calculates them, twice in a cycle; before that, the list is empty.',
    tag: 'Stackside',
    params: {
      principal: PrincipalParameter,
      cycle_number: Type.Integer({ minimum: 0, description: 'Number of the reward cycle', examples: [1] }),
    },
    query: cursorQuery,
    response: CursorPage(StakerCycle),
    etag: chainAndBurnTip,
    history: 'whole',
    handle: ({ params: { principal, cycle_number: cycle }, query, read }) => {
      const list = cursorList(`staking-signer-cycle ${principal} ${cycle}`, query);
      return list.page(read.staking.signerCycle(principal, cycle, ...list.start), stakerCycle);
    },
  }),
];
