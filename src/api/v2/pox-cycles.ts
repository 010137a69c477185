/** Reward cycles with their signers, and by pox-4 whose STX those sign for. */
import { Type } from '@sinclair/typebox';
import { fromHex, toHex } from '../../codec/hex.ts';
import { notFound } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage, offsetQuery } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import type { RewardCycle } from '../../store/model/staking.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import { PoxCycle, PoxSigner, PoxStacker } from './schemas/stacking.ts';
import { poxCycle, poxSigner, poxStacker } from './serialize/stacking.ts';

const tag = 'Stacking';

const UNKNOWN = 'Not found';
const UNKNOWN_CYCLE = 'PoX cycle not found';
const UNKNOWN_SIGNER = 'PoX cycle signer not found';

const SIGNERS = { maximum: 250, default: 100 };
const STACKERS = { maximum: 200, default: 100 };

const cycle_number = Type.Integer({ description: 'Number of a reward cycle', examples: example('cycle_number') });
const signer_key = Type.Transform(
  Type.String({
    pattern: '^(0x)?[a-fA-F0-9]{66}$',
    description: 'Public key of the signer in hex, with or without 0x',
    examples: example('signer_key'),
  }),
)
  .Decode(fromHex)
  .Encode(toHex);

async function knownCycle(read: Reader, cycle: number): Promise<RewardCycle> {
  const found = await read.rewardCycles.find(cycle);
  if (found === undefined) throw notFound(UNKNOWN_CYCLE);
  return found;
}

export const poxCycles = [
  route({
    path: '/extended/v2/pox/cycles',
    operationId: 'getPoxCycles',
    summary: 'Reward cycles',
    description: 'Returns the reward cycles whose signers are chosen, highest first.',
    tag,
    query: offsetQuery({ maximum: 60, default: 20 }),
    response: OffsetPage(PoxCycle),
    etag: chainTip,
    handle: async ({ query, read }) =>
      offsetPage(query, await read.rewardCycles.page(query.limit, query.offset), poxCycle),
  }),
  route({
    path: '/extended/v2/pox/cycles/{cycle_number}',
    operationId: 'getPoxCycle',
    summary: 'One reward cycle',
    description: 'Returns one reward cycle whose signers are chosen.',
    tag,
    params: { cycle_number },
    response: PoxCycle,
    notFound: 'PoX cycle not found',
    etag: chainTip,
    handle: async ({ params: { cycle_number }, read }) => {
      const found = await read.rewardCycles.find(cycle_number);
      if (found === undefined) throw notFound(UNKNOWN);
      return poxCycle(found);
    },
  }),
  route({
    path: '/extended/v2/pox/cycles/{cycle_number}/signers',
    operationId: 'getPoxCycleSigners',
    summary: 'Signers of a reward cycle (v2)',
    description: 'Returns the signers of a reward cycle, largest weight first.',
    tag,
    params: { cycle_number },
    query: legacyOffsetQuery(SIGNERS),
    response: OffsetPage(PoxSigner),
    notFound: UNKNOWN_CYCLE,
    etag: chainTip,
    handle: async ({ params: { cycle_number }, query, read }) => {
      const cycle = await knownCycle(read, cycle_number);
      const page = await read.rewardCycles.signers(cycle_number, query.limit, query.offset);
      return offsetPage(query, page, (signer) => poxSigner(signer, cycle));
    },
  }),
  route({
    path: '/extended/v2/pox/cycles/{cycle_number}/signers/{signer_key}',
    operationId: 'getPoxCycleSigner',
    summary: 'One signer of a reward cycle',
    description: 'Returns one signer of a reward cycle by its public key.',
    tag,
    params: { cycle_number, signer_key },
    response: PoxSigner,
    notFound: 'Signer not found in this PoX cycle',
    etag: chainTip,
    handle: async ({ params: { cycle_number, signer_key }, read }) => {
      const cycle = await knownCycle(read, cycle_number);
      const signer = await read.rewardCycles.signer(cycle_number, signer_key);
      if (signer === undefined) throw notFound(UNKNOWN);
      return poxSigner(signer, cycle);
    },
  }),
  route({
    path: '/extended/v2/pox/cycles/{cycle_number}/signers/{signer_key}/stackers',
    operationId: 'getPoxCycleSignerStackers',
    summary: 'Stackers of a signer',
    description:
      'Returns the stackers whose STX a signer represents in a reward cycle of pox-4, largest locked amount first.',
    tag,
    params: { cycle_number, signer_key },
    query: legacyOffsetQuery(STACKERS),
    response: OffsetPage(PoxStacker),
    notFound: UNKNOWN_SIGNER,
    etag: chainTip,
    handle: async ({ params: { cycle_number, signer_key }, query, read }) => {
      await knownCycle(read, cycle_number);
      const signer = await read.rewardCycles.signer(cycle_number, signer_key);
      if (signer === undefined) throw notFound(UNKNOWN_SIGNER);
      const page = await read.rewardCycles.stackers(cycle_number, signer_key, query.limit, query.offset);
      return offsetPage(query, page, poxStacker);
    },
  }),
];
