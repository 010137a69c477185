/** A hook that was away: it moves on from its own cursor, block by block, until it can join the live ones at the tip. */
import type { Block } from '../../chain/block.ts';
import type { Cursor, HookRecord } from '../../store/hooks/model.ts';
import { type ActiveHook, activeHook, evaluationsLeft, isUsedUp } from '../active-hook.ts';
import { Matcher } from '../matching.ts';
import { Notifications } from './notifications.ts';
import { type EvaluationParts, noteMatch } from './parts.ts';

/** Makes the evaluation of hooks that are behind: a hook evaluates block after block until it is at the tip. */
export function catchingUp(parts: EvaluationParts) {
  const { store, roster, steps, endings, outcome, queue, now } = parts;
  const { records, ledger } = store;

  /** Blocks that the hook was notified of and that left the chain while the hook was away. */
  function takeBackOrphans(hook: ActiveHook, notifications: Notifications): void {
    for (const { indexBlockHash, height, txIndexes } of ledger.orphansOf(hook.id)) {
      const step = steps.awayFrom(indexBlockHash);
      const own = step.leaving.find((leaving) => leaving.height === height);
      if (own !== undefined) notifications.rollback(hook, own, txIndexes, step);
    }
  }

  function notifyOfOrphans(hook: ActiveHook, before: Cursor): void {
    const notifications = new Notifications(store);
    takeBackOrphans(hook, notifications);
    queue.live(notifications, 'catch_up', before);
  }

  function join(record: HookRecord, hook: ActiveHook): void {
    const left = evaluationsLeft(record, hook.options);
    records.goLive(record.id, left === null ? null : roster.progress().evaluated + left);
    roster.include(hook);
  }

  function fromCursor({ id }: HookRecord): void {
    records.catchUp(id);
    outcome.behind();
  }

  /** @returns whether the hook has used up what its options allow */
  function evaluate(hook: ActiveHook, block: Block, matcher: Matcher, notifications: Notifications): boolean {
    const txIndexes = matcher.match(block).get(hook.id);
    records.advance(hook.id, { height: block.height, hash: block.indexBlockHash }, now());
    if (txIndexes !== undefined) noteMatch(parts, notifications, hook, block, txIndexes);
    const record = records.get(hook.id);
    if (record === undefined || !isUsedUp(record, hook.options)) return false;
    endings.expire(record, hook);
    return true;
  }

  const isCatchingUp = (id: number): boolean => records.get(id)?.stage === 'catching_up';

  return {
    /**
     * Moves a hook one step; call it in a transaction, with the live ones at the tip.
     * @returns whether there is nothing more to do for it
     */
    advance(id: number): boolean {
      roster.begin();
      const record = records.get(id);
      if (record === undefined || record.stage !== 'catching_up') return true;
      const hook = activeHook(record);
      const step = steps.next(record.cursor);
      if (step === null) {
        notifyOfOrphans(hook, record.cursor);
        // The payload may have failed.
        if (isCatchingUp(id)) join(record, hook);
        return true;
      }
      const notifications = new Notifications(store);
      takeBackOrphans(hook, notifications);
      const matcher = new Matcher();
      matcher.set(id, hook.conditions);
      let usedUp = false;
      for (const block of step.joining) {
        usedUp = evaluate(hook, block, matcher, notifications);
        if (usedUp) break;
      }
      queue.live(notifications, 'catch_up', record.cursor);
      return usedUp || !isCatchingUp(id);
    },

    /** The hook takes part from the next block on, after it was notified of what left the chain meanwhile. */
    enableAtTip(record: HookRecord): void {
      roster.begin();
      const hook = activeHook(record);
      notifyOfOrphans(hook, record.cursor);
      const after = records.get(record.id);
      if (after === undefined || after.status === 'interrupted') return;
      records.setCursor(record.id, steps.tipCursor());
      if (steps.isTip(roster.progress().cursor)) join(after, hook);
      else fromCursor(record);
    },

    /** The hook catches up from its cursor on. */
    enableFromCursor: fromCursor,
  };
}
