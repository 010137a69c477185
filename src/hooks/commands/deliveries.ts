/** Commands by which consumers have deliveries made, sent again or given up. */
import { fromHex } from '../../codec/hex.ts';
import type { DeliveryFilter } from '../../store/hooks/delivery-log.ts';
import type { Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import { activeHook } from '../active-hook.ts';
import { payloadText } from '../payload.ts';
import { HookProblem } from '../problem.ts';
import { scanner } from '../scan.ts';
import { type OwnHook, ownHook } from './managing.ts';
import type { CommandParts } from './parts.ts';

/** Deliveries whose requests are under way, by their row ids. */
interface UnderWay {
  underWay: readonly number[];
}

/** @throws HookProblem 404 */
export function deliveryOf({ deliveries }: Pick<HookStore, 'deliveries'>, hookId: number, id: string): Delivery {
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
  /** Tells this evaluation from others of the block. */
  request: string;
  /** Evaluations of the hook that may wait. */
  most: number;
}

export function deliveryCommands({ store, history, network, evaluator }: CommandParts) {
  const { records, deliveries, candidates } = store;

  /** Puts a delivery into the queue again, with the same id and body. */
  function requeue(record: HookRecord, one: Delivery): void {
    // One that waits for its turn in its own lane keeps it: it must not overtake those before it.
    if (one.state === 'failed') deliveries.dueNow(one.id);
    else deliveries.requeue(one.id, 'redelivery', 'redelivery');
    evaluator.touch(record.id, one.state === 'failed' ? one.lane : 'redelivery');
  }

  return {
    /** @throws HookProblem 409 where it is on its way, 410 where its body is kept no more */
    'delivery.redeliver'({ delivery, underWay, ...hook }: OwnDelivery): void {
      const record = ownHook(store, hook);
      const one = deliveryOf(store, record.id, delivery);
      const isUnderWay = underWay.includes(one.id);
      if (one.state === 'pending' || isUnderWay) {
        throw new HookProblem(409, `The delivery is ${isUnderWay ? 'in flight' : 'pending'}`);
      }
      if (!deliveries.hasBody(one.id)) {
        throw new HookProblem(410, 'The body is kept no more; use a backfill of its blocks');
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
        throw new HookProblem(409, 'The delivery is not the one that its hook waits for');
      }
      deliveries.setState(one.id, 'dead');
      if (isStuck) records.setStatus(record.id, record.status, record.interruptedReason, null);
      evaluator.touch(record.id, 'live');
    },

    /** Queues what a hook matches in a block; nothing where it matches nothing. @throws HookProblem 429 where too many wait */
    'delivery.evaluate'({ block, request, most, ...own }: Evaluation): void {
      const record = ownHook(store, own);
      if (deliveries.openUpTo(record.id, 'evaluate', most) === most) {
        throw new HookProblem(429, `${most} evaluations wait for the receiver: try again, or use a backfill`);
      }
      const hook = activeHook(record);
      const matched = scanner({ history, candidates }, hook.conditions).at(fromHex(block));
      const of = network();
      if (matched === null || of === null) return;
      const body = payloadText(hook, of, { apply: [matched], rollback: [] });
      const source = `${hook.uuid}/${request}`;
      evaluator.queueRequested(hook.id, { lane: 'evaluate', source, matched, body, backfillId: null });
    },
  };
}
