/** Amounts that a principal stacked or staked in each reward cycle, and its rewards. Only Stackside has this route. */
import { type Static, Type } from '@sinclair/typebox';
import { chainAndBurnBlock } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { StackedCycle } from '../../store/model/staking.ts';
import { PrincipalParameter } from '../shared/parameters.ts';
import { Amount, nullable, Principal, Sats, words } from '../shared/values.ts';

const CycleRewards = Type.Object(
  {
    cycle: Type.Integer({ description: 'Number of the reward cycle' }),
    pox_version: words('pox1', 'pox2', 'pox3', 'pox4', 'pox5'),
    type: {
      ...words('solo', 'pooled', 'stake', 'bond'),
      description:
        'STX stacked directly or through a pool (pox to pox-4); a stake without a bond, or in a bond (pox-5)',
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
        { btc: Sats },
        {
          description:
            'Rewards so far: the payments of the cycle’s Bitcoin blocks to the address, including those for others who share it; for pox-5 the sBTC that the principal accrued, claimed or not. Null if unknown.',
        },
      ),
    ),
  },
  { $id: 'CycleRewards' },
);

const cycleRewards = (of: StackedCycle): Static<typeof CycleRewards> => ({
  cycle: of.cycle,
  pox_version: `pox${of.poxVersion}` as Static<typeof CycleRewards>['pox_version'],
  type: of.kind,
  bond_index: of.bond,
  pool: of.pool,
  locked: { btc: String(of.sats), stx: String(of.stx) },
  bitcoin_address: of.bitcoinAddress,
  rewards: of.earned === null ? null : { btc: String(of.earned) },
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
    handle: ({ params: { principal }, query: { limit, cursor }, read }) => {
      const list = `staking-rewards ${principal}`;
      const page = read.staking.cycles(principal, limit, pageCursor(list, cursor));
      return cursorPage(list, limit, page, cycleRewards);
    },
  }),
];
