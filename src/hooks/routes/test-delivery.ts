/** A test of a hook: one attempt at its receiver, whose result is the answer. Nothing is queued, logged or counted. */
import type { HookRecord } from '../../store/hooks/model.ts';
import { activeHook, conditionsOfDefinition, definitionOf } from '../definition/definition.ts';
import type { Filter } from '../definition/filter-schemas.ts';
import { failureOf, isSuccess } from '../delivery/attempt.ts';
import { type MatchedBlock, payloadText, webhookId } from '../evaluation/payload.ts';
import { chosenBlock, type Search, scanner } from '../matching/scan.ts';
import { HookProblem, invalidField } from '../problem.ts';
import type { Chainhooks } from '../service.ts';
import { networkOrUnknown, sampleBlock } from './sample.ts';

/** The block of a test: of a height, or the newest that matches, below a height where one is given. */
export interface TestChoice {
  block_height?: number;
  before_height?: number;
}

/** Makes the function that tests a hook's receiver. */
export function testDeliveries(hooks: Chainhooks, searches: Search) {
  const { store, history, request, network, clock, chance } = hooks;
  const { candidates } = store;

  function madeUp(filter: Filter): MatchedBlock {
    const block = sampleBlock(filter, networkOrUnknown(network), Math.floor(clock.now() / 1000));
    return { block, txIndexes: [0], findFunction: () => undefined };
  }

  /**
   * The block to test with: the one of a height, else the newest that matches, else one that is made up.
   * @throws HookProblem 400 or 404 for the choice
   */
  async function testBlock(record: HookRecord, { block_height: height, before_height: before }: TestChoice) {
    const definition = definitionOf(record);
    const scan = scanner({ history, candidates }, conditionsOfDefinition(definition));
    if (height !== undefined) {
      if (before !== undefined) throw invalidField('before_height', 'is not allowed beside block_height');
      const matched = scan.at(chosenBlock(history, { block_height: height }));
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

  /** @param current reads the hook again: it may be changed or deleted during the search */
  return async (current: () => HookRecord, choice: TestChoice) => {
    const { matched, searchedFrom } = await testBlock(current(), choice);
    const record = current();
    const text = payloadText(activeHook(record), networkOrUnknown(network), { apply: [matched], rollback: [] });
    const id = webhookId(`${record.uuid}/${chance.uuid()}`, text);
    const identity = { webhookId: id, lane: 'test', sequence: null, reason: 'test', attempts: 0 } as const;
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
