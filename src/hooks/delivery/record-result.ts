/** Writes down what came of an attempt: delivered, to be tried again, or dead, which interrupts a live hook. */
import type { Chance } from '../../base/chance.ts';
import type { Clock } from '../../base/clock.ts';
import type { Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import type { Write } from '../../store/ingest/ingest.ts';
import type { HookCounters } from '../counters.ts';
import type { HookLog } from '../log-event.ts';
import { failureOf, isSuccess, type Result } from './attempt.ts';
import { backoff, type DeliveryRules } from './rules.ts';

export interface RecordResultOptions {
  store: HookStore;
  write: Write;
  /** @param stuckDelivery the row of the delivery that failed for good; null where there is none */
  interrupt: (record: HookRecord, reason: string, stuckDelivery: number | null) => void;
  rules: DeliveryRules;
  counters: HookCounters;
  log: HookLog;
  clock: Clock;
  chance: Chance;
}

/** The receiver will never want it again. */
const GONE = 410;

/** Whether a delivery is still to be sent. */
export const isOpen = ({ state }: Delivery): boolean => state === 'pending' || state === 'failed';

/** Makes what writes down the result of an attempt, and what follows from it for the delivery and its hook. */
export function resultRecorder(options: RecordResultOptions) {
  const { store, write, interrupt, rules, counters, log, clock, chance } = options;
  const { records, deliveries, backfills } = store;

  function succeed(record: HookRecord, delivery: Delivery, result: Result): void {
    deliveries.tried(delivery.id, result, 'delivered', null);
    records.delivered(record.id, clock.now(), result.statusCode);
    if (delivery.backfillId !== null) backfills.settle(delivery.backfillId, { delivered: 1, dead: 0 });
    counters.delivered += 1;
  }

  function fail(record: HookRecord, delivery: Delivery, result: Result): void {
    counters.failed += 1;
    if (result.blocked) counters.blockedTargets += 1;
    records.failed(record.id, result.statusCode);
    const { uuid } = record;
    const { webhookId } = delivery;
    const attempts = delivery.attempts + 1;
    const host = result.urlHost;
    const reason = failureOf(result);
    log({ event: 'hook_delivery_failed', uuid, webhook_id: webhookId, host, attempt: attempts, reason });
    const triedSince = delivery.triedSince ?? result.at;
    if (result.statusCode !== GONE && clock.now() - triedSince < rules.budgetMs) {
      const wait = Math.max(backoff(attempts, rules.retryCapMs, chance.number), result.retryAfterMs ?? 0);
      deliveries.tried(delivery.id, result, 'failed', clock.now() + wait);
      return;
    }
    deliveries.tried(delivery.id, result, 'dead', null);
    if (delivery.backfillId !== null) backfills.settle(delivery.backfillId, { delivered: 0, dead: 1 });
    if (delivery.lane !== 'live') return;
    interrupt(record, `delivery ${webhookId} to ${host} failed ${attempts} times: ${reason}`, delivery.id);
  }

  return {
    /** What came of an attempt; nothing where the delivery was cancelled or its hook deleted meanwhile. */
    attempted: ({ id, hookId }: Delivery, result: Result): Promise<void> =>
      write(() => {
        const delivery = deliveries.get(id);
        const record = records.get(hookId);
        if (delivery === undefined || record === undefined || !isOpen(delivery)) return;
        if (isSuccess(result)) succeed(record, delivery, result);
        else fail(record, delivery, result);
      }),

    /** The body of a delivery is gone: it can't be sent, and its hook says so; as for one that was attempted. */
    bodyLost: ({ id, hookId }: Delivery): Promise<void> =>
      write(() => {
        const delivery = deliveries.get(id);
        const record = records.get(hookId);
        if (delivery === undefined || record === undefined || !isOpen(delivery)) return;
        const { lane, backfillId, webhookId } = delivery;
        deliveries.setState(id, 'dead');
        if (backfillId !== null) backfills.settle(backfillId, { delivered: 0, dead: 1 });
        if (lane === 'live') interrupt(record, `the body of delivery ${webhookId} is lost`, null);
      }),
  };
}
