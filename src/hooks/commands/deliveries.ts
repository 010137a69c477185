/**
 * Commands for deliveries: consumers evaluate blocks, redeliver and skip; the host that delivers writes the delivery results.
 */
import { fromHex } from '../../codec/hex.ts';
import type { DeliveryFilter } from '../../store/hooks/delivery-log.ts';
import type { Attempt, Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { HookReads } from '../../store/hooks/store.ts';
import { activeHook } from '../definition/definition.ts';
import type { HookEngine } from '../engine.ts';
import { queueRequested } from '../evaluation/notifications.ts';
import { scanner } from '../matching/scan.ts';
import { HookProblem } from '../problem.ts';
import { type OwnHook, ownHook } from './hooks.ts';

/** Row ids of deliveries with running requests. */
interface UnderWay {
  underWay: readonly number[];
}

/** @throws HookProblem 404 */
export function requireDelivery({ deliveries }: Pick<HookReads, 'deliveries'>, hookId: number, id: string): Delivery {
  const delivery = deliveries.find(id, hookId);
  if (delivery === undefined) throw new HookProblem(404, 'Delivery not found');
  return delivery;
}

interface OwnDelivery extends OwnHook, UnderWay {
  delivery: string;
}

interface ManyDeliveries extends OwnHook, UnderWay {
  filter: DeliveryFilter;
  /** Row id of the last delivery of the batch before. */
  after: number;
  limit: number;
}

interface Evaluation extends OwnHook {
  /** Index block hash, with 0x. */
  block: string;
  /** Distinguishes this evaluation from others of the block. */
  request: string;
  /** Maximum waiting evaluations of the hook. */
  most: number;
}

/** The result of an attempt, and its consequence for the delivery. */
export type DeliveryResult = {
  delivery: number;
  webhookId: string;
  /** Number of the delivery's attempts before this one, so that a result written twice counts once. */
  attempts: number;
} & (
  | { outcome: 'delivered'; attempt: Attempt }
  /** `nextAt`: Unix milliseconds of the next attempt. */
  | { outcome: 'failed'; attempt: Attempt; nextAt: number }
  /** `reason`: why the hook is interrupted, if the delivery is a live one. */
  | { outcome: 'dead'; attempt: Attempt; reason: string }
  /** The delivery can't be sent, since its body is missing. */
  | { outcome: 'lost' }
  /** The delivery waits for a readable secret; its budget then starts over. */
  | { outcome: 'paused' }
);

/** Delivery results of the lease holder. In the journal their key is `marks`, and their command `delivery.mark`. */
export interface DeliveryResults {
  /** Number of the lease; on a single host, the number of the last lease. */
  epoch: number;
  marks: readonly DeliveryResult[];
}

/** Whether a delivery still has to be sent. */
export const isOpen = ({ state }: Pick<Delivery, 'state'>): boolean => state === 'pending' || state === 'failed';

export function deliveryCommands(engine: HookEngine) {
  const { store, history } = engine;
  const { records, deliveries, backfills, candidates } = store;

  /** Queues a delivery again, with the same id and body. */
  function requeue(record: HookRecord, delivery: Delivery): void {
    // A failed delivery in its own queue stays at its place: it must not overtake earlier deliveries.
    if (delivery.state === 'failed') {
      deliveries.dueNow(delivery.id);
      engine.queued(record.id, delivery.queue);
    } else {
      deliveries.requeue(delivery.id, 'redelivery', 'redelivery');
      engine.queued(record.id, 'redelivery');
    }
  }

  /** Adds to the counters of the delivery's backfill. Redeliveries were counted before. */
  function countForBackfill({ backfillId, queue }: Delivery, counts: { delivered: number; dead: number }): void {
    if (queue === 'backfill' && backfillId !== null) backfills.count(backfillId, counts);
  }

  function die(record: HookRecord, delivery: Delivery, reason: string, stuck: number | null): void {
    countForBackfill(delivery, { delivered: 0, dead: 1 });
    if (delivery.queue === 'live') engine.interrupt(record, reason, stuck);
  }

  /** Stores a result. @returns whether the result counts; false if the delivery has been cancelled or its hook deleted */
  function recordResult(result: DeliveryResult, time: number): boolean {
    const delivery = deliveries.get(result.delivery);
    if (delivery?.webhookId !== result.webhookId || delivery.attempts !== result.attempts || !isOpen(delivery))
      return false;
    const record = records.get(delivery.hookId);
    if (record === undefined) return false;
    const { id } = delivery;
    if (result.outcome === 'paused') {
      deliveries.dueNow(id);
      return true;
    }
    if (result.outcome === 'lost') {
      deliveries.setState(id, 'dead');
      die(record, delivery, `the body of delivery ${result.webhookId} is lost`, null);
      return true;
    }
    const { attempt } = result;
    deliveries.tried(id, attempt, result.outcome, result.outcome === 'failed' ? result.nextAt : null);
    if (result.outcome === 'delivered') {
      records.delivered(record.id, time, attempt.statusCode);
      countForBackfill(delivery, { delivered: 1, dead: 0 });
    } else {
      records.failed(record.id, attempt.statusCode);
      if (result.outcome === 'dead') die(record, delivery, result.reason, id);
    }
    return true;
  }

  return {
    /** @throws HookProblem 409 if the delivery is under way, 410 if its body is no longer stored */
    'delivery.redeliver'({ delivery: id, underWay, ...hook }: OwnDelivery): void {
      const record = ownHook(store, hook);
      const delivery = requireDelivery(store, record.id, id);
      const isUnderWay = underWay.includes(delivery.id);
      if (delivery.state === 'pending' || isUnderWay) {
        throw new HookProblem(409, `The delivery is ${isUnderWay ? 'in flight' : 'pending'}`);
      }
      if (!deliveries.hasBody(delivery.id)) {
        throw new HookProblem(410, 'The body of the delivery is no longer stored; use a backfill of its blocks');
      }
      requeue(record, delivery);
    },

    /**
     * Redelivers in the original order; skips deliveries without a body and those under way.
     * @returns how many were queued, and the last row of the batch; null at the end
     */
    'delivery.redeliver_many'({ filter, after, limit, underWay, ...hook }: ManyDeliveries): {
      queued: number;
      last: number | null;
    } {
      const record = ownHook(store, hook);
      const page = deliveries.inOrder(record.id, filter, after, limit);
      const sendable = page.filter(({ id }) => !underWay.includes(id) && deliveries.hasBody(id));
      for (const delivery of sendable) requeue(record, delivery);
      return { queued: sendable.length, last: page.at(-1)?.id ?? null };
    },

    /**
     * Gives up the delivery that blocks its queue or interrupted the hook, so that the next one is sent.
     * @throws HookProblem 409 if the delivery blocks nothing, or is under way
     */
    'delivery.skip'({ delivery: id, underWay, ...hook }: OwnDelivery): void {
      const record = ownHook(store, hook);
      const delivery = requireDelivery(store, record.id, id);
      const isStuck = record.stuckDelivery === delivery.id && delivery.state === 'dead';
      const isHead = deliveries.head(record.id, delivery.queue)?.id === delivery.id;
      if (underWay.includes(delivery.id) || (!isStuck && !isHead)) {
        throw new HookProblem(
          409,
          'The delivery blocks no other delivery; only the first waiting delivery of a queue can be skipped, and not while it is being sent',
        );
      }
      deliveries.setState(delivery.id, 'dead');
      countForBackfill(delivery, { delivered: 0, dead: 1 });
      if (isStuck) records.setStatus(record.id, record.status, record.interruptedReason, null);
      engine.queued(record.id, delivery.queue);
      // A backfill, or a hook that catches up, may have room now.
      engine.wake();
    },

    /** Queues a delivery if the hook matches the block. @throws HookProblem 429 if too many evaluations wait */
    'delivery.evaluate'({ block, request, most: limit, ...identity }: Evaluation): void {
      const record = ownHook(store, identity);
      if (deliveries.openUpTo(record.id, 'evaluate', limit) === limit) {
        throw new HookProblem(
          429,
          `${limit} evaluations are already waiting for the receiver; try again later, or use a backfill`,
        );
      }
      const hook = activeHook(record);
      const matched = scanner({ history, candidates }, hook.conditions).matchIn(fromHex(block));
      if (matched === null) return;
      queueRequested(engine, hook, { queue: 'evaluate', request, matched, backfillId: null });
    },

    /** Stores results. @returns for each result whether it counts. Results of an older lease don't count after newer leases. */
    'delivery.mark'({ epoch, marks: results }: DeliveryResults, time: number): boolean[] {
      const newest = records.epoch();
      if (epoch < newest) return results.map(() => false);
      if (epoch > newest) records.setEpoch(epoch);
      return results.map((result) => recordResult(result, time));
    },
  };
}
