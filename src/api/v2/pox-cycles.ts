/** Reward cycles with their signers and stackers, and rewards paid by Bitcoin transactions. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { requireFound } from '../../http/errors.ts';
import { chainAndBurnBlock, chainTip } from '../../http/etag.ts';
import { refuseIfPartial } from '../../http/history.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage, offsetQuery } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { CycleStacker, PoxOutput, RewardCycle, StackingSigner } from '../../store/model/staking.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { example } from '../shared/examples/examples.ts';
import {
  Amount,
  bitcoinAddress,
  Hash,
  Height,
  Hex,
  nullable,
  object,
  Principal,
  Sats,
  stackedPercent,
  weightPercent,
  words,
} from '../shared/fields.ts';
import { BurnBlockParameter, hexParameter } from '../shared/parameters.ts';

const percent = Type.Number({ minimum: 0, maximum: 100 });

/** A reward cycle; amounts are in micro-STX. */
const [PoxCycle, poxCycle] = object<RewardCycle>('PoxCycle')({
  block_height: [
    Type.Integer({ description: 'Height of the block that chose the signers' }),
    ({ blockHeight }) => blockHeight,
  ],
  index_block_hash: [Hash, ({ indexHash }) => toHex(indexHash)],
  cycle_number: [Type.Integer(), ({ cycle }) => cycle],
  total_weight: [Type.Integer(), ({ weight }) => weight],
  total_stacked_amount: [Amount, ({ stacked }) => stacked.toString()],
  total_signers: [Type.Integer(), ({ signers }) => signers],
});

const StackerCount = Type.Integer({ description: 'Number of such stackers in pox-4; 0 in cycles of other versions' });

const [PoxSigner, poxSigner] = object<StackingSigner, [cycle: RewardCycle]>('PoxSigner')({
  signing_key: [Hex, ({ key }) => toHex(key)],
  signer_address: [
    Type.String({ description: 'Stacks address derived from the hash of the key' }),
    ({ address }) => address,
  ],
  weight: [Type.Integer(), ({ weight }) => weight],
  stacked_amount: [Amount, ({ stacked }) => stacked.toString()],
  weight_percent: [percent, (signer, cycle) => weightPercent({ signer, cycle })],
  stacked_amount_percent: [percent, (signer, cycle) => stackedPercent({ signer, cycle })],
  solo_stacker_count: [StackerCount, ({ soloStackers }) => soloStackers],
  pooled_stacker_count: [StackerCount, ({ pooledStackers }) => pooledStackers],
});

/** A principal that stacks with a signer in a cycle; amounts are in micro-STX. */
const [PoxStacker, poxStacker] = object<CycleStacker>('PoxStacker')({
  stacker_address: [Principal, ({ stacker }) => stacker],
  stacked_amount: [Amount, ({ print }) => print.state.locked.toString()],
  pox_address: [nullable(Type.String({ description: 'Bitcoin address' })), ({ print }) => bitcoinAddress(print)],
  stacker_type: [words('solo', 'pooled'), ({ pooled }) => (pooled ? 'pooled' : 'solo')],
});

const [PoxTransaction, poxTransaction] = object<PoxOutput>('PoxTransaction')({
  burn_block_height: [Height, ({ height }) => height],
  burn_block_hash: [Hash, ({ hash }) => toHex(hash)],
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  recipient: [Type.String({ description: 'Bitcoin address' }), ({ recipient }) => recipient],
  utxo_idx: [Type.Integer(), ({ outputIndex }) => outputIndex],
  amount: [Sats, ({ amount }) => amount],
});

const tag = 'Stacking';

const UNKNOWN = 'Not found';
const UNKNOWN_CYCLE = 'PoX cycle not found';
const UNKNOWN_SIGNER = 'PoX cycle signer not found';

const cycle_number = Type.Integer({ description: 'Number of a reward cycle', examples: example('cycle_number') });
const signer_key = hexParameter({
  pattern: '^(0x)?[a-fA-F0-9]{66}$',
  rule: 'a public key: 66 hexadecimal digits, with or without 0x before them',
  description: 'Public key of the signer in hex, with or without 0x',
  examples: example('signer_key'),
});

const requireCycle = (read: Reader, cycle: number): RewardCycle =>
  requireFound(read.rewardCycles.find(cycle), UNKNOWN_CYCLE);

const family = { tag, etag: chainTip, history: 'whole' } as const;

export const poxCycles = [
  route({
    ...family,
    path: '/extended/v2/pox/cycles',
    operationId: 'getPoxCycles',
    summary: 'Reward cycles',
    description: 'Returns the reward cycles with chosen signers, highest first.',
    query: offsetQuery({ maximum: 60, default: 20 }),
    response: OffsetPage(PoxCycle),
    history: 'since',
    handle: ({ query, read }) => offsetPage(query, read.rewardCycles.page(query.limit, query.offset), poxCycle),
  }),
  route({
    ...family,
    path: '/extended/v2/pox/cycles/{cycle_number}',
    operationId: 'getPoxCycle',
    summary: 'One reward cycle',
    description: 'Returns one reward cycle with chosen signers.',
    params: { cycle_number },
    response: PoxCycle,
    notFound: UNKNOWN_CYCLE,
    history: 'thing',
    handle: ({ params: { cycle_number }, read }) =>
      poxCycle(requireFound(read.rewardCycles.find(cycle_number), UNKNOWN)),
  }),
  route({
    ...family,
    path: '/extended/v2/pox/cycles/{cycle_number}/signers',
    operationId: 'getPoxCycleSigners',
    summary: 'Signers of a reward cycle (v2)',
    description: 'Returns the signers of a reward cycle, largest weight first.',
    params: { cycle_number },
    query: legacyOffsetQuery({ maximum: 250, default: 100 }),
    response: OffsetPage(PoxSigner),
    notFound: UNKNOWN_CYCLE,
    handle: ({ params: { cycle_number }, query, read }) => {
      const cycle = requireCycle(read, cycle_number);
      const page = read.rewardCycles.signers(cycle_number, query.limit, query.offset);
      return offsetPage(query, page, (signer) => poxSigner(signer, cycle));
    },
  }),
  route({
    ...family,
    path: '/extended/v2/pox/cycles/{cycle_number}/signers/{signer_key}',
    operationId: 'getPoxCycleSigner',
    summary: 'One signer of a reward cycle',
    description: 'Returns one signer of a reward cycle by its public key.',
    params: { cycle_number, signer_key },
    response: PoxSigner,
    notFound: 'Signer not found in this PoX cycle',
    handle: ({ params: { cycle_number, signer_key }, read }) => {
      const cycle = requireCycle(read, cycle_number);
      return poxSigner(requireFound(read.rewardCycles.signer(cycle_number, signer_key), UNKNOWN), cycle);
    },
  }),
  route({
    ...family,
    path: '/extended/v2/pox/cycles/{cycle_number}/signers/{signer_key}/stackers',
    operationId: 'getPoxCycleSignerStackers',
    summary: 'Stackers of a signer',
    description:
      'Returns the stackers that a signer represents in a reward cycle of pox-4, largest locked amount first.',
    params: { cycle_number, signer_key },
    query: legacyOffsetQuery({ maximum: 200, default: 100 }),
    response: OffsetPage(PoxStacker),
    notFound: UNKNOWN_SIGNER,
    handle: ({ params: { cycle_number, signer_key }, query, read }) => {
      requireCycle(read, cycle_number);
      requireFound(read.rewardCycles.signer(cycle_number, signer_key), UNKNOWN_SIGNER);
      const page = read.rewardCycles.stackers(cycle_number, signer_key, query.limit, query.offset);
      return offsetPage(query, page, poxStacker);
    },
  }),
];

const payments = {
  tag: 'Burn blocks',
  query: offsetQuery({ maximum: 30, default: 20 }),
  response: OffsetPage(PoxTransaction),
  etag: chainAndBurnBlock,
  history: 'payouts',
} as const;

export const poxTransactions = [
  route({
    ...payments,
    path: '/extended/v2/burn-blocks/{height_or_hash}/pox-transactions',
    operationId: 'getBurnBlockPoxTransactions',
    summary: 'Reward payments of a Bitcoin block',
    description:
      'Returns the rewards that the transactions of a Bitcoin block paid to stackers, ordered by transaction id. `latest` stands for the newest Bitcoin block that paid any.',
    params: { height_or_hash: BurnBlockParameter },
    notFound: 'Burn block not found: only on a server with a partial history',
    handle: ({ params: { height_or_hash }, query, read }) => {
      if (!read.burnRewards.has(height_or_hash)) refuseIfPartial(read, 'Burn block not found');
      return offsetPage(query, read.burnRewards.outputsOf(height_or_hash, query.limit, query.offset), poxTransaction);
    },
  }),
  route({
    ...payments,
    path: '/extended/v2/addresses/{burnchain_address}/pox-transactions',
    operationId: 'getAddressPoxTransactions',
    summary: 'Reward payments to an address',
    description: 'Returns the rewards that Bitcoin transactions paid to an address, newest block first.',
    params: {
      burnchain_address: Type.String({
        description: 'Bitcoin address of any kind',
        examples: example('bitcoin_address'),
      }),
    },
    handle: ({ params: { burnchain_address }, query, read }) => {
      const page = read.burnRewards.outputsTo(burnchain_address, query.limit, query.offset);
      return offsetPage(query, page, poxTransaction);
    },
  }),
];
