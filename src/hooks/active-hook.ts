/** A hook as it is evaluated. */
import type { HookRecord } from '../store/hooks/model.ts';
import { conditionsOfDefinition, type HookDefinition, type Options } from './definition.ts';
import type { Condition } from './filters.ts';

/** What evaluation needs of a hook. */
export interface ActiveHook {
  id: number;
  uuid: string;
  name: string;
  options: Options;
  conditions: readonly Condition[];
}

/** What was checked when it was stored. */
export const definitionOf = ({ definition }: Pick<HookRecord, 'definition'>): HookDefinition =>
  JSON.parse(definition) as HookDefinition;

/** A stored hook, ready to be evaluated. */
export function activeHook(record: HookRecord): ActiveHook {
  const definition = definitionOf(record);
  return {
    id: record.id,
    uuid: record.uuid,
    name: definition.name,
    options: definition.options ?? {},
    conditions: conditionsOfDefinition(definition),
  };
}

/** Null for no limit. */
const evaluationLimit = ({ expire_after_evaluations: limit }: Options): number | null => limit || null;
/** Maximum occurrences of a hook; null for no limit. */
const occurrenceLimit = ({ expire_after_occurrences: limit }: Options): number | null => limit || null;

/** Evaluations that are left of the present budget; null where it has no end. */
export function evaluationsLeft(record: HookRecord, options: Options): number | null {
  const limit = evaluationLimit(options);
  return limit === null ? null : limit - (record.evaluated - record.windowEvaluated);
}

/** Whether a hook has used up the evaluations or occurrences that its options allow. */
export function isUsedUp(record: HookRecord, options: Options): boolean {
  const left = evaluationsLeft(record, options);
  const occurrences = occurrenceLimit(options);
  if (left !== null && left <= 0) return true;
  return occurrences !== null && record.occurrences - record.windowOccurrences >= occurrences;
}
