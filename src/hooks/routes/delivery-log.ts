/** What became of a hook's deliveries, and sending them again. */

import { type DeliveryFilter, everyDelivery } from '../../store/hooks/delivery-log.ts';
import type { Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { Cursor } from '../../store/model/page.ts';
import { deliveryOf } from '../commands/deliveries.ts';
import { unknownHook } from '../problem.ts';
import type { Chainhooks } from '../service.ts';
import type { Management } from './management.ts';
import { serializedAttempts, serializedDelivery } from './serialize.ts';

/** Deliveries that one request queues again at most before others may be served. */
const BATCH = 500;

/** The delivery log of a consumer's hooks: what was sent, what receivers answered, and sending it again. */
export function deliveryLog(hooks: Chainhooks, { own }: Management) {
  const { store, commands, dispatcher, log, clock } = hooks;
  const { records, deliveries } = store;

  /** A hook of the consumer, a deleted one too: its log stays for a while. @throws HookProblem 404 */
  function logged(consumer: string, uuid: string): HookRecord {
    const record = records.find(uuid.toLowerCase(), consumer, true);
    if (record === undefined) throw unknownHook();
    return record;
  }

  const delivery = (hookId: number, id: string): Delivery => deliveryOf(store, hookId, id);

  const serialized = (one: Delivery) =>
    serializedDelivery(one, deliveries.attempts(one.id, 1)[0], dispatcher.underWay().includes(one.id));

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
    async redeliver(consumer: string, uuid: string, id: string) {
      const one = { consumer, uuid, delivery: id, underWay: dispatcher.underWay() };
      await commands.run('delivery.redeliver', one);
      return serialized(delivery(own(consumer, uuid).id, id));
    },

    /** Sends deliveries again in the order they were made. @returns how many; those without a body and those on their way are left out */
    async redeliverMany(consumer: string, uuid: string, filter: Partial<DeliveryFilter>): Promise<number> {
      own(consumer, uuid);
      const which = { ...everyDelivery, states: ['failed', 'delivered', 'dead'] as const, ...filter };
      let queued = 0;
      for (let after = 0; ; ) {
        const many = { consumer, uuid, filter: which, after, limit: BATCH, underWay: dispatcher.underWay() };
        const batch = await commands.run('delivery.redeliver_many', many);
        if (batch.last === null) return queued;
        after = batch.last;
        queued += batch.queued;
        await clock.turn();
      }
    },

    /** Gives up the delivery that holds up a hook, so that those behind it go. */
    async skip(consumer: string, uuid: string, id: string): Promise<void> {
      const one = { consumer, uuid, delivery: id, underWay: dispatcher.underWay() };
      await commands.run('delivery.skip', one);
      log({ event: 'hook_delivery_skipped', uuid: uuid.toLowerCase(), webhook_id: id });
    },
  };
}
export type DeliveryLog = ReturnType<typeof deliveryLog>;
