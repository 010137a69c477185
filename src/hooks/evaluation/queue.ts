/** Makes a delivery of a notification: its body and id, its row in the outbox, and the note of what the hook was notified of. */
import type { Network } from '../../chain/network.ts';
import { isStorageError } from '../../store/files/store-failure.ts';
import type { Cursor, Reason } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import type { HookLog } from '../log-event.ts';
import { payloadText } from '../payload.ts';
import { webhookId } from '../webhook-id.ts';
import { cancelBackfilled } from './cancel-backfilled.ts';
import type { Endings } from './endings.ts';
import { type Notification, notifiedBlocks } from './notifications.ts';
import type { Outcome } from './outcome.ts';

export interface DeliveryQueueOptions {
  store: HookStore;
  endings: Endings;
  outcome: Outcome;
  /** Null until a block came. */
  network: () => Network | null;
  log: HookLog;
  /** Unix milliseconds. */
  now: () => number;
}

export type DeliveryQueue = ReturnType<typeof deliveryQueue>;

/** The text of a payload, or why it could not be made. */
type Body = { text: string; problem: null } | { text: null; problem: string };

/** Makes the function that queues what a hook is notified of, and remembers it in the ledger. */
export function deliveryQueue({ store, endings, outcome, network, log, now }: DeliveryQueueOptions) {
  const { records, deliveries, ledger } = store;

  /** @throws what the store throws where a part can't be read now: the blocks come again */
  function bodyOf({ hook, apply, rollback }: Notification): Body {
    try {
      const of = network();
      if (of === null) throw new Error('Blocks came before the network was known.');
      return { text: payloadText(hook, of, { apply, rollback }), problem: null };
    } catch (error) {
      if (isStorageError(error)) throw error;
      log({ event: 'hook_payload_failed', uuid: hook.uuid, cause: error });
      return { text: null, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  /** The hook stays where it stood: once its payload can be made and it is enabled again, it is notified of the same blocks. */
  function stopAt(before: Cursor, hookId: number, deliveryId: number, problem: string): void {
    const record = records.get(hookId);
    if (record !== undefined) endings.interrupt(record, `a payload could not be made: ${problem}`, null);
    records.setCursor(hookId, before);
    deliveries.setState(deliveryId, 'dead');
  }

  /** The ledger says what a hook was notified of, so that it can be taken back. */
  function remember({ hook, apply, rollback }: Notification): void {
    for (const { block } of rollback) {
      ledger.remove(block.indexBlockHash, hook.id);
      if (cancelBackfilled(store, hook.id, block)) outcome.behind();
    }
    for (const { block, txIndexes } of apply) {
      ledger.add(block.indexBlockHash, hook.id, block.height, block.burnBlockHeight, txIndexes);
    }
  }

  /**
   * Queues a delivery in the live lane of its hook.
   * @param before where the hook stood before these blocks
   */
  function queue(notification: Notification, reason: Reason, before: Cursor): void {
    const { hook, rollback } = notification;
    const sequence = records.nextSequence(hook.id);
    const body = bodyOf(notification);
    const id = deliveries.add(
      {
        webhookId: webhookId(`${hook.uuid}/${sequence}`, body.text ?? ''),
        hookId: hook.id,
        lane: 'live',
        reason,
        sequence,
        blocks: notifiedBlocks(notification),
        body: body.text,
        problem: body.problem,
        backfillId: null,
      },
      now(),
    );
    if (body.text === null) {
      stopAt(before, hook.id, id, body.problem);
      return;
    }
    remember(notification);
    outcome.count('queued');
    if (rollback.length > 0) outcome.count('rollbacks');
    outcome.queued(hook.id, 'live');
  }
  return queue;
}
