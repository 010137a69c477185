/** Trying hooks: against past blocks without telling anybody, on a receiver once, and backfills. */

import type { Network } from '../chain/network.ts';
import type { HookRecord } from '../store/hooks/model.ts';
import { activeHook } from './active-hook.ts';
import { conditionsOfDefinition, type HookDefinition, readDefinition } from './definition.ts';
import { failureOf } from './delivery.ts';
import { webhookId } from './evaluation.ts';
import type { BlockChoice, Management } from './management.ts';
import { type MatchedBlock, type PayloadHook, payloadText } from './payload.ts';
import { HookProblem, invalidField } from './problem.ts';
import { sampleBlock } from './sample.ts';
import { type Scanner, scanner } from './scan.ts';
import type { Chainhooks } from './service.ts';
import { shownBackfill } from './shown.ts';

/** Blocks that a preview goes through, payloads that it shows, and blocks in which a test looks for a match. */
const MOST_BLOCKS = 1_000;
const MOST_PAYLOADS = 5;
/** Milliseconds until others have their turn. */
const SLICE_MS = 10;

/** Of a definition that isn't registered. */
const NOBODY = '00000000-0000-4000-8000-000000000000';

/** What a preview goes through: one block, or the blocks of a range. */
export interface PreviewRange extends BlockChoice {
  from_height?: number;
  to_height?: number;
}

/** The network before the first block: then there is nothing to show of it either. */
const UNKNOWN: Network = { kind: 'testnet', chainId: 0 };

export function trial(hooks: Chainhooks, { own, chosenBlock }: Management) {
  const { store, history, write, dispatcher, network, now, wakeTasks } = hooks;
  const { backfills, candidates } = store;

  /** Every block of the range that matches, ascending; lets others have their turn in between. */
  async function* matchesOf(scan: Scanner, from: number, to: number): AsyncGenerator<MatchedBlock> {
    let turn = performance.now() + SLICE_MS;
    for (let height = from; ; ) {
      const found = scan.next(height, to);
      if (found === null) return;
      if (found.matched !== null) yield found.matched;
      height = found.height + 1;
      if (performance.now() < turn) continue;
      await new Promise((resolve) => setImmediate(resolve));
      turn = performance.now() + SLICE_MS;
    }
  }

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
      for await (const matched of matchesOf(scan, from, to)) add(matched);
    } else {
      const matched = scan.at(chosenBlock(range));
      if (matched !== null) add(matched);
    }
    return shown;
  }

  /** The newest block that the hook matches, of the last thousand; else one that is made up. */
  async function testBlock(record: HookRecord, definition: HookDefinition, height: number | undefined) {
    const scan = scanner({ history, candidates }, conditionsOfDefinition(definition));
    if (height !== undefined) {
      const matched = scan.at(chosenBlock({ block_height: height }));
      if (matched === null) throw invalidField('block_height', `has nothing that ${record.uuid} matches`);
      return matched;
    }
    const tip = history.tip().height;
    let newest: MatchedBlock | null = null;
    for await (const matched of matchesOf(scan, tip - MOST_BLOCKS + 1, tip)) newest = matched;
    if (newest !== null) return newest;
    const [first] = definition.filters.events;
    if (first === undefined) throw new HookProblem(409, 'The chainhook has no filters');
    const block = sampleBlock(first, network() ?? UNKNOWN, Math.floor(now() / 1000));
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
    async test(consumer: string, uuid: string, height: number | undefined) {
      const record = own(consumer, uuid);
      const hook = activeHook(record);
      const definition = JSON.parse(record.definition) as HookDefinition;
      const matched = await testBlock(record, definition, height);
      const text = payloadText(hook, network() ?? UNKNOWN, { apply: [matched], rollback: [] });
      const id = webhookId(`${record.uuid}/${crypto.randomUUID()}`);
      const sent = { webhookId: id, lane: 'test', sequence: null, reason: 'test', attempts: 0 } as const;
      const result = await dispatcher.request(record, sent, text);
      const ok = result.statusCode !== null && result.statusCode >= 200 && result.statusCode < 300;
      return {
        ok,
        status_code: result.statusCode,
        duration_ms: result.durationMs,
        error: ok ? null : failureOf(result),
        response_excerpt: result.excerpt,
        webhook_id: id,
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
      const job = { uuid: crypto.randomUUID(), hookId: record.id, dryRun: range.dryRun, from: range.from, to };
      write(() => backfills.add(job, now()), 'synced');
      wakeTasks();
      return backfillOf(record.id, job.uuid);
    },

    getBackfill: (consumer: string, uuid: string, job: string) => backfillOf(own(consumer, uuid).id, job),

    backfills(consumer: string, uuid: string, limit: number, start: number | null) {
      const page = backfills.page(own(consumer, uuid).id, limit, start);
      return { ...page, items: page.items.map(shownBackfill) };
    },

    /** What it queued and is not under way is cancelled too. */
    cancelBackfill(consumer: string, uuid: string, job: string): void {
      const found = backfills.find(job.toLowerCase(), own(consumer, uuid).id);
      if (found === undefined) throw new HookProblem(404, 'Backfill not found');
      write(() => {
        backfills.finish(found.id, 'cancelled', now());
        store.deliveries.cancelBackfill(found.id);
      }, 'synced');
      wakeTasks();
    },
  };

  function backfillOf(hookId: number, job: string) {
    const found = backfills.find(job.toLowerCase(), hookId);
    if (found === undefined) throw new HookProblem(404, 'Backfill not found');
    return shownBackfill(found);
  }
}
export type Trial = ReturnType<typeof trial>;
