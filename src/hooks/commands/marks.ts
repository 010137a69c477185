/** The commands that write down what came of deliveries: delivered, to be tried again, or dead, which interrupts a live hook. */
import type { Attempt, Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { CommandParts } from './parts.ts';

/** What came of an attempt to send a delivery, and what follows from it. */
export type Mark = {
  /** The row of the delivery. */
  delivery: number;
  webhookId: string;
  /** The delivery's attempts before this one: a mark that is written down again doesn't count. */
  attempts: number;
} & (
  | { outcome: 'delivered'; attempt: Attempt }
  /** `nextAt`: Unix milliseconds of the next attempt. */
  | { outcome: 'failed'; attempt: Attempt; nextAt: number }
  /** `reason`: why its hook is interrupted, if the delivery is a live one. */
  | { outcome: 'dead'; attempt: Attempt; reason: string }
  /** The body of the delivery is gone, so that it can't be sent. */
  | { outcome: 'lost' }
);

/** Marks of the holder of the lease to deliver. */
export interface Marks {
  /** Number of the lease; that of the last one for a host that shares no log. */
  epoch: number;
  marks: readonly Mark[];
}

/** Whether a delivery is still to be sent. */
export const isOpen = ({ state }: Pick<Delivery, 'state'>): boolean => state === 'pending' || state === 'failed';

export function markCommands({ store, evaluator }: CommandParts) {
  const { records, deliveries, backfills } = store;

  /** Counts for the backfill that a delivery is of. What is sent again was counted the first time. */
  function settle({ backfillId, lane }: Delivery, became: { delivered: number; dead: number }): void {
    if (lane === 'backfill' && backfillId !== null) backfills.settle(backfillId, became);
  }

  function die(record: HookRecord, delivery: Delivery, reason: string, stuck: number | null): void {
    settle(delivery, { delivered: 0, dead: 1 });
    if (delivery.lane === 'live') evaluator.interrupt(record, reason, stuck);
  }

  /** @returns whether it counts: not where the delivery was cancelled or its hook deleted meanwhile */
  function note(mark: Mark, at: number): boolean {
    const delivery = deliveries.get(mark.delivery);
    if (delivery?.webhookId !== mark.webhookId || delivery.attempts !== mark.attempts || !isOpen(delivery))
      return false;
    const record = records.get(delivery.hookId);
    if (record === undefined) return false;
    const { id } = delivery;
    if (mark.outcome === 'lost') {
      deliveries.setState(id, 'dead');
      die(record, delivery, `the body of delivery ${mark.webhookId} is lost`, null);
      return true;
    }
    const { attempt } = mark;
    deliveries.tried(id, attempt, mark.outcome, mark.outcome === 'failed' ? mark.nextAt : null);
    if (mark.outcome === 'delivered') {
      records.delivered(record.id, at, attempt.statusCode);
      settle(delivery, { delivered: 1, dead: 0 });
    } else {
      records.failed(record.id, attempt.statusCode);
      if (mark.outcome === 'dead') die(record, delivery, mark.reason, id);
    }
    return true;
  }

  return {
    /** @returns for each mark whether it counts; none does that comes after one of a newer lease */
    'delivery.mark'({ epoch, marks }: Marks, at: number): boolean[] {
      const newest = records.epoch();
      if (epoch < newest) return marks.map(() => false);
      if (epoch > newest) records.setEpoch(epoch);
      return marks.map((mark) => note(mark, at));
    },
  };
}
