/**
 * Commands by which consumers have deliveries made, sent again or given up, and that by which whoever delivers writes down what
 * came of them.
 */
import { fromHex } from '../../codec/hex.ts';
import type { DeliveryFilter } from '../../store/hooks/delivery-log.ts';
import type { Attempt, Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { HookReads } from '../../store/hooks/store.ts';
import { activeHook } from '../definition/definition.ts';
import type { HookEngine } from '../engine.ts';
import { queueRequested } from '../evaluation/notifications.ts';
import { payloadText } from '../evaluation/payload.ts';
import { scanner } from '../matching/scan.ts';
import { HookProblem } from '../problem.ts';
import { type OwnHook, ownHook } from './hooks.ts';

/** Deliveries whose requests are under way, by their row ids. */
interface UnderWay {
  underWay: readonly number[];
}

/** @throws HookProblem 404 */
export function deliveryOf({ deliveries }: Pick<HookReads, 'deliveries'>, hookId: number, id: string): Delivery {
  const found = deliveries.find(id, hookId);
  if (found === undefined) throw new HookProblem(404, 'Delivery not found');
  return found;
}

interface OwnDelivery extends OwnHook, UnderWay {
  delivery: string;
}

interface ManyDeliveries extends OwnHook, UnderWay {
  filter: DeliveryFilter;
  /** The row id of the last delivery that was looked at. */
  after: number;
  limit: number;
}

interface Evaluation extends OwnHook {
  /** Index block hash, with 0x. */
  block: string;
  /** Distinguishes this evaluation from others of the block. */
  request: string;
  /** Evaluations of the hook that may wait. */
  most: number;
}

/** What came of an attempt to send a delivery, and what follows from it. */
export type DeliveryResult = {
  /** The row of the delivery. */
  delivery: number;
  webhookId: string;
  /** The delivery's attempts before this one: a result that is written again doesn't count. */
  attempts: number;
} & (
  | { outcome: 'delivered'; attempt: Attempt }
  /** `nextAt`: Unix milliseconds of the next attempt. */
  | { outcome: 'failed'; attempt: Attempt; nextAt: number }
  /** `reason`: why its hook is interrupted, if the delivery is a live one. */
  | { outcome: 'dead'; attempt: Attempt; reason: string }
  /** The body of the delivery is gone, so that it can't be sent. */
  | { outcome: 'lost' }
  /** It waits for a secret that can be read: the time for which it is tried begins anew then. */
  | { outcome: 'paused' }
);

/** Delivery results of the lease holder. In the journal their key is `marks`, and their command `delivery.mark`. */
export interface DeliveryResults {
  /** Number of the lease; that of the last one for a host that shares no log. */
  epoch: number;
  marks: readonly DeliveryResult[];
}

/** Whether a delivery is still to be sent. */
export const isOpen = ({ state }: Pick<Delivery, 'state'>): boolean => state === 'pending' || state === 'failed';

export function deliveryCommands(engine: HookEngine) {
  const { store, history } = engine;
  const { records, deliveries, backfills, candidates } = store;

  /** Queues a delivery again, with the same id and body. */
  function requeue(record: HookRecord, one: Delivery): void {
    // One that waits for its turn in its own queue keeps that turn: it must not overtake those before it.
    if (one.state === 'failed') deliveries.dueNow(one.id);
    else deliveries.requeue(one.id, 'redelivery', 'redelivery');
    engine.queued(record.id, one.state === 'failed' ? one.queue : 'redelivery');
  }

  /** Counts for the backfill that a delivery is of. What is sent again was counted the first time. */
  function countForBackfill({ backfillId, queue }: Delivery, became: { delivered: number; dead: number }): void {
    if (queue === 'backfill' && backfillId !== null) backfills.count(backfillId, became);
  }

  function die(record: HookRecord, delivery: Delivery, reason: string, stuck: number | null): void {
    countForBackfill(delivery, { delivered: 0, dead: 1 });
    if (delivery.queue === 'live') engine.interrupt(record, reason, stuck);
  }

  /** @returns whether it counts: not where the delivery was cancelled or its hook deleted meanwhile */
  function noteResult(result: DeliveryResult, at: number): boolean {
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
      records.delivered(record.id, at, attempt.statusCode);
      countForBackfill(delivery, { delivered: 1, dead: 0 });
    } else {
      records.failed(record.id, attempt.statusCode);
      if (result.outcome === 'dead') die(record, delivery, result.reason, id);
    }
    return true;
  }

  return {
    /** @throws HookProblem 409 where it is on its way, 410 where its body is no longer stored */
    'delivery.redeliver'({ delivery, underWay, ...hook }: OwnDelivery): void {
      const record = ownHook(store, hook);
      const one = deliveryOf(store, record.id, delivery);
      const isUnderWay = underWay.includes(one.id);
      if (one.state === 'pending' || isUnderWay) {
        throw new HookProblem(409, `The delivery is ${isUnderWay ? 'in flight' : 'pending'}`);
      }
      if (!deliveries.hasBody(one.id)) {
        throw new HookProblem(410, 'The body of the delivery is no longer stored; use a backfill of its blocks');
      }
      requeue(record, one);
    },

    /**
     * Sends deliveries again in the order they were made; those without a body and those on their way are left out.
     * @returns how many, and the last that was looked at; null where none is left
     */
    'delivery.redeliver_many'({ filter, after, limit, underWay, ...hook }: ManyDeliveries): {
      queued: number;
      last: number | null;
    } {
      const record = ownHook(store, hook);
      const found = deliveries.inOrder(record.id, filter, after, limit);
      const chosen = found.filter(({ id }) => !underWay.includes(id) && deliveries.hasBody(id));
      for (const one of chosen) requeue(record, one);
      return { queued: chosen.length, last: found.at(-1)?.id ?? null };
    },

    /**
     * Gives up the delivery that holds up a hook, so that those behind it go.
     * @throws HookProblem 409 where the hook doesn't wait for it
     */
    'delivery.skip'({ delivery, underWay, ...hook }: OwnDelivery): void {
      const record = ownHook(store, hook);
      const one = deliveryOf(store, record.id, delivery);
      const isStuck = record.stuckDelivery === one.id && one.state === 'dead';
      const isHead = deliveries.head(record.id, 'live')?.id === one.id;
      if (underWay.includes(one.id) || (!isStuck && !isHead)) {
        throw new HookProblem(
          409,
          'The delivery does not hold up its chainhook; only the first pending delivery can be skipped',
        );
      }
      deliveries.setState(one.id, 'dead');
      if (isStuck) records.setStatus(record.id, record.status, record.interruptedReason, null);
      engine.queued(record.id, 'live');
    },

    /** Queues what a hook matches in a block; nothing where it matches nothing. @throws HookProblem 429 where too many wait */
    'delivery.evaluate'({ block, request, most, ...own }: Evaluation): void {
      const record = ownHook(store, own);
      if (deliveries.openUpTo(record.id, 'evaluate', most) === most) {
        throw new HookProblem(
          429,
          `${most} evaluations are already waiting for the receiver; try again later, or use a backfill`,
        );
      }
      const hook = activeHook(record);
      const matched = scanner({ history, candidates }, hook.conditions).at(fromHex(block));
      const network = engine.network();
      if (matched === null || network === null) return;
      const body = payloadText(hook, network, { apply: [matched], rollback: [] });
      const source = `${hook.uuid}/${request}`;
      queueRequested(engine, hook.id, { queue: 'evaluate', source, matched, body, backfillId: null });
    },

    /** @returns for each result whether it counts; none of an older lease does after one of a newer lease */
    'delivery.mark'({ epoch, marks: results }: DeliveryResults, at: number): boolean[] {
      const newest = records.epoch();
      if (epoch < newest) return results.map(() => false);
      if (epoch > newest) records.setEpoch(epoch);
      return results.map((result) => noteResult(result, at));
    },
  };
}
