/** Rewards of principals and of a signer's stakers by reward cycle. Only Stackside has these routes. */
import { Type } from '@sinclair/typebox';
import { chainAndBurnBlock, chainAndBurnTip } from '../../http/etag.ts';
import { CursorPage, cursorList, cursorQuery } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { StackedCycle, StakerShare } from '../../store/model/staking.ts';
import { Amount, nullable, object, Principal, Sats, words } from '../shared/fields.ts';
import { PrincipalParameter } from '../shared/parameters.ts';

/** Rewards that no calculation names a cycle for are in no cycle, so a cycle may have more claimed than accrued. */
const claimable = (earned: bigint, claimed: bigint): string => String(earned > claimed ? earned - claimed : 0n);

const lockedOf = ({ sats, stx }: { sats: bigint; stx: bigint }) => ({ btc: String(sats), stx: String(stx) });
const locked = (description: string) => Type.Object({ btc: Sats, stx: Amount }, { description });

const VERSIONS = ['pox1', 'pox2', 'pox3', 'pox4', 'pox5'] as const;

const [CycleRewards, cycleRewards] = object<StackedCycle>('CycleRewards')({
  cycle: [Type.Integer({ description: 'Number of the reward cycle' }), ({ cycle }) => cycle],
  pox_version: [words(...VERSIONS), ({ poxVersion }) => VERSIONS[poxVersion - 1]!],
  type: [
    {
      ...words('solo', 'pooled', 'stake', 'bond'),
      description:
        'STX stacked directly or through a pool (pox to pox-4); a stake without a bond, or in a bond (pox-5)',
    },
    ({ kind }) => kind,
  ],
  bond_index: [nullable(Type.Integer()), ({ bond }) => bond],
  pool: [nullable(Principal), ({ pool }) => pool],
  locked: [locked('Locked amounts. For a bond, `btc` is the number of satoshis that earn rewards'), lockedOf],
  bitcoin_address: [
    nullable(
      Type.String({ description: 'Bitcoin address that receives the rewards (pox to pox-4); null if it is unknown' }),
    ),
    ({ bitcoinAddress }) => bitcoinAddress,
  ],
  rewards: [
    nullable(
      Type.Object(
        { btc: Sats, claimed_btc: nullable(Sats), claimable_btc: nullable(Sats) },
        {
          description:
            'Rewards so far: the payments of the cycle’s Bitcoin blocks to the address, including those for others who share it; for pox-5 the sBTC that the principal accrued, claimed or not. Null if unknown. `claimed_btc` and `claimable_btc` are null for pox to pox-4, which pay to Bitcoin addresses.',
        },
      ),
    ),
    ({ earned, claimed }) =>
      earned === null
        ? null
        : {
            btc: String(earned),
            claimed_btc: claimed === null ? null : String(claimed),
            claimable_btc: claimed === null ? null : claimable(earned, claimed),
          },
  ],
});

const [StakerCycle, stakerCycle] = object<StakerShare>('StakerCycle')({
  staker: [Principal, ({ staker }) => staker],
  type: [
    { ...words('stake', 'bond'), description: 'A stake of STX without a bond, or a position in a bond' },
    ({ bond }) => (bond === null ? 'stake' : 'bond'),
  ],
  bond_index: [nullable(Type.Integer()), ({ bond }) => bond],
  locked: [locked('Amounts in the cycle; `btc` is the number of satoshis of a bond that earn rewards'), lockedOf],
  rewards: object<StakerShare>()({
    btc: object<StakerShare>()({
      accrued: [Sats, ({ earned }) => String(earned)],
      claimed: [Sats, ({ claimed }) => String(claimed)],
      claimable: [Sats, ({ earned, claimed }) => claimable(earned, claimed)],
    }),
  }),
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
