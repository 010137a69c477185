/** Reward cycles with their signers, and by pox-4 whose STX those sign for. */
import { Type } from '@sinclair/typebox';
import { fromHex, toHex } from '../../codec/hex.ts';
import { notFound } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage, offsetQuery } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import type { RewardCycle } from '../../store/model/stacking.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { PoxCycle, PoxSigner, PoxStacker } from './schemas/stacking.ts';
import { poxCycle, poxSigner, poxStacker } from './serialize/stacking.ts';

const tag = 'Stacking';

const UNKNOWN = 'Not found';
const UNKNOWN_CYCLE = 'PoX cycle not found';
const UNKNOWN_SIGNER = 'PoX cycle signer not found';

const SIGNERS = { maximum: 250, default: 100 };
const STACKERS = { maximum: 200, default: 100 };

const cycle_number = Type.Integer({ description: 'Reward cycle' });
const signer_key = Type.Transform(
  Type.String({ pattern: '^(0x)?[a-fA-F0-9]{66}$', description: "Signer's key, with or without 0x" }),
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
    summary: 'Reward cycles whose signers are chosen, highest first',
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
    summary: 'One reward cycle whose signers are chosen',
    tag,
    params: { cycle_number },
    response: PoxCycle,
    notFound: UNKNOWN,
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
    summary: 'Signers of a reward cycle, heaviest first',
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
    tag,
    params: { cycle_number, signer_key },
    response: PoxSigner,
    notFound: UNKNOWN,
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
    summary: 'Whose STX a signer of a reward cycle signs for by pox-4, most locked first',
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
