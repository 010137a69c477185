/** Makes a delivery of a notification: its body and id, its row in the outbox, and the note of what the hook was notified of. */
import type { Network } from '../../chain/network.ts';
import { isStorageError } from '../../store/files/store-failure.ts';
import type { Cursor, DeliveryBody } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import type { Reason } from '../../store/rows/hook-words.ts';
import type { HookLog } from '../log-event.ts';
import { type MatchedBlock, type PayloadTexts, payloadTexts } from '../payload.ts';
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

/** A delivery that somebody asked for: one block that a hook matches, in a lane beside the live one. */
export interface RequestedDelivery {
  lane: 'backfill' | 'evaluate';
  /** What the delivery belongs to; {@link webhookId} makes the id of it. */
  source: string;
  matched: MatchedBlock;
  /** JSON text. */
  body: string;
  /** The backfill that makes it; null where none does. */
  backfillId: number | null;
}

/** The body of a delivery, or why it could not be made. */
type Body = { body: DeliveryBody; problem: null } | { body: null; problem: string };

/** Queues what hooks are notified of. Every function is called in a transaction. */
export function deliveryQueue({ store, endings, outcome, network, log, now }: DeliveryQueueOptions) {
  const { records, deliveries, ledger } = store;

  /** What makes the texts of one step. @throws Error before the network is known */
  function textsOfStep(): () => PayloadTexts {
    let texts: PayloadTexts | undefined;
    return () => {
      const of = network();
      if (of === null) throw new Error('Blocks came before the network was known.');
      texts ??= payloadTexts(of);
      return texts;
    };
  }

  /** @throws what the store throws where a part can't be read now: the blocks come again */
  function bodyOf(notification: Notification, texts: () => PayloadTexts): Body {
    const { hook } = notification;
    try {
      return { body: texts()(hook, notification), problem: null };
    } catch (error) {
      if (isStorageError(error)) throw error;
      log({ event: 'hook_payload_failed', uuid: hook.uuid, cause: error });
      return { body: null, problem: error instanceof Error ? error.message : String(error) };
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

  function queueLive(notification: Notification, { body, problem }: Body, reason: Reason, before: Cursor): void {
    const { hook, sequence, rollback } = notification;
    const id = deliveries.add(
      {
        webhookId: webhookId(`${hook.uuid}/${sequence}`, body ?? ''),
        hookId: hook.id,
        lane: 'live',
        reason,
        sequence,
        blocks: notifiedBlocks(notification),
        body,
        problem,
        backfillId: null,
      },
      now(),
    );
    if (problem !== null) {
      stopAt(before, hook.id, id, problem);
      return;
    }
    remember(notification);
    outcome.count('queued');
    if (rollback.length > 0) outcome.count('rollbacks');
    outcome.queued(hook.id, 'live');
  }

  return {
    /**
     * Queues a delivery in the live lane of each hook, and remembers what it was notified of.
     * @param before where the hooks stood before these blocks
     */
    live(notifications: Iterable<Notification>, reason: Reason, before: Cursor): void {
      const texts = textsOfStep();
      for (const notification of notifications) {
        queueLive(notification, bodyOf(notification, texts), reason, before);
      }
    },

    /** Queues a delivery beside the live ones. */
    requested(hookId: number, { lane, source, matched, body, backfillId }: RequestedDelivery): void {
      deliveries.add(
        {
          webhookId: webhookId(source, body),
          hookId,
          lane,
          reason: lane,
          sequence: null,
          blocks: notifiedBlocks({ apply: [matched], rollback: [] }),
          body,
          problem: null,
          backfillId,
        },
        now(),
      );
      outcome.count('queued');
      outcome.queued(hookId, lane);
    },
  };
}
