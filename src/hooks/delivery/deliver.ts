/** Delivers the head of a lane, and has what came of it written down. */
import type { Delivery } from '../../store/hooks/model.ts';
import { isSendable } from '../../store/hooks/records.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import { isOpen } from '../commands/marks.ts';
import type { HookTimers } from '../counters.ts';
import { type RecordResultOptions, resultRecorder } from './record-result.ts';
import type { DeliveryRequest } from './request.ts';

/** What a delivery is sent and written down with. */
export interface DeliverOptions extends RecordResultOptions {
  store: HookStore;
  /** A backfill, or a hook that catches up, may have room for more. */
  roomMade: () => void;
  timers: HookTimers;
  request: DeliveryRequest;
  /** Whether this host is the one that delivers; where it is no more, the dispatcher is stopped before this returns. */
  isHeld: () => boolean;
  /** Whether the deliveries of a consumer can be signed; where they can't, they wait. */
  canSign: (consumer: string) => boolean;
}

/** Makes the function that delivers the head of a lane. */
export function deliverer(options: DeliverOptions) {
  const { store, roomMade, timers, request, isHeld, canSign } = options;
  const { records, deliveries } = store;
  const record = resultRecorder(options);

  /** @param signal aborted when the dispatcher stops */
  return async ({ id, hookId }: Delivery, signal: AbortSignal): Promise<void> => {
    const delivery = deliveries.get(id);
    // The hook is read again: it may have been changed, disabled or deleted meanwhile.
    const hook = records.get(hookId);
    // Cancelled meanwhile.
    if (delivery === undefined || delivery.hookId !== hookId || !isOpen(delivery)) return;
    if (hook === undefined || (delivery.lane === 'live' && !isSendable(hook)) || !canSign(hook.consumer)) return;
    if (!isHeld() || signal.aborted) return;
    const text = deliveries.body(id);
    if (text === undefined) {
      await record.bodyLost(delivery);
      return;
    }
    const result = await request(hook, delivery, text, signal);
    // Ended by us: whether it arrived isn't known, and it goes again at the next start.
    if (signal.aborted) return;
    timers.attempted(result.durationMs);
    await record.attempted(hook, delivery, result);
    if (delivery.backfillId !== null || delivery.reason === 'catch_up') roomMade();
  };
}
