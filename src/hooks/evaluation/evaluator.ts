/**
 * The evaluation of hooks. Live hooks stand together at the tip and are evaluated inside the transaction of each block
 * (`live.ts`); one that was away catches up from its own cursor, block by block, until it can join them
 * (`catching-up.ts`). Both take steps along the chain (`steps.ts`), gather what each hook is notified of
 * (`notifications.ts`) and queue one delivery for it (`queue.ts`).
 *
 * A cursor is the truth of what a hook has seen: whatever happens to the process or the index, nothing below it is sent
 * again and nothing above it is left out.
 */
import type { Network } from '../../chain/network.ts';
import type { HookRecord } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import type { ChainFollower, ChainHistory } from '../../store/ingest/ingest.ts';
import { type ActiveHook, activeHook, evaluationsLeft } from '../active-hook.ts';
import type { HookCounters, HookTimers } from '../counters.ts';
import type { HookLog } from '../log-event.ts';
import { catchingUp } from './catching-up.ts';
import { hookEndings } from './endings.ts';
import { liveEvaluation } from './live.ts';
import { type OutcomeListeners, transactionOutcome } from './outcome.ts';
import type { EvaluationParts } from './parts.ts';
import { deliveryQueue } from './queue.ts';
import { liveHooks } from './roster.ts';
import { chainSteps } from './steps.ts';

/** What the evaluator works with, and whom it tells. */
export interface EvaluatorOptions extends OutcomeListeners {
  store: HookStore;
  history: ChainHistory;
  /** Null until a block came. */
  network: () => Network | null;
  counters: HookCounters;
  timers: Pick<HookTimers, 'evaluated'>;
  /** Unix milliseconds. */
  now: () => number;
  /** Writes failed and succeed again: anything may be queued, and anything to catch up on. */
  recovered: () => void;
}

export type Evaluator = ReturnType<typeof hookEvaluator>;

/** The evaluator of all hooks; its `follower` takes part in each change of the chain. */
export function hookEvaluator(options: EvaluatorOptions) {
  const { store, history, network, counters, timers, now, recovered } = options;
  const { records } = store;
  const outcome = transactionOutcome(counters, options);
  /** What happened is said once it is committed. */
  const say: HookLog = outcome.say;
  const roster = liveHooks(records);
  const steps = chainSteps(history, say);
  const endings = hookEndings(records, roster, outcome, say, now);
  const queue = deliveryQueue({ store, endings, outcome, network, log: say, now });
  const parts: EvaluationParts = { store, roster, steps, endings, outcome, queue, now };
  const live = liveEvaluation({ ...parts, timers });
  const away = catchingUp(parts);

  const follower: ChainFollower = {
    changed: live.follow,
    committed(): void {
      roster.committed();
      outcome.publish();
    },
    undone(): void {
      roster.undone();
      outcome.forget();
    },
    recovered,
  };

  return {
    follower,
    advanceLive: live.advance,
    advanceOne: away.advance,
    enableAtTip: away.enableAtTip,
    enableFromCursor: away.enableFromCursor,
    interrupt: endings.interrupt,
    tipCursor: steps.tipCursor,
    queueRequested: queue.requested,

    /** A task has something to do once the transaction is committed. */
    wake: outcome.behind,

    /** A lane has something to send once the transaction is committed. */
    touch: outcome.queued,

    /** The filters or limits of a hook changed; call it in a transaction, after its definition was stored. */
    redefined(record: HookRecord): void {
      roster.begin();
      if (record.stage === 'live') roster.include(activeHook(record));
    },

    /** `hook_progress.evaluated` at which a live hook is used up. */
    expiresAt(record: HookRecord, hook: ActiveHook): number | null {
      roster.load();
      const left = evaluationsLeft(record, hook.options);
      return record.stage !== 'live' || left === null ? null : roster.progress().evaluated + left;
    },

    disable(record: HookRecord): void {
      roster.begin();
      if (record.stage !== 'idle') records.leaveLive(record.id);
      roster.exclude(record.id);
    },
  };
}
