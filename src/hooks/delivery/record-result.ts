/** What follows from an attempt: delivered, to be tried again after a while, or dead. Whoever keeps marks writes it down. */
import type { Chance } from '../../base/chance.ts';
import type { Clock } from '../../base/clock.ts';
import type { Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { Mark } from '../commands/marks.ts';
import type { HookCounters } from '../counters.ts';
import type { HookLog } from '../log-event.ts';
import { failureOf, isSuccess, type Result } from './attempt.ts';
import { backoff, type DeliveryRules } from './rules.ts';

export interface RecordResultOptions {
  /** Writes a mark down. @returns whether it counts: not where the delivery was cancelled or its hook deleted meanwhile */
  mark: (mark: Mark) => Promise<boolean>;
  rules: DeliveryRules;
  counters: HookCounters;
  log: HookLog;
  clock: Clock;
  chance: Chance;
}

/** The receiver will never want it again. */
const GONE = 410;

const attemptOf = ({ at, durationMs, urlHost, statusCode, error, excerpt }: Result) => ({
  at,
  durationMs,
  urlHost,
  statusCode,
  error,
  excerpt,
});

const subjectOf = ({ id, webhookId, attempts }: Delivery) => ({ delivery: id, webhookId, attempts });

/** Makes what has the result of an attempt written down, with what follows from it for the delivery and its hook. */
export function resultRecorder({ mark, rules, counters, log, clock, chance }: RecordResultOptions) {
  function markOfFailure(delivery: Delivery, attempts: number, result: Result): Mark {
    const { webhookId, triedSince } = delivery;
    const of = { ...subjectOf(delivery), attempt: attemptOf(result) };
    if (result.statusCode !== GONE && clock.now() - (triedSince ?? result.at) < rules.budgetMs) {
      const wait = Math.max(backoff(attempts, rules.retryCapMs, chance.number), result.retryAfterMs ?? 0);
      return { ...of, outcome: 'failed', nextAt: clock.now() + wait };
    }
    const reason = `delivery ${webhookId} to ${result.urlHost} failed ${attempts} times: ${failureOf(result)}`;
    return { ...of, outcome: 'dead', reason };
  }

  async function failed({ uuid }: HookRecord, delivery: Delivery, result: Result): Promise<void> {
    const attempts = delivery.attempts + 1;
    if (!(await mark(markOfFailure(delivery, attempts, result)))) return;
    counters.failed += 1;
    if (result.blocked) counters.blockedTargets += 1;
    const { webhookId: webhook_id } = delivery;
    const reason = failureOf(result);
    log({ event: 'hook_delivery_failed', uuid, webhook_id, host: result.urlHost, attempt: attempts, reason });
  }

  return {
    /** @param delivery as it was before the attempt */
    async attempted(record: HookRecord, delivery: Delivery, result: Result): Promise<void> {
      if (!isSuccess(result)) {
        await failed(record, delivery, result);
        return;
      }
      const counts = await mark({ ...subjectOf(delivery), outcome: 'delivered', attempt: attemptOf(result) });
      if (counts) counters.delivered += 1;
    },

    /** The body of a delivery is gone: it can't be sent, and its hook says so; as for one that was attempted. */
    async bodyLost(delivery: Delivery): Promise<void> {
      await mark({ ...subjectOf(delivery), outcome: 'lost' });
    },
  };
}
