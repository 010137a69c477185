/** What filters match in past blocks: nothing is stored and nothing sent. */

import type { HookRecord } from '../../store/hooks/model.ts';
import { activeHook, conditionsOfDefinition, readDefinition } from '../definition/definition.ts';
import { type MatchedBlock, type PayloadHook, payloadText } from '../evaluation/payload.ts';
import type { Condition } from '../matching/matching.ts';
import { type BlockChoice, chosenBlock, MOST_BLOCKS, type Search, scanner } from '../matching/scan.ts';
import { HookProblem, invalidField } from '../problem.ts';
import type { Chainhooks } from '../service.ts';
import { networkOrUnknown } from './sample.ts';

/** Payloads that a preview shows. */
const MOST_PAYLOADS = 5;

/** The uuid in the payloads of a definition that isn't registered. */
const UNREGISTERED = '00000000-0000-4000-8000-000000000000';

/** What a preview goes through: one block, or the blocks of a range. */
export interface PreviewRange extends BlockChoice {
  from_height?: number;
  to_height?: number;
}

type PreviewedHook = PayloadHook & { conditions: readonly Condition[] };

/** @throws HookProblem 400 that names the bound which is wrong */
function boundsOf({ from_height: from, to_height: to }: PreviewRange, tip: number): { from: number; to: number } {
  if (from === undefined) throw invalidField('from_height', 'is required');
  if (to === undefined) throw invalidField('to_height', 'is required');
  if (from > to) throw invalidField('from_height', 'must not be above to_height');
  if (to > tip) throw invalidField('to_height', `must not be above the tip, which is at ${tip}`);
  if (to - from >= MOST_BLOCKS) throw invalidField('to_height', `must be within ${MOST_BLOCKS} blocks of from_height`);
  return { from, to };
}

/** @param searches bounds the blocks that previews go through at once */
export function previews({ store, history, network }: Chainhooks, searches: Search) {
  const { candidates } = store;

  async function preview(consumer: string, hook: PreviewedHook, range: PreviewRange) {
    const scan = scanner({ history, candidates }, hook.conditions);
    const isRange = range.from_height !== undefined || range.to_height !== undefined;
    if (!isRange && range.block_height === undefined && range.index_block_hash === undefined) {
      throw new HookProblem(400, 'one of block_height, index_block_hash, or from_height and to_height is required');
    }
    const found = { matched_blocks: 0, matched_transactions: 0, payloads: [] as object[] };
    const add = (matched: MatchedBlock) => {
      found.matched_blocks += 1;
      found.matched_transactions += matched.txIndexes.length;
      if (found.payloads.length === MOST_PAYLOADS) return;
      const text = payloadText(hook, networkOrUnknown(network), { apply: [matched], rollback: [] });
      found.payloads.push(JSON.parse(text) as object);
    };
    if (isRange) {
      const { from, to } = boundsOf(range, history.tip().height);
      await searches.each(consumer, scan, from, to, add);
    } else {
      const matched = scan.at(chosenBlock(history, range));
      if (matched !== null) add(matched);
    }
    return found;
  }

  return {
    /** A definition that is not registered. @throws HookProblem 400 that names the field */
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
