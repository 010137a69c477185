/** Trying hooks: against past blocks without telling anybody, on a receiver once, and backfills. */

import type { Network } from '../chain/network.ts';
import type { HookRecord } from '../store/hooks/model.ts';
import { activeHook, definitionOf } from './active-hook.ts';
import { conditionsOfDefinition, readDefinition } from './definition.ts';
import { failureOf, isSuccess } from './delivery/attempt.ts';
import type { Filter } from './filters.ts';
import type { BlockChoice, Management } from './management.ts';
import { type MatchedBlock, type PayloadHook, payloadText } from './payload.ts';
import { HookProblem, invalidField } from './problem.ts';
import { sampleBlock } from './sample.ts';
import { scanner } from './scan.ts';
import { MOST_BLOCKS, search } from './search.ts';
import { serializedBackfill } from './serialize.ts';
import type { Chainhooks } from './service.ts';
import { webhookId } from './webhook-id.ts';

/** Backfills of a hook that are not done yet. */
const MOST_BACKFILLS = 100;
/** Payloads that a preview shows. */
const MOST_PAYLOADS = 5;

/** Of a definition that isn't registered. */
const NOBODY = '00000000-0000-4000-8000-000000000000';

/** What a preview goes through: one block, or the blocks of a range. */
export interface PreviewRange extends BlockChoice {
  from_height?: number;
  to_height?: number;
}

/** The block of a test: of a height, or the newest that matches, below a height where one is given. */
export interface TestChoice {
  block_height?: number;
  before_height?: number;
}

/** The network before the first block: then there is nothing to show of it either. */
const UNKNOWN: Network = { kind: 'testnet', chainId: 0 };

export function trial(hooks: Chainhooks, { own, chosenBlock }: Management) {
  const { store, history, write, dispatcher, network, clock, chance, wakeTasks } = hooks;
  const { backfills, candidates } = store;
  const searches = search(clock);

  const payloadOf = (hook: PayloadHook, matched: MatchedBlock): object =>
    JSON.parse(payloadText(hook, network() ?? UNKNOWN, { apply: [matched], rollback: [] })) as object;

  function rangeOf({ from_height: from, to_height: to }: PreviewRange): { from: number; to: number } {
    const tip = history.tip().height;
    if (from === undefined || to === undefined)
      throw invalidField(from === undefined ? 'from_height' : 'to_height', 'is required');
    if (from > to) throw invalidField('from_height', 'must not be above to_height');
    if (to > tip) throw invalidField('to_height', `must not be above the tip, which is at ${tip}`);
    if (to - from >= MOST_BLOCKS)
      throw invalidField('to_height', `must be within ${MOST_BLOCKS} blocks of from_height`);
    return { from, to };
  }

  async function preview(hook: PayloadHook & { conditions: Parameters<typeof scanner>[1] }, range: PreviewRange) {
    const scan = scanner({ history, candidates }, hook.conditions);
    const isRange = range.from_height !== undefined || range.to_height !== undefined;
    if (!isRange && range.block_height === undefined && range.index_block_hash === undefined) {
      throw new HookProblem(400, 'one of block_height, index_block_hash, or from_height and to_height is required');
    }
    const shown = { matched_blocks: 0, matched_transactions: 0, payloads: [] as object[] };
    const add = (matched: MatchedBlock) => {
      shown.matched_blocks += 1;
      shown.matched_transactions += matched.places.length;
      if (shown.payloads.length < MOST_PAYLOADS) shown.payloads.push(payloadOf(hook, matched));
    };
    if (isRange) {
      const { from, to } = rangeOf(range);
      await searches.each(scan, from, to, add);
    } else {
      const matched = scan.at(chosenBlock(range));
      if (matched !== null) add(matched);
    }
    return shown;
  }

  /** The block to test with: the one of a height, else the newest that matches below one, else one that is made up. */
  async function testBlock(record: HookRecord, { block_height: height, before_height: before }: TestChoice) {
    const definition = definitionOf(record);
    const scan = scanner({ history, candidates }, conditionsOfDefinition(definition));
    if (height !== undefined) {
      if (before !== undefined) throw invalidField('before_height', 'is not allowed beside block_height');
      const matched = scan.at(chosenBlock({ block_height: height }));
      if (matched === null) throw invalidField('block_height', `has nothing that ${record.uuid} matches`);
      return { matched, searchedFrom: null };
    }
    const [first] = definition.filters.events;
    if (first === undefined) throw new HookProblem(409, 'The chainhook has no filters');
    const aboveTip = history.tip().height + 1;
    const { matched, searchedFrom } = await searches.newest(scan, Math.min(before ?? aboveTip, aboveTip));
    return { matched: matched ?? madeUp(first), searchedFrom };
  }

  function madeUp(filter: Filter): MatchedBlock {
    const block = sampleBlock(filter, network() ?? UNKNOWN, Math.floor(clock.now() / 1000));
    return { block, places: [0], findFunction: () => undefined };
  }

  return {
    /** Of a definition that is not registered: nothing is stored and nothing sent. */
    preview(filters: unknown, options: unknown, range: PreviewRange) {
      const { kind } = network() ?? UNKNOWN;
      const definition = readDefinition(
        {
          name: 'preview',
          version: '1',
          chain: 'stacks',
          network: kind,
          filters,
          options: options ?? null,
          action: { type: 'http_post', url: 'https://preview.invalid' },
        },
        null,
      );
      const conditions = conditionsOfDefinition(definition);
      return preview({ uuid: NOBODY, name: definition.name, options: definition.options ?? {}, conditions }, range);
    },

    previewOwn: (consumer: string, uuid: string, range: PreviewRange) =>
      preview(activeHook(own(consumer, uuid)), range),

    /** One attempt, whose outcome is the answer: nothing is queued, logged or counted. */
    async test(consumer: string, uuid: string, choice: TestChoice) {
      const { matched, searchedFrom } = await testBlock(own(consumer, uuid), choice);
      // It may have been changed or deleted during the search.
      const record = own(consumer, uuid);
      const text = payloadText(activeHook(record), network() ?? UNKNOWN, { apply: [matched], rollback: [] });
      const id = webhookId(`${record.uuid}/${chance.uuid()}`, text);
      const sent = { webhookId: id, lane: 'test', sequence: null, reason: 'test', attempts: 0 } as const;
      const result = await dispatcher.request(record, sent, text);
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

    /** Begins to tell the hook of the past. */
    backfill(consumer: string, uuid: string, range: { from: number; to: number | undefined; dryRun: boolean }) {
      const record = own(consumer, uuid);
      const tip = history.tip().height;
      const to = range.to ?? tip;
      if (range.from > to) throw invalidField('from_height', 'must not be above to_height');
      if (to > tip) throw invalidField('to_height', `must not be above the tip, which is at ${tip}`);
      const job = { uuid: chance.uuid(), hookId: record.id, dryRun: range.dryRun, from: range.from, to };
      write(() => {
        if (backfills.openOf(record.id) >= MOST_BACKFILLS) {
          throw new HookProblem(429, `No more than ${MOST_BACKFILLS} backfills of a chainhook may wait: try again`);
        }
        backfills.add(job, clock.now());
      }, 'synced');
      wakeTasks();
      return backfillOf(record.id, job.uuid);
    },

    getBackfill: (consumer: string, uuid: string, job: string) => backfillOf(own(consumer, uuid).id, job),

    backfills(consumer: string, uuid: string, limit: number, start: number | null) {
      const page = backfills.page(own(consumer, uuid).id, limit, start);
      return { ...page, items: page.items.map(serializedBackfill) };
    },

    /** What it queued and is not under way is cancelled too. */
    cancelBackfill(consumer: string, uuid: string, job: string): void {
      const found = backfills.find(job.toLowerCase(), own(consumer, uuid).id);
      if (found === undefined) throw new HookProblem(404, 'Backfill not found');
      write(() => {
        backfills.finish(found.id, 'cancelled', clock.now());
        store.deliveries.cancelBackfill(found.id);
      }, 'synced');
      wakeTasks();
    },
  };

  function backfillOf(hookId: number, job: string) {
    const found = backfills.find(job.toLowerCase(), hookId);
    if (found === undefined) throw new HookProblem(404, 'Backfill not found');
    return serializedBackfill(found);
  }
}
export type Trial = ReturnType<typeof trial>;
