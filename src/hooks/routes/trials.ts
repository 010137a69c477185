/** Trials of definitions and receivers: previews over past blocks, and test deliveries with a block of the chain. */

import { type Route, route } from '../../http/route.ts';
import type { HookRecord } from '../../store/hooks/model.ts';
import { ownHook } from '../commands/hooks.ts';
import {
  activeHook,
  conditionsOfDefinition,
  parseDefinition,
  parseFilters,
  parseOptions,
} from '../definition/definition.ts';
import { isSuccess } from '../delivery/attempt.ts';
import { failureOf } from '../delivery/failure.ts';
import { type MatchedBlock, type PayloadHook, payloadText, webhookId } from '../evaluation/payload.ts';
import type { Condition } from '../matching/matching.ts';
import { type BlockChoice, chosenBlock, MAX_BLOCKS, scanner, search } from '../matching/scan.ts';
import { HookProblem, invalidField, requireRange } from '../problem.ts';
import type { Chainhooks } from '../service.ts';
import type { HookFamily, ReadHooks } from './family.ts';
import { PreviewBody, PreviewResponse, TestBody, TestResponse, Uuid } from './schemas.ts';

/** Dependencies of trials: the committed chain, and requests to receivers. */
type TrialDependencies = Pick<Chainhooks, 'store' | 'history' | 'publish' | 'request' | 'network' | 'clock' | 'random'>;

const MAX_PAYLOADS = 5;

/** The uuid in payloads of an unregistered definition. */
const UNREGISTERED = '00000000-0000-4000-8000-000000000000';

/** The blocks of a preview: one block, or a range. */
interface PreviewRange extends BlockChoice {
  from_height?: number;
  to_height?: number;
}

type PreviewedHook = PayloadHook & { conditions: readonly Condition[] };

/** @throws HookProblem 400 that names the wrong bound */
function requireBounds({ from_height: from, to_height: to }: PreviewRange, tip: number): { from: number; to: number } {
  if (from === undefined) throw invalidField('from_height', 'is required');
  if (to === undefined) throw invalidField('to_height', 'is required');
  requireRange(from, to, tip);
  if (to - from >= MAX_BLOCKS) throw invalidField('to_height', `must be within ${MAX_BLOCKS} blocks of from_height`);
  return { from, to };
}

/** The block of a test: at a height, or the newest match, below a height if one is given. */
interface TestChoice {
  block_height?: number;
  before_height?: number;
}

/** Creates the error for a trial without a match. @param searchedFrom the lowest searched height; null if no block was searched */
const nothingMatches = (searchedFrom: number | null): HookProblem =>
  new HookProblem(
    404,
    searchedFrom === null
      ? 'The chain has no block to search'
      : `No block from height ${searchedFrom} on matches the filters; set before_height to ${searchedFrom} to search older blocks`,
  );

export type Trials = ReturnType<typeof trials>;

/** Tries hooks out. Every function takes the consumer and finds only this consumer's hooks. */
export function trials(
  { store, history, publish, request, network, clock, random }: TrialDependencies,
  read: ReadHooks,
) {
  const { candidates } = store;
  const searches = search(clock);
  const findHook = (consumer: string, uuid: string) => read((now) => ownHook(now.hooks, { consumer, uuid }));

  /** Previews the matches of a hook in past blocks. Nothing is stored or sent. */
  async function preview(consumer: string, hook: PreviewedHook, range: PreviewRange) {
    publish();
    const scan = scanner({ history, candidates }, hook.conditions);
    const isRange = range.from_height !== undefined || range.to_height !== undefined;
    if (!isRange && range.block_height === undefined && range.index_block_hash === undefined) {
      throw new HookProblem(400, 'block_height, index_block_hash, or from_height and to_height must be given');
    }
    const tip = read((now) => now.height());
    const totals = { matched_blocks: 0, matched_transactions: 0, payloads: [] as object[] };
    const add = (matched: MatchedBlock) => {
      totals.matched_blocks += 1;
      totals.matched_transactions += matched.txIndexes.length;
      if (totals.payloads.length === MAX_PAYLOADS) return;
      const text = payloadText(hook, network(), { apply: [matched], rollback: [] });
      totals.payloads.push(JSON.parse(text) as object);
    };
    if (isRange) {
      const { from, to } = requireBounds(range, tip);
      await searches.each(consumer, scan, from, to, add);
    } else {
      const matched = scan.matchIn(chosenBlock(history, range));
      if (matched !== null) add(matched);
    }
    return totals;
  }

  /**
   * Chooses the block of a test: the block at the given height, or the newest match.
   * @throws HookProblem 400 or 404 for the choice, 404 if no block matches
   */
  async function testBlock(record: HookRecord, { block_height: height, before_height: below }: TestChoice) {
    publish();
    const definition = parseDefinition(record);
    const scan = scanner({ history, candidates }, conditionsOfDefinition(definition));
    if (height !== undefined) {
      if (below !== undefined) throw invalidField('before_height', 'is not allowed together with block_height');
      const matched = scan.matchIn(chosenBlock(history, { block_height: height }));
      if (matched === null) throw invalidField('block_height', `doesn't match the chainhook ${record.uuid}`);
      return { matched, searchedFrom: null };
    }
    if (definition.filters.events.length === 0) throw new HookProblem(409, 'The chainhook has no filters');
    const aboveTip = history.tip().height + 1;
    const end = Math.min(below ?? aboveTip, aboveTip);
    const { matched, searchedFrom } = await searches.newest(record.consumer, scan, end);
    if (matched === null) throw nothingMatches(searchedFrom);
    return { matched, searchedFrom };
  }

  return {
    /** Previews an unregistered definition. @throws HookProblem 400 that names the field */
    preview(consumer: string, filters: unknown, options: unknown, range: PreviewRange) {
      const conditions = conditionsOfDefinition({ filters: parseFilters(filters) });
      const hook = { uuid: UNREGISTERED, name: 'preview', options: parseOptions(options ?? null) ?? {}, conditions };
      return preview(consumer, hook, range);
    },

    previewOwn: async (consumer: string, uuid: string, range: PreviewRange) =>
      preview(consumer, activeHook(findHook(consumer, uuid)), range),

    /** Tests a hook's receiver with one attempt. Nothing is queued, logged or counted. */
    async test(consumer: string, uuid: string, choice: TestChoice) {
      const { matched, searchedFrom } = await testBlock(findHook(consumer, uuid), choice);
      // The hook may have been changed or deleted during the search.
      const record = findHook(consumer, uuid);
      const text = payloadText(activeHook(record), network(), { apply: [matched], rollback: [] });
      const id = webhookId(store.logIdentity(), `${record.uuid}/${random.uuid()}`, text);
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
    },
  };
}

/** Reads a range from `block_height` or from the other fields of the body. @throws HookProblem 400 if they name both */
function parseRange({ block_height: height, ...rest }: (typeof PreviewBody)['static']): PreviewRange {
  const { index_block_hash, from_height, to_height } = rest;
  const bound = from_height === undefined ? 'to_height' : 'from_height';
  if (rest[bound] !== undefined && height !== undefined)
    throw invalidField('block_height', `is not allowed together with ${bound}`);
  if (index_block_hash !== undefined && (rest[bound] !== undefined || typeof height === 'object'))
    throw invalidField('index_block_hash', 'is not allowed together with a range of heights');
  return {
    ...(index_block_hash === undefined ? {} : { index_block_hash }),
    ...(from_height === undefined ? {} : { from_height }),
    ...(to_height === undefined ? {} : { to_height }),
    ...(typeof height === 'number' ? { block_height: height } : height),
  };
}

const uuid = { uuid: Uuid };

/** The routes of previews and test deliveries. */
export const trialRoutes = ({ prefix, commands }: HookFamily<{ trials: Trials }>): Route[] => [
  route({
    ...commands,
    method: 'POST',
    path: `${prefix}/preview`,
    operationId: 'previewDefinition',
    summary: 'Preview a definition',
    description:
      'Returns what the given filters and options would have delivered for past blocks. Nothing is stored or sent.',
    body: PreviewBody,
    response: PreviewResponse,
    notFound: 'Block not found: the canonical chain has no such block',
    handle: ({ body, caller: { consumer, api } }) =>
      api.trials.preview(consumer, body.filters, body.options, parseRange(body)),
  }),
  route({
    ...commands,
    method: 'POST',
    path: `${prefix}/me/{uuid}/preview`,
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
          throw invalidField(name, `is not allowed; the preview uses the ${name} of the chainhook`);
      }
      return api.trials.previewOwn(consumer, params.uuid, parseRange(body));
    },
  }),
  route({
    ...commands,
    method: 'POST',
    path: `${prefix}/me/{uuid}/test`,
    operationId: 'testChainhook',
    summary: 'Test a receiver',
    description:
      'Sends one delivery immediately and returns the response of the receiver. The delivery contains the newest matching block among the last thousand (fewer if they are large). If no block matches, nothing is sent and the request fails with 404. The delivery is neither queued, logged nor counted.',
    params: uuid,
    body: TestBody,
    optionalBody: true,
    response: TestResponse,
    notFound: 'Chainhook not found, the canonical chain has no such block, or no block matches the filters',
    refusals: {
      ...commands.refusals,
      409: "The chainhook has no filters, or the server can't read the signing secret",
    },
    handle: ({ params, body, caller: { consumer, api } }) => api.trials.test(consumer, params.uuid, body),
  }),
];
