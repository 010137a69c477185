/** What became of a hook's deliveries, and sending them again. */

import { type DeliveryFilter, everyDelivery } from '../store/hooks/delivery-log.ts';
import type { Delivery, HookRecord } from '../store/hooks/model.ts';
import type { Cursor } from '../store/model/page.ts';
import type { Management } from './management.ts';
import { HookProblem, unknownHook } from './problem.ts';
import { serializedAttempts, serializedDelivery } from './serialize.ts';
import type { Chainhooks } from './service.ts';

/** Deliveries that one request queues again at most before others may be served. */
const BATCH = 500;

/** The delivery log of a consumer's hooks: what was sent, what receivers answered, and sending it again. */
export function deliveryLog(hooks: Chainhooks, { own }: Management) {
  const { store, write, dispatcher, evaluator, log, clock } = hooks;
  const { records, deliveries } = store;

  /** A hook of the consumer, a deleted one too: its log stays for a while. @throws HookProblem 404 */
  function logged(consumer: string, uuid: string): HookRecord {
    const record = records.find(uuid.toLowerCase(), consumer, true);
    if (record === undefined) throw unknownHook();
    return record;
  }

  function delivery(hookId: number, id: string): Delivery {
    const found = deliveries.find(id, hookId);
    if (found === undefined) throw new HookProblem(404, 'Delivery not found');
    return found;
  }

  const serialized = (one: Delivery) =>
    serializedDelivery(one, deliveries.attempts(one.id, 1)[0], dispatcher.isUnderWay(one.id));

  /** Puts a delivery into the queue again, with the same id and body. */
  function requeue(record: HookRecord, one: Delivery): void {
    // One that waits for its turn in its own lane keeps it: it must not overtake those before it.
    if (one.state === 'failed') deliveries.dueNow(one.id);
    else deliveries.requeue(one.id, 'redelivery', 'redelivery');
    evaluator.touch(record.id, one.state === 'failed' ? one.lane : 'redelivery');
  }

  return {
    page(consumer: string, uuid: string, filter: DeliveryFilter, limit: number, at: Cursor | null) {
      const page = deliveries.page(logged(consumer, uuid).id, filter, limit, at);
      return { ...page, items: page.items.map(serialized) };
    },

    get(consumer: string, uuid: string, id: string) {
      const one = delivery(logged(consumer, uuid).id, id);
      const body = deliveries.body(one.id);
      return {
        ...serialized(one),
        attempts: serializedAttempts(deliveries.attempts(one.id)),
        payload: body === undefined ? null : (JSON.parse(body) as object),
      };
    },

    /** @throws HookProblem 409 where it is on its way, 410 where its body is kept no more */
    redeliver(consumer: string, uuid: string, id: string) {
      return write(() => {
        const record = own(consumer, uuid);
        const one = delivery(record.id, id);
        if (one.state === 'pending' || dispatcher.isUnderWay(one.id)) {
          throw new HookProblem(409, `The delivery is ${dispatcher.isUnderWay(one.id) ? 'in flight' : 'pending'}`);
        }
        if (!deliveries.hasBody(one.id)) {
          throw new HookProblem(410, 'The body is kept no more; use a backfill of its blocks');
        }
        requeue(record, one);
        return serialized(delivery(record.id, id));
      }, 'synced');
    },

    /** Sends deliveries again in the order they were made. @returns how many; those without a body and those on their way are left out */
    async redeliverMany(consumer: string, uuid: string, filter: Partial<DeliveryFilter>): Promise<number> {
      const { id } = own(consumer, uuid);
      const which = { ...everyDelivery, states: ['failed', 'delivered', 'dead'] as const, ...filter };
      let queued = 0;
      for (let after = 0; ; ) {
        const batch = await write(() => {
          const found = deliveries.inOrder(id, which, after, BATCH);
          // The hook may have been deleted since the last batch.
          const record = own(consumer, uuid);
          const chosen = found.filter((one) => !dispatcher.isUnderWay(one.id) && deliveries.hasBody(one.id));
          for (const one of chosen) requeue(record, one);
          return { last: found.at(-1), queued: chosen.length };
        }, 'synced');
        if (batch.last === undefined) return queued;
        after = batch.last.id;
        queued += batch.queued;
        await clock.turn();
      }
    },

    /** Gives up the delivery that holds up a hook, so that those behind it go. */
    skip: (consumer: string, uuid: string, id: string): Promise<void> =>
      write(() => {
        const record = own(consumer, uuid);
        const one = delivery(record.id, id);
        const isStuck = record.stuckDelivery === one.id && one.state === 'dead';
        const isHead = deliveries.head(record.id, 'live')?.id === one.id;
        if (dispatcher.isUnderWay(one.id) || (!isStuck && !isHead)) {
          throw new HookProblem(409, 'The delivery is not the one that its hook waits for');
        }
        deliveries.setState(one.id, 'dead');
        if (isStuck) records.setStatus(record.id, record.status, record.interruptedReason, null);
        evaluator.touch(record.id, 'live');
        log({ event: 'hook_delivery_skipped', uuid: record.uuid, webhook_id: one.webhookId });
      }, 'synced'),
  };
}
export type DeliveryLog = ReturnType<typeof deliveryLog>;
