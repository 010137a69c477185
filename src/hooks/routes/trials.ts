/**
 * Trials of definitions and receivers: previews over past blocks, and test deliveries with a block of the chain, or with a
 * made-up one if no recent block matches. A made-up block has zeros for hashes.
 */

import type { AssetAction, Block, ChainEvent, ChainTransaction } from '../../chain/block.ts';
import type { Network } from '../../chain/network.ts';
import { BOOT_ADDRESS } from '../../codec/address.ts';
import { clarity } from '../../codec/clarity-encode.ts';
import { fromHex } from '../../codec/hex.ts';
import { type TenureChangeCause, tenureChangeCauses } from '../../codec/tenure-change.ts';
import type { Payload } from '../../codec/transaction.ts';
import { type Route, route } from '../../http/route.ts';
import type { HookRecord } from '../../store/hooks/model.ts';
import { ownHook } from '../commands/hooks.ts';
import { activeHook, conditionsOfDefinition, definitionOf, readDefinition } from '../definition/definition.ts';
import type { Filter } from '../definition/filter-schemas.ts';
import { failureOf, isSuccess } from '../delivery/attempt.ts';
import { type MatchedBlock, type PayloadHook, payloadText, webhookId } from '../evaluation/payload.ts';
import type { Condition } from '../matching/matching.ts';
import { type BlockChoice, chosenBlock, MOST_BLOCKS, type Search, scanner, search } from '../matching/scan.ts';
import { HookProblem, invalidField } from '../problem.ts';
import type { Chainhooks } from '../service.ts';
import type { HookFamily, ReadHooks } from './family.ts';
import { PreviewBody, PreviewResponse, TestBody, TestResponse, Uuid } from './schemas.ts';

/** What trials need: the committed chain, and requests to receivers. */
type Tried = Pick<Chainhooks, 'store' | 'history' | 'bring' | 'request' | 'network' | 'clock' | 'chance'>;

/** Maximum payloads of a preview. */
const MOST_PAYLOADS = 5;

/** The uuid in payloads of an unregistered definition. */
const UNREGISTERED = '00000000-0000-4000-8000-000000000000';

/** The blocks of a preview: one block, or a range. */
interface PreviewRange extends BlockChoice {
  from_height?: number;
  to_height?: number;
}

type PreviewedHook = PayloadHook & { conditions: readonly Condition[] };

/** @throws HookProblem 400 that names the wrong bound */
function boundsOf({ from_height: from, to_height: to }: PreviewRange, tip: number): { from: number; to: number } {
  if (from === undefined) throw invalidField('from_height', 'is required');
  if (to === undefined) throw invalidField('to_height', 'is required');
  if (from > to) throw invalidField('from_height', 'must not be above to_height');
  if (to > tip) throw invalidField('to_height', `must not be above the tip, which is at ${tip}`);
  if (to - from >= MOST_BLOCKS) throw invalidField('to_height', `must be within ${MOST_BLOCKS} blocks of from_height`);
  return { from, to };
}

/**
 * Previews the matches of filters in past blocks. Nothing is stored or sent.
 * @param searches limits the searches that run at once
 */
function previews({ store, history, bring, network }: Tried, searches: Search, read: ReadHooks) {
  const { candidates } = store;

  async function preview(consumer: string, hook: PreviewedHook, range: PreviewRange) {
    const scan = scanner({ history, candidates }, hook.conditions);
    const isRange = range.from_height !== undefined || range.to_height !== undefined;
    if (!isRange && range.block_height === undefined && range.index_block_hash === undefined) {
      throw new HookProblem(400, 'block_height, index_block_hash, or from_height and to_height must be given');
    }
    const tip = await read((now) => now.height());
    const found = { matched_blocks: 0, matched_transactions: 0, payloads: [] as object[] };
    const add = (matched: MatchedBlock) => {
      found.matched_blocks += 1;
      found.matched_transactions += matched.txIndexes.length;
      if (found.payloads.length === MOST_PAYLOADS) return;
      const text = payloadText(hook, networkOrUnknown(network), { apply: [matched], rollback: [] });
      found.payloads.push(JSON.parse(text) as object);
    };
    if (isRange) {
      const { from, to } = boundsOf(range, tip);
      await searches.each(consumer, scan, from, to, add);
    } else {
      const matched = await bring(() => scan.at(chosenBlock(history, range)));
      if (matched !== null) add(matched);
    }
    return found;
  }

  return {
    /** Previews an unregistered definition. @throws HookProblem 400 that names the field */
    ofDefinition(consumer: string, filters: unknown, options: unknown, range: PreviewRange) {
      const definition = readDefinition(
        {
          name: 'preview',
          version: '1',
          chain: 'stacks',
          network: networkOrUnknown(network).kind,
          filters,
          options: options ?? null,
          action: { type: 'http_post', url: 'https://preview.invalid' },
        },
        null,
      );
      const conditions = conditionsOfDefinition(definition);
      const { name, options: given = {} } = definition;
      return preview(consumer, { uuid: UNREGISTERED, name, options: given ?? {}, conditions }, range);
    },

    ofHook: (record: HookRecord, range: PreviewRange) => preview(record.consumer, activeHook(record), range),
  };
}

/** The block of a test: at a height, or the newest match, below a height if one is given. */
interface TestChoice {
  block_height?: number;
  before_height?: number;
}

/** Makes the function that tests a hook's receiver with one attempt. Nothing is queued, logged or counted. */
function testDeliveries({ store, history, bring, request, network, clock, chance }: Tried, searches: Search) {
  const { candidates } = store;

  function madeUp(filter: Filter): MatchedBlock {
    const block = sampleBlock(filter, networkOrUnknown(network), Math.floor(clock.now() / 1000));
    return { block, txIndexes: [0], findFunction: () => undefined };
  }

  /**
   * Chooses the block of a test: the one at the given height, else the newest match, else a made-up block.
   * @throws HookProblem 400 or 404 for the choice
   */
  async function testBlock(record: HookRecord, { block_height: height, before_height: before }: TestChoice) {
    const definition = definitionOf(record);
    const scan = scanner({ history, candidates }, conditionsOfDefinition(definition));
    if (height !== undefined) {
      if (before !== undefined) throw invalidField('before_height', 'is not allowed beside block_height');
      const matched = await bring(() => scan.at(chosenBlock(history, { block_height: height })));
      if (matched === null) throw invalidField('block_height', `has nothing that ${record.uuid} matches`);
      return { matched, searchedFrom: null };
    }
    const [first] = definition.filters.events;
    if (first === undefined) throw new HookProblem(409, 'The chainhook has no filters');
    const aboveTip = history.tip().height + 1;
    const { matched, searchedFrom } = await searches.newest(
      record.consumer,
      scan,
      Math.min(before ?? aboveTip, aboveTip),
    );
    return { matched: matched ?? madeUp(first), searchedFrom };
  }

  /** @param current reads the hook again, since it may be changed or deleted during the search */
  return async (current: () => Promise<HookRecord>, choice: TestChoice) => {
    const { matched, searchedFrom } = await testBlock(await current(), choice);
    const record = await current();
    const text = payloadText(activeHook(record), networkOrUnknown(network), { apply: [matched], rollback: [] });
    const id = webhookId(`${record.uuid}/${chance.uuid()}`, text);
    const identity = { webhookId: id, queue: 'test', sequence: null, reason: 'test', attempts: 0 } as const;
    const result = await request(record, identity, text);
    const ok = isSuccess(result);
    return {
      ok,
      status_code: result.statusCode,
      duration_ms: result.durationMs,
      error: ok ? null : failureOf(result),
      response_excerpt: result.excerpt,
      webhook_id: id,
      searched_from_height: searchedFrom,
      payload: JSON.parse(text) as object,
    };
  };
}

export type Trials = ReturnType<typeof trials>;

/** Every function takes the consumer, who sees only its own hooks. */
export function trials(hooks: Tried, read: ReadHooks) {
  const searches = search(hooks.clock, hooks.bring);
  const preview = previews(hooks, searches, read);
  const test = testDeliveries(hooks, searches);
  const own = (consumer: string, uuid: string) => read((now) => ownHook(now.hooks, { consumer, uuid }));

  return {
    preview: preview.ofDefinition,
    previewOwn: async (consumer: string, uuid: string, range: PreviewRange) =>
      preview.ofHook(await own(consumer, uuid), range),

    test: (consumer: string, uuid: string, choice: TestChoice) => test(() => own(consumer, uuid), choice),
  };
}

/** Reads a range in `block_height` or beside it. */
function rangeOf({ block_height: height, ...rest }: (typeof PreviewBody)['static']): PreviewRange {
  const { index_block_hash, from_height, to_height } = rest;
  return {
    ...(index_block_hash === undefined ? {} : { index_block_hash }),
    ...(from_height === undefined ? {} : { from_height }),
    ...(to_height === undefined ? {} : { to_height }),
    ...(typeof height === 'number' ? { block_height: height } : height),
  };
}

const uuid = { uuid: Uuid };

/** The routes of previews and test deliveries. */
export const trialRoutes = ({ at, commands }: HookFamily<{ trials: Trials }>): Route[] => [
  route({
    ...commands,
    method: 'POST',
    path: `${at}/preview`,
    operationId: 'previewDefinition',
    summary: 'Preview a definition',
    description:
      'Returns what the given filters and options would have delivered for past blocks. Nothing is stored or sent.',
    body: PreviewBody,
    response: PreviewResponse,
    notFound: 'Block not found: the canonical chain has no such block',
    handle: ({ body, caller: { consumer, api } }) =>
      api.trials.preview(consumer, body.filters, body.options, rangeOf(body)),
  }),
  route({
    ...commands,
    method: 'POST',
    path: `${at}/me/{uuid}/preview`,
    operationId: 'previewChainhook',
    summary: 'Preview a chainhook',
    description: 'Returns what a registered chainhook would have delivered for past blocks. Nothing is stored or sent.',
    params: uuid,
    body: PreviewBody,
    response: PreviewResponse,
    notFound: 'Chainhook not found, or the canonical chain has no such block',
    handle: ({ params, body, caller: { consumer, api } }) => {
      for (const name of ['filters', 'options'] as const) {
        if (body[name] !== undefined)
          throw invalidField(name, 'is not allowed; the preview uses those of the chainhook');
      }
      return api.trials.previewOwn(consumer, params.uuid, rangeOf(body));
    },
  }),
  route({
    ...commands,
    method: 'POST',
    path: `${at}/me/{uuid}/test`,
    operationId: 'testChainhook',
    summary: 'Test a receiver',
    description:
      'Sends one delivery immediately and returns the response of the receiver. The newest matching block among the last thousand is used (fewer if they are large); if none matches, a block is made up with zeros for hashes. `searched_from_height` is the lowest block that was searched. The delivery is neither queued, logged nor counted.',
    params: uuid,
    body: TestBody,
    optionalBody: true,
    response: TestResponse,
    notFound: 'Chainhook not found, or the canonical chain has no such block',
    refusals: {
      ...commands.refusals,
      409: "The chainhook has no filters, or the server can't read the signing secret",
    },
    handle: ({ params, body, caller: { consumer, api } }) => api.trials.test(consumer, params.uuid, body),
  }),
];

/** The network before the first block, when there is nothing to show yet. */
const UNKNOWN: Network = { kind: 'testnet', chainId: 0 };

/** The chain's network, or a testnet before the first block. */
const networkOrUnknown = (network: () => Network | null): Network => network() ?? UNKNOWN;

const HASH = new Uint8Array(32);
const HASH20 = new Uint8Array(20);
const NO_COST = { runtime: 0, readCount: 0, readLength: 0, writeCount: 0, writeLength: 0 };

/** The parameters of a filter, if given. */
type Given = Readonly<Record<string, unknown>>;

const textOf = (given: Given, name: string, otherwise: string): string => {
  const value = given[name];
  return typeof value === 'string' ? value : otherwise;
};

function nftValue(value: unknown): Uint8Array {
  const text = String(value ?? 1);
  if (text.startsWith('0x')) return fromHex(text);
  return text.startsWith('-') ? clarity.int(BigInt(text)) : clarity.uint(BigInt(text.replace(/^u/, '')));
}

interface Parties {
  sender: string;
  receiver: string;
  contract: string;
}

function payloadOf(filter: Filter, { receiver, contract }: Parties): Payload {
  const given: Given = filter;
  switch (filter.type) {
    case 'coinbase':
      return { type: 'coinbase', typeId: 8, data: HASH, altRecipient: null, vrfProof: new Uint8Array(80) };
    case 'tenure_change':
      return {
        type: 'tenure_change',
        typeId: 7,
        tenureConsensusHash: HASH20,
        prevTenureConsensusHash: HASH20,
        burnViewConsensusHash: HASH20,
        previousTenureEnd: HASH,
        previousTenureBlocks: 1,
        cause: causeOf(given.cause),
        pubkeyHash: HASH20,
      };
    case 'contract_deploy': {
      const contractName = contract.slice(contract.indexOf('.') + 1);
      return { type: 'smart_contract', typeId: 6, contractName, clarityVersion: 3, source: ';; a sample' };
    }
    case 'stx_event':
    case 'stx_transfer':
    case 'balance_change':
      return {
        type: 'token_transfer',
        typeId: 0,
        recipient: receiver,
        amount: BigInt(textOf(given, 'min_amount', '1')),
        memo: new Uint8Array(34),
      };
    default:
      return {
        type: 'contract_call',
        typeId: 2,
        contractId: contract,
        functionName: textOf(given, 'function_name', 'sample'),
        functionArgs: new Uint8Array(4),
      };
  }
}

const causeOf = (given: unknown): TenureChangeCause =>
  tenureChangeCauses.find((cause) => cause === given) ?? 'block_found';

function eventsOf(filter: Filter, { sender, receiver, contract }: Parties): ChainEvent[] {
  const given: Given = filter;
  if (filter.type === 'contract_log') {
    const text = textOf(given, 'contains', 'sample');
    const value = clarity.ascii(/^[ -~]*$/.test(text) ? text : 'sample');
    return [{ kind: 'contract_log', contractId: contract, topic: textOf(given, 'topic', 'print'), value }];
  }
  const [token, what = 'transfer'] = filter.type === 'balance_change' ? ['stx'] : filter.type.split('_');
  const action: AssetAction = what === 'mint' || what === 'burn' ? what : 'transfer';
  const parties = { sender: action === 'mint' ? null : sender, recipient: action === 'burn' ? null : receiver };
  const amount = textOf(given, 'min_amount', '1');
  const asset = textOf(given, 'asset_identifier', `${contract}::sample`);
  if (token === 'stx') return [{ kind: 'stx', action, ...parties, amount, memo: null }];
  if (token === 'ft') return [{ kind: 'ft', action, ...parties, asset, amount }];
  if (token === 'nft') return [{ kind: 'nft', action, ...parties, asset, value: nftValue(given.value) }];
  return [];
}

/** Makes block 0 with one transaction that the filter matches. @param time Unix seconds */
export function sampleBlock(filter: Filter, network: Network, time: number): Block {
  const given: Given = filter;
  const boot = BOOT_ADDRESS[network.kind];
  const contract = textOf(given, 'contract_identifier', textOf(given, 'asset_identifier', `${boot}.sample`)).split(
    '::',
  )[0]!;
  const [deployer = boot] = contract.split('.');
  const sender = textOf(
    given,
    'sender',
    textOf(given, 'principal', filter.type === 'contract_deploy' ? deployer : boot),
  );
  const parties = { sender, receiver: textOf(given, 'receiver', textOf(given, 'recipient', boot)), contract };
  const payload = payloadOf(filter, parties);
  const statuses = given.status;
  const transaction: ChainTransaction = {
    txId: HASH,
    raw: new Uint8Array(1),
    sender: { address: sender, nonce: 0n },
    sponsor: null,
    fee: filter.type === 'balance_change' ? 1n : 0n,
    chainId: network.chainId,
    anchorMode: 3,
    postConditions: fromHex('0x0200000000'),
    payload,
    bitcoinOperation: false,
    txIndex: 0,
    status: statusOf(statuses),
    result: clarity.ok(clarity.bool(true)),
    cost: NO_COST,
    vmError: null,
    contractInterface: payload.type === 'smart_contract' ? '{"functions":[]}' : null,
    microblock: null,
    events: eventsOf(filter, parties),
    genesis: null,
  };
  return {
    height: 0,
    blockHash: HASH,
    indexBlockHash: HASH,
    parentBlockHash: HASH,
    parentIndexBlockHash: HASH,
    blockTime: time,
    burnBlockHash: HASH,
    burnBlockHeight: 0,
    burnBlockTime: time,
    parentBurnBlockTime: null,
    minerTxId: HASH,
    parentMicroblockHash: HASH,
    parentMicroblockSequence: 0,
    tenureHeight: 0,
    cost: NO_COST,
    signerBits: '',
    signerSignatures: [],
    announcedTransactions: 1,
    transactions: [transaction],
    minerRewards: [],
    poxUnlockHeights: [null, null, null, null],
    rewardSet: null,
  };
}

function statusOf(given: unknown): ChainTransaction['status'] {
  const words = ['success', 'abort_by_response', 'abort_by_post_condition', 'problematic_skipped'] as const;
  const first: unknown = Array.isArray(given) ? given[0] : 'success';
  return words.find((word) => word === first) ?? 'success';
}
